//! Verifying: what is on the disk against the lock, file by file. Nothing is written.
//!
//! The digests are the result as much as the verdict: a person can compare them with what others have.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_fs::{entry_kind, is_real_dir, read_dir_names};
use metier_registry::parallel;
use metier_scan::ScanFinding;
use metier_skill::{Digest, Profile};
use serde::Serialize;

use crate::directory::read_directory;
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::left_out::LeftOutReason;
use crate::limits::PackLimits;
use crate::links::{LinkState, VerifiedLink};
use crate::outgoing::Outgoing;
use crate::records::{LockedSkill, Records};
use crate::review::report_of;
use crate::shipped_tree::ShippedTree;
use crate::target::InstallTarget;

/// How a skill compares with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VerifyState {
    /// It is what was installed.
    Unchanged,
    /// It differs.
    Modified,
    /// It is locked and not there.
    Missing,
    /// It is there and was not installed.
    Unmanaged,
    /// It cannot be read.
    Unreadable,
    /// What the lock says of it contradicts itself.
    BadLock,
}

/// What is different about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileState {
    /// It holds something else.
    Changed,
    /// It is not there.
    Missing,
    /// It was not installed.
    Extra,
    /// Its execute bit is different.
    Mode,
    /// It is a link, or something else that is not a file.
    NotAFile,
}

/// A file that is not as the lock says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileDifference {
    /// Its path in the skill.
    pub path: String,
    /// What is different.
    pub state: FileState,
}

/// A skill that was verified.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct VerifiedSkill {
    /// Its name.
    pub name: String,
    /// How it compares.
    pub state: VerifyState,
    /// Where it is.
    pub path: String,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its version, as it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its tree, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// The digest that is locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<Digest>,
    /// What is different.
    pub differences: Vec<FileDifference>,
    /// The digest of each file, as it is.
    pub files: BTreeMap<String, Digest>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The links to it in the folders of other agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<VerifiedLink>,
    /// Who had signed it when it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// What a scan finds in the files that are not as installed, or in all of them where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ScanFinding>,
}

/// Which files are scanned while they are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyScan {
    /// Those that are not as installed: what was accepted has been seen.
    #[default]
    Differing,
    /// All of them.
    All,
}

impl InstallTarget {
    /// Verifies the skills of these names, or everything in the folder.
    ///
    /// # Errors
    ///
    /// [`PackError`], where the lock cannot be read, or a name is neither installed nor there.
    pub fn verify(&self, names: &[String]) -> Result<Vec<VerifiedSkill>, PackError> {
        self.verify_scanning(names, VerifyScan::Differing)
    }

    /// The same, with a choice of what is scanned.
    pub fn verify_scanning(
        &self,
        names: &[String],
        scan: VerifyScan,
    ) -> Result<Vec<VerifiedSkill>, PackError> {
        self.recover()?;
        self.compare_scanning(names, Some(scan))
    }

    /// The same without a scan, and without finishing what a killed process had begun: nothing is written at all.
    pub fn compare(&self, names: &[String]) -> Result<Vec<VerifiedSkill>, PackError> {
        self.compare_scanning(names, None)
    }

    fn compare_scanning(
        &self,
        names: &[String],
        scan: Option<VerifyScan>,
    ) -> Result<Vec<VerifiedSkill>, PackError> {
        let records = Records::read(&self.records)?;
        let chosen = if names.is_empty() { self.all_names(&records)? } else { names.to_vec() };
        for name in names {
            let is_there = || {
                crate::skills_in::check_folder_name(name).is_ok()
                    && entry_kind(&self.root.join(name)).is_some()
            };
            if !records.lock.skills.contains_key(name) && !is_there() {
                return Err(records.not_installed(name));
            }
        }
        let lock = &records.lock.skills;
        let (done, total) = (AtomicU64::new(0), chosen.len() as u64);
        Ok(parallel::map(
            chosen,
            4,
            || (),
            |(), name: String| {
                let locked = lock.get(&name);
                let mut verified = self.verify_one(name, locked);
                if let Some(scan) = scan {
                    self.add_findings(&mut verified, scan);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    self.access.progress.count("verifying", done, total);
                }
                verified
            },
        ))
    }

    fn all_names(&self, records: &Records) -> Result<Vec<String>, PackError> {
        let mut names: Vec<String> = records.lock.skills.keys().cloned().collect();
        if is_real_dir(&self.root) {
            let there = read_dir_names(&self.root);
            let there = there.map_err(|error| PackError::not_readable(&self.root, error))?;
            let is_skill = |name: &String| {
                !records.lock.skills.contains_key(name)
                    && entry_kind(&self.root.join(name).join(SKILL_FILE)).is_some()
            };
            names.extend(there.into_iter().filter(is_skill));
        }
        names.sort();
        Ok(names)
    }

    fn verify_one(&self, name: String, locked: Option<&LockedSkill>) -> VerifiedSkill {
        let place = self.root.join(&name);
        let mut verified = VerifiedSkill {
            state: VerifyState::Missing,
            path: place.to_string_lossy().into_owned(),
            source: locked.map(|it| it.source.clone()),
            version: locked.and_then(|it| it.version.clone()),
            tree: None,
            locked: locked.map(|it| it.tree),
            differences: Vec::new(),
            files: BTreeMap::new(),
            reason: None,
            links: locked.map(|it| self.verified_links(&name, it)).unwrap_or_default(),
            signer: locked.and_then(|it| it.signer.clone()),
            findings: Vec::new(),
            name,
        };
        if entry_kind(&place).is_none() {
            return verified;
        }
        let tree = match read_directory(
            &place,
            &PackLimits::default(),
            Outgoing::nowhere(Profile::Lenient),
        ) {
            Ok(tree) => tree,
            Err(error) => {
                verified.state = VerifyState::Unreadable;
                verified.reason = Some(error.to_string());
                return verified;
            }
        };
        verified.tree = Some(tree.digest());
        verified.files = tree.files.iter().map(|file| (file.path.clone(), file.digest)).collect();
        verified.state = match locked {
            None => VerifyState::Unmanaged,
            Some(locked) => {
                verified.differences = differences(&tree, locked);
                let is_linked = |link: &VerifiedLink| link.state == LinkState::Unchanged;
                match verified.differences.is_empty() {
                    // What contradicts itself says nothing about the files.
                    _ if !locked.is_consistent() => VerifyState::BadLock,
                    false => VerifyState::Modified,
                    true if !verified.links.iter().all(is_linked) => VerifyState::Modified,
                    true => VerifyState::Unchanged,
                }
            }
        };
        verified
    }
}

/// The digest of the skill in a folder, as a lock would have it.
///
/// # Errors
///
/// [`PackError`], where it cannot be read.
pub fn folder_digest(folder: &Path) -> Result<Digest, PackError> {
    let outgoing = Outgoing::nowhere(Profile::Lenient);
    Ok(read_directory(folder, &PackLimits::default(), outgoing)?.digest())
}

impl InstallTarget {
    /// Scans what is to be scanned of a skill that was verified. The files are read again: most skills are as they
    /// were installed, and need no scan.
    fn add_findings(&self, verified: &mut VerifiedSkill, scan: VerifyScan) {
        if verified.tree.is_none() || (verified.differences.is_empty() && scan != VerifyScan::All) {
            return;
        }
        let place = self.root.join(&verified.name);
        let outgoing = Outgoing::nowhere(Profile::Lenient).inspected();
        let Ok(tree) = read_directory(&place, &PackLimits::default(), outgoing) else { return };
        let mut report = report_of(&tree);
        self.accepted.suppressions.apply(&mut report);
        let differs = |file: &str| verified.differences.iter().any(|it| it.path == file);
        let is_shown = |finding: &ScanFinding| scan == VerifyScan::All || differs(&finding.file);
        verified.findings = report.open().filter(|it| is_shown(it)).cloned().collect();
    }
}

pub(crate) fn differences(tree: &ShippedTree, locked: &LockedSkill) -> Vec<FileDifference> {
    let mut found = Vec::new();
    let mut note = |path: &str, state| found.push(FileDifference { path: path.to_owned(), state });
    let here: BTreeMap<&str, _> =
        tree.files.iter().map(|file| (file.path.as_str(), file)).collect();
    for (path, digest) in &locked.files {
        match here.get(path.as_str()) {
            None => note(path, FileState::Missing),
            Some(file) if file.digest != *digest => note(path, FileState::Changed),
            Some(file) if file.executable != locked.executable.contains(path) => {
                note(path, FileState::Mode);
            }
            Some(_) => {}
        }
    }
    for path in here.keys().filter(|path| !locked.files.contains_key(**path)) {
        note(path, FileState::Extra);
    }
    for left in &tree.left_out {
        use LeftOutReason::{HardLink, Link, Special};
        if matches!(left.reason, HardLink | Link | Special) {
            note(&left.path, FileState::NotAFile);
        }
    }
    found.sort_by(|a, b| (&a.path, a.state).cmp(&(&b.path, b.state)));
    found
}
