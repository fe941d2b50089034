//! `metier eval compare`: what got better or worse between two runs, beyond noise.
//! Comparing is `metier-evals`; this file finds the runs and chooses the exit code.

use clap::Args;
use metier_evals::compare;
use metier_evals::statistics::Correction;

use super::saved::{ComparisonOutput, saved_plan};
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// Compare a run with a baseline: exit code 1 on a regression.
///
/// A run is `last`, the beginning of a plan's id, its folder in `.agent/evals/results`, or a report that was saved
/// with `--json`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval run --json > baseline.json
  metier eval compare baseline.json
  metier eval compare 3f2a last")]
pub(crate) struct EvalCompareArgs {
    /// The baseline.
    baseline: String,
    /// The run that is compared with it.
    #[arg(default_value = "last")]
    run: String,
    #[command(flatten)]
    find: crate::context::FindArgs,
}

pub(super) fn run(args: &EvalCompareArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let gates = metier_evals::report::Gates::default();
    let before = saved_plan(&metier, &args.baseline, None)?.report(gates)?;
    let now = saved_plan(&metier, &args.run, None)?.report(gates)?;
    Ok(Box::new(ComparisonOutput(compare(&before, &now, Correction::default()))))
}
