//! Fetching what is not on this machine: the seam between installing and the network.
//!
//! A [`Fetch`] brings one kind of source into a private folder as a directory or an archive; from there it
//! takes the same way as a local one, through the same strict readers. [`Fetchers`] picks by kind.
//!
//! | module | owns |
//! |---|---|
//! | `download` | [`Download`]: the fetcher for everything that comes over our own HTTP client |
//! | `http` | downloads into the private folder, with digests |
//! | `https` | an archive at a URL |
//! | `well_known` | a host that lists its skills |
//! | `oci` | registries and OCI layouts |
//! | `git`, `git_command`, `git_tree`, `git_fault` | git repositories, through the `git` program |
//! | `leads_to` | all parsers of foreign text at once, for the fuzz target |
//! | `fault` | why nothing was fetched ([`FetchError`]) |

mod download;
mod fault;
mod git;
mod git_command;
mod git_fault;
mod git_tree;
mod http;
mod https;
mod leads_to;
pub(crate) mod oci;
mod well_known;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_fs::{
    FileLock, TreeWriter, is_abandoned_tree, is_real_dir, read_dir_names, remove_tree,
};

use crate::error::PackError;
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::records::SourceKind;
use crate::source::InstallSource;

pub use download::Download;
pub use fault::{FetchError, FetchFault};
pub use git::GitFetch;
pub(crate) use git::is_commit_id;
pub use git_command::GIT_VARIABLES;
pub use git_fault::GitFault;
pub use http::{DownloadSettings, PlaceJudge, PlaceRole};
pub use leads_to::{fetched_names, fetched_urls, recorded_source};

/// Where fetched sources lie in the user's state: not in the project, so that a preview leaves no trace there.
const FETCH_DIR: &str = "fetch";
/// The lock is only held while a folder is made or removed.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Brings sources of one kind, or of several, to this machine.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Brings what is wanted of `source` into the empty folder `into`, which is private and goes away afterwards.
    /// It returns soon after `cancel` is cancelled; what it returns then does not matter.
    fn fetch(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        into: &Path,
        limits: &PackLimits,
        progress: &dyn FetchProgress,
        cancel: &CancelToken,
    ) -> Result<Fetched, PackError>;
}

/// What is wanted of a source.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct FetchWanted<'a> {
    /// What the lock recorded as resolved: exactly that is fetched, or it is an error.
    pub pinned: Option<&'a str>,
    /// The skills, by name; all of them when empty. A source that cannot be fetched in parts is fetched whole.
    pub skills: &'a [String],
}

impl<'a> FetchWanted<'a> {
    /// These skills, at what the lock recorded.
    pub const fn new(pinned: Option<&'a str>, skills: &'a [String]) -> Self {
        Self { pinned, skills }
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Where it is, inside the private folder.
    pub path: PathBuf,
    /// How it is to be read.
    pub kind: FetchedKind,
    /// What the source was at that time: a commit, or a digest.
    pub resolved: String,
    /// When that was published, in seconds since 1970, where the source says so.
    pub released_at: Option<i64>,
    /// Whether the source was named by something that should never mean anything else, as a tag or a digest.
    pub is_fixed: bool,
    /// What the source holds and was not fetched.
    pub left_out: Vec<LeftOut>,
}

impl Fetched {
    /// What lies at `path` and is to be read as `kind`.
    pub fn new(path: PathBuf, kind: FetchedKind, resolved: impl Into<String>) -> Self {
        let resolved = resolved.into();
        Self { path, kind, resolved, released_at: None, is_fixed: false, left_out: Vec::new() }
    }
}

/// How a fetched source is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchedKind {
    /// As a directory.
    Directory,
    /// As an archive.
    Archive,
}

/// Hears how far a fetch is, and what is done with what came.
pub trait FetchProgress: Send + Sync + fmt::Debug {
    /// `done` of `total` bytes or things of `what`; both start again for the next `what`.
    fn step(&self, what: &str, done: u64, total: Option<u64>);

    /// The same where things are counted and no bytes, as skills that are verified.
    fn count(&self, _what: &str, _done: u64, _total: u64) {}
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentProgress;

impl FetchProgress for SilentProgress {
    fn step(&self, _: &str, _: u64, _: Option<u64>) {}
}

/// Fetchers by kind. A kind without one is not supported.
#[derive(Debug, Clone, Default)]
pub struct Fetchers {
    by_kind: BTreeMap<SourceKind, Arc<dyn Fetch>>,
}

impl Fetchers {
    /// With this one for sources of `kind`.
    #[must_use]
    pub fn with(mut self, kind: SourceKind, fetch: Arc<dyn Fetch>) -> Self {
        self.by_kind.insert(kind, fetch);
        self
    }
}

impl Fetch for Fetchers {
    fn fetch(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        into: &Path,
        limits: &PackLimits,
        progress: &dyn FetchProgress,
        cancel: &CancelToken,
    ) -> Result<Fetched, PackError> {
        match self.by_kind.get(&source.kind()) {
            Some(fetch) => fetch.fetch(source, wanted, into, limits, progress, cancel),
            None => Err(PackError::UnsupportedSource {
                source: source.recorded(),
                kind: source.kind().noun(),
            }),
        }
    }
}

/// A private folder for one fetch. It goes away with this value; after a kill, with the next command.
#[derive(Debug)]
pub(crate) struct FetchFolder {
    tree: TreeWriter,
}

impl FetchFolder {
    pub(crate) fn create(state: &Path) -> Result<Self, PackError> {
        let dir = state.join(FETCH_DIR);
        let written = |error| PackError::not_written(&dir, error);
        metier_fs::create_private_dir(&dir).map_err(written)?;
        // Another process could take a folder for abandoned before it is held.
        let _lock = fetch_lock(state)?;
        Ok(Self { tree: TreeWriter::create_in(&dir, "").map_err(written)? })
    }

    pub(crate) fn path(&self) -> &Path {
        self.tree.path()
    }
}

impl Drop for FetchFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next command.
        let _ = remove_tree(self.tree.path());
    }
}

fn fetch_lock(state: &Path) -> Result<FileLock, PackError> {
    let path = state.join(".fetch.lock");
    FileLock::take(&path, LOCK_TIMEOUT).map_err(|_| PackError::Busy(path))
}

/// Removes what killed processes left of their fetches in the user's `state`.
pub fn remove_abandoned_fetches(state: &Path) -> Result<(), PackError> {
    let dir = state.join(FETCH_DIR);
    if !is_real_dir(&dir) {
        return Ok(());
    }
    let names = read_dir_names(&dir).unwrap_or_default();
    let paths: Vec<PathBuf> = names.into_iter().map(|name| dir.join(name)).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let _lock = fetch_lock(state)?;
    for path in paths.iter().filter(|path| is_real_dir(path) && is_abandoned_tree(path)) {
        remove_tree(path).map_err(|error| PackError::not_written(path, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_maker_and_an_abandoned_one_with_the_next_command() {
        let state = tempfile::tempdir().expect("dir");
        let held = FetchFolder::create(state.path()).expect("makes");
        let left = state.path().join(FETCH_DIR).join("left");
        metier_fs::create_private_dir(&left.join("inner")).expect("makes");
        remove_abandoned_fetches(state.path()).expect("cleans");
        assert!(is_real_dir(held.path()) && !is_real_dir(&left));
        let path = held.path().to_owned();
        drop(held);
        assert!(!is_real_dir(&path));
    }
}
