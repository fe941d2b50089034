//! Deleted skills: moved into the user's state folder with a record, listed, and brought back.
//!
//! A backup is a directory `<state>/backups/<id>/` with `record.json` and `skill`, the folder itself
//! (or the link, as it was). The record is there before the folder comes and after it has gone, so
//! that no crash leaves an unrecorded folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_fs::{
    EntryKind, FileLock, LockError, MoveResult, TreeLimits, abandoned_parts, canonical, copy_whole,
    create_dir, create_private_dir, entry_kind, exists, is_link, is_real_dir, link_text,
    list_files, make_dir_for, move_whole, read_bounded, read_dir_names, remove_tree, rename_dir,
    write_private,
};
use metier_skill::SkillId;
use serde::{Deserialize, Serialize};

use super::error::ManageError;

const RECORD: &str = "record.json";
const FOLDER: &str = "skill";
/// A copy of the skill that is not there yet.
const COPY: &str = "copy";
/// A directory that is moved to see whether it can be.
const PROBE: &str = "probe";
/// Held while a backup has no record yet, or waits for a skill that comes without a journal.
const LOCK: &str = ".lock";
/// Each holds it for one small file, or for the move of one skill, which may have to be copied.
const LOCK_TIMEOUT: Duration = Duration::from_mins(2);
/// The largest record that is read; one of ours has at most 10,000 files.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// The backups of one user.
#[derive(Debug, Clone)]
pub struct Backups {
    folder: PathBuf,
}

/// What is known of a deleted skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// The backup's own id.
    pub id: String,
    /// The skill's id when it was deleted.
    pub skill: SkillId,
    /// Where it was.
    pub path: String,
    /// When it was deleted, in UTC.
    pub time: String,
    /// The link's target, when the folder was a link; then only the link was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Bytes of all files.
    pub bytes: u64,
    /// The files it had.
    pub files: Vec<BackupFile>,
    /// Whether there were more files than are listed.
    pub truncated: bool,
    /// What the lock said of it, for a skill that was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<serde_json::Value>,
}

/// A file of a deleted skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Its path below the skill's directory.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
}

/// A skill as it would be deleted: what there is to lose.
#[derive(Debug, Clone)]
pub struct Deletion {
    /// Where it stands now.
    path: PathBuf,
    real: Option<PathBuf>,
    record: Backup,
}

/// Every backup, newest first, and what could not be read as one.
#[derive(Debug, Default)]
pub struct BackupListing {
    /// The backups, newest first.
    pub backups: Vec<Backup>,
    /// Directories among them that hold no record, or a damaged one.
    pub damaged: Vec<PathBuf>,
}

/// A skill that is back.
#[derive(Debug)]
pub struct Restored {
    /// Where it stands again.
    pub path: PathBuf,
    /// What could not be removed of the backup.
    pub left: Option<PathBuf>,
}

impl Deletion {
    /// Looks at the skill in the directory `path` below `root`, without touching it.
    ///
    /// # Errors
    ///
    /// [`ManageError::BehindLink`] where a link on the way leads out of the root: what stands there
    /// belongs to someone else. The root may be a link, and so may the skill's own directory.
    pub fn of(skill: SkillId, path: &Path, root: &Path) -> Result<Self, ManageError> {
        let real = real_place(path, root)?;
        Ok(Self { real, ..Self::moved(skill, path, path)? })
    }

    /// Looks at a skill that stood at `path` and stands at `now` already, on its way to a backup.
    ///
    /// # Errors
    ///
    /// [`ManageError`], where it cannot be read.
    pub fn moved(skill: SkillId, path: &Path, now: &Path) -> Result<Self, ManageError> {
        let text = path.to_str().ok_or_else(|| ManageError::PathNotText(path.to_owned()))?;
        let link = link_text(now).map(|target| target.to_string_lossy().into_owned());
        let (files, truncated) = match link {
            Some(_) => (Vec::new(), false),
            None if entry_kind(now) == Some(EntryKind::File) => (Vec::new(), false),
            None => list_files(now, TreeLimits::default()).map_err(ManageError::io(now))?,
        };
        let files: Vec<BackupFile> = files
            .into_iter()
            .map(|file| BackupFile { path: file.path, bytes: file.size })
            .collect();
        let record = Backup {
            id: String::new(),
            skill,
            path: text.to_owned(),
            time: String::new(),
            link,
            bytes: files.iter().map(|file| file.bytes).sum(),
            files,
            truncated,
            installed: None,
        };
        Ok(Self { path: now.to_owned(), real: None, record })
    }

    /// The same, with what the lock says of it.
    #[must_use]
    pub fn with_installed(mut self, installed: Option<serde_json::Value>) -> Self {
        self.record.installed = installed;
        self
    }

    /// What is really moved, where a link above leads to another place than the path says.
    pub fn real_path(&self) -> Option<&Path> {
        self.real.as_deref()
    }

    /// What is known of it.
    pub fn preview(&self) -> &Backup {
        &self.record
    }
}

/// Where `path` stands when the links above it are followed, if that is elsewhere.
fn real_place(path: &Path, root: &Path) -> Result<Option<PathBuf>, ManageError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let real_parent = canonical(parent).map_err(ManageError::io(parent))?;
    let real = real_parent.join(name);
    // A root that is itself the skill was named, and is meant.
    if path != root {
        let real_root = canonical(root).map_err(ManageError::io(root))?;
        if !real_parent.starts_with(&real_root) {
            let inside = |dir: &&Path| dir.starts_with(root) && *dir != root;
            let above = path.ancestors().skip(1).take_while(inside);
            let link = above.filter(|dir| is_link(dir)).last().unwrap_or(parent).to_owned();
            return Err(ManageError::BehindLink { path: path.to_owned(), real, link });
        }
    }
    Ok(Some(real).filter(|real| real != path))
}

impl Backups {
    /// The backups below the user's state folder.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: state.join("backups") }
    }

    /// Where the folder of a backup is.
    pub fn folder_of(&self, backup: &Backup) -> PathBuf {
        self.folder.join(&backup.id).join(FOLDER)
    }

    /// Moves the skill into a new backup. Gives its record, and what could not be removed of the
    /// original when it had to be copied.
    ///
    /// # Errors
    ///
    /// [`ManageError`]; then the skill is where it was, whole.
    pub fn keep(
        &self,
        deletion: Deletion,
        now: SystemTime,
    ) -> Result<(Backup, Option<PathBuf>), ManageError> {
        let path = deletion.path.clone();
        // Until the skill is in it, a recovery would take the backup for one that a killed process left.
        let lock = self.lock()?;
        let backup = self.prepare_locked(deletion, now, &lock)?;
        let dir = self.folder.join(&backup.id);
        match move_whole(&path, &dir.join(FOLDER)).map_err(ManageError::io(&path)) {
            Ok(MoveResult::Copied { left }) => Ok((backup, left)),
            Ok(_) => Ok((backup, None)),
            Err(error) => {
                // Only what this call made: the skill is not in there.
                let _ = remove_tree(&dir);
                Err(error)
            }
        }
    }

    /// Makes a backup that waits for its skill: until it is filled, it is none.
    ///
    /// # Errors
    ///
    /// [`ManageError`]; then nothing is left of it.
    pub fn prepare(&self, deletion: Deletion, now: SystemTime) -> Result<Backup, ManageError> {
        // A directory without its record says of no folder that it is its own.
        let lock = self.lock()?;
        self.prepare_locked(deletion, now, &lock)
    }

    fn prepare_locked(
        &self,
        deletion: Deletion,
        now: SystemTime,
        _: &FileLock,
    ) -> Result<Backup, ManageError> {
        let time = metier_fs::utc_text(now);
        let stamp: String = time.chars().take(19).filter(char::is_ascii_digit).collect();
        let dir = make_dir_for(&self.folder, &format!("{stamp}-"))
            .map_err(ManageError::io(&self.folder))?;
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let backup = Backup { id, time, ..deletion.record };
        match write_record(&dir, &backup) {
            Ok(()) => Ok(backup),
            Err(error) => {
                let _ = remove_tree(&dir);
                Err(error)
            }
        }
    }

    /// Whether something can be renamed from the folder `from` into the prepared backup `id`. Only trying tells: two
    /// mounts of one file system look like one.
    pub fn takes_renames_from(&self, id: &str, from: &Path) -> Result<bool, ManageError> {
        let dir = self.folder.join(id);
        let (probe, there) = (from.join(PROBE), dir.join(PROBE));
        create_dir(&probe).map_err(ManageError::io(&probe))?;
        let renamed = rename_dir(&probe, &there);
        let _ = remove_tree(&probe);
        match renamed {
            Ok(()) => remove_tree(&there).map(|()| true).map_err(ManageError::io(&there)),
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => Ok(false),
            Err(error) => Err(ManageError::io(&dir)(error)),
        }
    }

    /// Copies the skill at `from` into the prepared backup `id`, which then needs no room any more to be filled.
    pub fn copy_ahead(&self, id: &str, from: &Path) -> Result<(), ManageError> {
        let copy = self.folder.join(id).join(COPY);
        copy_whole(from, &copy).map(|_| ()).map_err(ManageError::io(copy))
    }

    /// Forgets what was copied ahead into the prepared backup `id`.
    pub fn drop_copy(&self, id: &str) -> Result<(), ManageError> {
        let copy = self.folder.join(id).join(COPY);
        remove_tree(&copy).map_err(ManageError::io(copy))
    }

    /// Fills the prepared backup `id` with what was copied ahead, or with what stands at `from`. One that is filled
    /// stays as it is.
    pub fn fill(&self, id: &str, from: &Path) -> Result<(), ManageError> {
        let dir = self.folder.join(id);
        let folder = dir.join(FOLDER);
        if entry_kind(&folder).is_some() {
            return Ok(());
        }
        let copy = dir.join(COPY);
        let source = if entry_kind(&copy).is_some() { copy.as_path() } else { from };
        match rename_dir(source, &folder) {
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                remove_tree(&copy).map_err(ManageError::io(&copy))?;
                copy_whole(from, &copy).map_err(ManageError::io(&copy))?;
                rename_dir(&copy, &folder).map_err(ManageError::io(folder))
            }
            other => other.map_err(ManageError::io(folder)),
        }
    }

    /// Whether the backup `id` has its skill.
    pub fn is_filled(&self, id: &str) -> bool {
        entry_kind(&self.folder.join(id).join(FOLDER)).is_some()
    }

    /// Whether there is a backup `id`, filled or prepared.
    pub fn is_prepared(&self, id: &str) -> bool {
        entry_kind(&self.folder.join(id).join(RECORD)).is_some()
    }

    /// Moves the skill of the backup `id` to `to`, where nothing stands, on the same file system.
    pub fn take_out(&self, id: &str, to: &Path) -> Result<(), ManageError> {
        rename_dir(&self.folder.join(id).join(FOLDER), to).map_err(ManageError::io(to))
    }

    /// Removes backups that were prepared for skills whose path `is_here` knows, and were never filled. The caller
    /// knows that no process is about to fill them.
    pub fn remove_unfilled(&self, is_here: impl Fn(&Path) -> bool) -> Result<(), ManageError> {
        if !exists(&self.folder) {
            return Ok(());
        }
        let _lock = self.lock()?;
        for name in read_dir_names(&self.folder).map_err(ManageError::io(&self.folder))? {
            let dir = self.folder.join(&name);
            if !is_real_dir(&dir) || entry_kind(&dir.join(FOLDER)).is_some() {
                continue;
            }
            let record = read_bounded(&dir.join(RECORD), MAX_RECORD_BYTES).ok();
            let record = record.and_then(|it| serde_json::from_slice::<Backup>(&it).ok());
            // Without a record its maker was killed: it writes one before it gives up the lock.
            if record.is_none_or(|record| is_here(Path::new(&record.path))) {
                remove_tree(&dir).map_err(ManageError::io(&dir))?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<FileLock, ManageError> {
        create_private_dir(&self.folder).map_err(ManageError::io(&self.folder))?;
        let path = self.folder.join(LOCK);
        FileLock::take(&path, LOCK_TIMEOUT).map_err(|error| match error {
            LockError::Io(error) => ManageError::Io { path, error },
            _ => ManageError::Io { path, error: std::io::ErrorKind::ResourceBusy.into() },
        })
    }

    /// Removes a backup whose skill is back.
    pub fn forget(&self, id: &str) -> Result<(), ManageError> {
        let is_name = !id.is_empty() && !id.contains(['/', '\\']) && id != "." && id != "..";
        let dir = self.folder.join(id);
        if is_name { remove_tree(&dir).map_err(ManageError::io(&dir)) } else { Ok(()) }
    }

    /// Every backup, newest first.
    pub fn list(&self) -> Result<BackupListing, ManageError> {
        let mut listing = BackupListing::default();
        if !exists(&self.folder) {
            return Ok(listing);
        }
        for name in read_dir_names(&self.folder).map_err(ManageError::io(&self.folder))? {
            let dir = self.folder.join(&name);
            let folder = dir.join(FOLDER);
            let has_folder = exists(&folder) || is_link(&folder);
            if !has_folder && !abandoned_parts(&dir).is_empty() {
                // A process was killed while it copied a skill here, which stands where it stood.
                let _ = remove_tree(&dir);
                continue;
            }
            let bytes = read_bounded(&dir.join(RECORD), MAX_RECORD_BYTES).ok();
            match bytes.and_then(|bytes| serde_json::from_slice::<Backup>(&bytes).ok()) {
                Some(backup) if backup.id == name && has_folder => listing.backups.push(backup),
                // Without its folder it was brought back, or never filled: there is nothing to lose.
                None if has_folder => listing.damaged.push(dir),
                _ => {}
            }
        }
        listing.backups.sort_by(|a, b| (&b.time, &b.id).cmp(&(&a.time, &a.id)));
        Ok(listing)
    }

    /// The backup that `query` means: its own id, the name or id of a skill (then the newest), or
    /// `NAME@N`, the Nth newest. A name means only backups that `is_here` knows: another project's skill of the
    /// same name is another skill.
    pub fn find(
        &self,
        query: &str,
        is_here: impl Fn(&Backup) -> bool,
    ) -> Result<Backup, ManageError> {
        let backups = self.list()?.backups;
        let is_called = |backup: &Backup, name: &str| {
            backup.skill.name.as_str() == name || backup.skill.to_string() == name
        };
        let of = |name: &str| -> Vec<&Backup> {
            backups.iter().filter(|it| is_called(it, name) && is_here(it)).collect()
        };
        let numbered = query.rsplit_once('@').and_then(|(name, number)| {
            Some((of(name), number.parse::<usize>().ok()?.checked_sub(1)?))
        });
        let found = backups.iter().find(|backup| backup.id == query);
        let found = found.or_else(|| of(query).first().copied());
        let found = found.or_else(|| {
            let (of_name, rank) = numbered.as_ref()?;
            of_name.get(*rank).copied()
        });
        found.cloned().ok_or_else(|| {
            let name = query.rsplit_once('@').map_or(query, |(name, _)| name);
            let elsewhere = backups.iter().find(|it| is_called(it, name) && !is_here(it));
            ManageError::NoBackup {
                query: query.to_owned(),
                of_this_name: numbered.map_or(0, |(of_name, _)| of_name.len()),
                elsewhere: elsewhere.map(|it| (it.id.clone(), PathBuf::from(&it.path))),
            }
        })
    }

    /// Brings a skill back to where it stood. The backup is gone then.
    ///
    /// # Errors
    ///
    /// [`ManageError`], [`ManageError::Exists`] when something stands there; then the backup stays.
    pub fn restore(&self, backup: &Backup) -> Result<Restored, ManageError> {
        let path = PathBuf::from(&backup.path);
        let moved = move_whole(&self.folder_of(backup), &path).map_err(ManageError::io(&path))?;
        let dir = self.folder.join(&backup.id);
        let mut left = match moved {
            MoveResult::Copied { left } => left,
            _ => None,
        };
        // A record without its folder is no backup any more, but it should not stay either.
        if remove_tree(&dir).is_err() {
            left = Some(dir);
        }
        Ok(Restored { path, left })
    }
}

fn write_record(dir: &Path, backup: &Backup) -> Result<(), ManageError> {
    let path = dir.join(RECORD);
    let written = serde_json::to_vec(backup)
        .map_err(std::io::Error::from)
        .and_then(|bytes| write_private(&path, &bytes));
    written.map_err(ManageError::io(&path))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn skill(dir: &Path, text: &str) -> PathBuf {
        let path = dir.join("skills/pdf");
        write_private(&path.join("SKILL.md"), text.as_bytes()).expect("writes");
        path
    }

    fn everywhere(_: &Backup) -> bool {
        true
    }

    fn keep(backups: &Backups, path: &Path, second: u64) -> Backup {
        let id = "user:pdf".parse().expect("an id");
        let now = UNIX_EPOCH + Duration::from_secs(second);
        let root = path.parent().expect("a parent");
        backups.keep(Deletion::of(id, path, root).expect("looks"), now).expect("keeps").0
    }

    #[test]
    fn backups_are_found_by_name_number_and_id_and_come_back_whole() {
        let tmp = tempfile::tempdir().expect("dir");
        let backups = Backups::in_state(&tmp.path().join("state"));
        assert!(backups.list().expect("lists").backups.is_empty());
        let old = keep(&backups, &skill(tmp.path(), "old"), 1);
        let new = keep(&backups, &skill(tmp.path(), "newer"), 2);
        assert!(!tmp.path().join("skills/pdf").exists());
        assert_eq!(new.files, [BackupFile { path: "SKILL.md".to_owned(), bytes: 5 }]);
        for query in ["pdf", "user:pdf", "pdf@1", &new.id] {
            assert_eq!(backups.find(query, everywhere).expect("found"), new, "{query}");
        }
        for query in ["pdf@2", "user:pdf@2", &old.id] {
            assert_eq!(backups.find(query, everywhere).expect("found"), old, "{query}");
        }
        for (query, number) in [("pdf@3", 2), ("pdf@0", 0), ("project:pdf", 0), ("", 0)] {
            let found = backups.find(query, everywhere);
            let Err(ManageError::NoBackup { of_this_name, elsewhere: None, .. }) = found else {
                panic!("{query} means nothing");
            };
            assert_eq!(of_this_name, number, "{query}");
        }
        let Err(ManageError::NoBackup { elsewhere, .. }) = backups.find("pdf", |_| false) else {
            panic!("a name means what is here");
        };
        assert_eq!(elsewhere, Some((new.id.clone(), PathBuf::from(&new.path))));
        assert_eq!(backups.find("pdf", |it| *it != new).expect("found"), old);
        assert_eq!(backups.find(&new.id, |_| false).expect("an id is clear"), new);
        backups.restore(&old).expect("restores");
        assert_eq!(
            read_bounded(&tmp.path().join("skills/pdf/SKILL.md"), 9).expect("reads"),
            b"old"
        );
        assert!(matches!(backups.restore(&new), Err(ManageError::Exists(_))));
        assert_eq!(backups.list().expect("lists").backups, [new]);
    }

    #[test]
    fn a_damaged_record_is_reported_and_an_empty_backup_is_not_one() {
        let tmp = tempfile::tempdir().expect("dir");
        let backups = Backups::in_state(tmp.path());
        let kept = keep(&backups, &skill(tmp.path(), "text"), 1);
        let dir = tmp.path().join("backups").join(&kept.id);
        std::fs::create_dir_all(tmp.path().join("backups/empty")).expect("dir");
        write_private(&dir.join(RECORD), b"{").expect("writes");
        let listing = backups.list().expect("lists");
        assert_eq!((listing.backups.len(), listing.damaged), (0, vec![dir]));
    }

    #[cfg(unix)]
    #[test]
    fn of_a_linked_skill_only_the_link_goes_and_comes_back() {
        let tmp = tempfile::tempdir().expect("dir");
        let real = skill(tmp.path(), "text");
        let link = tmp.path().join("skills/linked");
        std::os::unix::fs::symlink("pdf", &link).expect("link");
        let backups = Backups::in_state(tmp.path());
        let kept = keep(&backups, &link, 1);
        assert_eq!((kept.link.as_deref(), kept.bytes), (Some("pdf"), 0));
        assert!(!is_link(&link) && real.join("SKILL.md").exists());
        backups.restore(&kept).expect("restores");
        assert_eq!(link_text(&link).expect("a link"), Path::new("pdf"));
        assert!(real.join("SKILL.md").exists());
    }
}
