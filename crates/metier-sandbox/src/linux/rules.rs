//! Landlock: which files can be read, run and written, and that signals and abstract sockets stay
//! inside. Everything the kernel knows is handled; what it does not know, `filter` makes up for
//! where it can.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use metier_fs::EntryKind;

use crate::plan::{DEVICES, NETWORK_ENTRIES, NetworkAccess, RunPlan, SYSTEM_DIRS, SYSTEM_ENTRIES};
use crate::tier::Tier;

/// The newest level that we know; the kernel's own is found at run time.
const KNOWN: ABI = ABI::V9;

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
    let mut rules = Rules { ruleset: create(plan.network).map_err(io::Error::other)? };
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
        // In the strong tier something was mounted over what is hidden.
        let hidden: &[PathBuf] = if tier == Tier::Strong { &[] } else { &plan.hidden };
        rules.allow_around(path, hidden)?;
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

struct Rules {
    ruleset: RulesetCreated,
}

impl Rules {
    fn read_if_there(&mut self, paths: &[&str]) -> io::Result<()> {
        for path in paths.iter().map(Path::new) {
            if metier_fs::exists(path) {
                self.allow(path, reading())?;
            }
        }
        Ok(())
    }

    /// Makes `path` readable but for what is `hidden` below it. Landlock only adds rights, so a folder
    /// that holds something hidden is opened entry by entry. Links are left out: a rule would be
    /// about what they lead to.
    fn allow_around(&mut self, path: &Path, hidden: &[PathBuf]) -> io::Result<()> {
        if !hidden.iter().any(|one| one.starts_with(path)) {
            return self.allow(path, reading());
        }
        if hidden.iter().any(|one| one == path) {
            return Ok(());
        }
        self.allow(path, AccessFs::ReadDir.into())?;
        for name in metier_fs::read_dir_names(path)? {
            let entry = path.join(name);
            if matches!(metier_fs::entry_kind(&entry), Some(EntryKind::File | EntryKind::Directory))
            {
                self.allow_around(&entry, hidden)?;
            }
        }
        Ok(())
    }

    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let named = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: {error}", path.display()))
        };
        let is_dir = metier_fs::is_dir(path);
        let access = if is_dir { access } else { access & AccessFs::from_file(KNOWN) };
        let fd = PathFd::new(path).map_err(|error| named(&error))?;
        let rule = PathBeneath::new(fd, access);
        (&mut self.ruleset).add_rule(rule).map(|_| ()).map_err(|error| named(&error))
    }
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
