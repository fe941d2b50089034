//! One skill of a change: the old tree goes aside and the new one comes, or both go back.
//! The order of the steps is the journal's.

use std::path::{Path, PathBuf};

use metier_fs::{entry_kind, exchange, rename_dir, set_aside};

use super::{JournalMove, folder_id};
use crate::error::PackError;
use crate::target::InstallTarget;

/// How many trees may be set aside for one skill: the planned one, and what another process put there between a crash
/// and the recovery.
const ASIDES: usize = 4;

/// Where a move happens.
struct MovePlaces<'j> {
    planned: &'j JournalMove,
    /// The skill's folder.
    place: PathBuf,
    /// Where the new tree waits.
    new: Option<PathBuf>,
    /// Where the planned old tree is set aside.
    aside: PathBuf,
    /// For a copy that is not whole yet.
    copy: PathBuf,
}

impl<'j> MovePlaces<'j> {
    fn new(target: &InstallTarget, dir: &Path, number: usize, planned: &'j JournalMove) -> Self {
        Self {
            planned,
            place: target.root.join(&planned.name),
            new: planned.new.as_ref().map(|new| dir.join(new)),
            aside: aside(dir, number, 0),
            copy: dir.join(format!("copy-{number}")),
        }
    }

    fn is_old(&self, path: &Path) -> bool {
        self.planned.old.is_some() && folder_id(path) == self.planned.old
    }

    fn written(&self, error: std::io::Error) -> PackError {
        PackError::not_written(&self.place, error)
    }

    /// The new tree, where it is a staged one: a backup that comes back is no place for another skill, not even for
    /// a moment.
    fn staged(&self) -> Option<&Path> {
        self.new.as_deref().filter(|_| self.planned.new.as_deref().is_some_and(Path::is_relative))
    }
}

/// Where what stood in a skill's place is set aside: first what was planned.
pub(super) fn aside(dir: &Path, number: usize, attempt: usize) -> PathBuf {
    dir.join(format!("old-{number}-{attempt}"))
}

/// Where what another process put there is set aside.
pub(super) fn other_asides(dir: &Path, number: usize) -> impl Iterator<Item = PathBuf> {
    (1..ASIDES).map(move |attempt| aside(dir, number, attempt))
}

/// The old tree goes aside, and the new one comes. Where the system can, they change places in one step: a
/// watcher or another program never finds a skill missing that is only replaced.
pub(super) fn put_in_place(
    target: &InstallTarget,
    dir: &Path,
    number: usize,
    planned: &JournalMove,
) -> Result<(), PackError> {
    let at = MovePlaces::new(target, dir, number, planned);
    let written = |error| at.written(error);
    let has_new = || at.new.as_deref().is_some_and(|new| entry_kind(new).is_some());
    if let Some(new) = at.staged() {
        let has_aside = || entry_kind(&at.aside).is_some();
        if at.is_old(&at.place) && !at.is_old(new) && has_new() && !has_aside() {
            // What cannot be done in one step is done in two below.
            let _ = exchange(new, &at.place);
        }
        // They changed places, now or before the process was killed.
        if at.is_old(new) {
            rename_dir(new, &at.aside).map_err(written)?;
        }
    }
    if at.is_old(&at.place) && (has_new() || planned.new.is_none()) {
        set_aside(&at.place, &at.aside, &at.copy).map_err(written)?;
    }
    if !has_new() {
        return Ok(());
    }
    if entry_kind(&at.place).is_some() {
        // One that was put there meanwhile goes to a backup too: the change was decided on.
        let free = other_asides(dir, number).find(|aside| entry_kind(aside).is_none());
        let free = free.ok_or_else(|| PackError::TargetChanged(at.place.clone()))?;
        set_aside(&at.place, &free, &at.copy).map_err(written)?;
    }
    match &at.new {
        Some(new) => rename_dir(new, &at.place).map_err(written),
        None => Ok(()),
    }
}

/// The new tree goes back to where it waited, and the old one to its place, through the states that
/// [`put_in_place`] knows.
pub(super) fn take_back(
    target: &InstallTarget,
    dir: &Path,
    number: usize,
    planned: &JournalMove,
) -> Result<(), PackError> {
    let at = MovePlaces::new(target, dir, number, planned);
    let written = |error| at.written(error);
    let is_free = |path: &Path| entry_kind(path).is_none();
    if let Some(backup) = &planned.backup
        && is_free(&at.aside)
        && backup.copied.is_none()
        && target.backups.is_filled(&backup.id)
    {
        target.backups.take_out(&backup.id, &at.aside).map_err(PackError::Backup)?;
    }
    // The new tree is in its place where it waits no more. Whatever else stands there is not ours to move.
    let is_new = |path: &Path| planned.new_id.is_some() && folder_id(path) == planned.new_id;
    if let Some(new) = at.staged() {
        if at.is_old(&at.aside) && is_free(new) && is_new(&at.place) {
            rename_dir(&at.aside, new).map_err(written)?;
        }
        if at.is_old(new) && is_new(&at.place) {
            match exchange(new, &at.place) {
                Ok(()) => return put_others_back(&at, dir, number),
                Err(_) => rename_dir(new, &at.aside).map_err(written)?,
            }
        }
    }
    if let Some(new) = &at.new
        && is_free(new)
        && !is_free(&at.place)
    {
        if !is_new(&at.place) {
            return Err(PackError::TargetChanged(at.place.clone()));
        }
        rename_dir(&at.place, new).map_err(written)?;
    }
    if !is_free(&at.aside) {
        // What is left of a tree that was copied and could not be removed.
        if at.is_old(&at.place) {
            metier_fs::remove_tree(&at.place).map_err(written)?;
        }
        rename_dir(&at.aside, &at.place).map_err(written)?;
    }
    put_others_back(&at, dir, number)
}

/// What another process had put there stands there again, where nothing was before.
fn put_others_back(at: &MovePlaces<'_>, dir: &Path, number: usize) -> Result<(), PackError> {
    for other in other_asides(dir, number).filter(|other| entry_kind(other).is_some()) {
        rename_dir(&other, &at.place).map_err(|error| at.written(error))?;
    }
    Ok(())
}
