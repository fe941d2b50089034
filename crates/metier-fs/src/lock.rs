//! One process at a time: a lock file, held by the kernel for as long as its owner lives.
//!
//! A crash leaves nothing locked. The holder removes the file; a waiter that then finds that the file it
//! locked is no longer the one with that name begins again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why a lock was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds this lock file.
    Busy(PathBuf),
    /// The system refused.
    Io(io::Error),
}

/// An exclusive lock, given up when dropped.
#[derive(Debug)]
pub struct FileLock {
    /// Held open, and so held locked.
    _file: File,
    #[cfg(unix)]
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock at `path`, whose directory is there, and waits for another holder at most `timeout`.
    pub fn take(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            let file = open(path).map_err(LockError::Io)?;
            match file.try_lock() {
                Ok(()) if is_named(&file, path) => {
                    #[cfg(unix)]
                    return Ok(Self { _file: file, path: path.to_owned() });
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
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

#[cfg(unix)]
impl Drop for FileLock {
    fn drop(&mut self) {
        // While it is still locked. One that cannot be removed can still be locked by the next.
        let _ = fs::remove_file(&self.path);
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
