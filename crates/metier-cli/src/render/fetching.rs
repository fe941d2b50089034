//! How far a fetch is: one line on standard error that is written over, only on a terminal and only once
//! it has taken a while.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use metier::pack::FetchProgress;

use super::bytes;

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
        if !self.is_terminal || self.start.elapsed() < FIRST {
            return;
        }
        let Ok(mut written) = self.written.lock() else { return };
        if written.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        *written = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\u{1b}[K{}", line(what, done, total));
    }
}

fn line(what: &str, done: u64, total: Option<u64>) -> String {
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{what} {}", bytes(done));
    };
    let full = (done.min(total).saturating_mul(WIDTH) / total).min(WIDTH);
    let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
    format!("{what} [{bar}] {} of {}", bytes(done), bytes(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_drawn_where_the_whole_is_known() {
        assert_eq!(line("fetching", 0, None), format!("fetching {}", bytes(0)));
        let half = line("fetching", 512, Some(1024));
        assert!(half.starts_with("fetching [############............] "), "{half}");
        assert!(line("fetching", 9000, Some(1024)).contains(&"#".repeat(24)));
    }
}
