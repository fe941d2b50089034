//! What a scan found in a skill that is about to be installed, and which of it is new to the person.
//!
//! Evidence, not a verdict: a finding of high severity stops a plan until a person accepts it, and nothing is
//! allowed because nothing was found. Not new is what the installed version had, where that very version was
//! accepted on this machine; a lock that came with a clone accepts nothing. Suppressions come from the person
//! and never from what is installed.

use std::collections::BTreeMap;

use metier_scan::{FindingReport, FindingSeverity, ScanFinding, Scanner, Suppressions};
use metier_skill::{Digest, Profile};
use serde::Serialize;

use crate::directory::read_directory;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::shipped_tree::ShippedTree;
use crate::standing::Standing;
use crate::target::InstallTarget;

/// What the person accepted before.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AcceptedBefore {
    /// Findings.
    pub suppressions: Suppressions,
    /// Installed skills, each with the digest of the tree that was accepted.
    pub skills: BTreeMap<String, Digest>,
}

/// A finding in a skill of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedFinding {
    /// What was found, with its evidence.
    #[serde(flatten)]
    pub finding: ScanFinding,
    /// Whether the version that was accepted did not have it.
    pub new: bool,
}

impl PlannedFinding {
    /// Whether it stops the plan until a person accepts it.
    pub fn stops(&self) -> bool {
        self.new && self.finding.severity == FindingSeverity::High
    }
}

/// What was found in a tree whose files were scanned while they were read.
pub(crate) fn report_of(tree: &ShippedTree) -> FindingReport {
    let mut scanner = Scanner::new();
    for file in &tree.files {
        match &file.inspected {
            Some(inspected) => scanner.add(&file.path, (**inspected).clone()),
            None => scanner.unread(&file.path, file.size, "it was not scanned"),
        }
    }
    scanner.finish()
}

/// What a scan says about a skill of a plan.
#[derive(Debug, Default)]
pub(crate) struct Review {
    pub(crate) findings: Vec<PlannedFinding>,
    /// The share of its bytes that was inspected.
    pub(crate) percent: Option<u8>,
    /// Programs that were not, or not to their end.
    pub(crate) unread_programs: Vec<String>,
}

/// What a scan finds in the tree of the skill `name`.
pub(crate) fn review(
    target: &InstallTarget,
    name: &str,
    tree: &ShippedTree,
    standing: &Standing,
) -> Review {
    let mut report = report_of(tree);
    let percent = Some(report.coverage.percent());
    let unread_programs: Vec<String> =
        report.coverage.unread_programs().map(|it| it.file.clone()).collect();
    if report.findings.is_empty() {
        return Review { findings: Vec::new(), percent, unread_programs };
    }
    target.accepted.suppressions.apply(&mut report);
    let before = accepted_report(target, name, standing);
    let new: Vec<*const ScanFinding> =
        report.new_since(&before).into_iter().map(std::ptr::from_ref).collect();
    let is_new: Vec<bool> =
        report.findings.iter().map(|finding| new.contains(&std::ptr::from_ref(finding))).collect();
    let findings = report.findings.into_iter().zip(is_new);
    let findings = findings.map(|(finding, new)| PlannedFinding { finding, new }).collect();
    Review { findings, percent, unread_programs }
}

/// What the version has that stands there, if it is the one that was accepted.
fn accepted_report(target: &InstallTarget, name: &str, standing: &Standing) -> FindingReport {
    let accepted = target.accepted.skills.get(name);
    let stands = standing.tree.as_ref().map(ShippedTree::digest);
    if accepted.is_none() || accepted.copied() != stands {
        return FindingReport::default();
    }
    let place = target.root.join(name);
    let outgoing = Outgoing::nowhere(Profile::Lenient).inspected();
    match read_directory(&place, &PackLimits::default(), outgoing) {
        // It may have changed since it was looked at.
        Ok(tree) if Some(tree.digest()) == stands => report_of(&tree),
        _ => FindingReport::default(),
    }
}
