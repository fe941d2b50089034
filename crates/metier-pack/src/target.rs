//! The folder that skills are installed into, and what stands beside it.
//!
//! Everything that changes it happens under one lock, and begins by finishing what a process that was
//! killed had begun. A reader needs no lock: each skill appears by one rename.

use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_fs::{
    EntryKind, FileLock, LockError, TreeWriter, entry_kind, is_abandoned_tree, is_real_dir, read_dir_names,
    remove_tree,
};
use metier_registry::manage::Backups;
use metier_skill::Source;

use crate::error::PackError;
use crate::journal;
use crate::records::LOCK_FILE;

/// The names of what an unfinished change leaves in the folder of skills. They are hidden, so that no scan
/// looks into them.
const STAGING_PREFIX: &str = ".metier-staging-";
pub(crate) const COMMIT_DIR: &str = ".metier-commit";

/// How long one process waits for another. Each holds the lock while it renames, not while it unpacks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(120);

/// A folder of skills to install into.
#[derive(Debug, Clone)]
pub struct InstallTarget {
    /// The folder of skills.
    pub(crate) root: PathBuf,
    /// The folder that holds it, and the two records.
    pub(crate) records: PathBuf,
    /// Where relative sources in the records start.
    pub(crate) base: PathBuf,
    /// Whose skills these are.
    pub(crate) source: Source,
    pub(crate) backups: Backups,
    /// The user's folder of state.
    pub(crate) state: PathBuf,
}

impl InstallTarget {
    /// The folder of skills `root`, whose parent holds the records. Relative sources in them start at
    /// `base`; what is replaced goes to the backups in the user's `state`.
    ///
    /// # Errors
    ///
    /// [`PackError::BadTarget`] where something else than a folder stands there. A link that leads there is
    /// followed for the user's own folder; a project could have brought one that leads anywhere.
    pub fn new(root: &Path, base: &Path, source: Source, state: &Path) -> Result<Self, PackError> {
        let root = match entry_kind(root) {
            None | Some(EntryKind::Directory) => root.to_owned(),
            Some(EntryKind::Link) if source == Source::User && metier_fs::is_dir(root) => {
                metier_fs::canonical(root).map_err(|error| PackError::not_readable(root, error))?
            }
            Some(EntryKind::Link) => {
                return Err(PackError::BadTarget { path: root.to_owned(), reason: "is a link" });
            }
            Some(_) => {
                return Err(PackError::BadTarget { path: root.to_owned(), reason: "is not a folder" });
            }
        };
        let records = root.parent().unwrap_or(Path::new(".")).to_owned();
        Ok(Self {
            root,
            records,
            base: base.to_owned(),
            source,
            backups: Backups::in_state(state),
            state: state.to_owned(),
        })
    }

    /// The folder of skills.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a change was begun and not finished.
    pub fn is_unfinished(&self) -> bool {
        is_real_dir(&self.root.join(COMMIT_DIR))
    }

    /// Finishes what a process that was killed had begun, and removes what it left.
    pub fn recover(&self) -> Result<(), PackError> {
        if !is_real_dir(&self.root) {
            return Ok(());
        }
        let names = read_dir_names(&self.root).map_err(|error| PackError::not_readable(&self.root, error))?;
        if names.iter().any(|name| name == COMMIT_DIR || name.starts_with(STAGING_PREFIX)) {
            let lock = self.lock()?;
            self.recover_locked(&lock)?;
        }
        Ok(())
    }

    /// The lock over the folder. The folders are there.
    pub(crate) fn lock(&self) -> Result<FileLock, PackError> {
        let path = self.records.join(format!(".{LOCK_FILE}.lock"));
        FileLock::take(&path, LOCK_TIMEOUT).map_err(|error| match error {
            LockError::Busy(_) => PackError::Busy(self.root.clone()),
            LockError::Io(error) => PackError::not_written(&path, error),
            _ => PackError::Busy(path.clone()),
        })
    }

    /// The same under a lock that is held.
    pub(crate) fn recover_locked(&self, _: &FileLock) -> Result<(), PackError> {
        if self.is_unfinished() {
            journal::finish(self)?;
        }
        let names = read_dir_names(&self.root).map_err(|error| PackError::not_readable(&self.root, error))?;
        for name in names.iter().filter(|name| name.starts_with(STAGING_PREFIX)) {
            let path = self.root.join(name);
            if is_real_dir(&path) && is_abandoned_tree(&path) {
                remove_tree(&path).map_err(|error| PackError::not_written(&path, error))?;
            }
        }
        Ok(())
    }

    /// A new staging directory in the folder of skills, which is made where it is missing.
    pub(crate) fn stage(&self) -> Result<Staging, PackError> {
        let mut made = Vec::new();
        let missing = |dir: &&Path| !dir.as_os_str().is_empty() && entry_kind(dir).is_none();
        let missing: Vec<&Path> = self.root.ancestors().take_while(missing).collect();
        for dir in missing.into_iter().rev() {
            match metier_fs::create_dir(dir) {
                Ok(true) => made.push(dir.to_owned()),
                Ok(false) => {}
                Err(error) => {
                    remove_empty(&made);
                    return Err(PackError::not_written(dir, error));
                }
            }
        }
        let written = |error| PackError::not_written(&self.root, error);
        let staged = self.lock().and_then(|lock| {
            self.recover_locked(&lock)?;
            // Under the lock: another process could take a tree for abandoned before it is held.
            TreeWriter::create_in(&self.root, STAGING_PREFIX).map_err(written)
        });
        match staged {
            Ok(tree) => Ok(Staging { path: tree.path().to_owned(), tree: Some(tree), made }),
            Err(error) => {
                remove_empty(&made);
                Err(error)
            }
        }
    }
}

/// A staging directory. Dropped before it is committed, nothing is left of it.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    tree: Option<TreeWriter>,
    /// Folders that were made for it.
    made: Vec<PathBuf>,
}

impl Staging {
    pub(crate) fn tree(&self) -> Option<&TreeWriter> {
        self.tree.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It has become something else: nothing is removed any more.
    pub(crate) fn keep(mut self) {
        self.tree = None;
        self.made.clear();
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.tree.is_some() {
            // What cannot be removed now is removed by the next command.
            let _ = remove_tree(&self.path);
        }
        self.tree = None;
        remove_empty(&self.made);
    }
}

fn remove_empty(made: &[PathBuf]) {
    for dir in made.iter().rev() {
        let _ = metier_fs::remove_empty_dir(dir);
    }
}
