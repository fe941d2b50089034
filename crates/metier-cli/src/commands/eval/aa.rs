//! `metier eval aa`: the same set against itself, which shows how much of a difference is noise.
//! Comparing is `metier-evals`; this file runs the set twice and prints the flips.

use std::io::{self, Write};

use clap::Args;
use metier::skill::FailureCode;
use metier_evals::report::ReportOptions;
use metier_evals::{Arm, RunChange, RunNoise, RunStop, TemporaryStore, comparison_text, run_noise};

use super::run::{ChoiceArgs, HowArgs, StopReason};
use super::scoring::CorrectionArgs;
use crate::agent::signal::Interrupt;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, write_json};
use crate::render::count;

/// Run a set twice under the same conditions, and show how many outcomes flip: the noise of the set.
///
/// A difference that is no larger than this says nothing about a skill. Results are not kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval aa --model openai:gpt-5-mini --trials 5")]
pub(crate) struct EvalAaArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    correction: CorrectionArgs,
    #[command(flatten)]
    find: FindArgs,
}

/// What to do when the two halves cannot be compared.
const INVALID_HELP: &str = "`metier eval run` with the same options shows the cases and their errors; fix what it \
                            names, and measure again";

struct NoiseOutput(RunNoise);

pub(super) fn run(args: &EvalAaArgs, context: &Context, _: bool) -> Result<Box<dyn Output>> {
    let interrupt = Interrupt::listen();
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier)?;
    let ready = args.how.ready(context, &args.find, cases, vec![Arm::Listed])?;
    // A store of its own each, or the second would be the first.
    let halves = [TemporaryStore::new()?, TemporaryStore::new()?];
    for half in &halves {
        if let Some(why) = args.how.work(&ready, half.store(), &interrupt.token())? {
            return Err(stopped(why));
        }
    }
    let correction = args.correction.typed().unwrap_or_default();
    let options = ReportOptions { correction, ..ReportOptions::default() };
    let [first, second] = &halves;
    let noise = run_noise(&ready.plan, first.store(), second.store(), options)?;
    Ok(Box::new(NoiseOutput(noise)))
}

/// Of half the trials nothing can be said, and nothing of them is kept.
fn stopped(why: StopReason) -> CommandError {
    let (code, exit, why) = match why {
        StopReason::Interrupted => {
            (FailureCode::Cancelled.as_str(), Exit::Interrupted, "interrupted")
        }
        StopReason::Early(RunStop::Limit) => {
            ("eval-incomplete", Exit::BudgetSpent, "a limit was spent")
        }
        StopReason::Early(RunStop::FailFast) => {
            ("eval-incomplete", Exit::Findings, "stopped by --fail-fast")
        }
    };
    let message = format!("{why} before both halves were done");
    CommandError { exit, ..CommandError::failed(code, message) }
}

impl Output for NoiseOutput {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let noise = &self.0;
        if noise.pairs == 0 {
            writeln!(out, "noise: not measured")?;
        } else {
            writeln!(
                out,
                "noise: {} of {} outcomes flipped between two identical runs ({:.1} %)",
                noise.flips,
                noise.pairs,
                noise.flip_rate * 100.0
            )?;
        }
        if noise.errors > 0 {
            let pairs = count(usize::try_from(noise.errors).unwrap_or(usize::MAX), "pair");
            writeln!(out, "{pairs} with an error or without anything judged, left out")?;
        }
        writeln!(out)?;
        out.write_all(comparison_text(&noise.comparison).as_bytes())?;
        if noise.comparison.change == RunChange::Invalid {
            writeln!(out, "\nnoise of runs that are invalid says nothing: {INVALID_HELP}")?;
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.0.comparison.fails() { Exit::Findings } else { Exit::Done }
    }
}
