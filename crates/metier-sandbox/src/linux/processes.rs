//! What descends from a process, read from `/proc`, and how it is ended. What was orphaned belongs to the
//! nearest subreaper, so nothing gets out of this tree by `setsid` or by a second fork.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::resources::is_unlimited_user;

/// More than any limit lets a run have; the walk ends there.
const MAX_PROCESSES: usize = 100_000;

/// How long a process that was killed may take to be gone. One in the middle of a write to a slow disk does.
const KILL_TIME: Duration = Duration::from_secs(3);

/// What descends from a process.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    /// Their numbers, without its own.
    pub(crate) processes: Vec<u32>,
    /// How many threads they have in all, one each at least.
    pub(crate) tasks: usize,
}

impl Descendants {
    /// Those of a process, now.
    pub(crate) fn of(root: u32) -> Self {
        Self::visit(root, |_| {})
    }

    /// Those of this process, by the numbers that `/proc` has for them. In a namespace whose `/proc` is that of
    /// the machine, they are others than its own.
    pub(super) fn of_this_process() -> Self {
        let own = metier_fs::link_text("/proc/self".as_ref());
        own.and_then(|own| own.to_str()?.parse().ok()).map_or_else(Self::default, Self::of)
    }

    /// Kills them, each as soon as it is found: by the end of a walk it may be gone and its child in its place.
    fn kill(root: u32) -> Self {
        Self::visit(root, |found| signal_all(found, Signal::KILL))
    }

    fn visit(root: u32, mut found: impl FnMut(&[u32])) -> Self {
        let mut all = Self { processes: children(root).0, tasks: 0 };
        found(&all.processes);
        let mut next = 0;
        while next < all.processes.len() && all.processes.len() < MAX_PROCESSES {
            let (more, tasks) = children(all.processes[next]);
            found(&more);
            all.processes.extend(more);
            // Of one that has just ended nothing is listed, and it counts all the same until it is reaped.
            all.tasks += tasks.max(1);
            next += 1;
        }
        all
    }

    /// Those that have not ended.
    pub(crate) fn living(self) -> Vec<u32> {
        self.processes.into_iter().filter(|process| !has_ended(*process)).collect()
    }
}

/// The children of all threads of one process, and how many threads that are.
fn children(process: u32) -> (Vec<u32>, usize) {
    let tasks = format!("/proc/{process}/task");
    let names = metier_fs::read_dir_names(Path::new(&tasks)).unwrap_or_default();
    let mut found = Vec::new();
    for name in &names {
        let file = format!("{tasks}/{name}/children");
        let text = metier_fs::read_bounded(Path::new(&file), 1 << 20).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        found.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    (found, names.len())
}

/// Whether only the status of a process is left: `12 (a name) Z 1 ...`.
fn has_ended(process: u32) -> bool {
    let file = format!("/proc/{process}/stat");
    let text = metier_fs::read_bounded(file.as_ref(), 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.rsplit_once(") ") {
        Some((_, rest)) => rest.starts_with(['Z', 'X']),
        None => true,
    }
}

/// Sends a signal to each; those that are gone already are no fault.
pub(crate) fn signal_all(processes: &[u32], signal: Signal) {
    let pids = processes.iter().filter_map(|process| i32::try_from(*process).ok());
    for pid in pids.filter_map(Pid::from_raw) {
        let _gone = kill_process(pid, signal);
    }
}

/// Kills and reaps everything below this process, which is a subreaper; gives how `child` ended, if it is gone.
///
/// A process can start another and end before it is killed itself; that other one is then a child of this process.
/// For a user whose tasks the kernel limits, such a chain ends by itself: each link that is not reaped counts until it
/// is, and soon none can be added. So they are all killed first and reaped at the end. Root has no such limit; its
/// dead are reaped at once, or the machine would run out of numbers, and it takes to be faster than a fork.
#[expect(
    clippy::disallowed_methods,
    reason = "the helper has one thread, and nothing that could wake it"
)]
pub(super) fn kill_and_reap(child: Pid) -> Option<WaitStatus> {
    let until = Instant::now() + KILL_TIME;
    let is_unlimited = is_unlimited_user();
    let mut ended = None;
    loop {
        if is_unlimited {
            ended = kill_children_quickly(child).or(ended);
        }
        let all = Descendants::kill(std::process::id());
        let is_late = Instant::now() >= until;
        if !all.living().is_empty() && !is_late {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        let reaped = reap(child);
        ended = reaped.child.or(ended);
        // A list of `/proc` may miss one that moves; that there is no child at all is the kernel's own word.
        if reaped.was_last || is_late {
            return ended;
        }
    }
}

/// Kills children as they come, without a look at what is below them.
fn kill_children_quickly(child: Pid) -> Option<WaitStatus> {
    const ROUNDS: usize = 200;
    let mut ended = None;
    for _ in 0..ROUNDS {
        let (children, _) = children(std::process::id());
        signal_all(&children, Signal::KILL);
        let reaped = reap(child);
        ended = reaped.child.or(ended);
        if reaped.was_last {
            break;
        }
    }
    ended
}

/// What came of reaping.
pub(super) struct Reaped {
    /// How the child that is waited for ended, if it was among them.
    pub(super) child: Option<WaitStatus>,
    /// Whether there are no children any more, living or dead.
    was_last: bool,
}

/// Reaps all children that have ended.
pub(super) fn reap(child: Pid) -> Reaped {
    let mut reaped = Reaped { child: None, was_last: false };
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => reaped.child = Some(status),
            Ok(Some(_)) => {}
            Ok(None) => return reaped,
            Err(_) => {
                reaped.was_last = true;
                return reaped;
            }
        }
    }
}
