//! Resource limits. They hold for each process; the number of processes is the one that needs care.
//!
//! `RLIMIT_NPROC` counts all tasks of a user, not of a run, except in a user namespace of its own,
//! and is never enforced for root. So in the strong tier it is the limit itself, elsewhere a ceiling
//! above what the machine already runs, and the supervisor counts the run's own processes.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::limits::SandboxLimits;

/// Sets all limits but the number of processes.
pub(super) fn limit(limits: &SandboxLimits) -> io::Result<()> {
    // The signal of the soft limit can be caught; that of the hard one cannot.
    set(Resource::Cpu, limits.cpu_seconds, limits.cpu_seconds.saturating_add(1))?;
    set_both(Resource::As, limits.memory_bytes)?;
    set_both(Resource::Fsize, limits.file_bytes)?;
    set_both(Resource::Nofile, limits.open_files)?;
    set_both(Resource::Core, 0)?;
    set_both(Resource::Memlock, 0)?;
    set_both(Resource::Msgqueue, 0)
}

/// The number of processes in a user namespace of their own: exactly the limit.
pub(super) fn limit_processes_of_namespace(limits: &SandboxLimits) -> io::Result<()> {
    set_both(Resource::Nproc, u64::from(limits.processes))
}

/// The number of processes among all others of the user: a ceiling for a fork bomb.
pub(super) fn limit_processes_of_user(limits: &SandboxLimits) -> io::Result<()> {
    let tasks = tasks_of_machine().unwrap_or(4096);
    set_both(Resource::Nproc, tasks + u64::from(limits.processes))
}

/// All tasks of the machine, which is no less than those of this user: `0.1 0.2 0.3 1/345 678`.
fn tasks_of_machine() -> Option<u64> {
    let text = metier_fs::read_bounded("/proc/loadavg".as_ref(), 256).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
}

fn set_both(resource: Resource, value: u64) -> io::Result<()> {
    set(resource, value, value)
}

/// A limit that is lower already stays.
fn set(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let hard = now.maximum.map_or(hard, |maximum| maximum.min(hard));
    let soft = soft.min(hard);
    Ok(setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })?)
}
