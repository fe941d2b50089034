//! Changes of mode, owner and times for a script of the medium tier, by the supervisor in its place.
//!
//! Landlock does not judge these calls, and a filter sees no paths: unhindered, `chmod` opens the user's keys
//! to other accounts. So the kernel asks here, and the change is made if its object lies in a folder that the
//! script may write, and refused (EPERM) if not. Nothing is ever let through to the kernel: another thread
//! could change the path after it was judged.
//!
//! What is meant is opened first, as the kernel would open it for the script, but without any right on it
//! (`O_PATH`). Where it then lies is only a claim, so it is opened once more from the writable folder down, through
//! no link, which the kernel guarantees; the change is made on that descriptor, if it is the same object. The
//! supervisor has no capabilities here, so it may change what the script may and nothing else.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, RawMode, ResolveFlags, Stat, Timespec, Timestamps,
    UTIME_NOW, Uid, chmod, chownat, fstat, open, openat2, readlink, utimensat,
};
use rustix::io::{Errno, Result};

use super::listener::{Listener, PendingCall};
use crate::plan::RunPlan;

/// The longest path that the kernel takes, with its end.
const PATH_BYTES: usize = 4096;

/// The folders in which a script may change things.
pub(super) struct WritableRoots {
    roots: Vec<(PathBuf, OwnedFd)>,
}

/// One change, as it was asked for.
struct Change {
    object: Object,
    kind: ChangeKind,
}

/// What is to be changed.
enum Object {
    Descriptor(i32),
    Path { base: i32, path: PathBuf, follow: bool },
}

enum ChangeKind {
    Mode(RawMode),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
}

impl WritableRoots {
    pub(super) fn open(plan: &RunPlan) -> Result<Self> {
        let paths = plan.writable.iter().chain([&plan.work_dir]);
        let open = |path: &PathBuf| {
            let descriptor = open(path, handle_flags() | OFlags::DIRECTORY, Mode::empty())?;
            Ok((path.clone(), descriptor))
        };
        Ok(Self { roots: paths.map(open).collect::<Result<_>>()? })
    }

    /// Makes the change that a call asks for.
    pub(super) fn apply(&self, name: &str, call: &PendingCall, listener: &Listener) -> Result<()> {
        let task = Task::open(call)?;
        // Only now is it certain that it was this task's memory.
        if !listener.still_waits(call) {
            return Err(Errno::SRCH);
        }
        let change = Change::read(name, call, &task)?;
        let object = self.beneath(task.open_object(&change.object)?)?;
        match change.kind {
            // The mode of a handle is not changed by the handle.
            ChangeKind::Mode(mode) => chmod(own_path(&object), Mode::from_raw_mode(mode)),
            ChangeKind::Owner(user, group) => {
                chownat(&object, "", user, group, AtFlags::EMPTY_PATH)
            }
            ChangeKind::Times(times) => utimensat(&object, "", &times, AtFlags::EMPTY_PATH),
        }
    }

    /// The same object, opened from a writable folder down.
    fn beneath(&self, object: OwnedFd) -> Result<OwnedFd> {
        let wanted = fstat(&object)?;
        let place = readlink(own_path(&object), Vec::new())?.into_bytes();
        let is_file = FileType::from_raw_mode(wanted.st_mode) == FileType::RegularFile;
        // A file without a name is in no folder any more; the script holds the only way to it.
        if wanted.st_nlink == 0 && is_file && place.ends_with(b" (deleted)") {
            return Ok(object);
        }
        let place = PathBuf::from(OsString::from_vec(place));
        for (root, descriptor) in &self.roots {
            let Ok(rest) = place.strip_prefix(root) else { continue };
            let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let flags = handle_flags() | OFlags::NOFOLLOW;
            let found = openat2(descriptor, rest, flags, Mode::empty(), resolve)?;
            if is_same(&fstat(&found)?, &wanted) {
                return Ok(found);
            }
        }
        Err(Errno::PERM)
    }
}

impl Change {
    fn read(name: &str, call: &PendingCall, task: &Task) -> Result<Self> {
        let numbers = call.arguments;
        // The kernel looks at no more of an `int` either.
        let int = |at: usize| u32::try_from(numbers[at] & u64::from(u32::MAX)).unwrap_or(0);
        let descriptor = |at: usize| Object::Descriptor(int(at).cast_signed());
        let path = |base: i32, at: usize, flags: u32| task.object_at(base, numbers[at], flags);
        let beside = |at: usize| int(at).cast_signed();
        let mode = |at: usize| ChangeKind::Mode(int(at) & 0o7777);
        let owner = |at: usize| {
            let id = |raw: u32| Some(raw).filter(|raw| *raw != u32::MAX);
            ChangeKind::Owner(id(int(at)).map(Uid::from_raw), id(int(at + 1)).map(Gid::from_raw))
        };
        let here = libc::AT_FDCWD;
        let (object, kind) = match name {
            "chmod" => (path(here, 0, 0)?, mode(1)),
            "fchmod" => (descriptor(0), mode(1)),
            "fchmodat" => (path(beside(0), 1, 0)?, mode(2)),
            "fchmodat2" => (path(beside(0), 1, int(3))?, mode(2)),
            "chown" => (path(here, 0, 0)?, owner(1)),
            "lchown" => (path(here, 0, libc::AT_SYMLINK_NOFOLLOW.cast_unsigned())?, owner(1)),
            "fchown" => (descriptor(0), owner(1)),
            "fchownat" => (path(beside(0), 1, int(4))?, owner(2)),
            "utime" => (path(here, 0, 0)?, task.times(numbers[1], TimeUnit::Second)?),
            "utimes" => (path(here, 0, 0)?, task.times(numbers[1], TimeUnit::Microsecond)?),
            // Without a path the descriptor itself is meant.
            "futimesat" | "utimensat" if numbers[1] == 0 => {
                (descriptor(0), task.times(numbers[2], TimeUnit::of(name))?)
            }
            "futimesat" => (path(beside(0), 1, 0)?, task.times(numbers[2], TimeUnit::of(name))?),
            "utimensat" => {
                (path(beside(0), 1, int(3))?, task.times(numbers[2], TimeUnit::of(name))?)
            }
            _ => return Err(Errno::NOSYS),
        };
        Ok(Self { object, kind })
    }
}

/// How a call writes a time down: seconds and a fraction, or seconds alone.
#[derive(Clone, Copy)]
enum TimeUnit {
    Second,
    Microsecond,
    Nanosecond,
}

impl TimeUnit {
    fn of(name: &str) -> Self {
        if name == "utimensat" { Self::Nanosecond } else { Self::Microsecond }
    }
}

/// The thread that asks: what it calls its memory, its folder and its descriptors.
struct Task {
    id: u32,
    memory: OwnedFd,
}

impl Task {
    fn open(call: &PendingCall) -> Result<Self> {
        let memory = format!("/proc/{}/mem", call.task);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        // It is not ours to read where it made itself unreadable.
        let memory = open(memory, flags, Mode::empty()).map_err(|_| Errno::PERM)?;
        Ok(Self { id: call.task, memory })
    }

    /// What a path and its flags name.
    fn object_at(&self, base: i32, pointer: u64, flags: u32) -> Result<Object> {
        let nofollow = libc::AT_SYMLINK_NOFOLLOW.cast_unsigned();
        let empty_path = libc::AT_EMPTY_PATH.cast_unsigned();
        if flags & !(nofollow | empty_path) != 0 {
            return Err(Errno::INVAL);
        }
        let path = self.path(pointer)?;
        if path.is_empty() {
            return if flags & empty_path == 0 {
                Err(Errno::NOENT)
            } else {
                Ok(Object::Descriptor(base))
            };
        }
        let follow = flags & nofollow == 0;
        Ok(match own_descriptor(&path).filter(|_| follow) {
            Some(descriptor) => Object::Descriptor(descriptor),
            None => Object::Path { base, path: PathBuf::from(path), follow },
        })
    }

    /// Opens what is meant, without a right to do anything with it.
    fn open_object(&self, object: &Object) -> Result<OwnedFd> {
        let (base, path, follow) = match object {
            Object::Descriptor(number) => return self.descriptor(*number),
            Object::Path { base, path, follow } => (*base, path, *follow),
        };
        let flags = if follow { handle_flags() } else { handle_flags() | OFlags::NOFOLLOW };
        // Its links into `/proc` would be followed as the supervisor's.
        let resolve = ResolveFlags::NO_MAGICLINKS;
        if path.is_absolute() {
            return openat2(CWD, path, flags, Mode::empty(), resolve);
        }
        openat2(self.descriptor(base)?, path, flags, Mode::empty(), resolve)
    }

    /// What a descriptor of the task leads to.
    fn descriptor(&self, number: i32) -> Result<OwnedFd> {
        let link = match number {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.id),
            number => format!("/proc/{}/fd/{number}", self.id),
        };
        open(link, handle_flags(), Mode::empty()).map_err(|error| match error {
            Errno::NOENT => Errno::BADF,
            other => other,
        })
    }

    fn path(&self, pointer: u64) -> Result<OsString> {
        let bytes = self.read::<PATH_BYTES>(pointer)?;
        let end = bytes.iter().position(|byte| *byte == 0);
        // What was read may be short because it ends where the memory does.
        let end =
            end.ok_or(if bytes.len() < PATH_BYTES { Errno::FAULT } else { Errno::NAMETOOLONG })?;
        Ok(OsStr::from_bytes(&bytes[..end]).to_owned())
    }

    /// The times at a pointer; now, where there is none.
    fn times(&self, pointer: u64, unit: TimeUnit) -> Result<ChangeKind> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        if pointer == 0 {
            return Ok(ChangeKind::Times(Timestamps { last_access: now, last_modification: now }));
        }
        let bytes = self.read::<32>(pointer)?;
        let number = |at: usize| -> Result<i64> {
            let bytes = bytes.get(8 * at..8 * at + 8).ok_or(Errno::FAULT)?;
            Ok(i64::from_ne_bytes(bytes.try_into().map_err(|_| Errno::FAULT)?))
        };
        let time = |at: usize| -> Result<Timespec> {
            let (tv_sec, tv_nsec) = match unit {
                TimeUnit::Second => (number(at)?, 0),
                TimeUnit::Nanosecond => (number(2 * at)?, number(2 * at + 1)?),
                TimeUnit::Microsecond => match (number(2 * at)?, number(2 * at + 1)?) {
                    (seconds, fraction @ 0..1_000_000) => (seconds, fraction * 1000),
                    _ => return Err(Errno::INVAL),
                },
            };
            Ok(Timespec { tv_sec, tv_nsec })
        };
        Ok(ChangeKind::Times(Timestamps { last_access: time(0)?, last_modification: time(1)? }))
    }

    /// Up to so many bytes of its memory.
    fn read<const BYTES: usize>(&self, pointer: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; BYTES];
        let count =
            rustix::io::pread(&self.memory, &mut bytes, pointer).map_err(|_| Errno::FAULT)?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// The descriptor that a path names as one of the task's own: C libraries go this way where a call takes
/// no handle.
fn own_descriptor(path: &OsStr) -> Option<i32> {
    let folders = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    let path = Path::new(path);
    let name = folders.into_iter().find_map(|folder| path.strip_prefix(folder).ok())?;
    name.to_str()?.parse().ok().filter(|number| *number >= 0)
}

fn own_path(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd())
}

fn handle_flags() -> OFlags {
    OFlags::PATH | OFlags::CLOEXEC
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
