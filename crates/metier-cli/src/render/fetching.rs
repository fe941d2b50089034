//! How far a fetch is, or an unpacking or a verification: one line on standard error that is written over, only on a terminal and only once
//! it has taken a while.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use metier::pack::FetchProgress;

use super::{bytes, safe};

/// Before the first line, and between two lines.
const FIRST: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);
/// How wide the bar is.
const WIDTH: u64 = 24;

/// The line of a fetch.
#[derive(Debug)]
pub(crate) struct FetchLine {
    is_terminal: bool,
    start: Instant,
    /// When it was last written, if ever.
    written: Mutex<Option<Instant>>,
}

impl FetchLine {
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            start: Instant::now(),
            written: Mutex::new(None),
        }
    }

    /// Takes the line away, if there is one.
    pub(crate) fn clear(&self) {
        let was_written = self.written.lock().is_ok_and(|mut written| written.take().is_some());
        if was_written {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl FetchProgress for FetchLine {
    fn step(&self, what: &str, done: u64, total: Option<u64>) {
        self.write(|| line(what, done, total, bytes));
    }

    fn count(&self, what: &str, done: u64, total: u64) {
        self.write(|| line(what, done, Some(total), |number| number.to_string()));
    }
}

impl FetchLine {
    /// Writes the line, where one is due.
    fn write(&self, line: impl FnOnce() -> String) {
        if !self.is_terminal || self.start.elapsed() < FIRST {
            return;
        }
        let Ok(mut written) = self.written.lock() else { return };
        if written.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        *written = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\u{1b}[K{}", line());
    }
}

fn line(what: &str, done: u64, total: Option<u64>, shown: impl Fn(u64) -> String) -> String {
    let what = safe(what);
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{what} {}", shown(done));
    };
    let full = (done.min(total).saturating_mul(WIDTH) / total).min(WIDTH);
    let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
    format!("{what} [{bar}] {} of {}", shown(done), shown(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_drawn_where_the_whole_is_known() {
        assert_eq!(line("fetching", 0, None, bytes), format!("fetching {}", bytes(0)));
        let half = line("fetching", 512, Some(1024), bytes);
        assert!(half.starts_with("fetching [############............] "), "{half}");
        assert!(line("fetching", 9000, Some(1024), bytes).contains(&"#".repeat(24)));
        let skills = line("verifying", 3, Some(12), |number| number.to_string());
        assert!(skills.ends_with("] 3 of 12"), "{skills}");
    }
}
