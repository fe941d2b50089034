//! How far a download is: one line on standard error that is written over, on a terminal only, and only once
//! it has taken a while.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use metier::pack::FetchProgress;

use super::{bytes, safe};

/// Before the first line, and between two lines.
const FIRST: Duration = Duration::from_millis(300);
const INTERVAL: Duration = Duration::from_millis(100);
/// Characters of the bar.
const BAR_CHARS: usize = 24;

/// The line about a download.
#[derive(Debug)]
pub(crate) struct DownloadBar {
    is_shown: bool,
    state: Mutex<BarState>,
}

#[derive(Debug)]
struct BarState {
    due: Instant,
    is_drawn: bool,
}

impl DownloadBar {
    pub(crate) fn new() -> Self {
        let state = BarState { due: Instant::now() + FIRST, is_drawn: false };
        Self { is_shown: io::stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.is_drawn) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl FetchProgress for DownloadBar {
    fn step(&self, what: &str, done: u64, total: Option<u64>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if self.is_shown && now >= state.due {
            *state = BarState { due: now + INTERVAL, is_drawn: true };
            let _ = write!(io::stderr(), "\r\u{1b}[K{}", line(what, done, total));
        }
    }
}

impl Drop for DownloadBar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// One line, which fits into 80 columns.
fn line(what: &str, done: u64, total: Option<u64>) -> String {
    let what: String = safe(what).chars().take(30).collect();
    match total.filter(|total| *total > 0) {
        None => format!("{what} {}", bytes(done)),
        Some(total) => {
            let full = u128::from(done.min(total)) * BAR_CHARS as u128 / u128::from(total);
            let full = usize::try_from(full).unwrap_or(BAR_CHARS);
            let rest = BAR_CHARS - full;
            let bar = format!("{}{}", "=".repeat(full), " ".repeat(rest));
            format!("{what} [{bar}] {} of {}", bytes(done), bytes(total))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_of_how_much() {
        assert_eq!(line("downloading", 0, Some(0)), "downloading 0 B");
        let half = line("downloading", 1 << 20, Some(2 << 20));
        assert!(half.starts_with("downloading [============            ]"), "{half}");
        let over = line("downloading", 99, Some(10));
        assert!(over.contains("[========================]"), "{over}");
        assert!(line(&"x\u{1b}[2J".repeat(40), u64::MAX / 100, Some(u64::MAX / 50)).len() < 80);
    }
}
