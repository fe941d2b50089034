//! What the sources of installed skills give now, and where each skill is in them.
//!
//! Sources are read side by side, and one that fails is the trouble of its own skills only. An archive with the
//! digest that is locked is not read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use metier_fs::PiecewiseFile;
use metier_skill::{Digest, Profile};
use serde::Serialize;

use crate::access::SourceOrigin;
use crate::changes::summary;
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::fetch::FetchWanted;
use crate::install::Overwrite;
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::prepare::{Prepared, Preparing};
use crate::records::{LockedSkill, Records, SourceKind};
use crate::shipped_tree::ShippedTree;
use crate::skills_in::{FoundSkill, UnusableSkills, is_of_folder};
use crate::source::{InstallSource, parse_source};
use crate::target::{InstallTarget, Staging};
use crate::text_filter::TextFilter;

/// How many sources are read at a time.
const JOBS: usize = 4;

/// Which installed skills are compared with their sources, or brought up to date.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpdateRequest {
    /// Their names; all of them when empty.
    pub names: Vec<String>,
    /// What is done about skills that were changed since they were installed.
    pub overwrite: Overwrite,
    /// How skills are judged.
    pub profile: Profile,
    /// How large a source may be.
    pub limits: PackLimits,
    /// How many sources are read at a time.
    pub jobs: usize,
}

impl UpdateRequest {
    /// A request about the skills of these names, or about all of them.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            names,
            overwrite: Overwrite::Refuse,
            profile: Profile::Strict,
            limits: PackLimits::default(),
            jobs: JOBS,
        }
    }
}

/// What is wrong with a source, or with a skill in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceProblem {
    /// The stable code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl From<&PackError> for SourceProblem {
    fn from(error: &PackError) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string(), help: error.help() }
    }
}

/// How the sources of installed skills are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOptions<'a> {
    pub(crate) profile: Profile,
    pub(crate) limits: &'a PackLimits,
    /// Which texts of them are kept.
    pub(crate) texts: Option<&'a TextFilter>,
    /// Whether they are read as they were locked, instead of as they are now.
    pub(crate) as_locked: bool,
}

/// One source and the installed skills that came from it.
#[derive(Debug)]
pub(crate) struct SourceNow {
    pub(crate) source: String,
    pub(crate) names: Vec<String>,
    pub(crate) state: SourceState,
}

/// What a source gives now.
#[derive(Debug)]
pub(crate) enum SourceState {
    /// The very archive that is locked.
    Unchanged,
    /// These skills.
    Read(Box<Prepared>, UnusableSkills),
    Failed(SourceProblem),
}

/// What became of an installed skill in its source.
#[derive(Debug)]
pub(crate) enum Upstream<'p> {
    Here(&'p FoundSkill),
    Unusable(SourceProblem),
    Gone { renamed_to: Option<String> },
}

impl InstallTarget {
    /// The names that a request is about; an error for one that is not installed here.
    pub(crate) fn requested(records: &Records, names: &[String]) -> Result<Vec<String>, PackError> {
        if names.is_empty() {
            return Ok(records.lock.skills.keys().cloned().collect());
        }
        match names.iter().find(|name| !records.lock.skills.contains_key(*name)) {
            Some(name) => Err(records.not_installed(name)),
            None => Ok(names.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect()),
        }
    }

    /// Reads the sources of these installed skills: into `staging`, or only looks at them without one. It is an error
    /// of all of them only where it is cancelled.
    pub(crate) fn read_upstream(
        &self,
        records: &Records,
        names: &[String],
        staging: Option<&Staging>,
        options: ReadOptions<'_>,
        jobs: usize,
    ) -> Result<Vec<SourceNow>, PackError> {
        // Skills of one source may be locked at different commits of it.
        let mut by_source: BTreeMap<(&str, Option<&str>), Vec<String>> = BTreeMap::new();
        for name in names {
            let wanted = records.wanted.skills.get(name).map(|it| it.source.as_str());
            let locked = records.lock.skills.get(name);
            let source = wanted.or(locked.map(|it| it.source.as_str())).unwrap_or_default();
            let resolved = locked.filter(|_| options.as_locked);
            let resolved = resolved.and_then(|it| it.resolved.as_deref());
            by_source.entry((source, resolved)).or_default().push(name.clone());
        }
        let sources = by_source.into_iter().map(|((source, _), names)| (source.to_owned(), names));
        let sources: Vec<(String, Vec<String>)> = sources.collect();
        let states = side_by_side(&sources, jobs, |number, (source, names)| {
            let read = self.read_one(records, source, names, staging, number, options);
            read.unwrap_or_else(|error| SourceState::Failed((&error).into()))
        });
        self.access.check_cancelled()?;
        let all = sources.into_iter().zip(states);
        Ok(all.map(|((source, names), state)| SourceNow { source, names, state }).collect())
    }

    fn read_one(
        &self,
        records: &Records,
        source: &str,
        names: &[String],
        staging: Option<&Staging>,
        number: usize,
        options: ReadOptions<'_>,
    ) -> Result<SourceState, PackError> {
        let parsed = parse_source(source, &self.base, &self.base)?;
        let locked = names.iter().map(|name| records.lock.skills.get(name));
        // Texts are wanted of what is there, changed or not.
        if options.texts.is_none() && is_unchanged(&parsed, locked) {
            return Ok(SourceState::Unchanged);
        }
        let preparing = Preparing {
            target: self,
            staging,
            profile: options.profile,
            limits: options.limits,
            // The user's own records name what the user installed; those of a project may have come with a clone.
            origin: if self.is_users() { SourceOrigin::Named } else { SourceOrigin::Recorded },
            texts: options.texts,
        };
        let first = names.iter().find_map(|name| records.lock.skills.get(name));
        let pinned = first.filter(|_| options.as_locked && parsed.host().is_some());
        let pinned = pinned.and_then(|locked| locked.resolved.as_deref());
        let (prepared, unusable) =
            preparing.prepare_usable(parsed, FetchWanted::new(pinned, names), number)?;
        Ok(SourceState::Read(Box::new(prepared), unusable))
    }
}

/// Whether the source is an archive with the digest that is locked for all of these skills.
fn is_unchanged<'l>(
    source: &InstallSource,
    mut locked: impl Iterator<Item = Option<&'l LockedSkill>>,
) -> bool {
    let InstallSource::Local(local) = source else { return false };
    if local.kind != SourceKind::Archive {
        return false;
    }
    let Ok(file) = PiecewiseFile::open(&local.path) else { return false };
    let Ok((digest, _)) = Digest::of_reader(file.reader()) else { return false };
    let (digest, recorded) = (digest.to_string(), source.recorded());
    locked.all(|it| {
        it.is_some_and(|it| {
            it.source == recorded && it.resolved.as_deref() == Some(digest.as_str())
        })
    })
}

/// Where the installed skill `name` is among what its source gives now.
pub(crate) fn find_upstream<'p>(
    name: &str,
    locked: &LockedSkill,
    standing: Option<&ShippedTree>,
    (prepared, unusable): (&'p Prepared, &UnusableSkills),
    records: &Records,
) -> Upstream<'p> {
    let is_it = |skill: &&FoundSkill| skill.summary.name.as_str() == name;
    if let Some(skill) = prepared.skills.iter().find(is_it) {
        return Upstream::Here(skill);
    }
    if let Some(error) = unusable.denied.get(name) {
        return Upstream::Unusable(error.into());
    }
    if unusable.twice.contains(name) {
        return Upstream::Unusable((&PackError::NameTwice(name.to_owned())).into());
    }
    let place = locked.path.as_deref().unwrap_or_default();
    let is_its_place = |dir: &str| dir == place || dir.rsplit('/').next() == Some(name);
    if let Some((dir, problem)) = unusable.bad.iter().find(|(dir, _)| is_its_place(dir)) {
        let error = PackError::BadSkill { path: dir.clone(), problem: problem.clone() };
        return Upstream::Unusable((&error).into());
    }
    let is_its = |left: &&LeftOut| {
        left.path.strip_suffix(SKILL_FILE).map(|dir| dir.trim_end_matches('/')) == Some(place)
            || is_of_folder(left, name)
    };
    if let Some(left) = unusable.left_out.iter().find(is_its) {
        let (source, left_out) = (prepared.source.shown(), vec![left.clone()]);
        return Upstream::Unusable((&PackError::SkillsLeftOut { source, left_out }).into());
    }
    let is_free =
        |skill: &&FoundSkill| !records.lock.skills.contains_key(skill.summary.name.as_str());
    let candidates = prepared.skills.iter().filter(is_free);
    let scored = candidates.map(|skill| {
        let is_in_place = skill.dir == place;
        ((likeness(locked, standing, skill), is_in_place), skill)
    });
    let best = scored.filter(|((score, _), _)| *score > 0).max_by_key(|(score, _)| *score);
    Upstream::Gone { renamed_to: best.map(|(_, skill)| skill.summary.name.to_string()) }
}

/// How much a skill of the source looks like an installed one under another name, in percent; 0 below a half.
/// The name stands in `SKILL.md`, so that file differs: its body counts, the other files, and its directory.
fn likeness(locked: &LockedSkill, standing: Option<&ShippedTree>, skill: &FoundSkill) -> usize {
    if skill.tree.digest() == locked.tree {
        return 100;
    }
    let body = standing.and_then(summary).and_then(|it| it.body);
    if body.is_some() && body == skill.summary.body {
        return 99;
    }
    let known: BTreeSet<&Digest> =
        locked.files.iter().filter(|(path, _)| *path != SKILL_FILE).map(|(_, it)| it).collect();
    let others = || skill.tree.files.iter().filter(|file| file.path != SKILL_FILE);
    let shared = others().filter(|file| known.contains(&file.digest)).count();
    let all = known.len().max(others().count()).max(1);
    let percent = shared * 98 / all;
    let is_in_place = locked.path.as_ref().is_some_and(|path| *path == skill.dir);
    match percent {
        50.. => percent,
        _ if is_in_place => 50,
        _ => 0,
    }
}

/// `task` over the items, by at most `jobs` threads; the results stand in the order of the items. Reading a
/// source waits for a disk or a network, so the number of cores says nothing.
fn side_by_side<T: Sync, U: Send>(
    items: &[T],
    jobs: usize,
    task: impl Fn(usize, &T) -> U + Sync,
) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, U)>> = Mutex::default();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = task(at, item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.clamp(1, items.len().max(1)) {
            // One that cannot be started is no failure: the others do its share.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
