//! Directories that appear, move and go whole: a reader sees all of one or nothing.
//!
//! What is new is built in a hidden directory beside its place and renamed into it; nothing that
//! stands there is ever replaced. Where a rename cannot cross to another file system, a copy is made
//! whole before the original goes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::part_dir::PartDir;
use crate::private::create_private_dir;

/// A file of a directory that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Its path below the directory, with `/` between names.
    pub path: &'a str,
    /// What it holds.
    pub bytes: &'a [u8],
    /// Whether it may be executed.
    pub executable: bool,
}

/// How a directory or link was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MoveResult {
    /// By one rename.
    Renamed,
    /// By a copy to another file system. What could not be removed of the original has this name.
    Copied {
        /// The rest of the original.
        left: Option<PathBuf>,
    },
}

/// Makes the directory `target` with `files`. Fails when anything stands there; then, and on any
/// other failure, nothing is left behind.
pub fn create_dir_whole(target: &Path, files: &[NewFile<'_>]) -> io::Result<()> {
    if fs::symlink_metadata(target).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let made = make_parents(target)?;
    build(target, files).inspect_err(|_| undo(&made))
}

fn build(target: &Path, files: &[NewFile<'_>]) -> io::Result<()> {
    let staged = PartDir::beside(target)?;
    let dir = staged.inner();
    fs::create_dir(&dir)?;
    for file in files {
        let path = dir.join(file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(if file.executable { 0o777 } else { 0o666 });
        }
        let mut out = options.open(&path)?;
        out.write_all(file.bytes)?;
        out.sync_all()?;
    }
    rename_new(&dir, target)
}

/// Makes the directory at `path`, whose parent is there; whether it is new.
pub fn create_dir(path: &Path) -> io::Result<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the folder that `path` will stand in, and those above it.
pub fn create_folder_of(path: &Path) -> io::Result<()> {
    make_parents(path).map(|_| ())
}

/// Removes the directory at `path` if there is nothing in it.
pub fn remove_empty_dir(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Renames a directory, or whatever stands at `from`, to a place on the same file system where nothing
/// stands.
pub fn rename_dir(from: &Path, to: &Path) -> io::Result<()> {
    rename_new(from, to)
}

/// Renames the file at `from` over what stands at `to`, a link as itself.
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Makes what stands at two places change places, so that neither is ever found empty. It fails where
/// the kernel or the file system cannot, and then nothing has moved.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
    {
        let _ = (one, other);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Makes a directory of its own in `folder`, whose name starts with `prefix`. Both are for their
/// owner alone. The caller owns the new one.
pub fn make_dir_for(folder: &Path, prefix: &str) -> io::Result<PathBuf> {
    create_private_dir(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(4);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    Ok(builder.tempdir_in(folder)?.keep())
}

/// Moves a directory (or a link, as a link) to a place where nothing stands. On failure the
/// original is where it was, and nothing is left at the new place.
pub fn move_whole(from: &Path, to: &Path) -> io::Result<MoveResult> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let made = make_parents(to)?;
    match rename_new(from, to) {
        Ok(()) => Ok(MoveResult::Renamed),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_then_remove(from, to).inspect_err(|_| undo(&made))
        }
        Err(error) => {
            undo(&made);
            Err(error)
        }
    }
}

/// Removes a directory with all that is below it, or a link; links are not followed. What is not
/// there is fine.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn copy_then_remove(from: &Path, to: &Path) -> io::Result<MoveResult> {
    let staged = PartDir::beside(to)?;
    let copy = staged.inner();
    copy_tree(from, &copy)?;
    // The original goes by one rename first, so that it is never seen half-removed.
    let aside = PartDir::beside(from)?;
    rename_new(&copy, to)?;
    match rename_new(from, &aside.inner()) {
        Ok(()) => Ok(MoveResult::Copied { left: aside.close() }),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices && can_remove_tree(from) => {
            let left = remove_in_place(from).is_err().then(|| from.to_owned());
            Ok(MoveResult::Copied { left })
        }
        Err(error) => {
            let _ = remove_tree(to);
            Err(error)
        }
    }
}

/// Moves what stands at `from` to `to`, where nothing stands, on the same file system. A directory of a lower layer
/// of an overlay cannot be renamed: it is copied, through `copy`, and then removed. To be called again after a crash:
/// with `to` in place, only the removal is left.
pub fn set_aside(from: &Path, to: &Path, copy: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_err() {
        match rename_new(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            other => return other,
        }
        if !can_remove_tree(from) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        remove_tree(copy)?;
        copy_tree(from, copy)?;
        rename_new(copy, to)?;
    }
    remove_in_place(from)
}

/// Whether this process may remove everything below `path`, as far as the modes say.
fn can_remove_tree(path: &Path) -> bool {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(data) = fs::symlink_metadata(&path) else { return false };
        if !data.is_dir() {
            continue;
        }
        let Ok(entries) = fs::read_dir(&path) else { return false };
        let before = open.len();
        for entry in entries {
            let Ok(entry) = entry else { return false };
            open.push(entry.path());
        }
        if open.len() > before && !may_write(&path) {
            return false;
        }
    }
    true
}

#[cfg(unix)]
fn may_write(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|data| !data.permissions().readonly())
}

/// Removes a skill where it stands. The file that makes it one goes first, so that no scan takes the rest for it.
fn remove_in_place(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|data| data.is_dir()) {
        let _ = fs::remove_file(path.join("SKILL.md"));
    }
    remove_tree(path)
}

/// Copies a directory, a file or a link, as itself, to a place where nothing stands. The caller removes what a
/// failure leaves there. Gives what holds nothing that could be copied: sockets, pipes and devices.
pub fn copy_whole(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    copy_tree(from, to)
}

/// Copies a tree with permissions and times; links stay links. Gives what is neither file, directory nor link: a
/// program that watches a folder leaves its socket there, and that must not keep the folder where it is.
fn copy_tree(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut dirs, mut left) = (Vec::new(), Vec::new());
    let mut open = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = open.pop() {
        let data = fs::symlink_metadata(&from)?;
        if data.is_symlink() {
            copy_link(&from, &to)?;
        } else if data.is_dir() {
            fs::create_dir(&to)?;
            for entry in fs::read_dir(&from)? {
                let name = entry?.file_name();
                open.push((from.join(&name), to.join(&name)));
            }
            dirs.push((to, data));
        } else if data.is_file() {
            fs::copy(&from, &to)?;
            let copy = File::options().read(true).open(&to)?;
            copy.set_modified(data.modified()?)?;
            copy.sync_all()?;
        } else {
            left.push(from);
        }
    }
    // Last, from the inside out: nothing can be put into a directory that is read-only.
    for (dir, data) in dirs.into_iter().rev() {
        fs::set_permissions(&dir, data.permissions())?;
    }
    Ok(left)
}

/// Makes the link `at`, which says `text`, where nothing stands; the directories above it are made too.
pub fn make_link(text: &Path, at: &Path) -> io::Result<()> {
    create_folder_of(at)?;
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(text, at)
    }
    #[cfg(not(unix))]
    {
        let what = format!(
            "{} was to be a link to {}, which is not made here",
            at.display(),
            text.display()
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

#[cfg(not(unix))]
fn copy_link(from: &Path, _: &Path) -> io::Result<()> {
    let what = format!("{} is a link, which cannot be copied here", from.display());
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// The directories above `path` that had to be made, outermost first.
fn make_parents(path: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = path
        .ancestors()
        .skip(1)
        .take_while(|dir| !dir.as_os_str().is_empty() && fs::symlink_metadata(dir).is_err());
    let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    let mut made = Vec::new();
    for dir in missing.into_iter().rev() {
        match fs::create_dir(&dir) {
            Ok(()) => made.push(dir),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                undo(&made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes directories that were made in vain, unless they are in use by now.
fn undo(made: &[PathBuf]) {
    for dir in made.iter().rev() {
        let _ = fs::remove_dir(dir);
    }
}

/// Renames to a place where nothing stands. A plain rename would replace an empty directory.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // This kernel or file system cannot promise it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[NewFile<'_>] = &[
        NewFile { path: "SKILL.md", bytes: b"text", executable: false },
        NewFile { path: "scripts/main.py", bytes: b"#!", executable: true },
    ];

    fn names(dir: &Path) -> Vec<String> {
        crate::read_dir_names(dir).expect("lists")
    }

    #[test]
    fn a_directory_appears_whole_and_replaces_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        let target = dir.path().join("a/b/skill");
        create_dir_whole(&target, FILES).expect("makes it and what is above");
        assert_eq!(names(&target), ["SKILL.md", "scripts"]);
        assert_eq!(names(&dir.path().join("a/b")), ["skill"]);
        let empty = dir.path().join("empty");
        fs::create_dir(&empty).expect("dir");
        for taken in [&target, &empty] {
            let error = create_dir_whole(taken, FILES).expect_err("taken");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(names(&empty).len(), 0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &str| {
                fs::metadata(target.join(path)).expect("there").permissions().mode() & 0o777
            };
            assert_eq!(mode("SKILL.md") & 0o111, 0);
            assert_eq!(mode("scripts/main.py") & 0o100, 0o100);
            assert_eq!(mode("") | 0o022, mode("scripts") | 0o022, "as the user's mask says");
        }
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let dir = tempfile::tempdir().expect("dir");
        let bad = [NewFile { path: "a", bytes: b"", executable: false }; 2];
        assert!(create_dir_whole(&dir.path().join("x/y/skill"), &bad).is_err());
        assert_eq!(names(dir.path()).len(), 0);
        assert!(move_whole(&dir.path().join("none"), &dir.path().join("x/y")).is_err());
        assert_eq!(names(dir.path()).len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_copy_keeps_links_permissions_and_times_and_the_original_goes() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().expect("dir");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        create_dir_whole(&from, FILES).expect("makes it");
        symlink("../secret", from.join("link")).expect("link");
        fs::set_permissions(from.join("scripts"), PermissionsExt::from_mode(0o555)).expect("chmod");
        let before = fs::metadata(from.join("SKILL.md")).expect("there").modified().expect("time");
        // What a rename across file systems falls back to.
        assert_eq!(copy_then_remove(&from, &to).expect("moves"), MoveResult::Copied { left: None });
        assert!(!from.exists());
        assert_eq!(names(dir.path()), ["to"]);
        assert_eq!(fs::read_link(to.join("link")).expect("a link"), Path::new("../secret"));
        let data = fs::metadata(to.join("SKILL.md")).expect("there");
        assert_eq!(data.modified().expect("time"), before);
        let mode = fs::metadata(to.join("scripts")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o555);
        fs::set_permissions(to.join("scripts"), PermissionsExt::from_mode(0o755)).expect("chmod");
    }

    #[test]
    fn what_was_set_aside_by_a_copy_is_removed_by_the_next_try() {
        let dir = tempfile::tempdir().expect("dir");
        let [from, to, copy] = ["from", "to", "copy"].map(|name| dir.path().join(name));
        create_dir_whole(&from, FILES).expect("makes it");
        copy_whole(&from, &to).expect("copies");
        fs::remove_file(from.join("SKILL.md")).expect("removes");
        set_aside(&from, &to, &copy).expect("goes on");
        assert_eq!(names(dir.path()), ["to"]);
        assert_eq!(names(&to), ["SKILL.md", "scripts"]);
        set_aside(&to, &from, &copy).expect("by a rename");
        assert_eq!(names(dir.path()), ["from"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_named_and_does_not_keep_a_folder_where_it_is() {
        let dir = tempfile::tempdir().expect("dir");
        let [from, copy, to] = ["from", "copy", "to"].map(|name| dir.path().join(name));
        create_dir_whole(&from, FILES).expect("makes it");
        let socket = from.join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&socket).expect("socket");
        assert_eq!(copy_whole(&from, &copy).expect("copies"), [socket]);
        assert_eq!(names(&copy), ["SKILL.md", "scripts"]);
        copy_then_remove(&from, &to).expect("moves");
        assert_eq!(names(dir.path()), ["copy", "to"]);
        assert_eq!(names(&to), ["SKILL.md", "scripts"]);
    }
}
