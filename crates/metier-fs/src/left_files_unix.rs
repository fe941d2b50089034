//! What a script left, on Unix: each folder is opened in the one above it, and no link is followed.
//! `left_files` owns the limits and the rule; this is its way to the disk.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{LeftError, LeftFile, LeftFiles, LeftLimits, Stoppable};
use crate::beneath::FILE;
use crate::own_tree::system::{each, open_own, permissions, remove_at, set_mode};
use crate::stamp::FileId;

pub(super) fn take(from: &Path, name: &str, to: &Path) -> Result<bool, LeftError> {
    let name = OsStr::new(name);
    let from = open_folder(from)?;
    let stat = match statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(false),
        other => other.map_err(io::Error::from)?,
    };
    let by = match kind(&stat) {
        FileType::Directory => None,
        FileType::Symlink => {
            let text = readlinkat(&from, name, Vec::new()).map_err(io::Error::from)?;
            Some(format!("a link to {}", text.to_string_lossy()))
        }
        FileType::RegularFile => Some("a file".to_owned()),
        _ => Some("a special file".to_owned()),
    };
    if let Some(by) = by {
        return Err(LeftError::Replaced { by });
    }
    // It has to be writable itself to be moved.
    drop(open_own(from.as_fd(), name)?);
    renameat(&from, name, open_folder(to)?, name).map_err(io::Error::from)?;
    Ok(true)
}

/// Opens the folder at `path`; its owner can list it then.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    open_own(above.as_fd(), name)
}

pub(super) fn clean(
    dir: &Path,
    limits: LeftLimits,
    stop: &dyn Fn() -> bool,
) -> Result<LeftFiles, LeftError> {
    let top = open_folder(dir)?;
    let left = LeftFiles::default();
    let mut cleaner = Cleaner { limits, stop, left, entries: 0, bytes: 0, shared: HashMap::new() };
    cleaner.folder(&top, Path::new(""), 0)?;
    let shared = std::mem::take(&mut cleaner.shared);
    let mut shared: Vec<(Vec<PathBuf>, Stat)> = shared.into_values().collect();
    shared.sort_by(|a, b| a.0.cmp(&b.0));
    for (names, stat) in shared {
        // A copy takes the room of each name.
        let bytes = size(&stat).saturating_mul(names.len() as u64).saturating_add(cleaner.bytes);
        let why = if (names.len() as u64) < links(&stat) {
            Some("it is another name of a file outside")
        } else {
            (bytes > limits.bytes).then_some("the files are too large")
        };
        if why.is_none() {
            cleaner.bytes = bytes;
        }
        for path in names {
            let (above, name) = open_above(&top, &path)?;
            if let Some(why) = why {
                unlinkat(&above, &name, AtFlags::empty()).map_err(io::Error::from)?;
                cleaner.left.removed(path, why);
            } else {
                make_readable(&above, &name, &stat)?;
                cleaner.left.files.push(path);
            }
        }
    }
    cleaner.left.files.sort();
    cleaner.left.removed.sort();
    Ok(cleaner.left)
}

struct Cleaner<'a> {
    limits: LeftLimits,
    stop: &'a dyn Fn() -> bool,
    left: LeftFiles,
    entries: usize,
    bytes: u64,
    /// Files with several names, by what they are: the names here, and what is known of the file.
    shared: HashMap<FileId, (Vec<PathBuf>, Stat)>,
}

impl Cleaner<'_> {
    fn folder(&mut self, dir: &OwnedFd, below: &Path, depth: usize) -> Result<(), LeftError> {
        for (name, kind) in sorted(dir, self.stop)? {
            if (self.stop)() {
                return Err(LeftError::Stopped);
            }
            let path = below.join(&name);
            self.entries += 1;
            let why = match kind {
                _ if self.entries > self.limits.entries => Some("there are too many files"),
                FileType::Directory if depth >= self.limits.depth => Some("it is too deep"),
                FileType::Directory | FileType::RegularFile => None,
                FileType::Symlink => Some("it is a link"),
                FileType::Fifo => Some("it is a pipe"),
                FileType::Socket => Some("it is a socket"),
                _ => Some("it is not a regular file"),
            };
            if let Some(why) = why {
                remove_at(dir.as_fd(), &name, self.stop)?;
                self.left.removed(path, why);
            } else if kind == FileType::Directory {
                let inner = open_own(dir.as_fd(), &name)?;
                self.folder(&inner, &path, depth + 1)?;
            } else {
                self.file(dir, &name, path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &OwnedFd, name: &OsStr, path: PathBuf) -> io::Result<()> {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if links(&stat) > 1 {
            let known = self.shared.entry(id(&stat)).or_insert_with(|| (Vec::new(), stat));
            known.0.push(path);
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(size(&stat));
        if bytes > self.limits.bytes {
            unlinkat(dir, name, AtFlags::empty())?;
            self.left.removed(path, "the files are too large");
            return Ok(());
        }
        self.bytes = bytes;
        make_readable(dir, name, &stat)?;
        self.left.files.push(path);
        Ok(())
    }
}

/// A file that its owner cannot read would be kept for no one; the bits that lend an identity go.
fn make_readable(dir: &OwnedFd, name: &OsStr, stat: &Stat) -> io::Result<()> {
    let wanted = permissions(stat) & 0o777 | 0o600;
    if permissions(stat) == wanted { Ok(()) } else { set_mode(dir.as_fd(), name, wanted) }
}

/// The folder of a path below `top`, through no link, and the last name.
fn open_above(top: &OwnedFd, path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut dir = top.try_clone()?;
    for part in path.parent().into_iter().flat_map(Path::iter) {
        dir = open_own(dir.as_fd(), part)?;
    }
    Ok((dir, name.to_owned()))
}

pub(super) fn digests(
    dir: &Path,
    bytes: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<LeftFile>, LeftError> {
    let mut digests = Digests { room: bytes, stop, files: Vec::new() };
    digests.folder(&open_folder(dir)?, Path::new(""), 0)?;
    digests.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(digests.files)
}

/// Levels of folders in which files are hashed: more than are kept.
const MAX_DEPTH: usize = 64;

struct Digests<'a> {
    room: u64,
    stop: &'a dyn Fn() -> bool,
    files: Vec<LeftFile>,
}

impl Digests<'_> {
    fn folder(&mut self, dir: &OwnedFd, below: &Path, depth: usize) -> io::Result<()> {
        for (name, kind) in sorted(dir, &|| false)? {
            let path = below.join(&name);
            if kind == FileType::Directory && depth < MAX_DEPTH {
                self.folder(&open_own(dir.as_fd(), &name)?, &path, depth + 1)?;
            } else if kind == FileType::RegularFile {
                let file = openat(dir, &name, FILE, Mode::empty())?;
                let stat = fstat(&file)?;
                if super::system::kind(&stat) == FileType::RegularFile {
                    self.file(path, File::from(file), size(&stat))?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, file: File, bytes: u64) -> io::Result<()> {
        let mut found = LeftFile { path, bytes, digest: None };
        if bytes <= self.room && !(self.stop)() {
            match metier_skill::Digest::of_reader(Stoppable { inner: file, stop: self.stop }) {
                Ok((digest, read)) => {
                    self.room = self.room.saturating_sub(read);
                    (found.digest, found.bytes) = (Some(digest), read);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return Err(error),
            }
        }
        self.files.push(found);
        Ok(())
    }
}

/// The entries of a folder in the order of their names: what a limit cuts does not depend on the disk.
fn sorted(dir: &OwnedFd, stop: &dyn Fn() -> bool) -> io::Result<Vec<(OsString, FileType)>> {
    let mut names = Vec::new();
    each(dir, stop, &mut |name, kind| {
        names.push((name.to_owned(), kind));
        Ok(())
    })?;
    names.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    reason = "the field types differ between Unix systems"
)]
fn links(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    reason = "the field types differ between Unix systems"
)]
fn id(stat: &Stat) -> FileId {
    FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
}
