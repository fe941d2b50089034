//! The body of a skill: `SKILL.md` without its frontmatter, within limits.
//!
//! Exactly one file is opened; none of the skill's resources is. A body over its limits is trimmed
//! (the default) or refused with advice to its author.

use metier_skill::text::for_model;
use metier_skill::{MAX_FILE_BYTES, RelPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::file_text::FileText;
use crate::files::SkillFiles;
use crate::lines::count_lines;
use crate::report::{LoadReport, Loaded};
use crate::trim::trim;

/// How much of a body is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Lines of a body.
    pub lines: usize,
    /// Characters of a body.
    pub chars: usize,
    /// Bytes of `SKILL.md`; a larger file is not read at all.
    pub file_bytes: u64,
    /// What happens to a body over its limits.
    pub over: OverLimit,
}

/// What happens to a body over its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverLimit {
    /// It is trimmed, and what is left out is named.
    Trim,
    /// It is refused, with advice to its author.
    Refuse,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { lines: 500, chars: 40_000, file_bytes: MAX_FILE_BYTES, over: OverLimit::Trim }
    }
}

/// The name of a skill's file.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// Loads the body of a skill.
pub fn load_body(files: &dyn SkillFiles, limits: &BodyLimits) -> Result<Loaded, LoadError> {
    let bytes = read_skill_file(files, limits.file_bytes)?;
    let file = FileText::new(SKILL_FILE, &bytes)?;
    let written = body_of(&file)?;
    // Before it is measured: what has to be escaped takes more room.
    let body = for_model(written);
    let size = BodySize::of(&body, limits)?;
    let mut report = LoadReport::of(SKILL_FILE, &bytes, size.lines);
    report.lines = (usize::from(size.lines > 0), size.lines);
    let text = if size.is_whole {
        body.into_owned()
    } else {
        let before = &file.text[..file.text.len() - written.len()];
        let first_line = 1 + before.matches('\n').count();
        let trimmed = trim(&body, limits.lines, limits.chars, first_line);
        report.truncated = true;
        report.omitted = trimmed.omitted;
        // A cut may rob a mark of the text that excused it.
        for_model(&trimmed.text).into_owned()
    };
    report.chars_returned = text.chars().count();
    Ok(Loaded { text, report })
}

/// How much of a body is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodySize {
    /// Its lines.
    pub lines: usize,
    /// Its characters.
    pub chars: usize,
    /// Whether it is within the limits, and so loaded as it is.
    pub is_whole: bool,
}

impl BodySize {
    fn of(body: &str, limits: &BodyLimits) -> Result<Self, LoadError> {
        let (lines, chars) = (count_lines(body), body.chars().count());
        let is_whole = lines <= limits.lines && chars <= limits.chars;
        if !is_whole && limits.over == OverLimit::Refuse {
            return Err(LoadError::FileTooLarge(format!(
                "the body has {lines} lines and {chars} characters; at most {} and {} are loaded. \
                 Move details into files under references/ and say in the body when to read each",
                limits.lines, limits.chars
            )));
        }
        Ok(Self { lines, chars, is_whole })
    }
}

/// What loading the body of this `SKILL.md` would come to, without making the text.
pub fn measure_body(bytes: &[u8], limits: &BodyLimits) -> Result<BodySize, LoadError> {
    let file = FileText::new(SKILL_FILE, bytes)?;
    BodySize::of(&for_model(body_of(&file)?), limits)
}

/// Whether this body of a `SKILL.md`, behind this head, is certainly loaded as it is, known from its size alone:
/// `true` for nearly every skill, at a small part of what [`measure_body`] costs. Where it is `false`, that has
/// to be asked.
pub fn is_surely_whole(head: &[u8], body: &str, limits: &BodyLimits) -> bool {
    /// Characters that a model is given for a byte, at most: `\x1b` for an escape.
    const MAX_CHARS_PER_BYTE: usize = 4;
    /// What the longest escape takes: `\u{2028}`.
    const ESCAPE_CHARS: usize = 8;
    // A NUL makes it no text, and a carriage return may break a line more.
    let is_plain = |bytes: &[u8]| memchr::memchr2(0, b'\r', bytes).is_none();
    if !is_plain(head) || !is_plain(body.as_bytes()) || std::str::from_utf8(head).is_err() {
        return false;
    }
    memchr::memchr_iter(b'\n', body.as_bytes()).count() < limits.lines
        && (body.len() <= limits.chars / MAX_CHARS_PER_BYTE
            || body.chars().count() + possible_escapes(body) * ESCAPE_CHARS <= limits.chars)
}

/// How many characters of a text may be escaped for a model, at most: control characters, and whatever starts with
/// one of two bytes. Counted in small pieces, many bytes at a time.
fn possible_escapes(text: &str) -> usize {
    const PIECE: usize = 128;
    let may_be_escaped = |byte: u8| {
        u8::from(byte < b' ' && byte != b'\n' && byte != b'\t')
            | u8::from(byte == 0x7f)
            | u8::from(byte == 0xc2)
            | u8::from(byte == 0xe2)
    };
    let count = |piece: &[u8]| piece.iter().fold(0u8, |sum, byte| sum + may_be_escaped(*byte));
    text.as_bytes().chunks(PIECE).map(|piece| usize::from(count(piece))).sum()
}

fn body_of<'f>(file: &'f FileText<'_>) -> Result<&'f str, LoadError> {
    let Some(start) = file.body else {
        let message = "the frontmatter of SKILL.md is not closed, so its body cannot be found";
        return Err(LoadError::InvalidFrontmatter(message.to_owned()));
    };
    Ok(file.text[start..].trim_start_matches('\n'))
}

/// `SKILL.md`, or the lower-case spelling that discovery reads too.
pub(crate) fn read_skill_file(files: &dyn SkillFiles, limit: u64) -> Result<Vec<u8>, LoadError> {
    use metier_fs::RootError;
    for name in [SKILL_FILE, "skill.md"] {
        let Ok(path) = RelPath::new(name) else { continue };
        match files.read(&path, limit) {
            Err(RootError::Missing) => {}
            other => return other.map_err(|error| LoadError::about(name, &error)),
        }
    }
    Err(LoadError::SkillNotFound)
}
