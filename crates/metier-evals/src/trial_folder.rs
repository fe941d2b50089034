//! The folder that a trial works in: its own, with the files of its case, gone when it is over. Nothing of a
//! trial touches the user's workspace.

use std::path::{Path, PathBuf};

use metier::fs::{Durability, FolderAccess, HeldDir, canonical, read_bounded};
use metier::policy::Effect;
use metier::skill::Digest;
use metier::{Metier, WithSkills};
use tempfile::TempDir;

use crate::case::Case;
use crate::error::EvalError;
use crate::read::target;
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
    /// Whose project has the files of cases, and whose policy says what may be read.
    metier: Metier,
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
    pub(crate) fn new(metier: &Metier) -> std::io::Result<Self> {
        Ok(Self { metier: metier.clone(), shared: new_temporary_folder()? })
    }

    /// The folder for a trial of a case, with its files; else what is wrong with them.
    pub(crate) fn folder(&self, case: &Case) -> Result<TrialFolder<'_>, String> {
        if case.only_triggers() && case.files.is_empty() {
            return Ok(TrialFolder::Shared(self.shared.path()));
        }
        let dir =
            new_temporary_folder().map_err(|error| format!("no folder for the trial: {error}"))?;
        for (to, from) in &case.files {
            let (bytes, digest) = content(&self.metier, case, from)?;
            if case.contents.get(to) != Some(&digest) {
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
///
/// A case may come with a clone or from a download, and what it names is shown to a model and kept with the
/// results. So a file of the project is found only inside it, one of a case file that lies elsewhere only
/// beside that, and nothing that a rule or the floor keeps from being read is found at all.
pub(crate) fn content(
    metier: &Metier,
    case: &Case,
    from: &str,
) -> Result<(Vec<u8>, Digest), String> {
    let project = metier.workspace();
    let project = canonical(&project).unwrap_or(project);
    let mut last = None;
    for (base, inside) in bases(&project, &case.origin.file) {
        let Ok(real) = canonical(&base.join(from)) else { continue };
        if !real.starts_with(&inside) {
            return Err(if inside == project {
                format!("the file {from} is outside the project")
            } else {
                format!("the file {from} is not in the folder of its case file")
            });
        }
        if let Some(reason) = refusal(metier, &real)? {
            return Err(format!("the file {from} may not be read: {reason}"));
        }
        match read_bounded(&real, MAX_FILE_BYTES) {
            Ok(bytes) => {
                let digest = Digest::of(&bytes);
                return Ok((bytes, digest));
            }
            Err(error) => last = Some(error.to_string()),
        }
    }
    let why = last.unwrap_or_else(|| "there is no such file".to_owned());
    Err(format!("the file {from} of the case cannot be read: {why}"))
}

/// Where the files of a case may be, each with the folder that they have to be in.
fn bases(project: &Path, case_file: &str) -> Vec<(PathBuf, PathBuf)> {
    let file = project.join(case_file);
    let file = canonical(&file).unwrap_or(file);
    let Some(beside) = file.parent().map(Path::to_owned) else { return Vec::new() };
    let above = beside.parent().unwrap_or(&beside).to_owned();
    if beside.starts_with(project) {
        // The public format counts from the skill's folder, in which the folder of evals is.
        let places = [beside, above, project.to_owned()];
        return places.map(|base| (base, project.to_owned())).into();
    }
    let mut places = vec![(beside.clone(), beside.clone())];
    if beside.ends_with("evals") {
        places.push((above.clone(), above));
    }
    places
}

/// Why a file may not be read, as the policy says it of any tool.
fn refusal(metier: &Metier, path: &Path) -> Result<Option<String>, String> {
    let path = path.to_str().ok_or_else(|| format!("{} is not text", path.display()))?;
    let explained = metier.explain("read_file", &[path], &WithSkills::default());
    let decision = explained.map_err(|error| error.to_string())?.decision;
    Ok((decision.effect == Effect::Deny).then_some(decision.reason))
}

fn write(folder: &Path, to: &str, bytes: &[u8]) -> Result<(), String> {
    let path = target(to)?;
    let (above, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    let dir = above
        .split_terminator('/')
        .fold(HeldDir::at(folder), |dir, part| dir.below(part, FolderAccess::ByUmask));
    dir.write(name, bytes, Durability::Buffered).map_err(|error| format!("{to}: {error}"))
}
