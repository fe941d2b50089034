//! Changing a file that others may be changing too: under a lock, read again, written by rename.
//!
//! The lock is a file beside the target ([`FileLock`]). One that stays taken is an error after a while:
//! nothing here waits for ever.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::file::{NewFiles, ReadError, is_link, read_bounded, replace};
use crate::lock::{FileLock, LockError};
use crate::private::{create_private_dir, write_private};

/// How long a writer waits for another. Each holds the lock for one small read and write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a file was not changed. It is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdateError<E> {
    /// Another process holds this lock file.
    Busy(PathBuf),
    /// It could not be read.
    Read(ReadError),
    /// The caller refused.
    Refused(E),
    /// It could not be written, or the lock could not be taken.
    Write(io::Error),
}

/// Changes the file at `path` (of at most `limit` bytes) as `edit` says, which gets the bytes or
/// `None` for a file that is not there. Of several processes that do this at once, each sees what
/// the one before it wrote. Tells whether anything changed; the same bytes are not written again.
pub fn update_file<E>(
    path: &Path,
    limit: u64,
    edit: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
) -> Result<bool, UpdateError<E>> {
    let create_dir = |dir: &Path| fs::create_dir_all(dir);
    let write = |target: &Path, bytes: &[u8]| replace(target, bytes, NewFiles::ForAll);
    update(path, limit, edit, create_dir, write)
}

/// The same for a file of the owner's alone, in a folder of the owner's alone.
pub fn update_private<E>(
    path: &Path,
    limit: u64,
    edit: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
) -> Result<bool, UpdateError<E>> {
    update(path, limit, edit, create_private_dir, write_private)
}

fn update<E>(
    path: &Path,
    limit: u64,
    edit: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
    create_dir: impl FnOnce(&Path) -> io::Result<()>,
    write: impl FnOnce(&Path, &[u8]) -> io::Result<()>,
) -> Result<bool, UpdateError<E>> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        // A link that leads nowhere would be replaced by a file.
        Err(error) if is_link(path) => return Err(UpdateError::Write(error)),
        Err(_) => path.to_owned(),
    };
    let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_dir(parent).map_err(UpdateError::Write)?;
    let _lock = FileLock::take(&lock_path(&target), LOCK_TIMEOUT).map_err(|error| match error {
        LockError::Io(error) => UpdateError::Write(error),
        LockError::Busy(_) | LockError::Cancelled => UpdateError::Busy(lock_path(&target)),
    })?;
    let before = match read_bounded(&target, limit) {
        Ok(bytes) => Some(bytes),
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(UpdateError::Read(error)),
    };
    let after = edit(before.clone()).map_err(UpdateError::Refused)?;
    if before.as_ref() == Some(&after) {
        return Ok(false);
    }
    write(&target, &after).map_err(UpdateError::Write)?;
    Ok(true)
}

fn lock_path(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".lock");
    target.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn append(path: &Path, line: &str) -> Result<bool, UpdateError<Infallible>> {
        update_file(path, 1 << 20, |before| {
            let mut text = before.unwrap_or_default();
            text.extend_from_slice(line.as_bytes());
            Ok(text)
        })
    }

    #[test]
    fn of_many_writers_at_once_none_is_lost_and_no_lock_is_left() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("deep/config");
        std::thread::scope(|scope| {
            for writer in 0..16 {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..8 {
                        assert!(append(path, &format!("{writer}.{round}\n")).expect("writes"));
                    }
                });
            }
        });
        let text = String::from_utf8(fs::read(&path).expect("reads")).expect("text");
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 16 * 8);
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 16 * 8);
        #[cfg(unix)]
        assert_eq!(fs::read_dir(path.parent().expect("parent")).expect("lists").count(), 1);
    }

    #[test]
    fn a_refusal_changes_nothing_and_the_same_bytes_are_not_written() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("config");
        fs::write(&path, "as it was").expect("writes");
        let refused = update_file(&path, 100, |_| Err::<Vec<u8>, _>("no"));
        assert!(matches!(refused, Err(UpdateError::Refused("no"))));
        let same = update_file(&path, 100, |old| Ok::<_, Infallible>(old.unwrap_or_default()));
        assert!(matches!(same, Ok(false)));
        assert!(matches!(
            append(&dir.path().join("config/below"), "x"),
            Err(UpdateError::Write(_))
        ));
        assert_eq!(fs::read(&path).expect("reads"), b"as it was");
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through_but_not_when_it_leads_nowhere_or_poses_as_the_lock() {
        let dir = tempfile::tempdir().expect("dir");
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "1").expect("writes");
        std::os::unix::fs::symlink(&real, &link).expect("link");
        append(&link, "2").expect("through the link");
        assert!(is_link(&link));
        assert_eq!(fs::read(&real).expect("reads"), b"12");
        let outside = dir.path().join("outside");
        std::os::unix::fs::symlink(&outside, dir.path().join(".real.lock")).expect("link");
        assert!(matches!(append(&real, "3"), Err(UpdateError::Write(_))));
        std::os::unix::fs::symlink(&outside, dir.path().join("dangling")).expect("link");
        assert!(matches!(append(&dir.path().join("dangling"), "3"), Err(UpdateError::Write(_))));
        assert!(!outside.exists());
        assert_eq!(fs::read(&real).expect("reads"), b"12");
    }
}
