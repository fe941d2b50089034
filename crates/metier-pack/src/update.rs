//! Bringing installed skills up to date with their sources. Never adds a skill, never loses an edit.
//!
//! Each skill has its own result: one whose source fails, whose files were changed, or that is gone upstream
//! stays as it is and is named, and the others are updated. The rest is a plan like any other.

use metier_skill::text::shell_word;
use serde::Serialize;

use crate::error::PackError;
use crate::install::Overwrite;
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::pack::joined;
use crate::plan::{InstallPlan, PlanView, PlannedAction, PlannedSkill};
use crate::records::{LockedSkill, Records};
use crate::requires::circles;
use crate::seen::SeenRecords;
use crate::skills_in::FoundSkill;
use crate::standing::{Standing, standing};
use crate::target::{InstallTarget, Staging};
use crate::upstream::{
    ReadOptions, SourceNow, SourceProblem, SourceState, UpdateRequest, Upstream, find_upstream,
};
use crate::verify::differences;
use crate::version_order::is_older;

/// How many changed files a message names.
const MAX_NAMED: usize = 3;

/// A skill that was to be updated and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotUpdated {
    /// Its name.
    pub name: String,
    /// Its source, as the records name it.
    pub source: String,
    /// Why.
    pub reason: NotUpdatedReason,
    /// What it is probably called now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: SourceProblem,
}

/// Why a skill is not updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NotUpdatedReason {
    /// Its source cannot be read.
    SourceFailed,
    /// What the source has of it cannot be used.
    Unusable,
    /// The source has it no longer.
    Gone,
    /// The source seems to have it under another name.
    Renamed,
    /// It was changed since it was installed.
    Modified,
    /// What the lock says of it contradicts itself.
    BadLock,
    /// It is in the lock and not in the folder.
    Missing,
    /// It has new findings of high severity.
    NewFindings,
    /// A name that should never mean anything else, such as a tag, means something else.
    Moved,
    /// The source gives an older version than the one that is installed.
    Older,
}

impl NotUpdatedReason {
    /// Whether something has to be done about it; what is gone upstream can stay as it is.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Gone | Self::Renamed)
    }
}

impl NotUpdated {
    /// One that is held back because of what was found in it.
    pub(crate) fn found(skill: &PlannedSkill, findings: usize) -> Self {
        let of_them = if findings == 1 { "finding" } else { "findings" };
        Self {
            name: skill.name.clone(),
            source: skill.source.clone(),
            reason: NotUpdatedReason::NewFindings,
            renamed_to: None,
            problem: SourceProblem {
                code: "new-findings".to_owned(),
                message: format!("`{}` has {findings} new {of_them} of high severity", skill.name),
                help: format!(
                    "look at it: metier update {} --dry-run; --accept-findings updates it nevertheless",
                    shell_word(&skill.name)
                ),
            },
        }
    }
}

fn problem(code: &str, message: String, help: impl Into<String>) -> SourceProblem {
    SourceProblem { code: code.to_owned(), message, help: help.into() }
}

/// What is said of a skill whose tag means something else now.
pub(crate) fn moved_problem(name: &str, source: &str) -> SourceProblem {
    problem(
        "moved",
        format!("{source} means something else than when `{name}` was installed"),
        format!(
            "ask the publisher; `metier update {} --force` takes it, and keeps a backup",
            shell_word(name)
        ),
    )
}

/// What is said of a skill whose source went back to an older version: an old fault may be in it.
fn older_problem(
    name: &str,
    source: &str,
    new: Option<&String>,
    old: Option<&String>,
) -> SourceProblem {
    let shown = |version: Option<&String>| version.cloned().unwrap_or_default();
    problem(
        "older",
        format!(
            "{source} gives version {} of `{name}`, and {} is installed",
            shown(new),
            shown(old)
        ),
        format!(
            "`metier update {} --force` takes the older one, and keeps a backup",
            shell_word(name)
        ),
    )
}

impl InstallTarget {
    /// What updating would come to. Nothing is written.
    pub fn preview_update(&self, request: &UpdateRequest) -> Result<PlanView, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let names = Self::requested(&records, &request.names)?;
        Ok(self.update(&records, &names, request, None)?.view)
    }

    /// A plan to bring installed skills up to date with their sources.
    ///
    /// # Errors
    ///
    /// [`PackError::NotInstalled`] for a name that is not installed here. What is wrong with one source or
    /// skill is in [`PlanView::not_updated`].
    pub fn plan_update(&self, request: &UpdateRequest) -> Result<InstallPlan, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let names = Self::requested(&records, &request.names)?;
        let staging = if names.is_empty() { None } else { Some(self.stage()?) };
        self.update(&records, &names, request, staging)
    }

    fn update(
        &self,
        records: &Records,
        names: &[String],
        request: &UpdateRequest,
        staging: Option<Staging>,
    ) -> Result<InstallPlan, PackError> {
        let limits = &request.limits;
        let options =
            ReadOptions { profile: request.profile, limits, texts: None, as_locked: false };
        let sources =
            self.read_upstream(records, names, staging.as_ref(), options, request.jobs)?;
        let mut plan = InstallPlan::new(self, staging);
        for now in &sources {
            for name in &now.names {
                plan.update_one(records, now, name, request);
            }
        }
        plan.seen_records = SeenRecords::of_some(records.clone());
        plan.hold_back_circles(records, &sources);
        plan.settle_missing(records);
        plan.view.skills.sort_by(|a, b| a.name.cmp(&b.name));
        plan.view.not_updated.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(plan)
    }
}

impl InstallPlan {
    /// Plans what happens to one installed skill.
    fn update_one(
        &mut self,
        records: &Records,
        now: &SourceNow,
        name: &str,
        request: &UpdateRequest,
    ) {
        let Some(locked) = records.lock.skills.get(name) else { return };
        let standing = standing(&self.target, name, Some(locked), &PackLimits::default());
        let is_there = standing.id.is_some();
        if is_there && !locked.is_consistent() && request.overwrite == Overwrite::Refuse {
            let why = bad_lock_problem(name);
            return self.not_updated(name, now, NotUpdatedReason::BadLock, why);
        }
        let (prepared, unusable) = match &now.state {
            SourceState::Unchanged => match in_the_way(name, locked, &standing, Overwrite::Replace)
            {
                Some((reason, why)) => return self.not_updated(name, now, reason, why),
                None => return self.keep_as_is(name, locked, &standing),
            },
            SourceState::Failed(failed) => {
                return self.not_updated(name, now, NotUpdatedReason::SourceFailed, failed.clone());
            }
            SourceState::Read(prepared, unusable) => (prepared, unusable),
        };
        let tree = standing.tree.as_ref();
        let skill = match find_upstream(name, locked, tree, (prepared, unusable), records) {
            Upstream::Here(skill) => skill,
            Upstream::Unusable(what) => {
                return self.not_updated(name, now, NotUpdatedReason::Unusable, what);
            }
            Upstream::Gone { renamed_to } => return self.gone(name, now, renamed_to),
        };
        let is_same =
            skill.tree.digest() == locked.tree && prepared.source.recorded() == locked.source;
        if is_same && standing.obstacle.is_some() && standing.id.is_some() {
            return self.keep_as_is(name, locked, &standing);
        }
        if let Some((reason, why)) = in_the_way(name, locked, &standing, request.overwrite) {
            return self.not_updated(name, now, reason, why);
        }
        if !is_same && prepared.is_moved(locked) && request.overwrite == Overwrite::Refuse {
            let why = moved_problem(name, &now.source);
            return self.not_updated(name, now, NotUpdatedReason::Moved, why);
        }
        let (new, old) = (skill.summary.version.as_ref(), locked.version.as_ref());
        if !is_same && is_older(new, old) && request.overwrite == Overwrite::Refuse {
            let why = older_problem(name, &now.source, new, old);
            return self.not_updated(name, now, NotUpdatedReason::Older, why);
        }
        if let Err(error) = self.put(prepared, skill, &standing, Some(locked), request.overwrite) {
            return self.not_updated(name, now, NotUpdatedReason::Unusable, (&error).into());
        }
        let left_out = skill.tree.left_out.iter();
        self.view.left_out.extend(
            left_out.map(|it| LeftOut { path: joined(&skill.dir, &it.path), reason: it.reason }),
        );
    }

    /// Takes skills that would need each other in a circle out of the plan; the others need not wait for them.
    fn hold_back_circles(&mut self, records: &Records, sources: &[SourceNow]) {
        let mut coming = Vec::new();
        for now in sources {
            let SourceState::Read(prepared, _) = &now.state else { continue };
            let is_change = |skill: &&FoundSkill| {
                let name = skill.summary.name.as_str();
                self.view.skills.iter().any(|it| it.name == name && it.is_change())
            };
            coming.extend(prepared.skills.iter().filter(is_change).map(|skill| (skill, now)));
        }
        for circle in circles(coming.iter().map(|(skill, _)| *skill), records) {
            let now = coming.iter().find(|(skill, _)| skill.summary.name.as_str() == circle[0]);
            let Some((_, now)) = now else { continue };
            self.forget(&circle[0]);
            let why = (&PackError::DependencyCycle(circle.clone())).into();
            self.not_updated(&circle[0], now, NotUpdatedReason::Unusable, why);
        }
    }

    /// Notes a skill that needs no update. Its links are no matter of its source.
    fn keep_as_is(&mut self, name: &str, locked: &LockedSkill, standing: &Standing) {
        let planned = self.known(name, locked, standing, PlannedAction::Keep);
        self.view.skills.push(planned);
    }

    fn gone(&mut self, name: &str, now: &SourceNow, renamed_to: Option<String>) {
        let (reason, why) = match &renamed_to {
            None => (
                NotUpdatedReason::Gone,
                problem(
                    "gone-upstream",
                    format!("{} no longer has `{name}`; it stays as it is", now.source),
                    format!("to remove it: metier uninstall {}", shell_word(name)),
                ),
            ),
            Some(other) => (
                NotUpdatedReason::Renamed,
                problem(
                    "renamed-upstream",
                    format!(
                        "{} seems to call `{name}` `{other}` now; it stays as it is",
                        now.source
                    ),
                    format!(
                        "to change over: metier install {} --skill {}, then metier uninstall {}",
                        shell_word(&now.source),
                        shell_word(other),
                        shell_word(name)
                    ),
                ),
            ),
        };
        self.not_updated(name, now, reason, why);
        if let Some(last) = self.view.not_updated.last_mut() {
            last.renamed_to = renamed_to;
        }
    }

    fn not_updated(
        &mut self,
        name: &str,
        now: &SourceNow,
        reason: NotUpdatedReason,
        problem: SourceProblem,
    ) {
        self.view.not_updated.push(NotUpdated {
            name: name.to_owned(),
            source: now.source.clone(),
            reason,
            renamed_to: None,
            problem,
        });
    }
}

pub(crate) fn bad_lock_problem(name: &str) -> SourceProblem {
    problem(
        "bad-lock",
        format!(
            "skills.lock.json contradicts itself about `{name}`: the digest of the tree is not that of the files"
        ),
        "`metier install` writes it again from the source; --force updates it, and keeps a backup",
    )
}

/// Why what stands there is not replaced by a newer version.
fn in_the_way(
    name: &str,
    locked: &LockedSkill,
    standing: &Standing,
    overwrite: Overwrite,
) -> Option<(NotUpdatedReason, SourceProblem)> {
    if standing.id.is_none() {
        let why = problem(
            "missing",
            format!("`{name}` is in the lock and not in the folder"),
            "`metier install` brings it back",
        );
        return Some((NotUpdatedReason::Missing, why));
    }
    if standing.obstacle.is_none() || overwrite == Overwrite::Replace {
        return None;
    }
    let why = problem(
        "modified",
        format!("`{name}` was changed since it was installed{}", changed_files(locked, standing)),
        format!(
            "see `metier diff {} --local`; --force updates it, and keeps a backup",
            shell_word(name)
        ),
    );
    Some((NotUpdatedReason::Modified, why))
}

/// The first files that are not as they were installed, for a message.
fn changed_files(locked: &LockedSkill, standing: &Standing) -> String {
    let Some(tree) = &standing.tree else { return String::new() };
    let found = differences(tree, locked);
    let named: Vec<&str> = found.iter().take(MAX_NAMED).map(|it| it.path.as_str()).collect();
    let more = found.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if named.is_empty() { String::new() } else { format!(": {}{more}", named.join(", ")) }
}
