//! Whether a place in a file is prose, a quotation in prose, or something that is executed.
//!
//! Skills explain attacks as often as they carry them. What stands in a script or in a fenced block is going to be
//! executed or copied; what stands in backticks or quotation marks in a sentence is talked about. Quotation marks
//! are those of Chinese and Japanese too: tidy:allow-cjk.

use memchr::memchr;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Markdown and plain text.
    Prose,
    /// A program, or data that programs act on.
    Executed,
}

impl FileKind {
    /// By its name; a file without a known ending is text if it has no first line of a script.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("md" | "mdx" | "markdown" | "txt" | "rst" | "adoc") => Self::Prose,
            None if !text.starts_with("#!") => Self::Prose,
            _ => Self::Executed,
        }
    }
}

/// What a place in a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A sentence.
    Sentence,
    /// Between backticks or quotation marks in a sentence, or in a row of a table.
    Quotation,
    /// A script, or a fenced block.
    Executed,
}

/// The lines of a text, and which of them are in fenced blocks.
pub(crate) struct Lines<'t> {
    pub(crate) text: &'t str,
    kind: FileKind,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Whether each line is in a fenced block.
    fenced: Vec<bool>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str, kind: FileKind) -> Self {
        let (mut starts, mut fenced) = (Vec::new(), Vec::new());
        let mut open: Option<&str> = None;
        let mut at = 0;
        while at < text.len() {
            let line = &text[at..];
            starts.push(at);
            at += memchr(b'\n', line.as_bytes()).map_or(line.len(), |end| end + 1);
            // A line with nothing before its mark, mostly; blanks of any script may stand there.
            let trimmed = line[..at - starts[starts.len() - 1]].trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
            match (open, mark) {
                (None, Some(mark)) => {
                    open = Some(mark);
                    fenced.push(true);
                }
                (Some(opened), Some(mark)) if opened == mark => {
                    open = None;
                    fenced.push(true);
                }
                (opened, _) => fenced.push(opened.is_some()),
            }
        }
        Self { text, kind, starts, fenced }
    }

    /// The number of the line at this byte, from 0.
    pub(crate) fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The line at this byte, without its end.
    pub(crate) fn line(&self, at: usize) -> &'t str {
        let start = self.starts.get(self.number(at)).copied().unwrap_or(0);
        self.text[start..].lines().next().unwrap_or_default()
    }

    /// The column at this byte, in characters, from 1.
    pub(crate) fn column(&self, at: usize) -> usize {
        let start = self.starts.get(self.number(at)).copied().unwrap_or(0);
        self.text[start..at].chars().count() + 1
    }

    /// What stands at this byte.
    pub(crate) fn place(&self, at: usize) -> PlaceKind {
        let number = self.number(at);
        if self.kind == FileKind::Executed || self.fenced.get(number).copied().unwrap_or(false) {
            // What is quoted in an example is what the example is about.
            let is_quoted =
                self.kind == FileKind::Prose && self.text[..at].ends_with(['"', '\'', '`']);
            return if is_quoted { PlaceKind::Quotation } else { PlaceKind::Executed };
        }
        let start = self.starts.get(number).copied().unwrap_or(0);
        let before = &self.text[start..at];
        let line = self.line(at);
        let is_open = |mark: char| before.matches(mark).count() % 2 == 1;
        let is_quoted = is_open('`')
            || is_open('"')
            || before.matches(['“', '「', '『']).count()
                > before.matches(['”', '」', '』']).count()
            || before.trim_start_matches(['-', '*', ' ', '>']).is_empty()
                && line.trim_start().starts_with('>')
            || before.ends_with(['\'', '‘'])
            || line.trim_start().starts_with('|');
        if is_quoted { PlaceKind::Quotation } else { PlaceKind::Sentence }
    }
}
