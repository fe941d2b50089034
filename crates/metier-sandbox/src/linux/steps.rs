//! The order of the steps, from a fresh process to a confined program.
//!
//! `setsid`, descriptors, policy, limits; in the strong tier namespaces, a first process that builds
//! the tree of mounts and collects the dead; then, in the process that becomes the program:
//! capabilities, no new privileges, Landlock, seccomp, exec. The process that was started first
//! stays behind as the supervisor.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, WaitOptions, wait};

use super::filter::{self, Setting};
use super::supervisor::{ProgramStatus, Supervisor, exit_of};
use super::{attempts, descriptors, mounts, namespaces, privileges, resources, rules};
use crate::tier::Tier;
use crate::wire::{EXIT_PROTOCOL, EXIT_SETUP, Failure, Policy, Status, Step, receive, send};

/// Names the step that an error belongs to.
trait At<T> {
    fn at(self, step: Step) -> Result<T, Failure>;
}

impl<T, E: std::fmt::Display> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, Failure> {
        self.map_err(|error| Failure { step, message: error.to_string() })
    }
}

/// All of the helper. It returns in no process but the supervisor, with the exit code.
pub(crate) fn helper_main() -> i32 {
    let started = Instant::now();
    // The parent put it into a group of its own already on some systems; that is no fault.
    let session = rustix::process::setsid().at(Step::Session);
    let Ok(mut parent) = descriptors::take_socket() else { return EXIT_PROTOCOL };
    let Ok(policy) = receive::<Policy>(&mut parent) else { return EXIT_PROTOCOL };
    let begun = session.and_then(|_| begin(&policy));
    let watch = match begun {
        Ok(begun) => Supervisor {
            tier: policy.tier,
            limits: &policy.plan.limits,
            started,
            parent,
            child: begun.child,
            setup: begun.setup,
            status_pipe: begun.status_pipe,
        },
        Err(failure) => {
            let sent = send(&mut parent, &Status::Failed(failure));
            return if sent.is_ok() { EXIT_SETUP } else { EXIT_PROTOCOL };
        }
    };
    watch.run()
}

struct StartedHelper {
    child: Pid,
    setup: OwnedFd,
    status_pipe: Option<OwnedFd>,
}

/// The steps before the first fork, and the fork.
fn begin(policy: &Policy) -> Result<StartedHelper, Failure> {
    if policy.version != Policy::VERSION {
        return Err(Failure {
            step: Step::Policy,
            message: format!("the helper is {}, the parent {}", Policy::VERSION, policy.version),
        });
    }
    policy.plan.check().at(Step::Policy)?;
    let limits = &policy.plan.limits;
    resources::limit(limits).at(Step::Limits)?;
    let (setup_read, setup_write) = pipe().at(Step::Fork)?;
    let mut status_pipe = None;
    let supervisor = std::process::id();
    let child = if policy.tier == Tier::Strong {
        namespaces::enter(policy.plan.network).at(Step::Namespaces)?;
        resources::limit_processes_of_namespace(limits).at(Step::Limits)?;
        let (status_read, status_write) = pipe().at(Step::Fork)?;
        status_pipe = Some(status_read);
        fork(|| first_process(policy, setup_write, status_write)).at(Step::Fork)?
    } else {
        resources::limit_processes_of_user(limits).at(Step::Limits)?;
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).at(Step::Fork)?;
        fork(|| become_program(policy, setup_write, supervisor)).at(Step::Fork)?
    };
    descriptors::release_output().at(Step::Descriptors)?;
    Ok(StartedHelper { child, setup: setup_read, status_pipe })
}

/// The first process of the namespaces: builds the tree, starts the program, collects the dead.
fn first_process(policy: &Policy, setup: OwnedFd, status_pipe: OwnedFd) -> i32 {
    let prepared = (|| {
        privileges::die_with_parent().at(Step::Fork)?;
        namespaces::enter_mounts().at(Step::Namespaces)?;
        mounts::enter(&policy.plan).at(Step::Mounts)?;
        privileges::drop_capabilities().at(Step::Capabilities)?;
        privileges::no_new_privileges().at(Step::NoNewPrivs)?;
        // Dropping capabilities may have cleared it.
        privileges::die_with_parent().at(Step::Fork)?;
        privileges::hide_memory().at(Step::Fork)
    })();
    if let Err(failure) = prepared {
        return report(setup, &failure);
    }
    let setup_of_program = match setup.try_clone() {
        Ok(copy) => copy,
        Err(error) => {
            return report(setup, &Failure { step: Step::Fork, message: error.to_string() });
        }
    };
    let program = match fork(|| become_program(policy, setup_of_program, 0)) {
        Ok(program) => program,
        Err(error) => {
            return report(setup, &Failure { step: Step::Fork, message: error.to_string() });
        }
    };
    drop(setup);
    if descriptors::release_output().is_err() {
        return EXIT_SETUP;
    }
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => break status,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return EXIT_SETUP,
        }
    };
    // Whatever is left ends with this process; only the count is status_pipe.
    let left = super::processes::descendants(1).len();
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    match (ProgramStatus { exit: exit_of(Some(status)), left }).send(status_pipe) {
        Ok(()) => 0,
        Err(_) => EXIT_SETUP,
    }
}

/// The last steps, in the process that becomes the program. It returns only when one failed, or
/// when the forbidden acts were tried in place of a program.
fn become_program(policy: &Policy, setup: OwnedFd, supervisor: u32) -> i32 {
    match confine(policy, supervisor) {
        Ok(()) => {}
        Err(failure) => return report(setup, &failure),
    }
    if let Some(targets) = &policy.attempt {
        drop(setup);
        return attempts::run(targets, &policy.plan.work_dir);
    }
    let plan = &policy.plan;
    let mut command = program(plan.program.as_os_str());
    command.args(&plan.args).env_clear().envs(&plan.env);
    let error = command.exec();
    let message = format!("{}: {error}", plan.program.display());
    report(setup, &Failure { step: Step::Exec, message })
}

fn confine(policy: &Policy, supervisor: u32) -> Result<(), Failure> {
    let plan = &policy.plan;
    // A session of its own again: a signal to the supervisor's group must not be the program's.
    rustix::process::setsid().at(Step::Session)?;
    rustix::process::chdir(&plan.work_dir).at(Step::WorkDir)?;
    if policy.tier == Tier::None {
        return privileges::die_with_parent().at(Step::Fork);
    }
    privileges::drop_capabilities().at(Step::Capabilities)?;
    privileges::no_new_privileges().at(Step::NoNewPrivs)?;
    privileges::die_with_parent().at(Step::Fork)?;
    rules::confine(plan, policy.tier).at(Step::Landlock)?;
    let supervisor = i32::try_from(supervisor).unwrap_or(0);
    let setting = Setting { tier: policy.tier, network: plan.network, supervisor };
    filter::install(setting).at(Step::Seccomp)
}

/// Tells the supervisor what failed.
fn report(setup: OwnedFd, failure: &Failure) -> i32 {
    let json = serde_json::to_vec(failure).unwrap_or_default();
    // If nobody reads it, the exit code still tells that nothing was run.
    let _unread = File::from(setup).write_all(&json);
    EXIT_SETUP
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Forks; the child runs `body` and ends with the code it gives.
fn fork(body: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: this process has one thread, so the child gets no lock that nobody would release,
    // and may do all that the parent may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = body();
            // SAFETY: ends the process at once; nothing of the parent's is flushed twice.
            unsafe { libc::_exit(code) }
        }
        child => Pid::from_raw(child).ok_or_else(|| io::Error::other("no process")),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where a program is executed")]
fn program(path: &OsStr) -> Command {
    Command::new(path)
}
