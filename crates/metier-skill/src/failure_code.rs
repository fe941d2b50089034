//! Why something was not done, as one stable code for every way in: the loader, tools, scripts, the
//! loop, records and the command line spell the same failure alike.
//!
//! What happened, and what to do about it, is up to the code that reports the failure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureCode {
    /// The arguments are not what the tool takes.
    InvalidArguments,
    /// The reply of a model is not a decision.
    InvalidReply,
    /// There is no such tool.
    UnknownTool,
    /// There is no such skill.
    SkillNotFound,
    /// The skill has to be loaded first.
    SkillNotLoaded,
    /// The skill is loaded already: nothing was done.
    AlreadyLoaded,
    /// The skill's frontmatter cannot be read.
    InvalidFrontmatter,
    /// The path leaves the workspace or skill, or could on some system.
    PathTraversalBlocked,
    /// A rule, or what the thing is, forbids it.
    NotAllowed,
    /// It must be approved first.
    NeedsApproval,
    /// The user said no.
    Rejected,
    /// It does not exist.
    NotFound,
    /// A program, a variable or a skill that a skill needs is missing.
    RequirementMissing,
    /// It exists already.
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
    /// The process ended while it was being done: it may have been done in whole, in part or not.
    Interrupted,
    /// The script ran, and failed.
    ScriptFailed,
    /// A budget of the run is spent: this would exceed it.
    BudgetSpent,
    /// The loop of a subagent ended without doing what it was started for.
    SubagentFailed,
    /// The system refused.
    IoError,
    /// A fault of ours, or of the tool.
    Failed,
}

impl FailureCode {
    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "InvalidArguments",
            Self::InvalidReply => "InvalidReply",
            Self::UnknownTool => "UnknownTool",
            Self::SkillNotFound => "SkillNotFound",
            Self::SkillNotLoaded => "SkillNotLoaded",
            Self::AlreadyLoaded => "AlreadyLoaded",
            Self::InvalidFrontmatter => "InvalidFrontmatter",
            Self::PathTraversalBlocked => "PathTraversalBlocked",
            Self::NotAllowed => "NotAllowed",
            Self::NeedsApproval => "NeedsApproval",
            Self::Rejected => "Rejected",
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
            Self::Interrupted => "Interrupted",
            Self::ScriptFailed => "ScriptFailed",
            Self::BudgetSpent => "BudgetSpent",
            Self::SubagentFailed => "SubagentFailed",
            Self::IoError => "IoError",
            Self::Failed => "Failed",
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_in_records_as_it_is_shown() {
        for code in [FailureCode::NotAllowed, FailureCode::ScriptFailed, FailureCode::IoError] {
            let text = serde_json::to_string(&code).expect("JSON");
            assert_eq!(text, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<FailureCode>(&text).expect("a code"), code);
        }
    }
}
