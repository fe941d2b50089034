//! A tree that is being made: a new directory of the owner's alone, into which files are put.
//!
//! Nothing in it was there before and no link is ever made, so a path below it leads nowhere else; a
//! file that exists is an error. It becomes visible when its parts are renamed to their places.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Whether a new file may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileMode {
    /// It is read.
    Plain,
    /// It is run.
    Executable,
}

/// A new tree.
#[derive(Debug)]
pub struct TreeWriter {
    path: PathBuf,
    /// Held locked for as long as it is being made: who can lock it knows that its maker is gone.
    held: File,
}

impl TreeWriter {
    /// Makes a new directory in `folder`, whose name starts with `prefix`, and holds it.
    pub fn create_in(folder: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(8);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let made = builder.tempdir_in(folder)?;
        let held = hold(made.path())?;
        Ok(Self { path: made.keep(), held })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory `path`, whose parent is there.
    pub fn make_dir(&self, path: &str) -> io::Result<()> {
        #[cfg(unix)]
        {
            use rustix::fs::{Mode, mkdirat};
            Ok(mkdirat(&self.held, path, Mode::from_raw_mode(0o777))?)
        }
        #[cfg(not(unix))]
        {
            std::fs::create_dir(self.path.join(path))
        }
    }

    /// Makes the file `path`, whose directory is there and which is not there itself.
    pub fn make_file(&self, path: &str, mode: NewFileMode) -> io::Result<File> {
        #[cfg(unix)]
        {
            use rustix::fs::{Mode, OFlags, openat};
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let bits = match mode {
                NewFileMode::Plain => 0o666,
                NewFileMode::Executable => 0o777,
            };
            Ok(File::from(openat(&self.held, path, flags, Mode::from_raw_mode(bits))?))
        }
        #[cfg(not(unix))]
        {
            let _ = mode;
            File::options().write(true).create_new(true).open(self.path.join(path))
        }
    }

    /// Waits until everything that was written to its file system is on the disk: one call, where one for
    /// each file would take longer than all the writing.
    pub fn sync(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            Ok(rustix::fs::syncfs(&self.held)?)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = &self.held;
            sync_files(&self.path)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn sync_files(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_files(&entry.path())?;
        } else if kind.is_file() {
            File::options().write(true).open(entry.path())?.sync_all()?;
        }
    }
    Ok(())
}

/// Whether the maker of the tree at `path` is gone, by its lock.
pub fn is_abandoned_tree(path: &Path) -> bool {
    #[cfg(unix)]
    {
        File::open(path).is_ok_and(|dir| dir.try_lock().is_ok())
    }
    #[cfg(not(unix))]
    {
        File::open(path.join(LOCK_FILE)).is_ok_and(|file| file.try_lock().is_ok())
    }
}

#[cfg(unix)]
fn hold(path: &Path) -> io::Result<File> {
    let dir = File::open(path)?;
    match dir.try_lock() {
        Ok(()) => Ok(dir),
        // Without a lock it would be taken for an abandoned one, and removed under its maker's hands.
        Err(std::fs::TryLockError::Error(error)) => Err(error),
        Err(std::fs::TryLockError::WouldBlock) => Err(io::ErrorKind::ResourceBusy.into()),
    }
}

#[cfg(not(unix))]
const LOCK_FILE: &str = ".lock";

#[cfg(not(unix))]
fn hold(path: &Path) -> io::Result<File> {
    let file = File::options().write(true).create_new(true).open(path.join(LOCK_FILE))?;
    file.try_lock().map_err(io::Error::from)?;
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_are_new_and_an_abandoned_tree_is_known_by_its_lock() {
        let tmp = tempfile::tempdir().expect("dir");
        let tree = TreeWriter::create_in(tmp.path(), ".stage-").expect("makes");
        tree.make_dir("a").expect("makes");
        let mut file = tree.make_file("a/run.sh", NewFileMode::Executable).expect("makes");
        file.write_all(b"#!").expect("writes");
        assert!(tree.make_file("a/run.sh", NewFileMode::Plain).is_err());
        symlink("/tmp", tree.path().join("link")).expect("link");
        assert!(tree.make_file("link", NewFileMode::Plain).is_err());
        tree.sync().expect("syncs");
        let mode =
            |path: &str| fs::metadata(tree.path().join(path)).expect("there").permissions().mode();
        assert_eq!((mode("") & 0o777, mode("a/run.sh") & 0o100), (0o700, 0o100));
        assert!(!is_abandoned_tree(tree.path()));
        let path = tree.path().to_owned();
        drop(tree);
        assert!(is_abandoned_tree(&path));
    }
}
