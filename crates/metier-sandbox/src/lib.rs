//! Running processes: the only crate of Metier that starts them, and the only one with `unsafe`.
//!
//! A caller that policy has allowed to run something makes a [`RunPlan`] and gives it to a
//! [`Runner`]. The runner starts a helper (`metier __sandbox`), sends it the plan over a socket,
//! and the helper confines itself step by step before it becomes the program. A step that fails ends
//! everything: nothing runs less confined than its [`Tier`] says.
//!
//! | module | owns |
//! |---|---|
//! | `plan` | what is to run and what it may see and use ([`RunPlan`]); pure |
//! | `environment` | the variables of a script ([`environment()`]); pure |
//! | `limits` | time, memory, processes, output ([`SandboxLimits`]); pure |
//! | `interpreter` | what runs a script, by its first line or suffix ([`Interpreter`]); pure |
//! | `locate` | where that is installed and what of it must be readable ([`Located`]) |
//! | `stage` | the run's own folder: the approved files of the skill, a working directory ([`Stage`]) |
//! | `tier`, `probe`, `held_tier` | which confinement this machine supports ([`Tier`], [`SandboxProbe`], [`held_tier`](fn@held_tier)) |
//! | `runner`, `stopping`, `streams`, `report`, `output` | a run, its events and its report ([`Runner`], [`SandboxReport`]) |
//! | `redact` | masking of secrets in streams ([`Redactor`], [`Secrets`]); pure |
//! | `wire` | the protocol between runner and helper |
//! | `program` | a program of the user's own, such as git, run as it is ([`UserProgram`]) |
//! | `unconfined` | a plain child with a clean environment, where there is no helper |
//! | `linux` | the helper: one file per step |
//! | `platform` (`platform_linux`, `platform_other`) | the parent's side of each system |
//! | `error` | why a process was not run, or why its end is not known |
//!
//! ```no_run
//! use metier_sandbox::{SandboxProbe, RunOptions, RunPlan, Runner, Tier};
//!
//! # fn main() -> Result<(), metier_sandbox::Error> {
//! let (helper, scratch) = ("/usr/bin/metier".as_ref(), "/var/tmp".as_ref());
//! let tier = SandboxProbe::run(helper, scratch)?.tier_for(Tier::LEAST_BY_DEFAULT)?;
//! let mut plan = RunPlan::new("/usr/bin/sort", "/var/tmp/work");
//! plan.args = vec!["names.txt".to_owned()];
//! let report = Runner::new(helper, tier).run(&plan, &RunOptions::default(), &|event| drop(event))?;
//! assert!(report.succeeded());
//! # Ok(())
//! # }
//! ```
//!
//! Files on disk: a stage, below a folder that the caller names; the files for whole output, which
//! the caller names too. The caller decides whether something may run before it uses this crate.

#![cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        reason = "what the helper needs is compiled everywhere, so that it stays portable"
    )
)]

mod environment;
mod error;
mod held_tier;
mod interpreter;
mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod locate;
mod output;
mod plan;
#[cfg_attr(target_os = "linux", path = "platform_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "platform_other.rs")]
mod platform;
mod probe;
mod program;
mod redact;
mod report;
mod runner;
mod stage;
mod stopping;
mod streams;
mod tier;
mod wire;

pub use environment::{ScriptPlaces, environment};
pub use error::Error;
pub use held_tier::held_tier;
pub use interpreter::{Interpreter, Runtime};
pub use limits::{OutputLimits, SandboxLimits};
pub use locate::{Located, SearchPath};
pub use output::CapturedStream;
pub use plan::{NetworkAccess, RunPlan, is_system};
pub use probe::{ProbeAct, ProbeAttempt, SandboxFeature, SandboxProbe, TierProbe};
pub use program::{ProgramEnd, ProgramResult, ProgramWatch, UserProgram};
pub use redact::{MASK, Redactor, Secrets};
pub use report::{OutputStream, RunEvent, SandboxReport};
pub use runner::{RunOptions, Runner};
pub use stage::{Stage, StageLimits};
pub use tier::Tier;
pub use wire::{EXIT_PROTOCOL, EXIT_SETUP, ProcessExit, Step, StopReason};

/// The first argument with which a binary of ours is the helper.
pub const HELPER_ARGUMENT: &str = "__sandbox";

/// All of the helper; gives the exit code. It must be called before anything else is done: no
/// thread may run and no file may be open, which is why it does not come from a command line parser.
pub fn helper_main() -> i32 {
    #[cfg(target_os = "linux")]
    return linux::helper_main();
    #[cfg(not(target_os = "linux"))]
    return platform::helper_main();
}
