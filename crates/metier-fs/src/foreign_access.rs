//! Whether others could have written what is about to be believed: configuration, trust, answers.
//!
//! Others can write to something that everyone may write, that belongs to an account which is neither
//! this one nor root, or that a group may write which is not this user's own (a umask of 002 with a
//! group for each user is common). An account that can write to a folder can also replace what is in it,
//! unless the folder is sticky and the entry is not theirs; so each folder on the way is judged too.
//! Nothing is judged where the system has no owners and modes.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something on the way to a file that others can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignAccess {
    /// The file or folder that they can write.
    pub path: PathBuf,
    /// Who they are.
    pub writer: ForeignWriter,
}

/// Who can write what is not theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignWriter {
    /// Every account of this machine.
    Everyone,
    /// The account that owns it, by its number.
    Owner(u32),
    /// A group that has other members, by its number.
    Group(u32),
}

impl ForeignAccess {
    /// What is wrong with `file`, in a sentence that has named it already.
    pub fn about(&self, file: &Path) -> String {
        match self.writer {
            _ if self.path != file => self.to_string(),
            ForeignWriter::Everyone => "every account can write to it".to_owned(),
            ForeignWriter::Owner(id) => format!("it belongs to another account ({id})"),
            ForeignWriter::Group(id) => format!("the group {id} can write to it"),
        }
    }

    /// The command that takes the access away.
    pub fn remedy(&self) -> String {
        let path = self.path.to_string_lossy();
        let quoted = format!("'{}'", path.replace('\'', r"'\''"));
        match self.writer {
            ForeignWriter::Everyone => format!("chmod o-w {quoted}"),
            ForeignWriter::Group(_) => format!("chmod g-w {quoted}"),
            ForeignWriter::Owner(_) => format!("chown \"$(id -un)\" {quoted}"),
        }
    }
}

impl fmt::Display for ForeignAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.writer {
            ForeignWriter::Everyone => write!(f, "every account can write to {path}"),
            ForeignWriter::Owner(id) => write!(f, "{path} belongs to another account ({id})"),
            ForeignWriter::Group(id) => write!(f, "the group {id} can write to {path}"),
        }
    }
}

/// The first thing on the way to `path` that others can write, from the file system's root to the file
/// itself and along every link. `None` where there is none, or nothing at `path`.
pub fn writable_by_others(path: &Path) -> Option<ForeignAccess> {
    system::first_foreign(Path::new("/"), path)
}

/// The same, judged from the folder `top` downwards: what is above it concerns all that is below.
pub fn writable_by_others_below(top: &Path, path: &Path) -> Option<ForeignAccess> {
    system::first_foreign(top, path)
}

/// Whether `entry` was put by another account into `folder`, to which everyone can write.
pub fn is_planted(folder: &Path, entry: &Path) -> bool {
    system::is_planted(folder, entry)
}

#[cfg(not(unix))]
mod system {
    use std::path::Path;

    use super::ForeignAccess;

    pub(super) fn is_planted(_: &Path, _: &Path) -> bool {
        false
    }

    pub(super) fn first_foreign(_: &Path, _: &Path) -> Option<ForeignAccess> {
        None
    }
}

#[cfg(unix)]
mod system {
    use std::collections::VecDeque;
    use std::ffi::OsString;
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;
    use std::path::{Component, Path, PathBuf};

    use super::{ForeignAccess, ForeignWriter};
    use crate::accounts::{is_own_group, is_system_owner};

    const STICKY: u32 = 0o1000;
    const GROUP_WRITE: u32 = 0o020;
    const OTHER_WRITE: u32 = 0o002;
    /// Links on one way, as the kernel counts them.
    const MAX_LINKS: usize = 40;

    /// Walks to `path` as the kernel does, and judges every folder that an entry is looked up in, and
    /// what is found at the end.
    pub(super) fn first_foreign(top: &Path, path: &Path) -> Option<ForeignAccess> {
        let (mut at, mut rest) = match path.strip_prefix(top) {
            Ok(below) => (top.to_owned(), names(below)),
            Err(_) => (PathBuf::from("/"), names(path)),
        };
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let entry = fs::symlink_metadata(&next).ok()?;
            // A link may lead out of `top`: what is judged then is the way to its target.
            if at.starts_with(top) || links > 0 {
                let folder = fs::metadata(&at).ok()?;
                let found = replaceable(&at, &folder, &next, &entry);
                if found.is_some() && !is_read_only(&at) {
                    return found;
                }
            }
            if entry.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for name in names(&target).into_iter().rev() {
                    rest.push_front(name);
                }
                continue;
            }
            at = next;
        }
        let found = fs::symlink_metadata(&at).ok()?;
        let writer = own_writer(&found, Owners::Own)?;
        (!is_read_only(&at)).then_some(ForeignAccess { path: at, writer })
    }

    pub(super) fn is_planted(folder: &Path, entry: &Path) -> bool {
        let is_open = fs::metadata(folder).is_ok_and(|found| found.mode() & OTHER_WRITE != 0);
        let is_foreign = || {
            fs::symlink_metadata(entry)
                .is_ok_and(|found| !is_own(found.uid(), Owners::OwnOrUnmapped))
        };
        is_open && is_foreign()
    }

    fn names(path: &Path) -> VecDeque<OsString> {
        let named = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        });
        named.collect()
    }

    /// Which owners are none of the others.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Owners {
        /// This account and root.
        Own,
        /// Also an owner that this user namespace cannot name: in a container without root, `/` and
        /// `/home` belong to one.
        OwnOrUnmapped,
    }

    /// Why others could replace the entry `next` of the folder `at`.
    fn replaceable(
        at: &Path,
        folder: &Metadata,
        next: &Path,
        entry: &Metadata,
    ) -> Option<ForeignAccess> {
        let writer = own_writer(folder, Owners::OwnOrUnmapped)?;
        let by_mode = !matches!(writer, ForeignWriter::Owner(_));
        // The entries of a sticky folder are their owners'. One that another account made there is
        // not safe for that.
        if folder.mode() & STICKY != 0 && by_mode {
            let writer = ForeignWriter::Owner(entry.uid());
            let is_own = is_own(entry.uid(), Owners::Own);
            return (!is_own).then(|| ForeignAccess { path: next.to_owned(), writer });
        }
        Some(ForeignAccess { path: at.to_owned(), writer })
    }

    fn own_writer(found: &Metadata, owners: Owners) -> Option<ForeignWriter> {
        if !is_own(found.uid(), owners) {
            return Some(ForeignWriter::Owner(found.uid()));
        }
        if found.mode() & OTHER_WRITE != 0 {
            return Some(ForeignWriter::Everyone);
        }
        let by_group = found.mode() & GROUP_WRITE != 0 && !is_own_group(found.gid());
        by_group.then(|| ForeignWriter::Group(found.gid()))
    }

    fn is_own(owner: u32, owners: Owners) -> bool {
        owner == 0
            || owner == rustix::process::geteuid().as_raw()
            || (owners == Owners::OwnOrUnmapped && is_system_owner(owner))
    }

    /// A file system that is mounted read-only is not written, whatever the modes say: mounted
    /// configuration of a container often has 0777.
    fn is_read_only(path: &Path) -> bool {
        rustix::fs::statvfs(path)
            .is_ok_and(|found| found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    }

    fn shared(path: &Path) -> Option<(String, ForeignWriter)> {
        writable_by_others(path).map(|found| {
            let name = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, found.writer)
        })
    }

    #[test]
    fn a_file_is_as_safe_as_itself_and_every_folder_on_the_way() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().canonicalize().expect("a path");
        let (dir, file) = (top.join("dir"), top.join("dir/file"));
        fs::create_dir(&dir).expect("dir");
        fs::write(&file, "x").expect("writes");
        for path in [&dir, &file] {
            chmod(path, 0o700);
        }
        assert_eq!(shared(&file), None);
        assert_eq!(shared(&dir.join("none")), None);
        let everyone = |name: &str| Some((name.to_owned(), ForeignWriter::Everyone));
        chmod(&file, 0o602);
        assert_eq!(shared(&file), everyone("file"));
        chmod(&file, 0o600);
        chmod(&dir, 0o777);
        assert_eq!(shared(&file), everyone("dir"));
        // Sticky, and the file is ours: no one else can replace it.
        chmod(&dir, 0o1777);
        assert_eq!(shared(&file), None);
        chmod(&dir, 0o700);
        // Along a link: where it stands and where it leads.
        let open = top.join("open");
        fs::create_dir(&open).expect("dir");
        symlink("../dir/file", open.join("link")).expect("link");
        assert_eq!(shared(&open.join("link")), None);
        chmod(&open, 0o777);
        assert_eq!(shared(&open.join("link")), everyone("open"));
        chmod(&open, 0o755);
        chmod(&file, 0o666);
        assert_eq!(shared(&open.join("link")), everyone("file"));
        symlink("loop", open.join("loop")).expect("link");
        assert_eq!(shared(&open.join("loop")), None, "there is nothing to believe");
    }

    #[test]
    fn from_a_folder_downwards_what_is_above_does_not_count() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().canonicalize().expect("a path");
        let project = top.join("open/project");
        fs::create_dir_all(project.join(".agent")).expect("dirs");
        for (path, mode) in
            [("open", 0o777), ("open/project", 0o755), ("open/project/.agent", 0o755)]
        {
            chmod(&top.join(path), mode);
        }
        let inside = project.join(".agent");
        assert!(writable_by_others(&inside).is_some());
        assert_eq!(writable_by_others_below(&project, &inside), None);
        chmod(&project, 0o757);
        assert!(writable_by_others_below(&project, &inside).is_some());
    }

    #[test]
    fn what_another_account_made_in_a_sticky_folder_is_theirs() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().canonicalize().expect("a path");
        let planted = top.join(".agent");
        fs::create_dir(&planted).expect("dir");
        chmod(&top, 0o1777);
        if rustix::fs::chown(&planted, Some(rustix::fs::Uid::from_raw(12345)), None).is_err() {
            metier_testkit::not_tested("only root can give a file to another account");
            return;
        }
        for mode in [0o1777, 0o755] {
            chmod(&top, mode);
            assert_eq!(shared(&planted), Some((".agent".to_owned(), ForeignWriter::Owner(12345))));
        }
        let found = writable_by_others(&planted).expect("shared");
        assert_eq!(found.remedy(), format!("chown \"$(id -un)\" '{}'", planted.display()));
    }

    #[test]
    fn a_group_of_ones_own_may_write_and_another_may_not() {
        let tmp = tempfile::tempdir().expect("dir");
        let file = tmp.path().canonicalize().expect("a path").join("file");
        fs::write(&file, "x").expect("writes");
        let given = rustix::fs::chown(&file, None, Some(rustix::fs::Gid::from_raw(54321)));
        chmod(&file, 0o660);
        if given.is_err() {
            metier_testkit::not_tested("only root can give a file to another group");
            return;
        }
        assert_eq!(shared(&file), Some(("file".to_owned(), ForeignWriter::Group(54321))));
        // Root's group is root's own.
        rustix::fs::chown(&file, None, Some(rustix::fs::Gid::ROOT)).expect("root");
        chmod(&file, 0o660);
        assert_eq!(shared(&file), None);
    }
}
