//! What is known about a run: events while it lasts, a report when it has ended.
//! Types only; `runner` makes them, and they are what JSON shows.

use std::time::Duration;

use serde::Serialize;

use crate::output::CapturedStream;
use crate::tier::Tier;
use crate::wire::{ProcessExit, StopReason};

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What happens during a run, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RunEvent {
    /// The program runs, confined by this tier.
    Started {
        /// The tier.
        tier: Tier,
    },
    /// It printed something; secrets are masked. Events stop at the live limit of a
    /// stream, so that they cannot flood a front end.
    Output {
        /// Where.
        stream: OutputStream,
        /// The text; invalid UTF-8 is replaced.
        text: String,
    },
    /// It is being stopped.
    Stopping {
        /// Why.
        reason: StopReason,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxReport {
    /// The exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time was up.
    pub timed_out: bool,
    /// Why it was stopped, if it was.
    pub stopped: Option<StopReason>,
    /// Processes that were left when the program ended or was stopped, and were killed.
    pub killed: u32,
    /// The tier that confined it.
    pub tier: Tier,
    /// From the start of the helper to the end of everything.
    #[serde(rename = "elapsed_ms", serialize_with = "as_millis")]
    pub elapsed: Duration,
    /// Standard output, masked.
    pub stdout: CapturedStream,
    /// Standard error, masked.
    pub stderr: CapturedStream,
    /// How many secrets were masked in both.
    pub masked: u64,
}

impl SandboxReport {
    /// Whether it ended by itself with code 0.
    pub fn succeeded(&self) -> bool {
        self.exit_code == Some(0) && self.stopped.is_none()
    }

    pub(crate) fn ended(&mut self, exit: ProcessExit) {
        (self.exit_code, self.signal) = match exit {
            ProcessExit::Code(code) => (Some(code), None),
            ProcessExit::Signal(signal) => (None, Some(signal)),
        };
    }
}

fn as_millis<S: serde::Serializer>(elapsed: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
