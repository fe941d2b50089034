//! What a change replaces goes to the user's backups. They are prepared before the change counts: what has no room or
//! may not be written is found while nothing has changed.

use std::path::Path;
use std::time::SystemTime;

use metier_fs::{entry_kind, read_dir_names, tree_mark};
use metier_registry::manage::Deletion;
use metier_skill::{SkillId, SkillName};
use serde_json::Value;

use super::links::link_aside;
use super::moves::{aside, other_asides};
use super::{Journal, JournalBackup};
use crate::error::PackError;
use crate::target::{InstallTarget, Staging};

/// Backups that wait for a change. Dropped before it counts, nothing is left of them.
pub(super) struct PreparedBackups<'t> {
    target: &'t InstallTarget,
    ids: Vec<String>,
}

impl<'t> PreparedBackups<'t> {
    /// Prepares one for each tree that goes, and notes it in the journal.
    pub(super) fn prepare(
        target: &'t InstallTarget,
        staging: &Staging,
        journal: &mut Journal,
    ) -> Result<Self, PackError> {
        let mut prepared = Self { target, ids: Vec::new() };
        let mut takes_renames = None;
        for planned in journal.moves.iter_mut().filter(|planned| planned.old.is_some()) {
            let place = target.root.join(&planned.name);
            let deletion =
                deletion(target, &planned.name, &place, &place, planned.old_record.as_ref())?;
            let backup = target.backups.prepare(deletion, SystemTime::now());
            let id = backup.map_err(PackError::Backup)?.id;
            prepared.ids.push(id.clone());
            let reaches = if let Some(known) = takes_renames {
                known
            } else {
                let tried = target.backups.takes_renames_from(&id, staging.path());
                *takes_renames.insert(tried.map_err(PackError::Backup)?)
            };
            let mut copied = None;
            if !reaches {
                // Looked at before it is copied: what changes from here on makes a difference.
                copied = Some(tree_mark(&place).unwrap_or_default());
                target.backups.copy_ahead(&id, &place).map_err(PackError::Backup)?;
            }
            planned.backup = Some(JournalBackup { id, copied });
        }
        Ok(prepared)
    }

    /// The change counts: they are the journal's.
    pub(super) fn keep(mut self) {
        self.ids.clear();
    }
}

impl Drop for PreparedBackups<'_> {
    fn drop(&mut self) {
        for id in &self.ids {
            let _ = self.target.backups.forget(id);
        }
    }
}

/// What was set aside goes to the backups that were prepared, or to new ones.
pub(super) fn keep_old(
    target: &InstallTarget,
    dir: &Path,
    journal: &Journal,
) -> Result<(), PackError> {
    let names = read_dir_names(dir).map_err(|error| PackError::not_written(dir, error))?;
    let is_there = |path: &Path| {
        path.file_name().is_some_and(|name| {
            names.binary_search_by(|it| std::ffi::OsStr::new(it).cmp(name)).is_ok()
        })
    };
    for (number, planned) in journal.moves.iter().enumerate() {
        let place = target.root.join(&planned.name);
        let record = planned.old_record.as_ref();
        let old = aside(dir, number, 0);
        if is_there(&old) {
            match &planned.backup {
                Some(backup) if target.backups.is_prepared(&backup.id) => {
                    let is_stale = backup
                        .copied
                        .as_ref()
                        .is_some_and(|mark| tree_mark(&old).ok().as_ref() != Some(mark));
                    if is_stale && !target.backups.is_filled(&backup.id) {
                        target.backups.drop_copy(&backup.id).map_err(PackError::Backup)?;
                    }
                    target.backups.fill(&backup.id, &old).map_err(PackError::Backup)?;
                }
                _ => keep_one(target, &planned.name, &place, &old, record)?,
            }
        } else if let Some(backup) = &planned.backup
            && !target.backups.is_filled(&backup.id)
        {
            // What was to go there went elsewhere meanwhile, into the backup of a `delete` perhaps. A copy is kept.
            if backup.copied.is_some() {
                target.backups.fill(&backup.id, &old).map_err(PackError::Backup)?;
            } else {
                let _ = target.backups.forget(&backup.id);
            }
        }
        for other in other_asides(dir, number).filter(|other| is_there(other)) {
            keep_one(target, &planned.name, &place, &other, record)?;
        }
    }
    for (number, link) in journal.links.iter().enumerate() {
        let old = link_aside(dir, number);
        if entry_kind(&old).is_some() {
            keep_one(target, &link.name, &link.path, &old, None)?;
        }
    }
    Ok(())
}

/// Removes the backups that were prepared for a change that was taken back.
pub(super) fn discard_backups(target: &InstallTarget, journal: &Journal) {
    for planned in &journal.moves {
        if let Some(backup) = &planned.backup
            && entry_kind(&target.root.join(&planned.name)).is_some()
        {
            let _ = target.backups.forget(&backup.id);
        }
    }
}

/// What stood at `place` and stands at `now` goes to a backup of its own.
fn keep_one(
    target: &InstallTarget,
    name: &str,
    place: &Path,
    now: &Path,
    record: Option<&Value>,
) -> Result<(), PackError> {
    let deletion = deletion(target, name, place, now, record)?;
    target.backups.keep(deletion, SystemTime::now()).map(|_| ()).map_err(PackError::Backup)
}

fn deletion(
    target: &InstallTarget,
    name: &str,
    place: &Path,
    now: &Path,
    record: Option<&Value>,
) -> Result<Deletion, PackError> {
    let name = SkillName::new(name).map_err(|_| PackError::BadName(name.to_owned()))?;
    let id = SkillId { source: target.source, name };
    let deletion = Deletion::moved(id, place, now).map_err(PackError::Backup)?;
    Ok(deletion.with_installed(record.cloned()))
}
