//! Removing a folder of ours that something else could write into.
//!
//! A script can close folders to their owner (mode 0) and nest them deeper than any path is long. So
//! everything goes through descriptors: a closed folder is opened again, nothing is reached by a path of
//! more than one name, no link is followed, and the depth costs neither stack nor descriptors.

use std::io;
use std::path::Path;

#[cfg_attr(unix, path = "own_tree_unix.rs")]
#[cfg_attr(not(unix), path = "own_tree_portable.rs")]
pub(crate) mod system;

/// Removes what stands at `path`, with all that is below it. What is not there is fine. Stops when `stop`
/// says so, which is an error of the kind `TimedOut`: the next attempt continues.
pub fn remove_own_tree(path: &Path, stop: &dyn Fn() -> bool) -> io::Result<()> {
    match system::remove(path, stop) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Lets the owner list and change a folder again. A link at `path` is an error.
pub fn open_own_dir(path: &Path) -> io::Result<()> {
    system::open_closed(path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    const NEVER: &dyn Fn() -> bool = &|| false;

    fn close(path: PathBuf) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o0)).expect("chmod");
    }

    #[test]
    fn closed_folders_go_and_what_links_lead_to_stays() {
        if metier_testkit::ran_unprivileged(
            "own_tree::tests::closed_folders_go_and_what_links_lead_to_stays",
        ) {
            return;
        }
        let tmp = tempfile::tempdir().expect("dir");
        let (top, other) = (tmp.path().join("top"), tmp.path().join("other"));
        std::fs::create_dir_all(top.join("a/b/c")).expect("dirs");
        std::fs::create_dir_all(top.join("empty")).expect("dirs");
        std::fs::create_dir(&other).expect("dir");
        for file in ["top/a/file", "top/a/b/c/file", "other/file"] {
            std::fs::write(tmp.path().join(file), "x").expect("writes");
        }
        symlink(&other, top.join("a/b/link")).expect("links");
        assert!(std::process::Command::new("mkfifo").arg(top.join("a/pipe")).status().is_ok());
        for closed in ["a/b/c", "a/b", "a", "empty", ""] {
            close(top.join(closed));
        }
        assert!(crate::remove_tree(&top).is_err(), "the plain way cannot");
        remove_own_tree(&top, NEVER).expect("removes");
        remove_own_tree(&top, NEVER).expect("what is gone is fine");
        assert_eq!(crate::read_dir_names(tmp.path()).expect("lists"), ["other"]);
        assert!(other.join("file").exists());
        std::fs::create_dir(&top).expect("dir");
        close(top.clone());
        open_own_dir(&top).expect("opens");
        std::fs::write(top.join("file"), "x").expect("writes");
        symlink(&top, tmp.path().join("link")).expect("links");
        assert!(open_own_dir(&tmp.path().join("link")).is_err());
        remove_own_tree(&tmp.path().join("link"), NEVER).expect("removes the link");
        assert!(top.join("file").exists());
        let stopped = remove_own_tree(&top, &|| true).expect_err("stops");
        assert_eq!(stopped.kind(), io::ErrorKind::TimedOut);
        remove_own_tree(&top, NEVER).expect("continues");
        assert!(!top.exists());
    }

    #[test]
    fn no_depth_is_too_deep() {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().join("top");
        std::fs::create_dir(&top).expect("dir");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, &top, flags, Mode::empty()).expect("opens");
        let name = "n".repeat(100);
        for _ in 0..3000 {
            mkdirat(&at, "beside", Mode::from_raw_mode(0o700)).expect("makes");
            mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o700)).expect("makes");
            at = openat(&at, name.as_str(), flags, Mode::empty()).expect("opens");
        }
        drop(at);
        remove_own_tree(&top, NEVER).expect("removes");
        assert!(!top.exists());
    }
}
