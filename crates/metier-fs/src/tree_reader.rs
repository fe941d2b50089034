//! A tree that is listed and read without following a single link: what is packed, installed from a
//! directory, or verified.
//!
//! The directory is held open. What its entries are is asked once; what is read is judged on its open
//! descriptor, so an entry that is swapped meanwhile is refused and never followed.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::head::EntryKind;
use crate::skill_root::RootError;

/// A tree, held open by its top directory.
#[derive(Debug)]
pub struct TreeReader {
    #[cfg(unix)]
    dir: crate::beneath::Beneath,
    #[cfg(not(unix))]
    dir: std::path::PathBuf,
}

/// Something in a tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeNode {
    /// Its path below the top, with `/` between names. Of a name that is not UTF-8, what can be shown.
    pub path: String,
    /// What it is. A name that is not UTF-8 is [`EntryKind::Unknown`], whatever it names.
    pub kind: EntryKind,
}

/// What a tree holds.
#[derive(Debug, Default)]
pub struct TreeListing {
    /// Everything in it, sorted by path.
    pub nodes: Vec<TreeNode>,
    /// Whether there was more than was asked for.
    pub truncated: bool,
}

/// A file of a tree, open.
#[derive(Debug)]
pub struct OpenedFile {
    /// To read.
    pub file: File,
    /// Bytes when it was opened.
    pub size: u64,
    /// Whether its owner may execute it (false where the system has no such bit).
    pub executable: bool,
    /// How many directory entries name it; 1 where the system does not say.
    pub links: u64,
}

impl TreeReader {
    /// Opens the tree at `path`, which may be reached through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        system::open(path)
    }

    /// Everything in the tree, at most `limit` entries. A directory is entered when `enters` says so of its
    /// path; it is listed in any case.
    pub fn list(
        &self,
        limit: usize,
        mut enters: impl FnMut(&str) -> bool,
    ) -> io::Result<TreeListing> {
        let mut listing = TreeListing::default();
        let mut open = vec![String::new()];
        while let Some(above) = open.pop() {
            for (name, kind) in self.children(&above)? {
                if listing.nodes.len() >= limit {
                    listing.truncated = true;
                    break;
                }
                let (name, kind) = match name.into_string() {
                    Ok(name) => (name, kind),
                    Err(name) => (name.to_string_lossy().into_owned(), EntryKind::Unknown),
                };
                let path = if above.is_empty() { name } else { format!("{above}/{name}") };
                if kind == EntryKind::Directory && enters(&path) {
                    open.push(path.clone());
                }
                listing.nodes.push(TreeNode { path, kind });
            }
        }
        listing.nodes.sort();
        Ok(listing)
    }
}

#[cfg(unix)]
mod system {
    use std::ffi::OsString;
    use std::ops::ControlFlow;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
    use rustix::io::Errno;

    use super::{EntryKind, File, OpenedFile, Path, RootError, TreeReader, io};
    use crate::beneath::{Beneath, FILE, Mounts};
    use crate::dir::Dir;

    const LISTED: OFlags =
        OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

    pub(super) fn open(path: &Path) -> io::Result<TreeReader> {
        Ok(TreeReader { dir: Beneath::open(path)? })
    }

    impl TreeReader {
        pub(super) fn children(&self, path: &str) -> io::Result<Vec<(OsString, EntryKind)>> {
            let fd = match path {
                "" => openat(&self.dir.dir, ".", LISTED, Mode::empty())?,
                path => self.dir.open_strict(path, LISTED, Mounts::Enter)?,
            };
            let mut children = Vec::new();
            let at = fd.try_clone()?;
            Dir::from_fd(fd).for_each_child(|child| {
                let kind = match child.kind {
                    EntryKind::Unknown => kind_of(&at, &child.name),
                    kind => kind,
                };
                children.push((child.name, kind));
                ControlFlow::Continue(())
            })?;
            Ok(children)
        }

        /// Opens the regular file at `path`, whose names are checked: none is `..` or empty.
        pub fn open_file(&self, path: &str) -> Result<OpenedFile, RootError> {
            let fd = self.dir.open_strict(path, FILE, Mounts::Enter).map_err(refused)?;
            let stat = fstat(&fd).map_err(refused)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(RootError::NotRegular);
            }
            #[allow(
                clippy::unnecessary_cast,
                clippy::cast_lossless,
                reason = "the types differ between Unix systems"
            )]
            Ok(OpenedFile {
                file: File::from(fd),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                executable: stat.st_mode & 0o100 != 0,
                links: stat.st_nlink as u64,
            })
        }
    }

    fn kind_of(dir: &std::os::fd::OwnedFd, name: &std::ffi::OsStr) -> EntryKind {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => EntryKind::File,
            Ok(FileType::Directory) => EntryKind::Directory,
            Ok(FileType::Symlink) => EntryKind::Link,
            _ => EntryKind::Special,
        }
    }

    fn refused(error: Errno) -> RootError {
        match error {
            Errno::NOENT | Errno::NOTDIR => RootError::Missing,
            Errno::LOOP | Errno::XDEV => RootError::Escapes,
            Errno::NXIO | Errno::OPNOTSUPP => RootError::NotRegular,
            other => RootError::Io(other.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::ffi::OsString;
    use std::fs;

    use super::{EntryKind, OpenedFile, Path, RootError, TreeReader, io};
    use crate::file::{ReadError, open_regular};

    pub(super) fn open(path: &Path) -> io::Result<TreeReader> {
        if fs::metadata(path)?.is_dir() {
            Ok(TreeReader { dir: path.to_owned() })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    impl TreeReader {
        pub(super) fn children(&self, path: &str) -> io::Result<Vec<(OsString, EntryKind)>> {
            let entries = fs::read_dir(self.dir.join(path))?;
            entries
                .map(|entry| entry.and_then(|it| Ok((it.file_name(), it.file_type()?.into()))))
                .collect()
        }

        /// Opens the regular file at `path`, whose names are checked: none is `..` or empty.
        pub fn open_file(&self, path: &str) -> Result<OpenedFile, RootError> {
            let mut at = self.dir.clone();
            for name in path.split('/') {
                at.push(name);
                if crate::is_link(&at) {
                    return Err(RootError::Escapes);
                }
            }
            let (file, size) = open_regular(&at).map_err(|error| match error {
                ReadError::NotRegular => RootError::NotRegular,
                ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                    RootError::Missing
                }
                ReadError::Io(error) => RootError::Io(error),
                ReadError::TooLarge(limit) => RootError::TooLarge(limit),
            })?;
            Ok(OpenedFile { file, size, executable: false, links: 1 })
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_is_listed_with_its_links_and_read_without_them() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().join("top");
        fs::create_dir_all(top.join("a/b")).expect("dirs");
        fs::create_dir_all(top.join("closed")).expect("dirs");
        fs::write(top.join("a/b/run.sh"), "#!").expect("writes");
        fs::write(top.join("closed/x"), "x").expect("writes");
        fs::set_permissions(top.join("a/b/run.sh"), PermissionsExt::from_mode(0o755))
            .expect("chmod");
        symlink("/etc/hostname", top.join("link")).expect("link");
        symlink("a", top.join("dir")).expect("link");
        let tree = TreeReader::open(&top).expect("opens");
        let listing = tree.list(100, |path| path != "closed").expect("lists");
        let nodes: Vec<(&str, EntryKind)> =
            listing.nodes.iter().map(|node| (node.path.as_str(), node.kind)).collect();
        assert_eq!(
            nodes,
            [
                ("a", EntryKind::Directory),
                ("a/b", EntryKind::Directory),
                ("a/b/run.sh", EntryKind::File),
                ("closed", EntryKind::Directory),
                ("dir", EntryKind::Link),
                ("link", EntryKind::Link),
            ]
        );
        assert!(!listing.truncated && tree.list(3, |_| true).expect("lists").truncated);
        let opened = tree.open_file("a/b/run.sh").expect("opens");
        assert_eq!((opened.size, opened.executable, opened.links), (2, true, 1));
        for bad in ["link", "dir/b/run.sh"] {
            assert!(matches!(tree.open_file(bad), Err(RootError::Escapes)), "{bad}");
        }
        assert!(matches!(tree.open_file("a"), Err(RootError::NotRegular)));
        assert!(matches!(tree.open_file("none"), Err(RootError::Missing)));
    }
}
