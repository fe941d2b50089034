//! `metier eval aa`: the same set against itself, which shows how much of a difference is noise.
//! Comparing is `metier-evals`; this file runs the set twice and prints the flips.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier_evals::statistics::Correction;
use metier_evals::{Arm, EvalStore, RunComparison, TemporaryStore, compare, comparison_text};
use serde::Serialize;

use super::run::{ChoiceArgs, HowArgs};
use super::saved::fold;
use crate::agent::signal::Interrupt;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, write_json};

/// Run a set twice under the same conditions, and show how many outcomes flip: the noise of the set.
///
/// A difference that is no larger than this says nothing about a skill. Results are not kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval aa --model openai:gpt-5-mini --trials 5")]
pub(crate) struct EvalAaArgs {
    /// Files or folders of cases; all of the project and its skills otherwise.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Noise {
    /// Pairs of trials: the same case, arm and trial in both halves.
    pairs: u64,
    /// Pairs that came out differently.
    flips: u64,
    /// Their share.
    flip_rate: f64,
    comparison: RunComparison,
}

pub(super) fn run(args: &EvalAaArgs, context: &Context, _: bool) -> Result<Box<dyn Output>> {
    let interrupt = Interrupt::listen();
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier, &args.paths)?;
    let ready = args.how.ready(context, &args.find, cases, vec![Arm::Listed])?;
    let mut halves = Vec::new();
    for _ in 0..2 {
        // A store of its own each, or the second would be the first.
        let temporary = TemporaryStore::new()?;
        let store = temporary.store();
        if args.how.work(&ready, store, &interrupt.token())?.is_some() {
            let message = "stopped before both halves were done";
            return Err(CommandError::failed("eval-incomplete", message));
        }
        let mut outcomes = Vec::new();
        store.results(&ready.plan, &mut |result| {
            outcomes.push(((result.case.clone(), result.trial), result.passed()));
            Ok(())
        })?;
        outcomes.sort();
        let gates = metier_evals::report::Gates::default();
        halves.push((outcomes, fold(store, &ready.plan, gates, false)?.report));
    }
    let [(first, before), (second, after)] = &halves[..] else {
        return Err(CommandError::failed("eval-incomplete", "there are no two halves"));
    };
    let pairs = first.len().min(second.len()) as u64;
    let flips = first.iter().zip(second).filter(|(a, b)| a != b).count() as u64;
    #[expect(clippy::cast_precision_loss, reason = "a share of a few thousand trials")]
    let flip_rate = if pairs == 0 { 0.0 } else { flips as f64 / pairs as f64 };
    let comparison = compare(before, after, Correction::default());
    Ok(Box::new(Noise { pairs, flips, flip_rate, comparison }))
}

impl Output for Noise {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "noise: {} of {} outcomes flipped between two identical runs ({:.1} %)\n",
            self.flips,
            self.pairs,
            self.flip_rate * 100.0
        )?;
        out.write_all(comparison_text(&self.comparison).as_bytes())
    }

    fn exit(&self) -> Exit {
        if self.comparison.fails() { Exit::Findings } else { Exit::Done }
    }
}
