//! The protocol between parent and helper: one policy one way, a few statuses the other.
//!
//! Frames on a socket pair that is the helper's standard input: a length in four bytes, then JSON.
//! Types and framing only; `runner` and `linux` open and close the socket.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::plan::RunPlan;
use crate::probe::Targets;
use crate::tier::Tier;

/// Longer frames are refused.
const MAX_FRAME_BYTES: u32 = 4 << 20;

/// The helper ends with this code when it could not confine; nothing was run then.
pub const EXIT_SETUP: i32 = 120;

/// The helper exits with this code when it was not sent a policy.
pub const EXIT_PROTOCOL: i32 = 121;

/// The parent's only message after the policy: end the run.
pub(crate) const CANCEL: u8 = b'C';

/// What the helper has to apply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    /// The version of the parent, which must be the helper's own.
    pub(crate) version: String,
    pub(crate) tier: Tier,
    pub(crate) plan: RunPlan,
    /// Instead of a program: try these forbidden acts and print what came of them.
    pub(crate) attempt: Option<Targets>,
}

impl Policy {
    /// The version that both sides must have.
    pub(crate) const VERSION: &'static str = env!("CARGO_PKG_VERSION");
}

/// What the helper reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// The program is running, confined.
    Started,
    /// A step failed; nothing was run.
    Failed(Failure),
    /// Everything has ended.
    Ended(Ending),
}

/// A step that failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) message: String,
}

/// How the program and whatever it started came to an end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) exit: ProcessExit,
    /// Why it was stopped, if it was.
    pub(crate) stopped: Option<StopReason>,
    /// Processes that were still there and were killed.
    pub(crate) killed: u32,
}

/// How one process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a run was stopped before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The time was up.
    Timeout,
    /// The caller cancelled it.
    Cancelled,
    /// It had more processes than it may.
    Processes,
    /// It held more memory than it may, all processes together.
    Memory,
    /// It printed more than it may.
    Output,
    /// The process that started it is gone.
    ParentGone,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Timeout => "it ran out of time",
            Self::Cancelled => "it was cancelled",
            Self::Processes => "it started too many processes",
            Self::Memory => "it used too much memory",
            Self::Output => "it printed too much",
            Self::ParentGone => "the process that started it is gone",
        })
    }
}

/// The steps of the confinement, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A session of its own.
    Session,
    /// Inherited descriptors closed, standard input empty.
    Descriptors,
    /// Reading the policy.
    Policy,
    /// Resource limits.
    Limits,
    /// User, mount, process, network, IPC and host name namespaces.
    Namespaces,
    /// The minimal tree of mounts.
    Mounts,
    /// Starting the process that becomes the program.
    Fork,
    /// All capabilities dropped.
    Capabilities,
    /// No program gives new privileges.
    NoNewPrivs,
    /// The file and signal rules.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// Entering the working directory.
    WorkDir,
    /// Becoming the program.
    Exec,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Descriptors => "descriptors",
            Self::Policy => "policy",
            Self::Limits => "limits",
            Self::Namespaces => "namespaces",
            Self::Mounts => "mounts",
            Self::Fork => "fork",
            Self::Capabilities => "capabilities",
            Self::NoNewPrivs => "no-new-privs",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::WorkDir => "work-dir",
            Self::Exec => "exec",
        })
    }
}

/// Writes one frame.
pub(crate) fn send<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    let length = u32::try_from(json.len()).ok().filter(|length| *length <= MAX_FRAME_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let mut frame = Vec::with_capacity(json.len() + 4);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&json);
    to.write_all(&frame)
}

/// Reads one frame.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::other("the message is too long"));
    }
    let mut json = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_was_sent() {
        let mut bytes = Vec::new();
        let ending =
            Ending { exit: ProcessExit::Signal(9), stopped: Some(StopReason::Timeout), killed: 2 };
        send(&mut bytes, &Status::Ended(ending)).expect("sends");
        let back: Status = receive(&mut bytes.as_slice()).expect("receives");
        assert_eq!(
            serde_json::to_string(&back).expect("json"),
            r#"{"ended":{"exit":{"signal":9},"stopped":"timeout","killed":2}}"#
        );
    }

    #[test]
    fn a_frame_that_claims_gigabytes_is_refused_before_it_is_read() {
        let bytes = u32::MAX.to_le_bytes();
        assert!(receive::<Status>(&mut bytes.as_slice()).is_err());
    }
}
