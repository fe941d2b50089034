//! One process at a time: a lock file, held by the kernel for as long as its owner lives.
//!
//! A crash leaves nothing locked. The holder removes the file; a waiter that then finds that the file it
//! locked is no longer the one with that name begins again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Why a lock was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds this lock file.
    Busy(PathBuf),
    /// The system refused.
    Io(io::Error),
    /// The wait was cancelled.
    Cancelled,
}

/// An exclusive lock, given up when dropped.
#[derive(Debug)]
#[must_use = "the lock is given up when it is dropped"]
pub struct FileLock {
    /// Held open, and so held locked.
    _file: File,
    /// What is removed in the end.
    #[cfg(unix)]
    path: Option<PathBuf>,
}

impl FileLock {
    /// Takes the lock at `path`, whose directory is there, and waits for another holder at most `timeout`.
    pub fn take(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        Self::take_unless_cancelled(path, timeout, &CancelToken::new())
    }

    /// The same; the wait ends when `cancel` is cancelled.
    pub fn take_unless_cancelled(
        path: &Path,
        timeout: Duration,
        cancel: &CancelToken,
    ) -> Result<Self, LockError> {
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            let file = open(path).map_err(LockError::Io)?;
            match file.try_lock() {
                Ok(()) if is_named(&file, path) => {
                    #[cfg(unix)]
                    return Ok(Self { _file: file, path: Some(path.to_owned()) });
                    #[cfg(not(unix))]
                    return Ok(Self { _file: file });
                }
                // Its last holder has removed it: the lock is on a file that no other process will find.
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
            }
            if Instant::now() >= deadline {
                return Err(LockError::Busy(path.to_owned()));
            }
            if cancel.wait_timeout(pause) {
                return Err(LockError::Cancelled);
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// The same of a lock file that is open and stays when the lock is given up; `path` is for messages.
    pub(crate) fn of_file(file: File, path: &Path, timeout: Duration) -> Result<Self, LockError> {
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                #[cfg(unix)]
                Ok(()) => return Ok(Self { _file: file, path: None }),
                #[cfg(not(unix))]
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(LockError::Busy(path.to_owned()));
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

#[cfg(unix)]
impl Drop for FileLock {
    fn drop(&mut self) {
        // While it is still locked. One that cannot be removed can still be locked by the next.
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Opens the lock file, never through a link: a project could have put one there.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        // Who cannot open it cannot hold it.
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |data: fs::Metadata| (data.dev(), data.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => id(open) == id(named),
        _ => false,
    }
}

/// Elsewhere lock files stay where they are.
#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> bool {
    true
}
