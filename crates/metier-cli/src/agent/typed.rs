//! Lines that somebody types. A thread of its own reads them, so that Ctrl-C ends the wait for one.
//!
//! It reads only what was asked for: what is typed ahead belongs to whoever reads next. The line and
//! the word to stop come over one channel, so that nobody has to look at two places.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use metier::CancelToken;

use crate::prompt;

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
    heard: Receiver<Heard>,
    /// For the callback of a token.
    tell: Sender<Heard>,
    /// Whether a line was asked for and has not come.
    is_waiting: bool,
    /// Whether there will be no more.
    has_ended: bool,
}

/// What the one who waits hears.
#[derive(Debug)]
enum Heard {
    /// A line; nothing at the end of the input.
    Line(io::Result<Option<String>>),
    /// A token was cancelled: perhaps one that nobody waits with any more.
    Cancelled,
}

impl Typed {
    /// Forgets what was typed before: it was no answer to a question that had not been asked.
    pub(crate) fn forget(&self) {
        prompt::forget_typed();
        if let Some(reader) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            while let Ok(heard) = reader.heard.try_recv() {
                match heard {
                    Heard::Line(Ok(Some(_))) => reader.is_waiting = false,
                    Heard::Cancelled => {}
                    Heard::Line(_) => reader.has_ended = true,
                }
            }
        }
    }

    /// The next line, unless `cancel` is cancelled before it comes.
    pub(crate) fn line(&self, cancel: &CancelToken) -> io::Result<Line> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = kept.get_or_insert_with(Reader::start);
        if reader.has_ended {
            return Ok(Line::End);
        }
        if !reader.is_waiting {
            reader.is_waiting = reader.want.send(()).is_ok();
        }
        let tell = reader.tell.clone();
        let _guard = cancel.on_cancel(move || {
            let _ = tell.send(Heard::Cancelled);
        });
        loop {
            match reader.heard.recv() {
                Ok(Heard::Cancelled) if cancel.is_cancelled() => return Ok(Line::Stopped),
                Ok(Heard::Cancelled) => {}
                Ok(Heard::Line(line)) => {
                    reader.is_waiting = false;
                    reader.has_ended = !matches!(line, Ok(Some(_)));
                    return Ok(line?.map_or(Line::End, Line::Text));
                }
                Err(_) => return Ok(Line::End),
            }
        }
    }
}

impl Reader {
    fn start() -> Self {
        let (want, wanted) = channel();
        let (tell, heard) = channel();
        let sender = tell.clone();
        std::thread::spawn(move || {
            for () in wanted {
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                let is_end = !matches!(read, Ok(bytes) if bytes > 0);
                let told = read.map(|bytes| (bytes > 0).then(|| line.trim().to_owned()));
                if sender.send(Heard::Line(told)).is_err() || is_end {
                    return;
                }
            }
        });
        Self { want, heard, tell, is_waiting: false, has_ended: false }
    }
}
