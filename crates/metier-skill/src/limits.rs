//! How much of a `SKILL.md` is read, and how strictly it is judged.
//!
//! Every limit is a setting; the defaults are those of the design, chosen so that no real skill of
//! the measured corpora is lost to them without a word.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest file of a skill that is loaded, in bytes; `SKILL.md` included.
pub const MAX_FILE_BYTES: u64 = 2_000_000;

/// How a fault is judged. One parser serves all three; only severities differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The default: a skill that cannot be trusted to say what it is stays out of the index.
    #[default]
    Strict,
    /// Loads what it can and reports what it changed.
    Lenient,
    /// The public Agent Skills specification alone, as its reference validator reads it.
    Spec,
}

impl Profile {
    /// The word used in flags and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Lenient => "lenient",
            Self::Spec => "spec",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "lenient" => Ok(Self::Lenient),
            "spec" => Ok(Self::Spec),
            other => Err(format!("unknown profile `{other}`; use strict, lenient or spec")),
        }
    }
}

/// Bounds on what is read. Passing a hard one keeps the skill out of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of frontmatter, fences included.
    pub frontmatter_bytes: usize,
    /// Lines of frontmatter, fences excluded.
    pub frontmatter_lines: usize,
    /// Characters of a line outside the known fields.
    pub frontmatter_line_chars: usize,
    /// Characters of a description before it keeps the skill out.
    pub description_chars: usize,
    /// Lines of a body before `check` advises to split it.
    pub body_lines: usize,
    /// Characters of a body before `check` advises to split it.
    pub body_chars: usize,
    /// Whether `<` and `>` in a field that a model sees keep the skill out (strict profile).
    pub block_angle_brackets: bool,
}

/// Characters of a description that the public specification allows and a catalog shows.
pub(crate) const DESCRIPTION_SHOWN_CHARS: usize = 1024;
/// Characters of a name that the public specification allows.
pub(crate) const NAME_CHARS: usize = 64;
/// Characters of `compatibility` that the public specification allows.
pub(crate) const COMPATIBILITY_CHARS: usize = 500;

impl Default for Limits {
    fn default() -> Self {
        Self {
            frontmatter_bytes: 64 * 1024,
            frontmatter_lines: 200,
            frontmatter_line_chars: 500,
            description_chars: 8192,
            body_lines: 500,
            body_chars: 40_000,
            block_angle_brackets: true,
        }
    }
}
