//! `metier resume`: continuing a run that was stopped, killed, or waits for an answer.
//! The model is the one that the run began with, unless a flag says otherwise.

use clap::Args;
use metier::skill::Digest;

use crate::agent::console::Answerer;
use crate::commands::run::{Resuming, RuleArgs, console, end};
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::Output;

/// Continue a run that was interrupted or waits for an approval.
///
/// It continues from its record. What was being done when it was interrupted, and could have changed
/// something, is not silently repeated: the model is informed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier resume last
  metier resume 20260131-120000-k3f9x --approve sha256:...   # as `metier run` printed it
  metier resume last --yes")]
pub(crate) struct ResumeArgs {
    /// The run: its id, the beginning or end of it, or `last`.
    #[arg(default_value = "last")]
    run: String,
    /// Approve the request with this digest, once.
    #[arg(long, value_name = "DIGEST")]
    approve: Option<Digest>,
    /// The model, if not the one that the run began with.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Answer every question with yes, this once. A denial stays a denial.
    #[arg(long)]
    yes: bool,
    /// Never ask: stop at the first question, with exit code 3.
    #[arg(long, conflicts_with = "yes")]
    no_input: bool,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &ResumeArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    context.metier.require_user_folders()?;
    let console = console(Answerer::new(args.yes, args.no_input, json), context, json);
    let mut session = args.rules.apply(console.connect(context.finding(&args.find).session()));
    if let Some(model) = &args.model {
        session = session.model(model);
    }
    if let Some(request) = args.approve {
        session = session.approve_request(request);
    }
    let run = session.resume(&args.run)?;
    let resuming = Resuming { find: &args.find, rules: &args.rules };
    Ok(end(context, &run, &console, &resuming, json))
}
