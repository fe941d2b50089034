//! When a run has to stop before its end: at the first error or failure, or when enough was spent.
//!
//! It counts and decides; the caller stops the worker. A run that was stopped has no verdict until it is complete.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::case::Case;
use crate::plan::Arm;
use crate::trial::TrialResult;

/// At which results a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailFast {
    /// At the first error.
    Errors,
    /// At the first error or failure.
    Failures,
}

/// Why a run has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStop {
    /// A result that it stops at.
    FailFast,
    /// A limit is spent.
    Limit,
}

/// What a run may spend, and what it stops at. Results may be added from several threads.
#[derive(Debug, Default)]
pub struct EvalLimits {
    /// At which results it stops.
    pub fail_fast: Option<FailFast>,
    /// The most tokens sent and received, those of the judge too.
    pub tokens: Option<u64>,
    /// The most calls of models, those of the judge too.
    pub calls: Option<u64>,
    used_tokens: AtomicU64,
    used_calls: AtomicU64,
}

impl EvalLimits {
    /// Limits that nothing of is used yet.
    pub fn new(fail_fast: Option<FailFast>, tokens: Option<u64>, calls: Option<u64>) -> Self {
        Self { fail_fast, tokens, calls, ..Self::default() }
    }

    /// Counts a result of a case; why the run has to stop after it, if it has to.
    pub fn add(&self, case: &Case, result: &TrialResult) -> Option<RunStop> {
        let (tokens, calls) = (result.cost.all_tokens(), result.cost.all_calls());
        let tokens = self.used_tokens.fetch_add(tokens, Ordering::Relaxed) + tokens;
        let calls = self.used_calls.fetch_add(calls, Ordering::Relaxed) + calls;
        let is_error = result.error_kind().is_some();
        let has_failed = match self.fail_fast {
            None => false,
            Some(FailFast::Errors) => is_error,
            // Without the skill its work is not done: to see that, the arm is run.
            Some(FailFast::Failures) => {
                is_error || result.arm != Arm::None && result.passed(case) == Some(false)
            }
        };
        let is_spent = self.tokens.is_some_and(|most| tokens >= most)
            || self.calls.is_some_and(|most| calls >= most);
        match (is_spent, has_failed) {
            (true, _) => Some(RunStop::Limit),
            (false, true) => Some(RunStop::FailFast),
            (false, false) => None,
        }
    }
}
