//! Errors for people: what happened, where, and what to do next; and the exit code that follows.
//!
//! An error's kind gives the exit code, its help the advice. Where one file has several faults, the
//! error is the first of them and carries all, each with its place.

use std::fmt;

use metier::ErrorKind;
use metier::skill::Digest;
use serde::Serialize;

/// How a command ended. The numbers are a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Findings,
    Usage,
    Denied,
    BudgetSpent,
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::BudgetSpent => 4,
            Self::Interrupted => 130,
        }
    }
}

/// A command that could not do its work.
#[derive(Debug, Serialize)]
pub(crate) struct CommandError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// Every fault of the file that the error is about, the first one too.
    #[serde(rename = "errors", skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<Fault>,
    /// How the request that was left open can be approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<Box<ApprovalAdvice>>,
    #[serde(skip)]
    pub(crate) exit: Exit,
}

/// How a request that needs approval can be approved, once.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ApprovalAdvice {
    /// The digest of the request.
    pub(crate) digest: Digest,
    /// The command, as it would be typed.
    pub(crate) command: String,
}

/// One fault in a file, with its place.
#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

impl CommandError {
    pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, message.into(), Exit::Findings)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", message.into(), Exit::Usage)
    }

    fn new(code: &'static str, message: String, exit: Exit) -> Self {
        Self { code, message, help: None, faults: Vec::new(), approval: None, exit }
    }

    /// Something that needs a person's yes, and there was no one to ask.
    pub(crate) fn needs_approval(message: impl Into<String>) -> Self {
        Self {
            code: "NeedsApproval",
            message: message.into(),
            help: None,
            exit: Exit::Denied,
            faults: Vec::new(),
            approval: None,
        }
    }

    /// Adds what to do next.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// An error of the runtime. Its texts may hold foreign words, which are made safe to show here.
impl From<metier::Error> for CommandError {
    fn from(error: metier::Error) -> Self {
        let exit = match error.kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Denied | ErrorKind::NeedsApproval => Exit::Denied,
            ErrorKind::Cancelled => Exit::Interrupted,
            _ => Exit::Findings,
        };
        let safe = |text: String| crate::render::safe(&text).into_owned();
        let fault = |fault: metier::Fault| Fault {
            code: fault.code,
            file: safe(fault.file),
            line: fault.line,
            column: fault.column,
            message: safe(fault.message),
            help: fault.help.map(safe),
        };
        Self {
            code: error.code,
            message: safe(error.message),
            help: error.help.map(safe),
            faults: error.faults.into_iter().map(fault).collect(),
            approval: None,
            exit,
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, CommandError>;
