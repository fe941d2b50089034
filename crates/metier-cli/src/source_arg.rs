//! The flag `--source`: which of several skills of one name a command means.
//! Shared by the commands that name one skill, so that the word means the same in all of them.

use clap::Args;
use metier::skill::{SkillId, Source};

use crate::error::{CommandError, Result};

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct SourceArg {
    /// Take the skill from this source: explicit, project, user, plugin or builtin.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<Source>,
}

impl SourceArg {
    /// What to look for: `name` as it was typed, with the source where one was given.
    pub(crate) fn of(self, name: &str) -> Result<String> {
        let Some(source) = self.source else { return Ok(name.to_owned()) };
        match name.parse::<SkillId>() {
            Ok(id) if id.source == source => Ok(name.to_owned()),
            Ok(id) => Err(CommandError::usage(format!(
                "`{id}` names the source {}, and `--source` {source}",
                id.source
            ))
            .help("give the source once")),
            Err(_) => Ok(format!("{source}:{name}")),
        }
    }
}
