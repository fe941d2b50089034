//! What is known of a run at a glance: its summary, and how it stands.
//!
//! The summary is written when a process begins and when it ends. In between, and after a kill, the
//! record knows more: then the summary is made from it.

use std::sync::Arc;

use metier_agent::{Event, RunFolder, Summary, fold};
use metier_fs::{AppendError, AppendFile};
use serde_json::{Value, json};

/// A run at a glance.
pub(crate) struct Known {
    pub(crate) id: String,
    /// Nothing when neither summary nor record can be read.
    pub(crate) summary: Option<Summary>,
    pub(crate) status: &'static str,
}

/// How a run can stand, besides how it ended.
pub(crate) const RUNNING: &str = "running";
pub(crate) const INTERRUPTED: &str = "interrupted";
pub(crate) const UNREADABLE: &str = "unreadable";

impl Known {
    pub(crate) fn of(folder: &RunFolder) -> Self {
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
            None => UNREADABLE,
            Some(Summary { status: Some(status), .. }) => status.as_str(),
            Some(_) if is_running(folder) => RUNNING,
            Some(_) => INTERRUPTED,
        };
        Self { id, summary, status }
    }

    /// The summary with how the run stands in it.
    pub(crate) fn json(&self) -> Value {
        let mut value = json!(self.summary);
        if !value.is_object() {
            value = json!({ "run_id": self.id });
        }
        value["status"] = json!(self.status);
        value
    }

    /// Whether `metier resume` can go on with it.
    pub(crate) fn can_resume(&self) -> bool {
        let ended = self.summary.as_ref().and_then(|summary| summary.status);
        self.status == INTERRUPTED || ended.is_some_and(metier_agent::Status::can_resume)
    }
}

/// Whether the record was written to after the summary.
fn is_behind(folder: &RunFolder) -> bool {
    let modified = |name: &str| metier_fs::modified(&folder.path().join(name)).ok();
    modified("events.jsonl") > modified("run.json")
}

/// Whether a process holds the record. Asks for a file of no bytes: nothing is read or cut off.
fn is_running(folder: &RunFolder) -> bool {
    matches!(AppendFile::open(&folder.events_file(), 0), Err(AppendError::Busy))
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
