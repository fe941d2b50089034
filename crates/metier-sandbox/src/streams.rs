//! Following one stream of a run: read, mask, keep, store, send events. Runs on its own thread until
//! the stream ends; a script that prints too much is stopped.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use metier_skill::text::ExcerptBuilder;

use crate::error::Error;
use crate::limits::OutputLimits;
use crate::output::{CapturedStream, StoredStream};
use crate::redact::Redactor;
use crate::report::{OutputStream, RunEvent};
use crate::runner::RunOptions;
use crate::stopping::StopRequest;

/// What is left of one stream.
pub(crate) struct StreamResult {
    pub(crate) shown: CapturedStream,
    pub(crate) masked: u64,
}

/// Where a stream goes.
pub(crate) struct Sink<'a> {
    pub(crate) stream: OutputStream,
    pub(crate) limits: &'a OutputLimits,
    pub(crate) events: &'a (dyn Fn(RunEvent) + Sync),
    file: Option<std::fs::File>,
    stored: Option<StoredStream>,
    redactor: Redactor,
    /// Ends a run that prints without end.
    stop: StopRequest,
    /// The first bytes of a character whose last ones have not come yet.
    begun: Vec<u8>,
    /// Bytes so far, after masking.
    bytes: u64,
}

impl<'a> Sink<'a> {
    /// Opens the file that keeps the whole, if one is wanted.
    pub(crate) fn open(
        stream: OutputStream,
        limits: &'a OutputLimits,
        options: &RunOptions,
        stop: &StopRequest,
        events: &'a (dyn Fn(RunEvent) + Sync),
    ) -> Result<Self, Error> {
        let path = match stream {
            OutputStream::Stdout => options.stdout_file.as_deref(),
            OutputStream::Stderr => options.stderr_file.as_deref(),
        };
        let make = |path: &Path| {
            metier_fs::create_private_file(path)
                .map_err(Error::io(format!("creating {}", path.display())))
        };
        let stored = |path: &Path| StoredStream { path: PathBuf::from(path), bytes: 0 };
        Ok(Self {
            stream,
            limits,
            events,
            file: path.map(make).transpose()?,
            stored: path.map(stored),
            redactor: Redactor::new(options.secrets.clone()),
            stop: stop.clone(),
            begun: Vec::new(),
            bytes: 0,
        })
    }

    /// Reads to the end.
    pub(crate) fn follow(mut self, mut from: impl Read) -> StreamResult {
        let mut kept = ExcerptBuilder::new(self.limits.shown_chars);
        let mut buffer = vec![0; 64 << 10];
        let mut raw = 0_u64;
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            raw += count as u64;
            if raw > self.limits.total {
                // Further output is read and dropped, so that the script does not block on a full pipe.
                self.stop.flooded();
                continue;
            }
            let safe = self.redactor.push(&buffer[..count]);
            self.take(&safe, &mut kept);
        }
        let rest = self.redactor.finish();
        self.take(&rest, &mut kept);
        if !self.begun.is_empty() {
            let text = String::from_utf8_lossy(&self.begun).into_owned();
            kept.push(&text);
            if self.bytes <= self.limits.live {
                (self.events)(RunEvent::Output { stream: self.stream, text });
            }
        }
        let shown =
            CapturedStream::new(kept.finish(), self.bytes, self.stored, self.limits.shown_chars);
        StreamResult { shown, masked: self.redactor.masked() }
    }

    fn take(&mut self, safe: &[u8], kept: &mut ExcerptBuilder) {
        if safe.is_empty() {
            return;
        }
        let before = self.bytes;
        self.bytes += safe.len() as u64;
        let text = self.text_of(safe);
        kept.push(&text);
        if before < self.limits.live {
            (self.events)(RunEvent::Output { stream: self.stream, text });
        }
        let room = usize::try_from(self.limits.stored.saturating_sub(before)).unwrap_or(usize::MAX);
        let part = &safe[..safe.len().min(room)];
        if let (Some(file), Some(stored)) = (&mut self.file, &mut self.stored) {
            match file.write_all(part) {
                Ok(()) => stored.bytes += part.len() as u64,
                // A full disk ends the storing, not the run; the report still has head and tail.
                Err(_) => self.file = None,
            }
        }
    }

    /// The text in a chunk, with what was begun by the one before it.
    fn text_of(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(chunk);
        let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
        let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
        if is_begun {
            let whole = bytes.len() - last.len();
            self.begun = bytes.split_off(whole);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
