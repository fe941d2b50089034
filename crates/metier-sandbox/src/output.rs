//! What is shown of a stream: its head, its tail, how much there was, and where all of it is.
//! Pure: `streams` makes it, and a report shows it.

use std::path::{Path, PathBuf};

use metier_skill::text::Excerpt;
use serde::Serialize;

/// What is shown of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CapturedStream {
    /// The text: all of it, or head and tail with a note between them that says how much is missing and
    /// where all of it is.
    pub text: String,
    /// Bytes that were printed, after masking.
    pub bytes: u64,
    /// Whether something is missing from the text.
    pub truncated: bool,
    #[serde(skip)]
    excerpt: Excerpt,
    #[serde(skip)]
    stored: Option<StoredStream>,
}

/// The file that a stream was written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredStream {
    pub(crate) path: PathBuf,
    /// Bytes that were written: less than were printed where that was too much, or the disk was full.
    pub(crate) bytes: u64,
}

impl CapturedStream {
    /// The stream with at most `max_chars` characters of it as its text.
    pub(crate) fn new(
        excerpt: Excerpt,
        bytes: u64,
        stored: Option<StoredStream>,
        max_chars: usize,
    ) -> Self {
        let truncated = excerpt.is_cut() || excerpt.size().chars > max_chars as u64;
        let mut stream = Self { text: String::new(), bytes, truncated, excerpt, stored };
        stream.text = stream.excerpt.text_within(max_chars, stream.rest().as_deref());
        stream
    }

    /// Changes the words of what is kept, such as paths that mean nothing after the run. What was printed
    /// stays as it was in the file that holds all of it.
    pub fn change_text(&mut self, change: impl Fn(String) -> String) {
        self.text = change(std::mem::take(&mut self.text));
        self.excerpt = std::mem::take(&mut self.excerpt).map(change);
    }

    /// What is kept of the stream, to show it in less room.
    pub const fn excerpt(&self) -> &Excerpt {
        &self.excerpt
    }

    /// Lines that were printed; what follows the last line end is one.
    pub fn lines(&self) -> u64 {
        let is_open = !self.text.is_empty() && !self.text.ends_with('\n');
        self.excerpt.size().lines + u64::from(is_open)
    }

    /// Where all of it is, for the note about what is missing.
    pub fn rest(&self) -> Option<String> {
        let StoredStream { path, bytes } = self.stored.as_ref().filter(|it| it.bytes > 0)?;
        let path = Path::display(path);
        Some(if *bytes == self.bytes {
            format!("all of it: {path}")
        } else {
            format!("its first {bytes} bytes: {path}")
        })
    }
}
