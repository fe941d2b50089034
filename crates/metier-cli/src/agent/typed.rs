//! Lines from standard input, read on a thread of its own so that Ctrl-C ends the wait for one.
//!
//! The thread reads a line only when one is asked for: what is typed ahead is left for the next
//! reader. Lines and cancellations come over one channel, so there is one place to wait.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use metier::CancelToken;

use crate::prompt;

/// What came of waiting for a line.
#[derive(Debug)]
pub(crate) enum TypedLine {
    /// A line, without blanks around it.
    Text(String),
    /// There will be none.
    End,
    /// The wait was cancelled.
    Stopped,
}

/// Reads lines from standard input.
#[derive(Debug, Default)]
pub(crate) struct StdinLines(Mutex<Option<Reader>>);

#[derive(Debug)]
struct Reader {
    want: Sender<()>,
    heard: Receiver<Heard>,
    /// For the callback of a token.
    notify: Sender<Heard>,
    /// Whether a line was asked for and has not come.
    is_waiting: bool,
    /// Whether there will be no more.
    has_ended: bool,
}

/// What ends a wait.
#[derive(Debug)]
enum Heard {
    /// A line; nothing at the end of the input.
    Line(io::Result<Option<String>>),
    /// A token was cancelled, perhaps the token of an earlier wait.
    Cancelled,
}

impl StdinLines {
    /// Discards what was typed before a question was shown: it cannot be an answer to it.
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
    pub(crate) fn line(&self, cancel: &CancelToken) -> io::Result<TypedLine> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = kept.get_or_insert_with(Reader::start);
        if reader.has_ended {
            return Ok(TypedLine::End);
        }
        if !reader.is_waiting {
            reader.is_waiting = reader.want.send(()).is_ok();
        }
        let notify = reader.notify.clone();
        let _guard = cancel.on_cancel(move || {
            let _ = notify.send(Heard::Cancelled);
        });
        loop {
            match reader.heard.recv() {
                Ok(Heard::Cancelled) if cancel.is_cancelled() => return Ok(TypedLine::Stopped),
                Ok(Heard::Cancelled) => {}
                Ok(Heard::Line(line)) => {
                    reader.is_waiting = false;
                    reader.has_ended = !matches!(line, Ok(Some(_)));
                    return Ok(line?.map_or(TypedLine::End, TypedLine::Text));
                }
                Err(_) => return Ok(TypedLine::End),
            }
        }
    }
}

impl Reader {
    fn start() -> Self {
        let (want, wanted) = channel();
        let (notify, heard) = channel();
        let sender = notify.clone();
        std::thread::spawn(move || {
            for () in wanted {
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                let is_end = !matches!(read, Ok(bytes) if bytes > 0);
                let text = read.map(|bytes| (bytes > 0).then(|| line.trim().to_owned()));
                if sender.send(Heard::Line(text)).is_err() || is_end {
                    return;
                }
            }
        });
        Self { want, heard, notify, is_waiting: false, has_ended: false }
    }
}
