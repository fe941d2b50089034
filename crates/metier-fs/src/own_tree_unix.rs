//! Removing a tree on Unix, with two open directories at any time: what is below a folder is moved up
//! beside it before the folder goes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// What its owner needs to list a folder and to change it.
const OPEN: u32 = 0o700;

/// For listing a folder and for reaching what is in it.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

pub(super) fn remove(path: &Path, stop: &dyn Fn() -> bool) -> io::Result<()> {
    let (parent, name) = split(path)?;
    let parent = openat(CWD, parent, LISTED.difference(OFlags::NOFOLLOW), Mode::empty())?;
    remove_at(parent.as_fd(), name, stop)
}

pub(super) fn open_closed(path: &Path) -> io::Result<()> {
    let (parent, name) = split(path)?;
    let parent = openat(CWD, parent, LISTED.difference(OFlags::NOFOLLOW), Mode::empty())?;
    open_own(parent.as_fd(), name).map(|_| ())
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    path.file_name().zip(Some(parent.unwrap_or(Path::new(".")))).map_or_else(
        || Err(io::ErrorKind::InvalidInput.into()),
        |(name, parent)| Ok((parent, name)),
    )
}

/// Removes `name` in a directory, with all that is below it.
pub(crate) fn remove_at(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    stop: &dyn Fn() -> bool,
) -> io::Result<()> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Ok(unlinkat(parent, name, AtFlags::empty())?);
    }
    let top = open_own(parent, name)?;
    let mut moved = 0_u64;
    loop {
        let mut folders = Vec::new();
        each(&top, stop, &mut |name, kind| {
            match kind {
                FileType::Directory => folders.push(name.to_owned()),
                _ => unlinkat(&top, name, AtFlags::empty())?,
            }
            Ok(())
        })?;
        if folders.is_empty() {
            return Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?);
        }
        while let Some(folder) = folders.pop() {
            if unlinkat(&top, &folder, AtFlags::REMOVEDIR).is_ok() {
                continue;
            }
            let dir = open_own(top.as_fd(), &folder)?;
            let mut seen = 0;
            each(&dir, stop, &mut |name, kind| {
                seen += 1;
                let flags = match kind {
                    FileType::Directory => AtFlags::REMOVEDIR,
                    _ => AtFlags::empty(),
                };
                match unlinkat(&dir, name, flags) {
                    Err(_) if kind == FileType::Directory => {
                        folders.push(move_up(&dir, name, &top, &mut moved)?);
                        Ok(())
                    }
                    other => Ok(other?),
                }
            })?;
            match unlinkat(&top, &folder, AtFlags::REMOVEDIR) {
                // Listing a folder from which entries go may miss some: then it has another turn.
                Err(Errno::NOTEMPTY | Errno::EXIST) if seen > 0 => folders.push(folder),
                other => other?,
            }
        }
    }
}

/// Moves the folder `name` of `dir` to `top`, under a name that is free there; gives that.
fn move_up(
    dir: &OwnedFd,
    name: &OsStr,
    top: &OwnedFd,
    moved: &mut u64,
) -> Result<OsString, io::Error> {
    // It has to be writable itself to be moved.
    drop(open_own(dir.as_fd(), name)?);
    loop {
        let new = OsString::from(format!(".metier-{moved}"));
        *moved += 1;
        match renameat(dir, name, top, &new) {
            Ok(()) => return Ok(new),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shows the entries of a directory.
pub(crate) fn each(
    dir: &OwnedFd,
    stop: &dyn Fn() -> bool,
    found: &mut dyn FnMut(&OsStr, FileType) -> io::Result<()>,
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(dir)? {
        if stop() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        found(name, kind)?;
    }
    Ok(())
}

/// Opens a directory of ours, after its owner may list and change it. A link is not followed.
pub(crate) fn open_own(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let fd = match openat(at, name, LISTED, Mode::empty()) {
        Err(Errno::ACCESS) => {
            set_mode(at, name, OPEN)?;
            openat(at, name, LISTED, Mode::empty())?
        }
        other => other?,
    };
    let mode = permissions(&fstat(&fd)?);
    if mode & OPEN != OPEN {
        fchmod(&fd, Mode::from_raw_mode(mode_bits(mode & 0o777 | OPEN)))?;
    }
    Ok(fd)
}

/// Sets the mode of what cannot be opened, and never that of what a link leads to.
#[cfg(target_os = "linux")]
pub(crate) fn set_mode(at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(at, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP.into());
    }
    // The one way to change the mode behind such a descriptor on kernels before 6.6.
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::from_raw_mode(mode_bits(mode)))?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn set_mode(at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode_bits(mode));
    Ok(rustix::fs::chmodat(at, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[allow(clippy::unnecessary_cast, reason = "the field types differ between Unix systems")]
pub(crate) fn permissions(stat: &rustix::fs::Stat) -> u32 {
    stat.st_mode as u32 & 0o7777
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_truncation,
    reason = "the types differ between Unix systems"
)]
fn mode_bits(mode: u32) -> rustix::fs::RawMode {
    mode as rustix::fs::RawMode
}
