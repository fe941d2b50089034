//! Errors for people: what happened, where, and what to do next; and the exit code that follows.
//!
//! An error's kind gives the exit code, its help the advice.

use serde::Serialize;

/// How a command ended. The numbers are a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Findings,
    Usage,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings => 1,
            Self::Usage => 2,
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
    #[serde(skip)]
    pub(crate) exit: Exit,
}

impl CommandError {
    pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None, exit: Exit::Findings }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: "usage", message: message.into(), help: None, exit: Exit::Usage }
    }

    /// Adds what to do next.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

pub(crate) type Result<T> = std::result::Result<T, CommandError>;
