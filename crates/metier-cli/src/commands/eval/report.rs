//! `metier eval report`: the report of a run that is kept, in any form.
//! The forms are written by `metier-evals`; this file chooses one.

use std::path::PathBuf;

use clap::Args;

use super::run::gates;
use super::saved::{Folded, Form, RunOutput, SavedRun, fold, saved_plan};
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::Output;

/// Show the report of a run: as text, Markdown, `JUnit`, GitHub annotations or one HTML page.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval report                          the last run
  metier eval report --html report.html
  metier eval report 3f2a --format junit > evals.xml")]
pub(crate) struct EvalReportArgs {
    /// The run: `last`, the beginning of a plan's id, its folder, or a saved report.
    #[arg(default_value = "last")]
    run: String,
    /// How it is printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
    /// Also write it as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What the run must reach, as `metier eval run --gate` takes it (may be repeated).
    #[arg(long = "gate", value_name = "KEY=VALUE")]
    gates: Vec<String>,
    #[command(flatten)]
    find: FindArgs,
}

pub(super) fn run(args: &EvalReportArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let folded = match saved_plan(&metier, &args.run, None)? {
        SavedRun::Plan(plan, store) => {
            fold(&store, &plan, gates(&args.gates)?, args.html.is_some())?
        }
        SavedRun::Report(report) => Folded::of_report(*report),
    };
    let output = RunOutput::new(folded, args.format, None);
    if let Some(path) = &args.html {
        output.write_html(&metier.working_dir().join(path))?;
    }
    Ok(Box::new(output))
}
