//! Live counts on standard error while evals run: how many passed, failed and were errors.
//! It prints and counts, and decides nothing.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use metier_evals::{Case, StoreProgress, TrialResult};

/// Between two lines.
const INTERVAL: Duration = Duration::from_millis(100);

/// The counts of a run.
pub(super) struct LiveCounts {
    units: u64,
    is_shown: bool,
    counts: Mutex<Counts>,
}

struct Counts {
    done: u64,
    passed: u64,
    failed: u64,
    errors: u64,
    shown: Instant,
    has_line: bool,
}

impl LiveCounts {
    pub(super) fn new(before: StoreProgress) -> Self {
        let counts = Counts {
            done: before.done,
            passed: 0,
            failed: 0,
            errors: 0,
            shown: Instant::now(),
            has_line: false,
        };
        Self {
            units: before.units,
            is_shown: io::stderr().is_terminal(),
            counts: Mutex::new(counts),
        }
    }

    /// Counts a result.
    pub(super) fn add(&self, case: &Case, result: &TrialResult) {
        let Ok(mut counts) = self.counts.lock() else { return };
        counts.done += 1;
        match result.passed(case) {
            Some(true) => counts.passed += 1,
            Some(false) => counts.failed += 1,
            None if result.error_kind().is_some() => counts.errors += 1,
            // Nothing was judged: it is done, and nothing else.
            None => {}
        }
        if !self.is_shown || counts.shown.elapsed() < INTERVAL {
            return;
        }
        counts.shown = Instant::now();
        counts.has_line = true;
        let Counts { done, passed, failed, errors, .. } = *counts;
        let _ = write!(
            io::stderr(),
            "\r{done}/{} trials: {passed} passed, {failed} failed, {errors} errors \u{1b}[K",
            self.units
        );
    }
}

impl Drop for LiveCounts {
    fn drop(&mut self) {
        if self.counts.lock().is_ok_and(|counts| counts.has_line) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
