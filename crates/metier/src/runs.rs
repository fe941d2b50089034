//! The runs of a workspace: which one is meant, how each stands, and its record.
//!
//! Reading one run is `metier-agent`'s. Which runs this user began is written down in the user's
//! state, outside every project: a project can ship a folder that looks like a run, with a prompt, a
//! model and loaded skills of someone else's choice. Such a run is shown, and never resumed.

use std::path::PathBuf;
use std::sync::Arc;

use metier_agent::audit::{AuditReport, Finding, audit};
use metier_agent::export::RecordedRun;
use metier_agent::{AgentError, Difference, Event, Record, RunFolder, Summary, fold, runs_in};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::open::Metier;

const MAX_NOTE_BYTES: u64 = 1024;

impl Metier {
    /// The runs of this workspace, newest first. Where a link stands in the place of their folder, that
    /// is an error.
    pub fn runs(&self) -> Result<Vec<RunFolder>> {
        Ok(runs_in(&self.runs_folder())?)
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

    /// Which runs this user began.
    pub(crate) fn own_runs(&self) -> Result<OwnRuns> {
        Ok(OwnRuns { folder: self.state_dir()?.join("runs") })
    }
}

/// The runs that this user began, by a note for each in the user's state.
pub(crate) struct OwnRuns {
    folder: PathBuf,
}

impl OwnRuns {
    /// Notes the name of a run that is about to begin.
    pub(crate) fn note_name(&self, run: &RunFolder) -> Result<()> {
        let file = self.file(run.id().as_str());
        if metier_fs::exists(&file) {
            return Ok(());
        }
        metier_fs::write_private(&file, b"").map_err(|error| {
            let message = format!("{} cannot be written: {error}", file.display());
            Error::failed("state-unwritable", message)
        })
    }

    /// Notes the first event of a run, which vouches for what the run was given.
    pub(crate) fn note_first(&self, record: &Record) {
        let Event::RunStarted { run_id, .. } = &record.event else { return };
        // Without it the name is known, and the record still has to hold.
        let hash = record.hash.to_string();
        let _ = metier_fs::write_private(&self.file(run_id.as_str()), hash.as_bytes());
    }

    /// An error unless this user began the run.
    pub(crate) fn check(&self, run: &RunFolder) -> Result<()> {
        let noted = metier_fs::read_bounded(&self.file(run.id().as_str()), MAX_NOTE_BYTES).ok();
        let (records, fault) = match run.events() {
            Err(error @ (AgentError::Link(_) | AgentError::NotAFolder(_))) => {
                return Err(error.into());
            }
            events => events.unwrap_or_default(),
        };
        if let Some(fault) = fault.filter(|fault| fault.code == "other-format") {
            let message = format!("the run {} cannot be resumed: {}", run.id(), fault.message);
            return Err(Error::failed(fault.code, message)
                .with_help("start a run of your own, or use the version that wrote it"));
        }
        let first = records.first().map(|it| it.hash);
        let is_own = noted.is_some_and(|noted| {
            noted.is_empty() || first.is_some_and(|hash| hash.to_string().as_bytes() == noted)
        });
        if is_own {
            return Ok(());
        }
        let message = format!("you did not begin the run {} on this machine", run.id());
        Err(Error::failed("run-foreign", message)
            .with_help("`metier show` shows it; to continue, start a run of your own"))
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }
}

/// A run at a glance: its summary, and how it stands. The summary is written when a process begins
/// and when it ends; in between, and after a kill, it is made from the record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// Nothing when neither summary nor record can be read.
    pub summary: Option<Summary>,
    /// How it ended, or [`RunState::RUNNING`], [`RunState::INTERRUPTED`], [`RunState::UNREADABLE`].
    pub status: &'static str,
}

impl RunState {
    /// A process works on it.
    pub const RUNNING: &'static str = "running";
    /// The process that worked on it is gone.
    pub const INTERRUPTED: &'static str = "interrupted";
    /// Neither its summary nor its record can be read.
    pub const UNREADABLE: &'static str = "unreadable";

    /// How a run stands.
    pub fn of(folder: &RunFolder) -> Self {
        let id = folder.id().to_string();
        let written = folder.summary().ok();
        let ended = written.as_ref().and_then(|summary| summary.status);
        if let Some(status) = ended.filter(|_| !is_behind(folder)) {
            return Self { id, summary: written, status: status.as_str() };
        }
        let summary = from_record(folder).or_else(|| {
            // What the last process has not ended is open, whatever the one before it wrote.
            written.map(|summary| Summary { status: None, ..summary })
        });
        let status = match &summary {
            None => Self::UNREADABLE,
            Some(Summary { status: Some(status), .. }) => status.as_str(),
            Some(_) if folder.is_running() => Self::RUNNING,
            Some(_) => Self::INTERRUPTED,
        };
        Self { id, summary, status }
    }

    /// The summary with how the run stands in it.
    pub fn json(&self) -> Value {
        let mut value = json!(self.summary);
        if !value.is_object() {
            value = json!({ "run_id": self.id });
        }
        value["status"] = json!(self.status);
        value
    }

    /// Whether it can be resumed.
    pub fn can_resume(&self) -> bool {
        let ended = self.summary.as_ref().and_then(|summary| summary.status);
        self.status == Self::INTERRUPTED || ended.is_some_and(metier_agent::Status::can_resume)
    }
}

/// Whether the record was written to after the summary.
fn is_behind(folder: &RunFolder) -> bool {
    let modified = |name: &str| metier_fs::modified(&folder.path().join(name)).ok();
    modified("events.jsonl") > modified("run.json")
}

fn from_record(folder: &RunFolder) -> Option<Summary> {
    let (records, _) = folder.events().ok()?;
    let (first, last) = (records.first()?, records.last()?);
    let folded = fold(Arc::new(folder.setup().ok()?), &records).ok()?;
    let state = &folded.state;
    let over = matches!(last.event, Event::RunFinished { .. });
    let end = state.finished().filter(|_| over);
    Some(Summary {
        run_id: folder.id().clone(),
        status: end.map(|end| end.status),
        message: end.and_then(|end| end.message.clone()),
        request: state.setup().request.clone(),
        answer: end.and_then(|end| end.answer.as_deref().map(str::to_owned)),
        data: end.and_then(|end| end.data.clone()),
        model: state.setup().model.clone(),
        skills: state.loaded(),
        started: first.time.clone(),
        finished: end.map(|_| last.time.clone()),
        elapsed_ms: last.elapsed_ms,
        spent: *state.spent(),
        events: last.seq,
        last_hash: last.hash,
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
        let mut faults = Vec::new();
        let mut recorded = read_one(folder, &mut faults)?;
        for inner in folder.inner_runs()? {
            match read_one(&inner, &mut faults) {
                Ok(inner) => recorded.inner.push(inner),
                Err(error) => faults.push(error.to_string()),
            }
        }
        Ok(Self { recorded, faults })
    }
}

fn read_one(
    folder: &RunFolder,
    faults: &mut Vec<String>,
) -> std::result::Result<RecordedRun, AgentError> {
    let setup = folder.setup()?;
    let (records, fault) = folder.events()?;
    let id = folder.id().clone();
    faults.extend(fault.map(|fault| format!("the record of {id} is broken: {fault}")));
    Ok(RecordedRun { id, setup, records, inner: Vec::new() })
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

/// What is wrong with a record and the records inside it, with the run that each is about. A run that
/// was killed at once has no summary; its record is whole all the same.
pub fn damage(folder: &RunFolder) -> Result<Vec<(String, Finding)>> {
    let audited = audit_run(folder)?.into_iter();
    let findings = audited.flat_map(|(id, audited)| {
        let damage = audited.findings.into_iter().filter(|finding| finding.code != "no-summary");
        damage.map(move |finding| (id.clone(), finding))
    });
    Ok(findings.collect())
}
