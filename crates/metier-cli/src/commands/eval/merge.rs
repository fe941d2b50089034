//! `metier eval merge`: the results of several machines, put together as if one had run them all.
//! Checking that they fit is `metier-evals`; this file names the folders.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier_evals::{FileStore, MergeReport, merge};

use crate::context::{Context, FindArgs};
use crate::error::{Exit, Result};
use crate::output::{Output, write_json};
use crate::render::{count, safe};

/// Put the results of several machines together.
///
/// All of them must be of one plan. The order makes no difference, and results may be merged in steps; what is
/// missing is named, and the exit code is 1 until nothing is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval merge results-1 results-2 results-3
  metier eval merge results-* --into all")]
pub(crate) struct EvalMergeArgs {
    /// Folders of results: of a plan, or with a single such folder in it.
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// The folder in which the plan's folder is made; the project's results otherwise.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    #[command(flatten)]
    find: FindArgs,
}

struct Merged(MergeReport);

pub(super) fn run(args: &EvalMergeArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let here = |path: &PathBuf| metier.working_dir().join(path);
    // A shell that completes `results/*` names the list of runs too.
    let is_list = |path: &PathBuf| path.ends_with("runs.jsonl") && !metier::fs::is_dir(path);
    let folders: Vec<PathBuf> = args.folders.iter().map(here).filter(|it| !is_list(it)).collect();
    let store = match &args.into {
        Some(into) => FileStore::at(&here(into)),
        None => FileStore::in_project(&metier)?,
    };
    Ok(Box::new(Merged(merge(&folders, &store)?)))
}

impl Output for Merged {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.0;
        for note in &report.notes {
            writeln!(out, "note: {}", safe(note))?;
        }
        let folder = report.folder.display().to_string();
        let units = count(usize::try_from(report.units).unwrap_or(usize::MAX), "result");
        writeln!(out, "{} of {units} in {}", report.results, safe(&folder))?;
        for unit in &report.missing_units {
            let (case, arm) = (safe(&unit.case), unit.arm.as_str());
            writeln!(out, "missing: {case}, arm {arm}, trial {}", unit.trial + 1)?;
        }
        let more = report.missing - report.missing_units.len() as u64;
        if more > 0 {
            writeln!(out, "and {more} more")?;
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.0.is_complete() { Exit::Done } else { Exit::Findings }
    }
}
