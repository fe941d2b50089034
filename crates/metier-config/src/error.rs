//! What can be wrong with a configuration file.
//!
//! A [`ConfigError`] is a sentence about one place in the user's file and what to do about it. The
//! words are made in `wording.rs`; drawing them is left to the caller.

use std::fmt;

use serde::{Serialize, Serializer};

/// One problem in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
#[non_exhaustive]
pub struct ConfigError {
    /// The file as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The key, such as `security.follow_symlink` or `permissions[2].effect`; empty when the
    /// problem is with the whole file.
    pub key_path: String,
    /// What sort of problem it is; written as its code.
    pub kind: ConfigErrorKind,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl ConfigError {
    /// The stable code, such as `config-unknown-key`.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// The sorts of problems, each with a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// The text is not JSON with comments.
    Syntax,
    /// A key that does not exist at its place.
    UnknownKey,
    /// A string where a number belongs, and the like.
    WrongType,
    /// The right type, but not an allowed value.
    BadValue,
    /// The same key twice in one object.
    DuplicateKey,
    /// A key that its object cannot do without.
    MissingKey,
    /// A key that only the user's own file may have.
    NotAllowedInProject,
    /// A key that an administrator's file may not have.
    NotAllowedInManaged,
    /// The text is too long or too deeply nested, or has too many problems to list them all.
    TooLarge,
}

impl ConfigErrorKind {
    /// Every kind, for the list of diagnostics in the documentation.
    pub const ALL: [Self; 9] = [
        Self::Syntax,
        Self::UnknownKey,
        Self::WrongType,
        Self::BadValue,
        Self::DuplicateKey,
        Self::MissingKey,
        Self::NotAllowedInProject,
        Self::NotAllowedInManaged,
        Self::TooLarge,
    ];

    /// The stable code, such as `config-unknown-key`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "config-syntax",
            Self::UnknownKey => "config-unknown-key",
            Self::WrongType => "config-wrong-type",
            Self::BadValue => "config-bad-value",
            Self::DuplicateKey => "config-duplicate-key",
            Self::MissingKey => "config-missing-key",
            Self::NotAllowedInProject => "config-not-allowed-in-project",
            Self::NotAllowedInManaged => "config-not-allowed-in-managed",
            Self::TooLarge => "config-too-large",
        }
    }
}

impl fmt::Display for ConfigErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for ConfigErrorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}
