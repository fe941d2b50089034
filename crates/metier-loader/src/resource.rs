//! One part of one file of a skill: a section, some lines, or its beginning; and what to ask for next.
//!
//! Exactly one file is opened. The path is checked as text, then opened beneath the skill's
//! directory; whatever is refused, nothing was read.

use std::fmt;
use std::str::FromStr;

use metier_fs::RootError;
use metier_skill::text::{for_model, sequence_end};
use metier_skill::{Heading, MAX_FILE_BYTES, RelPath, find_section};

use crate::body::{SKILL_FILE, read_skill_file};
use crate::error::LoadError;
use crate::file_text::FileText;
use crate::files::SkillFiles;
use crate::lines::count_lines;
use crate::report::{LoadReport, Loaded, NextPart};

/// How much of a file is read and given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Bytes of a file; a larger one is not read at all.
    pub file_bytes: u64,
    /// Characters of an excerpt.
    pub excerpt_chars: usize,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { file_bytes: MAX_FILE_BYTES, excerpt_chars: 12_000 }
    }
}

/// Which part of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceQuery<'a> {
    /// A section, by its heading.
    pub section: Option<&'a str>,
    /// Lines of the file.
    pub lines: Option<LineRange>,
    /// Leave out this many characters of what the other two choose: for lines longer than an
    /// excerpt.
    pub skip_chars: usize,
}

/// Lines from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
}

impl FromStr for LineRange {
    type Err = String;

    /// Reads `A-B`, `A-` (to the end) and `A`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid line range `{text}`; write A-B, A- or A, counted from 1");
        let number = |part: &str| part.trim().parse::<usize>().map_err(|_| wrong());
        let (first, last) = match text.split_once('-') {
            Some((first, "")) => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first == 0 || last < first { Err(wrong()) } else { Ok(Self { first, last }) }
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.last == usize::MAX {
            write!(f, "{}-", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// Loads a part of the file at `path` of a skill.
pub fn load_resource(
    files: &dyn SkillFiles,
    path: &str,
    query: &ResourceQuery<'_>,
    limits: &ResourceLimits,
) -> Result<Loaded, LoadError> {
    let path = checked(path)?;
    let bytes = read_file(files, &path, limits.file_bytes)?;
    let file = FileText::new(path.as_str(), &bytes)?;
    let mut report = LoadReport::of(path.as_str(), &bytes, count_lines(&file.text));
    let part = part(&file, query, &mut report);
    let text = excerpt(&file.text, &part, query.skip_chars, limits.excerpt_chars, &mut report);
    Ok(Loaded { text, report })
}

/// The bytes of the file at `path` of a skill as they are: whole, and of any kind.
pub fn load_raw(
    files: &dyn SkillFiles,
    path: &str,
    limits: &ResourceLimits,
) -> Result<Vec<u8>, LoadError> {
    read_file(files, &checked(path)?, limits.file_bytes)
}

fn checked(path: &str) -> Result<RelPath, LoadError> {
    RelPath::new(path).map_err(|fault| LoadError::path(path, fault))
}

fn read_file(files: &dyn SkillFiles, path: &RelPath, limit: u64) -> Result<Vec<u8>, LoadError> {
    match files.read(path, limit) {
        // The skill's own file has two spellings that are read.
        Err(RootError::Missing) if path.as_str() == SKILL_FILE => read_skill_file(files, limit),
        other => other.map_err(|error| LoadError::about(path.as_str(), &error)),
    }
}

/// The bytes of `text` that are wanted, and which of its lines come first.
struct Part {
    start: usize,
    end: usize,
    first_line: usize,
}

fn part(file: &FileText<'_>, query: &ResourceQuery<'_>, report: &mut LoadReport) -> Part {
    let text = &*file.text;
    let mut part = Part { start: 0, end: text.len(), first_line: 1 };
    if let Some(hint) = query.section {
        let headings = file.outline();
        if let Some(heading) = find_section(&headings, hint) {
            part.start = heading.section.start;
            part.end = heading.section.end;
            part.first_line =
                1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..part.start]).count();
            report.section = Some(heading.marked());
        } else {
            report.section_not_found = Some(hint.to_owned());
            report.headings = headings.iter().map(Heading::marked).take(200).collect();
        }
    }
    if let Some(lines) = query.lines {
        // Lines are those of the file, also inside a section.
        let (mut at, mut line) = (0, 1);
        let (mut start, mut end) = (text.len(), text.len());
        for piece in text.split_inclusive('\n') {
            if line == lines.first {
                start = at;
            }
            at += piece.len();
            if line == lines.last {
                end = at;
            }
            line += 1;
        }
        if start > part.start {
            part.first_line = lines.first;
        }
        part.start = part.start.max(start);
        part.end = part.end.min(end).max(part.start);
    }
    part
}

/// The part, cut at a line where it is longer than the limit, with what to ask for next.
fn excerpt(text: &str, part: &Part, skip: usize, limit: usize, report: &mut LoadReport) -> String {
    let chosen = &text[part.start..part.end];
    let skipped = chosen.char_indices().nth(skip).map_or(chosen.len(), |(at, _)| at);
    let wanted = &chosen[skipped..];
    let first_line = part.first_line + chosen[..skipped].matches('\n').count();
    let mut end = wanted.len();
    let mut whole_lines = true;
    if let Some((at, _)) = wanted.char_indices().nth(limit) {
        let line_end = wanted[..at].rfind('\n');
        whole_lines = line_end.is_some();
        // Neither page would show a flag that is cut in two; but each page makes progress.
        let sequence = Some(sequence_end(wanted, at)).filter(|end| *end > 0).unwrap_or(at);
        end = line_end.map_or(sequence, |newline| newline + 1);
        report.truncated = true;
    }
    let given = &wanted[..end];
    let lines = given.lines().count();
    let last = (first_line + lines).saturating_sub(1);
    report.lines = if lines == 0 { (0, 0) } else { (first_line, last) };
    if end < wanted.len() {
        report.next = Some(if whole_lines {
            let total = first_line + wanted.lines().count() - 1;
            NextPart::Lines(LineRange { first: last + 1, last: total }.to_string())
        } else {
            NextPart::SkipChars(skip + given.chars().count())
        });
    }
    let given = for_model(given).into_owned();
    report.chars_returned = given.chars().count();
    given
}
