//! The process that watches: it waits for the program, its time, its number of tasks and the parent's word,
//! answers what the filter asks, and leaves nothing running. It is never confined and never runs foreign code.
//!
//! # Why it works as it does
//!
//! A process cannot be trusted to end itself, and one that is confined cannot end others: so the helper
//! forks, the child confines itself and becomes the program, and this half stays outside the
//! confinement with nothing to do but wait. It reports `Started` only when the socket of the set-up closes,
//! which the kernel does on `exec`: until then a failure of any step can come out of it, and no output
//! counts as that of a confined program.
//!
//! It waits in one `poll`, on a descriptor of the child (a pid could be another process by then), on
//! the socket of the parent, and on the filter's questions. A byte on the socket is a cancellation; its end means
//! that the parent is gone, killed for instance, and then everything goes too: no script outlives the one who
//! started it. The interval is for what no descriptor reports, the number of tasks and their memory: the kernel counts the
//! tasks of all of a user's programs together, limits none of root's, and limits the memory of one process at a time.
//!
//! Stopping goes from polite to certain. SIGTERM to all that descend from here, not to a process group,
//! which `setsid` leaves; then SIGCONT, because a stopped process hears nothing until it continues. After
//! the grace, in a namespace SIGKILL to its first process: the kernel then ends all others before it
//! reports that one as ended. Root is always in one, as nothing else bounds how fast it forks. Without a
//! namespace, all that descends from here is killed and reaped until nothing is left (`processes`). What was
//! orphaned on the way has become a child of this process, which is a subreaper, so no second fork leads out of the tree
//! that is read.
//!
//! The supervisor is not asked about each new process, although that would bound them exactly: with it, a
//! pipeline of dash failed once on a loaded machine. The likely cause, not traced: a signal interrupts the
//! process that waits for the answer, and `fork` fails with an error that no shell expects.
//!
//! `Ended` is sent last, when nothing is left. The parent's readers end when the last holder of the
//! streams does; a word that came earlier would let it report an end while output was still to come.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};

use super::changes::WritableRoots;
use super::listener::{self, Listener, Reply};
use super::memory::MemoryWatch;
use super::processes::{Descendants, kill_and_reap, reap, signal_all};
use super::{filter, privileges};
use crate::limits::SandboxLimits;
use crate::wire::{
    CANCEL, EXIT_PROTOCOL, EXIT_SETUP, Ending, Failure, ProcessExit, Status, StopReason, send,
};

/// How often tasks and their memory are counted.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// What the supervisor holds.
pub(super) struct Supervisor<'a> {
    pub(super) limits: &'a SandboxLimits,
    pub(super) started: Instant,
    pub(super) parent: UnixStream,
    /// The child: the program itself, or the first process of its namespace.
    pub(super) child: Pid,
    /// Whether the program has a process namespace, whose first process is ours.
    pub(super) has_namespace: bool,
    /// Ends when the program was executed; before that, the filter's descriptor and a failure come out of it.
    pub(super) setup: UnixStream,
    /// Where the first process of a namespace reports how the program ended.
    pub(super) status_pipe: Option<OwnedFd>,
    /// Where a script may change modes, if it has to ask.
    pub(super) roots: Option<WritableRoots>,
    pub(super) memory: MemoryWatch,
    /// Whether the parent can still say something that matters.
    pub(super) hears_parent: bool,
    /// Where the filter asks.
    pub(super) listener: Option<Listener>,
    /// How the child ended, once it was reaped.
    pub(super) ended: Option<WaitStatus>,
}

/// What happened while waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// Nothing of note; questions were answered.
    Later,
    ChildEnded,
    ParentSpoke,
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
        if self.roots.is_some() {
            // It changes modes in the script's place, and must not be able to do more than it.
            privileges::drop_capabilities()?;
            privileges::no_new_privileges()?;
        }
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
        let (said, descriptor) = listener::receive_all(&self.setup)?;
        self.listener = descriptor.map(Listener::new);
        let said = said.trim_ascii();
        if said.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(said)?))
    }

    /// Waits for the program's end or for a reason to stop it.
    fn wait_for_end(&mut self, child: &OwnedFd) -> io::Result<Option<StopReason>> {
        let deadline = self.started + self.limits.wall;
        let mut next_count = Instant::now() + POLL_INTERVAL;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Ok(Some(StopReason::Timeout));
            }
            if now >= next_count {
                let run = Descendants::of(std::process::id());
                if run.tasks > self.limits.processes as usize + usize::from(self.has_namespace) {
                    return Ok(Some(StopReason::Processes));
                }
                if self.memory.is_over(&run) {
                    return Ok(Some(StopReason::Memory));
                }
                self.reap_orphans();
                next_count = Instant::now() + POLL_INTERVAL;
                continue;
            }
            match self.wait(child, deadline.min(next_count) - now)? {
                Woken::Later => {}
                Woken::ChildEnded => return Ok(None),
                Woken::ParentSpoke => {
                    let mut word = [0];
                    return match (&self.parent).read(&mut word)? {
                        1 if word[0] == CANCEL => Ok(Some(StopReason::Cancelled)),
                        _ => Ok(Some(StopReason::ParentGone)),
                    };
                }
            }
        }
    }

    /// Waits once, and answers at most one question: one that asks without pause must not hold up the rest.
    fn wait(&mut self, child: &OwnedFd, time: Duration) -> io::Result<Woken> {
        let questions = self.listener.as_ref().map(Listener::as_fd);
        let parent = self.hears_parent.then(|| self.parent.as_fd());
        let all = [Some(child.as_fd()), parent, questions];
        let ready = ready(all, time)?;
        if ready[0].is_some() {
            return Ok(Woken::ChildEnded);
        }
        if ready[1].is_some() {
            return Ok(Woken::ParentSpoke);
        }
        match ready[2] {
            Some(flags) if flags.contains(PollFlags::IN) => self.answer_question()?,
            // No task is left that could ask.
            Some(_) => self.listener = None,
            None => {}
        }
        Ok(Woken::Later)
    }

    fn answer_question(&mut self) -> io::Result<()> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        if let Some(call) = listener.receive()? {
            let reply = match (filter::name_of(call.number), &self.roots) {
                (Some(name), Some(roots)) => match roots.apply(name, &call, &listener) {
                    Ok(()) => Reply::Done,
                    Err(error) => Reply::Refuse(error),
                },
                _ => Reply::Refuse(Errno::NOSYS),
            };
            listener.answer(&call, reply)?;
        }
        self.listener = Some(listener);
        Ok(())
    }

    /// Orphans come to the subreaper; in a namespace, to its first process.
    fn reap_orphans(&mut self) {
        if !self.has_namespace {
            self.ended = reap(self.child).child.or(self.ended);
        }
    }

    /// Asks all processes to end, waits a little, and ends them. Gives how many did not listen.
    fn stop(&mut self, child: &OwnedFd) -> io::Result<u32> {
        self.hears_parent = false;
        let asked = Descendants::of(std::process::id()).processes;
        signal_all(&asked, Signal::TERM);
        // A stopped process hears nothing until it continues.
        signal_all(&asked, Signal::CONT);
        let until = Instant::now() + self.limits.grace;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.wait(child, left)? == Woken::ChildEnded {
                break;
            }
        }
        let left = Descendants::of(std::process::id()).living().len();
        let left = left.saturating_sub(usize::from(self.has_namespace));
        self.kill();
        Ok(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Ends everything that this run started.
    fn kill(&mut self) {
        self.listener = None;
        if self.has_namespace {
            // The kernel ends a namespace with its first process.
            let _gone = kill_process(self.child, Signal::KILL);
        } else {
            self.ended = kill_and_reap(self.child).or(self.ended);
        }
    }

    /// How the program ended, and how many processes it left behind.
    fn end(&mut self) -> (ProcessExit, u32) {
        let mut left = 0;
        if self.has_namespace {
            // Returns when the last process of the namespace is gone.
            self.ended = loop {
                match waitpid(Some(self.child), WaitOptions::empty()) {
                    Ok(Some((_, status))) => break Some(status),
                    Err(Errno::INTR) => {}
                    _ => break None,
                }
            };
        } else {
            left = Descendants::of(std::process::id()).living().len();
            self.kill();
        }
        // A first process that was killed said nothing; then its own end is the program's.
        let reported = self.status_pipe.take().and_then(|pipe| ProgramStatus::receive(pipe).ok());
        match reported {
            Some(reported) => (reported.exit, reported.left),
            None => (exit_of(self.ended), u32::try_from(left).unwrap_or(u32::MAX)),
        }
    }
}

/// What the first process of a namespace reports about the program.
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

pub(super) fn exit_of(status: Option<WaitStatus>) -> ProcessExit {
    let signal = || status.and_then(WaitStatus::terminating_signal);
    match status.and_then(WaitStatus::exit_status) {
        Some(code) => ProcessExit::Code(code),
        None => ProcessExit::Signal(signal().unwrap_or(Signal::KILL.as_raw())),
    }
}

/// What each of the descriptors has to say within the time, if anything.
fn ready<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    wait: Duration,
) -> io::Result<[Option<PollFlags>; N]> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
        .collect();
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&wait)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut polled = polled.into_iter();
    Ok(descriptors.map(|descriptor| {
        descriptor?;
        polled.next().map(|one| one.revents()).filter(|flags| !flags.is_empty())
    }))
}
