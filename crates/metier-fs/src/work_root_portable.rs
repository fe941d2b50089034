//! A workspace where directories cannot be held open: by path, each part checked for links first.
//!
//! Weaker than a descriptor against a part that is swapped between the check and the opening; no
//! link is followed at all, for reading either.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{WorkEntry, WorkListing, WorkPath, WorkRoot, WriteSummary};
use crate::dir::Dir;
use crate::file::{NewFiles, replace};
use crate::held_dir::HeldDir;
use crate::work_error::WorkError;

impl WorkRoot {
    pub(super) fn open_dir(path: &Path) -> Result<Self, WorkError> {
        let real = crate::file::canonical(path)?;
        if !real.is_dir() || real.parent().is_none() {
            return Err(WorkError::NotADirectory);
        }
        Ok(Self { real })
    }

    pub(super) fn resolve_links(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        if fs::symlink_metadata(self.checked(path)?).is_err() {
            return Err(WorkError::Missing);
        }
        Ok(path.clone())
    }

    pub(super) fn refuse_links(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        self.checked(path).map(|_| path.clone())
    }

    /// Where `path` is, if no part of it is a link.
    fn checked(&self, path: &WorkPath) -> Result<PathBuf, WorkError> {
        let mut at = self.real.clone();
        for name in path.names() {
            at.push(name);
            match fs::symlink_metadata(&at) {
                Ok(data) if data.is_symlink() => return Err(WorkError::Link),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(at)
    }

    pub(super) fn open_regular(&self, path: &WorkPath) -> Result<(File, u64), WorkError> {
        let at = self.checked(path)?;
        if !fs::metadata(&at)?.is_file() {
            return Err(WorkError::NotRegular);
        }
        let file = File::open(&at)?;
        let data = file.metadata()?;
        if data.is_file() { Ok((file, data.len())) } else { Err(WorkError::NotRegular) }
    }

    pub(super) fn list_dir(&self, path: &WorkPath, limit: usize) -> Result<WorkListing, WorkError> {
        let at = self.checked(path)?;
        let children = Dir::open(&at)?.children(limit)?;
        let entries = children.names.into_iter().map(|child| {
            let size = fs::symlink_metadata(at.join(&child.name)).map_or(0, |data| data.len());
            WorkEntry { name: child.name.to_string_lossy().into_owned(), kind: child.kind, size }
        });
        Ok(WorkListing { entries: entries.collect(), truncated: children.truncated })
    }

    pub(super) fn write_whole(
        &self,
        path: &WorkPath,
        bytes: &[u8],
    ) -> Result<WriteSummary, WorkError> {
        let at = self.checked(path)?;
        let created = match fs::symlink_metadata(&at) {
            Ok(data) if data.is_file() => false,
            Ok(_) => return Err(WorkError::NotRegular),
            Err(_) => true,
        };
        let missing = at.ancestors().skip(1).take_while(|dir| !dir.exists()).count();
        replace(&at, bytes, NewFiles::ForAll)?;
        Ok(WriteSummary { created, directories: missing })
    }

    pub(super) fn move_file_out(
        &self,
        path: &WorkPath,
        to: &HeldDir,
        name: &str,
    ) -> Result<u64, WorkError> {
        let at = self.checked(path)?;
        let data = fs::symlink_metadata(&at)?;
        if !data.is_file() {
            return Err(WorkError::NotRegular);
        }
        crate::whole_dir::move_whole(&at, &held(to)?.join(name))?;
        Ok(data.len())
    }

    pub(super) fn move_file_in(
        &self,
        path: &WorkPath,
        from: &HeldDir,
        name: &str,
    ) -> Result<(), WorkError> {
        crate::whole_dir::move_whole(&held(from)?.join(name), &self.checked(path)?)?;
        Ok(())
    }
}

/// The path of a directory that is there.
fn held(dir: &HeldDir) -> Result<&Path, WorkError> {
    Ok(dir.handle().map_err(std::io::Error::from)?.path())
}
