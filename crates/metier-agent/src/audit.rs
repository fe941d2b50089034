//! Whether a record is what was written: the chain, what it vouches for, and its end.
//!
//! A hash chain shows every change that does not rewrite the whole record; it is no
//! signature.

use metier_skill::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::error::AgentError;
use crate::event::Event;
use crate::folder::RunFolder;
use crate::log::{LogFault, Record};

/// What the check of a record found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// How many events are as they were written.
    pub events: u64,
    /// The hash of the last of them.
    pub last_hash: Option<Digest>,
    /// Whether the run has come to an end, or to where it waits.
    pub finished: bool,
    /// What is wrong.
    pub findings: Vec<Finding>,
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

/// Checks the record of a run: no changed byte, no gap, nothing cut off.
pub fn audit(folder: &RunFolder) -> Result<AuditReport, AgentError> {
    let mut findings = Vec::new();
    let (mut records, fault) = folder.chain()?;
    if let Some(fault) = fault {
        findings.push(Finding {
            file: "events.jsonl".to_owned(),
            line: Some(fault.line),
            code: fault.code,
            message: fault.message,
        });
    }
    check_given(folder, records.first(), &mut findings);
    check_texts(folder, &mut records, &mut findings);
    check_kept(folder, &records, &mut findings);
    let last = records.last();
    let finished = last.is_some_and(|last| matches!(last.event, Event::RunFinished { .. }));
    match folder.summary() {
        Ok(summary) => {
            // The summary may be older than the record, never younger.
            let at = usize::try_from(summary.events).ok().and_then(|count| count.checked_sub(1));
            let recorded = at.and_then(|at| records.get(at)).map(|record| record.hash);
            if recorded != Some(summary.last_hash) && findings.is_empty() {
                let message = format!(
                    "the summary tells of {} events, the record has {}",
                    summary.events,
                    records.len()
                );
                findings.push(Finding::about("events.jsonl", "truncated", message));
            }
        }
        Err(_) => findings.push(Finding::about("run.json", "no-summary", "it cannot be read")),
    }
    let (events, last_hash) = (records.len() as u64, last.map(|last| last.hash));
    Ok(AuditReport { events, last_hash, finished, findings })
}

/// Nothing, or why a run must not continue from this record. A line that was cut off by a crash is no
/// reason, nor is a summary that was not written yet.
pub(crate) fn must_hold(folder: &RunFolder) -> Result<(), AgentError> {
    let found = audit(folder)?.findings.into_iter();
    let Some(finding) = found.into_iter().find(|it| !matches!(it.code, "torn" | "no-summary"))
    else {
        return Ok(());
    };
    let Finding { file, line, code, message } = finding;
    let fault = LogFault { line: line.unwrap_or(1), code, message };
    Err(AgentError::Record(folder.path().join(file), fault))
}

/// What was too long for the record is what the record vouches for.
fn check_texts(folder: &RunFolder, records: &mut [Record], findings: &mut Vec<Finding>) {
    for record in records {
        let found = match folder.fetch_texts(&mut record.event) {
            Err(AgentError::Text(path)) => (path, "text-changed", "it is not what the record says"),
            Err(AgentError::Unreadable(path, _)) => (path, "text-missing", "it cannot be read"),
            Ok(()) | Err(_) => continue,
        };
        let (path, code, message) = found;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = format!("observations/{}", name.unwrap_or_default());
        // The same text may stand in several events.
        if !findings.iter().any(|known| known.file == file) {
            findings
                .push(Finding { line: Some(record.seq), ..Finding::about(&file, code, message) });
        }
    }
}

/// The whole outputs that the record vouches for.
fn check_kept(folder: &RunFolder, records: &[Record], findings: &mut Vec<Finding>) {
    let outcomes = records.iter().filter_map(|record| match &record.event {
        Event::ActionFinished { outcome, .. } => Some((record.seq, outcome)),
        _ => None,
    });
    for (seq, outcome) in outcomes {
        for kept in outcome.data.get("kept").and_then(Value::as_array).into_iter().flatten() {
            let (Some(file), Some(recorded)) = (kept["file"].as_str(), kept["sha256"].as_str())
            else {
                continue;
            };
            // A record must not lead to files that are no part of the run.
            let plain =
                file.starts_with("observations/") && !file.split('/').any(|part| part == "..");
            let found = plain.then(|| folder.digest_of(file)).flatten();
            if found.is_none_or(|found| found.to_string() != recorded) {
                let message = "it is not what the record says, or is gone";
                let finding = Finding::about(file, "text-changed", message);
                findings.push(Finding { line: Some(seq), ..finding });
            }
        }
    }
}

/// What the run was given is what its first event vouches for.
fn check_given(folder: &RunFolder, first: Option<&Record>, findings: &mut Vec<Finding>) {
    let Some(Event::RunStarted { setup_sha256, index_sha256, .. }) =
        first.map(|first| &first.event)
    else {
        return;
    };
    for (name, recorded) in [("setup.json", setup_sha256), ("index.json", index_sha256)] {
        if folder.digest_of(name) != Some(*recorded) {
            findings.push(Finding::about(name, "file-changed", "it is not what the run was given"));
        }
    }
}
