//! The tier `none` where there is no helper: a plain child with a clean environment, capped output
//! and a time limit. On Unix its process group ends with it; what left the group may outlive it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::plan::RunPlan;
use crate::report::{OutputStream, RunEvent, SandboxReport};
use crate::runner::RunOptions;
use crate::stopping::StopRequest;
use crate::streams::{Sink, StreamResult};
use crate::tier::Tier;
use crate::wire::{ProcessExit, StopReason};

/// How often the child is asked whether it has ended. A cancellation does not wait for it.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(super) fn run(
    plan: &RunPlan,
    options: &RunOptions,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<SandboxReport, Error> {
    let limits = &plan.limits;
    let stop = StopRequest::new(&options.cancel);
    let stdout = Sink::open(OutputStream::Stdout, &limits.output, options, &stop, events)?;
    let stderr = Sink::open(OutputStream::Stderr, &limits.output, options, &stop, events)?;
    let started = Instant::now();
    let mut command = Command::new(&plan.program);
    command
        .args(&plan.args)
        .env_clear()
        .envs(&plan.env)
        .current_dir(plan.current_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child =
        command.spawn().map_err(Error::io(format!("starting {}", plan.program.display())))?;
    events(RunEvent::Started { tier: Tier::None });
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut stopped = None;
    let (exit, followed) = std::thread::scope(|scope| {
        let send_out = sender.clone();
        scope.spawn(move || send_out.send((0, out.map(|out| stdout.follow(out)))));
        scope.spawn(move || sender.send((1, err.map(|err| stderr.follow(err)))));
        let status = loop {
            if let Ok(Some(status)) = child.try_wait() {
                break Some(status);
            }
            let reason = stop.reason();
            let late = started.elapsed() > limits.wall;
            if let Some(reason) = reason.or(late.then_some(StopReason::Timeout)) {
                stopped = Some(reason);
                events(RunEvent::Stopping { reason });
                let _gone = child.kill();
                break child.wait().ok();
            }
            stop.token().wait_timeout(POLL_INTERVAL);
        };
        kill_group(child.id());
        let exit = ProcessExit::Code(status.and_then(|status| status.code()).unwrap_or(-1));
        let mut followed: [Option<StreamResult>; 2] = [None, None];
        for (stream, one) in receiver {
            followed[stream] = one;
        }
        (exit, followed)
    });
    let [out, err] =
        followed.map(|one| one.map_or_else(Default::default, |one| (one.shown, one.masked)));
    let mut report = SandboxReport {
        exit_code: None,
        signal: None,
        timed_out: stopped == Some(StopReason::Timeout),
        stopped,
        killed: 0,
        tier: Tier::None,
        elapsed: started.elapsed(),
        stdout: out.0,
        stderr: err.0,
        masked: out.1 + err.1,
    };
    report.ended(exit);
    Ok(report)
}

/// Ends what is left of the group, which would hold the streams.
fn kill_group(leader: u32) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}
