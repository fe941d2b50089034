//! Namespaces of the strong tier: user, process, network, IPC and host name, then mounts.
//! Nothing is set up inside them here; `mounts` builds the tree, `steps` has the order.

use std::fs::OpenOptions;
use std::io::{self, Write};

use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::plan::NetworkAccess;

/// Enters new namespaces. The next child is the first process of the new process namespace.
pub(super) fn enter(network: NetworkAccess) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if network == NetworkAccess::Closed {
        flags |= UnshareFlags::NEWNET;
    }
    // SAFETY: of all flags only the sharing of descriptors is unsafe, and it is not among these;
    // the process has one thread.
    unsafe { unshare_unsafe(flags) }?;
    // Only one's own user and group exist inside. Without the first line the kernel lets nobody
    // but root map a group: dropping a group can give access.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    rustix::system::sethostname(b"sandbox")?;
    Ok(())
}

/// Enters a process namespace alone, which root can without a user namespace.
pub(super) fn enter_processes() -> io::Result<()> {
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID) }.map_err(|error| {
        let error = io::Error::from(error);
        let why = "root is not limited by the kernel and needs a process namespace, for which it has no right";
        io::Error::new(error.kind(), format!("{why}: {error}"))
    })
}

/// Enters a mount namespace. The first process does it for itself: changing the root changes that of
/// everybody in the namespace, and the supervisor has to keep seeing the machine's `/proc`.
pub(super) fn enter_mounts() -> io::Result<()> {
    // SAFETY: as above.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

fn write(path: &str, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}
