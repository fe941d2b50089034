//! The parent's side on Linux: the helper as a child, a socket pair as its standard input,
//! and the probe that runs the helper with forbidden acts in place of a program.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use metier_cancel::OnCancel;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;
use crate::linux::{Descendants, landlock_abi, signal_all};
use crate::plan::RunPlan;
use crate::probe::{SandboxFeature, SandboxProbe, Targets, TierProbe};
use crate::report::{OutputStream, RunEvent, SandboxReport};
use crate::runner::{RunOptions, Runner};
use crate::stopping::StopRequest;
use crate::streams::Sink;
use crate::tier::Tier;
use crate::wire::{CANCEL, Ending, Policy, Status, StopReason, receive, send};

/// How long after its own deadline a helper counts as stuck.
const HELPER_GRACE: Duration = Duration::from_secs(5);

/// How long the streams may stay open after the last process has ended. They end with it; only one that
/// cannot be killed, because the kernel waits for a disk, holds them longer.
const STREAM_GRACE: Duration = Duration::from_secs(5);

pub(crate) fn run(
    runner: &Runner,
    plan: &RunPlan,
    options: &RunOptions,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<SandboxReport, Error> {
    if runner.tier() == Tier::Macos {
        return Err(Error::TierUnavailable { tier: Tier::Macos });
    }
    follow(runner, plan, None, options, events)
}

fn follow(
    runner: &Runner,
    plan: &RunPlan,
    attempt: Option<Targets>,
    options: &RunOptions,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<SandboxReport, Error> {
    let tier = runner.tier();
    let limits = &plan.limits;
    let stop = StopRequest::new(&options.cancel);
    let stdout = Sink::open(OutputStream::Stdout, &limits.output, options, &stop, events)?;
    let stderr = Sink::open(OutputStream::Stderr, &limits.output, options, &stop, events)?;
    let started = Instant::now();
    let version = Policy::VERSION.to_owned();
    let policy = Policy { version, tier, plan: plan.clone(), attempt };
    let given_up = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|error| Error::io("preparing the run")(error.into()))?;
    let (mut child, mut socket) = start(runner.helper())?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (done, readers) = mpsc::channel();
    let (ended, stdout, stderr) = std::thread::scope(|scope| {
        let (done_too, given_up) = (done.clone(), &given_up);
        let stdout = scope.spawn(move || {
            let _all = done;
            out.map(|out| stdout.follow(Stream::new(out, given_up.as_fd())))
        });
        let stderr = scope.spawn(move || {
            let _all = done_too;
            err.map(|err| stderr.follow(Stream::new(err, given_up.as_fd())))
        });
        let ended = send(&mut socket, &policy)
            // It ended before it read it: how far it came is chance.
            .map_err(|error| Error::Helper {
                helper: runner.helper().to_owned(),
                detail: format!("it ended before it read its policy: {error}"),
            })
            .and_then(|()| wait(runner, plan, &stop, events, &socket, started));
        // Nothing may be left, and the readers end with the last holder of the streams.
        drop(socket);
        finish(&mut child, ended.is_err());
        let grace = if ended.is_err() { Duration::ZERO } else { STREAM_GRACE };
        // Nothing is ever sent; the channel is closed when both readers are done.
        let _closed: Result<(), _> = readers.recv_timeout(grace);
        let _cannot_be_full = rustix::io::write(given_up, &1_u64.to_ne_bytes());
        (ended, stdout.join(), stderr.join())
    });
    let mut ending = ended?;
    if let Some(StopReason::Cancelled) = ending.stopped {
        ending.stopped = stop.reason().or(ending.stopped);
    }
    let follow = |followed: std::thread::Result<Option<crate::streams::StreamResult>>| {
        let followed = followed.ok().flatten();
        followed.map_or_else(Default::default, |followed| (followed.shown, followed.masked))
    };
    let ((stdout, masked_out), (stderr, masked_err)) = (follow(stdout), follow(stderr));
    let mut report = SandboxReport {
        exit_code: None,
        signal: None,
        timed_out: ending.stopped == Some(StopReason::Timeout),
        stopped: ending.stopped,
        killed: ending.killed,
        tier,
        elapsed: started.elapsed(),
        stdout,
        stderr,
        masked: masked_out + masked_err,
    };
    report.ended(ending.exit);
    Ok(report)
}

#[expect(clippy::disallowed_methods, reason = "the one place where the helper is started")]
fn start(helper: &Path) -> Result<(Child, UnixStream), Error> {
    let doing = || format!("starting the sandbox helper {}", helper.display());
    let (own, other) = UnixStream::pair().map_err(Error::io(doing()))?;
    // Nothing of our environment reaches the helper, so nothing can reach the program through it.
    let child = Command::new(helper)
        .arg(crate::HELPER_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(other)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io(doing()))?;
    Ok((child, own))
}

/// Reads statuses until the end, and passes on a cancellation.
///
/// It sleeps in one `poll` on the helper's socket and on a descriptor that the token's callback
/// makes readable, so that the word to stop leaves within the moment in which it was given. There is
/// no interval at which anybody looks: the only timeout is the one after which the helper is stuck.
fn wait(
    runner: &Runner,
    plan: &RunPlan,
    stop: &StopRequest,
    events: &(dyn Fn(RunEvent) + Sync),
    socket: &UnixStream,
    started: Instant,
) -> Result<Ending, Error> {
    let helper = |detail: String| Error::Helper { helper: runner.helper().to_owned(), detail };
    let waiting = || Error::io("waiting for the sandbox helper");
    let deadline = started + plan.limits.wall + plan.limits.grace + HELPER_GRACE;
    let (stop_requested, _guard) = readable_when_stopped(stop).map_err(waiting())?;
    let mut asked = false;
    loop {
        if let Some(reason) = stop.reason().filter(|_| !asked) {
            asked = true;
            events(RunEvent::Stopping { reason });
            // A helper that has just ended does not hear it any more.
            let _ended = (&*socket).write_all(&[CANCEL]);
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return Err(helper("it did not keep its own time limit and was killed".to_owned()));
        };
        // Once asked, the descriptor has said all it can say.
        let woken_by = if asked { None } else { Some(stop_requested.as_fd()) };
        if !readable(socket, woken_by, left).map_err(waiting())? {
            continue;
        }
        match receive::<Status>(&mut &*socket) {
            Ok(Status::Started) => events(RunEvent::Started { tier: runner.tier() }),
            Ok(Status::Failed(failure)) => {
                let (tier, step) = (runner.tier(), failure.step);
                return Err(Error::Setup { tier, step, message: failure.message });
            }
            Ok(Status::Ended(ending)) => {
                if let (Some(reason), false) = (ending.stopped, asked) {
                    events(RunEvent::Stopping { reason });
                }
                return Ok(ending);
            }
            Err(error) => return Err(helper(error.to_string())),
        }
    }
}

/// A descriptor that becomes readable when the run is to stop.
fn readable_when_stopped(stop: &StopRequest) -> io::Result<(OwnedFd, OnCancel)> {
    let waits = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let wakes = waits.try_clone()?;
    let guard = stop.token().on_cancel(move || {
        // The callback owns its descriptor, so it cannot write to a number that was given away.
        let _cannot_be_full = rustix::io::write(&wakes, &1_u64.to_ne_bytes());
    });
    Ok((waits, guard))
}

/// Waits for the socket or for `woken_by`; gives whether the socket has something to read.
fn readable(
    socket: &UnixStream,
    woken_by: Option<BorrowedFd<'_>>,
    time: Duration,
) -> io::Result<bool> {
    let descriptors = [Some(socket.as_fd()), woken_by];
    let mut polled: Vec<PollFd<'_>> = descriptors
        .into_iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&time)) {
        Ok(_) => Ok(polled.first().is_some_and(|socket| !socket.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the helper to end. One that did not end by itself is killed with all that is below it.
#[expect(
    clippy::disallowed_methods,
    reason = "it is short, and whatever is cancelled has to end here too"
)]
fn finish(child: &mut Child, is_stuck: bool) {
    if is_stuck {
        // A helper that failed a step is about to end by itself.
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Stopped first: as long as it lives, what it started stays below it, and what asks it for
        // another process gets none.
        let helper = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(helper) = helper {
            let _gone = kill_process(helper, Signal::STOP);
        }
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let below = Descendants::of(child.id()).living();
            signal_all(&below, Signal::KILL);
            if below.is_empty() || Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _gone = child.kill();
    }
    let _status = child.wait();
}

/// A stream of the program that ends when it is closed, or when the run is given up: a process that got
/// away must not keep anyone waiting.
struct Stream<'a, R> {
    from: R,
    given_up: BorrowedFd<'a>,
    /// What is still read after that, if it is there.
    rest: usize,
}

impl<'a, R: Read + AsFd> Stream<'a, R> {
    /// As much as a pipe holds at most.
    const REST_BYTES: usize = 1 << 20;

    fn new(from: R, given_up: BorrowedFd<'a>) -> Self {
        Self { from, given_up, rest: Self::REST_BYTES }
    }
}

impl<R: Read + AsFd> Read for Stream<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut polled = [self.from.as_fd(), self.given_up]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        poll(&mut polled, None)?;
        let [has_more, is_given_up] = polled.map(|one| !one.revents().is_empty());
        if is_given_up && (!has_more || self.rest == 0) {
            return Ok(0);
        }
        let count = self.from.read(buffer)?;
        if is_given_up {
            self.rest = self.rest.saturating_sub(count);
        }
        Ok(count)
    }
}

pub(crate) fn probe(helper: &Path, scratch: &Path) -> Result<SandboxProbe, Error> {
    // A program may try the sandbox in several threads at once: each has a folder that no other removes.
    let dir = metier_fs::make_dir_for(scratch, "probe-")
        .map_err(Error::io(format!("preparing a probe in {}", scratch.display())))?;
    let result = probe_in(helper, &dir);
    metier_fs::remove_tree(&dir).map_err(Error::io(format!("removing {}", dir.display())))?;
    result
}

fn probe_in(helper: &Path, dir: &Path) -> Result<SandboxProbe, Error> {
    let doing = || format!("preparing the probe in {}", dir.display());
    let (work, outside) = (dir.join("work"), dir.join("outside"));
    metier_fs::create_private_dir(&work).map_err(Error::io(doing()))?;
    metier_fs::create_private_dir(&outside).map_err(Error::io(doing()))?;
    let secret = outside.join("secret");
    metier_fs::write_private(&secret, b"secret").map_err(Error::io(doing()))?;
    let work = metier_fs::canonical(&work).map_err(Error::io(doing()))?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Error::io(doing()))?;
    let port = listener.local_addr().map_err(Error::io(doing()))?.port();
    let targets = Targets { secret, parent: std::process::id(), port };
    let tiers: Vec<TierProbe> = [Tier::Strong, Tier::Medium]
        .into_iter()
        .map(|tier| probe_tier(&Runner::new(helper, tier), &work, &targets))
        .collect();
    let held = tiers.iter().find(|probe| probe.missing.is_none());
    let best = held.map_or(Tier::None, |probe| probe.tier);
    let features = features(&tiers);
    Ok(SandboxProbe { best, tiers, features })
}

fn probe_tier(runner: &Runner, work: &Path, targets: &Targets) -> TierProbe {
    let mut plan = RunPlan::new("/usr/bin/true", work);
    plan.limits.wall = Duration::from_secs(10);
    plan.limits.grace = Duration::from_millis(100);
    let options = RunOptions::default();
    let tried = follow(runner, &plan, Some(targets.clone()), &options, &|_| {});
    let tier = runner.tier();
    match tried {
        Ok(report) => {
            let attempts = serde_json::from_str(&report.stdout.text).unwrap_or_default();
            TierProbe::judge(tier, attempts)
        }
        Err(error) => TierProbe { tier, missing: Some(error.to_string()), attempts: Vec::new() },
    }
}

fn features(tiers: &[TierProbe]) -> Vec<SandboxFeature> {
    let abi = landlock_abi();
    let missing = |tier| tiers.iter().find(|probe| probe.tier == tier)?.missing.clone();
    let (strong, medium) = (missing(Tier::Strong), missing(Tier::Medium));
    let seen = |missing: &Option<String>| match missing {
        None => "the probe could not get out".to_owned(),
        Some(why) => why.clone(),
    };
    let is_root = rustix::process::geteuid().is_root();
    vec![
        SandboxFeature { name: "namespaces", present: strong.is_none(), detail: seen(&strong) },
        SandboxFeature {
            name: "landlock",
            present: abi > 0,
            detail: match abi {
                0 => "the kernel has none, or it is switched off".to_owned(),
                abi => format!("level {abi}"),
            },
        },
        SandboxFeature {
            name: "landlock signals",
            present: abi >= 6,
            detail: "signals and abstract sockets stay inside from level 6 on".to_owned(),
        },
        SandboxFeature {
            name: "landlock and seccomp",
            present: medium.is_none(),
            detail: seen(&medium),
        },
        SandboxFeature {
            name: "process limit",
            present: !is_root,
            detail: if is_root {
                "the kernel does not limit root's processes; the supervisor counts them"
            } else {
                "kept by the kernel"
            }
            .to_owned(),
        },
    ]
}
