//! `metier eval compare`: what got better or worse between two runs, beyond noise.
//! Comparing is `metier-evals`; this file finds the runs and chooses the exit code.

use clap::Args;
use metier_evals::compare;

use super::saved::{ComparisonOutput, saved_plan};
use super::scoring::ScoringArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// Compare a run with a baseline: exit code 1 on a regression.
///
/// A run is `last`, the beginning of a plan's id, a folder with a `plan.json` and results, or a report that was saved
/// with `--json`. One that is not complete, or that its gates make invalid, is not compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval run --json > baseline.json
  metier eval compare baseline.json
  metier eval compare 3f2a last
  metier eval compare baseline.json --gate errors=0.05     where some errors are tolerated")]
pub(crate) struct EvalCompareArgs {
    /// The baseline.
    baseline: String,
    /// The run that is compared with it.
    #[arg(default_value = "last")]
    run: String,
    #[command(flatten)]
    scoring: ScoringArgs,
    #[command(flatten)]
    find: crate::context::FindArgs,
}

pub(super) fn run(args: &EvalCompareArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let scoring = args.scoring.scoring()?;
    let before = saved_plan(&metier, &args.baseline, None)?.report(scoring)?;
    let now = saved_plan(&metier, &args.run, None)?.report(scoring)?;
    Ok(Box::new(ComparisonOutput(compare(&before, &now, scoring.options().correction))))
}
