//! The folder that a trial works in: its own, with the files of its case, gone when it is over. Nothing of a
//! trial touches the user's workspace.

use std::path::{Path, PathBuf};

use metier::fs::{Durability, FolderAccess, HeldDir, read_bounded};
use metier::skill::{Digest, WorkPath};
use tempfile::TempDir;

use crate::case::Case;
use crate::error::EvalError;
use crate::store::FileStore;

/// The largest file of a case.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A store that is gone when it is dropped: for results that are looked at once.
#[derive(Debug)]
pub struct TemporaryStore {
    store: FileStore,
    _dir: TempDir,
}

impl TemporaryStore {
    /// An empty one.
    pub fn new() -> crate::error::Result<Self> {
        let dir = new_temporary_folder().map_err(|error| {
            let help = "make the temporary directory writable";
            EvalError::store(format!("no folder for results can be made: {error}"), help)
        })?;
        Ok(Self { store: FileStore::at(dir.path()), _dir: dir })
    }

    /// The store.
    pub const fn store(&self) -> &FileStore {
        &self.store
    }
}

/// The folders of the trials of a run.
#[derive(Debug)]
pub(crate) struct TrialFolders {
    /// Where the files of cases are relative to.
    project: PathBuf,
    /// For trials that only decide and have no files: nothing is ever written there.
    shared: TempDir,
}

/// The folder of one trial.
pub(crate) enum TrialFolder<'f> {
    Shared(&'f Path),
    Own(TempDir),
}

impl TrialFolder<'_> {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Shared(path) => path,
            Self::Own(dir) => dir.path(),
        }
    }
}

impl TrialFolders {
    pub(crate) fn new(project: &Path) -> std::io::Result<Self> {
        Ok(Self { project: project.to_owned(), shared: new_temporary_folder()? })
    }

    /// The folder for a trial of a case, with its files; else what is wrong with them.
    pub(crate) fn folder(&self, case: &Case) -> Result<TrialFolder<'_>, String> {
        if case.only_triggers() && case.files.is_empty() {
            return Ok(TrialFolder::Shared(self.shared.path()));
        }
        let dir =
            new_temporary_folder().map_err(|error| format!("no folder for the trial: {error}"))?;
        for (to, from) in &case.files {
            let (bytes, digest) = content(&self.project, case, from)?;
            if case.contents.get(to).is_some_and(|known| *known != digest) {
                return Err(format!("the file {from} has changed since the plan was made"));
            }
            write(dir.path(), to, &bytes)?;
        }
        Ok(TrialFolder::Own(dir))
    }
}

fn new_temporary_folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("metier-eval-").tempdir()
}

/// What a file of a case contains.
pub(crate) fn content(
    project: &Path,
    case: &Case,
    from: &str,
) -> Result<(Vec<u8>, Digest), String> {
    let file = project.join(&case.origin.file);
    let beside = file.parent().unwrap_or(project).to_owned();
    // The public format counts from the skill's folder, in which the folder of evals is.
    let above = beside.parent().unwrap_or(project).to_owned();
    let top = project.to_owned();
    let mut last = String::new();
    for base in [beside, above, top] {
        let path = base.join(from);
        let inside = metier::fs::canonical(&path).ok();
        let real_project = metier::fs::canonical(project).unwrap_or_else(|_| project.to_owned());
        let real_base = metier::fs::canonical(&base).unwrap_or(base);
        let Some(inside) = inside else { continue };
        // A case comes with a clone, and what it names may be sent to a model.
        if !inside.starts_with(&real_project) && !inside.starts_with(&real_base) {
            return Err(format!("the file {from} is outside the project"));
        }
        match read_bounded(&inside, MAX_FILE_BYTES) {
            Ok(bytes) => {
                let digest = Digest::of(&bytes);
                return Ok((bytes, digest));
            }
            Err(error) => last = error.to_string(),
        }
    }
    let why = if last.is_empty() { "it is not there".to_owned() } else { last };
    Err(format!("the file {from} of the case cannot be read: {why}"))
}

fn write(folder: &Path, to: &str, bytes: &[u8]) -> Result<(), String> {
    let path =
        WorkPath::new(to).map_err(|error| format!("`{to}` is no path in a workspace: {error}"))?;
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let Some(name) = parts.pop() else { return Err(format!("`{to}` is no path of a file")) };
    let dir = parts
        .into_iter()
        .fold(HeldDir::at(folder), |dir, part| dir.below(part, FolderAccess::ByUmask));
    dir.write(name, bytes, Durability::Buffered).map_err(|error| format!("{to}: {error}"))
}
