//! Every name below some directories, each seen once: what a search for key files needs.
//!
//! Names are bytes, links are reported and never followed, and no folder is left out. A folder that was
//! not searched to its end is given back with the reason: the caller must treat it as if it held
//! anything. Folders near the top come first, so that a limit costs the deepest ones.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::head::EntryKind;

/// Entries that one thread looks at before a second one is worth its start.
const ENTRIES_ALONE: usize = 4_000;

/// Bytes of a directory's path. Below a longer one a file could have a path that no system call takes.
const MAX_PATH_BYTES: usize = 3_800;

/// How often within one directory the caller is asked whether to stop.
const STOP_INTERVAL: usize = 4_096;

/// How far a search goes.
#[derive(Clone, Copy)]
pub struct NameLimits<'a> {
    /// Entries of all directories together.
    pub entries: usize,
    /// Asked now and then; what is not searched by the time it says yes stays unsearched.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// An entry of a directory below one of the roots.
#[derive(Debug, Clone, Copy)]
pub struct NameBelow<'a> {
    /// The directory.
    pub dir: &'a Path,
    /// The entry's name in it.
    pub name: &'a OsStr,
    /// What it is; a link as itself.
    pub kind: EntryKind,
}

/// Why a directory was not searched to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsearched {
    /// There were too many entries before it, or in it.
    TooMany,
    /// It cannot be listed.
    Unreadable,
    /// Its path is too long.
    TooDeep,
    /// The caller said to stop.
    Stopped,
}

impl fmt::Display for Unsearched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "there are too many files to search",
            Self::Unreadable => "it cannot be read",
            Self::TooDeep => "its path is too long",
            Self::Stopped => "searching it took too long",
        })
    }
}

/// What a search saw.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamesVisited {
    /// Entries.
    pub entries: usize,
    /// Directories that were not searched to their end, sorted by path.
    pub unsearched: Vec<(PathBuf, Unsearched)>,
}

/// Shows every entry below `roots` to `visit`, which says whether a directory is entered. It is called
/// from two threads when there is much to see.
pub fn visit_names(
    roots: &[PathBuf],
    limits: NameLimits<'_>,
    visit: &(dyn Fn(NameBelow<'_>) -> bool + Sync),
) -> NamesVisited {
    let queue = Queue { waiting: roots.iter().cloned().collect(), busy: 0, unsearched: Vec::new() };
    let search = Search {
        queue: Mutex::new(queue),
        changed: Condvar::new(),
        entries: AtomicUsize::new(0),
        limits,
        visit,
    };
    let mut buffer = EntryBuffer::default();
    while search.entries.load(Ordering::Relaxed) < ENTRIES_ALONE {
        if !search.step(&mut buffer) {
            return search.finish();
        }
    }
    std::thread::scope(|scope| {
        let helper = std::thread::Builder::new().spawn_scoped(scope, || {
            let mut buffer = EntryBuffer::default();
            while search.step(&mut buffer) {}
        });
        // Where no thread can be started, this one does it all.
        drop(helper);
        while search.step(&mut buffer) {}
    });
    search.finish()
}

struct Search<'a> {
    queue: Mutex<Queue>,
    changed: Condvar,
    entries: AtomicUsize,
    limits: NameLimits<'a>,
    visit: &'a (dyn Fn(NameBelow<'_>) -> bool + Sync),
}

struct Queue {
    waiting: VecDeque<PathBuf>,
    /// Directories that are being searched, from which more may come.
    busy: usize,
    unsearched: Vec<(PathBuf, Unsearched)>,
}

impl Search<'_> {
    /// Searches the next directory; false when there is none left and none can come.
    fn step(&self, buffer: &mut EntryBuffer) -> bool {
        let Some(dir) = self.next() else { return false };
        let mut below = Vec::new();
        let end = self.dir(&dir, buffer, &mut below);
        let mut queue = self.lock();
        queue.busy -= 1;
        match end {
            Ok(()) => queue.waiting.extend(below),
            // What is below it goes with it.
            Err(why) => queue.unsearched.push((dir, why)),
        }
        self.changed.notify_all();
        true
    }

    fn next(&self) -> Option<PathBuf> {
        let mut queue = self.lock();
        loop {
            if let Some(dir) = queue.waiting.pop_front() {
                queue.busy += 1;
                return Some(dir);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn dir(
        &self,
        dir: &Path,
        buffer: &mut EntryBuffer,
        below: &mut Vec<PathBuf>,
    ) -> Result<(), Unsearched> {
        if self.entries.load(Ordering::Relaxed) > self.limits.entries {
            return Err(Unsearched::TooMany);
        }
        if dir.as_os_str().len() > MAX_PATH_BYTES {
            return Err(Unsearched::TooDeep);
        }
        let mut fault = (self.limits.stop)().then_some(Unsearched::Stopped);
        let mut seen = 0;
        let listed = each_entry(dir, buffer, &mut |name, kind| {
            if fault.is_some() {
                return false;
            }
            seen += 1;
            if self.entries.fetch_add(1, Ordering::Relaxed) >= self.limits.entries {
                fault = Some(Unsearched::TooMany);
            } else if seen % STOP_INTERVAL == 0 && (self.limits.stop)() {
                fault = Some(Unsearched::Stopped);
            } else if (self.visit)(NameBelow { dir, name, kind }) && kind == EntryKind::Directory {
                below.push(dir.join(name));
            }
            fault.is_none()
        });
        match (fault, listed) {
            (Some(fault), _) => Err(fault),
            (None, Ok(())) => Ok(()),
            // What went away meanwhile holds nothing.
            (None, Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            (None, Err(_)) => Err(Unsearched::Unreadable),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(self) -> NamesVisited {
        let queue = self.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut unsearched = queue.unsearched;
        unsearched.sort_unstable();
        NamesVisited { entries: self.entries.into_inner(), unsearched }
    }
}

/// Room for entries as the kernel gives them, used again for the next directory.
#[derive(Default)]
struct EntryBuffer {
    #[cfg(target_os = "linux")]
    bytes: Vec<u8>,
}

/// Shows the entries of a directory until `found` says that it has enough. A link is no directory.
#[cfg(target_os = "linux")]
fn each_entry(
    dir: &Path,
    buffer: &mut EntryBuffer,
    found: &mut dyn FnMut(&OsStr, EntryKind) -> bool,
) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, openat, statat};
    /// A call of the kernel for most directories, and few for large ones.
    const BUFFER_BYTES: usize = 64 << 10;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(rustix::fs::CWD, dir, flags | OFlags::NONBLOCK, Mode::empty())?;
    buffer.bytes.reserve(BUFFER_BYTES);
    let mut entries = RawDir::new(&fd, buffer.bytes.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        let kind = match kind {
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            FileType::RegularFile => EntryKind::File,
            FileType::Unknown => EntryKind::Unknown,
            _ => EntryKind::Special,
        };
        if !found(OsStr::from_bytes(name.to_bytes()), kind) {
            break;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_entry(
    dir: &Path,
    _: &mut EntryBuffer,
    found: &mut dyn FnMut(&OsStr, EntryKind) -> bool,
) -> io::Result<()> {
    if !crate::file::is_real_dir(dir) {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if !found(&entry.file_name(), entry.file_type()?.into()) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

    fn seen(roots: &[PathBuf], limits: NameLimits<'_>) -> (BTreeSet<PathBuf>, NamesVisited) {
        let names = Mutex::new(BTreeSet::new());
        let visited = visit_names(roots, limits, &|found| {
            names.lock().expect("a lock").insert(found.dir.join(found.name))
        });
        (names.into_inner().expect("a lock"), visited)
    }

    #[test]
    fn every_name_is_seen_once_whatever_its_bytes_and_no_link_is_followed() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().join("top");
        let odd = top.join(OsStr::from_bytes(b"a\xff")).join(".git/x");
        std::fs::create_dir_all(&odd).expect("dirs");
        std::fs::write(odd.join(".env"), "").expect("writes");
        std::fs::create_dir(tmp.path().join("other")).expect("dir");
        std::fs::write(tmp.path().join("other/file"), "").expect("writes");
        std::os::unix::fs::symlink("../other", top.join("link")).expect("links");
        let limits = NameLimits { entries: 100, stop: NEVER };
        let (names, visited) = seen(std::slice::from_ref(&top), limits);
        let expected = [odd.join(".env"), odd.clone(), odd.parent().expect("one").to_owned()];
        let expected =
            expected.into_iter().chain([top.join(OsStr::from_bytes(b"a\xff")), top.join("link")]);
        assert_eq!(names, expected.collect());
        assert_eq!(visited, NamesVisited { entries: 5, unsearched: Vec::new() });
        let (names, visited) = seen(&[top.join("link")], limits);
        assert!(names.is_empty(), "{names:?}");
        assert_eq!(visited.unsearched, [(top.join("link"), Unsearched::Unreadable)]);
    }

    #[test]
    fn many_folders_are_searched_by_two_threads_and_none_is_lost() {
        let tmp = tempfile::tempdir().expect("dir");
        for outer in 0..30 {
            for inner in 0..10 {
                let dir = tmp.path().join(format!("{outer}/{inner}"));
                std::fs::create_dir_all(&dir).expect("dirs");
                for file in 0..20 {
                    std::fs::write(dir.join(file.to_string()), "").expect("writes");
                }
            }
        }
        let all = 30 + 300 + 6_000;
        let roots = [tmp.path().to_owned()];
        let (names, visited) = seen(&roots, NameLimits { entries: all, stop: NEVER });
        assert_eq!((names.len(), visited.entries), (all, all));
        assert_eq!(visited.unsearched, []);
        let (_, visited) = seen(&roots, NameLimits { entries: all - 1, stop: NEVER });
        assert_eq!(visited.unsearched.len(), 1, "{visited:?}");
        assert_eq!(visited.unsearched[0].1, Unsearched::TooMany);
        let (names, visited) = seen(&roots, NameLimits { entries: 40, stop: NEVER });
        assert!(names.iter().all(|name| name.strip_prefix(tmp.path()).is_ok()));
        // The top and its first folder were searched; the others were not, nor what is below the first.
        assert_eq!(visited.unsearched.len(), 29 + 10, "{visited:?}");
        let (_, visited) = seen(&roots, NameLimits { entries: all, stop: &|| true });
        assert_eq!(visited.unsearched, [(tmp.path().to_owned(), Unsearched::Stopped)]);
    }

    #[test]
    fn a_path_that_no_call_takes_is_given_back_as_unsearched() {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let tmp = tempfile::tempdir().expect("dir");
        let name = "n".repeat(200);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, tmp.path(), flags, Mode::empty()).expect("opens");
        for _ in 0..30 {
            mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o700)).expect("makes");
            at = openat(&at, name.as_str(), flags, Mode::empty()).expect("opens");
        }
        let limits = NameLimits { entries: 100, stop: NEVER };
        let (_, visited) = seen(&[tmp.path().to_owned()], limits);
        assert_eq!(visited.unsearched.len(), 1, "{visited:?}");
        assert_eq!(visited.unsearched[0].1, Unsearched::TooDeep);
        drop(at);
    }
}
