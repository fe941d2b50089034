//! Which findings of one file are listed. Every one of high weight counts, however many harmless ones come before it:
//! the same harmless words written twenty times must not hide the one that does harm.

use std::collections::BTreeMap;

use metier_skill::Digest;

use crate::places::Lines;
use crate::report::{FoundAt, ScanFinding};
use crate::rules::{
    FindingSeverity::{self, High, Low, Medium},
    rule,
};

/// Findings of one rule in one file below high weight; the rest would say the same, and is counted.
const MAX_PER_RULE: usize = 20;
/// Those of high weight that are listed one by one. The others are one finding, which is new when one of them is.
const MAX_HIGH: usize = 100;

/// The findings of one file.
pub(crate) struct ListedFindings<'l> {
    lines: &'l Lines<'l>,
    by_rule: BTreeMap<&'static str, OfRule>,
}

#[derive(Debug, Default)]
struct OfRule {
    high: Vec<ScanFinding>,
    /// The first one that is not listed, how many there are, and the digest of all of them.
    more: Option<(FoundAt, usize, Digest)>,
    medium: Vec<ScanFinding>,
    low: Vec<ScanFinding>,
    /// Those of the two that were not even made.
    not_made: usize,
}

impl<'l> ListedFindings<'l> {
    pub(crate) fn new(lines: &'l Lines<'l>) -> Self {
        Self { lines, by_rule: BTreeMap::new() }
    }

    /// Adds one with its evidence and what that decodes to.
    pub(crate) fn add(
        &mut self,
        (code, severity): (&'static str, FindingSeverity),
        at: usize,
        evidence: (&str, Option<&str>),
    ) {
        let of_rule = self.by_rule.entry(code).or_default();
        let list = match severity {
            High => &mut of_rule.high,
            Medium => &mut of_rule.medium,
            Low => &mut of_rule.low,
        };
        if severity != High && list.len() == MAX_PER_RULE {
            of_rule.not_made += 1;
            return;
        }
        let Some(finding) = self.lines.finding((code, severity), at, evidence) else { return };
        if severity == High && list.len() == MAX_HIGH {
            of_rule.more_of(&finding);
        } else {
            list.push(finding);
        }
    }

    /// Those that are listed, and the number of others.
    pub(crate) fn finish(self) -> (Vec<ScanFinding>, usize) {
        let (mut found, mut left_out) = (Vec::new(), 0);
        for (code, mut of_rule) in self.by_rule {
            let room = MAX_PER_RULE - of_rule.medium.len();
            left_out += of_rule.not_made + of_rule.low.len().saturating_sub(room);
            of_rule.low.truncate(room);
            found.extend(of_rule.high);
            found.extend(of_rule.medium);
            found.extend(of_rule.low);
            if let (Some((at, number, digest)), Some(rule)) = (of_rule.more, rule(code)) {
                let evidence = format!("{number} more from here on, together {digest}");
                found.push(ScanFinding::new(rule, High, &at, &evidence, None));
            }
        }
        (found, left_out)
    }
}

impl OfRule {
    fn more_of(&mut self, finding: &ScanFinding) {
        let digest = finding.evidence_digest();
        self.more = Some(match self.more.take() {
            None => (FoundAt { line: finding.line, column: finding.column }, 1, digest),
            Some((at, number, all)) => {
                let parts = [all.as_bytes().as_slice(), digest.as_bytes().as_slice()];
                (at, number + 1, Digest::of_parts(parts))
            }
        });
    }
}
