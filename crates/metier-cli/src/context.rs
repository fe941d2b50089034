//! What a command works with: the runtime for the working directory, and what only a command line
//! needs of the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use metier::skill::Profile;
use metier::{FindOptions, Metier, WithSkills};

use crate::args::GlobalArgs;
use crate::error::{CommandError, Result};
use crate::output::print_note;
use crate::render::style::{YELLOW, paint};
use crate::render::{safe, shell};

/// Options of every command that finds skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FindArgs {
    /// Search DIR too, before all other roots (may be repeated).
    #[arg(long = "root", value_name = "DIR", help_heading = "Finding skills")]
    pub(crate) roots: Vec<PathBuf>,
    /// How strictly skills are judged.
    #[arg(long, value_name = "PROFILE", help_heading = "Finding skills")]
    pub(crate) profile: Option<FindProfile>,
}

/// The agent that a command acts as.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AgentArgs {
    /// Act as this agent of the configuration, or as `read-only` or `full`: an agent narrows what may be
    /// seen and done.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

/// Options of the commands that say what would be decided.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LoadedArgs {
    /// Decide as if acting for this skill.
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Decide as if this skill were loaded too (may be repeated).
    #[arg(long, value_name = "NAME")]
    loaded: Vec<String>,
}

impl From<&LoadedArgs> for WithSkills {
    fn from(args: &LoadedArgs) -> Self {
        Self { skill: args.skill.clone(), loaded: args.loaded.clone() }
    }
}

impl FindArgs {
    /// The same flags, as they would be typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for root in &self.roots {
            words.push(format!("--root {}", shell::quoted(&root.to_string_lossy())));
        }
        if let Some(profile) = self.profile {
            words.push(format!("--profile {}", Profile::from(profile)));
        }
        words
    }
}

impl From<&FindArgs> for FindOptions {
    fn from(args: &FindArgs) -> Self {
        Self { roots: args.roots.clone(), profile: args.profile.map(Profile::from) }
    }
}

/// The profiles that find skills; the specification's own only judges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindProfile {
    /// Skills with errors are left out.
    Strict,
    /// Whatever can be loaded is loaded, and every repair is reported.
    Lenient,
}

impl From<FindProfile> for Profile {
    fn from(profile: FindProfile) -> Self {
        match profile {
            FindProfile::Strict => Self::Strict,
            FindProfile::Lenient => Self::Lenient,
        }
    }
}

/// What a command works with.
pub(crate) struct Context {
    pub(crate) metier: Metier,
    /// Whether `-C` moved the working directory.
    pub(crate) moved: bool,
    /// `VISUAL`, or else `EDITOR`.
    pub(crate) editor: Option<OsString>,
}

impl Context {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks where it was started")]
    pub(crate) fn new(global: &GlobalArgs) -> Result<Self> {
        let current = std::env::current_dir().map_err(|error| {
            CommandError::failed(
                "no-directory",
                format!("the current directory cannot be read: {error}"),
            )
        })?;
        let dir = match &global.directory {
            Some(directory) => current.join(directory),
            None => current,
        };
        let metier = Metier::open(dir)?;
        for warning in metier.warnings() {
            print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(warning)));
        }
        let variable = |name: &str| metier.environment().variable(name).map(ToOwned::to_owned);
        let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
        Ok(Self { metier, moved: global.directory.is_some(), editor })
    }

    /// The runtime with what the flags of a command say about finding skills.
    pub(crate) fn finding(&self, find: &FindArgs) -> Metier {
        self.metier.finding(find.into())
    }

    /// The same, acting as the agent that a flag names.
    pub(crate) fn acting(&self, find: &FindArgs, args: &AgentArgs) -> Result<Metier> {
        let metier = self.finding(find);
        match &args.agent {
            Some(name) => Ok(metier.with_agent(name)?),
            None => Ok(metier),
        }
    }

    /// The beginning of a command line that works in the same directory.
    pub(crate) fn command_words(&self) -> Vec<String> {
        let mut words = vec!["metier".to_owned()];
        if self.moved {
            let dir = self.metier.working_dir().to_string_lossy();
            words.push(format!("-C {}", shell::quoted(&dir)));
        }
        words
    }
}
