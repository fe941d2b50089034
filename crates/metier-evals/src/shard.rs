//! A part of a plan, for a machine of a CI matrix or a pod of an indexed job.
//!
//! Whether a case belongs to a part depends on its id alone, so that every machine comes to the same
//! answer without asking another, and all arms and trials of a case stay together: they are compared in
//! pairs.

use std::fmt;

use metier::Environment;
use metier::skill::Digest;

use crate::error::{EvalError, Result};

/// The variable in which Kubernetes says which pod of an indexed job this is, from 0.
const JOB_INDEX: &str = "JOB_COMPLETION_INDEX";

/// One of `count` parts of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    place: u32,
    count: u32,
}

impl Shard {
    /// All of a plan.
    pub const WHOLE: Self = Self { place: 0, count: 1 };

    /// The part `number` of `count`, from 1.
    pub fn new(number: u32, count: u32) -> Result<Self> {
        match number.checked_sub(1) {
            Some(place) if place < count => Ok(Self { place, count }),
            _ => Err(Self::invalid(&format!("{number}/{count}"))),
        }
    }

    /// A part as it is written: `2/8` for the second of eight, from 1; `job/8` for the one that Kubernetes
    /// gives this pod of an indexed job.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self> {
        let (number, count) = text.split_once('/').ok_or_else(|| Self::invalid(text))?;
        let count: u32 = count.parse().map_err(|_| Self::invalid(text))?;
        if number != "job" {
            let number = number.parse().map_err(|_| Self::invalid(text))?;
            return Self::new(number, count).map_err(|_| Self::invalid(text));
        }
        let index = environment.text(JOB_INDEX).and_then(|index| index.parse::<u32>().ok());
        let Some(index) = index else {
            let message = format!("`{text}` takes its number from {JOB_INDEX}, which is not set");
            let help = "set `completionMode: Indexed` in the job, or name the part: `1/8`";
            return Err(EvalError::usage(message, help));
        };
        if index >= count {
            let message = format!(
                "{JOB_INDEX} is {index}, and `{text}` has parts 0 to {} only",
                count.saturating_sub(1)
            );
            let help = "the number after the slash must be the `completions` of the job";
            return Err(EvalError::usage(message, help));
        }
        Ok(Self { place: index, count })
    }

    fn invalid(text: &str) -> EvalError {
        let message = format!("`{text}` is not a part of a plan");
        EvalError::usage(
            message,
            "write `2/8` for the second of eight parts, or `job/8` in a Kubernetes job",
        )
    }

    /// Whether the case with this id belongs to it.
    pub fn holds(self, case: &str) -> bool {
        let digest = Digest::of(case.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest.as_bytes()[..8]);
        u64::from_be_bytes(first) % u64::from(self.count) == u64::from(self.place)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.place + 1, self.count)
    }
}
