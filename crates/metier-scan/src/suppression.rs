//! Findings that a person looked at and accepted, each with a reason.
//!
//! A suppression is bound to the evidence: when the line changes, the finding is back. A file that cannot be read
//! suppresses nothing.

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::report::FindingReport;
use crate::rules::rule;

/// One accepted finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    /// The code of the rule.
    pub rule: String,
    /// The fingerprint of the finding, as `metier scan --json` prints it.
    pub fingerprint: Digest,
    /// Why it is accepted.
    pub reason: String,
}

/// A list of accepted findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppressions {
    /// The findings.
    pub suppressions: Vec<Suppression>,
}

/// Why a list of suppressions is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSuppressions(String);

impl std::fmt::Display for InvalidSuppressions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidSuppressions {}

impl Suppressions {
    /// Reads a list: `{"suppressions": [{"rule", "fingerprint", "reason"}]}`.
    pub fn parse(text: &str) -> Result<Self, InvalidSuppressions> {
        let list: Self =
            serde_json::from_str(text).map_err(|error| InvalidSuppressions(error.to_string()))?;
        for (number, entry) in (1..).zip(&list.suppressions) {
            if rule(&entry.rule).is_none() {
                return Err(InvalidSuppressions(format!(
                    "entry {number}: unknown rule `{}`",
                    entry.rule
                )));
            }
            if entry.reason.trim().is_empty() {
                return Err(InvalidSuppressions(format!("entry {number}: a reason is required")));
            }
        }
        Ok(list)
    }

    /// Marks the findings of a report that are accepted. Gives the entries that matched nothing: what they were about
    /// has changed or is gone.
    pub fn apply<'s>(&'s self, report: &mut FindingReport) -> Vec<&'s Suppression> {
        let mut unused = Vec::new();
        for entry in &self.suppressions {
            let mut matched = false;
            let hits = report.findings.iter_mut().filter(|finding| {
                finding.rule == entry.rule && finding.fingerprint == entry.fingerprint
            });
            for finding in hits {
                finding.suppressed = Some(entry.reason.clone());
                matched = true;
            }
            if !matched {
                unused.push(entry);
            }
        }
        unused
    }
}
