//! Lines that somebody types. A thread of its own reads them, so that Ctrl-C ends the wait for one.
//!
//! It reads only what was asked for: what is typed ahead belongs to whoever reads next.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::prompt;

/// How often the wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// What came of waiting for a line.
#[derive(Debug)]
pub(crate) enum Line {
    /// A line, without blanks around it.
    Text(String),
    /// There will be none.
    End,
    /// Somebody wants to stop.
    Stopped,
}

/// Reads lines from standard input.
#[derive(Debug, Default)]
pub(crate) struct Typed(Mutex<Option<Reader>>);

#[derive(Debug)]
struct Reader {
    want: Sender<()>,
    lines: Receiver<io::Result<Option<String>>>,
    /// Whether a line was asked for and has not come.
    is_waiting: bool,
}

impl Typed {
    /// Forgets what was typed before: it was no answer to a question that had not been asked.
    pub(crate) fn forget(&self) {
        prompt::forget_typed();
        if let Some(reader) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            while let Ok(Ok(Some(_))) = reader.lines.try_recv() {
                reader.is_waiting = false;
            }
        }
    }

    /// The next line.
    pub(crate) fn line(&self, stop: &dyn Fn() -> bool) -> io::Result<Line> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = kept.get_or_insert_with(Reader::start);
        if !reader.is_waiting {
            // A thread that is gone has said that the input has ended.
            reader.is_waiting = reader.want.send(()).is_ok();
        }
        loop {
            let line = match reader.lines.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if stop() => return Ok(Line::Stopped),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(Line::End),
                Ok(line) => line,
            };
            reader.is_waiting = false;
            return Ok(line?.map_or(Line::End, Line::Text));
        }
    }
}

impl Reader {
    fn start() -> Self {
        let (want, wanted) = channel();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for () in wanted {
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                let is_end = !matches!(read, Ok(bytes) if bytes > 0);
                let told = read.map(|bytes| (bytes > 0).then(|| line.trim().to_owned()));
                if sender.send(told).is_err() || is_end {
                    return;
                }
            }
        });
        Self { want, lines, is_waiting: false }
    }
}
