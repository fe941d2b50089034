//! Removing a tree where there are no descriptors of directories.
//! The system removes what it can; nothing is made writable for it.

use std::io;
use std::path::Path;

pub(super) fn remove(path: &Path, _: &dyn Fn() -> bool) -> io::Result<()> {
    crate::whole_dir::remove_tree(path)
}

pub(super) fn open_closed(path: &Path) -> io::Result<()> {
    if crate::file::is_real_dir(path) { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}
