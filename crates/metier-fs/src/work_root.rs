//! Files beneath a workspace: read, listed, written and moved through a descriptor of its directory.
//!
//! [`WorkRoot::resolve`] follows the links that stay beneath and tells which file is meant; the rest
//! follows none. So a caller resolves first, has the answer judged, and what is then opened is the
//! file that was judged, or nothing: a link that is swapped in between is refused. What is opened is
//! judged on its descriptor (a regular file, within the size). Writing goes to a temporary file in
//! the same directory, which is renamed over the target.

use std::fs::File;
use std::path::{Path, PathBuf};

use metier_skill::WorkPath;

use crate::file::read_open;
use crate::head::EntryKind;
use crate::held_dir::HeldDir;
use crate::work_error::WorkError;

#[cfg_attr(unix, path = "work_root_unix.rs")]
#[cfg_attr(not(unix), path = "work_root_portable.rs")]
mod system;

/// A workspace's directory, held open.
#[derive(Debug)]
pub struct WorkRoot {
    /// Where it is, without links.
    real: PathBuf,
    #[cfg(unix)]
    dir: crate::beneath::Beneath,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkEntry {
    /// Its name; what is not UTF-8 is replaced, and cannot be opened by this name.
    pub name: String,
    /// What it is; a link as itself.
    pub kind: EntryKind,
    /// Bytes, for a file.
    pub size: u64,
}

/// The entries of a directory, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkListing {
    /// The entries.
    pub entries: Vec<WorkEntry>,
    /// Whether there were more than asked for.
    pub truncated: bool,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteSummary {
    /// Whether the file was not there before.
    pub created: bool,
    /// How many directories above it were made.
    pub directories: usize,
}

impl WorkRoot {
    /// Opens a workspace. Its directory may be reached through links; the file system's root is no
    /// workspace.
    pub fn open(path: &Path) -> Result<Self, WorkError> {
        Self::open_dir(path)
    }

    /// Where the directory is, without links.
    pub fn path(&self) -> &Path {
        &self.real
    }

    /// Which file or directory `path` means: the path to it without links. Links that leave the
    /// workspace are refused; where the system cannot tell, every link is.
    pub fn resolve(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        self.resolve_links(path)
    }

    /// The path of a file that is to be written or deleted. The file need not be there, nor the
    /// directories above it; no part may be a link, the last one included.
    pub fn resolve_for_change(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        path.check_change().map_err(WorkError::Path)?;
        self.refuse_links(path)?;
        Ok(path.clone())
    }

    /// Opens the regular file at `path` for reading, and tells its size.
    pub fn open_file(&self, path: &WorkPath) -> Result<(File, u64), WorkError> {
        self.open_regular(path)
    }

    /// The bytes of the file at `path`, if it has at most `limit`.
    pub fn read(&self, path: &WorkPath, limit: u64) -> Result<Vec<u8>, WorkError> {
        let (file, size) = self.open_regular(path)?;
        read_open(&file, size, limit)?.ok_or(WorkError::TooLarge(limit))
    }

    /// At most `limit` entries of the directory at `path`, the first by name.
    pub fn list(&self, path: &WorkPath, limit: usize) -> Result<WorkListing, WorkError> {
        let mut list = self.list_dir(path, limit)?;
        list.entries.sort();
        Ok(list)
    }

    /// Writes the file at `path` whole, or leaves it as it was. Directories above it are made. What
    /// stands there must be a regular file with one name; its permissions stay.
    pub fn write(&self, path: &WorkPath, bytes: &[u8]) -> Result<WriteSummary, WorkError> {
        path.check_change().map_err(WorkError::Path)?;
        self.write_whole(path, bytes)
    }

    /// Moves the regular file at `path` out of the workspace, to `name` in the directory `to`, where
    /// nothing of that name stands. Tells its size.
    pub fn move_out(&self, path: &WorkPath, to: &HeldDir, name: &str) -> Result<u64, WorkError> {
        path.check_change().map_err(WorkError::Path)?;
        self.move_file_out(path, to, name)
    }

    /// Moves the regular file `name` in the directory `from` to `path`, where nothing stands.
    /// Directories above it are made.
    pub fn move_in(&self, path: &WorkPath, from: &HeldDir, name: &str) -> Result<(), WorkError> {
        path.check_change().map_err(WorkError::Path)?;
        self.move_file_in(path, from, name)
    }
}
