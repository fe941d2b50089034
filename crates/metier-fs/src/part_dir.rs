//! Hidden directories in which something is built before it is renamed to its place.
//!
//! Each is held locked for as long as its maker lives, so that what a killed process left is known by its lock, and
//! goes with the next command that looks. A scan does not look into them.

use std::io;
use std::path::{Path, PathBuf};

use crate::file::{is_real_dir, read_dir_names};
use crate::tree_writer::{TreeWriter, is_abandoned_tree};
use crate::whole_dir::remove_tree;

const PREFIX: &str = ".metier-part-";
/// How often a directory is made again that another process took for an abandoned one, between its making and its
/// lock.
const MAX_TRIES: usize = 100;

/// A hidden directory, which goes when it is dropped.
#[derive(Debug)]
pub(crate) struct PartDir {
    /// `None` once it is removed.
    tree: Option<TreeWriter>,
}

impl PartDir {
    /// Makes one in the folder that `path` stands in.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut tries = 0;
        loop {
            tries += 1;
            match TreeWriter::create_in(parent, PREFIX) {
                Ok(tree) if is_real_dir(tree.path()) => return Ok(Self { tree: Some(tree) }),
                Ok(_) if tries < MAX_TRIES => {}
                Ok(_) => return Err(io::ErrorKind::NotFound.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MAX_TRIES => {
                    // The folder itself may be missing.
                    if !is_real_dir(parent) && !parent.is_dir() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The place in it where something is built.
    pub(crate) fn inner(&self) -> PathBuf {
        self.tree.as_ref().map(|tree| tree.path().join("new")).unwrap_or_default()
    }

    /// Removes it; the path of what could not be removed.
    pub(crate) fn close(mut self) -> Option<PathBuf> {
        let path = self.tree.as_ref()?.path().to_owned();
        let removed = remove_tree(&path);
        self.tree = None;
        removed.is_err().then_some(path)
    }
}

impl Drop for PartDir {
    fn drop(&mut self) {
        if let Some(tree) = &self.tree {
            let _ = remove_tree(tree.path());
        }
    }
}

/// What processes that were killed left in `folder` while they copied or built something there.
pub fn abandoned_parts(folder: &Path) -> Vec<PathBuf> {
    let names = read_dir_names(folder).unwrap_or_default();
    let parts = names.into_iter().filter(|name| name.starts_with(PREFIX));
    let paths = parts.map(|name| folder.join(name));
    paths.filter(|path| is_real_dir(path) && is_abandoned_tree(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_copy_is_known_once_its_maker_is_gone() {
        let dir = tempfile::tempdir().expect("dir");
        let part = PartDir::beside(&dir.path().join("skill")).expect("makes");
        std::fs::create_dir(part.inner()).expect("dir");
        assert!(abandoned_parts(dir.path()).is_empty(), "its maker lives");
        let left = dir.path().join(".metier-part-left");
        std::fs::create_dir(&left).expect("dir");
        assert_eq!(abandoned_parts(dir.path()), [left]);
        assert_eq!(part.close(), None);
        assert_eq!(read_dir_names(dir.path()).expect("lists"), [".metier-part-left"]);
    }
}
