//! `metier eval plan`: the manifest of a run without running it, its units for another scheduler, or both for the
//! workers of a database.

use std::io::{self, Write};

use clap::Args;
use metier_evals::{EvalPlan, UnitRequest};
#[cfg(feature = "postgres")]
use metier_evals::{EvalStore, PostgresOptions};

use super::run::{ArmsArgs, ChoiceArgs, HowArgs};
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::{Output, write_json};

/// Print the plan of a run: what is tested, on what, how often. Nothing is run.
///
/// Its id is the SHA-256 of these bytes. The same cases, skills, model and settings give the same plan anywhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval plan > results/plan.json
  metier eval plan --units | parallel --pipe -N1 metier eval run-unit > results/results.jsonl
  metier eval plan --database postgres://evals@db/evals    for `metier eval worker`")]
pub(crate) struct EvalPlanArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    arms: ArmsArgs,
    /// Print a request for each unit instead, one a line.
    #[arg(long)]
    units: bool,
    /// Also hand it to the workers on this database: `postgres://USER@HOST/DATABASE`.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    find: FindArgs,
}

struct PlanOutput {
    plan: EvalPlan,
    units: bool,
}

pub(super) fn run(args: &EvalPlanArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier)?;
    let plan = args.how.ready(context, &args.find, cases, args.arms.chosen())?.plan;
    #[cfg(feature = "postgres")]
    if let Some(url) = &args.database {
        let token = metier::CancelToken::new();
        let store = super::worker::store(url, context, &PostgresOptions::default(), &token)?;
        store.open_plan(&plan)?;
        store.retry_errors(&plan.id())?;
        crate::output::print_note(&format!("submitted as {}", plan.id()));
    }
    Ok(Box::new(PlanOutput { plan, units: args.units }))
}

impl Output for PlanOutput {
    /// The same bytes in both forms: what the id is the digest of.
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.units {
            return write_json(&UnitRequest::all(&self.plan).collect::<Vec<_>>(), out);
        }
        serde_json::to_writer(out, &self.plan).map_err(io::Error::from)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.units {
            return self.json(out);
        }
        for request in UnitRequest::all(&self.plan) {
            serde_json::to_writer(&mut *out, &request)?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn is_raw(&self) -> bool {
        true
    }
}
