//! Installed skills against what their sources give now. Nothing is written, and a source that cannot be read is
//! a result like any other.

use metier_skill::Digest;
use serde::Serialize;

use crate::error::PackError;
use crate::limits::PackLimits;
use crate::records::{LockedSkill, Records, SourceKind};
use crate::source::parse_source;
use crate::standing::standing;
use crate::target::InstallTarget;
use crate::update::{bad_lock_problem, moved_problem};
use crate::upstream::{
    ReadOptions, SourceNow, SourceProblem, SourceState, UpdateRequest, Upstream, find_upstream,
};
use crate::version_order::is_older;

/// How an installed skill compares with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UpstreamState {
    /// The source gives what is installed.
    Current,
    /// The source gives something else.
    Outdated,
    /// A name that should never mean anything else, such as a tag, means something else.
    Moved,
    /// The source has it no longer.
    Gone,
    /// The source seems to have it under another name.
    Renamed,
    /// What the lock says of it contradicts itself, so nothing can be said of what is installed.
    BadLock,
    /// What the source has of it cannot be used.
    Unusable,
    /// The source cannot be read.
    SourceFailed,
}

/// An installed skill and what its source gives now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstalledSkill {
    /// Its name.
    pub name: String,
    /// How it compares.
    pub state: UpstreamState,
    /// Its source, as the records name it.
    pub source: String,
    /// The kind of the source.
    pub kind: SourceKind,
    /// The version that is installed.
    pub version: Option<String>,
    /// The version that the source gives.
    pub available_version: Option<String>,
    /// The digest of the tree that was installed.
    pub tree: Digest,
    /// The digest of the tree that the source gives.
    pub available_tree: Option<Digest>,
    /// Whether the version that the source gives is an older one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older: bool,
    /// Whether it was changed since it was installed, or is gone from the folder.
    pub modified: bool,
    /// Whether it is gone from the folder.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// What it is probably called now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// What is wrong with its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<SourceProblem>,
}

impl InstallTarget {
    /// Compares installed skills with what their sources give now, by name.
    ///
    /// # Errors
    ///
    /// [`PackError::NotInstalled`] for a name that is not installed here; a source that cannot be read is a
    /// result.
    pub fn outdated(&self, request: &UpdateRequest) -> Result<Vec<InstalledSkill>, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let names = Self::requested(&records, &request.names)?;
        self.compare_upstream(&records, &names, request, |_| true)
    }

    /// The same for those of the skills whose source is named by a tag that should never change: of a repository, or
    /// the version of a registry. Other sources are not asked, and names that are not installed here are left out.
    ///
    /// # Errors
    ///
    /// [`PackError`] where the records cannot be read.
    pub fn outdated_tags(&self, request: &UpdateRequest) -> Result<Vec<InstalledSkill>, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let is_meant = |name: &String| request.names.is_empty() || request.names.contains(name);
        let may_be_tag = |locked: &LockedSkill| {
            parse_source(&locked.source, &self.base, &self.base).is_ok_and(|it| it.may_be_tag())
        };
        let names = records.lock.skills.iter();
        let names = names.filter(|(name, locked)| is_meant(name) && may_be_tag(locked));
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        // Whether a name is a tag or a branch, only its repository knows; and the lock, if it was one.
        let was_fixed = |name: &String| records.lock.skills.get(name).is_some_and(|it| it.fixed);
        let is_fixed = |now: &SourceNow| match &now.state {
            SourceState::Read(prepared, _) => prepared.is_fixed || now.names.iter().any(was_fixed),
            SourceState::Unchanged | SourceState::Failed(_) => true,
        };
        self.compare_upstream(&records, &names, request, is_fixed)
    }

    fn compare_upstream(
        &self,
        records: &Records,
        names: &[String],
        request: &UpdateRequest,
        is_meant: impl Fn(&SourceNow) -> bool,
    ) -> Result<Vec<InstalledSkill>, PackError> {
        let options = ReadOptions {
            profile: request.profile,
            limits: &request.limits,
            texts: None,
            as_locked: false,
        };
        let sources = self.read_upstream(records, names, None, options, request.jobs)?;
        let mut found = Vec::new();
        for now in sources.iter().filter(|now| is_meant(now)) {
            for name in &now.names {
                let Some(locked) = records.lock.skills.get(name) else { continue };
                found.push(self.compared(records, now, name, locked));
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn compared(
        &self,
        records: &Records,
        now: &SourceNow,
        name: &str,
        locked: &LockedSkill,
    ) -> InstalledSkill {
        let standing = standing(self, name, Some(locked), &PackLimits::default());
        let mut skill = InstalledSkill {
            name: name.to_owned(),
            state: UpstreamState::Current,
            source: now.source.clone(),
            kind: locked.kind,
            version: locked.version.clone(),
            available_version: locked.version.clone(),
            tree: locked.tree,
            available_tree: Some(locked.tree),
            older: false,
            modified: standing.obstacle.is_some() || standing.id.is_none(),
            missing: standing.id.is_none(),
            renamed_to: None,
            problem: None,
        };
        if !locked.is_consistent() {
            skill.state = UpstreamState::BadLock;
            skill.problem = Some(bad_lock_problem(name));
            skill.available_version = None;
            skill.available_tree = None;
            return skill;
        }
        let (prepared, unusable) = match &now.state {
            SourceState::Unchanged => return skill,
            SourceState::Failed(problem) => {
                skill.problem = Some(problem.clone());
                return skill.without_upstream(UpstreamState::SourceFailed);
            }
            SourceState::Read(prepared, unusable) => (prepared, unusable),
        };
        let tree = standing.tree.as_ref();
        match find_upstream(name, locked, tree, (prepared, unusable), records) {
            Upstream::Here(found) => {
                let tree = found.tree.digest();
                skill.available_tree = Some(tree);
                skill.available_version.clone_from(&found.summary.version);
                skill.older = is_older(skill.available_version.as_ref(), skill.version.as_ref());
                if tree != locked.tree && prepared.is_moved(locked) {
                    skill.state = UpstreamState::Moved;
                    skill.problem = Some(moved_problem(name, &now.source));
                } else if tree != locked.tree {
                    skill.state = UpstreamState::Outdated;
                }
                skill
            }
            Upstream::Unusable(problem) => {
                skill.problem = Some(problem);
                skill.without_upstream(UpstreamState::Unusable)
            }
            Upstream::Gone { renamed_to } => {
                skill.renamed_to = renamed_to;
                let state = match skill.renamed_to {
                    Some(_) => UpstreamState::Renamed,
                    None => UpstreamState::Gone,
                };
                skill.without_upstream(state)
            }
        }
    }
}

impl InstalledSkill {
    fn without_upstream(self, state: UpstreamState) -> Self {
        Self { state, available_version: None, available_tree: None, ..self }
    }
}
