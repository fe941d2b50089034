//! Where the keys are: files and folders that no rule opens, and the records of runs, below some folders.
//!
//! `metier-policy` has the names, `metier-fs` walks. A path is judged by its name and by where it leads:
//! what a link called `.env` leads to is a key under any other name too. Whatever was not searched to
//! its end is reported, so that the caller can treat it as a key.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_fs::{EntryKind, NameBelow, NameLimits, Unsearched, canonical, visit_names};
use metier_policy::{AbsolutePath, PolicyPlaces};

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchLimits {
    /// Entries of all folders.
    pub(crate) entries: usize,
    /// How long it takes.
    pub(crate) time: Duration,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { entries: 1_000_000, time: Duration::from_secs(20) }
    }
}

/// What a search found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundKeys {
    /// Files and folders with keys in them, sorted. No link is among them.
    pub(crate) keys: Vec<PathBuf>,
    /// What links with such names lead to, sorted, wherever it is.
    pub(crate) targets: Vec<PathBuf>,
    /// Folders that may hold more, with the reason.
    pub(crate) unsearched: Vec<(PathBuf, Unsearched)>,
}

/// The folder of a project in which our own files are.
const AGENT_DIR: &str = ".agent";
/// The records of runs in it.
const RUNS_DIR: &str = "runs";

/// Searches `folders`, which are real directories, none of them below another.
pub(crate) fn search_keys(
    folders: &[PathBuf],
    places: &PolicyPlaces,
    limits: SearchLimits,
    cancel: &CancelToken,
) -> FoundKeys {
    let until = Instant::now() + limits.time;
    let stop = || cancel.is_cancelled() || Instant::now() > until;
    let (keys, links) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let push = |list: &Mutex<Vec<PathBuf>>, path| {
        list.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    };
    let limits = NameLimits { entries: limits.entries, stop: &stop };
    let visited = visit_names(folders, limits, &|found| {
        let is_link = found.kind == EntryKind::Link;
        if is_key(found, places) || is_records(found) {
            push(if is_link { &links } else { &keys }, found.dir.join(found.name));
            return false;
        }
        if is_link && is_named(found.name, AGENT_DIR) {
            push(&links, found.dir.join(found.name).join(RUNS_DIR));
        }
        true
    });
    let [mut keys, links] =
        [keys, links].map(|list| list.into_inner().unwrap_or_else(PoisonError::into_inner));
    keys.sort_unstable();
    // A link that leads nowhere opens nothing.
    let mut targets: Vec<PathBuf> = links.iter().filter_map(|link| canonical(link).ok()).collect();
    targets.sort_unstable();
    targets.dedup();
    FoundKeys { keys, targets, unsearched: visited.unsearched }
}

/// What links in a workspace lead to that have the names of keys: no tool reads these files under any
/// name. Links that were not found within a few seconds are judged when they are named.
pub fn linked_keys(workspace: &Path, places: &PolicyPlaces) -> Vec<PathBuf> {
    let limits = SearchLimits { time: Duration::from_secs(5), ..SearchLimits::default() };
    let Ok(top) = canonical(workspace) else { return Vec::new() };
    let found = search_keys(std::slice::from_ref(&top), places, limits, &CancelToken::new());
    let is_inside = |path: &PathBuf| *path != top && path.starts_with(&top);
    found.targets.into_iter().filter(is_inside).collect()
}

/// Whether no tool may read it, whatever the rules say.
fn is_key(found: NameBelow<'_>, places: &PolicyPlaces) -> bool {
    // A name that is not text has no part that a fixed name of the table could equal.
    PolicyPlaces::may_hold_keys(&found.name.to_string_lossy())
        && holds_keys(&found.dir.join(found.name), places)
}

/// Whether a path is one that no tool may read. One that the policy cannot even name is.
pub(crate) fn holds_keys(path: &Path, places: &PolicyPlaces) -> bool {
    AbsolutePath::new(&path.to_string_lossy()).map_or(true, |path| places.holds_keys(&path))
}

/// Whether it is the folder of records of a project, here or further down.
fn is_records(found: NameBelow<'_>) -> bool {
    let parent = || found.dir.file_name();
    is_named(found.name, RUNS_DIR) && parent().is_some_and(|name| is_named(name, AGENT_DIR))
}

/// As the most forgiving file system compares names.
fn is_named(name: &OsStr, wanted: &str) -> bool {
    name.as_encoded_bytes().eq_ignore_ascii_case(wanted.as_bytes())
}
