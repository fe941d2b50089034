//! Why a call failed. A failure becomes an observation for the model and never ends a run.
//!
//! Codes are stable: they appear in records and JSON, and other programs match on them. The message
//! says what happened, the help what to do next.

use std::fmt;

use metier_cancel::CancelToken;
use metier_fs::{RootError, WorkError};
use metier_skill::{FailureCode, PathFault};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// What to do next, unless the caller has better advice.
const fn help(code: FailureCode) -> &'static str {
    match code {
        FailureCode::InvalidArguments => "call the tool again with arguments that fit its schema",
        FailureCode::UnknownTool => "call one of the tools on the list",
        FailureCode::SkillNotFound => {
            "load the skill first, or set `skill` to null for the workspace"
        }
        FailureCode::PathTraversalBlocked => {
            "name a path below the workspace, such as src/main.rs, without `..` and links out"
        }
        FailureCode::NotAllowed => "do it another way; trying again gives the same answer",
        FailureCode::NeedsApproval => "wait for the answer, or do it another way",
        FailureCode::NotFound => "use a name exactly as `list_dir` gives it (path null: the top)",
        FailureCode::RequirementMissing => {
            "install the program; pass a variable by `execution.env` in the configuration; \
                 `metier search` finds skills"
        }
        FailureCode::AlreadyExists => "choose another path",
        FailureCode::Changed => "read it again, then decide again",
        FailureCode::NotText => "only text can be shown; use a script to read other files",
        FailureCode::FileTooLarge => "search in it with grep, or ask for a smaller file",
        FailureCode::HostNotAllowed => {
            "use an allowed host; the user can add one in the configuration"
        }
        FailureCode::AddressNotAllowed => "only public addresses can be reached",
        FailureCode::UrlNotAllowed => "use an https URL without a user name and password",
        FailureCode::RedirectElsewhere => "request the new address directly",
        FailureCode::TooManyRedirects => "request the last address directly",
        FailureCode::NetworkError => "check the address, or try again later",
        FailureCode::TimedOut => "ask for less, or try again later",
        FailureCode::Cancelled => "nothing to do: it was cancelled",
        FailureCode::IoError => "see the system's message, and try another way",
        FailureCode::Failed => "this is a bug in the tool; please report it",
        _ => "take another way, or say what is missing",
    }
}

/// Why a call failed, for the model and for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure {
    /// The stable code.
    pub code: FailureCode,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub help: String,
}

impl ToolFailure {
    /// A failure with the usual advice.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: help(code).to_owned() }
    }

    /// Replaces the usual advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Fails once the call was cancelled: a tool calls this between two pieces of work.
    pub fn if_cancelled(cancel: &CancelToken) -> Result<(), Self> {
        if cancel.is_cancelled() {
            return Err(Self::new(FailureCode::Cancelled, "the call was cancelled"));
        }
        Ok(())
    }

    /// About an argument that is not a usable path.
    pub(crate) fn path(path: &str, fault: PathFault) -> Self {
        let code = match fault {
            PathFault::Dotfile | PathFault::Guarded => FailureCode::NotAllowed,
            _ => FailureCode::PathTraversalBlocked,
        };
        let failure = Self::new(code, format!("{}: {fault} [{}]", shown(path), fault.as_str()));
        if fault == PathFault::Absolute {
            return failure.with_help(
                "name a path below the workspace, such as src/main.rs; a person gives a file from elsewhere with \
                 `metier run --file PATH`",
            );
        }
        failure
    }

    /// About a file of the workspace.
    pub(crate) fn work(path: &str, error: &WorkError) -> Self {
        let code = match error {
            WorkError::Path(fault) => return Self::path(path, *fault),
            WorkError::Missing | WorkError::NotADirectory => FailureCode::NotFound,
            WorkError::Escapes | WorkError::Link => FailureCode::PathTraversalBlocked,
            WorkError::NotRegular | WorkError::HardLink => FailureCode::NotAllowed,
            WorkError::TooLarge(_) => FailureCode::FileTooLarge,
            WorkError::Exists => FailureCode::AlreadyExists,
            WorkError::Changed => FailureCode::Changed,
            _ => FailureCode::IoError,
        };
        let failure = Self::new(code, format!("{}: {error}", shown(path)));
        match error {
            WorkError::NotADirectory => failure.with_help("a file is read with `read_file`"),
            _ => failure,
        }
    }

    /// About a file of a skill.
    pub(crate) fn skill_file(path: &str, error: &RootError) -> Self {
        let code = match error {
            RootError::Missing => FailureCode::NotFound,
            RootError::Escapes => FailureCode::PathTraversalBlocked,
            RootError::NotRegular | RootError::HardLink => FailureCode::NotAllowed,
            RootError::TooLarge(_) => FailureCode::FileTooLarge,
            _ => FailureCode::IoError,
        };
        Self::new(code, format!("{}: {error}", shown(path)))
    }
}

/// A caller's text inside a sentence.
pub(crate) fn shown(text: &str) -> String {
    metier_skill::text::quoted(text, 120)
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for ToolFailure {}

impl Serialize for ToolFailure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolFailure", 3)?;
        out.serialize_field("code", self.code.as_str())?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("help", &self.help)?;
        out.end()
    }
}
