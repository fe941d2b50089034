//! The folder that skills are installed into, and what stands beside it.
//!
//! Everything that changes it happens under one lock, and begins by finishing what a process that was
//! killed had begun. A reader needs no lock: each skill appears by one rename.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_fs::{
    EntryKind, FileLock, LockError, TreeWriter, abandoned_parts, entry_kind, is_abandoned_tree,
    is_real_dir, read_dir_names, remove_tree,
};
use metier_registry::manage::Backups;
use metier_skill::{AGENT_FOLDERS, Source};

use crate::access::{InstallQuestions, SourceAccess};
use crate::error::PackError;
use crate::fetch::{self, FetchProgress};
use crate::journal::{self, JournalLink, LinkFault};
use crate::pack::joined;
use crate::records::{LOCK_FILE, LockedSkill, Records, WANTED_FILE};
use crate::review::AcceptedBefore;
use crate::signatures::{SignerChange, SignerRules};

/// The names of what an unfinished change leaves in the folder of skills. They are hidden, so that no scan
/// looks into them.
const STAGING_DIR: &str = ".metier-staging";
pub(crate) const COMMIT_DIR: &str = ".metier-commit";

/// How long one process waits for another. Each holds the lock while it renames, not while it unpacks.
const LOCK_TIMEOUT: Duration = Duration::from_mins(2);

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
    /// How sources are reached.
    pub(crate) access: SourceAccess,
    /// Whose signatures count.
    pub(crate) signers: SignerRules,
    /// What the person accepted before.
    pub(crate) accepted: AcceptedBefore,
    /// The folders of other agents that may have links to these skills.
    pub(crate) link_folders: BTreeMap<String, PathBuf>,
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
                return Err(PackError::BadTarget {
                    path: root.to_owned(),
                    reason: "is not a folder",
                });
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
            access: SourceAccess::default(),
            signers: SignerRules::default(),
            accepted: AcceptedBefore::default(),
            link_folders: BTreeMap::new(),
        })
    }

    /// Sources that are not on this machine are reached through `access`.
    #[must_use]
    pub fn with_access(mut self, access: SourceAccess) -> Self {
        self.access = access;
        self
    }

    /// `questions` answers what comes up while a plan is made.
    #[must_use]
    pub fn with_questions(mut self, questions: Arc<dyn InstallQuestions>) -> Self {
        self.access = self.access.with_questions(questions);
        self
    }

    /// `progress` hears how far a fetch is.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn FetchProgress>) -> Self {
        self.access = self.access.with_progress(progress);
        self
    }

    /// Planning ends when `cancel` is cancelled, and a plan is not carried out any more. A change that has begun is
    /// finished.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.access = self.access.with_cancel(cancel);
        self
    }

    /// Signatures are judged by `signers`.
    #[must_use]
    pub fn with_signers(mut self, signers: SignerRules) -> Self {
        self.signers = signers;
        self
    }

    /// A signer that is not the pinned one is treated as `change` says.
    #[must_use]
    pub fn with_signer_change(mut self, change: SignerChange) -> Self {
        self.signers.change = change;
        self
    }

    /// The same folder, for a person who accepted this before. Without it every finding is new.
    #[must_use]
    pub fn with_accepted(self, accepted: AcceptedBefore) -> Self {
        Self { accepted, ..self }
    }

    /// These agents may have links to the skills, each in its folder.
    #[must_use]
    pub fn with_link_folders(self, link_folders: BTreeMap<String, PathBuf>) -> Self {
        Self { link_folders, ..self }
    }

    /// The folder of skills.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether these are the user's own skills.
    pub fn is_users(&self) -> bool {
        self.source == Source::User
    }

    /// The installed skills, by name, as the lock has them.
    pub fn locked_skills(&self) -> Result<BTreeMap<String, LockedSkill>, PackError> {
        Ok(Records::read(&self.records)?.lock.skills)
    }

    /// Whether something stands in the folder of skills `root` that a killed process may have left.
    pub fn is_unfinished_at(root: &Path) -> bool {
        is_real_dir(&root.join(COMMIT_DIR)) || is_real_dir(&root.join(STAGING_DIR))
    }

    /// Finishes what a process that was killed had begun, and removes what it left. Where there is nothing
    /// of that kind, which takes three questions to the system, nothing is locked or written.
    pub fn recover(&self) -> Result<(), PackError> {
        fetch::remove_abandoned_fetches(&self.state)?;
        if self.is_unfinished() {
            let lock = match (journal::check(self), self.lock()) {
                (Err(error), Err(lock)) if !matches!(lock, PackError::Busy(_)) => {
                    return Err(error);
                }
                (_, lock) => lock?,
            };
            // The journal is checked again: without the lock, one that another process finishes meanwhile looks like
            // one of someone else.
            return self.recover_locked(&lock);
        }
        if !self.abandoned().is_empty() || self.has_empty_staging() {
            // What cannot be removed stops no command.
            if let Ok(lock) = self.lock() {
                self.recover_locked(&lock)?;
            }
        }
        Ok(())
    }

    /// The folders that skills are installed into and their records, as paths in the directory `dir`, where they lie
    /// inside it, as they do in a project as a whole: what is installed is no source for itself. An agent's folder is
    /// one where it has records: without them its skills are the project's own.
    pub(crate) fn places_in(&self, dir: &Path) -> Vec<String> {
        let real = |path: &Path| metier_fs::canonical(path).unwrap_or_else(|_| path.to_owned());
        let dir = real(dir);
        let agents = AGENT_FOLDERS.iter().flat_map(|agent| agent.project.iter().chain(agent.user));
        let roots = agents.map(|folder| self.base.join(folder));
        let has_records = |root: &PathBuf| {
            root.parent().is_some_and(|records| {
                [WANTED_FILE, LOCK_FILE].iter().any(|name| metier_fs::exists(&records.join(name)))
            })
        };
        let mut places = BTreeSet::new();
        for root in roots.filter(has_records).chain([self.root.clone()]) {
            let records = real(root.parent().unwrap_or(Path::new(".")));
            let Ok(inner) = records.strip_prefix(&dir) else { continue };
            let inner: Vec<_> = inner.iter().map(|name| name.to_string_lossy()).collect();
            let root = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let names = [root, WANTED_FILE.to_owned(), LOCK_FILE.to_owned(), lock_file_name()];
            places.extend(names.iter().map(|name| joined(&inner.join("/"), name)));
        }
        Vec::from_iter(places)
    }

    fn is_unfinished(&self) -> bool {
        is_real_dir(&self.root.join(COMMIT_DIR))
    }

    /// Whether a process was killed before it staged anything.
    fn has_empty_staging(&self) -> bool {
        let staging = self.root.join(STAGING_DIR);
        is_real_dir(&staging) && read_dir_names(&staging).is_ok_and(|names| names.is_empty())
    }

    /// Staging directories whose makers are gone, and what is left of copies.
    fn abandoned(&self) -> Vec<PathBuf> {
        let parts = abandoned_parts(&self.root);
        let staging = self.root.join(STAGING_DIR);
        if !is_real_dir(&staging) {
            return parts;
        }
        let names = read_dir_names(&staging).unwrap_or_default();
        let paths = names.into_iter().map(|name| staging.join(name));
        let staged = paths.filter(|path| is_real_dir(path) && is_abandoned_tree(path));
        staged.chain(parts).collect()
    }

    /// The lock over the folder. The folders are there.
    pub(crate) fn lock(&self) -> Result<FileLock, PackError> {
        for name in [STAGING_DIR, COMMIT_DIR] {
            let path = self.root.join(name);
            check_kind(&path, EntryKind::Directory, "is in the way: it is not a folder")?;
        }
        let path = self.records.join(lock_file_name());
        check_kind(&path, EntryKind::File, "is in the way: it is not a regular file")?;
        let taken = FileLock::take_unless_cancelled(&path, LOCK_TIMEOUT, &self.access.cancel);
        taken.map_err(|error| match error {
            LockError::Busy(_) => PackError::Busy(self.root.clone()),
            LockError::Cancelled => PackError::Cancelled,
            LockError::Io(error) => PackError::not_written(&path, error),
            _ => PackError::Busy(path.clone()),
        })
    }

    /// The same under a lock that is held.
    pub(crate) fn recover_locked(&self, _: &FileLock) -> Result<(), PackError> {
        if self.is_unfinished() {
            // Taken back or finished: either is whole.
            journal::finish(self, LinkFault::IsLeft)?;
        }
        let abandoned = self.abandoned();
        if !abandoned.is_empty() {
            // They are known by what was staged, which goes last.
            if journal::remove_seal(self).is_err() {
                return Ok(());
            }
            self.remove_unfilled_backups(&[]);
        }
        for path in abandoned {
            let _ = remove_tree(&path);
        }
        // Others may still be in it.
        let _ = metier_fs::remove_empty_dir(&self.root.join(STAGING_DIR));
        Ok(())
    }

    /// Removes the backups that killed processes prepared for skills of this folder, or for what stood in the place
    /// of these links. The lock is held, so no process is about to fill one.
    pub(crate) fn remove_unfilled_backups(&self, links: &[JournalLink]) {
        let is_here = |path: &Path| {
            path.parent() == Some(&self.root) || links.iter().any(|link| link.path == path)
        };
        let _ = self.backups.remove_unfilled(is_here);
    }

    /// Moves what cannot be removed to where every later command tries again, and none is stopped by it.
    pub(crate) fn set_litter_aside(&self, dir: &Path) {
        let staging = self.root.join(STAGING_DIR);
        let _ = metier_fs::create_dir(&staging);
        let mut names = (0..100).map(|number| staging.join(format!("rest-{number}")));
        if let Some(free) = names.find(|path| entry_kind(path).is_none()) {
            let _ = metier_fs::rename_dir(dir, &free);
        }
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
            self.new_tree().map_err(written)
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

impl InstallTarget {
    /// A new tree in the directory of staging. Another process may remove that directory when it takes its
    /// own tree out of it, so making the two is tried more than once.
    fn new_tree(&self) -> std::io::Result<TreeWriter> {
        let staging = self.root.join(STAGING_DIR);
        let mut tries = 0;
        loop {
            tries += 1;
            metier_fs::create_dir(&staging)?;
            if !is_real_dir(&staging) {
                return Err(std::io::ErrorKind::NotADirectory.into());
            }
            match TreeWriter::create_in(&staging, "") {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries < 100 => {}
                other => return other,
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
        self.leave();
    }

    /// Removes the directory of staging, unless another process uses it.
    fn leave(&self) {
        if let Some(staging) = self.path.parent() {
            let _ = metier_fs::remove_empty_dir(staging);
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.tree.is_some() {
            // What cannot be removed now is removed by the next command.
            let _ = remove_tree(&self.path);
            self.leave();
        }
        self.tree = None;
        remove_empty(&self.made);
    }
}

/// An error where something else stands there: a clone may have brought it.
fn check_kind(path: &Path, kind: EntryKind, reason: &'static str) -> Result<(), PackError> {
    match entry_kind(path) {
        None => Ok(()),
        Some(found) if found == kind => Ok(()),
        Some(EntryKind::Link) => Err(PackError::BadTarget {
            path: path.to_owned(),
            reason: "is in the way: it is a link",
        }),
        Some(_) => Err(PackError::BadTarget { path: path.to_owned(), reason }),
    }
}

/// Whether a path is of what only a change of the folder makes.
pub(crate) fn is_of_a_change(path: &Path) -> bool {
    let names = [STAGING_DIR.to_owned(), COMMIT_DIR.to_owned(), lock_file_name()];
    names.iter().any(|name| path.ends_with(name))
}

/// What is locked, beside the records.
fn lock_file_name() -> String {
    format!(".{LOCK_FILE}.lock")
}

fn remove_empty(made: &[PathBuf]) {
    for dir in made.iter().rev() {
        let _ = metier_fs::remove_empty_dir(dir);
    }
}
