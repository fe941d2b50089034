//! Whether a place in a file is prose, a quotation in prose, or something that is executed.
//!
//! Skills explain attacks as often as they carry them. What stands in a script or in a fenced block is going to be
//! executed or copied; what stands in backticks or quotation marks in a sentence is talked about. Quotation marks
//! are those of Chinese and Japanese too: tidy:allow-cjk.

use std::cell::Cell;

use memchr::memchr;

use crate::report::{FoundAt, ScanFinding};
use crate::rules::{FindingSeverity, rule};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Markdown and plain text.
    Prose,
    /// A program, or data that programs act on.
    Executed,
    /// Its name does not say which: it is both.
    Unknown,
}

/// Files without an ending that are text.
const TEXTS: &[&str] = &[
    "license",
    "licence",
    "copying",
    "notice",
    "readme",
    "authors",
    "contributors",
    "changelog",
    "changes",
    "todo",
    "version",
];
/// Those that are programs.
const PROGRAMS: &[&str] = &[
    "makefile",
    "gnumakefile",
    "dockerfile",
    "containerfile",
    "justfile",
    "rakefile",
    "gemfile",
    "vagrantfile",
    "procfile",
    "jenkinsfile",
    "brewfile",
];

/// Endings of programs that an interpreter or a shell runs.
const PROGRAM_ENDINGS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "fish",
    "ksh",
    "ps1",
    "psm1",
    "bat",
    "cmd",
    "vbs",
    "py",
    "pyw",
    "rb",
    "pl",
    "php",
    "lua",
    "tcl",
    "awk",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "mts",
    "cts",
    "tsx",
    "r",
    "exs",
    "applescript",
    "scpt",
    "command",
];

impl FileKind {
    /// Whether a file may be a program: by its name, or by its first line.
    pub(crate) fn is_program(path: &str, text: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_one = |ending: &str| PROGRAM_ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
        let by_ending = name.rsplit_once('.').map(|(_, ending)| is_one(ending));
        text.starts_with("#!") || by_ending.unwrap_or_else(|| Self::of(path, text).is_executed())
    }

    /// By its name; a file without an ending that says nothing, and has no first line of a script, may be either.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("md" | "mdx" | "markdown" | "txt" | "rst" | "adoc") => Self::Prose,
            None if !text.starts_with("#!") => {
                let name = name.to_ascii_lowercase();
                let word = name.split('-').next().unwrap_or_default();
                match () {
                    () if PROGRAMS.contains(&name.as_str()) => Self::Executed,
                    () if TEXTS.contains(&word) => Self::Prose,
                    () => Self::Unknown,
                }
            }
            _ => Self::Executed,
        }
    }

    /// Whether someone may read it as text.
    pub(crate) fn is_read(self) -> bool {
        self != Self::Executed
    }

    /// Whether something may execute it.
    pub(crate) fn is_executed(self) -> bool {
        self != Self::Prose
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
    /// Where each line begins.
    starts: Vec<usize>,
    /// Whether each line is in a fenced block.
    fenced: Vec<bool>,
    /// What was counted up to the last place that was asked for.
    counted: Cell<Counted>,
    /// Where the line of that place begins, the place, and the characters between.
    columns: Cell<(usize, usize, usize)>,
}

/// Marks of quotation in a line, up to a place in it: places are asked for in their order, and a line may be the whole
/// file.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    start: usize,
    to: usize,
    ticks: usize,
    quotes: usize,
    opened: usize,
    closed: usize,
    /// Where the line has something else than marks of a list or a block that is quoted.
    words_at: usize,
    /// The first character that is no blank.
    first: Option<char>,
}

/// A mark that opens a fenced block: the character, and how many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// The one that a line begins with, and whether it may close a block: nothing stands behind it.
    fn of(line: &str) -> Option<(Self, bool)> {
        // A line with nothing before its mark, mostly; blanks of any script may stand there.
        let line = line.trim_start();
        let mark = *line.as_bytes().first().filter(|mark| b"`~".contains(mark))?;
        let length = line.bytes().take_while(|byte| *byte == mark).count();
        let rest = line[length..].trim_end();
        // Code in a sentence may stand between three backticks as well.
        let is_fence = length >= 3 && (mark == b'~' || !rest.contains('`'));
        is_fence.then_some((Self { mark, length }, rest.is_empty()))
    }
}

/// What hands the text in the quotation marks behind it to a shell or an interpreter.
const HANDS_OVER: &[&str] = &["eval", "system(", "exec(", "popen(", "run(", "call(", "spawn("];

/// How far back that is looked for, and the name of a search before its options.
const HANDED_OVER_CHARS: usize = 200;

/// Whether what stands in quotation marks behind `before` is executed, and no example of a text.
fn is_handed_over(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', '`']).trim_end_matches([' ', '\t']);
    // A line may be the whole file; what hands over stands close by.
    let near = before.char_indices().rev().nth(HANDED_OVER_CHARS).map_or(0, |(at, _)| at);
    let line = before[near..].rsplit('\n').next().unwrap_or_default().to_ascii_lowercase();
    let word = line.rsplit([' ', '\t']).next().unwrap_or_default();
    // `sh -c`, `bash -lc`, `node -e`; a search takes `-e` too.
    let is_option = word.starts_with('-')
        && word.ends_with(['c', 'e'])
        && word.len() <= 4
        && !["grep", "rg "].iter().any(|it| line.contains(it));
    is_option || HANDS_OVER.iter().any(|it| word.ends_with(it))
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let (mut starts, mut fenced) = (Vec::new(), Vec::new());
        let mut open: Option<Fence> = None;
        let mut at = 0;
        while at < text.len() {
            let line = &text[at..];
            starts.push(at);
            at += memchr(b'\n', line.as_bytes()).map_or(line.len(), |end| end + 1);
            let fence = Fence::of(&line[..at - starts[starts.len() - 1]]);
            match (open, fence) {
                (None, Some((fence, _))) => {
                    open = Some(fence);
                    fenced.push(true);
                }
                (Some(opened), Some((fence, true)))
                    if opened.mark == fence.mark && opened.length <= fence.length =>
                {
                    open = None;
                    fenced.push(true);
                }
                (opened, _) => fenced.push(opened.is_some()),
            }
        }
        Self { text, starts, fenced, counted: Cell::default(), columns: Cell::default() }
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

    /// A finding of the rule with this code at this byte, with its evidence and what that decodes to.
    pub(crate) fn finding(
        &self,
        (code, severity): (&'static str, FindingSeverity),
        at: usize,
        (evidence, decoded): (&str, Option<&str>),
    ) -> Option<ScanFinding> {
        let place = FoundAt { line: self.number(at) + 1, column: self.column(at) };
        Some(ScanFinding::new(rule(code)?, severity, &place, evidence, decoded))
    }

    /// The column at this byte, in characters, from 1.
    pub(crate) fn column(&self, at: usize) -> usize {
        let start = self.starts.get(self.number(at)).copied().unwrap_or(0);
        let (line, to, before) = self.columns.get();
        let (to, before) =
            if line == start && to <= at { (to.max(start), before) } else { (start, 0) };
        let before = before + self.text[to..at].chars().count();
        self.columns.set((start, at, before));
        before + 1
    }

    /// What stands at this byte of a file of this kind.
    pub(crate) fn place(&self, at: usize, kind: FileKind) -> PlaceKind {
        if kind == FileKind::Executed {
            return PlaceKind::Executed;
        }
        let before = &self.text[..at];
        let number = self.number(at);
        if self.fenced.get(number).copied().unwrap_or(false) {
            // What is quoted in an example is what the example is about.
            let is_quoted = before.ends_with(['"', '\'', '`']) && !is_handed_over(before);
            return if is_quoted { PlaceKind::Quotation } else { PlaceKind::Executed };
        }
        let start = self.starts.get(number).copied().unwrap_or(0);
        let counted = self.count(start, at);
        let begins_with = |mark| counted.first == Some(mark);
        let is_quoted = counted.ticks % 2 == 1
            || counted.quotes % 2 == 1
            || counted.opened > counted.closed
            || counted.words_at >= at && begins_with('>')
            || before.ends_with(['\'', '‘'])
            || begins_with('|');
        if is_quoted { PlaceKind::Quotation } else { PlaceKind::Sentence }
    }

    /// The marks between the start of a line and a place in it.
    fn count(&self, start: usize, at: usize) -> Counted {
        let mut counted = self.counted.get();
        if counted.start != start || counted.to > at || counted.to < start {
            let line = &self.text[start..];
            let words_at = line.trim_start_matches(['-', '*', ' ', '>']);
            let words_at = start + line.len() - words_at.len();
            let first = line.trim_start().chars().next();
            counted = Counted { start, to: start, words_at, first, ..Counted::default() };
        }
        for ch in self.text[counted.to..at].chars() {
            match ch {
                '`' => counted.ticks += 1,
                '"' => counted.quotes += 1,
                '“' | '「' | '『' => counted.opened += 1,
                '”' | '」' | '』' => counted.closed += 1,
                _ => {}
            }
        }
        counted.to = at;
        self.counted.set(counted);
        counted
    }
}
