//! An open directory where there are no directory descriptors: everything goes by path.
//!
//! Weaker than the Unix one against a directory that is swapped during a scan; a scan only reads
//! frontmatter, and what is enforced later is judged again on the open file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::head::{EntryKind, EntryName, HeadBuffer, HeadError, Links, MAX_HEADS_AT_ONCE};
use crate::stamp::{FileId, Stamp};

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    path: PathBuf,
}

impl Dir {
    /// Opens the directory at `path`, through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self { path: path.to_owned() })
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }

    /// Opens the directory `relative` below this one.
    pub fn open_below(&self, relative: &Path, links: Links) -> io::Result<Self> {
        if links == Links::Refuse && self.is_link(relative) {
            return Err(ErrorKind::NotADirectory.into());
        }
        Self::open(&self.path.join(relative))
    }

    /// Which directory this is.
    pub fn id(&self) -> io::Result<FileId> {
        Ok(FileId { device: 0, inode: path_number(&fs::canonicalize(&self.path)?) })
    }

    /// How many directories are in this one, where the system counts them.
    pub fn directories_inside(&self) -> Option<usize> {
        None
    }

    /// Calls `each` with every entry, as the system gives them, until it says to stop.
    pub fn for_each_child(
        &self,
        mut each: impl FnMut(EntryName) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => EntryKind::Link,
                Ok(kind) if kind.is_dir() => EntryKind::Directory,
                Ok(kind) if kind.is_file() => EntryKind::File,
                Ok(_) => EntryKind::Special,
                Err(_) => EntryKind::Unknown,
            };
            if each(EntryName { name: entry.file_name(), kind }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What the file at `relative` looks like now, without opening it.
    pub fn stamp_below(&self, relative: &Path) -> io::Result<Stamp> {
        let path = self.path.join(relative);
        Ok(stamp(&path, &fs::metadata(&path)?))
    }

    /// What the entry `relative` looks like now, a link as itself.
    pub fn entry_stamp(&self, relative: &Path) -> io::Result<Stamp> {
        let path = self.path.join(relative);
        Ok(stamp(&path, &fs::symlink_metadata(&path)?))
    }

    /// Whether `relative` is a link.
    pub fn is_link(&self, relative: &Path) -> bool {
        fs::symlink_metadata(self.path.join(relative)).is_ok_and(|data| data.is_symlink())
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
        let path = self.path.join(relative);
        if links == Links::Refuse && self.is_link(relative) {
            return Err(HeadError::NotRegular);
        }
        if !fs::metadata(&path).map_err(refused)?.is_file() {
            return Err(HeadError::NotRegular);
        }
        for _ in 0..3 {
            buffer.clear();
            let mut file: File = OpenOptions::new().read(true).open(&path).map_err(refused)?;
            let before = stamp(&path, &file.metadata().map_err(refused)?);
            loop {
                let read = file.read(buffer.room(limit)).map_err(refused)?;
                buffer.add(read);
                if read == 0 || buffer.bytes().len() >= limit || enough(buffer.bytes()) {
                    break;
                }
            }
            if stamp(&path, &file.metadata().map_err(refused)?) == before {
                return Ok(before);
            }
        }
        Err(HeadError::Changing)
    }

    /// How many heads each of several threads should read at once.
    pub fn heads_at_once(_: usize) -> usize {
        MAX_HEADS_AT_ONCE
    }

    /// Reads the heads of several files, each into the buffer at its place and as
    /// [`Self::read_head`] does; `enough` gets its place, too.
    pub fn read_heads(
        &self,
        paths: &[PathBuf],
        links: Links,
        limit: usize,
        buffers: &mut [HeadBuffer],
        mut enough: impl FnMut(usize, &[u8]) -> bool,
    ) -> Vec<Result<Stamp, HeadError>> {
        let each = |(at, (path, buffer)): (usize, (&PathBuf, &mut HeadBuffer))| {
            self.read_head(path, links, limit, buffer, |bytes| enough(at, bytes))
        };
        paths.iter().zip(buffers).enumerate().map(each).collect()
    }
}

fn refused(error: io::Error) -> HeadError {
    match error.kind() {
        ErrorKind::NotFound => HeadError::Missing,
        ErrorKind::NotADirectory => HeadError::NotADirectory,
        _ => HeadError::Io(error),
    }
}

/// A number for a real path, in place of an inode.
fn path_number(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

fn stamp(path: &Path, data: &Metadata) -> Stamp {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Stamp {
        id: FileId { device: 0, inode: path_number(&real) },
        size: data.len(),
        modified: data.modified().map_or(0, nanos),
        changed: 0,
        links: 1,
    }
}

/// Nanoseconds since the epoch, saturated.
fn nanos(time: std::time::SystemTime) -> i64 {
    match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    }
}
