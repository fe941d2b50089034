//! A held directory where there are no directory descriptors: everything goes by path, and no part of it
//! that is ours may be a link. Weaker than the Unix one against what is swapped in meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Durability, FolderAccess};
use crate::file::{ReadError, entry_kind, read_bounded, read_dir_names};
use crate::head::EntryKind;

/// A directory's path.
#[derive(Debug)]
pub(crate) struct Handle(PathBuf);

impl Handle {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn below(&self, _: &Path, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        match fs::symlink_metadata(&path)?.is_dir() {
            true => Ok(Self(path)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn closed(self, _: FolderAccess) -> io::Result<Self> {
        Ok(self)
    }

    pub(super) fn make(&self, name: &str, _: FolderAccess) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub(super) fn open_file(&self, path: &str) -> Result<File, ReadError> {
        let file = File::open(self.plain(path)?)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(ReadError::NotRegular) }
    }

    pub(super) fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        read_bounded(&self.plain(path)?, limit)
    }

    pub(super) fn write(
        &self,
        name: &str,
        bytes: &[u8],
        _: FolderAccess,
        _: Durability,
    ) -> io::Result<()> {
        crate::private::write_private(&self.0.join(name), bytes)
    }

    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create_new(true).open(self.0.join(name))
    }

    pub(super) fn open_to_append(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).open(self.plain(name)?)
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        read_dir_names(&self.0)
    }

    pub(super) fn kind(&self, path: &str) -> Option<EntryKind> {
        entry_kind(&self.0.join(path))
    }

    pub(super) fn size(&self, path: &str) -> Option<u64> {
        let found = fs::symlink_metadata(self.0.join(path)).ok()?;
        found.is_file().then(|| found.len())
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(super) fn stable_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// The path of something below, none of which is a link.
    fn plain(&self, path: &str) -> io::Result<PathBuf> {
        let mut at = self.0.clone();
        for name in path.split('/') {
            at.push(name);
            if crate::file::is_link(&at) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(at)
    }
}
