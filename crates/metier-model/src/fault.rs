//! What is wrong with a reply, in words that are made to be fed back to the model.
//!
//! The words say what is wrong, where, and what is expected. What the model wrote is quoted briefly
//! and escaped, so that a fault stays one bounded line.

use std::fmt;

use metier_skill::nearest;
use metier_skill::text::{quoted, short_line};
use serde::{Deserialize, Serialize};

/// The kinds of faults of a reply, with stable codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultCode {
    /// There are no words.
    EmptyReply,
    /// It was cut off.
    Truncated,
    /// The model or its provider refused.
    Refused,
    /// It holds more than one decision.
    TwoActions,
    /// It is no JSON.
    NotJson,
    /// It is JSON, but no decision.
    NotADecision,
    /// There is no such action.
    UnknownAction,
    /// There is no such field.
    UnknownField,
    /// A field is not there.
    MissingField,
    /// A field holds something else than it should.
    WrongType,
    /// It is too long or too deep.
    TooLarge,
}

impl FaultCode {
    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EmptyReply => "empty_reply",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::TwoActions => "two_actions",
            Self::NotJson => "not_json",
            Self::NotADecision => "not_a_decision",
            Self::UnknownAction => "unknown_action",
            Self::UnknownField => "unknown_field",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::TooLarge => "too_large",
        }
    }
}

/// What is wrong with a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParseFault {
    /// What kind of fault.
    pub code: FaultCode,
    /// What is wrong, and what is expected.
    pub message: String,
    /// Where: `action.skills[0].name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.path.is_some() { " " } else { ": " };
        write!(f, "{}{separator}{}", self.code.as_str(), self.without_code())
    }
}

impl std::error::Error for ParseFault {}

impl ParseFault {
    /// What is wrong and where, for a place that names the code itself.
    pub fn without_code(&self) -> String {
        match &self.path {
            Some(path) => format!("at `{path}`: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// A fault of the whole reply.
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None }
    }

    /// A fault at one place of a decision.
    pub(crate) fn at(code: FaultCode, path: &str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: Some(short_line(path, 200).into_owned()) }
    }

    /// A field that is none, with the nearest one that is.
    pub(crate) fn unknown_field(path: &str, name: &str, of: &str, known: &[&str]) -> Self {
        let near = nearest(name, known.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message =
            format!("{of} has no field {}{near} (it has: {})", quoted(name, 60), known.join(", "));
        Self::at(FaultCode::UnknownField, path, message)
    }

    /// A field that is not there.
    pub(crate) fn missing(path: &str, expected: &str) -> Self {
        Self::at(FaultCode::MissingField, path, format!("this is missing; expected {expected}"))
    }
}
