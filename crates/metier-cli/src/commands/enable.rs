//! `metier enable`: a skill is switched on, for the user or for a project.
//!
//! What is done is in `switch.rs`; this file is the command line.

use clap::Args;

use crate::args::GlobalArgs;
use crate::commands::switch::{self, SkillSwitch};
use crate::context::FindArgs;
use crate::error::Result;
use crate::output::Output;
use crate::scope::ScopeArgs;

/// Switch a skill on again.
///
/// A skill is on unless your configuration or the project's switches it off; a project cannot switch
/// on what you switched off.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier enable pdf
  metier enable --project pdf     in the project's configuration, for everyone who works in it
  metier enable user:pdf          your own skill, although the project has one of that name")]
pub(crate) struct EnableArgs {
    /// The skill: its name, or `source:name`.
    name: String,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &EnableArgs, global: &GlobalArgs) -> Result<Box<dyn Output>> {
    switch::run(&args.name, SkillSwitch::On, args.scope, &args.find, global)
}
