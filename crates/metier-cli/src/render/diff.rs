//! A unified diff of one file.
//!
//! Shown by `check --diff` and `check --fix`.

use similar::{ChangeTag, TextDiff};

use crate::render::safe;
use crate::render::style::{BOLD, CYAN, GREEN, RED, paint};

/// The change from `before` to `after`, for people.
pub(crate) fn unified(file: &str, before: &[u8], after: &[u8]) -> String {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
    let file = safe(file);
    let mut out =
        format!("{}\n{}\n", paint(BOLD, format!("--- {file}")), paint(BOLD, format!("+++ {file}")));
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        out.push_str(&paint(CYAN, hunk.header()));
        out.push('\n');
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches('\n');
            let line = line.trim_end_matches('\r').replace('\u{feff}', "\\u{feff}");
            let line = safe(&line);
            out.push_str(&match change.tag() {
                ChangeTag::Delete => paint(RED, format!("-{line}")),
                ChangeTag::Insert => paint(GREEN, format!("+{line}")),
                ChangeTag::Equal => format!(" {line}"),
            });
            out.push('\n');
        }
    }
    out
}
