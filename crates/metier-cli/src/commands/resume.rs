//! `metier resume`: going on with a run that was stopped, killed, or waits for an answer.
//! The model is the one that the run began with, unless a flag says otherwise.

use clap::Args;
use metier_skill::Digest;

use crate::commands::run::{HowArgs, Session, end};
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::Output;

/// Go on with a run that was interrupted or waits for an approval.
///
/// It goes on from its record. What was being done when it was interrupted, and could have changed
/// something, is not done again in silence: the model is told.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier resume last
  metier resume 20260131-120000-k3f9x --approve sha256:...   # as `metier run` printed it
  metier resume last --yes")]
pub(crate) struct ResumeArgs {
    /// The run: its name, the beginning or end of it, or `last`.
    #[arg(default_value = "last")]
    run: String,
    /// Let the request with this digest pass, once.
    #[arg(long, value_name = "DIGEST")]
    approve: Option<Digest>,
    /// Who decides, if not the model that the run began with.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Answer every question with yes, this once. A denial stays a denial.
    #[arg(long)]
    yes: bool,
    /// Never ask: stop at the first question, with exit code 3.
    #[arg(long, conflicts_with = "yes")]
    no_input: bool,
    /// Allow this tool from now on in this run: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Deny this tool from now on in this run; what the run began with stays denied (may be repeated).
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &ResumeArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let folder = context.find_run(&args.run)?;
    let setup = folder.setup().map_err(|error| crate::commands::run::told(&error))?;
    let began_with = match setup.model.provider.as_str() {
        "router" => "router".to_owned(),
        provider => format!("{provider}:{}", setup.model.name),
    };
    let how = HowArgs {
        skills: Vec::new(),
        files: Vec::new(),
        model: Some(args.model.clone().unwrap_or(began_with)),
        yes: args.yes,
        no_input: args.no_input,
        max_turns: None,
        allow: args.allow.clone(),
        deny: args.deny.clone(),
        dry_run: false,
    };
    let session = Session::new(context, &how, &args.find, json)?;
    let state = session.resume(&folder, args.approve)?;
    Ok(end(context, &folder, &state, &session, json))
}
