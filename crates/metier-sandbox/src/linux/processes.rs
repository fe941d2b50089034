//! Who descends from a process, read from `/proc`. What was orphaned belongs to the nearest
//! subreaper, so nothing gets out of this tree by `setsid` or by a second fork.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// More than any limit lets a run have; the walk ends there.
const MAX_PROCESSES: usize = 100_000;

/// The descendants of `root`, without itself.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut found = children(root);
    let mut next = 0;
    while next < found.len() && found.len() < MAX_PROCESSES {
        let more = children(found[next]);
        found.extend(more);
        next += 1;
    }
    found
}

/// The children of all threads of one process.
fn children(process: u32) -> Vec<u32> {
    let tasks = format!("/proc/{process}/task");
    let names = metier_fs::read_dir_names(Path::new(&tasks)).unwrap_or_default();
    let mut found = Vec::new();
    for name in names {
        let file = format!("{tasks}/{name}/children");
        let text = metier_fs::read_bounded(Path::new(&file), 1 << 20).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        found.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    found
}

/// Sends a signal to each; those that are gone already are no fault.
pub(super) fn signal_all(processes: &[u32], signal: Signal) {
    let pids = processes.iter().filter_map(|process| i32::try_from(*process).ok());
    for pid in pids.filter_map(Pid::from_raw) {
        let _gone = kill_process(pid, signal);
    }
}

/// Takes leave of every child that has ended.
pub(super) fn reap() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
