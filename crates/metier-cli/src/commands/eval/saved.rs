//! Runs of evals that are on disk: which one is meant, its report, and how that is printed.
//! The commands that look at earlier runs share it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use metier::fs::{EntryKind, HeldDir, PiecewiseFile};
use metier::skill::Digest;
use metier::{Environment, Metier};
use metier_evals::report::{
    EvalReport, EvalVerdict, HtmlPage, ReportBuilder, ReportOptions, github_annotations, junit,
    markdown, page_with_baseline, plain_text,
};
use metier_evals::{
    EvalPlan, EvalStore, FileStore, RunComparison, compare, comparison_markdown, comparison_text,
};
use serde::Serialize;

use super::scoring::Scoring;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::safe;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// For a terminal.
    Text,
    /// For a comment or a document.
    Markdown,
    /// For CI servers.
    Junit,
    /// Annotations for GitHub, and its step summary.
    Github,
}

/// A report, and the page with its trials where that is wanted.
pub(super) struct Folded {
    pub(super) report: EvalReport,
    html: Option<String>,
}

impl Folded {
    /// A report alone: its trials are not here.
    pub(super) const fn of_report(report: EvalReport) -> Self {
        Self { report, html: None }
    }
}

/// Folds the results of a plan.
pub(super) fn fold(
    store: &dyn EvalStore,
    plan: &EvalPlan,
    options: ReportOptions,
    with_page: bool,
) -> Result<Folded> {
    let mut builder = ReportBuilder::new(plan, options);
    let mut page = with_page.then(|| HtmlPage::new(plan));
    store.results(plan, &mut |result| {
        builder.add(&result);
        if let Some(page) = &mut page {
            page.add(&result);
        }
        Ok(())
    })?;
    for note in store.notes() {
        print_note(&format!("note: {}", safe(&note)));
    }
    let report = builder.finish();
    let html = page.map(|page| page.finish(&report));
    Ok(Folded { report, html })
}

/// A run that is on disk: a plan with its results, or a report that was saved as JSON.
pub(super) enum SavedRun {
    Plan(Box<EvalPlan>, Box<dyn EvalStore>),
    Report(Box<EvalReport>),
}

/// The code of an error that says that there is no such run.
pub(super) const RUN_NOT_FOUND: &str = "eval-run-not-found";
/// What names the run that was made last.
pub(super) const LAST: &str = "last";

/// The run that a text means: `last`, the beginning of a plan's id, a folder with a plan and its results, or a saved
/// report.
///
/// A clone may bring a file of any name. So a name alone is a run of the user's own before it is a file, and `last` is
/// never another thing: `./last` is the file.
pub(super) fn saved_plan(metier: &Metier, text: &str, except: Option<&Digest>) -> Result<SavedRun> {
    let path = metier.working_dir().join(text);
    let is_there = metier::fs::exists(&path);
    let is_json = path.extension().is_some_and(|it| it == "json");
    if is_there && (text.contains(std::path::is_separator) || is_json) {
        return at_path(metier, &path);
    }
    let store = FileStore::in_project(metier)?;
    let saved = store.saved_plans()?;
    let bare = |id: &Digest| id.to_string().trim_start_matches("sha256:").to_owned();
    let wanted = text.trim_start_matches("sha256:");
    let meant: Vec<_> = saved
        .iter()
        .map(|run| &run.id)
        .filter(|id| text == LAST || (wanted.len() >= 4 && bare(id).starts_with(wanted)))
        .collect();
    let found: Vec<_> = meant.iter().filter(|id| except != Some(**id)).collect();
    let id = match (found.as_slice(), text) {
        ([one, ..], LAST) | ([one], _) => one,
        ([], _) if is_there && meant.is_empty() && text != LAST => return at_path(metier, &path),
        ([], _) => {
            let message = format!("there is no run of evals `{}` here", safe(text));
            return Err(CommandError::failed(RUN_NOT_FOUND, message)
                .help("`metier eval report --list` names the runs that are kept"));
        }
        _ => {
            return Err(CommandError::failed(
                "eval-run-ambiguous",
                format!("`{}` matches several runs", safe(text)),
            )
            .help("type more of the id"));
        }
    };
    let plan = store.plan(id)?;
    Ok(SavedRun::Plan(Box::new(plan), Box::new(store)))
}

/// The run in a folder or in the file of a saved report.
fn at_path(metier: &Metier, path: &Path) -> Result<SavedRun> {
    if !metier::fs::is_dir(path) {
        return read_report(path);
    }
    let (store, plan) = FileStore::of_plan_in(metier, path)?;
    Ok(SavedRun::Plan(Box::new(plan), Box::new(store)))
}

/// The run on a database that a text means: `last`, or the beginning of a plan's id.
#[cfg(feature = "postgres")]
pub(super) fn database_plan(store: metier_evals::PostgresStore, text: &str) -> Result<SavedRun> {
    let wanted = text.trim_start_matches("sha256:");
    let is_it = |id: &Digest| {
        let id = id.to_string();
        wanted.len() >= 4 && id.trim_start_matches("sha256:").starts_with(wanted)
    };
    let all = store.plans()?;
    let found: Vec<&Digest> = all.iter().filter(|id| text == LAST || is_it(id)).collect();
    let id = match (found.as_slice(), text) {
        ([one, ..], LAST) | ([one], _) => one,
        ([], _) => {
            let message = format!("there is no plan `{}` on this database", safe(text));
            return Err(CommandError::failed(RUN_NOT_FOUND, message)
                .help("`metier eval plan --database URL` submits one and prints its id"));
        }
        _ => {
            let message = format!("`{}` matches several plans", safe(text));
            return Err(
                CommandError::failed("eval-run-ambiguous", message).help("type more of the id")
            );
        }
    };
    let plan = store.plan(id)?;
    Ok(SavedRun::Plan(Box::new(plan), Box::new(store)))
}

/// The variable in which GitHub Actions names the file of a step's summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// The largest report that is read.
const MAX_REPORT_BYTES: u64 = 256 << 20;

fn read_report(path: &Path) -> Result<SavedRun> {
    let refuse = |why: String| {
        CommandError::failed(
            "eval-report-unreadable",
            format!("{} is not a saved report: {why}", path.display()),
        )
        .help("save one with `metier eval run --json`")
    };
    let bytes = metier::fs::read_bounded(path, MAX_REPORT_BYTES)
        .map_err(|error| refuse(error.to_string()))?;
    let report = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
    Ok(SavedRun::Report(Box::new(report)))
}

impl SavedRun {
    pub(super) fn report(self, scoring: Scoring) -> Result<EvalReport> {
        Ok(match (self, scoring.gates) {
            (Self::Plan(plan, store), _) => fold(&*store, &plan, scoring.options(), false)?.report,
            (Self::Report(report), Some(gates)) => report.judged_by(gates),
            (Self::Report(report), None) => *report,
        })
    }

    /// What changed from this run to another.
    pub(super) fn compared_with(self, current: &Folded, scoring: Scoring) -> Result<RunComparison> {
        Ok(compare(&self.report(scoring)?, &current.report, scoring.options().correction))
    }
}

/// The report of a run, in the form that is wanted.
pub(super) struct RunOutput {
    folded: Folded,
    form: Form,
    compared: Option<RunComparison>,
    folder: Option<PathBuf>,
    exit: Option<Exit>,
}

impl RunOutput {
    pub(super) fn new(folded: Folded, form: Form, compared: Option<RunComparison>) -> Self {
        Self { folded, form, compared, folder: None, exit: None }
    }

    pub(super) fn with_folder(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    pub(super) fn ending(mut self, exit: Exit) -> Self {
        self.exit = Some(exit);
        self
    }

    /// Appends the report to GitHub's step summary, where annotations are written and there is one.
    pub(super) fn write_summary(&self, environment: &Environment) {
        let summary = environment.text(STEP_SUMMARY).filter(|path| !path.is_empty());
        let (Form::Github, Some(path)) = (self.form, summary) else { return };
        let mut text = markdown(&self.folded.report);
        if let Some(compared) = &self.compared {
            text.push('\n');
            text.push_str(&comparison_markdown(compared));
        }
        let path = Path::new(&path);
        let folder = HeldDir::at(path.parent().unwrap_or(path));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The trials were run: their report does not depend on it.
        if let Err(error) = folder.append_line(&name, text.as_bytes()) {
            let path = path.display();
            print_note(&format!(
                "the step summary {path} was not written ({STEP_SUMMARY}): {error}"
            ));
        }
    }

    pub(super) fn write_html(&self, path: &Path) -> Result<()> {
        let Some(html) = &self.folded.html else {
            return Err(CommandError::usage("a saved report has no trials to show")
                .help("name a run of .agent/evals/results"));
        };
        let html = match &self.compared {
            Some(compared) => page_with_baseline(html, compared),
            None => html.clone(),
        };
        check_page_place(path)?;
        metier::fs::replace_shared(path, html.as_bytes()).map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            CommandError::failed("eval-html", message)
        })
    }
}

/// An error where a page would replace something that is no page: a file of cases, named by mistake, or a device.
pub(super) fn check_page_place(path: &Path) -> Result<()> {
    let is_page = || {
        let mut head = Vec::new();
        let file = PiecewiseFile::open(path).ok()?;
        file.reader().take(64).read_to_end(&mut head).ok()?;
        let head = String::from_utf8_lossy(&head).trim_start().to_lowercase();
        Some(head.is_empty() || head.starts_with("<!doctype html") || head.starts_with("<html"))
    };
    let what = match metier::fs::entry_kind(path) {
        None => return Ok(()),
        Some(EntryKind::File) if is_page().unwrap_or_default() => return Ok(()),
        Some(EntryKind::File) => "exists already, and is not an HTML page",
        Some(_) => "is not a regular file, and is not replaced",
    };
    Err(CommandError::failed("already-exists", format!("{} {what}", safe(&path.to_string_lossy())))
        .help("name another file"))
}

#[derive(Serialize)]
struct WithComparison<'r> {
    #[serde(flatten)]
    report: &'r EvalReport,
    baseline: &'r RunComparison,
}

impl Output for RunOutput {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.folded.report;
        match &self.compared {
            Some(baseline) => write_json(&WithComparison { report, baseline }, out),
            None => write_json(report, out),
        }
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.folded.report;
        let text = match self.form {
            Form::Text => plain_text(report),
            Form::Markdown => markdown(report),
            Form::Junit => junit(report, self.compared.as_ref()),
            Form::Github => github_annotations(report, self.compared.as_ref()),
        };
        out.write_all(text.as_bytes())?;
        if let Some(compared) = &self.compared {
            match self.form {
                Form::Text => write!(out, "\n{}", comparison_text(compared))?,
                Form::Markdown => write!(out, "\n{}", comparison_markdown(compared))?,
                Form::Junit | Form::Github => {}
            }
        }
        if let (Form::Text, Some(folder)) = (self.form, &self.folder) {
            writeln!(out, "results: {}", safe(&folder.to_string_lossy()))?;
        }
        Ok(())
    }

    fn is_raw(&self) -> bool {
        self.form == Form::Junit
    }

    fn exit(&self) -> Exit {
        let has_passed = self.folded.report.verdict.verdict == EvalVerdict::Pass;
        let is_worse = self.compared.as_ref().is_some_and(RunComparison::fails);
        self.exit.unwrap_or(if has_passed && !is_worse { Exit::Done } else { Exit::Findings })
    }
}

/// What changed between two runs.
pub(super) struct ComparisonOutput(pub(super) RunComparison);

impl Output for ComparisonOutput {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(comparison_text(&self.0).as_bytes())
    }

    fn exit(&self) -> Exit {
        if self.0.fails() { Exit::Findings } else { Exit::Done }
    }
}
