//! Resource limits. They hold for each process; the number of processes is the one that needs care.
//!
//! `RLIMIT_NPROC` counts all tasks of a user, not of a run, except in a user namespace of its own,
//! and is never enforced for root. So in the strong tier it is the limit itself, elsewhere a ceiling
//! above what the machine already runs, and the supervisor counts the run's own tasks.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

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
    set_both(Resource::Msgqueue, 0)?;
    // A real-time thread of a user who may have them takes a processor away from everyone.
    set_both(Resource::Rtprio, 0)?;
    set_both(Resource::Nice, 0)
}

/// When memory runs out, the kernel ends a run before any other program of the user. In a tree of mounts of its own
/// the file is read-only; what was set before holds.
pub(super) fn end_first() {
    if let Ok(mut file) = OpenOptions::new().write(true).open("/proc/self/oom_score_adj") {
        let _refused = file.write_all(b"1000");
    }
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

/// Whether the kernel leaves this user's processes unlimited: root, and not one that a container made of an
/// ordinary user.
pub(super) fn is_unlimited_user() -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // `inside outside count` on each line.
    let map = metier_fs::read_bounded("/proc/self/uid_map".as_ref(), 4096).unwrap_or_default();
    let map = String::from_utf8_lossy(&map).into_owned();
    let is_other = |line: &str| {
        let mut numbers = line.split_whitespace();
        numbers.next() == Some("0") && numbers.next().is_some_and(|outside| outside != "0")
    };
    !map.lines().any(is_other)
}

/// From Linux 6.14 on a process namespace has its own largest number, a bound that holds for root too. Before, it is
/// the machine's own that root would change here. `proc` is where `/proc` is mounted.
pub(super) fn limit_process_numbers(limits: &SandboxLimits, proc: &Path) {
    /// Numbers that the kernel does not give out again after the first round.
    const RESERVED: u32 = 300;
    const NAMESPACED_SINCE: (u32, u32) = (6, 14);
    let release = rustix::system::uname();
    if version_of(&release.release().to_string_lossy()) < Some(NAMESPACED_SINCE) {
        return;
    }
    let most = RESERVED.saturating_add(limits.processes).saturating_add(1);
    if let Ok(mut file) = OpenOptions::new().write(true).open(proc.join("sys/kernel/pid_max")) {
        // In a container it may be read-only, and the supervisor's count is there as well.
        let _refused = file.write_all(most.to_string().as_bytes());
    }
}

/// `6.18.44-generic` as 6 and 18.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        assert_eq!(version_of("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version_of("6.8.0-45-generic"), Some((6, 8)));
        assert!(version_of("6.8.0") < Some((6, 14)) && version_of("odd") < Some((6, 14)));
        assert!(version_of("10.1") > Some((6, 14)));
    }
}
