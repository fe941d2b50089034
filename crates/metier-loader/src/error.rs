//! Why something of a skill could not be read. Each kind has a stable code.
//!
//! An error becomes an observation for the model and never ends a run, so its text says what to do
//! instead.

use std::fmt;

use metier_fs::RootError;
use metier_skill::text;
use metier_skill::{FailureCode, PathFault};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Why something of a skill could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The skill's directory or its `SKILL.md` is not there.
    SkillNotFound,
    /// The frontmatter of `SKILL.md` is not closed, so it is unclear where the body starts.
    InvalidFrontmatter(String),
    /// The path leaves the skill, or could on some system.
    PathTraversalBlocked(String),
    /// The file or body is larger than the limit.
    FileTooLarge(String),
    /// The file is not there, or the system refused.
    IoError(String),
    /// The file is not UTF-8 text.
    NotText(String),
    /// The file is never read.
    NotAllowed(String),
    /// The skill of this name is not for people to invoke.
    NotInvocable(String),
    /// The frontmatter is not the one that the index has.
    Changed(String),
}

impl LoadError {
    /// The stable code.
    pub const fn code(&self) -> FailureCode {
        match self {
            Self::SkillNotFound => FailureCode::SkillNotFound,
            Self::InvalidFrontmatter(_) => FailureCode::InvalidFrontmatter,
            Self::PathTraversalBlocked(_) => FailureCode::PathTraversalBlocked,
            Self::FileTooLarge(_) => FailureCode::FileTooLarge,
            Self::IoError(_) => FailureCode::IoError,
            Self::NotText(_) => FailureCode::NotText,
            Self::NotAllowed(_) | Self::NotInvocable(_) => FailureCode::NotAllowed,
            Self::Changed(_) => FailureCode::Changed,
        }
    }

    /// What to do next.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::SkillNotFound => "list the skills again; it may have been removed or renamed",
            Self::InvalidFrontmatter(_) => "check the skill and fix its frontmatter",
            Self::PathTraversalBlocked(_) => {
                "name a file below the skill's directory, such as references/a.md"
            }
            Self::FileTooLarge(_) => "ask for a smaller file; the author should split this one",
            Self::IoError(_) => "list the skill's files and name one of them exactly",
            Self::NotText(_) => {
                "only text files can be read; a script of the skill may read this one"
            }
            Self::NotAllowed(_) => {
                "hidden files, links and special files of a skill are never read"
            }
            Self::NotInvocable(_) => "describe the task instead; a model may load the skill",
            Self::Changed(_) => "continue without it; a new run lists the skills again",
        }
    }

    /// The error about the file `name`.
    pub(crate) fn about(name: &str, error: &RootError) -> Self {
        let message = format!("{name}: {error}");
        match error {
            RootError::TooLarge(_) => Self::FileTooLarge(message),
            RootError::Escapes => Self::PathTraversalBlocked(message),
            RootError::NotRegular | RootError::HardLink => Self::NotAllowed(message),
            RootError::Changed => Self::Changed(message),
            _ => Self::IoError(message),
        }
    }

    /// The error about a path that is none.
    pub(crate) fn path(path: &str, fault: PathFault) -> Self {
        let message = format!("{}: {fault} [{}]", text::quoted(path, 120), fault.as_str());
        match fault {
            PathFault::Dotfile => Self::NotAllowed(message),
            _ => Self::PathTraversalBlocked(message),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SkillNotFound => f.write_str("the skill no longer has a readable SKILL.md"),
            Self::NotInvocable(name) => {
                write!(f, "users cannot invoke `{name}` (`user-invocable: false`)")
            }
            Self::InvalidFrontmatter(message)
            | Self::PathTraversalBlocked(message)
            | Self::FileTooLarge(message)
            | Self::IoError(message)
            | Self::NotText(message)
            | Self::NotAllowed(message)
            | Self::Changed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for LoadError {}

impl Serialize for LoadError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("LoadError", 3)?;
        out.serialize_field("code", &self.code())?;
        out.serialize_field("message", &self.to_string())?;
        out.serialize_field("help", self.help())?;
        out.end()
    }
}
