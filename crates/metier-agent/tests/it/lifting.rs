//! The question whether ceilings are lifted for a run: who may answer it, how far the answer reaches,
//! and that it outlives a kill.

use std::sync::{Arc, Mutex};

use metier_agent::{
    Agent, Answer, Approval, Approver, AutoApprove, Event, NoApprover, Question, RunFolder, RunId,
    Status, fold,
};
use metier_cancel::CancelToken;
use serde_json::json;

use crate::fakes::{FakeExecutor, Ran, agent, answer, call, run, scripted, select, setup};
use crate::inner::Two;

/// A person with one answer to questions about ceilings, who says yes to all others.
struct Person {
    lifts: Answer,
    asked: Mutex<Vec<String>>,
}

impl Person {
    fn new(lifts: Answer) -> Self {
        Self { lifts, asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("whole").clone()
    }
}

impl Approver for Person {
    fn answer(&self, question: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        let (kind, answer) = match question.liftable {
            [] => ("do", Answer::Once),
            _ => ("lift", self.lifts.clone()),
        };
        let words = format!("{kind}: {}", question.op.describe());
        self.asked.lock().expect("whole").push(words);
        Some(Approval::new(answer, "test"))
    }
}

fn write(path: &str) -> serde_json::Value {
    call("write_file", json!({ "path": path }))
}

fn limited() -> FakeExecutor {
    FakeExecutor { limit: vec!["write_file"], ..FakeExecutor::default() }
}

fn two_writes(executor: FakeExecutor, approver: &dyn Approver) -> Ran {
    let model = scripted(json!([select(&["pdf"]), write("a"), write("b"), answer("done")]));
    run(&model, executor, approver, |_| {})
}

#[test]
fn only_lift_lifts() {
    for (answer, codes, written) in [
        (Answer::Lift, ["ok", "ok", "ok"], 2),
        (Answer::Once, ["ok", "NotAllowed", "NotAllowed"], 0),
        (Answer::Always, ["ok", "NotAllowed", "NotAllowed"], 0),
        (Answer::Reject("no".to_owned()), ["ok", "Rejected", "NotAllowed"], 0),
    ] {
        let person = Person::new(answer.clone());
        let ran = two_writes(limited(), &person);
        assert_eq!(ran.observations(), codes, "{answer:?}");
        assert_eq!(ran.executor.log().len() - 1, written, "{answer:?}");
        // What is lifted or refused is not asked about again.
        let times = if matches!(answer, Answer::Lift | Answer::Reject(_)) { 1 } else { 2 };
        assert_eq!(person.asked().len(), times, "{answer:?}");
    }
    for approver in [&AutoApprove as &dyn Approver, &NoApprover] {
        let ran = two_writes(limited(), approver);
        assert_eq!(ran.observations(), ["ok", "NotAllowed", "NotAllowed"]);
        assert_eq!(ran.state.finished().expect("ended").status, Status::Denied);
        let answered =
            |record: &metier_agent::Record| matches!(record.event, Event::AskAnswered { .. });
        assert!(!ran.records.iter().any(answered));
    }
}

#[test]
fn the_question_about_the_call_itself_comes_after_it() {
    let person = Person::new(Answer::Lift);
    let executor = FakeExecutor { ask: vec!["write_file"], ..limited() };
    let ran = two_writes(executor, &person);
    assert_eq!(ran.observations(), ["ok", "ok", "ok"]);
    let (a, b) = ("write_file a", "write_file b");
    assert_eq!(person.asked(), [format!("lift: {a}"), format!("do: {a}"), format!("do: {b}")]);
    // A yes to lifting is no yes to what is denied for another reason.
    let executor = FakeExecutor { deny: vec!["write_file"], ..limited() };
    let ran = two_writes(executor, &Person::new(Answer::Lift));
    assert_eq!(ran.observations(), ["ok", "NotAllowed", "NotAllowed"]);
}

#[test]
fn a_dry_run_asks_nothing() {
    let person = Person::new(Answer::Lift);
    let model = scripted(json!([select(&["pdf"]), write("a"), answer("done")]));
    let ran = run(&model, limited(), &person, |setup| setup.mode = metier_agent::Mode::DryRun);
    assert_eq!(
        (ran.observations(), person.asked().len()),
        (vec!["ok".into(), "NotAllowed".into()], 0)
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test copies files")]
fn killed_at_every_event_what_was_lifted_stays_lifted_and_nothing_else_is() {
    let runs = tempfile::tempdir().expect("dir");
    let model = scripted(json!([select(&["pdf"]), write("a"), write("b"), answer("done")]));
    let whole = RunFolder::new(runs.path(), RunId::new("whole").expect("an id"));
    let (executor, person) = (limited(), Person::new(Answer::Lift));
    let agent = Agent { approver: &person, ..agent(&model, &executor) };
    agent.run(&whole, setup(&model)).expect("runs");
    let (records, _) = whole.events().expect("reads");
    let is_lift = |event: &Event| matches!(event, Event::AskAnswered { answer: Answer::Lift, .. });
    let lifted_at = records.iter().position(|record| is_lift(&record.event)).expect("lifted");
    for cut in 1..records.len() {
        let killed = RunFolder::new(&runs.path().join(format!("{cut}")), whole.id().clone());
        std::fs::create_dir_all(killed.observations().path()).expect("makes");
        for file in ["setup.json", "index.json"] {
            std::fs::copy(whole.path().join(file), killed.path().join(file)).expect("copies");
        }
        let text = std::fs::read_to_string(whole.events_file()).expect("reads");
        let lines: String = text.split_inclusive('\n').take(cut).collect();
        std::fs::write(killed.events_file(), lines).expect("writes");
        let again = limited();
        let agent = Agent { executor: &again, approver: &AutoApprove, ..agent };
        let state = agent.resume(&killed).expect("resumes");
        assert_eq!(state.skills().lifted.len(), usize::from(cut > lifted_at), "killed after {cut}");
        if cut <= lifted_at {
            assert!(!again.log().iter().any(|done| done.starts_with("write_file")), "{cut}");
        }
        let (after, fault) = killed.events().expect("reads");
        assert_eq!(fault, None);
        let folded = fold(Arc::new(killed.setup().expect("reads")), &after).expect("the same");
        assert_eq!(folded.state.skills(), state.skills());
    }
}

#[test]
fn a_subagent_takes_over_ceilings_and_what_was_lifted() {
    for (first, inside, asked) in [
        (None, Answer::Lift, 1),
        (Some(write("a")), Answer::Lift, 1),
        (Some(write("a")), Answer::Reject(String::new()), 1),
    ] {
        let is_no = matches!(inside, Answer::Reject(_));
        let runs = tempfile::tempdir().expect("dir");
        let mut turns = vec![select(&["pdf"])];
        turns.extend(first.clone());
        turns.extend([select(&["sub-research"]), answer("all done")]);
        let model = Two {
            outer: scripted(json!(turns)),
            inner: scripted(json!([write("inside"), answer("found it")])),
        };
        let (executor, person) = (limited(), Person::new(inside));
        let agent = Agent { approver: &person, ..agent(&model, &executor) };
        let folder = RunFolder::new(runs.path(), RunId::new("outer").expect("an id"));
        agent.run(&folder, setup(&model.outer)).expect("runs");
        let inner = &folder.inner_runs().expect("reads")[0];
        let outer = inner.setup().expect("reads").outer;
        assert_eq!(outer.loaded, ["user:pdf".parse().expect("an id")]);
        assert_eq!(outer.lifted.len(), usize::from(first.is_some() && !is_no));
        assert_eq!(outer.kept.len(), usize::from(is_no));
        assert_eq!(person.asked().len(), asked, "{:?}", person.asked());
        let wrote = executor.log().contains(&"write_file inside".to_owned());
        assert_eq!(wrote, !is_no);
    }
}
