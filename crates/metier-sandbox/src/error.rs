//! Why a process was not run, or why its end is not known. One enum, each with a stable code and a
//! hint; a script that ran and failed is a report, not an error.

use std::io;
use std::path::PathBuf;

use crate::tier::Tier;
use crate::wire::Step;

/// What went wrong before a script could run, or in the running of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no tier of this name.
    #[error("unknown sandbox tier `{word}`")]
    UnknownTier {
        /// The word.
        word: String,
    },
    /// This machine does not reach the least tier that may run.
    #[error(
        "this machine reaches the sandbox tier `{best}`, and `{least}` is the least that may run: {missing}"
    )]
    TierTooLow {
        /// The best tier of this machine.
        best: Tier,
        /// The least that may run.
        least: Tier,
        /// The features that are missing, and why.
        missing: String,
    },
    /// The tier does not exist on this system.
    #[error("the sandbox tier `{tier}` is not available on this system")]
    TierUnavailable {
        /// The tier that was asked for.
        tier: Tier,
    },
    /// The plan contradicts itself or asks for something that is never allowed.
    #[error("the plan of the run is refused: {reason}")]
    Plan {
        /// What is wrong with it.
        reason: String,
    },
    /// A step of the confinement failed. Nothing was run.
    #[error(
        "the sandbox tier `{tier}` failed at the step `{step}`, and nothing was run: {message}"
    )]
    Setup {
        /// The tier that was asked for.
        tier: Tier,
        /// The step that failed.
        step: Step,
        /// What the system said.
        message: String,
    },
    /// The helper exited without reporting how the run ended.
    #[error("the sandbox helper `{helper}` ended without a report ({detail})")]
    Helper {
        /// The binary that was started.
        helper: PathBuf,
        /// How it ended.
        detail: String,
    },
    /// Neither first line nor suffix say what runs the script.
    #[error("nothing says what runs `{script}`: it has neither a `#!` line nor a known suffix")]
    NoInterpreter {
        /// The script's path in the skill.
        script: String,
    },
    /// The interpreter is not installed where it could be used.
    #[error("`{script}` needs `{needs}`, which is not installed: looked in {searched}")]
    InterpreterMissing {
        /// The script's path in the skill.
        script: String,
        /// The program, or the programs of which one is needed.
        needs: String,
        /// The folders that were searched.
        searched: String,
    },
    /// The script is not the one that was approved.
    #[error("`{script}` has changed since it was approved: it is {found}, approved was {approved}")]
    ScriptChanged {
        /// The script's path in the skill.
        script: String,
        /// The digest of what is there now.
        found: metier_skill::Digest,
        /// The digest of what was approved.
        approved: metier_skill::Digest,
    },
    /// A file of the skill could not be copied for the run.
    #[error("`{path}` of the skill could not be read for the run: {message}")]
    Skill {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// The stable code, for JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownTier { .. } => "sandbox-unknown-tier",
            Self::TierTooLow { .. } => "sandbox-tier-too-low",
            Self::TierUnavailable { .. } => "sandbox-tier-unavailable",
            Self::Plan { .. } => "sandbox-plan",
            Self::Setup { .. } => "sandbox-setup",
            Self::Helper { .. } => "sandbox-helper",
            Self::NoInterpreter { .. } => "no-interpreter",
            Self::InterpreterMissing { .. } => "interpreter-missing",
            Self::ScriptChanged { .. } => "script-changed",
            Self::Skill { .. } => "skill-unreadable",
            Self::Io { .. } => "sandbox-io",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownTier { .. } => "the tiers are none, medium and strong".to_owned(),
            Self::TierTooLow { best, .. } => format!(
                "`metier doctor` shows what is missing; to run with less, set \
                 `execution.min_tier` to \"{best}\" in your own configuration"
            ),
            Self::TierUnavailable { .. } => {
                "`metier doctor` shows the tiers of this machine".to_owned()
            }
            Self::Plan { .. } => "correct the paths or variables that the run asks for".to_owned(),
            Self::Setup { .. } | Self::Helper { .. } => {
                "`metier doctor` tries each step and shows which fails".to_owned()
            }
            Self::NoInterpreter { .. } => {
                "begin the script with a line such as `#!/usr/bin/env python3`".to_owned()
            }
            Self::InterpreterMissing { needs, .. } => format!("install {needs}, then try again"),
            Self::ScriptChanged { .. } => "look at the change and approve it again".to_owned(),
            Self::Skill { .. } => "fix or remove that file of the skill".to_owned(),
            Self::Io { .. } => "see the system's message".to_owned(),
        }
    }

    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
