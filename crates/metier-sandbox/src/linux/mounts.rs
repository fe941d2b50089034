//! The minimal tree of the strong tier: the system read-only, the plan's roots, private scratch, a
//! fresh `/proc`, and nothing of anybody's home.
//!
//! It is built on a file system in memory: first the old root is moved to `/old`, then each part is
//! bound below `/new`, and at last `/new` becomes the root and the rest is let go.

use std::ffi::CString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive};
use rustix::mount::{mount_change, unmount};
use rustix::process::{chdir, pivot_root};

use metier_fs::EntryKind;

use super::resources::limit_process_numbers;
use crate::plan::{
    DEVICES, NETWORK_ENTRIES, NetworkAccess, RunPlan, SYSTEM_DIRS, SYSTEM_ENTRIES, is_system,
};

/// One part of the tree.
enum Part {
    /// A link, as it stands in the old tree: `/bin` is often `usr/bin`.
    Link { at: PathBuf, target: PathBuf },
    /// What stands at `from` in the old tree.
    Bind { at: PathBuf, from: PathBuf, mode: BindMode },
    /// Something that cannot be opened, over what stands at `at` in the new tree. A root that lies in
    /// there is put into it.
    Hide { at: PathBuf, holds_root: bool },
}

impl Part {
    fn at(&self) -> &Path {
        match self {
            Self::Link { at, .. } | Self::Bind { at, .. } | Self::Hide { at, .. } => at,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BindMode {
    ReadOnly,
    Writable,
    Device,
}

/// Builds the tree and makes it the root. Runs as the first process of the new namespaces.
pub(super) fn enter(plan: &RunPlan) -> io::Result<()> {
    let parts = parts(plan);
    // Nothing done here reaches the mounts of others.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    named("/", mount_change("/", private))?;
    tmpfs("/tmp".as_ref(), 1 << 20, "0755")?;
    chdir("/tmp")?;
    for dir in ["old", "new"] {
        make_dir(Path::new(dir))?;
    }
    named("the old root", pivot_root(".", "old"))?;
    chdir("/")?;
    tmpfs("/new".as_ref(), 16 << 20, "0755")?;
    for dir in ["proc", "dev", "dev/shm", "tmp"] {
        make_dir(&Path::new("/new").join(dir))?;
    }
    tmpfs("/new/tmp".as_ref(), plan.limits.scratch_bytes, "1777")?;
    tmpfs("/new/dev/shm".as_ref(), plan.limits.scratch_bytes, "1777")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    named("/proc", mount("proc", "/new/proc", "proc", flags, None))?;
    limit_process_numbers(&plan.limits, "/new/proc".as_ref());
    // Root without any capability may still write the kernel's settings there.
    let closed = Attributes { read_only: true, devices: false, recursive: false };
    set_attributes(Path::new("/new/proc"), closed)?;
    for (at, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), Path::new("/new/dev").join(at))?;
    }
    for part in &parts {
        put(part)?;
    }
    // Only now: some of them had to be written to.
    let hides = parts.iter().filter(|part| matches!(part, Part::Hide { .. })).map(Part::at);
    for place in hides.map(|at| below("/new", at)) {
        if !matches!(metier_fs::entry_kind(&place), None | Some(EntryKind::Link)) {
            set_attributes(&place, closed)?;
        }
    }
    chdir("/new")?;
    named("the new root", pivot_root(".", "."))?;
    named("the old tree", unmount(".", UnmountFlags::DETACH))?;
    chdir("/")?;
    set_attributes(Path::new("/"), closed)
}

/// What the tree has, outer parts first, so that an inner one is put into an outer one.
fn parts(plan: &RunPlan) -> Vec<Part> {
    let mut parts = Vec::new();
    for dir in SYSTEM_DIRS.iter().map(Path::new) {
        match metier_fs::link_target(dir) {
            Some(target) => parts.push(Part::Link { at: dir.to_owned(), target }),
            None if metier_fs::is_dir(dir) => parts.push(read_only(dir, dir.to_owned())),
            None => {}
        }
    }
    let network: &[&str] =
        if plan.network == NetworkAccess::Open { NETWORK_ENTRIES } else { Default::default() };
    for entry in SYSTEM_ENTRIES.iter().chain(network).map(Path::new) {
        // `/etc/localtime` and others are links to where the plan may not lead.
        if let Ok(from) = metier_fs::canonical(entry) {
            parts.push(read_only(entry, from));
        }
    }
    for device in DEVICES.iter().map(PathBuf::from).filter(|device| metier_fs::exists(device)) {
        parts.push(Part::Bind { at: device.clone(), from: device, mode: BindMode::Device });
    }
    parts.extend(plan.read_only.iter().map(|path| read_only(path, path.clone())));
    for path in plan.writable.iter().chain([&plan.work_dir]) {
        let mode = BindMode::Writable;
        parts.push(Part::Bind { at: path.clone(), from: path.clone(), mode });
    }
    let roots = || plan.read_only.iter().chain(&plan.writable).chain([&plan.work_dir]);
    for (at, target) in &plan.links {
        // What lies in a root is there with it.
        if !is_system(at) && !roots().any(|root| at.starts_with(root)) {
            parts.push(Part::Link { at: at.clone(), target: target.clone() });
        }
    }
    for at in &plan.hidden {
        let holds_root = roots().any(|root| root != at && root.starts_with(at));
        parts.push(Part::Hide { at: at.clone(), holds_root });
    }
    // At one place what hides comes last.
    let depth = |part: &Part| part.at().components().count();
    parts.sort_by_key(|part| (depth(part), matches!(part, Part::Hide { .. })));
    parts
}

fn read_only(at: &Path, from: PathBuf) -> Part {
    Part::Bind { at: at.to_owned(), from, mode: BindMode::ReadOnly }
}

fn put(part: &Part) -> io::Result<()> {
    match part {
        Part::Link { at, target } => {
            let place = below("/new", at);
            if let Some(parent) = place.parent() {
                make_dir(parent)?;
            }
            symlink(target, place)
        }
        Part::Hide { at, holds_root } => hide(at, *holds_root),
        Part::Bind { at, from, mode } => {
            let (source, place) = (below("/old", from), below("/new", at));
            // Before the place is made: below a writable root it would be made outside.
            if !metier_fs::exists(&source) {
                let message = format!("{} is not there", from.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, message));
            }
            make_place(&place, metier_fs::is_dir(&source))?;
            named(at, mount_bind_recursive(&source, &place))?;
            set_attributes(
                &place,
                Attributes {
                    read_only: *mode == BindMode::ReadOnly,
                    devices: *mode == BindMode::Device,
                    recursive: true,
                },
            )
        }
    }
}

/// Puts what cannot be opened over a file or folder of the new tree. Folders can only be passed through
/// where a root lies in them. A link is left alone: what it leads to is hidden under its own name.
fn hide(path: &Path, holds_root: bool) -> io::Result<()> {
    let place = below("/new", path);
    match metier_fs::entry_kind(&place) {
        None | Some(EntryKind::Link) => Ok(()),
        Some(EntryKind::Directory) => {
            let (bytes, mode) = if holds_root { (1 << 16, "0111") } else { (4096, "0000") };
            tmpfs(&place, bytes, mode)
        }
        // A device on a mount without devices: opening it is refused.
        Some(_) => named(path, mount_bind_recursive("/old/dev/null", &place)),
    }
}

/// A directory or an empty file to bind to, if there is none yet.
fn make_place(place: &Path, is_dir: bool) -> io::Result<()> {
    if metier_fs::exists(place) {
        return Ok(());
    }
    if is_dir {
        return make_dir(place);
    }
    if let Some(parent) = place.parent() {
        make_dir(parent)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).open(place).map(|_| ())
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

fn tmpfs(at: &Path, bytes: u64, mode: &str) -> io::Result<()> {
    // A file without content is memory, too.
    let files = (bytes / 4096).max(16 << 10);
    let options = format!("size={bytes},nr_inodes={files},mode={mode}");
    let options = CString::new(options).map_err(io::Error::other)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    named(at, mount("tmpfs", at, "tmpfs", flags, options.as_c_str()))
}

#[derive(Clone, Copy)]
struct Attributes {
    read_only: bool,
    devices: bool,
    recursive: bool,
}

/// Takes rights away from a mount, and from those below it.
fn set_attributes(path: &Path, attributes: Attributes) -> io::Result<()> {
    let mut bits = libc::MOUNT_ATTR_NOSUID;
    if attributes.read_only {
        bits |= libc::MOUNT_ATTR_RDONLY;
    }
    if !attributes.devices {
        bits |= libc::MOUNT_ATTR_NODEV;
    }
    let change = libc::mount_attr { attr_set: bits, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let text = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let flags = if attributes.recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `text` is a string with its end and `change` a structure of the size that is given;
    // both live until the call returns.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            text.as_ptr(),
            flags,
            std::ptr::from_ref(&change),
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(io::Error::new(error.kind(), format!("the rights of {}: {error}", path.display())))
}

fn named<T>(what: impl AsRef<Path>, result: rustix::io::Result<T>) -> io::Result<T> {
    result.map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("mounting {}: {error}", what.as_ref().display()))
    })
}
