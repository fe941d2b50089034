//! A change of the folder of skills, all of it or none: written down first, then carried out.
//!
//! The staging directory holds the new trees and the journal. Renaming it to `.metier-commit` is the
//! moment of the change: before it, a killed process has changed nothing; after it, the next command
//! carries out what the journal says. Every step can be repeated, and is skipped when it was done.
//!
//! A folder of skills may come with a clone, and a journal moves folders. So the digest of a journal is in
//! the user's state before it counts, and one that is not there is not followed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_fs::{
    FileLock, create_folder_of, entry_kind, exchange, is_link, link_text, make_link, move_whole,
    read_bounded, remove_file, remove_tree, rename_dir, rename_over, replace_shared, write_private,
};
use metier_registry::manage::Deletion;
use metier_skill::{Digest, SkillId, SkillName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::PackError;
use crate::records::{LOCK_FILE, Records, WANTED_FILE};
use crate::target::{COMMIT_DIR, InstallTarget, Staging};

const JOURNAL_FILE: &str = "journal.json";
const MAX_JOURNAL_BYTES: u64 = 192 << 20;

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) moves: Vec<JournalMove>,
    /// The texts of `skills.json` and `skills.lock.json`; absent when they stay.
    pub(crate) records: Option<(String, String)>,
    /// A backup whose skill is back.
    pub(crate) forgotten_backup: Option<String>,
    /// Links in the folders of other agents.
    #[serde(default)]
    pub(crate) links: Vec<JournalLink>,
}

/// A link that comes or goes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalLink {
    /// The skill.
    pub(crate) name: String,
    /// Where the link is.
    pub(crate) path: PathBuf,
    /// What it says; `None` for one that goes.
    pub(crate) text: Option<PathBuf>,
    /// What stands there, by device and number.
    pub(crate) old: Option<(u64, u64)>,
}

/// One skill that comes, goes, or is replaced.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalMove {
    /// The name of its folder.
    pub(crate) name: String,
    /// Where the new tree is: in the staging directory, or an absolute path. `None` for one that only goes.
    pub(crate) new: Option<PathBuf>,
    /// Which directory goes, by device and number; `None` where nothing stands.
    pub(crate) old: Option<(u64, u64)>,
    /// What the lock said of the one that goes.
    pub(crate) old_record: Option<Value>,
}

/// Writes the journal into the staging directory, makes it count, and carries it out.
pub(crate) fn commit(
    target: &InstallTarget,
    _: &FileLock,
    staging: Staging,
    journal: &Journal,
) -> Result<(), PackError> {
    for new in journal.moves.iter().filter_map(|planned| planned.new.as_ref()) {
        let staged = staging.path().join(new);
        if entry_kind(&staged).is_none() {
            return Err(PackError::TargetChanged(staged));
        }
    }
    for link in journal.links.iter().filter(|link| link.text.is_some()) {
        // What stands in the way of a link is an error now, while nothing has changed.
        create_folder_of(&link.path).map_err(|error| PackError::not_written(&link.path, error))?;
    }
    let path = staging.path().join(JOURNAL_FILE);
    let written = |error| PackError::not_written(&target.root, error);
    let bytes = serde_json::to_vec(journal).map_err(|error| written(error.into()))?;
    replace_shared(&path, &bytes).map_err(|error| PackError::not_written(&path, error))?;
    if let Some(tree) = staging.tree() {
        // The trees are on the disk before the change counts: after a power cut there is no skill with
        // empty files.
        tree.sync().map_err(written)?;
    }
    let seal = seal_path(target);
    let digest = Digest::of(&bytes).to_string();
    write_private(&seal, digest.as_bytes())
        .map_err(|error| PackError::not_written(&seal, error))?;
    rename_dir(staging.path(), &target.root.join(COMMIT_DIR)).map_err(written)?;
    staging.keep();
    finish(target, LinkFault::Stops).map_err(|error| PackError::Unfinished {
        root: target.root.clone(),
        error: Box::new(error),
    })
}

/// What a link that cannot be made comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// The rest waits for the next command, which tries again.
    Stops,
    /// It is missing then, as `verify` says: a journal that waited for it would stop every command.
    IsLeft,
}

/// Whether the journal that counts is the user's own, or there is none.
pub(crate) fn check(target: &InstallTarget) -> Result<(), PackError> {
    let path = target.root.join(COMMIT_DIR).join(JOURNAL_FILE);
    match read_bounded(&path, MAX_JOURNAL_BYTES) {
        Ok(bytes) => check_seal(target, &bytes),
        Err(_) => Ok(()),
    }
}

/// Carries out the journal that counts, from wherever it was left.
pub(crate) fn finish(target: &InstallTarget, link_fault: LinkFault) -> Result<(), PackError> {
    let dir = target.root.join(COMMIT_DIR);
    let path = dir.join(JOURNAL_FILE);
    if entry_kind(&path).is_some() {
        let bytes = read_bounded(&path, MAX_JOURNAL_BYTES).map_err(|error| {
            PackError::BadRecord { path: path.clone(), reason: error.to_string() }
        })?;
        check_seal(target, &bytes)?;
        let journal: Journal = serde_json::from_slice(&bytes).map_err(|error| {
            PackError::BadRecord { path: path.clone(), reason: error.to_string() }
        })?;
        for (number, planned) in journal.moves.iter().enumerate() {
            put_in_place(target, &dir, number, planned)?;
        }
        for (number, link) in journal.links.iter().enumerate() {
            let linked = put_link(&dir, number, link);
            if link_fault == LinkFault::Stops {
                linked?;
            }
        }
        if let Some((wanted, lock)) = &journal.records {
            for (name, text) in [(WANTED_FILE, wanted), (LOCK_FILE, lock)] {
                let path = target.records.join(name);
                let written = |error| PackError::not_written(&path, error);
                // Beside the journal first: what a killed process leaves there goes with it.
                let aside = dir.join(name);
                replace_shared(&aside, text.as_bytes()).map_err(written)?;
                rename_over(&aside, &path).map_err(written)?;
            }
        }
        for (number, planned) in journal.moves.iter().enumerate() {
            let asides = asides(&dir, number);
            keep_old(
                target,
                asides,
                (&planned.name, &target.root.join(&planned.name)),
                planned.old_record.as_ref(),
            )?;
        }
        for (number, link) in journal.links.iter().enumerate() {
            let aside = std::iter::once(link_aside(&dir, number));
            keep_old(target, aside, (&link.name, &link.path), None)?;
        }
        if let Some(id) = &journal.forgotten_backup {
            target.backups.forget(id).map_err(PackError::Backup)?;
        }
        // From here on the rest is litter.
        remove_file(&path).map_err(|error| PackError::not_written(&path, error))?;
    }
    remove_tree(&dir).map_err(|error| PackError::not_written(&dir, error))?;
    let seal = seal_path(target);
    remove_file(&seal).map_err(|error| PackError::not_written(&seal, error))
}

/// Where the user's state says which journal of this folder is theirs.
fn seal_path(target: &InstallTarget) -> PathBuf {
    let root = metier_fs::canonical(&target.root).unwrap_or_else(|_| target.root.clone());
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    target.state.join("journals").join(digest.trim_start_matches("sha256:"))
}

fn check_seal(target: &InstallTarget, journal: &[u8]) -> Result<(), PackError> {
    let seal = read_bounded(&seal_path(target), 1024).unwrap_or_default();
    if seal == Digest::of(journal).to_string().as_bytes() {
        return Ok(());
    }
    let path = target.root.join(COMMIT_DIR);
    Err(PackError::BadTarget { path, reason: "was not written by you on this machine: remove it" })
}

/// The old tree goes aside, and the new one comes. Where the system can, they change places in one step: a
/// watcher or another program never finds a skill missing that is only replaced.
fn put_in_place(
    target: &InstallTarget,
    dir: &Path,
    number: usize,
    planned: &JournalMove,
) -> Result<(), PackError> {
    let place = target.root.join(&planned.name);
    let written = |error| PackError::not_written(&place, error);
    let new = planned.new.as_ref().map(|new| dir.join(new));
    let is_old = |path: &Path| planned.old.is_some() && folder_id(path) == planned.old;
    let free_aside = || {
        let free = asides(dir, number).find(|aside| entry_kind(aside).is_none());
        free.ok_or_else(|| PackError::TargetChanged(place.clone()))
    };
    // A backup that comes back is no place for another skill, not even for a moment.
    let staged = planned.new.as_deref().is_some_and(Path::is_relative);
    if let Some(new) = new.as_ref().filter(|_| staged) {
        if is_old(&place) && !is_old(new) && entry_kind(new).is_some() {
            // What cannot be done in one step is done in two below.
            let _ = exchange(new, &place);
        }
        // They changed places, now or before the process was killed.
        if is_old(new) {
            rename_dir(new, &free_aside()?).map_err(written)?;
        }
    }
    let has_new = new.as_deref().is_some_and(|new| entry_kind(new).is_some());
    let stands = entry_kind(&place).is_some();
    // One that was put there meanwhile goes to a backup too: the change was decided on.
    if stands && (has_new || (planned.new.is_none() && is_old(&place))) {
        rename_dir(&place, &free_aside()?).map_err(written)?;
    }
    match new.filter(|_| has_new) {
        Some(new) => move_whole(&new, &place).map(|_| ()).map_err(written),
        None => Ok(()),
    }
}

/// The link comes, or goes if it is still the one that was seen.
fn put_link(dir: &Path, number: usize, link: &JournalLink) -> Result<(), PackError> {
    let path = &link.path;
    let written = |error| PackError::not_written(path, error);
    let Some(text) = &link.text else {
        let is_it = is_link(path) && folder_id(path) == link.old;
        return if is_it { remove_tree(path).map_err(written) } else { Ok(()) };
    };
    if link_text(path).as_ref() == Some(text) {
        return Ok(());
    }
    if entry_kind(path).is_some() {
        let aside = link_aside(dir, number);
        if entry_kind(&aside).is_some() {
            return Err(PackError::TargetChanged(path.clone()));
        }
        move_whole(path, &aside).map_err(written)?;
    }
    make_link(text, path).map_err(written)
}

/// Where what stood in the place of a link is set aside.
fn link_aside(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("old-link-{number}"))
}

/// What stood at `place` and was set aside goes to the user's backups.
fn keep_old(
    target: &InstallTarget,
    asides: impl Iterator<Item = PathBuf>,
    (name, place): (&str, &Path),
    record: Option<&Value>,
) -> Result<(), PackError> {
    let name = SkillName::new(name).map_err(|_| PackError::BadName(name.to_owned()))?;
    for aside in asides.filter(|aside| entry_kind(aside).is_some()) {
        let id = SkillId { source: target.source, name: name.clone() };
        let deletion = Deletion::moved(id, place, &aside).map_err(PackError::Backup)?;
        let deletion = deletion.with_installed(record.cloned());
        target.backups.keep(deletion, SystemTime::now()).map_err(PackError::Backup)?;
    }
    Ok(())
}

/// Where what stood in a skill's place is set aside: once as planned, and again for what another process
/// put there between a crash and the recovery.
fn asides(dir: &Path, number: usize) -> impl Iterator<Item = PathBuf> {
    (0..4).map(move |attempt| dir.join(format!("old-{number}-{attempt}")))
}

/// Which directory stands at `path`, a link as itself; `None` where nothing does.
pub(crate) fn folder_id(path: &Path) -> Option<(u64, u64)> {
    let id = metier_fs::entry_id(path).ok()?;
    Some((id.device, id.inode))
}

/// The records with a change, as texts; `None` when they stay as they are.
pub(crate) fn changed_records(before: &Records, after: &Records) -> Option<(String, String)> {
    (before != after).then(|| after.to_texts())
}
