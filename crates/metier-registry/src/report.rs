//! What a scan searched, found, left out, and why. Nothing disappears without a line here.
//!
//! The JSON form is a contract: keys are added, never renamed.

use std::path::PathBuf;

use metier_skill::{Code, Diagnostic, Digest, Source};
use serde::{Serialize, Serializer};

/// What one scan did.
#[derive(Debug, Clone, Serialize)]
pub struct ScanReport {
    /// The roots that exist or should, highest priority first.
    pub roots: Vec<RootReport>,
    /// How long the scan took.
    pub elapsed_ms: f64,
    /// `SKILL.md` files reached.
    pub found: usize,
    /// Those that are skills. `found` is `valid` and the length of `ignored` together.
    pub valid: usize,
    /// Those that are not, each with its reason.
    pub ignored: Vec<Ignored>,
    /// Anything else that could not be read, was not walked, or hit a limit.
    pub notes: Vec<Ignored>,
    /// Names that more than one skill has.
    pub conflicts: Vec<Conflict>,
    /// Whether a limit cut the walk.
    pub truncated: bool,
    /// The index's hash.
    pub index_hash: Digest,
}

/// One root.
#[derive(Debug, Clone, Serialize)]
pub struct RootReport {
    /// Where its skills count as coming from.
    pub source: Source,
    /// The folder.
    #[serde(serialize_with = "path_text")]
    pub path: PathBuf,
    /// Its rank, from 0; lower wins.
    pub priority: usize,
    /// Whether it could be searched.
    pub state: RootState,
    /// `SKILL.md` files reached below it.
    pub found: usize,
    /// The plugin it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// Whether a root could be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootState {
    /// It was searched.
    Ok,
    /// It does not exist.
    Missing,
    /// It is a file.
    NotDirectory,
    /// The system refused.
    Unreadable,
    /// Other accounts can write there, so it was not searched.
    Foreign,
}

impl RootState {
    /// The word used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::NotDirectory => "not-directory",
            Self::Unreadable => "unreadable",
            Self::Foreign => "foreign",
        }
    }
}

/// Something that did not make it, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// The skill's directory, or the directory or link that was not walked.
    #[serde(serialize_with = "path_text")]
    pub path: PathBuf,
    /// The diagnostic code.
    pub code: Code,
    /// A sentence.
    pub message: Box<str>,
    /// The line in its `SKILL.md`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Ignored {
    /// The skill in `path`, which is none because of `reason`.
    pub(crate) fn because(path: PathBuf, reason: &Diagnostic) -> Self {
        Self {
            path,
            code: reason.code,
            message: reason.message.clone(),
            line: (reason.line > 0).then_some(reason.line),
            column: (reason.column > 0).then_some(reason.column),
        }
    }
}

/// A name that more than one skill has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The name.
    pub name: Box<str>,
    /// The directory of the skill that counts.
    #[serde(serialize_with = "path_text")]
    pub winner: PathBuf,
    /// Where that one comes from.
    pub source: Source,
    /// The others.
    pub shadowed: Vec<Shadowed>,
    /// Why the first of the others lost.
    pub reason: ShadowReason,
}

/// A skill that another of the same name shadows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Where it comes from.
    pub source: Source,
    /// Its directory.
    #[serde(serialize_with = "path_text")]
    pub path: PathBuf,
    /// Its version, where it says one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Box<str>>,
    /// Why it lost.
    pub reason: ShadowReason,
}

/// Why a skill lost against another of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShadowReason {
    /// The winner's root has a higher priority.
    HigherRoot,
    /// The winner's folder has the skill's name, in the same root.
    FolderName,
    /// The winner was modified later, in the same root.
    ModifiedLater,
    /// The winner's path sorts first, in the same root at the same time.
    PathOrder,
    /// It is switched off, and the winner is not.
    SwitchedOff,
}

impl ShadowReason {
    /// Whether the two are in one root, where no one decides on purpose which of them counts.
    pub const fn is_clash(self) -> bool {
        matches!(self, Self::FolderName | Self::ModifiedLater | Self::PathOrder)
    }

    /// The reason as part of a sentence.
    pub const fn as_sentence(self) -> &'static str {
        match self {
            Self::HigherRoot => "a root with higher priority has a skill of that name",
            Self::FolderName => {
                "another skill of that name in the same root is in a folder of that name"
            }
            Self::SwitchedOff => "it is switched off",
            Self::ModifiedLater => "another skill of that name in the same root was modified later",
            Self::PathOrder => {
                "another skill of that name in the same root was modified at the same time and sorts first"
            }
        }
    }
}

/// A path as text; bytes that are not UTF-8 are replaced.
pub(crate) fn path_text<S: Serializer>(
    path: &std::path::Path,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => serializer.serialize_str(&path.to_string_lossy()),
    }
}
