//! `metier disable`: a skill is switched off, for the user or for a project.
//!
//! What is done is in `switch.rs`; this file is the command line.

use clap::Args;

use crate::args::GlobalArgs;
use crate::commands::switch::{self, SkillSwitch};
use crate::context::FindArgs;
use crate::error::Result;
use crate::output::Output;
use crate::scope::ScopeArgs;

/// Switch a skill off: it is still listed, but never searched, shown to a model or loaded.
///
/// The skill itself is not changed: one line is written to ~/.agent/config.json, or with --project
/// into the project's .agent/config.json. What you switch off stays off in every project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier disable pdf
  metier disable --project pdf    in the project's configuration, for everyone who works in it
  metier disable builtin:write-skill")]
pub(crate) struct DisableArgs {
    /// The skill: its name, or `source:name`.
    name: String,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &DisableArgs, global: &GlobalArgs) -> Result<Box<dyn Output>> {
    switch::run(&args.name, SkillSwitch::Off, args.scope, &args.find, global)
}
