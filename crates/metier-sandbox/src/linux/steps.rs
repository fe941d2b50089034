//! The order of the steps, from a fresh process to a confined program.
//!
//! `setsid`, descriptors, policy; in the strong tier namespaces and a first process that builds
//! the tree of mounts and collects the dead, for root in the medium tier the same without mounts; then, in the
//! process that becomes the program: limits, capabilities, no new privileges, Landlock, seccomp, exec. The process
//! that was started first stays behind as the supervisor.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, WaitOptions, wait};

use super::changes::WritableRoots;
use super::filter::{self, Setting, VisibleProcesses};
use super::memory::MemoryWatch;
use super::processes::Descendants;
use super::supervisor::{ProgramStatus, Supervisor, exit_of};
use super::{attempts, descriptors, listener, mounts, namespaces, privileges, resources, rules};
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
            limits: &policy.plan.limits,
            started,
            parent,
            child: begun.child,
            has_namespace: begun.status_pipe.is_some(),
            setup: begun.setup,
            status_pipe: begun.status_pipe,
            roots: begun.roots,
            memory: MemoryWatch::begin(&policy.plan),
            hears_parent: true,
            listener: None,
            ended: None,
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
    setup: UnixStream,
    status_pipe: Option<OwnedFd>,
    roots: Option<WritableRoots>,
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
    let (setup, setup_of_child) = UnixStream::pair().at(Step::Fork)?;
    let (mut status_pipe, mut roots) = (None, None);
    if policy.tier == Tier::Medium {
        roots = Some(WritableRoots::open(&policy.plan).at(Step::Policy)?);
    }
    let child = if enter_namespaces(policy)? {
        let (status_read, status_write) = pipe().at(Step::Fork)?;
        status_pipe = Some(status_read);
        fork(|| first_process(policy, setup_of_child, status_write)).at(Step::Fork)?
    } else {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).at(Step::Fork)?;
        let supervisor = own.as_raw_nonzero().get();
        let processes = VisibleProcesses::All { supervisor };
        fork(|| become_program(policy, setup_of_child, processes)).at(Step::Fork)?
    };
    descriptors::release_output().at(Step::Descriptors)?;
    Ok(StartedHelper { child, setup, status_pipe, roots })
}

/// Enters the namespaces of the tier; gives whether the next child is the first process of one.
fn enter_namespaces(policy: &Policy) -> Result<bool, Failure> {
    let plan = &policy.plan;
    if policy.tier == Tier::Strong {
        namespaces::enter(plan.network).at(Step::Namespaces)?;
        resources::limit_processes_of_namespace(&plan.limits).at(Step::Limits)?;
        return Ok(true);
    }
    let is_unlimited = policy.tier == Tier::Medium && resources::is_unlimited_user();
    if is_unlimited {
        namespaces::enter_processes().at(Step::Namespaces)?;
    }
    Ok(is_unlimited)
}

/// The first process of the namespaces: builds the tree, starts the program, collects the dead.
fn first_process(policy: &Policy, setup: UnixStream, status_pipe: OwnedFd) -> i32 {
    let prepared = (|| {
        privileges::die_with_parent().at(Step::Fork)?;
        resources::end_first();
        if policy.tier == Tier::Strong {
            namespaces::enter_mounts().at(Step::Namespaces)?;
            mounts::enter(&policy.plan).at(Step::Mounts)?;
        } else {
            resources::limit_process_numbers(&policy.plan.limits, "/proc".as_ref());
        }
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
    let program = match fork(|| become_program(policy, setup_of_program, VisibleProcesses::Own)) {
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
    // Whatever is left ends with this process; only how many they are is reported.
    let left = Descendants::of_this_process().living().len();
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    match (ProgramStatus { exit: exit_of(Some(status)), left }).send(status_pipe) {
        Ok(()) => 0,
        Err(_) => EXIT_SETUP,
    }
}

/// The last steps, in the process that becomes the program. It returns only when one failed, or
/// when the forbidden acts were tried in place of a program.
fn become_program(policy: &Policy, setup: UnixStream, processes: VisibleProcesses) -> i32 {
    if let Err(failure) = confine(policy, &setup, processes) {
        return report(setup, &failure);
    }
    if let Some(targets) = &policy.attempt {
        // Other processes may hold it as well, and no `exec` closes it.
        if setup.shutdown(Shutdown::Both).is_err() {
            return EXIT_SETUP;
        }
        return attempts::run(targets, &policy.plan.work_dir);
    }
    let plan = &policy.plan;
    let mut command = program(plan.program.as_os_str());
    command.args(&plan.args).env_clear().envs(&plan.env);
    let error = command.exec();
    let message = format!("{}: {error}", plan.program.display());
    report(setup, &Failure { step: Step::Exec, message })
}

fn confine(
    policy: &Policy,
    setup: &UnixStream,
    processes: VisibleProcesses,
) -> Result<(), Failure> {
    let plan = &policy.plan;
    // A session of its own again: a signal to the supervisor's group must not be the program's.
    rustix::process::setsid().at(Step::Session)?;
    rustix::process::chdir(plan.current_dir()).at(Step::WorkDir)?;
    // The limits are the program's. One that could use up the supervisor's would be watched by no one.
    resources::limit(&plan.limits).at(Step::Limits)?;
    resources::end_first();
    if policy.tier != Tier::Strong {
        resources::limit_processes_of_user(&plan.limits).at(Step::Limits)?;
    }
    if policy.tier == Tier::None {
        return privileges::die_with_parent().at(Step::Fork);
    }
    privileges::drop_capabilities().at(Step::Capabilities)?;
    privileges::no_new_privileges().at(Step::NoNewPrivs)?;
    privileges::die_with_parent().at(Step::Fork)?;
    rules::confine(plan, policy.tier).at(Step::Landlock)?;
    let setting = Setting {
        tier: policy.tier,
        network: plan.network,
        landlock: rules::landlock_abi(),
        processes,
    };
    match filter::install(setting).at(Step::Seccomp)? {
        // Closed here at the end of this scope: a script that held it would answer its own questions.
        Some(descriptor) => listener::send(setup, &descriptor).at(Step::Seccomp),
        None => Ok(()),
    }
}

/// Reports to the supervisor what failed.
fn report(mut setup: UnixStream, failure: &Failure) -> i32 {
    let json = serde_json::to_vec(failure).unwrap_or_default();
    // If it is not read, the exit code still says that nothing was run.
    let _unread = setup.write_all(&json);
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
