//! The plan: what is shown before anything is changed, and the very object that is carried out.
//!
//! A preview (`--dry-run`) and a plan are made by the same function; the one has no staging directory
//! behind it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use metier_sign::Signer;
use metier_skill::Digest;
use serde::Serialize;

use crate::changes::SkillChanges;
use crate::error::{Obstacle, ObstacleReason, PackError};
use crate::facts::SkillProblem;
use crate::journal::{
    Journal, JournalLink, JournalMove, changed_records, commit, folder_id, record_texts,
};
use crate::left_out::LeftOut;
use crate::links::{LinkAction, PlannedLink};
use crate::records::{LOCK_FILE, LockedSkill, Records, SourceKind, WantedSkill};
use crate::review::PlannedFinding;
use crate::seen::{SeenRecords, SeenSkill, StagedSkill, check_seen};
use crate::signatures::UncheckedSignature;
use crate::target::{InstallTarget, Staging};
use crate::update::NotUpdated;

/// What happens to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PlannedAction {
    /// It is installed; nothing of its name was there.
    Add,
    /// It takes the place of one that goes to a backup.
    Replace,
    /// It goes to a backup.
    Remove,
    /// It comes back from a backup.
    Restore,
    /// Its files are there already; the records take it over, or name another source for it.
    Adopt,
    /// It is there as it should be; only the records may be written.
    Keep,
}

/// One skill of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedSkill {
    /// Its name.
    pub name: String,
    /// What happens to it.
    pub action: PlannedAction,
    /// Its folder.
    pub path: String,
    /// Where it comes from, as the records name it.
    pub source: String,
    /// The kind of the source.
    pub kind: SourceKind,
    /// What the source was resolved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version that is installed, where another one takes its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was_version: Option<String>,
    /// Whether its version is older than the installed one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older: bool,
    /// What it does, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tools it wants, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// The files in it that are meant to be run.
    pub scripts: Vec<String>,
    /// How many files it has.
    pub files: usize,
    /// Bytes of all of them; 0 where they are not looked at.
    pub bytes: u64,
    /// The digest of its tree.
    pub tree: Digest,
    /// The digest of what stands in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Digest>,
    /// Why what stands there is only replaced because that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<ObstacleReason>,
    /// The skill of the same name elsewhere that is hidden by it, by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hides: Option<String>,
    /// The source that the records named for it, where it is another one from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces_source: Option<String>,
    /// Files in its folder that no installation put there, and that come along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_files: Vec<String>,
    /// What is among these and could not be copied, as it is no file: a socket, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_copied: Vec<String>,
    /// Files in its folder that no installation put there, and that are only in the backup afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backup_files: Vec<String>,
    /// What could be better in it.
    pub warnings: Vec<SkillProblem>,
    /// The plugin of the source that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Who signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<Signer>,
    /// Its signatures that could not be checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<UncheckedSignature>,
    /// What a scan found in it.
    pub findings: Vec<PlannedFinding>,
    /// The share of its bytes that could be inspected, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspected_percent: Option<u8>,
    /// Programs in it that could not be inspected, or not to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_programs: Vec<String>,
    /// How it differs from what stands in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<SkillChanges>,
    /// Links to it in the folders of other agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PlannedLink>,
    /// The skills that need it. Of one that is installed: those for whose sake it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<String>,
    /// The skills that it needs and that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl PlannedSkill {
    /// Whether anything happens to it or to its links.
    pub fn is_change(&self) -> bool {
        self.action != PlannedAction::Keep
            || self.links.iter().any(|link| link.action != LinkAction::Keep)
    }
}

/// What a plan shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanView {
    /// The folder of skills.
    pub target: String,
    /// What happens, by name.
    pub skills: Vec<PlannedSkill>,
    /// What the sources hold and is not installed.
    pub left_out: Vec<LeftOut>,
    /// Whether a list in the source that was named led to another one, which has the skills.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub led_elsewhere: bool,
    /// What was to be updated and is not, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_updated: Vec<NotUpdated>,
    /// The skills about which the lock contradicts itself: what it says of them is written again from their source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad_lock: Vec<String>,
}

impl PlanView {
    /// Whether anything changes that a person has to agree to: in the folder of skills, or whose source a skill is
    /// from.
    pub fn changes_skills(&self) -> bool {
        self.skills.iter().any(PlannedSkill::is_change)
    }

    /// The skills that come from a source. One whose files were there already is one of them: the records that say so
    /// are new.
    pub fn landing(&self) -> impl Iterator<Item = &PlannedSkill> {
        use PlannedAction::{Add, Adopt, Replace};
        self.skills.iter().filter(|skill| matches!(skill.action, Add | Adopt | Replace))
    }

    /// Takes the names that `is_there` knows from what is missing: a skill of another folder serves as well.
    pub fn note_present(&mut self, is_there: impl Fn(&str) -> bool) {
        for skill in &mut self.skills {
            skill.missing.retain(|name| !is_there(name));
        }
    }

    /// Notes of each skill that is new here which other skill, of another folder, it takes the name of.
    pub fn note_hidden(&mut self, hidden: impl Fn(&str) -> Option<String>) {
        use PlannedAction::{Add, Adopt, Restore};
        for skill in &mut self.skills {
            if matches!(skill.action, Add | Adopt | Restore) {
                skill.hides = hidden(&skill.name);
            }
        }
    }

    /// The findings that stop the plan until a person accepts them, each with its skill.
    pub fn stopping(&self) -> impl Iterator<Item = (&PlannedSkill, &PlannedFinding)> {
        let stopping = |skill: &'_ PlannedSkill| skill.action != PlannedAction::Keep;
        self.skills.iter().filter(move |skill| stopping(skill)).flat_map(|skill| {
            skill.findings.iter().filter(|it| it.stops()).map(move |finding| (skill, finding))
        })
    }
}

/// What happens to the records about one skill.
#[derive(Debug, Clone)]
pub(crate) struct RecordChange {
    pub(crate) name: String,
    /// What they say from now on; `None` when the skill is gone.
    pub(crate) now: Option<(WantedSkill, LockedSkill)>,
}

/// Files that are copied from the folder of an installed skill into the version that takes its place.
#[derive(Debug)]
pub(crate) struct FilesToKeep {
    pub(crate) name: String,
    /// The new version in the staging directory.
    pub(crate) new: PathBuf,
    /// Their paths in both.
    pub(crate) files: Vec<String>,
}

/// A plan that can be carried out.
#[derive(Debug)]
pub struct InstallPlan {
    pub(crate) target: InstallTarget,
    pub(crate) view: PlanView,
    pub(crate) staging: Option<Staging>,
    pub(crate) moves: Vec<JournalMove>,
    pub(crate) records: Vec<RecordChange>,
    pub(crate) forgotten_backup: Option<String>,
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) kept_files: Vec<FilesToKeep>,
    /// What stands in the places of skills that change.
    pub(crate) seen: Vec<SeenSkill>,
    /// The trees that take these places.
    pub(crate) staged: Vec<StagedSkill>,
    /// Links that come and go.
    pub(crate) link_moves: Vec<JournalLink>,
    /// The agents that get a link to everything in the plan.
    pub(crate) link_agents: Vec<String>,
    /// Whether a person accepted the findings that are in the view.
    findings_accepted: bool,
    /// What the records said when it was made.
    pub(crate) seen_records: SeenRecords,
}

impl InstallPlan {
    pub(crate) fn new(target: &InstallTarget, staging: Option<Staging>) -> Self {
        let shown = target.root.to_string_lossy().into_owned();
        Self {
            target: target.clone(),
            view: PlanView {
                target: shown,
                skills: Vec::new(),
                left_out: Vec::new(),
                led_elsewhere: false,
                not_updated: Vec::new(),
                bad_lock: Vec::new(),
            },
            staging,
            moves: Vec::new(),
            records: Vec::new(),
            forgotten_backup: None,
            obstacles: Vec::new(),
            kept_files: Vec::new(),
            seen: Vec::new(),
            staged: Vec::new(),
            link_moves: Vec::new(),
            link_agents: Vec::new(),
            findings_accepted: false,
            seen_records: SeenRecords::default(),
        }
    }

    /// Says that a person has seen the findings in the view and accepts them. Without it a new finding of high
    /// severity stops the plan.
    pub fn accept_findings(&mut self) {
        self.findings_accepted = true;
    }

    /// Takes the skills with a finding that stops the plan out of it, and names them as not updated: the others
    /// need not wait for them.
    pub fn hold_back_found(&mut self) {
        let held: BTreeSet<String> =
            self.view.stopping().map(|(skill, _)| skill.name.clone()).collect();
        for name in held {
            let found = self.view.stopping().filter(|(skill, _)| skill.name == name).count();
            let Some(skill) = self.forget(&name) else { continue };
            self.view.not_updated.push(NotUpdated::found(&skill, found));
        }
    }

    /// Takes everything about one skill out of the plan.
    pub(crate) fn forget(&mut self, name: &str) -> Option<PlannedSkill> {
        self.moves.retain(|planned| planned.name != name);
        self.records.retain(|change| change.name != name);
        self.kept_files.retain(|kept| kept.name != name);
        self.seen.retain(|seen| seen.name != name);
        self.staged.retain(|staged| staged.name != name);
        self.link_moves.retain(|link| link.name != name);
        let at = self.view.skills.iter().position(|skill| skill.name == name)?;
        Some(self.view.skills.remove(at))
    }

    /// See [`PlanView::note_present`].
    pub fn note_present(&mut self, is_there: impl Fn(&str) -> bool) {
        self.view.note_present(is_there);
    }

    /// See [`PlanView::note_hidden`].
    pub fn note_hidden(&mut self, hidden: impl Fn(&str) -> Option<String>) {
        self.view.note_hidden(hidden);
    }

    /// What is shown of it.
    pub const fn view(&self) -> &PlanView {
        &self.view
    }

    /// Whether carrying it out would change anything.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.records.is_empty() && self.link_moves.is_empty()
    }

    /// The plan, or an error that names everything that is in its way.
    pub(crate) fn checked(self) -> Result<Self, PackError> {
        if self.obstacles.is_empty() { Ok(self) } else { Err(PackError::InTheWay(self.obstacles)) }
    }

    /// Carries it out: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// [`PackError`]; nothing is changed then, unless the change already counted: then the next command
    /// finishes it.
    pub fn carry_out(self) -> Result<PlanView, PackError> {
        if self.is_empty() {
            return Ok(self.view);
        }
        self.target.access.check_cancelled()?;
        if !self.findings_accepted && self.view.stopping().next().is_some() {
            return Err(PackError::new_findings(&self.view));
        }
        let Self {
            target, mut view, staging, moves, records, forgotten_backup, kept_files, ..
        } = self;
        let (links, seen, staged) = (self.link_moves, self.seen, self.staged);
        let seen_records = self.seen_records;
        let staging = match staging {
            Some(staging) => staging,
            None => target.stage()?,
        };
        let lock = target.lock()?;
        target.recover_locked(&lock)?;
        for planned in &moves {
            let place = target.root.join(&planned.name);
            if folder_id(&place) != planned.old {
                return Err(PackError::TargetChanged(place));
            }
        }
        if let Some(link) = links.iter().find(|link| folder_id(&link.path) != link.old) {
            return Err(PackError::TargetChanged(link.path.clone()));
        }
        check_seen(&target.root, &seen, &staging, &staged)?;
        for kept in &kept_files {
            let left = kept.copy(&target, &staging)?;
            if let Some(skill) = view.skills.iter_mut().find(|skill| skill.name == kept.name) {
                skill.not_copied = left;
            }
        }
        let before = Records::read(&target.records)?;
        let names = view.skills.iter().map(|skill| &skill.name);
        if !seen_records.holds(&before, names.chain(records.iter().map(|change| &change.name))) {
            return Err(PackError::TargetChanged(target.records.join(LOCK_FILE)));
        }
        let mut after = before.clone();
        for change in records {
            let Some((wanted, locked)) = change.now else {
                after.wanted.skills.remove(&change.name);
                after.lock.skills.remove(&change.name);
                continue;
            };
            // What a person wrote beside the source of the same skill stays.
            let same = after.wanted.skills.get(&change.name);
            if same.is_none_or(|same| same.source != wanted.source) {
                after.wanted.skills.insert(change.name.clone(), wanted);
            }
            after.lock.skills.insert(change.name, locked);
        }
        let records = changed_records(&before, &after);
        let old_records = record_texts(&target);
        let journal = Journal { moves, records, old_records, forgotten_backup, links };
        commit(&target, &lock, staging, journal)?;
        Ok(view)
    }
}

impl FilesToKeep {
    /// Into staging, before the change counts: the originals go to the backup with the old version. Gives what is no
    /// file, and stays behind.
    fn copy(&self, target: &InstallTarget, staging: &Staging) -> Result<Vec<String>, PackError> {
        let mut left = Vec::new();
        let (from, to) = (target.root.join(&self.name), staging.path().join(&self.new));
        for file in &self.files {
            let place = to.join(file);
            let written = |error| PackError::not_written(&place, error);
            for (end, _) in file.match_indices('/') {
                metier_fs::create_dir(&to.join(&file[..end])).map_err(written)?;
            }
            let others = metier_fs::copy_whole(&from.join(file), &place).map_err(written)?;
            let inner = others.iter().filter_map(|path| path.strip_prefix(&from).ok());
            left.extend(inner.map(|path| path.to_string_lossy().into_owned()));
        }
        Ok(left)
    }
}

/// The files of a tree that are meant to be run: those with the bit, and those that an interpreter takes.
pub(crate) fn scripts<'f>(files: impl Iterator<Item = (&'f str, bool)>) -> Vec<String> {
    const SUFFIXES: &[&str] = &[
        ".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1",
        ".bat", ".cmd", ".lua", ".exe",
    ];
    let is_script =
        |path: &str| SUFFIXES.iter().any(|suffix| path.to_ascii_lowercase().ends_with(suffix));
    files.filter(|(path, runs)| *runs || is_script(path)).map(|(path, _)| path.to_owned()).collect()
}
