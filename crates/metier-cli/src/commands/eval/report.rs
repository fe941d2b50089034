//! `metier eval report`: the report of a run that is kept, in any form.
//! The forms are written by `metier-evals`; this file chooses one.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier::fs::utc_text;
use metier::skill::Digest;
use metier_evals::FileStore;
#[cfg(feature = "postgres")]
use metier_evals::PostgresOptions;
use serde::Serialize;

#[cfg(feature = "postgres")]
use super::saved::database_plan;
use super::saved::{Folded, Form, RunOutput, SavedRun, check_page_place, fold, saved_plan};
use super::scoring::ScoringArgs;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::BOLD;
use crate::render::table::Table;
use crate::render::{count, safe};

/// Show the report of a run: as text, Markdown, JUnit, GitHub annotations or one HTML page.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval report                          the last run
  metier eval report --html report.html
  metier eval report 3f2a --format junit > evals.xml
  metier eval report baseline.json --gate recall=0.9
  metier eval report --list                   the runs that are kept
  metier eval report --database postgres://evals@db/evals    what workers did")]
pub(crate) struct EvalReportArgs {
    /// The run: `last`, the beginning of a plan's id, a folder with a `plan.json` and results, or a saved report.
    #[arg(default_value = "last")]
    run: String,
    /// How it is printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
    /// Also write it as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The run is a plan on this database: `postgres://USER@HOST/DATABASE`.
    #[cfg(feature = "postgres")]
    #[arg(long, value_name = "URL", conflicts_with = "list")]
    database: Option<String>,
    /// List the runs that are kept here, the last one first, and nothing else.
    #[arg(long, conflicts_with_all = ["run", "format", "html", "gates", "correction"])]
    list: bool,
    #[command(flatten)]
    scoring: ScoringArgs,
    #[command(flatten)]
    find: FindArgs,
}

/// A run that is kept.
#[derive(Serialize)]
struct SavedRunRow {
    plan: Digest,
    model: String,
    folder: PathBuf,
    /// When a result was last written.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

struct SavedRuns(Vec<SavedRunRow>);

pub(super) fn run(args: &EvalReportArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    if args.list {
        return Ok(Box::new(SavedRuns::of(&FileStore::in_project(&metier)?)?));
    }
    let scoring = args.scoring.scoring()?;
    let page = args.html.as_ref().map(|path| metier.working_dir().join(path));
    page.as_deref().map(check_page_place).transpose()?;
    let folded = match args.saved(context, &metier)? {
        SavedRun::Plan(plan, store) => {
            fold(&*store, &plan, scoring.options(), args.html.is_some())?
        }
        SavedRun::Report(report)
            if scoring.correction.is_some_and(|it| it != report.correction) =>
        {
            let message = "the comparisons of a saved report were corrected when it was made";
            return Err(CommandError::usage(message).help(
                "name the run itself: `metier eval report --list` shows those that are kept",
            ));
        }
        SavedRun::Report(report) => Folded::of_report(match scoring.gates {
            Some(gates) => report.judged_by(gates),
            None => *report,
        }),
    };
    let output = RunOutput::new(folded, args.format, None);
    if let Some(page) = &page {
        output.write_html(page)?;
    }
    output.write_summary(context.metier.environment());
    Ok(Box::new(output))
}

impl EvalReportArgs {
    fn saved(&self, context: &Context, metier: &metier::Metier) -> Result<SavedRun> {
        #[cfg(feature = "postgres")]
        if let Some(url) = &self.database {
            let (options, token) = (PostgresOptions::default(), metier::CancelToken::new());
            return database_plan(super::worker::store(url, context, &options, &token)?, &self.run);
        }
        let _ = context;
        saved_plan(metier, &self.run, None)
    }
}

impl SavedRuns {
    fn of(store: &FileStore) -> Result<Self> {
        let kept = store.saved_plans()?.into_iter().map(|run| SavedRunRow {
            plan: run.id,
            model: format!("{}:{}", run.subject.provider, run.subject.model),
            folder: run.folder,
            modified: run.modified.map(utc_text),
        });
        Ok(Self(kept.collect()))
    }
}

impl Output for SavedRuns {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = anstyle::Style::new();
        let mut table = Table::new(&[("RUN", BOLD), ("MODEL", plain), ("LAST RESULT", plain)]);
        for run in &self.0 {
            let id = run.plan.to_string();
            let short = id.trim_start_matches("sha256:").chars().take(16).collect();
            let modified = run.modified.clone().unwrap_or_else(|| "none yet".to_owned());
            table.row(vec![short, safe(&run.model).into_owned(), modified]);
        }
        if !table.is_empty() {
            table.write(out)?;
        }
        out.flush()?;
        print_note(&count(self.0.len(), "run"));
        Ok(())
    }
}
