//! What a scan found, and how much of the skill it could inspect. Text of a skill is made safe to print
//! where it enters a finding.

use std::collections::HashMap;

use metier_skill::Digest;
use metier_skill::text::short_line;
use serde::Serialize;

use crate::rules::{FindingSeverity, ScanRule};

/// Characters of evidence in a finding.
const EVIDENCE_CHARS: usize = 200;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanFinding {
    /// The code of the rule.
    pub rule: &'static str,
    /// How much it weighs here.
    pub severity: FindingSeverity,
    /// The file, below the skill.
    pub file: String,
    /// Its line, from 1; 0 where it is about the whole file.
    pub line: usize,
    /// Its column in characters, from 1; 0 where it is about the whole file.
    pub column: usize,
    /// What was found there, in one line that is safe to print.
    pub evidence: String,
    /// What it decodes to, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded: Option<String>,
    /// The digest of rule, file and evidence: what a suppression is bound to.
    pub fingerprint: Digest,
    /// Why a person accepted it, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// Of the whole evidence, not of what is shown: two long lines that begin alike are two findings.
    #[serde(skip)]
    evidence_digest: Digest,
}

/// Where a finding is in its file.
#[derive(Debug)]
pub(crate) struct FoundAt {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl ScanFinding {
    /// A finding in a file that has no place yet.
    pub(crate) fn new(
        rule: &'static ScanRule,
        severity: FindingSeverity,
        at: &FoundAt,
        evidence: &str,
        decoded: Option<&str>,
    ) -> Self {
        let evidence_digest = Digest::of(evidence.trim().as_bytes());
        Self {
            rule: rule.code,
            severity,
            file: String::new(),
            line: at.line,
            column: at.column,
            evidence: short_line(evidence.trim(), EVIDENCE_CHARS).into_owned(),
            decoded: decoded.map(|text| short_line(text, EVIDENCE_CHARS).into_owned()),
            fingerprint: evidence_digest,
            suppressed: None,
            evidence_digest,
        }
    }

    /// The finding in the file at `path` below the skill.
    pub(crate) fn in_file(mut self, path: &str) -> Self {
        path.clone_into(&mut self.file);
        let evidence = self.evidence_digest.as_bytes().as_slice();
        let parts = [b"metier-scan/2", self.rule.as_bytes(), path.as_bytes(), evidence];
        self.fingerprint = Digest::of_parts(parts);
        self
    }

    /// What makes two findings of two versions the same: a file that was renamed brings nothing new.
    fn identity(&self) -> (&'static str, FindingSeverity, Digest) {
        (self.rule, self.severity, self.evidence_digest)
    }

    /// The digest of the whole evidence.
    pub(crate) const fn evidence_digest(&self) -> Digest {
        self.evidence_digest
    }
}

/// A file that could not be inspected, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotInspected {
    /// The file, below the skill.
    pub file: String,
    /// Bytes that were not inspected.
    pub bytes: u64,
    /// Why, in words.
    pub reason: &'static str,
    /// Whether it may be a program, by its name.
    #[serde(skip)]
    pub is_program: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How much could be inspected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Files of the skill.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that were inspected.
    pub inspected_bytes: u64,
    /// What was not, in the order of the files.
    pub not_inspected: Vec<NotInspected>,
    /// Findings of low and medium weight that are not listed: the same rule found many more in the same file.
    #[serde(skip_serializing_if = "is_zero")]
    pub findings_left_out: usize,
}

impl Coverage {
    /// Programs that were not inspected, or not to their end: what they do is not known.
    pub fn unread_programs(&self) -> impl Iterator<Item = &NotInspected> {
        self.not_inspected.iter().filter(|it| it.is_program)
    }

    /// The inspected share in percent, rounded down; 100 for an empty skill.
    pub fn percent(&self) -> u8 {
        let percent = (self.inspected_bytes * 100).checked_div(self.bytes).unwrap_or(100);
        u8::try_from(percent.min(100)).unwrap_or(100)
    }
}

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FindingReport {
    /// By file, line and column.
    pub findings: Vec<ScanFinding>,
    /// How much could be inspected.
    pub coverage: Coverage,
}

impl FindingReport {
    /// Findings that no one has accepted.
    pub fn open(&self) -> impl Iterator<Item = &ScanFinding> {
        self.findings.iter().filter(|finding| finding.suppressed.is_none())
    }

    /// The weight of the heaviest open finding.
    pub fn worst(&self) -> Option<FindingSeverity> {
        self.open().map(|finding| finding.severity).max()
    }

    /// The open findings that `before` did not have. Each one there excuses one here: a second copy of a line is new.
    pub fn new_since<'r>(&'r self, before: &Self) -> Vec<&'r ScanFinding> {
        let mut known: HashMap<_, usize> = HashMap::new();
        for finding in &before.findings {
            *known.entry(finding.identity()).or_default() += 1;
        }
        let mut new = Vec::new();
        for finding in self.open() {
            match known.get_mut(&finding.identity()) {
                Some(left) if *left > 0 => *left -= 1,
                _ => new.push(finding),
            }
        }
        new
    }
}
