//! A skill that runs as a subagent: a loop of its own, a record of its own, a summary.
//! One scripted model decides outside, another inside.

use metier_agent::{Agent, Event, RunFolder, RunId, Status, Unheard, Yes, runs_in};
use metier_model::model::{Sink, Stop};
use metier_model::{Model, ModelError, ModelInfo, Reply, Scripted, Turn};
use serde_json::json;

use crate::fakes::{FakeHands, answer, call, scripted, select, setup};

/// One script outside, another inside: the loop inside has the skill loaded by the user.
struct Two {
    outer: Scripted,
    inner: Scripted,
}

impl Model for Two {
    fn info(&self) -> ModelInfo {
        self.outer.info()
    }

    fn reply(&self, turn: &Turn, sink: Sink<'_>, stop: Stop<'_>) -> Result<Reply, ModelError> {
        let is_inside = turn.view.loaded.first().is_some_and(|skill| skill.by_user);
        if is_inside { &self.inner } else { &self.outer }.reply(turn, sink, stop)
    }
}

#[test]
fn a_subagent_works_apart_and_gives_back_its_answer() {
    let runs = tempfile::tempdir().expect("dir");
    let model = Two {
        outer: scripted(json!([select(&["sub-research"]), answer("all done")])),
        inner: scripted(json!([
            call("read_file", json!({"path": "a"})),
            select(&["sub-research"]),
            answer("found it")
        ])),
    };
    let hands = FakeHands::default();
    let agent =
        Agent { model: &model, hands: &hands, approver: &Yes, observer: &Unheard, stop: &|| false };
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let state = agent.run(&folder, setup(&model.outer)).expect("runs");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    assert!(state.loaded().is_empty(), "its text does not enter the context outside");
    let (records, _) = folder.events().expect("reads");
    let told = records.iter().find_map(|record| match &record.event {
        Event::ActionFinished { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    let told = told.expect("an outcome");
    assert_eq!((told.ok, told.text.as_str()), (true, "found it"));
    let inner = runs_in(&folder.path().join("inner"));
    assert_eq!(inner.len(), 1);
    let (records, fault) = inner[0].events().expect("reads");
    assert_eq!(fault, None);
    assert!(records.len() > 10);
    let setup = inner[0].setup().expect("reads");
    assert!(setup.limits.turns < 12, "its budget is its own");
    assert_eq!(setup.chosen[0].id, "user:sub-research");
}
