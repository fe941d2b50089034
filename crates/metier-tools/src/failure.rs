//! Why a call gave nothing. It becomes an observation for the model and never ends a run.
//!
//! Codes are stable: they stand in records, JSON and other people's programs. The message is a
//! sentence about the caller's thing, the help says what to do next.

use std::fmt;

use metier_cancel::CancelToken;
use metier_fs::{RootError, WorkError};
use metier_skill::PathFault;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCode {
    /// The arguments are not what the tool takes.
    InvalidArguments,
    /// There is no such tool.
    UnknownTool,
    /// There is no such skill among those that are loaded.
    SkillNotFound,
    /// The path leaves the workspace or skill, or could on some system.
    PathTraversalBlocked,
    /// A rule, or what the thing is, forbids it.
    NotAllowed,
    /// Somebody must approve it first.
    NeedsApproval,
    /// It is not there.
    NotFound,
    /// A program, a variable or a skill that a skill needs is not there.
    RequirementMissing,
    /// It is there already.
    AlreadyExists,
    /// It is not what the caller expected it to be, or became another meanwhile.
    Changed,
    /// It is not text.
    NotText,
    /// It is larger than the limit.
    FileTooLarge,
    /// The host is not on the list.
    HostNotAllowed,
    /// The host's address is private, local or otherwise not of the public network.
    AddressNotAllowed,
    /// The URL is not one that is fetched.
    UrlNotAllowed,
    /// It leads to another host, which was not decided on.
    RedirectElsewhere,
    /// One redirect too many.
    TooManyRedirects,
    /// The host could not be found or reached, or broke off.
    NetworkError,
    /// It took too long.
    TimedOut,
    /// The caller stopped it.
    Cancelled,
    /// The system refused.
    IoError,
    /// The tool itself is at fault.
    Failed,
}

impl FailureCode {
    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "InvalidArguments",
            Self::UnknownTool => "UnknownTool",
            Self::SkillNotFound => "SkillNotFound",
            Self::PathTraversalBlocked => "PathTraversalBlocked",
            Self::NotAllowed => "NotAllowed",
            Self::NeedsApproval => "NeedsApproval",
            Self::NotFound => "NotFound",
            Self::RequirementMissing => "RequirementMissing",
            Self::AlreadyExists => "AlreadyExists",
            Self::Changed => "Changed",
            Self::NotText => "NotText",
            Self::FileTooLarge => "FileTooLarge",
            Self::HostNotAllowed => "HostNotAllowed",
            Self::AddressNotAllowed => "AddressNotAllowed",
            Self::UrlNotAllowed => "UrlNotAllowed",
            Self::RedirectElsewhere => "RedirectElsewhere",
            Self::TooManyRedirects => "TooManyRedirects",
            Self::NetworkError => "NetworkError",
            Self::TimedOut => "TimedOut",
            Self::Cancelled => "Cancelled",
            Self::IoError => "IoError",
            Self::Failed => "Failed",
        }
    }

    /// What to do next, where nothing better is known.
    const fn help(self) -> &'static str {
        match self {
            Self::InvalidArguments => "call the tool again with arguments that fit its schema",
            Self::UnknownTool => "call one of the tools on the list",
            Self::SkillNotFound => "load the skill first, or leave `skill` out for the workspace",
            Self::PathTraversalBlocked => {
                "name a path below the workspace, such as src/main.rs, without `..` and links out"
            }
            Self::NotAllowed => "do it another way; asking again gives the same answer",
            Self::NeedsApproval => "wait for the answer, or do it another way",
            Self::NotFound => "list the directory and name something in it exactly",
            Self::RequirementMissing => {
                "install the program; pass a variable by `execution.env` in the configuration; \
                 `metier search` finds skills"
            }
            Self::AlreadyExists => "choose another path",
            Self::Changed => "read it again, then decide again",
            Self::NotText => "only text can be shown; a script may read other files",
            Self::FileTooLarge => "search in it with grep, or ask for a smaller file",
            Self::HostNotAllowed => {
                "use an allowed host; the user can add one in the configuration"
            }
            Self::AddressNotAllowed => "only hosts of the public network are reached",
            Self::UrlNotAllowed => "use an https URL without a user name and password",
            Self::RedirectElsewhere => "request the new address itself",
            Self::TooManyRedirects => "request the last address itself",
            Self::NetworkError => "check the address, or try again later",
            Self::TimedOut => "ask for less, or try again later",
            Self::Cancelled => "nothing to do: it was cancelled",
            Self::IoError => "see what the system says, and try another way",
            Self::Failed => "this is a fault in the tool; please report it",
        }
    }
}

/// Why a call gave nothing.
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
        Self { code, message: message.into(), help: code.help().to_owned() }
    }

    /// The same with better advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// A failure once the call was cancelled: what a tool asks between two pieces of work.
    pub fn if_cancelled(cancel: &CancelToken) -> Result<(), Self> {
        if cancel.is_cancelled() {
            return Err(Self::new(FailureCode::Cancelled, "the call was stopped"));
        }
        Ok(())
    }

    /// About a path that is none.
    pub(crate) fn path(path: &str, fault: PathFault) -> Self {
        let code = match fault {
            PathFault::Dotfile | PathFault::Guarded => FailureCode::NotAllowed,
            _ => FailureCode::PathTraversalBlocked,
        };
        Self::new(code, format!("{}: {fault} [{}]", shown(path), fault.as_str()))
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
        Self::new(code, format!("{}: {error}", shown(path)))
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
