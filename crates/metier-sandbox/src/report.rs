//! What is told about a run: events while it goes on, a report when it has ended.
//! Types only; `runner` makes them, and they are what JSON shows.

use std::time::Duration;

use serde::Serialize;

use crate::output::Shown;
use crate::tier::Tier;
use crate::wire::{Exit, Stop};

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
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
    /// It printed something; secrets are masked. No more of a stream comes as events than its head
    /// limit: a page that follows a run is not drowned by it.
    Output {
        /// Where.
        stream: Stream,
        /// What, as text; bytes that are none are replaced.
        text: String,
    },
    /// It is being stopped.
    Stopping {
        /// Why.
        reason: Stop,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The code it ended with; none when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time was up.
    pub timed_out: bool,
    /// Why it was stopped, if it was.
    pub stopped: Option<Stop>,
    /// Processes that were left when the program ended or was stopped, and were killed.
    pub killed: u32,
    /// The tier that held it.
    pub tier: Tier,
    /// From the start of the helper to the end of everything.
    #[serde(rename = "elapsed_ms", serialize_with = "as_millis")]
    pub elapsed: Duration,
    /// Standard output, masked.
    pub stdout: Shown,
    /// Standard error, masked.
    pub stderr: Shown,
    /// How many secrets were masked in both.
    pub masked: u64,
}

impl Report {
    /// Whether it ended by itself with code 0.
    pub fn succeeded(&self) -> bool {
        self.exit_code == Some(0) && self.stopped.is_none()
    }

    pub(crate) fn ended(&mut self, exit: Exit) {
        (self.exit_code, self.signal) = match exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
    }
}

fn as_millis<S: serde::Serializer>(elapsed: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
