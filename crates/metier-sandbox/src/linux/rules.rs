//! Landlock: which files can be read, run and written, and that signals and abstract sockets stay
//! inside. Everything the kernel knows is handled; what it does not know, `filter` makes up for
//! where it can.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};

use crate::plan::{DEVICES, NETWORK_ENTRIES, NetworkAccess, RunPlan, SYSTEM_DIRS, SYSTEM_ENTRIES};
use crate::tier::Tier;

/// The newest level that we know; the kernel's own is found at run time.
const KNOWN: ABI = ABI::V9;

/// A folder that is opened entry by entry.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Files of `/proc` that tell about the machine and about nobody on it. Programs size their pools
/// and caches by them.
const MACHINE_FACTS: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup/memory.max",
];

/// The level of Landlock in this kernel; 0 where there is none.
pub(crate) fn landlock_abi() -> i32 {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads no memory and answers with its level.
    let level = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    i32::try_from(level).unwrap_or(0).max(0)
}

/// Confines this process to the plan's files.
pub(super) fn confine(plan: &RunPlan, tier: Tier) -> io::Result<()> {
    let hidden = HiddenTree::of(&plan.hidden);
    let mut rules =
        Rules { ruleset: create(plan.network).map_err(io::Error::other)?, hidden: &hidden };
    rules.read_if_there(SYSTEM_DIRS)?;
    rules.read_if_there(SYSTEM_ENTRIES)?;
    if plan.network == NetworkAccess::Open {
        rules.read_if_there(NETWORK_ENTRIES)?;
    }
    for device in DEVICES.iter().filter(|device| metier_fs::exists(device.as_ref())) {
        rules.allow(device.as_ref(), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    if tier == Tier::Strong {
        // The tree has nothing but the parts of the plan, so their names may be listed.
        rules.allow("/".as_ref(), AccessFs::ReadDir.into())?;
        // These hold the run's own processes and files and go with it.
        rules.allow("/proc".as_ref(), reading())?;
        for scratch in ["/tmp", "/dev/shm"] {
            rules.allow(scratch.as_ref(), writing())?;
        }
    } else {
        // Not all of `/proc`: it shows the command lines of everybody's processes.
        rules.read_if_there(MACHINE_FACTS)?;
        rules.allow("/proc/self".as_ref(), reading())?;
    }
    for path in &plan.read_only {
        rules.allow_around(path)?;
    }
    for path in plan.writable.iter().chain([&plan.work_dir]) {
        rules.allow(path, writing())?;
    }
    let status = rules.ruleset.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("the kernel does not enforce Landlock")),
        _ => Ok(()),
    }
}

fn create(network: NetworkAccess) -> Result<RulesetCreated, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    match network {
        NetworkAccess::Closed => ruleset.handle_access(AccessNet::from_all(KNOWN))?.create(),
        NetworkAccess::Open => ruleset.create(),
    }
}

/// What is hidden, by the names of its path.
#[derive(Default)]
struct HiddenTree {
    whole: bool,
    below: HashMap<OsString, HiddenTree>,
}

impl HiddenTree {
    fn of(paths: &[PathBuf]) -> Self {
        let mut tree = Self::default();
        for path in paths {
            let mut node = &mut tree;
            for name in names(path) {
                node = node.below.entry(name.to_owned()).or_default();
            }
            node.whole = true;
        }
        tree
    }

    /// What is hidden at `path` and below it. A hidden folder above it does not count: a root that lies in
    /// one is shown.
    fn at(&self, path: &Path) -> Option<&Self> {
        names(path).try_fold(self, |node, name| node.below.get(name))
    }
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

struct Rules<'h> {
    ruleset: RulesetCreated,
    hidden: &'h HiddenTree,
}

impl Rules<'_> {
    fn read_if_there(&mut self, paths: &[&str]) -> io::Result<()> {
        for path in paths.iter().map(Path::new) {
            // `/bin` is often `/usr/bin`, and something may be hidden there under that name.
            if let Ok(path) = metier_fs::canonical(path) {
                self.allow_around(&path)?;
            }
        }
        Ok(())
    }

    /// Makes `path` readable but for what is hidden below it. Landlock only adds rights, so a folder
    /// that holds something hidden is opened entry by entry. That holds in the strong tier too, where
    /// something is mounted over what is hidden: the kernel drops such a mount when the file is
    /// replaced, as an editor does that saves it.
    fn allow_around(&mut self, path: &Path) -> io::Result<()> {
        match self.hidden.at(path) {
            None => self.allow(path, reading()),
            Some(hidden) if hidden.whole => Ok(()),
            Some(hidden) => {
                let dir = openat(CWD, path, LISTED, Mode::empty())
                    .map_err(|error| named(path, &io::Error::from(error)))?;
                self.allow_entries(&dir, hidden).map_err(|error| named(path, &error))
            }
        }
    }

    /// The entries of a folder of which some are hidden. Links are left out: a rule would be about what
    /// they lead to. What changes meanwhile is not opened.
    fn allow_entries(&mut self, dir: &OwnedFd, hidden: &HiddenTree) -> io::Result<()> {
        self.add(dir, AccessFs::ReadDir.into())?;
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            let is_dir = kind == FileType::Directory;
            let below = hidden.below.get(name);
            if below.is_some_and(|below| below.whole) || !(is_dir || kind == FileType::RegularFile)
            {
                continue;
            }
            let how = if below.is_some() { LISTED } else { OFlags::PATH | OFlags::CLOEXEC };
            let Ok(fd) = openat(dir, name, how | OFlags::NOFOLLOW, Mode::empty()) else {
                continue;
            };
            match below {
                Some(below) => self.allow_entries(&fd, below)?,
                None if is_dir => self.add(&fd, reading())?,
                None => self.add(&fd, reading() & AccessFs::from_file(KNOWN))?,
            }
        }
        Ok(())
    }

    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let is_dir = metier_fs::is_dir(path);
        let access = if is_dir { access } else { access & AccessFs::from_file(KNOWN) };
        let fd = PathFd::new(path).map_err(|error| named(path, &error))?;
        self.add(&fd, access).map_err(|error| named(path, &error))
    }

    fn add(&mut self, fd: impl AsFd, access: BitFlags<AccessFs>) -> io::Result<()> {
        let rule = PathBeneath::new(fd, access);
        (&mut self.ruleset).add_rule(rule).map(|_| ()).map_err(io::Error::other)
    }
}

fn named(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir
}

/// Everything but devices, and sockets that others could connect to.
fn writing() -> BitFlags<AccessFs> {
    reading()
        | AccessFs::WriteFile
        | AccessFs::RemoveDir
        | AccessFs::RemoveFile
        | AccessFs::MakeDir
        | AccessFs::MakeReg
        | AccessFs::MakeFifo
        | AccessFs::MakeSym
        | AccessFs::Refer
        | AccessFs::Truncate
}
