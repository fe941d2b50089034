//! Installing from a source, and making the disk agree with the records.
//! What stands in the way is found here; carrying a plan out is `plan`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use metier_skill::Profile;

use crate::access::SourceOrigin;
use crate::error::{Obstacle, ObstacleReason, PackError};
use crate::limits::PackLimits;
use crate::plan::{InstallPlan, PlanView};
use crate::prepare::{Preparing, SkillChoice};
use crate::records::Records;
use crate::requires::{add_required, check_circles};
use crate::seen::SeenRecords;
use crate::skills_in::FoundSkill;
use crate::source::{InstallSource, parse_request};
use crate::standing::{Standing, folded_names, other_spelling, standing};
use crate::target::{InstallTarget, Staging};

/// What is done about skills that stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// They stay, and nothing is installed.
    #[default]
    Refuse,
    /// They go to a backup.
    Replace,
}

/// What is to be installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InstallRequest {
    /// The source, as it was typed.
    pub source: String,
    /// Where relative paths start.
    pub dir: PathBuf,
    /// Only the skills of these names. When empty: all of a directory or archive, and those that a person picks
    /// where a repository has several.
    pub skills: Vec<String>,
    /// What is done about what stands in the way.
    pub overwrite: Overwrite,
    /// How skills are judged.
    pub profile: Profile,
    /// How large it may be.
    pub limits: PackLimits,
    /// The branch, tag or commit of a repository.
    pub reference: Option<String>,
    /// All skills of a repository, however many.
    pub all: bool,
    /// Only the skills of this plugin, where the source lists plugins.
    pub plugin: Option<String>,
    /// Where the source was named.
    pub origin: SourceOrigin,
    /// What is done about skills of the source that the chosen ones need.
    pub dependencies: Dependencies,
    /// The agents whose folders get a link to what is installed.
    pub links: Vec<String>,
}

/// What is done about skills of the source that the chosen ones need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependencies {
    /// They are installed too.
    #[default]
    Install,
    /// They are left out, and named as missing.
    Skip,
}

impl InstallRequest {
    /// A request for everything in `source`; relative paths start at `dir`.
    pub fn new(source: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            dir: dir.into(),
            skills: Vec::new(),
            overwrite: Overwrite::Refuse,
            profile: Profile::Strict,
            limits: PackLimits::default(),
            origin: SourceOrigin::Named,
            reference: None,
            all: false,
            plugin: None,
            dependencies: Dependencies::Install,
            links: Vec::new(),
        }
    }
}

impl InstallRequest {
    fn choice(&self) -> SkillChoice<'_> {
        SkillChoice { names: &self.skills, all: self.all, plugin: self.plugin.as_deref() }
    }
}

/// A source as `skills.json` has it, and what the lock pins it to.
type PinnedSource<'r> = (&'r str, Option<&'r str>);

/// How the records are used when the disk is made to agree with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockUse {
    /// `skills.json` counts, and the lock is brought up to date.
    Update,
    /// The lock counts exactly, and is not written.
    Exact,
}

/// Whether what is missing is brought into staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is only looked at.
    Never,
    /// Where anything is missing: a folder that is as it should be may be read-only.
    WhenNeeded,
}

impl InstallTarget {
    /// What the source of a request holds. Nothing is written.
    pub fn preview_install(&self, request: &InstallRequest) -> Result<PlanView, PackError> {
        self.recover()?;
        let source = self.requested_source(request)?;
        Ok(self.make_plan(source, request, None)?.checked()?.view)
    }

    /// A plan to install from a source. Everything is in staging then, and nothing is in place.
    pub fn plan_install(&self, request: &InstallRequest) -> Result<InstallPlan, PackError> {
        // What cannot be found needs no staging.
        let source = self.requested_source(request)?;
        let staging = self.stage()?;
        self.make_plan(source, request, Some(staging))?.checked()
    }

    /// The source of a request. What lies in this folder is none: an update could bring nothing, and what was
    /// uninstalled could not be installed again.
    fn requested_source(&self, request: &InstallRequest) -> Result<InstallSource, PackError> {
        let source = parse_request(request, &self.base)?;
        if let InstallSource::Local(local) = &source {
            let root = metier_fs::canonical(&self.root).unwrap_or_else(|_| self.root.clone());
            if local.path.starts_with(root) {
                return Err(PackError::SourceIsTarget(source.shown()));
            }
        }
        Ok(source)
    }

    fn make_plan(
        &self,
        source: InstallSource,
        request: &InstallRequest,
        staging: Option<Staging>,
    ) -> Result<InstallPlan, PackError> {
        let limits = &request.limits;
        let preparing = Preparing {
            target: self,
            staging: staging.as_ref(),
            profile: request.profile,
            limits,
            origin: request.origin,
            texts: None,
        };
        let (mut prepared, tree) =
            preparing.prepare_with_tree(source, None, request.choice(), 0)?;
        let records = Records::read(&self.records)?;
        let mut required = BTreeMap::new();
        if !request.skills.is_empty() && request.dependencies == Dependencies::Install {
            let is_there = |name: &str| self.has_skill(&records, name);
            required = add_required(&mut prepared, &tree, is_there)?;
            // What comes along was not among those that were judged by name.
            let dirs = prepared.skills.iter().map(|skill| skill.dir.as_str());
            self.access.admit_dirs(&prepared.source, dirs)?;
        }
        drop(tree);
        check_circles(&prepared.skills, &records)?;
        let spelled = folded_names(self)?;
        let mut plan = InstallPlan::new(self, staging);
        plan.link_agents.clone_from(&request.links);
        for skill in &prepared.skills {
            let name = skill.summary.name.as_str();
            let locked = records.lock.skills.get(name);
            let mut standing = standing(self, name, locked, limits);
            if let Some(other) = other_spelling(&spelled, name) {
                let (reason, path) = (ObstacleReason::OtherSpelling, self.root.join(other));
                plan.obstacles.push(Obstacle::at(name, reason, &path));
                continue;
            }
            // The lock counts without the folder too: a clone has it, and often not the folder.
            if let Some(locked) = locked.filter(|locked| !locked.is_of(&skill.tree)) {
                let is_other = locked.source != prepared.source.recorded();
                let moved = prepared.is_moved(locked).then_some(ObstacleReason::Moved);
                let reason = if is_other { Some(ObstacleReason::OtherSource) } else { moved };
                standing.obstacle = standing.obstacle.or(reason);
            }
            plan.put(&prepared, skill, &standing, locked, request.overwrite)?;
        }
        for skill in &mut plan.view.skills {
            skill.required_by = required.remove(&skill.name).unwrap_or_default();
        }
        plan.settle_missing(&records);
        plan.seen_records = SeenRecords::of_some(records);
        plan.view.led_elsewhere = prepared.is_elsewhere;
        plan.view.left_out = prepared.left_out().collect();
        Ok(plan)
    }

    /// What making the disk agree with the records would come to. Nothing is written.
    pub fn preview_reconcile(
        &self,
        lock: LockUse,
        overwrite: Overwrite,
        profile: Profile,
    ) -> Result<PlanView, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let stage = Stage::Never;
        Ok(self.reconcile(&records, lock, overwrite, profile, stage)?.checked()?.view)
    }

    /// A plan to make the disk agree with the records.
    pub fn plan_reconcile(
        &self,
        lock: LockUse,
        overwrite: Overwrite,
        profile: Profile,
    ) -> Result<InstallPlan, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        self.reconcile(&records, lock, overwrite, profile, Stage::WhenNeeded)?.checked()
    }

    fn reconcile(
        &self,
        records: &Records,
        lock: LockUse,
        overwrite: Overwrite,
        profile: Profile,
        stage: Stage,
    ) -> Result<InstallPlan, PackError> {
        records.check_wanted(&self.records)?;
        if lock == LockUse::Exact {
            check_agreement(records)?;
        }
        let limits = &PackLimits::default();
        let mut plan = InstallPlan::new(self, None);
        // Skills of one source may be locked at different commits of it.
        let mut needed: BTreeMap<PinnedSource<'_>, Vec<(&String, Standing)>> = BTreeMap::new();
        for (name, wanted) in &records.wanted.skills {
            let locked = records.lock.skills.get(name).filter(|it| it.source == wanted.source);
            let standing = standing(self, name, records.lock.skills.get(name), limits);
            match locked {
                Some(locked)
                    if standing.id.is_some()
                        && standing.obstacle.is_none()
                        && locked.is_consistent() =>
                {
                    plan.keep(name, locked, &standing, overwrite)?;
                }
                locked => {
                    if locked.is_some_and(|it| !it.is_consistent()) {
                        plan.view.bad_lock.push(name.clone());
                    }
                    let pinned = locked.and_then(|it| it.resolved.as_deref());
                    needed.entry((&wanted.source, pinned)).or_default().push((name, standing));
                }
            }
        }
        if stage == Stage::WhenNeeded && !needed.is_empty() {
            plan.staging = Some(self.stage()?);
        }
        for (number, ((source, pinned), skills)) in needed.into_iter().enumerate() {
            let names: Vec<String> = skills.iter().map(|(name, _)| (*name).clone()).collect();
            let parsed = crate::source::parse_source(source, &self.base, &self.base)?;
            let preparing = Preparing {
                target: self,
                staging: plan.staging.as_ref(),
                profile,
                limits,
                origin: SourceOrigin::Recorded,
                texts: None,
            };
            let choice = SkillChoice { names: &names, ..SkillChoice::default() };
            let prepared = preparing.prepare(parsed, pinned, choice, number)?;
            for (name, standing) in skills {
                let is_it = |skill: &&FoundSkill| skill.summary.name.as_str() == name;
                let Some(skill) = prepared.skills.iter().find(is_it) else { continue };
                let locked = records.lock.skills.get(name).filter(|it| it.source == source);
                if locked.is_some_and(|locked| !locked.is_of(&skill.tree)) {
                    let source = source.to_owned();
                    return Err(PackError::LockMismatch { name: name.clone(), source });
                }
                // The signer is pinned for the name, wherever the skill comes from now.
                let before = records.lock.skills.get(name);
                plan.put(&prepared, skill, &standing, before, overwrite)?;
            }
            plan.view.left_out.extend(prepared.left_out());
        }
        for (name, locked) in &records.lock.skills {
            if !records.wanted.skills.contains_key(name) {
                let standing = standing(self, name, Some(locked), limits);
                plan.remove(name, locked, &standing, overwrite)?;
            }
        }
        plan.seen_records = SeenRecords::of_some(records.clone());
        if lock == LockUse::Exact {
            plan.records.clear();
            plan.seen_records = SeenRecords::of_all(records.clone());
        }
        plan.settle_missing(records);
        plan.view.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(plan)
    }
}

/// `--locked` needs two records that say the same.
fn check_agreement(records: &Records) -> Result<(), PackError> {
    let contradictory = records.lock.skills.iter().filter(|(_, it)| !it.is_consistent());
    let contradictory: Vec<String> = contradictory.map(|(name, _)| name.clone()).collect();
    if !contradictory.is_empty() {
        return Err(PackError::LockContradicts(contradictory));
    }
    let source = |name: &String| records.wanted.skills.get(name).map(|it| it.source.as_str());
    let locked = |name: &String| records.lock.skills.get(name).map(|it| it.source.as_str());
    let names: BTreeSet<&String> =
        records.wanted.skills.keys().chain(records.lock.skills.keys()).collect();
    let differ: Vec<String> =
        names.into_iter().filter(|name| source(name) != locked(name)).cloned().collect();
    if differ.is_empty() { Ok(()) } else { Err(PackError::LockOutdated(differ)) }
}
