//! An open directory on Unix: everything below it is reached through its descriptor.
//!
//! One `openat` with a relative path finds and opens a file; there is no look before the leap, so
//! there is nothing to race. Opening never blocks: a pipe called `SKILL.md` is opened without
//! waiting for a writer, seen to be no regular file, and closed.

use std::ffi::OsStr;
use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::head::{EntryKind, EntryName, HeadBuffer, HeadError, Links, MAX_HEADS_AT_ONCE};
use crate::stamp::{FileId, Stamp};

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn no_follow(links: Links) -> OFlags {
    match links {
        Links::Follow => OFlags::empty(),
        Links::Refuse => OFlags::NOFOLLOW,
    }
}

impl Dir {
    /// Opens the directory at `path`, through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = openat(rustix::fs::CWD, path, READ | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { fd })
    }

    /// The directory behind a descriptor that may be read.
    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Opens the directory `relative` below this one.
    pub fn open_below(&self, relative: &Path, links: Links) -> io::Result<Self> {
        let flags = READ | OFlags::DIRECTORY | no_follow(links);
        Ok(Self { fd: openat(&self.fd, relative, flags, Mode::empty())? })
    }

    /// Which directory this is.
    pub fn id(&self) -> io::Result<FileId> {
        Ok(stamp(&fstat(&self.fd)?).id)
    }

    /// How many directories are in this one, as far as the file system counts them: each is a link to it.
    pub fn directories_inside(&self) -> Option<usize> {
        let links = stamp(&fstat(&self.fd).ok()?).links;
        usize::try_from(links.checked_sub(2)?).ok()
    }

    /// Calls `each` with every entry, as the system gives them, until it says to stop.
    #[cfg(target_os = "linux")]
    pub fn for_each_child(
        &self,
        mut each: impl FnMut(EntryName) -> ControlFlow<()>,
    ) -> io::Result<()> {
        /// A few hundred names: the kernel is asked that often less than once for each.
        const ROOM: usize = 16 << 10;
        // A descriptor of its own, because reading moves the position in it.
        let fd = openat(&self.fd, ".", READ | OFlags::DIRECTORY, Mode::empty())?;
        // On the stack: from the heap this much would be the largest block of a small listing.
        let mut room = [const { MaybeUninit::<u8>::uninit() }; ROOM];
        let mut entries = rustix::fs::RawDir::new(fd, &mut room);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                // The directory was removed meanwhile.
                Err(Errno::NOENT) => break,
                other => other?,
            };
            let name = entry.file_name().to_bytes();
            if each_named(name, entry.file_type(), &mut each).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` with every entry, as the system gives them, until it says to stop.
    #[cfg(not(target_os = "linux"))]
    pub fn for_each_child(
        &self,
        mut each: impl FnMut(EntryName) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if each_named(name, entry.file_type(), &mut each).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What the file at `relative` looks like now, without opening it.
    pub fn stamp_below(&self, relative: &Path) -> io::Result<Stamp> {
        Ok(stamp(&statat(&self.fd, relative, AtFlags::empty())?))
    }

    /// What the entry `relative` looks like now, a link as itself.
    pub fn entry_stamp(&self, relative: &Path) -> io::Result<Stamp> {
        Ok(stamp(&statat(&self.fd, relative, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Whether `relative` is a link.
    pub fn is_link(&self, relative: &Path) -> bool {
        statat(&self.fd, relative, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    /// Reads the regular file at `relative` into `buffer`, block by block, until `enough` says so,
    /// the file ends, or `limit` bytes are read. Gives what the file looked like.
    pub fn read_head(
        &self,
        relative: &Path,
        links: Links,
        limit: usize,
        buffer: &mut HeadBuffer,
        mut enough: impl FnMut(&[u8]) -> bool,
    ) -> Result<Stamp, HeadError> {
        for _ in 0..3 {
            let file = self.open_file(relative, links).map_err(refused)?;
            let before = regular(&file)?;
            if read_open(&file, &before, limit, buffer, &mut enough)? == Seen::Whole {
                return Ok(before);
            }
        }
        Err(HeadError::Changing)
    }

    /// How many heads each of `workers` threads should read at once: together they take a small
    /// part of the files that the process may have open.
    pub fn heads_at_once(workers: usize) -> usize {
        let limit = getrlimit(Resource::Nofile).current;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        (limit / 8 / workers.max(1)).clamp(1, MAX_HEADS_AT_ONCE)
    }

    /// Reads the heads of several files, each into the buffer at its place and as
    /// [`Self::read_head`] does; `enough` gets its place, too.
    ///
    /// All are opened, then all looked at, read and closed: one system call after another of the
    /// same kind finds its code in the processor's caches, which is a sixth of what they take.
    pub fn read_heads(
        &self,
        paths: &[PathBuf],
        links: Links,
        limit: usize,
        buffers: &mut [HeadBuffer],
        mut enough: impl FnMut(usize, &[u8]) -> bool,
    ) -> Vec<Result<Stamp, HeadError>> {
        let opened: Vec<_> = paths.iter().map(|path| self.open_file(path, links)).collect();
        let known: Vec<_> = opened
            .into_iter()
            .map(|file| match file {
                Ok(file) => regular(&file).map(|before| Some((file, before))),
                // Too many are open: this one's turn comes when the others are closed.
                Err(Errno::MFILE | Errno::NFILE) => Ok(None),
                Err(error) => Err(refused(error)),
            })
            .collect();
        let mut seen = Vec::with_capacity(known.len());
        for (at, file) in known.iter().enumerate() {
            seen.push(match file {
                Ok(Some((file, before))) => {
                    let enough = |bytes: &[u8]| enough(at, bytes);
                    read_open(file, before, limit, &mut buffers[at], enough)
                }
                _ => Ok(Seen::Changed),
            });
        }
        let stamps: Vec<_> =
            known.into_iter().map(|file| Ok(file?.map(|(_, before)| before))).collect();
        let finish = |(at, (stamp, seen))| {
            if let (Some(before), Seen::Whole) = (stamp?, seen?) {
                return Ok(before);
            }
            // Alone.
            let enough = |bytes: &[u8]| enough(at, bytes);
            self.read_head(&paths[at], links, limit, &mut buffers[at], enough)
        };
        stamps.into_iter().zip(seen).enumerate().map(finish).collect()
    }

    fn open_file(&self, relative: &Path, links: Links) -> Result<OwnedFd, Errno> {
        openat(&self.fd, relative, READ | no_follow(links), Mode::empty())
    }
}

/// Whether what was read comes from one version of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Whole,
    Changed,
}

/// What an open file looks like, if it is a regular one.
fn regular(file: &OwnedFd) -> Result<Stamp, HeadError> {
    let stat = fstat(file).map_err(refused)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stamp(&stat)),
        _ => Err(HeadError::NotRegular),
    }
}

/// Reads an open file that looked like `before`, as [`Dir::read_head`] says.
fn read_open(
    file: &OwnedFd,
    before: &Stamp,
    limit: usize,
    buffer: &mut HeadBuffer,
    mut enough: impl FnMut(&[u8]) -> bool,
) -> Result<Seen, HeadError> {
    buffer.clear();
    let mut blocks = 0;
    loop {
        let read = match rustix::io::read(file, &mut *buffer.room(limit)) {
            Err(Errno::INTR) => continue,
            read => read.map_err(refused)?,
        };
        buffer.add(read);
        blocks += 1;
        if read == 0 || buffer.bytes().len() >= limit || enough(buffer.bytes()) {
            break;
        }
    }
    // One block comes from one read; more may come from two versions of the file.
    let is_whole = blocks <= 1 || stamp(&fstat(file).map_err(refused)?) == *before;
    Ok(if is_whole { Seen::Whole } else { Seen::Changed })
}

/// Hands on an entry, unless it is the directory itself or the one above.
fn each_named(
    name: &[u8],
    kind: FileType,
    each: &mut impl FnMut(EntryName) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if name == b"." || name == b".." {
        return ControlFlow::Continue(());
    }
    let kind = match kind {
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        FileType::RegularFile => EntryKind::File,
        FileType::Unknown => EntryKind::Unknown,
        _ => EntryKind::Special,
    };
    each(EntryName { name: OsStr::from_bytes(name).to_owned(), kind })
}

fn refused(error: Errno) -> HeadError {
    match error {
        Errno::NOENT => HeadError::Missing,
        Errno::NOTDIR => HeadError::NotADirectory,
        // A socket cannot be opened; a link refused by NOFOLLOW is no regular file to us.
        Errno::NXIO | Errno::OPNOTSUPP => HeadError::NotRegular,
        other => HeadError::Io(other.into()),
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    reason = "the field types differ between Unix systems"
)]
pub(crate) fn stamp(stat: &Stat) -> Stamp {
    let nanos =
        |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
    Stamp {
        id: FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
        size: stat.st_size as u64,
        modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        links: stat.st_nlink as u32,
    }
}
