//! Opening beneath a directory that is held open, by the kernel (Unix).
//!
//! [`SkillRoot`](crate::SkillRoot) and [`WorkRoot`](crate::WorkRoot) share this. Nothing is looked at
//! by name twice, so that swapping a link or a directory meanwhile gains nothing. The paths come
//! from checked types and have no `..` in them: without links, every step goes down.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use crate::stamp::FileId;

/// For reading a file, without waiting for anything.
pub(crate) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW);
/// A place to open files beneath, and no more: nothing is listed through it.
#[cfg(target_os = "linux")]
const PLACE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PLACE: OFlags = OFlags::RDONLY;
/// A directory to continue from.
pub(crate) const DIRECTORY: OFlags =
    PLACE.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Whether a mount below the directory may be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounts {
    Enter,
    Refuse,
}

/// A directory, held open.
#[derive(Debug)]
pub(crate) struct Beneath {
    pub(crate) dir: OwnedFd,
}

impl Beneath {
    /// Opens a directory. Links that lead to it are followed once, here, by the kernel.
    pub(crate) fn open(path: &Path) -> Result<Self, Errno> {
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        Ok(Self { dir: openat(rustix::fs::CWD, path, flags, Mode::empty())? })
    }

    pub(crate) fn is_file_systems_root(&self) -> bool {
        // Asked once: it stays where it is, and `metier doctor` opens every skill.
        static TOP: OnceLock<Option<FileId>> = OnceLock::new();
        let top = TOP.get_or_init(|| rustix::fs::stat("/").ok().as_ref().map(file_id));
        self.id().ok() == *top
    }

    /// Which directory is held open.
    pub(crate) fn id(&self) -> io::Result<FileId> {
        Ok(file_id(&fstat(&self.dir)?))
    }

    /// Opens `path` without following a single link. The kernel resolves the whole path in one step
    /// where it can.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_strict(
        &self,
        path: &str,
        flags: OFlags,
        mounts: Mounts,
    ) -> Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;
        let mut resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if mounts == Mounts::Refuse {
            resolve |= ResolveFlags::NO_XDEV;
        }
        match self.open_by_kernel(path, flags, resolve) {
            Err(Errno::NOSYS | Errno::PERM) => self.open_stepwise(path, flags),
            other => other,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_strict(
        &self,
        path: &str,
        flags: OFlags,
        _: Mounts,
    ) -> Result<OwnedFd, Errno> {
        self.open_stepwise(path, flags)
    }

    /// One call of `openat2`. An answer of EAGAIN means that something in the path was renamed
    /// meanwhile.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_by_kernel(
        &self,
        path: &str,
        flags: OFlags,
        resolve: rustix::fs::ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        for _ in 0..16 {
            match rustix::fs::openat2(&self.dir, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                other => return other,
            }
        }
        Err(Errno::XDEV)
    }

    /// One directory at a time, none of them through a link.
    pub(crate) fn open_stepwise(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut names: Vec<&str> = path.split('/').collect();
        let Some(last) = names.pop() else { return Err(Errno::NOENT) };
        let mut held: Option<OwnedFd> = None;
        for name in names {
            held = Some(openat(self.at(held.as_ref()), name, DIRECTORY, Mode::empty())?);
        }
        openat(self.at(held.as_ref()), last, flags, Mode::empty())
    }

    fn at<'a>(&'a self, held: Option<&'a OwnedFd>) -> BorrowedFd<'a> {
        held.map_or(self.dir.as_fd(), AsFd::as_fd)
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    reason = "the types differ between Unix systems"
)]
fn file_id(stat: &Stat) -> FileId {
    FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
}

/// The path of an open file or directory, asked of the kernel: it answers about what was opened,
/// whatever stands at its name now.
#[cfg(target_os = "linux")]
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> Option<std::path::PathBuf> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    let gone = path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)");
    (path.is_absolute() && !gone).then_some(path)
}
