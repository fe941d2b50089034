//! A skill that runs as a subagent: a loop of its own, a record of its own, a summary.
//! One scripted model decides outside, another inside.

use metier_agent::{Agent, Approval, Event, RunFolder, RunId, Status};
use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{Model, ModelError, ModelInfo, Reply, Scripted, Turn};
use serde_json::json;

use crate::fakes::{FakeExecutor, agent, answer, call, scripted, select, setup};

/// One script outside, another inside: the loop inside has the skill loaded by the user.
pub(crate) struct Two {
    pub(crate) outer: Scripted,
    pub(crate) inner: Scripted,
}

impl Model for Two {
    fn info(&self) -> ModelInfo {
        self.outer.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        let is_inside = turn.view.loaded.first().is_some_and(|skill| skill.by_user);
        if is_inside { &self.inner } else { &self.outer }.reply(turn, sink, cancel)
    }
}

#[test]
fn a_subagent_works_on_its_own_and_gives_back_its_answer() {
    let runs = tempfile::tempdir().expect("dir");
    let model = Two {
        outer: scripted(json!([select(&["sub-research"]), answer("all done")])),
        inner: scripted(json!([
            call("read_file", json!({"path": "a"})),
            select(&["sub-research"]),
            answer("found it")
        ])),
    };
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let state = agent.run(&folder, setup(&model.outer)).expect("runs");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    assert!(state.loaded().is_empty(), "its text does not enter the context outside");
    let (records, _) = folder.events().expect("reads");
    let outcome = records.iter().find_map(|record| match &record.event {
        Event::ActionFinished { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    let outcome = outcome.expect("an outcome");
    assert_eq!((outcome.ok, outcome.text.as_str()), (true, "found it"));
    let inner = folder.inner_runs().expect("reads");
    assert_eq!(inner.len(), 1);
    let (records, fault) = inner[0].events().expect("reads");
    assert_eq!(fault, None);
    assert!(records.len() > 10);
    let setup = inner[0].setup().expect("reads");
    assert!(setup.limits.turns < 12, "its budget is its own");
    assert_eq!(setup.chosen[0].id.to_string(), "user:sub-research");
}

#[test]
fn a_subagent_has_the_time_that_is_left() {
    const LIMIT: u64 = 60_000;
    let runs = tempfile::tempdir().expect("dir");
    let model = Slow(two(json!([answer("found it")])));
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let mut setup = setup(&model.0.outer);
    setup.limits.wall_ms = Some(LIMIT);
    agent.run(&folder, setup).expect("runs");
    let (records, _) = folder.events().expect("reads");
    let judged = |event: &Event| matches!(event, Event::PolicyDecided { .. });
    let begun = records.iter().find(|record| judged(&record.event)).expect("a decision");
    let inner = &folder.inner_runs().expect("reads")[0];
    let left = inner.setup().expect("reads").limits.wall_ms.expect("a limit");
    assert_eq!(left, LIMIT - begun.elapsed_ms, "what the loop outside has spent is spent");
    assert!(left + 20 <= LIMIT, "which was something: {left}");
}

/// Takes its time to decide.
struct Slow(Two);

impl Model for Slow {
    fn info(&self) -> ModelInfo {
        self.0.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        std::thread::sleep(std::time::Duration::from_millis(25));
        self.0.reply(turn, sink, cancel)
    }
}

fn two(inner: serde_json::Value) -> Two {
    Two {
        outer: scripted(json!([select(&["sub-research"]), answer("all done")])),
        inner: scripted(inner),
    }
}

/// Counts what it is asked.
#[derive(Default)]
struct Asked(std::sync::Mutex<Vec<String>>);

impl metier_agent::Approver for Asked {
    fn answer(&self, question: &metier_agent::Question<'_>, _: &CancelToken) -> Option<Approval> {
        self.0.lock().expect("whole").push(question.op.describe());
        Some(Approval::new(metier_agent::Answer::Once, "test"))
    }
}

#[test]
fn what_lets_a_subagent_begin_lets_its_skill_be_loaded() {
    let runs = tempfile::tempdir().expect("dir");
    let model = two(json!([answer("found it")]));
    let executor =
        FakeExecutor { ask: vec!["delegate to", "load user:sub"], ..FakeExecutor::default() };
    let asked = Asked::default();
    let agent = Agent { approver: &asked, ..agent(&model, &executor) };
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let state = agent.run(&folder, setup(&model.outer)).expect("runs");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    assert_eq!(*asked.0.lock().expect("whole"), ["delegate to user:sub-research"]);
}

#[test]
fn what_a_subagent_spends_is_spent_by_the_run() {
    let runs = tempfile::tempdir().expect("dir");
    let model = two(json!([call("read_file", json!({"path": "a"})), answer("found it")]));
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let state = agent.run(&folder, setup(&model.outer)).expect("runs");
    assert_eq!((state.spent().turns, state.spent().tool_calls), (2, 1));
    let inner = folder.inner_runs().expect("reads")[0].summary().expect("reads").spent.usage;
    assert!(inner.input > 0 && state.spent().usage.input > inner.input);
}

#[test]
fn a_question_inside_a_subagent_waits_and_is_resumed() {
    let runs = tempfile::tempdir().expect("dir");
    let model = two(json!([call("write_file", json!({"path": "a"})), answer("found it")]));
    let executor =
        FakeExecutor { ask: vec!["write_file", "delegate to"], ..FakeExecutor::default() };
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let only_outside = OnlyOnce(std::sync::atomic::AtomicBool::new(true));
    let agent = Agent { approver: &only_outside, ..agent(&model, &executor) };
    let waits = agent.run(&folder, setup(&model.outer)).expect("runs");
    assert_eq!(waits.finished().expect("ended").status, Status::NeedsApproval);
    let asked = Asked::default();
    let state = Agent { approver: &asked, ..agent }.resume(&folder).expect("resumes");
    assert_eq!(state.finished().expect("ended").status, Status::Completed);
    assert_eq!(
        *asked.0.lock().expect("whole"),
        ["write_file a"],
        "what was answered outside is not asked again"
    );
}

/// Yes to the first question, no answer to the rest.
struct OnlyOnce(std::sync::atomic::AtomicBool);

impl metier_agent::Approver for OnlyOnce {
    fn answer(&self, _: &metier_agent::Question<'_>, _: &CancelToken) -> Option<Approval> {
        let first = self.0.swap(false, std::sync::atomic::Ordering::Relaxed);
        first.then(|| Approval::new(metier_agent::Answer::Once, "test"))
    }
}

#[test]
fn a_person_who_calls_a_subagent_gets_one() {
    let runs = tempfile::tempdir().expect("dir");
    let model = Two {
        outer: scripted(json!([answer("all done")])),
        inner: scripted(json!([answer("found it")])),
    };
    let executor = FakeExecutor::default();
    let agent = agent(&model, &executor);
    let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
    let mut setup = setup(&model.outer);
    let arguments = Some("the north".to_owned());
    setup.chosen =
        vec![metier_agent::Chosen { id: "user:sub-research".parse().expect("an id"), arguments }];
    agent.run(&folder, setup).expect("runs");
    let inner = folder.inner_runs().expect("reads");
    assert_eq!(inner.len(), 1);
    assert_eq!(inner[0].setup().expect("reads").chosen[0].arguments.as_deref(), Some("the north"));
}
