//! The files beside a record, against what its events vouch for: what the run was given, long texts,
//! whole outputs, deleted files, and the records of loops inside it.

use serde_json::Value;

use super::Finding;
use crate::anchor::KnownAnchor;
use crate::error::AgentError;
use crate::event::Event;
use crate::folder::RunFolder;
use crate::log::Record;
use crate::op::Op;

/// What the run was given is what its first event vouches for.
pub(super) fn check_given(folder: &RunFolder, first: Option<&Record>, findings: &mut Vec<Finding>) {
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

/// What was too long for the record is what the record vouches for; it is put in place. Whether all of
/// it could be.
pub(super) fn check_texts(
    folder: &RunFolder,
    records: &mut [Record],
    findings: &mut Vec<Finding>,
) -> bool {
    let mut all = true;
    for record in records {
        let (path, code, message) = match folder.fetch_texts(&mut record.event) {
            Ok(()) => continue,
            Err(AgentError::Text(path)) => (path, "text-changed", "it is not what the record says"),
            Err(AgentError::Unreadable(path, _)) => (path, "text-missing", "it cannot be read"),
            Err(_) => (folder.path().to_owned(), "text-missing", "it cannot be read"),
        };
        all = false;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = format!("observations/{}", name.unwrap_or_default());
        // The same text may stand in several events.
        if !findings.iter().any(|known| known.file == file) {
            findings
                .push(Finding { line: Some(record.seq), ..Finding::about(&file, code, message) });
        }
    }
    all
}

/// The whole outputs that the record vouches for: those with a digest by it, the others by their size.
pub(super) fn check_outputs(folder: &RunFolder, records: &[Record], findings: &mut Vec<Finding>) {
    let outcomes = records.iter().filter_map(|record| match &record.event {
        Event::ActionFinished { outcome, .. } => Some((record.seq, outcome)),
        _ => None,
    });
    for (seq, outcome) in outcomes {
        let listed =
            ["kept", "unhashed"].map(|key| outcome.data.get(key).and_then(Value::as_array));
        for output in listed.into_iter().flatten().flatten() {
            let Some(file) = output["file"].as_str() else { continue };
            // A record must not lead to files that are no part of the run.
            let is_plain =
                file.starts_with("observations/") && !file.split('/').any(|part| part == "..");
            let holds = is_plain
                && match output["sha256"].as_str() {
                    Some(sha256) => folder
                        .files()
                        .digest(file)
                        .is_ok_and(|(found, _)| found.to_string() == sha256),
                    None => folder.files().size(file) == output["bytes"].as_u64(),
                };
            if !holds {
                let message = "it is not what the record says, or is gone";
                let finding = Finding::about(file, "text-changed", message);
                findings.push(Finding { line: Some(seq), ..finding });
            }
        }
    }
}

/// The files that the run and the loops inside it deleted. A loop inside has no trash of its own.
pub(super) fn check_trash(folder: &RunFolder, records: &[Record], findings: &mut Vec<Finding>) {
    if folder.is_inner() {
        return;
    }
    for fault in folder.trash_ledger(records).faults(folder) {
        let file = format!("trash/{}", fault.reference);
        findings
            .push(Finding { line: fault.seq, ..Finding::about(&file, fault.code, fault.message) });
    }
}

/// The records of the loops inside: each is there, ends where the run says, and was begun by it.
pub(super) fn check_inner(folder: &RunFolder, records: &[Record], findings: &mut Vec<Finding>) {
    let mut begun = Vec::new();
    for record in records {
        let Event::ActionStarted { op_id, op: Op::Delegate { .. } } = &record.event else {
            continue;
        };
        let Ok(id) = folder.inner_id(*op_id) else { continue };
        let inner = folder.inner_run(id.clone());
        let finished = records.iter().find_map(|record| match &record.event {
            Event::ActionFinished { op_id: ended, outcome } if ended == op_id => {
                outcome.data.get("record").filter(|known| !known.is_null())
            }
            _ => None,
        });
        let holds = match finished {
            Some(known) => inner.chain().is_ok_and(|(records, _)| {
                let last = records.last().map(|last| last.hash.to_string());
                known["events"].as_u64() == Some(records.len() as u64)
                    && known["last_hash"].as_str() == last.as_deref()
            }),
            None => inner.has_record() || inner.anchor() == KnownAnchor::Missing,
        };
        if !holds {
            let message =
                "the record of this subagent is gone, or is not the one that the run made";
            let finding = Finding::about(&format!("inner/{id}"), "another-record", message);
            findings.push(Finding { line: Some(record.seq), ..finding });
        }
        begun.push(id);
    }
    for inner in folder.inner_runs().unwrap_or_default() {
        if !begun.contains(inner.id()) {
            let file = format!("inner/{}", inner.id());
            findings.push(Finding::about(&file, "file-unknown", "the run began no such subagent"));
        }
    }
}
