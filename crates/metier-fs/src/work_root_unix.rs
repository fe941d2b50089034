//! A workspace on Unix: every step through a descriptor, none through a link.
//!
//! A file is moved or replaced by its name in a directory that is held open, so that whatever is
//! swapped above it meanwhile leads nowhere else. A rename never follows a link at its target.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{WorkEntry, WorkListing, WorkPath, WorkRoot, WriteSummary};
use crate::beneath::{Beneath, DIRECTORY, FILE, Mounts};
use crate::dir::Dir;
use crate::held_dir::HeldDir;
use crate::work_error::WorkError;

const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW);
const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

impl WorkRoot {
    pub(super) fn open_dir(path: &Path) -> Result<Self, WorkError> {
        let dir = Beneath::open(path)?;
        if dir.is_file_systems_root() {
            return Err(WorkError::NotADirectory);
        }
        #[cfg(target_os = "linux")]
        let found = crate::beneath::path_of(dir.dir.as_fd());
        #[cfg(not(target_os = "linux"))]
        let found = None;
        let real = found.map_or_else(|| fs::canonicalize(path), Ok)?;
        Ok(Self { real, dir })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn resolve_links(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let fd = match self.dir.open_by_kernel(path.as_str(), flags, resolve) {
            Err(Errno::NOSYS | Errno::PERM) => return self.refuse_links(path),
            Err(Errno::LOOP) => return Err(WorkError::Escapes),
            other => other?,
        };
        // Without `/proc` there is no way to learn where links led.
        let places = (crate::beneath::path_of(self.dir.dir.as_fd()), path_of(&fd));
        let (Some(top), Some(found)) = places else { return self.refuse_links(path) };
        let below = found.strip_prefix(&top).map_err(|_| WorkError::Escapes)?;
        let below = below.to_str().ok_or(WorkError::Escapes)?;
        WorkPath::new(if below.is_empty() { "." } else { below }).map_err(WorkError::Path)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn resolve_links(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        self.refuse_links(path)
    }

    /// The path itself, if no part of it is a link. Parts that are not there are none.
    pub(super) fn refuse_links(&self, path: &WorkPath) -> Result<WorkPath, WorkError> {
        let mut held: Option<OwnedFd> = None;
        for name in path.names() {
            let at = held.as_ref().map_or(self.dir.dir.as_fd(), AsFd::as_fd);
            match statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_link(&stat) => return Err(WorkError::Link),
                Ok(stat) if kind(&stat) != FileType::Directory => break,
                Ok(_) => held = Some(openat(at, name, DIRECTORY, Mode::empty())?),
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(path.clone())
    }

    pub(super) fn open_regular(&self, path: &WorkPath) -> Result<(File, u64), WorkError> {
        let fd = self.dir.open_strict(path.as_str(), FILE, Mounts::Enter)?;
        let stat = fstat(&fd)?;
        if kind(&stat) != FileType::RegularFile {
            return Err(WorkError::NotRegular);
        }
        Ok((File::from(fd), size(&stat)))
    }

    pub(super) fn list_dir(&self, path: &WorkPath, limit: usize) -> Result<WorkListing, WorkError> {
        let fd = self.dir.open_strict(path.as_str(), LISTED, Mounts::Enter)?;
        let sized = fd.try_clone()?;
        let children = Dir::from_fd(fd).children(limit)?;
        let entries = children.names.into_iter().map(|child| {
            let found = statat(&sized, child.name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW);
            let size = found.map_or(0, |stat| size(&stat));
            WorkEntry { name: child.name.to_string_lossy().into_owned(), kind: child.kind, size }
        });
        Ok(WorkListing { entries: entries.collect(), truncated: children.truncated })
    }

    pub(super) fn write_whole(
        &self,
        path: &WorkPath,
        bytes: &[u8],
    ) -> Result<WriteSummary, WorkError> {
        let (above, name) = self.directory_for(path)?;
        let directories = above.made.len();
        match replace(above.last(&self.dir), name, bytes) {
            Ok(created) => Ok(WriteSummary { created, directories }),
            Err(error) => {
                above.undo(&self.dir);
                Err(error)
            }
        }
    }

    pub(super) fn move_file_out(
        &self,
        path: &WorkPath,
        to: &HeldDir,
        name: &str,
    ) -> Result<u64, WorkError> {
        let (above, own) = split(path)?;
        let dir = match above {
            "" => self.dir.dir.try_clone()?,
            above => self.dir.open_strict(above, DIRECTORY, Mounts::Enter)?,
        };
        let before = statat(&dir, own, AtFlags::SYMLINK_NOFOLLOW)?;
        check_regular(&before)?;
        let target = &held(to)?.dir;
        move_new(dir.as_fd(), own, target.as_fd(), name)?;
        // Between the look and the move another process may have put something else there.
        let after = statat(target, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kind(&after) != FileType::RegularFile {
            let _ = move_new(target.as_fd(), name, dir.as_fd(), own);
            return Err(WorkError::Changed);
        }
        Ok(size(&after))
    }

    pub(super) fn move_file_in(
        &self,
        path: &WorkPath,
        from: &HeldDir,
        name: &str,
    ) -> Result<(), WorkError> {
        let source = &held(from)?.dir;
        check_regular(&statat(source, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
        let (above, own) = self.directory_for(path)?;
        let moved = move_new(source.as_fd(), name, above.last(&self.dir), own);
        moved.inspect_err(|_| above.undo(&self.dir))
    }

    /// The directory in which `path` names something, made where it is missing, and that name.
    fn directory_for<'p>(
        &self,
        path: &'p WorkPath,
    ) -> Result<(ParentDirs<'p>, &'p str), WorkError> {
        let mut names: Vec<&str> = path.names().collect();
        let own = names.pop().ok_or(WorkError::NotRegular)?;
        let mut above = ParentDirs { held: Vec::new(), made: Vec::new() };
        for name in names {
            if let Err(error) = above.descend(&self.dir, name) {
                above.undo(&self.dir);
                // A link is no directory to an opening that follows none.
                let at = above.last(&self.dir);
                let link = statat(at, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|s| is_link(&s));
                return Err(if link { WorkError::Link } else { error.into() });
            }
        }
        Ok((above, own))
    }
}

/// The directories above a file, each held open.
struct ParentDirs<'p> {
    held: Vec<OwnedFd>,
    /// Those that were made: how deep, and the name.
    made: Vec<(usize, &'p str)>,
}

impl<'p> ParentDirs<'p> {
    fn at<'a>(&'a self, root: &'a Beneath, depth: usize) -> BorrowedFd<'a> {
        depth.checked_sub(1).and_then(|at| self.held.get(at)).map_or(root.dir.as_fd(), AsFd::as_fd)
    }

    fn last<'a>(&'a self, root: &'a Beneath) -> BorrowedFd<'a> {
        self.at(root, self.held.len())
    }

    fn descend(&mut self, root: &Beneath, name: &'p str) -> Result<(), Errno> {
        let dir = match openat(self.last(root), name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(self.last(root), name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => self.made.push((self.held.len(), name)),
                    // Another process was faster.
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                openat(self.last(root), name, DIRECTORY, Mode::empty())?
            }
            other => other?,
        };
        self.held.push(dir);
        Ok(())
    }

    /// Removes directories that were made in vain, unless they are in use by now.
    fn undo(&self, root: &Beneath) {
        for (depth, name) in self.made.iter().rev() {
            let _ = unlinkat(self.at(root, *depth), *name, AtFlags::REMOVEDIR);
        }
    }
}

/// Puts a file with `bytes` at `name`; tells whether it is new.
fn replace(dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<bool, WorkError> {
    let before = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(stat) = &before {
        check_regular(stat)?;
        if stat.st_nlink > 1 {
            return Err(WorkError::HardLink);
        }
    }
    let (aside, file) = new_file(dir)?;
    let put = || -> Result<(), WorkError> {
        let mut file = file;
        file.write_all(bytes)?;
        if let Some(stat) = &before {
            // Never more than the plain permissions: a new text is no program of another user.
            fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
        file.sync_data()?;
        match before {
            Some(_) => renameat(dir, aside.as_str(), dir, name)?,
            None => rename_new(dir, &aside, dir, name)?,
        }
        Ok(())
    };
    put().inspect_err(|_| {
        let _ = unlinkat(dir, aside.as_str(), AtFlags::empty());
    })?;
    Ok(before.is_none())
}

/// A file with an unused name, in `dir`.
fn new_file(dir: BorrowedFd<'_>) -> Result<(String, File), Errno> {
    loop {
        let name = format!(".metier-{:016x}", RandomState::new().build_hasher().finish());
        match openat(dir, name.as_str(), NEW_FILE, Mode::from_raw_mode(0o666)) {
            Ok(fd) => return Ok((name, File::from(fd))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Moves a regular file to an unused name, to another file system by a copy.
fn move_new(
    from: BorrowedFd<'_>,
    name: &str,
    to: BorrowedFd<'_>,
    new: &str,
) -> Result<(), WorkError> {
    match rename_new(from, name, to, new) {
        Err(Errno::XDEV) => {}
        other => return Ok(other?),
    }
    let source = openat(from, name, FILE, Mode::empty())?;
    let stat = fstat(&source)?;
    check_regular(&stat)?;
    let (aside, copy) = new_file(to)?;
    let put = || -> Result<(), WorkError> {
        let (mut source, mut copy) = (File::from(source), copy);
        io::copy(&mut source, &mut copy)?;
        fchmod(&copy, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        copy.sync_all()?;
        Ok(rename_new(to, &aside, to, new)?)
    };
    put().inspect_err(|_| {
        let _ = unlinkat(to, aside.as_str(), AtFlags::empty());
    })?;
    let same = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino));
    let removed = if same { unlinkat(from, name, AtFlags::empty()) } else { Err(Errno::STALE) };
    removed.map_err(|error| {
        let _ = unlinkat(to, new, AtFlags::empty());
        if error == Errno::STALE { WorkError::Changed } else { error.into() }
    })
}

/// Renames to an unused name.
fn rename_new(
    from: BorrowedFd<'_>,
    name: &str,
    to: BorrowedFd<'_>,
    new: &str,
) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
            // This kernel or file system cannot promise it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return other,
        }
    }
    if statat(to, new, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Errno::EXIST);
    }
    renameat(from, name, to, new)
}

/// The descriptor of a directory that is there.
fn held(dir: &HeldDir) -> Result<&Beneath, WorkError> {
    Ok(dir.handle().map_err(io::Error::from)?.beneath())
}

/// The directories above the file, and its name.
fn split(path: &WorkPath) -> Result<(&str, &str), WorkError> {
    if path.is_root() {
        return Err(WorkError::NotRegular);
    }
    Ok(path.as_str().rsplit_once('/').unwrap_or(("", path.as_str())))
}

fn check_regular(stat: &Stat) -> Result<(), WorkError> {
    match kind(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(WorkError::Link),
        _ => Err(WorkError::NotRegular),
    }
}

fn is_link(stat: &Stat) -> bool {
    kind(stat) == FileType::Symlink
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn path_of(fd: &OwnedFd) -> Option<std::path::PathBuf> {
    crate::beneath::path_of(fd.as_fd())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn path(text: &str) -> WorkPath {
        WorkPath::new(text).expect("a checked path")
    }

    #[test]
    fn both_ways_of_opening_refuse_links_and_agree() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().join("work");
        fs::create_dir_all(top.join("a/b")).expect("dirs");
        fs::write(top.join("a/b/f"), "text").expect("writes");
        fs::write(tmp.path().join("secret"), "secret").expect("writes");
        symlink("../secret", top.join("out")).expect("link");
        symlink("a/b", top.join("in")).expect("link");
        let root = WorkRoot::open(&top).expect("opens");
        assert!(root.dir.open_stepwise("a/b/f", FILE).is_ok());
        assert_eq!(root.read(&path("a/b/f"), 10).expect("reads"), b"text");
        for link in ["out", "in/f"] {
            assert!(root.dir.open_stepwise(link, FILE).is_err(), "{link}");
            assert!(matches!(root.read(&path(link), 10), Err(WorkError::Link)), "{link}");
            // What `resolve` falls back to where there is no way to learn where links lead.
            assert!(matches!(root.refuse_links(&path(link)), Err(WorkError::Link)), "{link}");
        }
        #[cfg(target_os = "linux")]
        assert_eq!(root.resolve(&path("in/f")).expect("stays").as_str(), "a/b/f");
        assert!(root.resolve(&path("out")).is_err());
        assert!(matches!(root.read(&path("a/b/f"), 3), Err(WorkError::TooLarge(3))));
        assert!(WorkRoot::open(Path::new("/")).is_err());
    }

    #[test]
    fn a_write_that_fails_leaves_no_directory_behind() {
        let tmp = tempfile::tempdir().expect("dir");
        let root = WorkRoot::open(tmp.path()).expect("opens");
        fs::write(tmp.path().join("file"), "x").expect("writes");
        assert!(root.write(&path("file/below"), b"").is_err());
        let link = tmp.path().join("link");
        symlink("nowhere", &link).expect("link");
        assert!(matches!(root.write(&path("link/deep/f"), b""), Err(WorkError::Link)));
        let missing = HeldDir::at(&tmp.path().join("none"));
        assert!(root.move_in(&path("new/deep/f"), &missing, "f").is_err());
        assert!(root.move_in(&path("new/deep/f"), &HeldDir::at(tmp.path()), "none").is_err());
        assert!(!tmp.path().join("new").exists());
        fs::create_dir(tmp.path().join("new")).expect("dir");
        assert!(root.write(&path("new"), b"").is_err());
        assert!(matches!(root.write(&path(".git/config"), b""), Err(WorkError::Path(_))));
        assert!(!tmp.path().join(".git").exists());
    }
}
