//! The process that watches: it waits for the program, its time, its number of processes and the
//! parent's word, and leaves nothing running. It is never confined and never runs foreign code.
//!
//! # Why it works as it does
//!
//! A process cannot be trusted to end itself, and one that is confined cannot end others: so the helper
//! forks, the child confines itself and becomes the program, and this half stays outside the
//! confinement with nothing to do but wait. It reports `Started` only when the pipe of the set-up closes,
//! which the kernel does on `exec`: until then a failure of any step can come out of it, and no output
//! counts as that of a confined program.
//!
//! It waits in one `poll`, on a descriptor of the child (a pid could be another process by then) and on
//! the socket of the parent. A byte on the socket is a cancellation; its end means that the parent is
//! gone, killed for instance, and then everything goes too: no script outlives the one who started it.
//! The interval is for what no descriptor tells, the number of processes: the kernel's own limit does
//! not hold for root, and without it a fork bomb of root's would go unnoticed.
//!
//! Stopping goes from polite to certain. SIGTERM to all that descend from here, not to a process group,
//! which `setsid` leaves; then SIGCONT, because a stopped process hears nothing until it goes on. After
//! the grace, in a namespace SIGKILL to its first process: the kernel then ends all others before it
//! reports that one as ended. Without a namespace there is no such moment, and a program that forks
//! faster than we kill would win. So all are stopped first, again and again until no new one appears,
//! and only then killed: a stopped process cannot fork. What was orphaned on the way has become a child
//! of this process, which is a subreaper, so no second fork leads out of the tree that is read.
//!
//! `Ended` is sent last, when nothing is left. The parent's readers end when the last holder of the
//! streams does; a word that came earlier would let it report an end while output was still to come.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};

use super::processes::{descendants, reap, signal_all};
use crate::limits::SandboxLimits;
use crate::tier::Tier;
use crate::wire::{
    CANCEL, EXIT_PROTOCOL, EXIT_SETUP, Ending, Failure, ProcessExit, Status, StopReason, send,
};

/// How often processes are counted. Root needs it more: the kernel does not limit root's.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// What the supervisor holds.
pub(super) struct Supervisor<'a> {
    pub(super) tier: Tier,
    pub(super) limits: &'a SandboxLimits,
    pub(super) started: Instant,
    pub(super) parent: UnixStream,
    /// The child: the program itself, or the first process of its namespace.
    pub(super) child: Pid,
    /// Ends when the program was executed; before that, a failure may come out of it.
    pub(super) setup: OwnedFd,
    /// Where the first process of a namespace reports how the program ended.
    pub(super) status_pipe: Option<OwnedFd>,
}

impl Supervisor<'_> {
    /// Watches until all is over; gives the helper's exit code.
    pub(super) fn run(mut self) -> i32 {
        match self.watch() {
            Ok(code) => code,
            Err(error) => {
                // Whatever went wrong here, nothing may be left.
                self.kill();
                let message = format!("the supervisor failed: {error}");
                let failure = Failure { step: crate::wire::Step::Fork, message };
                let _nobody_listens = send(&mut self.parent, &Status::Failed(failure));
                EXIT_PROTOCOL
            }
        }
    }

    fn watch(&mut self) -> io::Result<i32> {
        let child = pidfd_open(self.child, PidfdFlags::empty())?;
        if let Some(failure) = self.wait_for_setup()? {
            self.kill();
            send(&mut self.parent, &Status::Failed(failure))?;
            return Ok(EXIT_SETUP);
        }
        send(&mut self.parent, &Status::Started)?;
        let stopped = self.wait_for_end(&child)?;
        let mut killed = 0;
        if stopped.is_some() {
            killed += self.stop(&child)?;
        }
        let (exit, left) = self.end();
        let ending = Ending { exit, stopped, killed: killed.max(left) };
        send(&mut self.parent, &Status::Ended(ending))?;
        Ok(0)
    }

    /// Reads what the steps say until the program was executed.
    fn wait_for_setup(&mut self) -> io::Result<Option<Failure>> {
        let mut said = Vec::new();
        std::fs::File::from(self.setup.try_clone()?).take(64 << 10).read_to_end(&mut said)?;
        if said.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&said)?))
    }

    /// Waits for the program's end or for a reason to stop it.
    fn wait_for_end(&mut self, child: &OwnedFd) -> io::Result<Option<StopReason>> {
        let deadline = self.started + self.limits.wall;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Ok(Some(StopReason::Timeout));
            }
            let wait = POLL_INTERVAL.min(deadline - now);
            let [child_ended, parent_spoke] = ready([child.as_fd(), self.parent.as_fd()], wait)?;
            if child_ended {
                return Ok(None);
            }
            if parent_spoke {
                let mut word = [0];
                return match (&self.parent).read(&mut word)? {
                    1 if word[0] == CANCEL => Ok(Some(StopReason::Cancelled)),
                    _ => Ok(Some(StopReason::ParentGone)),
                };
            }
            let count = descendants(std::process::id()).len();
            // The first process of a namespace is ours.
            let own = usize::from(self.tier == Tier::Strong);
            if count > self.limits.processes as usize + own {
                return Ok(Some(StopReason::Processes));
            }
            self.reap_orphans();
        }
    }

    /// Orphans come to the subreaper; the child itself stays for `end`.
    fn reap_orphans(&self) {
        if self.tier == Tier::Strong {
            return;
        }
        for process in descendants(std::process::id()) {
            let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid.filter(|pid| *pid != self.child) {
                let _still_running = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }

    /// Asks all processes to end, waits a little, and ends them. Gives how many did not listen.
    fn stop(&self, child: &OwnedFd) -> io::Result<u32> {
        let asked = descendants(std::process::id());
        signal_all(&asked, Signal::TERM);
        // A stopped process hears nothing until it goes on.
        signal_all(&asked, Signal::CONT);
        let until = Instant::now() + self.limits.grace;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let [ended] = ready([child.as_fd()], left)?;
            if ended {
                break;
            }
        }
        let left = descendants(std::process::id()).len();
        let own = usize::from(self.tier == Tier::Strong);
        self.kill();
        Ok(u32::try_from(left.saturating_sub(own)).unwrap_or(u32::MAX))
    }

    /// Ends everything that this run started.
    fn kill(&self) -> u32 {
        if self.tier == Tier::Strong {
            // The kernel ends a namespace with its first process.
            let _gone = kill_process(self.child, Signal::KILL);
            0
        } else {
            kill_others(self.child)
        }
    }

    /// How the program ended, and how many processes it left behind.
    fn end(&mut self) -> (ProcessExit, u32) {
        let mut left = 0;
        if self.tier != Tier::Strong {
            left = kill_others(self.child);
        }
        // In a namespace this returns when its last process is gone.
        let status = loop {
            match waitpid(Some(self.child), WaitOptions::empty()) {
                Ok(Some((_, status))) => break Some(status),
                Err(rustix::io::Errno::INTR) => {}
                _ => break None,
            }
        };
        if self.tier != Tier::Strong {
            reap();
        }
        // A first process that was killed said nothing; then its own end is the program's.
        let reported = self.status_pipe.take().and_then(|pipe| ProgramStatus::receive(pipe).ok());
        match reported {
            Some(reported) => (reported.exit, reported.left),
            None => (exit_of(status), left),
        }
    }
}

/// What the first process of a namespace tells about the program.
pub(super) struct ProgramStatus {
    pub(super) exit: ProcessExit,
    /// Processes that were left.
    pub(super) left: u32,
}

impl ProgramStatus {
    pub(super) fn send(&self, pipe: OwnedFd) -> io::Result<()> {
        let exit = match self.exit {
            ProcessExit::Code(code) => code,
            ProcessExit::Signal(signal) => -signal,
        };
        let mut message = [0; 8];
        message[..4].copy_from_slice(&exit.to_ne_bytes());
        message[4..].copy_from_slice(&self.left.to_ne_bytes());
        std::fs::File::from(pipe).write_all(&message)
    }

    fn receive(pipe: OwnedFd) -> io::Result<Self> {
        let (mut exit, mut left) = ([0; 4], [0; 4]);
        let mut pipe = std::fs::File::from(pipe);
        pipe.read_exact(&mut exit)?;
        pipe.read_exact(&mut left)?;
        let exit = match i32::from_ne_bytes(exit) {
            code @ 0.. => ProcessExit::Code(code),
            signal => ProcessExit::Signal(-signal),
        };
        Ok(Self { exit, left: u32::from_ne_bytes(left) })
    }
}

/// Kills what descends from this process, the child included if it still runs, without taking leave
/// of the child: its status is asked for later.
fn kill_others(child: Pid) -> u32 {
    let own = std::process::id();
    let child = child.as_raw_nonzero().get().unsigned_abs();
    let living = || -> Vec<u32> {
        descendants(own).into_iter().filter(|process| !is_zombie(*process)).collect()
    };
    let mut most = 0;
    // First all are stopped, so that none can start others while they are killed.
    for _ in 0..1000 {
        let all = living();
        signal_all(&all, Signal::STOP);
        if all.len() <= most {
            break;
        }
        most = all.len();
    }
    let counted = living().into_iter().filter(|process| *process != child).count();
    for _ in 0..10_000 {
        let all = living();
        if all.is_empty() {
            break;
        }
        signal_all(&all, Signal::KILL);
        std::thread::sleep(Duration::from_micros(200));
    }
    u32::try_from(counted).unwrap_or(u32::MAX)
}

/// Whether a process has ended and only its status is left: `12 (a name) Z 1 ...`.
fn is_zombie(process: u32) -> bool {
    let file = format!("/proc/{process}/stat");
    let text = metier_fs::read_bounded(file.as_ref(), 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.rsplit_once(") ") {
        Some((_, rest)) => rest.starts_with(['Z', 'X']),
        None => true,
    }
}

pub(super) fn exit_of(status: Option<WaitStatus>) -> ProcessExit {
    let signal = || status.and_then(WaitStatus::terminating_signal);
    match status.and_then(WaitStatus::exit_status) {
        Some(code) => ProcessExit::Code(code),
        None => ProcessExit::Signal(signal().unwrap_or(Signal::KILL.as_raw())),
    }
}

/// Which of the descriptors have something to say within the time.
fn ready<const N: usize>(
    descriptors: [std::os::fd::BorrowedFd<'_>; N],
    wait: Duration,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&wait)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(polled.map(|fd| !fd.revents().is_empty()))
}
