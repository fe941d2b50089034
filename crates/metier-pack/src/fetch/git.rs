//! Fetching from git repositories, with the `git` program: one commit, and of it the files of skills.
//!
//! The commit is fetched without history and, where the host can, without files; then those files that
//! belong to skills. Nothing of it is checked out or run: see `git_command` for what git is kept from, and
//! `git_tree` for how files are read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_cancel::CancelToken;

use super::git_command::GitCalls;
use super::git_tree::{FileWriter, WantedFiles, has_dir, parse_entries, skill_dirs, wanted_files};
use super::http::FetchWatch;
use super::{Fetch, FetchProgress, FetchWanted, Fetched, FetchedKind, GitFault};
use crate::error::PackError;
use crate::limits::PackLimits;
use crate::source::{GitSource, InstallSource};

/// The name that the wanted commit gets in the private repository.
const WANTED: &str = "refs/metier/wanted";
/// How many names an error lists.
const MAX_NAMES: usize = 8;

/// Fetches from git repositories.
#[derive(Debug, Clone)]
pub struct GitFetch {
    /// Where programs are looked for.
    pub(super) path: Vec<PathBuf>,
    /// The user's home, in which ssh has its keys.
    pub(super) home: Option<PathBuf>,
    /// Variables that git gets; nothing else of the environment reaches it.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// How long one call of git may take.
    pub(super) time: Duration,
}

impl GitFetch {
    /// With programs from `path` and keys from `home`. Directories of `path` that are not absolute are left
    /// out: what stands in the working directory is not the user's.
    pub fn new(path: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        let path = path.into_iter().filter(|dir| dir.is_absolute()).collect();
        Self { path, home, variables: Vec::new(), time: Duration::from_mins(15) }
    }

    /// With a variable of the user's environment.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(super) fn find_git(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "git.exe" } else { "git" };
        self.path.iter().map(|dir| dir.join(name)).find(|path| metier_fs::exists(path))
    }
}

impl Fetch for GitFetch {
    fn fetch(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        into: &Path,
        limits: &PackLimits,
        progress: &dyn FetchProgress,
        cancel: &CancelToken,
    ) -> Result<Fetched, PackError> {
        let shown = source.recorded();
        let InstallSource::Git(git) = source else {
            let kind = source.kind().noun();
            return Err(PackError::UnsupportedSource { source: shown, kind });
        };
        let failed = |fault| PackError::Git { source: shown.clone(), fault };
        let watch = FetchWatch { progress, cancel };
        let calls = GitCalls::new(self, git, into, limits.total_bytes, watch).map_err(failed)?;
        let commit = fetch_commit(&calls, git, wanted.pinned).map_err(failed)?;
        let listed = calls
            .answer(&["ls-tree", "-r", "-z", "--full-tree", &commit.id], &[])
            .map_err(failed)?;
        let entries = parse_entries(&listed)
            .ok_or_else(|| failed(GitFault::Failed("its list of files is not valid".to_owned())))?;
        if !has_dir(&entries, &git.path) {
            let skills = near(&git.path, skill_dirs(&entries));
            return Err(failed(GitFault::NoPath { path: git.path.clone(), skills }));
        }
        let in_tree = |(fault, entry)| PackError::in_directory(Path::new(&shown), fault, entry);
        let mut wanted = wanted_files(&entries, &git.path, limits).map_err(in_tree)?;
        fetch_files(&calls, &wanted).map_err(failed)?;
        let (path, left) = write_files(&calls, &wanted, into, limits, &shown)?;
        wanted.left_out.extend(left);
        let mut fetched = Fetched::new(path, FetchedKind::Directory, commit.id);
        fetched.released_at = commit.time;
        fetched.is_fixed = commit.is_fixed;
        fetched.left_out = wanted.left_out;
        Ok(fetched)
    }
}

/// A commit that was fetched.
struct FetchedCommit {
    id: String,
    time: Option<i64>,
    /// Whether it was named by a tag or by itself.
    is_fixed: bool,
}

/// Fetches the commit that is meant, without its files where the host can do that.
fn fetch_commit(
    calls: &GitCalls<'_>,
    git: &GitSource,
    pinned: Option<&str>,
) -> Result<FetchedCommit, GitFault> {
    let (name, is_fixed) = match (pinned.or(git.reference.as_deref()), pinned) {
        (Some(commit), _) if is_commit_id(commit) => (commit.to_owned(), true),
        // Only a record that was edited has something else.
        (_, Some(pinned)) => return Err(GitFault::CommitGone(pinned.to_owned())),
        // A source without a ref may be recorded with this one.
        (None | Some("HEAD"), None) => ("HEAD".to_owned(), false),
        (Some(reference), None) => resolve(calls, reference)?,
    };
    let refspec = format!("+{name}:{WANTED}");
    let args = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--filter=blob:none",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--refmap=",
        "--end-of-options",
        "origin",
        &refspec,
    ];
    calls.answer(&args, &[]).map_err(|fault| match fault {
        GitFault::Failed(said) if is_missing_object(&said) => match (pinned, is_fixed) {
            (Some(commit), _) => GitFault::CommitGone(commit.to_owned()),
            (None, true) => GitFault::NoReference { reference: name.clone(), near: Vec::new() },
            (None, false) => GitFault::Empty,
        },
        other => other,
    })?;
    let peeled = format!("{WANTED}^{{commit}}");
    let shown =
        calls.answer(&["log", "-1", "--no-show-signature", "--format=%H %ct", &peeled], &[])?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let (id, time) = shown.trim().split_once(' ').unwrap_or((shown.trim(), ""));
    if !is_commit_id(id) || pinned.is_some_and(|pinned| pinned != id) {
        return Err(GitFault::Failed(format!("it gave {id} for {name}")));
    }
    Ok(FetchedCommit { id: id.to_owned(), time: time.parse().ok(), is_fixed })
}

fn is_missing_object(said: &str) -> bool {
    ["not our ref", "couldn't find remote ref", "unadvertised object", "bad object", "no such ref"]
        .iter()
        .any(|words| said.contains(words))
}

/// A whole hash, of either kind.
pub(crate) fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The full name of a tag or branch, and whether it is a tag. A tag is taken before a branch of its name:
/// it is what does not move.
fn resolve(calls: &GitCalls<'_>, reference: &str) -> Result<(String, bool), GitFault> {
    let listed = calls.answer(&["ls-remote", "--quiet", "--heads", "--tags", "origin"], &[])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let names: Vec<&str> =
        listed.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
    for full in
        [format!("refs/tags/{reference}"), format!("refs/heads/{reference}"), reference.to_owned()]
    {
        if full.starts_with("refs/") && names.contains(&full.as_str()) {
            let is_tag = full.starts_with("refs/tags/");
            return Ok((full, is_tag));
        }
    }
    let short = |name: &&str| {
        let name = name.strip_prefix("refs/tags/").or_else(|| name.strip_prefix("refs/heads/"))?;
        (!name.ends_with("^{}")).then(|| name.to_owned())
    };
    let near = near(reference, names.iter().filter_map(short).collect());
    Err(GitFault::NoReference { reference: reference.to_owned(), near })
}

/// The names that are nearest to `word`, or the first ones.
fn near(word: &str, names: Vec<String>) -> Vec<String> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let is_near = |name: &&String| {
        last(name) == last(word)
            || metier_skill::nearest(word, [name.as_str()]).is_some()
            || metier_skill::nearest(&last(word), [last(name).as_str()]).is_some()
    };
    let mut near: Vec<String> = names.iter().filter(is_near).cloned().collect();
    if near.is_empty() {
        near = names;
    }
    near.truncate(MAX_NAMES);
    near
}

/// One of them a line, as git reads them.
fn lines<'o>(objects: impl Iterator<Item = &'o str>) -> String {
    objects.flat_map(|object| [object, "\n"]).collect()
}

/// Fetches those of the wanted files that did not come with the commit.
fn fetch_files(calls: &GitCalls<'_>, wanted: &WantedFiles) -> Result<(), GitFault> {
    let objects = lines(wanted.files.iter().map(|file| file.object.as_str()));
    let known = calls.answer(&["cat-file", "--batch-check", "--buffer"], objects.as_bytes())?;
    let known = String::from_utf8_lossy(&known).into_owned();
    let mut missing: Vec<&str> =
        known.lines().filter_map(|line| line.strip_suffix(" missing")).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let args = [
        "-c",
        "fetch.negotiationAlgorithm=noop",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--filter=blob:none",
        "--stdin",
        "origin",
    ];
    let lines = lines(missing.into_iter());
    calls.answer(&args, lines.as_bytes()).map(drop)
}

fn write_files(
    calls: &GitCalls<'_>,
    wanted: &WantedFiles,
    into: &Path,
    limits: &PackLimits,
    shown: &str,
) -> Result<(PathBuf, Vec<crate::left_out::LeftOut>), PackError> {
    let mut writer = FileWriter::new(into, &wanted.files, limits, shown)?;
    let objects = lines(wanted.files.iter().map(|file| file.object.as_str()));
    let streamed =
        calls.stream(&["cat-file", "--batch", "--buffer"], objects.as_bytes(), &mut |piece| {
            writer.feed(piece)
        });
    let is_whole = writer.is_whole();
    // Why the writer stopped is the better reason.
    let written = writer.finish()?;
    let failed = |fault| PackError::Git { source: shown.to_owned(), fault };
    streamed.map_err(failed)?;
    if is_whole {
        Ok(written)
    } else {
        Err(failed(GitFault::Failed("it gave less than it was asked for".to_owned())))
    }
}
