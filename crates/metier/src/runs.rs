//! The runs of a workspace: which one is meant, how each stands, and its record.
//!
//! Reading one run is `metier-agent`'s. What this user's runs are is remembered in the user's state,
//! outside every project: a project can ship a folder that looks like a run, with a prompt, a model and
//! loaded skills of someone else's choice. Such a run is shown, and never resumed; nor is one whose
//! record is not what was written.

use std::sync::Arc;

use metier_agent::anchor::Anchors;
use metier_agent::audit::{AuditReport, Finding, RecordVerdict, audit};
use metier_agent::export::RecordedRun;
use metier_agent::summary::SummaryBuilder;
use metier_agent::{AgentError, Difference, RunFolder, RunId, Summary, fold, runs_in};
use metier_fs::canonical;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::open::Metier;

impl Metier {
    /// The runs of this workspace, newest first. Where a link stands in the place of their folder, that
    /// is an error.
    pub fn runs(&self) -> Result<Vec<RunFolder>> {
        let anchors = self.anchors()?;
        let runs = runs_in(&self.runs_folder())?.into_iter();
        Ok(runs.map(|run| run.with_anchors(anchors.clone())).collect())
    }

    /// The folder of a run that is about to begin.
    pub(crate) fn new_run(&self, id: RunId) -> Result<RunFolder> {
        Ok(RunFolder::below(&self.runs_folder(), id).with_anchors(self.anchors()?))
    }

    /// Where the records of this workspace's runs are remembered.
    fn anchors(&self) -> Result<Anchors> {
        let workspace = self.workspace();
        let workspace = canonical(&workspace).unwrap_or(workspace);
        Ok(Anchors::new(&self.state_dir()?.join("runs"), &workspace))
    }

    /// The run that is meant: its id, the beginning or the end of it, or `last`.
    pub fn find_run(&self, text: &str) -> Result<RunFolder> {
        let mut runs = self.runs()?;
        if text == "last" && !runs.is_empty() {
            return Ok(runs.swap_remove(0));
        }
        if let Some(exact) = runs.iter().position(|run| run.id().as_str() == text) {
            return Ok(runs.swap_remove(exact));
        }
        let matches = |run: &RunFolder| {
            let id = run.id().as_str();
            !text.is_empty() && (id.starts_with(text) || id.ends_with(text))
        };
        let found: Vec<usize> = (0..runs.len()).filter(|at| matches(&runs[*at])).collect();
        match found.as_slice() {
            [one] => Ok(runs.swap_remove(*one)),
            [] => Err(Error::failed("run-not-found", format!("there is no run `{text}` here"))
                .with_help("`metier runs` lists the runs of this project")),
            several => {
                let message = format!("`{text}` matches {} runs", several.len());
                Err(Error::failed("run-ambiguous", message).with_help("type more of the id"))
            }
        }
    }
}

/// An error unless this user began the run here, and its record is what was written.
pub(crate) fn check_resumable(run: &RunFolder) -> Result<()> {
    let report = audit(run)?;
    if let Some(other) = report.findings.iter().find(|it| it.code == OTHER_FORMAT) {
        let message = format!("the run {} cannot be resumed: {}", run.id(), other.message);
        return Err(Error::failed(OTHER_FORMAT, message)
            .with_help("start a run of your own, or use the version that wrote it"));
    }
    match (report.verdict, report.findings.first()) {
        (RecordVerdict::Unanchored, _) => {
            let message = format!("you did not begin the run {} here, on this machine", run.id());
            Err(Error::failed("run-foreign", message)
                .with_help("`metier show` shows it; to continue, start a run of your own"))
        }
        (_, Some(finding)) => {
            let Finding { file, code, message, .. } = finding;
            let message =
                format!("the record of {} is broken: {file}: {message} [{code}]", run.id());
            Err(Error::failed("record-broken", message)
                .with_help("`metier audit verify RUN` says all that is wrong; start a new run"))
        }
        _ => Ok(()),
    }
}

/// The code of a record that another version wrote.
const OTHER_FORMAT: &str = "other-format";

/// A run at a glance: its summary, as its record gives it, and how it stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// Nothing when neither record nor summary can be read.
    pub summary: Option<Summary>,
    /// How it ended, or one of the words below.
    pub status: &'static str,
    /// Whether its record holds; nothing when there is none to check.
    pub record: Option<RecordVerdict>,
}

impl RunState {
    /// A process works on it.
    pub const RUNNING: &'static str = "running";
    /// The process that worked on it is gone.
    pub const INTERRUPTED: &'static str = "interrupted";
    /// Its record is not what was written.
    pub const BROKEN: &'static str = "broken";
    /// Its record has another format, which this version does not read.
    pub const OTHER_FORMAT: &'static str = "other_format";
    /// Neither its summary nor its record can be read.
    pub const UNREADABLE: &'static str = "unreadable";

    /// How a run stands.
    pub fn of(folder: &RunFolder) -> Self {
        let id = folder.id().to_string();
        let Ok(reports) = audit_run(folder) else {
            return Self { id, summary: None, status: Self::UNREADABLE, record: None };
        };
        let mut findings = reports.iter().flat_map(|(_, report)| &report.findings);
        if findings.any(|finding| finding.code == OTHER_FORMAT) {
            let summary = folder.summary().ok();
            return Self { id, summary, status: Self::OTHER_FORMAT, record: None };
        }
        let record = worst(reports.iter().map(|(_, report)| report.verdict));
        // Of a broken record, what can still be read of it.
        let events = folder.readable_events().map(|(records, _)| records).unwrap_or_default();
        let summary = SummaryBuilder::after(&events).summary().cloned();
        let status = match &summary {
            _ if record == Some(RecordVerdict::Broken) => Self::BROKEN,
            Some(Summary { status: Some(status), .. }) => status.as_str(),
            _ if folder.is_running() => Self::RUNNING,
            Some(_) => Self::INTERRUPTED,
            None => Self::UNREADABLE,
        };
        Self { id, summary, status, record }
    }

    /// The summary with how the run stands in it.
    pub fn json(&self) -> Value {
        let mut value = json!(self.summary);
        if !value.is_object() {
            value = json!({ "run_id": self.id });
        }
        value["status"] = json!(self.status);
        value["record"] = json!(self.record);
        value
    }

    /// Whether it can be resumed: it has not ended, and its record is what was written here.
    pub fn can_resume(&self) -> bool {
        self.record == Some(RecordVerdict::Holds)
            && self.status != Self::RUNNING
            && self.summary.as_ref().is_some_and(Summary::can_resume)
    }
}

/// The verdict about several records together.
fn worst(verdicts: impl Iterator<Item = RecordVerdict>) -> Option<RecordVerdict> {
    verdicts.max_by_key(|verdict| match verdict {
        RecordVerdict::Holds => 0,
        RecordVerdict::Unanchored => 1,
        RecordVerdict::Broken => 2,
    })
}

/// What could be read of a run, with the loops inside it.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunRecord {
    /// The record, with long texts in place.
    pub recorded: RecordedRun,
    /// What is wrong with it, in sentences. What stands behind a fault was not read.
    pub faults: Vec<String>,
}

impl RunRecord {
    /// Reads a run.
    pub fn read(folder: &RunFolder) -> Result<Self> {
        let mut recorded = read_one(folder)?;
        let mut faults: Vec<String> = damage(folder)?.iter().map(sentence).collect();
        for inner in folder.inner_runs()? {
            match read_one(&inner) {
                Ok(inner) => recorded.inner.push(inner),
                Err(error) => faults.push(error.to_string()),
            }
        }
        Ok(Self { recorded, faults })
    }
}

fn sentence((id, finding): &(String, Finding)) -> String {
    let Finding { file, line, code, message } = finding;
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("the record of {id} is broken: {file}{line}: {message} [{code}]")
}

fn read_one(folder: &RunFolder) -> std::result::Result<RecordedRun, AgentError> {
    let setup = folder.setup()?;
    let (records, _) = folder.readable_events()?;
    Ok(RecordedRun { id: folder.id().clone(), setup, records, inner: Vec::new() })
}

/// What came of replaying a record: the recorded replies, answers and outcomes drive the same steps
/// again, without a model and without doing anything.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Events of the record, those of the runs inside it too.
    pub events: usize,
    /// Events that follow from the last one and were not written any more.
    pub missing: usize,
    /// The first difference between what was recorded and what follows, and the run that it is in.
    pub difference: Option<(String, Box<Difference>)>,
}

impl RunRecord {
    /// Replays the record, up to the first difference.
    pub fn replay(&self) -> ReplayReport {
        let mut replayed = ReplayReport { events: 0, missing: 0, difference: None };
        for run in std::iter::once(&self.recorded).chain(&self.recorded.inner) {
            replayed.events += run.records.len();
            match fold(Arc::new(run.setup.clone()), &run.records) {
                Ok(folded) => replayed.missing += folded.missing.len(),
                Err(difference) => {
                    replayed.difference = Some((run.id.to_string(), difference));
                    break;
                }
            }
        }
        replayed
    }
}

/// Checks the record of a run and of the runs inside it, each with its id.
pub fn audit_run(folder: &RunFolder) -> Result<Vec<(String, AuditReport)>> {
    let runs = std::iter::once(folder.clone()).chain(folder.inner_runs()?);
    runs.map(|run| Ok((run.id().to_string(), audit(&run)?))).collect()
}

/// What is wrong with a record and the records inside it, with the run that each is about.
pub fn damage(folder: &RunFolder) -> Result<Vec<(String, Finding)>> {
    let audited = audit_run(folder)?.into_iter();
    let findings = audited.flat_map(|(id, audited)| {
        audited.findings.into_iter().map(move |finding| (id.clone(), finding))
    });
    Ok(findings.collect())
}
