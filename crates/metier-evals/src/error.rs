//! The one error of this crate: structured, with a stable code and advice.
//!
//! Errors of single trials are not here: they are results of their own (`trial`).

use metier::{ErrorKind, FailureCode};

/// The result of everything here that can fail.
pub(crate) type Result<T> = std::result::Result<T, EvalError>;

/// Why evals could not be read, run or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The runtime says no.
    #[error(transparent)]
    Runtime(#[from] metier::Error),
    /// Case files cannot be read as cases.
    #[error("{}", first_fault(faults))]
    CaseFiles {
        /// Everything that is wrong, with its place.
        faults: Vec<CaseFault>,
    },
    /// Skills of the project are not trusted.
    #[error("{message}")]
    Untrusted {
        /// Which.
        message: String,
    },
    /// Cases run programs, which was not allowed.
    #[error("{message}")]
    CommandsNotAllowed {
        /// Which.
        message: String,
    },
    /// There are no cases to run.
    #[error("{message}")]
    NoCases {
        /// Where they were looked for.
        message: String,
    },
    /// Where units and results are kept does not answer, or what it holds cannot be read.
    #[error("{message}")]
    Store {
        /// What happened.
        message: String,
        /// What to do next.
        help: String,
    },
    /// A plan cannot be carried out here: it cannot be read, or version, skills, model or settings are others.
    #[error("{message}")]
    PlanRefused {
        /// What is different, or wrong with it.
        message: String,
        /// What to do next.
        help: String,
    },
    /// It was asked for in a way that cannot work.
    #[error("{message}")]
    Usage {
        /// What happened.
        message: String,
        /// What to do next.
        help: String,
    },
    /// The caller stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl EvalError {
    /// Where units and results are kept does not answer as it should.
    pub(crate) fn store(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Store { message: message.into(), help: help.into() }
    }

    /// A plan cannot be carried out here.
    pub(crate) fn plan(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::PlanRefused { message: message.into(), help: help.into() }
    }

    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Runtime(error) => error.code,
            Self::CaseFiles { .. } => "eval-cases",
            Self::NoCases { .. } => "eval-no-cases",
            Self::Untrusted { .. } => "eval-untrusted",
            Self::CommandsNotAllowed { .. } => "eval-commands",
            Self::Store { .. } => "eval-store",
            Self::PlanRefused { .. } => "eval-plan",
            Self::Usage { .. } => "usage",
            Self::Cancelled => FailureCode::Cancelled.as_str(),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Runtime(error) => error.kind,
            Self::Usage { .. } => ErrorKind::Usage,
            Self::Untrusted { .. } | Self::CommandsNotAllowed { .. } => ErrorKind::NeedsApproval,
            Self::CaseFiles { .. }
            | Self::NoCases { .. }
            | Self::Store { .. }
            | Self::PlanRefused { .. } => ErrorKind::Failed,
            Self::Cancelled => ErrorKind::Cancelled,
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Runtime(error) => error.help.as_deref(),
            Self::CaseFiles { faults } => faults.first().and_then(|fault| fault.help.as_deref()),
            Self::Untrusted { .. } => {
                Some("read them, and trust them with `metier trust`; then run the evals again")
            }
            Self::CommandsNotAllowed { .. } => {
                Some("read them, then allow them with --run-commands; they run in the sandbox")
            }
            Self::NoCases { .. } => Some(
                "`metier eval init SKILL` writes a first file; docs/evals.md says what is in it",
            ),
            Self::Usage { help, .. } => {
                Some(help).filter(|help| !help.is_empty()).map(|it| it.as_str())
            }
            Self::Store { help, .. } | Self::PlanRefused { help, .. } => Some(help),
            Self::Cancelled => None,
        }
    }
}

/// Something that is wrong in a case file, and where.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CaseFault {
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

impl std::fmt::Display for CaseFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

fn first_fault(faults: &[CaseFault]) -> String {
    faults.first().map(ToString::to_string).unwrap_or_default()
}
