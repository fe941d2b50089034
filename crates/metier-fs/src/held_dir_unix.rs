//! A held directory on Unix: a descriptor, beneath which everything is opened by the kernel.
//! No link on the way is followed, so a project cannot lead a record elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, chmodat, fchmod, fstat, mkdirat, openat, renameat,
    statat, unlinkat,
};

use super::{Durability, FolderAccess};
use crate::beneath::{Beneath, DIRECTORY, FILE, Mounts};
use crate::dir::Dir;
use crate::file::{ReadError, read_open};
use crate::head::EntryKind;

/// A directory's descriptor.
#[derive(Debug)]
pub(crate) struct Handle(Beneath);

const LISTED: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);
const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
const APPENDED: OFlags = OFlags::RDWR
    .union(OFlags::APPEND)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

impl Handle {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Beneath::open(path)?))
    }

    pub(crate) const fn beneath(&self) -> &Beneath {
        &self.0
    }

    pub(super) fn below(&self, _: &Path, name: &str) -> io::Result<Self> {
        let dir = openat(&self.0.dir, name, DIRECTORY, Mode::empty())?;
        Ok(Self(Beneath { dir }))
    }

    /// Itself, closed to others where it is its owner's alone.
    pub(super) fn closed(self, access: FolderAccess) -> io::Result<Self> {
        let mode = fstat(&self.0.dir)?.st_mode & 0o7777;
        if access == FolderAccess::OwnerAlone && mode & 0o077 != 0 {
            let dir = openat(&self.0.dir, ".", LISTED, Mode::empty())?;
            fchmod(dir, Mode::from_raw_mode(mode & 0o700))?;
        }
        Ok(self)
    }

    pub(super) fn make(&self, name: &str, access: FolderAccess) -> io::Result<()> {
        let mode = match access {
            FolderAccess::OwnerAlone => 0o700,
            FolderAccess::ByUmask => 0o775,
        };
        mkdirat(&self.0.dir, name, Mode::from_raw_mode(mode))?;
        // A umask that takes from the owner would make a folder that its maker cannot use.
        let made = statat(&self.0.dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        if made & 0o700 != 0o700 {
            let whole = Mode::from_raw_mode((made & 0o7777) | 0o700);
            chmodat(&self.0.dir, name, whole, AtFlags::empty())?;
        }
        Ok(())
    }

    /// The regular file at `path` below, open for reading.
    pub(super) fn open_file(&self, path: &str) -> Result<File, ReadError> {
        let opened = self.0.open_strict(path, FILE, Mounts::Enter);
        let file = File::from(opened.map_err(io::Error::from)?);
        let stat = fstat(&file).map_err(io::Error::from)?;
        if kind(&stat) == EntryKind::File { Ok(file) } else { Err(ReadError::NotRegular) }
    }

    pub(super) fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let file = self.open_file(path)?;
        let size = size(&fstat(&file).map_err(io::Error::from)?);
        read_open(&file, size, limit)?.ok_or(ReadError::TooLarge(limit))
    }

    pub(super) fn write(
        &self,
        name: &str,
        bytes: &[u8],
        access: FolderAccess,
        durability: Durability,
    ) -> io::Result<()> {
        let (aside, mut file) = self.new_file(access)?;
        let mut put = || -> io::Result<()> {
            file.write_all(bytes)?;
            if durability == Durability::Synced {
                file.sync_data()?;
            }
            Ok(renameat(&self.0.dir, aside.as_str(), &self.0.dir, name)?)
        };
        put().inspect_err(|_| {
            let _ = unlinkat(&self.0.dir, aside.as_str(), AtFlags::empty());
        })
    }

    /// A new file with an unused name.
    fn new_file(&self, access: FolderAccess) -> io::Result<(String, File)> {
        let mode = match access {
            FolderAccess::OwnerAlone => 0o600,
            FolderAccess::ByUmask => 0o664,
        };
        loop {
            let name = format!(".metier-{:016x}", RandomState::new().build_hasher().finish());
            match openat(&self.0.dir, name.as_str(), NEW_FILE, Mode::from_raw_mode(mode)) {
                Ok(fd) => {
                    let file = File::from(fd);
                    if access == FolderAccess::OwnerAlone {
                        crate::private::set_private(&file)?;
                    }
                    return Ok((name, file));
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let flags = APPENDED.union(OFlags::CREATE).union(OFlags::EXCL);
        Ok(File::from(openat(&self.0.dir, name, flags, Mode::from_raw_mode(0o600))?))
    }

    pub(super) fn open_to_append(&self, name: &str) -> io::Result<File> {
        let file = File::from(openat(&self.0.dir, name, APPENDED, Mode::empty())?);
        let stat = fstat(&file)?;
        if kind(&stat) != EntryKind::File || stat.st_nlink > 1 {
            let what = "it is not a regular file with one name";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(file)
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let listed = openat(&self.0.dir, ".", LISTED, Mode::empty())?;
        let children = Dir::from_fd(listed).children(usize::MAX / 2)?;
        Ok(children.names.into_iter().filter_map(|child| child.name.into_string().ok()).collect())
    }

    pub(super) fn kind(&self, path: &str) -> Option<EntryKind> {
        self.stat(path).map(|stat| kind(&stat))
    }

    pub(super) fn size(&self, path: &str) -> Option<u64> {
        self.stat(path).filter(|stat| kind(stat) == EntryKind::File).map(|stat| size(&stat))
    }

    /// Looks at `path` without following a link, on the way or at its end.
    fn stat(&self, path: &str) -> Option<Stat> {
        let Some((above, name)) = path.rsplit_once('/') else {
            return statat(&self.0.dir, path, AtFlags::SYMLINK_NOFOLLOW).ok();
        };
        let above = self.0.open_strict(above, DIRECTORY, Mounts::Enter).ok()?;
        statat(above, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0.dir, OsStr::from_bytes(name.as_bytes()), AtFlags::empty())?)
    }

    /// The way by the descriptor, if it leads where the descriptor does.
    #[cfg(target_os = "linux")]
    pub(super) fn stable_path(&self, path: &Path) -> PathBuf {
        use std::os::fd::AsRawFd;
        let stable = PathBuf::from(format!("/proc/self/fd/{}", self.0.dir.as_fd().as_raw_fd()));
        let id = |stat: rustix::io::Result<Stat>| stat.map(|it| (it.st_dev, it.st_ino)).ok();
        let is_same = id(rustix::fs::stat(&stable)) == id(fstat(&self.0.dir));
        if is_same { stable } else { path.to_owned() }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn stable_path(&self, path: &Path) -> PathBuf {
        let _ = self.0.dir.as_fd();
        path.to_owned()
    }
}

fn kind(stat: &Stat) -> EntryKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
