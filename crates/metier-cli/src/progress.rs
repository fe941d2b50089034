//! How far a long command is: one line on standard error that is written over, only on a terminal
//! and only once the work has taken a while.
//!
//! Any thread may count; the one that is due writes the line.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Milliseconds before the first line, and between two lines.
const FIRST_MILLIS: u64 = 500;
const INTERVAL_MILLIS: u64 = 100;

/// A count of things done, out of a known number.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    done: AtomicUsize,
    start: Instant,
    /// Milliseconds after the start at which the next line is due; 0 when none is ever shown.
    due: AtomicU64,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        let due = if io::stderr().is_terminal() { FIRST_MILLIS } else { 0 };
        let (done, start) = (AtomicUsize::new(0), Instant::now());
        Self { what, total, done, start, due: AtomicU64::new(due) }
    }

    /// Counts one more.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let due = self.due.load(Ordering::Relaxed);
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        if due == 0 || now < due {
            return;
        }
        let next = self.due.compare_exchange(
            due,
            now + INTERVAL_MILLIS,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if next.is_ok() {
            let _ = write!(io::stderr(), "\r{} {done}/{} ", self.what, self.total);
        }
    }
}

impl Drop for Progress {
    /// Clears the line, if there is one.
    fn drop(&mut self) {
        if self.due.load(Ordering::Relaxed) > FIRST_MILLIS {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
