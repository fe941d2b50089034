//! The name of a process in the record of attempts: which machine, which process, and which of those that had
//! the same two. In a container each process is number 1.

use std::time::SystemTime;

use metier::skill::Digest;

/// A name that no other process has: `HOST-PID-XXXXXXXX`.
pub(super) fn worker_name() -> String {
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (host, process) = (host_name(), std::process::id());
    let unique = Digest::of(format!("{host} {process} {}", began.as_nanos()).as_bytes());
    let [a, b, c, d, ..] = *unique.as_bytes();
    format!("{host}-{process}-{:08x}", u32::from_be_bytes([a, b, c, d]))
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    "worker".to_owned()
}
