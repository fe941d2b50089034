//! Whether a record is what was written: the chain, the anchor in the user's state, the summary, and
//! the files that the events vouch for.
//!
//! The chain shows a change in its middle; the anchor that it was cut off, written anew or put in place
//! of another. Without an anchor a record can be consistent, and no more is known.

mod files;

use metier_skill::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::anchor::{Anchor, AnchorState, KnownAnchor};
use crate::error::AgentError;
use crate::event::Event;
use crate::folder::RunFolder;
use crate::log::{LogFault, Record};
use crate::summary::{Summary, SummaryBuilder};

/// How often a record is read again that another process continues meanwhile.
const MAX_READS: u32 = 10;

/// What the check of a record found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Whether the record holds.
    pub verdict: RecordVerdict,
    /// How many events are as they were written.
    pub events: u64,
    /// The hash of the last of them.
    pub last_hash: Option<Digest>,
    /// Whether the run has come to an end, or to where it waits.
    pub finished: bool,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Whether a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordVerdict {
    /// It is what was written here.
    Holds,
    /// It agrees with itself, but nothing on this machine says that it is what was written.
    Unanchored,
    /// Something was changed.
    Broken,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, below the run's folder.
    pub file: String,
    /// The line, where there is one.
    pub line: Option<u64>,
    /// What is wrong, as a stable code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Finding {
    fn about(file: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, code, message: message.into() }
    }
}

/// A record as it was read. The order matters while a process writes: what is remembered is never ahead
/// of the summary's record, and the summary never ahead of the record.
struct ReadRecord {
    anchor: KnownAnchor,
    summary: Result<Option<Vec<u8>>, String>,
    records: Vec<Record>,
    fault: Option<LogFault>,
}

impl ReadRecord {
    fn of(folder: &RunFolder) -> Result<Self, AgentError> {
        let mut reads = 0;
        loop {
            reads += 1;
            let anchor = folder.anchor();
            let summary = folder.summary_bytes().map_err(|error| error.to_string());
            let (records, fault) = folder.chain()?;
            let read = Self { anchor, summary, records, fault };
            // A run that was closed a moment ago may be continued by now.
            let is_refuted = read.known().is_some_and(|it| it.refutes(&read.records).is_some());
            if !is_refuted || reads == MAX_READS || folder.anchor() == read.anchor {
                return Ok(read);
            }
        }
    }

    fn known(&self) -> Option<&Anchor> {
        match &self.anchor {
            KnownAnchor::Here(anchor) => Some(anchor),
            KnownAnchor::Missing | KnownAnchor::Unreadable(_) => None,
        }
    }

    /// What is wrong with the chain itself, and with what is remembered of it.
    fn check_chain(&self, folder: &RunFolder, findings: &mut Vec<Finding>) {
        let state = self.known().map(|anchor| anchor.state);
        // A process that is killed while it writes leaves half a line.
        let is_torn_by_kill = state == Some(AnchorState::Open);
        let fault = self.fault.as_ref();
        if let Some(fault) = fault.filter(|fault| fault.code != "torn" || !is_torn_by_kill) {
            let finding = Finding::about("events.jsonl", fault.code, &*fault.message);
            findings.push(Finding { line: Some(fault.line), ..finding });
        }
        let refuted = self.known().and_then(|anchor| anchor.refutes(&self.records));
        match (&self.anchor, refuted) {
            // What stands behind a fault was not read.
            (_, Some((code, message))) if findings.is_empty() || code != "truncated" => {
                findings.push(Finding::about("events.jsonl", code, message));
            }
            (KnownAnchor::Unreadable(error), _)
                if folder.anchors().is_some() && fault.is_none() =>
            {
                let message = format!("what is remembered of it cannot be read: {error}");
                findings.push(Finding::about("events.jsonl", "anchor-unreadable", message));
            }
            _ => {}
        }
    }

    /// What is wrong with the summary: it is what the record gives, up to where it was written.
    fn check_summary(&self, is_chain_whole: bool) -> Option<Finding> {
        let state = self.known().map(|anchor| anchor.state);
        let about = |code, message: &str| Some(Finding::about("run.json", code, message));
        let bytes = match &self.summary {
            Ok(Some(bytes)) => bytes,
            // It is written after the first events.
            Ok(None) if state == Some(AnchorState::Open) => return None,
            Ok(None) => return about("no-summary", "it is missing"),
            Err(error) => return about("no-summary", &format!("it cannot be read: {error}")),
        };
        let parsed = serde_json::from_slice::<Summary>(bytes).ok();
        let (Some(written), Ok(value)) = (parsed, serde_json::from_slice::<Value>(bytes)) else {
            return about("summary-changed", "it is not the summary of a run");
        };
        let (events, total) = (written.events, self.records.len() as u64);
        if events > total {
            let message = format!("the summary tells of {events} events, the record has {total}");
            // A chain that is damaged was not read to its end.
            return is_chain_whole.then(|| Finding::about("events.jsonl", "truncated", message));
        }
        if state == Some(AnchorState::Closed) && is_chain_whole && events < total {
            return about("summary-changed", "it is older than the end of the run");
        }
        let count = usize::try_from(events).unwrap_or(usize::MAX);
        let builder = SummaryBuilder::after(self.records.iter().take(count));
        let recomputed = builder.summary().and_then(|it| serde_json::to_value(it).ok());
        if recomputed == Some(value) {
            return None;
        }
        about("summary-changed", "it is not what the record gives")
    }
}

/// Checks the record of a run: no changed byte, no gap, nothing cut off, nothing put in its place.
pub fn audit(folder: &RunFolder) -> Result<AuditReport, AgentError> {
    let mut findings = Vec::new();
    let mut read = ReadRecord::of(folder)?;
    read.check_chain(folder, &mut findings);
    let is_chain_whole = findings.is_empty();
    files::check_given(folder, read.records.first(), &mut findings);
    let texts_hold = files::check_texts(folder, &mut read.records, &mut findings);
    files::check_outputs(folder, &read.records, &mut findings);
    if is_chain_whole {
        // Half a record does not know what was deleted and begun later.
        files::check_trash(folder, &read.records, &mut findings);
        files::check_inner(folder, &read.records, &mut findings);
    }
    if texts_hold {
        findings.extend(read.check_summary(is_chain_whole));
    }
    let last = read.records.iter().rev().find(|record| !record.event.is_information());
    let finished = last.is_some_and(|last| matches!(last.event, Event::RunFinished { .. }));
    let verdict = match (findings.is_empty(), read.known()) {
        (false, _) => RecordVerdict::Broken,
        (true, Some(_)) => RecordVerdict::Holds,
        (true, None) => RecordVerdict::Unanchored,
    };
    let last_hash = read.records.last().map(|last| last.hash);
    Ok(AuditReport { verdict, events: read.records.len() as u64, last_hash, finished, findings })
}

/// Nothing, or why a run must not continue from this record. Where nothing is remembered at all, a line
/// that was cut off by a crash is no reason, nor is a summary that was not written yet.
pub(crate) fn must_hold(folder: &RunFolder) -> Result<(), AgentError> {
    let report = audit(folder)?;
    let is_remembered = folder.anchors().is_some();
    let mut found = report.findings.into_iter();
    let finding = found.find(|it| is_remembered || !matches!(it.code, "torn" | "no-summary"));
    if let Some(finding) = finding {
        return Err(broken(folder, finding));
    }
    if is_remembered && report.verdict == RecordVerdict::Unanchored {
        let message = "nothing on this machine says that this record is what was written";
        return Err(broken(folder, Finding::about("events.jsonl", "no-anchor", message)));
    }
    Ok(())
}

/// Nothing, or what is wrong with the chain and with what is remembered of it, whatever its files are.
pub(crate) fn chain_must_hold(folder: &RunFolder) -> Result<(), AgentError> {
    let mut findings = Vec::new();
    ReadRecord::of(folder)?.check_chain(folder, &mut findings);
    findings.into_iter().next().map_or(Ok(()), |finding| Err(broken(folder, finding)))
}

fn broken(folder: &RunFolder, finding: Finding) -> AgentError {
    let Finding { file, line, code, message } = finding;
    let fault = LogFault { line: line.unwrap_or(1), code, message };
    AgentError::Record(folder.path().join(file), fault)
}
