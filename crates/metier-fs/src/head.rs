//! The words shared by the two implementations of [`crate::Dir`].
//!
//! What a directory entry is, how much is read of it, and why it could not be.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;

/// The first block of a head: of 100 real frontmatters it holds 98 to 99, and copying a whole page of each
/// file took a fiftieth of a listing.
const FIRST_BLOCK: usize = 1024;

/// The rest is read by whole pages, from where they begin.
const BLOCK: usize = 4096;

/// Heads that are read at once; with more of them nothing is gained.
pub(crate) const MAX_HEADS_AT_ONCE: usize = 16;

/// Room for the head of a file, used again for the next one without being cleared.
#[derive(Debug, Default)]
pub struct HeadBuffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl HeadBuffer {
    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    pub(crate) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Room for the next block, within `limit` bytes in all.
    pub(crate) fn room(&mut self, limit: usize) -> &mut [u8] {
        let block = if self.filled == 0 { FIRST_BLOCK } else { BLOCK - self.filled % BLOCK };
        let end = self.filled + block.min(limit - self.filled);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.filled..end]
    }

    pub(crate) fn add(&mut self, read: usize) {
        self.filled += read;
    }
}

/// Whether links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// They are.
    Follow,
    /// A link is not opened.
    Refuse,
}

/// What a directory entry is, as far as the directory itself tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A link to something.
    Link,
    /// A regular file.
    File,
    /// A pipe, socket or device.
    Special,
    /// The file system does not say.
    Unknown,
}

impl From<std::fs::FileType> for EntryKind {
    fn from(kind: std::fs::FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Special
        }
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryName {
    /// Its name, without a path.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// The entries of a directory, at most as many as were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirChildren {
    /// The entries, in no particular order. When there were too many: the first by name.
    pub names: Vec<EntryName>,
    /// Whether there were too many.
    pub truncated: bool,
}

impl crate::Dir {
    /// At most `limit` entries; when there are more, the first by name.
    pub fn children(&self, limit: usize) -> io::Result<DirChildren> {
        let mut smallest = Smallest::new(limit);
        self.for_each_child(|child| {
            smallest.push(child);
            ControlFlow::Continue(())
        })?;
        Ok(smallest.finish())
    }
}

/// Collects names up to a limit; beyond it keeps the smallest, so that the choice does not depend
/// on the directory's order.
struct Smallest {
    names: Vec<EntryName>,
    limit: usize,
    truncated: bool,
}

impl Smallest {
    fn new(limit: usize) -> Self {
        Self { names: Vec::new(), limit, truncated: false }
    }

    fn push(&mut self, name: EntryName) {
        self.names.push(name);
        if self.names.len() >= self.limit.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.names.len() > self.limit {
            self.truncated = true;
            self.names.sort_unstable();
            self.names.truncate(self.limit);
        }
    }

    fn finish(mut self) -> DirChildren {
        self.cut();
        DirChildren { names: self.names, truncated: self.truncated }
    }
}

/// Why the head of a file could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeadError {
    /// There is no such file.
    Missing,
    /// A part of the path is no directory.
    NotADirectory,
    /// It is a directory, pipe, socket or device.
    NotRegular,
    /// It changed several times while it was read.
    Changing,
    /// Anything else.
    Io(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_the_smallest_names_stay_whatever_the_order() {
        let collect = |order: Vec<usize>| {
            let mut smallest = Smallest::new(3);
            for n in order {
                smallest.push(EntryName {
                    name: format!("n{n:04}").into(),
                    kind: EntryKind::Directory,
                });
            }
            smallest.finish()
        };
        let up = collect((0..500).collect());
        let down = collect((0..500).rev().collect());
        let mut names: Vec<_> = up.names.iter().map(|n| n.name.clone()).collect();
        names.sort();
        assert_eq!(names, ["n0000", "n0001", "n0002"]);
        assert!(up.truncated && down.truncated);
        let mut down_names: Vec<_> = down.names.iter().map(|n| n.name.clone()).collect();
        down_names.sort();
        assert_eq!(down_names, names);
        assert!(!collect((0..3).collect()).truncated);
    }

    #[test]
    fn several_heads_are_what_each_is_alone() {
        let tmp = tempfile::tempdir().expect("dir");
        for (name, bytes) in [("short", 10), ("block", 1024), ("long", 9000), ("empty", 0)] {
            std::fs::write(tmp.path().join(name), vec![b'x'; bytes]).expect("writes");
        }
        std::fs::create_dir(tmp.path().join("folder")).expect("dir");
        let dir = crate::Dir::open(tmp.path()).expect("opens");
        let names = ["long", "absent", "short", "folder", "empty", "short/x", "block", "long"];
        let paths: Vec<_> = names.iter().map(std::path::PathBuf::from).collect();
        for limit in [100, 5000, 1 << 20] {
            let mut buffers: Vec<HeadBuffer> = Vec::new();
            buffers.resize_with(paths.len(), HeadBuffer::default);
            let enough = |at: usize, bytes: &[u8]| at == 7 && bytes.len() > 2000;
            let heads = dir.read_heads(&paths, Links::Follow, limit, &mut buffers, enough);
            assert_eq!(heads.len(), paths.len());
            for (at, head) in heads.iter().enumerate() {
                let mut buffer = HeadBuffer::default();
                let enough = |bytes: &[u8]| enough(at, bytes);
                let alone = dir.read_head(&paths[at], Links::Follow, limit, &mut buffer, enough);
                assert_eq!(format!("{head:?}"), format!("{alone:?}"), "{}", names[at]);
                assert_eq!(buffers[at].bytes(), buffer.bytes(), "{}", names[at]);
            }
        }
    }
}
