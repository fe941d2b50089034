//! What was read, returned and left out. The JSON form is a contract.
//!
//! `storage_ref` is empty here; a run that stores the whole text elsewhere fills it in.

use metier_skill::Digest;
use serde::Serialize;

/// A text and the account of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loaded {
    /// The text, ready for a model.
    pub text: String,
    /// The account.
    pub report: LoadReport,
}

/// What was read and returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadReport {
    /// The file, below the skill's directory.
    pub path: String,
    /// The digest of the file's bytes.
    pub sha256: Digest,
    /// Bytes read.
    pub bytes_read: usize,
    /// Characters returned.
    pub chars_returned: usize,
    /// Lines of the file that were returned, from 1, both included; 0-0 for none.
    pub lines: (usize, usize),
    /// Lines of the file (of the body, when a body was asked for).
    pub total_lines: usize,
    /// Whether something was left out.
    pub truncated: bool,
    /// Where the whole text is stored, if a run stored it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_ref: Option<String>,
    /// The section that was returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The section that was asked for and is not there; then `headings` lists those that are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_not_found: Option<String>,
    /// The file's headings, when they help to ask again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// Sections that were left out of a body, each with what loads it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedSection>,
    /// What to ask for next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextPart>,
}

impl LoadReport {
    /// The account of a file of which nothing has been returned yet.
    pub(crate) fn of(path: &str, bytes: &[u8], total_lines: usize) -> Self {
        Self {
            path: path.to_owned(),
            sha256: Digest::of(bytes),
            bytes_read: bytes.len(),
            chars_returned: 0,
            lines: (0, 0),
            total_lines,
            truncated: false,
            storage_ref: None,
            section: None,
            section_not_found: None,
            headings: Vec::new(),
            omitted: Vec::new(),
            next: None,
        }
    }
}

/// What to ask for after an excerpt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextPart {
    /// Ask for these lines, such as `201-400`.
    Lines(String),
    /// Ask for the same, leaving out this many characters: a line is longer than an excerpt.
    SkipChars(usize),
}

/// A section that was left out of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedSection {
    /// Its heading: `## Examples`.
    pub heading: String,
    /// How many lines it has.
    pub lines: usize,
    /// What to ask of `SKILL.md` to read it.
    pub load: Part,
}

/// A part of a file, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The section below this heading.
    Section(String),
    /// These lines, such as `12-40`: where the heading stands twice, or there is none.
    Lines(String),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Section(heading) => write!(f, "section \"{heading}\""),
            Self::Lines(lines) => write!(f, "lines {lines}"),
        }
    }
}
