//! The one error of the runtime: what happened, what to do next, and a stable code.
//!
//! The parts below have errors of their own; here they become one type that a front end can show.
//! Its kind says how a program should end, its code is a contract, its texts are for people. Foreign
//! text in them is not escaped: a front end escapes it for the place where it is shown.

use std::fmt;

use metier_agent::AgentError;
use metier_config::ConfigError;
use metier_model::ModelError;
use metier_pack::{PackError, SourceDenial};
use metier_policy::{ExampleFault, PolicyError};
use metier_registry::manage::ManageError;
use metier_tools::{FailureCode, PolicyStoreError, ToolFailure};
use serde::Serialize;

use crate::approvals::OpenApproval;

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It could not be done.
    Failed,
    /// It was asked for in a way that cannot work.
    Usage,
    /// The policy, or a person, said no.
    Denied,
    /// A person has to approve it first.
    NeedsApproval,
    /// The caller stopped it.
    Cancelled,
}

/// Why something could not be done.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Error {
    /// What kind of error it is.
    #[serde(skip)]
    pub kind: ErrorKind,
    /// The stable code.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Where one file has several faults: all of them, the first one too.
    #[serde(rename = "errors", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The question that was left open.
    #[serde(skip)]
    pub approval: Option<Box<OpenApproval>>,
}

/// One fault in a file, with its place.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The stable code.
    pub code: &'static str,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into(), help: None, faults: Vec::new(), approval: None }
    }

    pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, code, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, "usage", message)
    }

    pub(crate) fn denied(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, code, message)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error of a file with faults: the first of them says what happened.
    pub(crate) fn in_file(faults: Vec<Fault>) -> Option<Self> {
        let first = faults.first()?;
        let error = Self::failed(first.code, first.to_string());
        Some(Self { help: first.help.clone(), faults, ..error })
    }

    pub(crate) fn config(errors: Vec<ConfigError>) -> Self {
        let fault = |error: ConfigError| Fault {
            code: error.code(),
            file: error.file,
            line: error.line,
            column: error.column,
            message: error.message,
            help: Some(error.help).filter(|help| !help.is_empty()),
        };
        Self::in_file(errors.into_iter().map(fault).collect())
            .unwrap_or_else(|| Self::failed("config-syntax", "the configuration cannot be read"))
    }

    pub(crate) fn examples(failed: &[ExampleFault]) -> Option<Self> {
        let fault = |failed: &ExampleFault| Fault {
            code: "example-failed",
            file: failed.origin.clone(),
            line: failed.line.unwrap_or(1),
            column: 1,
            message: failed.message(),
            help: Some("change the rules, or what the example expects".to_owned()),
        };
        Self::in_file(failed.iter().map(fault).collect())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Self {
        let kind = match error {
            PolicyError::BadRule { .. } => ErrorKind::Failed,
            _ => ErrorKind::Usage,
        };
        Self::new(kind, error.code(), error.to_string()).with_help(error.help())
    }
}

impl From<PolicyStoreError> for Error {
    fn from(error: PolicyStoreError) -> Self {
        Self::failed(error.code(), error.to_string()).with_help(error.help())
    }
}

impl From<AgentError> for Error {
    fn from(error: AgentError) -> Self {
        Self::failed(error.code(), error.to_string()).with_help(error.help())
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let code = match error.kind.as_str() {
            "config" => "model-config",
            _ => "model-failed",
        };
        Self::failed(code, error.to_string()).with_help(error.kind.help())
    }
}

impl From<ToolFailure> for Error {
    fn from(failure: ToolFailure) -> Self {
        let kind = match failure.code {
            FailureCode::NotAllowed => ErrorKind::Denied,
            _ => ErrorKind::Failed,
        };
        Self::new(kind, failure.code.as_str(), failure.message).with_help(failure.help)
    }
}

impl From<metier_sandbox::Error> for Error {
    fn from(error: metier_sandbox::Error) -> Self {
        Self::failed(error.code(), error.to_string()).with_help(error.hint())
    }
}

impl From<ManageError> for Error {
    fn from(error: ManageError) -> Self {
        let kind = match error {
            ManageError::BadName { .. } => ErrorKind::Usage,
            _ => ErrorKind::Failed,
        };
        Self::new(kind, error.code(), error.to_string()).with_help(error.help())
    }
}

impl From<PackError> for Error {
    fn from(error: PackError) -> Self {
        let kind = match error {
            PackError::UnsupportedSource { .. }
            | PackError::BadSource { .. }
            | PackError::SeveralSkills { .. } => ErrorKind::Usage,
            PackError::SourceDenied { denial: SourceDenial::NotAllowed { .. }, .. } => {
                ErrorKind::NeedsApproval
            }
            PackError::SourceDenied { .. } => ErrorKind::Denied,
            PackError::Cancelled => ErrorKind::Cancelled,
            _ => ErrorKind::Failed,
        };
        let help = Some(error.help()).filter(|help| !help.is_empty());
        Self { help, ..Self::new(kind, error.code(), error.to_string()) }
    }
}
