//! The lines of one file that match: ripgrep's searcher, fed piece by piece within bounds.
//!
//! The bounds are checked before each piece is read, so that a search in one endless file ends as
//! soon as a search in many.

use std::cell::Cell;
use std::io::{self, Read};
use std::time::Instant;

use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use metier_skill::WorkPath;
use metier_skill::text::{clip, for_model};
use serde_json::{Value, json};

use metier_cancel::CancelToken;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 300;
/// Bytes of a line at most; a file with a longer one is not searched further.
const MAX_LINE_BYTES: usize = 8 << 20;

/// How far a search may still go.
pub(crate) struct Bounds<'c> {
    pub(crate) cancel: &'c CancelToken,
    pub(crate) bytes: u64,
    pub(crate) matches: usize,
    pub(crate) end: Instant,
}

impl Bounds<'_> {
    /// The bound that is reached, if one is.
    fn reached(&self) -> Option<&'static str> {
        if self.cancel.is_cancelled() {
            Some("it was cancelled")
        } else if self.bytes == 0 {
            Some("too many bytes")
        } else if self.matches == 0 {
            Some("too many matches")
        } else if Instant::now() >= self.end {
            Some("it took too long")
        } else {
            None
        }
    }
}

/// What was found.
#[derive(Default)]
pub(crate) struct LineMatches {
    pub(crate) text: String,
    pub(crate) hits: Vec<Value>,
    pub(crate) matches: usize,
    pub(crate) files: usize,
}

/// How the search in a file ended.
pub(crate) enum FileEnd {
    Whole,
    Binary,
    Unreadable,
    Cut(&'static str),
}

/// Searches `file`, which is called `path`, and adds what is found.
pub(crate) fn search_file(
    matcher: &RegexMatcher,
    file: Box<dyn Read>,
    path: &WorkPath,
    context: usize,
    bounds: &mut Bounds<'_>,
    finds: &mut LineMatches,
) -> FileEnd {
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build();
    let left = Cell::new(bounds.bytes);
    let mut lines =
        Lines { path, left: bounds.matches, found: LineMatches::default(), binary: false };
    let done = searcher.search_reader(matcher, Pieces { file, bounds, left: &left }, &mut lines);
    bounds.bytes = left.get();
    if lines.binary {
        return FileEnd::Binary;
    }
    let found = lines.found;
    bounds.matches -= found.matches.min(bounds.matches);
    finds.files += usize::from(found.matches > 0);
    finds.matches += found.matches;
    finds.text.push_str(&found.text);
    finds.hits.extend(found.hits);
    match (bounds.reached(), done) {
        (Some(why), _) => FileEnd::Cut(why),
        (None, Err(_)) => FileEnd::Unreadable,
        (None, Ok(())) => FileEnd::Whole,
    }
}

/// A file, until a bound is reached.
struct Pieces<'b, 'c> {
    file: Box<dyn Read>,
    bounds: &'b Bounds<'c>,
    /// Bytes that may still be read; the searcher owns the reader, so the count is outside.
    left: &'b Cell<u64>,
}

impl Read for Pieces<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 || self.bounds.reached().is_some() {
            return Ok(0);
        }
        let room = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..room])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

/// Collects the lines of one file.
struct Lines<'p> {
    path: &'p WorkPath,
    /// Matches that may still come.
    left: usize,
    found: LineMatches,
    binary: bool,
}

impl Lines<'_> {
    fn add(&mut self, number: Option<u64>, bytes: &[u8], mark: char) -> String {
        let line = String::from_utf8_lossy(bytes);
        let line = for_model(line.trim_end_matches(['\n', '\r']));
        let shown = clip(&line, MAX_LINE_CHARS).into_owned();
        let number = number.unwrap_or(0);
        self.found.text.push_str(&format!("{}{mark}{number}{mark} {shown}\n", self.path));
        shown
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let shown = self.add(found.line_number(), found.bytes(), ':');
        let number = found.line_number();
        self.found.hits.push(json!({"path": self.path, "line": number, "text": shown}));
        self.found.matches += 1;
        Ok(self.found.matches < self.left)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.add(found.line_number(), found.bytes(), '-');
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.found.text.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
