//! The one way to read a file of a skill.
//!
//! A [`SkillRoot`] owns a descriptor of the skill's directory. A checked path is opened beneath it
//! by the kernel, without following a single link, and judged on the open descriptor: a regular
//! file, named by no other directory entry, within the size. Swapping a link or a directory while
//! this happens gains nothing, because nothing is looked at by name twice.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use metier_skill::RelPath;

use crate::file::read_open;
#[cfg(unix)]
use crate::stamp::FileId;

/// A skill's directory, held open.
#[derive(Debug)]
pub struct SkillRoot {
    /// As it was named.
    named: PathBuf,
    /// Without links; computed on first use.
    real: OnceLock<PathBuf>,
    #[cfg(unix)]
    dir: crate::beneath::Beneath,
}

/// Why a file of a skill could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum RootError {
    /// There is no such file.
    Missing,
    /// A part of the path is a link, or leads out of the directory, or onto another file system.
    Escapes,
    /// It is a directory, pipe, socket or device.
    NotRegular,
    /// Another directory entry names the same file, perhaps outside the skill.
    HardLink,
    /// It is larger than the limit, which is given.
    TooLarge(u64),
    /// Its frontmatter is not the one that was indexed. Said by who holds a file to its index.
    Changed,
    /// Anything else.
    Io(io::Error),
}

impl std::fmt::Display for RootError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file in the skill"),
            Self::Escapes => {
                f.write_str("the path contains a link; links inside a skill are not followed")
            }
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::HardLink => {
                f.write_str("it is a hard link: another directory entry names the same file")
            }
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
            Self::Changed => {
                f.write_str("its frontmatter has changed since the skills were listed")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RootError {}

impl SkillRoot {
    /// Opens a skill's directory. The directory itself may be reached through links; the file
    /// system's root is never a skill.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let root = Self::open_dir(path)?;
        if root.is_file_systems_root() { Err(RootError::NotRegular) } else { Ok(root) }
    }

    /// Where the directory is, without links.
    pub fn path(&self) -> &Path {
        self.real.get_or_init(|| self.real_path().unwrap_or_else(|| self.named.clone()))
    }

    /// The bytes of the file at `path`, if it has at most `limit`.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, RootError> {
        let (file, size) = self.open_file(path)?;
        read_open(&file, size, limit).map_err(RootError::Io)?.ok_or(RootError::TooLarge(limit))
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File};
    use std::os::fd::OwnedFd;

    use rustix::fs::{FileType, fstat};
    use rustix::io::Errno;

    use super::{FileId, OnceLock, Path, PathBuf, RelPath, RootError, SkillRoot, io};
    use crate::beneath::{Beneath, FILE, Mounts};

    impl SkillRoot {
        pub(super) fn open_dir(path: &Path) -> Result<Self, RootError> {
            let dir = Beneath::open(path).map_err(errno)?;
            Ok(Self { named: path.to_owned(), real: OnceLock::new(), dir })
        }

        pub(super) fn is_file_systems_root(&self) -> bool {
            self.dir.is_file_systems_root()
        }

        pub(super) fn real_path(&self) -> Option<PathBuf> {
            #[cfg(target_os = "linux")]
            if let Some(path) = crate::beneath::path_of(std::os::fd::AsFd::as_fd(&self.dir.dir)) {
                return Some(path);
            }
            fs::canonicalize(&self.named).ok()
        }

        /// Which directory is held open.
        pub fn id(&self) -> io::Result<FileId> {
            self.dir.id()
        }

        pub(super) fn open_file(&self, path: &RelPath) -> Result<(File, u64), RootError> {
            let fd = self.open_beneath(path)?;
            let stat = fstat(&fd).map_err(errno)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(RootError::NotRegular);
            }
            if stat.st_nlink > 1 {
                return Err(RootError::HardLink);
            }
            Ok((File::from(fd), u64::try_from(stat.st_size).unwrap_or(0)))
        }

        fn open_beneath(&self, path: &RelPath) -> Result<OwnedFd, RootError> {
            self.dir.open_strict(path.as_str(), FILE, Mounts::Refuse).map_err(errno)
        }
    }

    fn errno(error: Errno) -> RootError {
        match error {
            // NOTDIR: a file, or (stepwise) a link, where a directory should be.
            Errno::NOENT | Errno::NOTDIR => RootError::Missing,
            Errno::LOOP | Errno::XDEV => RootError::Escapes,
            Errno::NXIO | Errno::OPNOTSUPP => RootError::NotRegular,
            other => RootError::Io(other.into()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn both_ways_of_opening_refuse_links_and_agree() {
            let tmp = tempfile::tempdir().expect("dir");
            let skill = tmp.path().join("skill");
            fs::create_dir_all(skill.join("a/b")).expect("dirs");
            fs::write(skill.join("a/b/f.md"), "text").expect("writes");
            fs::write(tmp.path().join("secret"), "secret").expect("writes");
            std::os::unix::fs::symlink("../../secret", skill.join("a/out")).expect("link");
            std::os::unix::fs::symlink("b", skill.join("a/inside")).expect("link");
            std::os::unix::fs::symlink(tmp.path(), skill.join("up")).expect("link");
            let root = SkillRoot::open(&skill).expect("opens");
            let path = |text: &str| RelPath::new(text).expect("a checked path");
            assert!(root.dir.open_stepwise("a/b/f.md", FILE).is_ok());
            assert!(root.open_beneath(&path("a/b/f.md")).is_ok());
            for bad in ["a/out", "a/inside/f.md", "up/secret"] {
                assert!(root.dir.open_stepwise(bad, FILE).is_err(), "{bad}");
                assert!(matches!(root.open_beneath(&path(bad)), Err(RootError::Escapes)), "{bad}");
            }
        }
    }
}

#[cfg(not(unix))]
mod portable {
    use std::fs::{self, File};

    use super::{OnceLock, Path, PathBuf, RelPath, RootError, SkillRoot, io};

    fn refused(error: io::Error) -> RootError {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => RootError::Missing,
            _ => RootError::Io(error),
        }
    }

    impl SkillRoot {
        pub(super) fn open_dir(path: &Path) -> Result<Self, RootError> {
            let named = fs::canonicalize(path).map_err(refused)?;
            let real = OnceLock::from(named.clone());
            if named.is_dir() { Ok(Self { named, real }) } else { Err(RootError::Missing) }
        }

        pub(super) fn is_file_systems_root(&self) -> bool {
            self.named.parent().is_none()
        }

        pub(super) fn real_path(&self) -> Option<PathBuf> {
            Some(self.named.clone())
        }

        /// By path, with each part checked for links first: weaker than a descriptor against a
        /// part that is swapped between the check and the opening.
        pub(super) fn open_file(&self, path: &RelPath) -> Result<(File, u64), RootError> {
            let mut at = self.named.clone();
            for name in path.names() {
                at.push(name);
                let data = fs::symlink_metadata(&at).map_err(refused)?;
                if data.is_symlink() {
                    return Err(RootError::Escapes);
                }
            }
            let file = File::open(&at).map_err(refused)?;
            let data = file.metadata().map_err(refused)?;
            if data.is_file() { Ok((file, data.len())) } else { Err(RootError::NotRegular) }
        }
    }
}
