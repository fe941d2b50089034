//! What a run does with a model's decisions, good and bad.
//! Executor are fakes that write down what they did, so that nothing done in silence is missed.

use metier_agent::{Answer, Approval, Approver, AutoApprove, Event, Mode, Question, Status};
use metier_cancel::CancelToken;
use serde_json::json;

use crate::fakes::{FakeExecutor, answer, call, run, run_alone, run_yes, script, scripted, select};

#[test]
fn a_skill_is_selected_loaded_followed_and_the_answer_given() {
    let ran = run_yes(json!([select(&["pdf"]), script("pdf", &["a.pdf"]), answer("done")]));
    assert_eq!(ran.answer(), "done");
    assert_eq!(ran.executor.log(), ["load user:pdf", "run user:pdf/scripts/do.sh a.pdf"]);
    assert_eq!(ran.state.loaded()[0].to_string(), "user:pdf");
    assert_eq!(ran.state.spent().turns, 3);
    assert_eq!(ran.state.spent().script_runs, 1);
    let kinds = ran.kinds();
    assert_eq!(kinds.first().map(String::as_str), Some("run.started"));
    assert_eq!(kinds.last().map(String::as_str), Some("run.finished"));
    let at = |kind: &str| kinds.iter().rposition(|known| known == kind).expect(kind);
    assert!(at("policy.decided") < at("action.started"), "judged before it is begun");
    assert!(at("action.started") < at("action.finished"), "written down before it is done");
}

#[test]
fn every_invalid_action_is_an_observation_and_costs_a_turn() {
    let cut = r#"{"action":{"type":"select_skills","skills":[{"name":"pdf"}],"reason":"x"}}"#;
    let ran = run(
        &scripted(json!([
            select(&["nonsense"]),
            script("pdf", &[]),
            {"raw": "no json at all"},
            {"raw": cut, "finish": "length"},
            {"raw": format!("{cut}{cut}")},
            {"raw": ""},
            answer("still here"),
        ])),
        FakeExecutor::default(),
        &AutoApprove,
        |_| {},
    );
    assert_eq!(ran.answer(), "still here");
    assert_eq!(ran.state.spent().turns, 7);
    assert_eq!(ran.executor.log(), Vec::<String>::new(), "nothing was executed");
    let invalid = "InvalidReply";
    assert_eq!(
        ran.observations(),
        ["SkillNotFound", "SkillNotLoaded", invalid, invalid, invalid, invalid]
    );
    let faults = ran.records.iter().filter_map(|record| match &record.event {
        Event::DecisionInvalid { code, .. } => Some(code.as_str()),
        _ => None,
    });
    assert_eq!(faults.collect::<Vec<_>>(), ["not_json", "truncated", "two_actions", "empty_reply"]);
}

#[test]
fn a_tool_that_is_not_there_and_one_that_is_denied_end_nothing() {
    let executor = FakeExecutor { deny: vec!["write_file"], ..FakeExecutor::default() };
    let replies =
        json!([call("make_coffee", json!({})), call("write_file", json!({})), answer("ok")]);
    let ran = run_alone(replies, executor);
    assert_eq!(ran.observations(), ["UnknownTool", "NotAllowed"]);
    assert_eq!(ran.state.finished().expect("ended").status, Status::Denied);
    assert!(ran.executor.log().is_empty());
    assert!(!ran.kinds().contains(&"action.started".to_owned()), "nothing was begun");
}

#[test]
fn replies_that_are_never_a_decision_end_the_run() {
    let bad = json!({"raw": "nothing"});
    let ran = run_yes(json!([bad, bad, bad, bad, bad, bad]));
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.status, Status::Failed);
    assert_eq!(end.message.as_deref(), Some("5 replies in a row were no decision"));
}

#[test]
fn coordinators_come_first_and_two_bodies_a_turn_are_the_most() {
    let ran = run_yes(json!([
        select(&["pdf", "notes", "lead-plan"]),
        select(&["notes", "pdf"]),
        answer("x")
    ]));
    assert_eq!(ran.executor.log(), ["load user:lead-plan", "load user:pdf", "load user:notes"]);
    assert_eq!(ran.observations(), ["ok", "ok"]);
}

#[test]
fn a_loaded_skill_is_not_loaded_again() {
    let ran = run_yes(json!([select(&["pdf"]), select(&["pdf"]), answer("x")]));
    assert_eq!(ran.executor.log(), ["load user:pdf"]);
}

#[test]
fn a_source_that_is_given_counts() {
    let chosen = json!({"action": {"type": "select_skills",
        "skills": [{"name": "csv", "source": "project"}], "reason": ""}});
    let ran = run_yes(json!([chosen, select(&["csv"]), answer("x")]));
    assert_eq!(ran.executor.log(), ["load project:csv", "load user:csv"]);
}

#[test]
fn a_skill_that_is_not_offered_cannot_be_selected_by_the_model() {
    let model = scripted(json!([select(&["pdf"]), answer("x")]));
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, |setup| {
        let first = setup.skills[0].id.clone();
        setup.skills = setup.skills.clone().changed(|card| card.offered &= card.id != first);
    });
    assert_eq!(ran.observations(), ["SkillNotFound"]);
}

#[test]
fn a_question_without_an_answer_pauses_the_run_before_anything_is_done() {
    let executor = FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() };
    let ran = run_alone(json!([select(&["pdf"]), script("pdf", &[]), answer("x")]), executor);
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.status, Status::NeedsApproval);
    assert_eq!(ran.executor.log(), ["load user:pdf"]);
}

struct Says(Answer);

impl Approver for Says {
    fn answer(&self, _: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        Some(Approval::new(self.0.clone(), "test"))
    }
}

#[test]
fn a_no_reaches_the_model_with_its_words() {
    let executor = FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() };
    let model = scripted(json!([select(&["pdf"]), script("pdf", &[]), answer("x")]));
    let ran = run(&model, executor, &Says(Answer::Reject("use a copy".to_owned())), |_| {});
    assert_eq!(ran.observations(), ["ok", "Rejected"]);
    assert_eq!(ran.executor.log(), ["load user:pdf"]);
    assert!(ran.records.iter().any(|record| matches!(&record.event,
        Event::AskAnswered { by, .. } if by == "test")));
}

#[test]
fn a_dry_run_decides_and_does_nothing() {
    let executor = FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() };
    let model = scripted(json!([
        select(&["pdf"]),
        script("pdf", &[]),
        call("write_file", json!({})),
        answer("x")
    ]));
    let ran = run(&model, executor, &AutoApprove, |setup| setup.mode = Mode::DryRun);
    assert_eq!(ran.executor.log(), ["load user:pdf"]);
    assert_eq!(ran.state.finished().expect("ended").status, Status::DryRun);
    let decided = ran.kinds().iter().filter(|kind| *kind == "policy.decided").count();
    assert_eq!(decided, 3);
}

#[test]
fn the_plan_is_created_patched_and_a_bad_patch_is_reported() {
    let plan = json!({"goal": "g", "steps": [{"id": "s1", "title": "one", "status": "pending"}],
        "assumptions": [], "constraints": []});
    let patch = json!([{"op": "replace", "path": "/steps/0/status", "value": "completed"}]);
    let bad = json!([{"op": "remove", "path": "/steps/7"}]);
    let with = |key: &str, value: serde_json::Value, mut reply: serde_json::Value| {
        reply[key] = value;
        reply
    };
    let ran = run_yes(json!([
        with("plan", plan, select(&["pdf"])),
        with("plan_update", json!({"patch": patch}), select(&["notes"])),
        with("plan_update", json!({"patch": bad}), select(&["lead-plan"])),
        answer("x"),
    ]));
    let plan = ran.state.plan().expect("a plan");
    assert_eq!(plan.steps[0].status, metier_model::StepStatus::Completed);
    assert_eq!(ran.kinds().iter().filter(|kind| *kind == "plan.changed").count(), 2);
    assert_eq!(ran.observations(), ["ok", "ok", "ok"]);
}

#[test]
fn an_error_of_the_model_ends_the_run_as_failed_and_it_can_go_on() {
    let ran = run_yes(json!([select(&["pdf"]), {"fault": "unauthorized", "message": "no key"}]));
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.status, Status::Failed);
    assert!(end.message.as_deref().is_some_and(|why| why.contains("unauthorized")));
    assert!(end.can_resume());
}
