//! A change of the folder of skills, all of it or none: written down first, then carried out.
//!
//! The staging directory holds the new trees and the journal. Renaming it to `.metier-commit` is the
//! moment of the change: before it, a killed process has changed nothing; after it, the next command
//! carries out what the journal says. Every step can be repeated, and is skipped when it was done. Where a step
//! fails, those before it are taken back, in the reverse order and through the same states, so that a process that is
//! killed meanwhile leaves what the next command understands.
//!
//! A folder of skills may come with a clone, and a journal moves folders. So the digest of a journal is in
//! the user's state before it counts, and one that is not there is not followed.

mod kept;
mod links;
mod moves;

use std::io::Write;
use std::path::{Path, PathBuf};

use metier_fs::{
    FileLock, NewFileMode, copy_whole, create_folder_of, create_private_dir, create_private_file,
    entry_kind, is_link, link_text, read_bounded, remove_file, remove_tree, rename_dir,
    rename_over, replace_shared,
};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::PackError;
use crate::records::{LOCK_FILE, Records, WANTED_FILE};
use crate::target::{COMMIT_DIR, InstallTarget, Staging};
use kept::{PreparedBackups, discard_backups, keep_old};
use links::{put_link, take_link_back};
use moves::{put_in_place, take_back};

const JOURNAL_FILE: &str = "journal.json";
const MAX_JOURNAL_BYTES: u64 = 192 << 20;
const RECORD_FILES: [&str; 2] = [WANTED_FILE, LOCK_FILE];

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) moves: Vec<JournalMove>,
    /// The texts of `skills.json` and `skills.lock.json`; absent when they stay.
    pub(crate) records: Option<(String, String)>,
    /// The texts that they replace, for taking the change back; `None` for a file that was not there.
    #[serde(default)]
    pub(crate) old_records: (Option<String>, Option<String>),
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
    /// What the link says that goes.
    #[serde(default)]
    pub(crate) old_text: Option<PathBuf>,
}

/// One skill that comes, goes, or is replaced.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalMove {
    /// The name of its folder.
    pub(crate) name: String,
    /// Where the new tree is: in the staging directory, or an absolute path. `None` for one that only goes.
    pub(crate) new: Option<PathBuf>,
    /// Which directory the new tree is, by device and number, for taking the change back.
    #[serde(default)]
    pub(crate) new_id: Option<(u64, u64)>,
    /// Which directory goes, by device and number; `None` where nothing stands.
    pub(crate) old: Option<(u64, u64)>,
    /// What the lock said of the one that goes.
    pub(crate) old_record: Option<Value>,
    /// The backup that was prepared for the one that goes.
    #[serde(default)]
    pub(crate) backup: Option<JournalBackup>,
}

/// A backup that waits for what goes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JournalBackup {
    /// Its id.
    pub(crate) id: String,
    /// What the tree looked like when it was copied, where a rename cannot reach the backup.
    pub(crate) copied: Option<String>,
}

/// Writes the journal into the staging directory, makes it count, and carries it out.
pub(crate) fn commit(
    target: &InstallTarget,
    _: &FileLock,
    staging: Staging,
    mut journal: Journal,
) -> Result<(), PackError> {
    let written = |error| PackError::not_written(&target.root, error);
    for (number, planned) in journal.moves.iter_mut().enumerate() {
        let Some(new) = &planned.new else { continue };
        let mut staged = staging.path().join(new);
        planned.new_id = folder_id(&staged);
        if planned.new_id.is_none() {
            return Err(PackError::TargetChanged(staged));
        }
        if new.is_absolute() && !reaches(target, &staging, journal.forgotten_backup.as_deref())? {
            // It goes through staging, as everything that comes from another file system: what is in its place is
            // whole then, and what a killed process left is removed with the rest.
            let copy = PathBuf::from(format!("copied-{number}"));
            staged = staging.path().join(&copy);
            copy_whole(new, &staged).map_err(written)?;
            planned.new = Some(copy);
            planned.new_id = folder_id(&staged);
        }
    }
    for link in &mut journal.links {
        if link.text.is_some() {
            // What stands in the way of a link is an error now, while nothing has changed.
            create_folder_of(&link.path)
                .map_err(|error| PackError::not_written(&link.path, error))?;
        } else {
            link.old_text = link_text(&link.path).filter(|_| is_link(&link.path));
        }
    }
    // What needs room on a disk is written before anything has changed.
    let prepared = PreparedBackups::prepare(target, &staging, &mut journal)?;
    if let Some((wanted, lock)) = &journal.records {
        for (name, text) in RECORD_FILES.into_iter().zip([wanted, lock]) {
            stage(&staging, name, text.as_bytes()).map_err(written)?;
        }
    }
    let path = staging.path().join(JOURNAL_FILE);
    let bytes = journal.to_bytes().map_err(written)?;
    stage(&staging, JOURNAL_FILE, &bytes).map_err(|error| PackError::not_written(&path, error))?;
    if let Some(tree) = staging.tree() {
        // The trees are on the disk before the change counts: after a power cut there is no skill with
        // empty files.
        tree.sync().map_err(written)?;
    }
    write_seal(target, &bytes)?;
    if let Err(error) = rename_dir(staging.path(), &target.root.join(COMMIT_DIR)) {
        let _ = remove_seal(target);
        return Err(written(error));
    }
    staging.keep();
    prepared.keep();
    match follow(target, &target.root.join(COMMIT_DIR), &journal, LinkFault::Stops)? {
        Finished::Done => Ok(()),
        Finished::TakenBack(error) => Err(error),
    }
}

impl Journal {
    fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        // Growing step by step through megabytes of fresh memory takes longer than writing into them.
        let texts = self.records.iter().flat_map(|(wanted, lock)| [wanted, lock]);
        let texts: usize = texts.map(|text| text.len() + text.len() / 2).sum();
        let mut bytes = Vec::with_capacity(texts + 256 * self.moves.len());
        serde_json::to_writer(&mut bytes, self)?;
        Ok(bytes)
    }
}

/// Writes a file into staging, which is brought to the disk as a whole where it holds trees.
fn stage(staging: &Staging, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    match staging.tree() {
        Some(tree) => tree.make_file(name, NewFileMode::Plain)?.write_all(bytes),
        None => replace_shared(&staging.path().join(name), bytes),
    }
}

/// Whether the backup that comes back can be renamed into the folder of skills.
fn reaches(
    target: &InstallTarget,
    staging: &Staging,
    backup: Option<&str>,
) -> Result<bool, PackError> {
    let Some(id) = backup else { return Ok(true) };
    target.backups.takes_renames_from(id, staging.path()).map_err(PackError::Backup)
}

/// What a link that cannot be made comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// Everything is taken back.
    Stops,
    /// It is missing then, as `verify` says: the change was decided on, and its command is gone.
    IsLeft,
}

/// How a journal that counts ended.
#[derive(Debug)]
pub(crate) enum Finished {
    /// All of it is done.
    Done,
    /// Nothing of it is, because of this.
    TakenBack(PackError),
}

/// Whether the journal that counts is the user's own, or there is none.
pub(crate) fn check(target: &InstallTarget) -> Result<(), PackError> {
    let path = target.root.join(COMMIT_DIR).join(JOURNAL_FILE);
    match read_bounded(&path, MAX_JOURNAL_BYTES) {
        Ok(bytes) => check_seal(target, &bytes),
        Err(_) => Ok(()),
    }
}

/// Carries out the journal that counts, from wherever it was left; where that cannot be done, takes it back.
///
/// # Errors
///
/// [`PackError::Unfinished`], where neither can be done: then the journal stays, for the next command.
pub(crate) fn finish(target: &InstallTarget, link_fault: LinkFault) -> Result<Finished, PackError> {
    let dir = target.root.join(COMMIT_DIR);
    let Some(journal) = read_journal(target, &dir)? else {
        close(target, &dir);
        return Ok(Finished::Done);
    };
    follow(target, &dir, &journal, link_fault)
}

/// The same with the journal that was read, or just written.
fn follow(
    target: &InstallTarget,
    dir: &Path,
    journal: &Journal,
    link_fault: LinkFault,
) -> Result<Finished, PackError> {
    let ended = match carry_out(target, dir, journal, link_fault) {
        Ok(()) => Finished::Done,
        Err(error) if take_all_back(target, dir, journal).is_ok() => Finished::TakenBack(error),
        Err(error) => {
            let (root, error) = (target.root.clone(), Box::new(error));
            return Err(PackError::Unfinished { root, error });
        }
    };
    let path = dir.join(JOURNAL_FILE);
    // From here on the rest is litter.
    remove_file(&path).map_err(|error| PackError::not_written(&path, error))?;
    close(target, dir);
    if link_fault == LinkFault::IsLeft {
        // Its maker was killed, perhaps while it made a backup.
        target.remove_unfilled_backups(&journal.links);
    }
    Ok(ended)
}

fn read_journal(target: &InstallTarget, dir: &Path) -> Result<Option<Journal>, PackError> {
    let path = dir.join(JOURNAL_FILE);
    if entry_kind(&path).is_none() {
        return Ok(None);
    }
    let bad = |reason: String| PackError::BadRecord { path: path.clone(), reason };
    let bytes = read_bounded(&path, MAX_JOURNAL_BYTES).map_err(|error| bad(error.to_string()))?;
    check_seal(target, &bytes)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| bad(error.to_string()))
}

/// The steps of a change, in their order.
fn carry_out(
    target: &InstallTarget,
    dir: &Path,
    journal: &Journal,
    link_fault: LinkFault,
) -> Result<(), PackError> {
    for (number, planned) in journal.moves.iter().enumerate() {
        put_in_place(target, dir, number, planned)?;
    }
    for (number, link) in journal.links.iter().enumerate() {
        let linked = put_link(dir, number, link);
        if link_fault == LinkFault::Stops {
            linked?;
        }
    }
    if let Some((wanted, lock)) = &journal.records {
        for (name, text) in RECORD_FILES.into_iter().zip([wanted, lock]) {
            put_record(target, dir, name, Some(text))?;
        }
    }
    keep_old(target, dir, journal)?;
    if let Some(id) = &journal.forgotten_backup {
        // A second copy of what is back is no reason to take it back.
        let _ = target.backups.forget(id);
    }
    Ok(())
}

/// The same steps backwards.
fn take_all_back(target: &InstallTarget, dir: &Path, journal: &Journal) -> Result<(), PackError> {
    if let Some((wanted, lock)) = &journal.records {
        let (old_wanted, old_lock) = &journal.old_records;
        let texts = [(wanted, old_wanted), (lock, old_lock)];
        for (name, (new, old)) in RECORD_FILES.into_iter().zip(texts) {
            if is_text(&target.records.join(name), new) {
                put_record(target, dir, name, old.as_deref())?;
            }
        }
    }
    for (number, link) in journal.links.iter().enumerate().rev() {
        take_link_back(dir, number, link)?;
    }
    for (number, planned) in journal.moves.iter().enumerate().rev() {
        take_back(target, dir, number, planned)?;
    }
    discard_backups(target, journal);
    Ok(())
}

/// Makes a record say `text`, or removes it. It is written beside the journal first: what a killed process leaves
/// there goes with it.
fn put_record(
    target: &InstallTarget,
    dir: &Path,
    name: &str,
    text: Option<&str>,
) -> Result<(), PackError> {
    let path = target.records.join(name);
    let written = |error| PackError::not_written(&path, error);
    let Some(text) = text else { return remove_file(&path).map_err(written) };
    if is_text(&path, text) {
        return Ok(());
    }
    let aside = dir.join(name);
    if !is_text(&aside, text) {
        replace_shared(&aside, text.as_bytes()).map_err(written)?;
    }
    rename_over(&aside, &path).map_err(written)
}

fn is_text(path: &Path, text: &str) -> bool {
    read_bounded(path, MAX_JOURNAL_BYTES).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// Removes what is left of a change that is over. What cannot be removed stops no command: it is put where the next
/// one tries again.
fn close(target: &InstallTarget, dir: &Path) {
    // The seal first: a folder without a journal is what leads the next command here.
    if remove_seal(target).is_ok() && remove_tree(dir).is_err() {
        target.set_litter_aside(dir);
    }
}

/// Removes the seal of a journal that is over, or never counted.
pub(crate) fn remove_seal(target: &InstallTarget) -> std::io::Result<()> {
    remove_file(&seal_path(target))
}

/// Notes the digest of a journal in the user's state. No journal counts while this is written, so it is written in
/// its place: a killed process leaves nothing under another name.
fn write_seal(target: &InstallTarget, journal: &[u8]) -> Result<(), PackError> {
    let path = seal_path(target);
    let digest = Digest::of(journal).to_string();
    let written = create_private_dir(path.parent().unwrap_or(&path))
        .and_then(|()| remove_file(&path))
        .and_then(|()| create_private_file(&path))
        .and_then(|mut file| file.write_all(digest.as_bytes()).and_then(|()| file.sync_data()));
    written.map_err(|error| {
        let _ = remove_file(&path);
        PackError::not_written(&path, error)
    })
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
    Err(PackError::BadTarget { path, reason: "was not written by you on this machine" })
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

/// What the files of the records say, byte for byte.
pub(crate) fn record_texts(target: &InstallTarget) -> (Option<String>, Option<String>) {
    let text = |name| {
        let bytes = read_bounded(&target.records.join(name), MAX_JOURNAL_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    (text(WANTED_FILE), text(LOCK_FILE))
}
