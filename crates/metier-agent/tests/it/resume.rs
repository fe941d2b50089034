//! A run that is killed at any event continues to the same end.
//!
//! The record is append-only, so a record that is cut after an event is exactly what a process leaves
//! that was killed there.

use std::fs;
use std::path::Path;

use metier_agent::{
    Agent, AgentError, Event, NoApprover, Observer, Record, RunFolder, RunId, Setup, State, Status,
};
use metier_cancel::CancelToken;
use metier_model::Scripted;
use metier_skill::Digest;
use metier_tools::ShownBody;
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, agent, answer, call, script, scripted, select, setup};

fn folder(runs: &Path, name: &str) -> RunFolder {
    RunFolder::new(runs, RunId::new(name).expect("an id"))
}

fn model() -> Scripted {
    let mut first = select(&["lead-plan", "pdf"]);
    first["plan"] = json!({"goal": "g", "steps": [{"id": "s1", "title": "t", "status": "pending"}],
        "assumptions": [], "constraints": []});
    let mut last = answer("done");
    last["plan_update"] =
        json!({"patch": [{"op": "replace", "path": "/steps/0/status", "value": "completed"}]});
    scripted(json!([
        first, script("pdf", &["once"]), {"raw": "oops"}, call("write_file", json!({"path": "a"})),
        call("read_file", json!({"path": "a"})), select(&["notes"]), last
    ]))
}

/// What must be the same however often a run was killed.
fn outcome(state: &State) -> Value {
    let end = state.finished().expect("ended");
    json!({"status": end.status, "answer": end.answer.as_deref(), "loaded": state.loaded(),
        "plan": state.plan(), "message": end.message})
}

#[expect(clippy::disallowed_methods, reason = "a test copies files")]
fn killed_after(whole: &RunFolder, runs: &Path, events: usize) -> RunFolder {
    // The name is part of the chain.
    let killed = RunFolder::new(&runs.join(format!("killed-{events}")), whole.id().clone());
    fs::create_dir_all(killed.observations().path()).expect("makes");
    for file in ["setup.json", "index.json"] {
        fs::copy(whole.path().join(file), killed.path().join(file)).expect("copies");
    }
    let text = fs::read(whole.events_file()).expect("reads");
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').take(events).collect();
    fs::write(killed.events_file(), lines.concat()).expect("writes");
    killed
}

#[test]
fn killed_at_every_event_a_run_goes_on_to_the_same_end() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) =
        (model(), FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() });
    let whole = folder(runs.path(), "whole");
    let shown = |skill: &str| ShownBody {
        skill: skill.parse().expect("an id"),
        reason: "allowed".to_owned(),
        request: Digest::of(skill.as_bytes()),
    };
    let given = Setup { shown: vec![shown("user:pdf"), shown("user:notes")], ..setup(&model) };
    let undisturbed = agent(&model, &executor).run(&whole, given).expect("runs");
    let expected = outcome(&undisturbed);
    let (records, _) = whole.events().expect("reads");
    assert!(records.len() > 40, "{} events", records.len());
    let mut interrupted = 0;
    for cut in 1..records.len() {
        let killed = killed_after(&whole, runs.path(), cut);
        let again = FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() };
        let state = agent(&model, &again).resume(&killed).expect("resumes");
        assert_eq!(outcome(&state), expected, "killed after event {cut}");
        // A change that was begun before the kill is done again only after the model was reported.
        let begun: Vec<&str> = records[..cut]
            .iter()
            .filter_map(|record| match &record.event {
                Event::ActionStarted { op, .. } => Some(op),
                _ => None,
            })
            .filter_map(|op| match op {
                metier_agent::Op::Script { .. } => Some("run user:pdf/scripts/do.sh once"),
                metier_agent::Op::Tool { tool, .. } if tool == "write_file" => Some("write_file a"),
                _ => None,
            })
            .collect();
        let (after, fault) = killed.events().expect("reads");
        assert_eq!(fault, None);
        let shown = after.iter().filter(|record| {
            matches!(&record.event, Event::PolicyDecided { op_id: 0, .. }) && record.seq < 4
        });
        assert_eq!(shown.count(), 2, "killed after event {cut}: each shown body has its decision");
        let reported = after
            .iter()
            .filter(|record| matches!(&record.event, Event::ObservationMade { code: Some(code), .. } if code.as_str() == "Interrupted"))
            .count();
        let twice = begun.iter().filter(|done| again.log().contains(&(**done).to_owned())).count();
        assert_eq!(twice, reported, "killed after event {cut}: nothing is done twice in silence");
        interrupted += reported;
        // And the record of the resumed run is one that can be replayed.
        let given = std::sync::Arc::new(killed.setup().expect("reads"));
        let folded = metier_agent::fold(given, &after).expect("the same");
        assert_eq!(outcome(&folded.state), expected);
    }
    assert_eq!(interrupted, 2, "one cut for each change that was begun and not finished");
}

#[test]
fn a_run_that_has_ended_does_not_go_on() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) = (model(), FakeExecutor::default());
    let whole = folder(runs.path(), "whole");
    agent(&model, &executor).run(&whole, setup(&model)).expect("runs");
    let error = agent(&model, &executor).resume(&whole).expect_err("it has ended");
    assert!(matches!(error, AgentError::Ended("completed")));
}

#[test]
fn a_run_that_waits_for_an_answer_goes_on_when_it_comes() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) =
        (model(), FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() });
    let whole = folder(runs.path(), "whole");
    let alone = Agent { approver: &NoApprover, ..agent(&model, &executor) };
    let waits = alone.run(&whole, setup(&model)).expect("runs");
    assert_eq!(waits.finished().expect("ended").status, Status::NeedsApproval);
    assert_eq!(
        alone.resume(&whole).expect("resumes").finished().expect("ended").status,
        Status::NeedsApproval
    );
    let state = agent(&model, &executor).resume(&whole).expect("resumes");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    assert_eq!(executor.log().iter().filter(|done| done.starts_with("run ")).count(), 1);
}

/// Cancels the run when it has written this many events.
struct StopsAt {
    event: u64,
    cancel: CancelToken,
}

impl Observer for StopsAt {
    fn event(&self, _: u32, record: &Record) {
        if record.seq >= self.event {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_cancelled_run_is_resumed_later() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) = (model(), FakeExecutor::default());
    for looks in 1..12 {
        let whole = folder(runs.path(), &format!("stopped-{looks}"));
        let cancel = CancelToken::new();
        let stops = StopsAt { event: looks, cancel: cancel.clone() };
        let stopping = Agent { cancel: &cancel, observer: &stops, ..agent(&model, &executor) };
        let state = stopping.run(&whole, setup(&model)).expect("runs");
        assert_eq!(state.finished().expect("ended").status, Status::Cancelled, "{looks}");
        let state = agent(&model, &executor).resume(&whole).expect("resumes");
        assert_eq!(state.finished().expect("ended").status, Status::Completed, "{looks}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test tampers with files")]
fn a_record_that_was_tampered_with_is_not_resumed() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) =
        (model(), FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() });
    let whole = folder(runs.path(), "whole");
    let alone = Agent { approver: &NoApprover, ..agent(&model, &executor) };
    alone.run(&whole, setup(&model)).expect("runs");
    for file in ["setup.json", "index.json"] {
        let path = whole.path().join(file);
        let before = fs::read_to_string(&path).expect("reads");
        fs::write(&path, before.replace("\"tool_calls\": 30", "\"tool_calls\": 99") + " ")
            .expect("writes");
        let error = agent(&model, &executor).resume(&whole).expect_err("refused");
        assert_eq!(error.code(), "record-broken", "{file}");
        fs::write(&path, before).expect("writes");
    }
    let events = fs::read(whole.events_file()).expect("reads");
    let lines: Vec<&[u8]> = events.split_inclusive(|byte| *byte == b'\n').collect();
    fs::write(whole.events_file(), lines[..lines.len() - 3].concat()).expect("writes");
    let error = agent(&model, &executor).resume(&whole).expect_err("its end was cut off");
    assert_eq!(error.code(), "record-broken");
    fs::write(whole.events_file(), events).expect("writes");
    let state = agent(&model, &executor).resume(&whole).expect("resumes");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test tampers with files")]
fn a_torn_last_line_is_cut_off_and_a_changed_record_is_refused() {
    let runs = tempfile::tempdir().expect("dir");
    let (model, executor) = (model(), FakeExecutor::default());
    let whole = folder(runs.path(), "whole");
    agent(&model, &executor).run(&whole, setup(&model)).expect("runs");
    let torn = killed_after(&whole, runs.path(), 9);
    let mut text = fs::read(torn.events_file()).expect("reads");
    text.extend_from_slice(b"{\"seq\":10,\"ti");
    fs::write(torn.events_file(), &text).expect("writes");
    let state = agent(&model, &executor).resume(&torn).expect("resumes");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    let changed = killed_after(&whole, runs.path(), 12);
    let mut text = fs::read(changed.events_file()).expect("reads");
    text[200] ^= 1;
    fs::write(changed.events_file(), &text).expect("writes");
    let error = agent(&model, &executor).resume(&changed).expect_err("refused");
    assert_eq!(error.code(), "record-broken");
}
