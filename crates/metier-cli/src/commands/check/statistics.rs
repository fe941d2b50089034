//! `metier check --statistics`: how often each diagnostic was found, the most frequent first.
//! Pure; the table is drawn like all others.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;
use metier::skill::{Code, Diagnostic, Severity};
use serde::Serialize;

use crate::render::style::BOLD;
use crate::render::table::Table;

/// One code and how often it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CodeCount {
    code: Code,
    severity: Severity,
    count: usize,
    /// How many of them `--fix` can fix.
    fixable: usize,
}

/// How often each code was found.
pub(super) fn count<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) -> Vec<CodeCount> {
    let mut counts: BTreeMap<(Code, Severity), (usize, usize)> = BTreeMap::new();
    for diagnostic in diagnostics {
        let (count, fixable) = counts.entry((diagnostic.code, diagnostic.severity)).or_default();
        *count += 1;
        *fixable += usize::from(diagnostic.fix.is_some());
    }
    let counts = counts.into_iter();
    let mut counts: Vec<CodeCount> = counts
        .map(|((code, severity), (count, fixable))| CodeCount { code, severity, count, fixable })
        .collect();
    counts.sort_by_key(|it| std::cmp::Reverse(it.count));
    counts
}

/// Writes them as a table.
pub(super) fn write(counts: &[CodeCount], out: &mut dyn Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let plain = Style::new();
    let mut table =
        Table::new(&[("COUNT", plain), ("FIXABLE", plain), ("SEVERITY", plain), ("CODE", BOLD)]);
    for CodeCount { code, severity, count, fixable } in counts {
        let fixable = if *fixable == 0 { "-".to_owned() } else { fixable.to_string() };
        table.row(vec![count.to_string(), fixable, severity.to_string(), code.to_string()]);
    }
    table.write(out)?;
    writeln!(out)
}
