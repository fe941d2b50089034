//! `metier import AGENT`: the skills of another agent's folder, installed like those of any directory.
//! Which folder that is, the runtime says; the plan and the questions are `install`'s.

use clap::Args;

use crate::commands::install::{self, InstallArgs};
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// Copy skills from another agent's folder, through the same plan as an installation.
///
/// Without --from-project the folder in your home directory is meant, such as ~/.claude/skills. What is imported is
/// a copy with a lock entry; the other agent keeps its own. Links in that folder are left out, and named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier import claude --dry-run
  metier import claude --skill pdf,csv
  metier import codex --user
  metier import claude --from-project --agent agents   from .claude/skills to .agents/skills")]
pub(crate) struct ImportArgs {
    /// The agent: claude, codex, gemini, …
    #[arg(value_name = "AGENT")]
    from: String,
    /// Import from the agent's folder in this project.
    #[arg(long)]
    from_project: bool,
    #[command(flatten)]
    how: install::HowArgs,
}

pub(crate) fn run(args: &ImportArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    use metier::config::Scope;
    let scope = if args.from_project { Scope::Project } else { Scope::User };
    let folder = context.metier.agent_skills(&args.from, Some(scope))?;
    let source = folder.to_string_lossy().into_owned();
    install::run(&InstallArgs::from_folder(source, &args.how), context, json)
}
