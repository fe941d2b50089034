//! The plan: what is shown before anything is changed, and the very object that is carried out.
//!
//! A preview (`--dry-run`) and a plan are made by the same function; the one has no staging directory
//! behind it.

use metier_sign::Signer;
use metier_skill::Digest;
use serde::Serialize;

use crate::error::{Obstacle, ObstacleReason, PackError};
use crate::facts::SkillProblem;
use crate::journal::{Journal, JournalMove, changed_records, commit, folder_id};
use crate::left_out::LeftOut;
use crate::records::{LockedSkill, Records, SourceKind, WantedSkill};
use crate::signatures::UncheckedSignature;
use crate::target::{InstallTarget, Staging};

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
    /// What could be better in it.
    pub warnings: Vec<SkillProblem>,
    /// Who signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<Signer>,
    /// Its signatures that could not be checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<UncheckedSignature>,
    /// The plugin of the source that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
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
}

impl PlanView {
    /// Whether anything in the folder of skills changes.
    pub fn changes_skills(&self) -> bool {
        self.skills.iter().any(|skill| skill.action != PlannedAction::Keep)
    }
}

/// What happens to the records about one skill.
#[derive(Debug, Clone)]
pub(crate) struct RecordChange {
    pub(crate) name: String,
    /// What they say from now on; `None` when the skill is gone.
    pub(crate) now: Option<(WantedSkill, LockedSkill)>,
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
}

impl InstallPlan {
    pub(crate) fn new(target: &InstallTarget, staging: Option<Staging>) -> Self {
        let shown = target.root.to_string_lossy().into_owned();
        Self {
            target: target.clone(),
            view: PlanView { target: shown, skills: Vec::new(), left_out: Vec::new() },
            staging,
            moves: Vec::new(),
            records: Vec::new(),
            forgotten_backup: None,
            obstacles: Vec::new(),
        }
    }

    /// What is shown of it.
    pub const fn view(&self) -> &PlanView {
        &self.view
    }

    /// Whether carrying it out would change anything.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.records.is_empty()
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
        let Self { target, view, staging, moves, records, forgotten_backup, .. } = self;
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
        let before = Records::read(&target.records)?;
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
        commit(&target, &lock, staging, &Journal { moves, records, forgotten_backup })?;
        Ok(view)
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
