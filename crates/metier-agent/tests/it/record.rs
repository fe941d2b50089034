//! The record on disk: written before it is shown, replayed, and every change of it found.
//! The files are tampered with one by one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use metier_agent::audit::audit;
use metier_agent::{Event, RunFolder, RunId, Status, fold};
use serde_json::json;

use crate::fakes::{FakeExecutor, agent, answer, script, scripted, select, setup};

fn folder(runs: &Path) -> RunFolder {
    RunFolder::new(runs, RunId::new("20260101-000000-aaaaa").expect("an id"))
}

/// A whole run on disk, with a text that has a file of its own.
fn recorded(runs: &Path) -> RunFolder {
    let long = json!({"action": {"type": "load_resource", "skill": {"name": "pdf"}, "relative_path": "long.md"}});
    let model = scripted(json!([select(&["pdf"]), long, script("pdf", &["x"]), answer("done")]));
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    let folder = folder(runs);
    let state = agent.run(&folder, setup(&model)).expect("runs");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    folder
}

#[test]
fn a_recorded_run_is_reproduced_event_by_event() {
    let runs = tempfile::tempdir().expect("dir");
    let folder = recorded(runs.path());
    let (records, fault) = folder.events().expect("reads");
    assert_eq!(fault, None);
    let folded = fold(Arc::new(folder.setup().expect("reads")), &records).expect("the same");
    assert!(folded.missing.is_empty());
    assert_eq!(folded.state.finished().and_then(|end| end.answer.as_deref()), Some("done"));
    let audited = audit(&folder).expect("audits");
    assert_eq!((audited.findings, audited.finished), (Vec::new(), true));
    let summary = folder.summary().expect("reads");
    assert_eq!(summary.status, Some(Status::Completed));
    assert_eq!(summary.events, records.len() as u64);
    assert_eq!(Some(summary.last_hash), records.last().map(|record| record.hash));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test tampers with files")]
fn whatever_is_changed_cut_or_dropped_is_found() {
    let whole = tempfile::tempdir().expect("dir");
    let folder = recorded(whole.path());
    let events = fs::read(folder.events_file()).expect("reads");
    let lines: Vec<&[u8]> = events.split_inclusive(|byte| *byte == b'\n').collect();
    let mut changed = events.clone();
    let at = changed.len() / 2;
    changed[at] ^= 1;
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a byte", changed, "hash-mismatch"),
        ("a line", [&lines[..3], &lines[4..]].concat().concat(), "hash-mismatch"),
        ("the end", lines[..lines.len() - 1].concat(), "truncated"),
        ("half a line", events[..events.len() - 9].to_vec(), "torn"),
    ];
    for (what, bytes, code) in cases {
        fs::write(folder.events_file(), bytes).expect("writes");
        let codes: Vec<&str> =
            audit(&folder).expect("audits").findings.iter().map(|found| found.code).collect();
        assert_eq!(codes, [code], "{what}");
    }
    fs::write(folder.events_file(), &events).expect("writes");
    for file in ["setup.json", "index.json"] {
        let path = folder.path().join(file);
        let before = fs::read(&path).expect("reads");
        fs::write(&path, [before.as_slice(), b" "].concat()).expect("writes");
        assert_eq!(audit(&folder).expect("audits").findings[0].code, "file-changed", "{file}");
        fs::write(&path, before).expect("writes");
    }
    let stored = fs::read_dir(folder.observations().path()).expect("reads").next().expect("a text");
    let stored = stored.expect("an entry").path();
    fs::write(&stored, "other words").expect("writes");
    let audited = audit(&folder).expect("audits");
    assert_eq!(audited.findings[0].code, "text-changed");
    assert!(audited.finished && audited.events > 10, "the chain itself holds");
    fs::remove_file(&stored).expect("removes");
    assert_eq!(audit(&folder).expect("audits").findings[0].code, "text-missing");
}

#[test]
fn an_event_that_does_not_follow_is_a_difference() {
    let runs = tempfile::tempdir().expect("dir");
    let folder = recorded(runs.path());
    let (mut records, _) = folder.events().expect("reads");
    let at = records
        .iter()
        .position(|record| matches!(record.event, Event::ObservationMade { .. }))
        .expect("one");
    let Event::ObservationMade { bytes, .. } = &mut records[at].event else { panic!("it is one") };
    *bytes += 1;
    let difference = fold(Arc::new(folder.setup().expect("reads")), &records).expect_err("differs");
    assert_eq!(difference.seq, records[at].seq);
}

#[test]
fn nothing_is_done_that_cannot_be_written_down() {
    let runs = tempfile::tempdir().expect("dir");
    let model = scripted(json!([select(&["pdf"]), answer("x")]));
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    recorded(runs.path());
    let error = agent.run(&folder(runs.path()), setup(&model)).expect_err("it is there already");
    assert_eq!(error.code(), "run-exists");
    assert!(executor.log().is_empty());
}
