//! Budgets and circles: one last turn, then the end.
//! Each limit alone, so that none hides behind another.

use metier_agent::{AutoApprove, Status};
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, answer, call, run, run_yes, script, scripted, select};

fn reads(count: usize) -> Vec<Value> {
    (0..count).map(|at| call("read_file", json!({"path": format!("f{at}")}))).collect()
}

#[test]
fn spent_turns_give_one_last_turn_to_answer() {
    let mut replies = reads(3);
    replies.push(answer("what I have"));
    let model = scripted(json!(replies));
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, |setup| setup.limits.turns = 3);
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.status, Status::BudgetExhausted);
    assert_eq!(ran.answer(), "what I have");
    assert_eq!(ran.kinds().iter().filter(|kind| *kind == "budget.spent").count(), 1);
}

#[test]
fn a_last_turn_without_an_answer_ends_without_one() {
    let model = scripted(json!(reads(9)));
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, |setup| setup.limits.turns = 3);
    let end = ran.state.finished().expect("ended");
    assert_eq!((end.status, end.answer.as_deref()), (Status::BudgetExhausted, None));
    assert_eq!(ran.executor.log().len(), 3, "the last turn does nothing but answer");
}

#[test]
fn each_budget_is_kept() {
    let mut replies = vec![select(&["pdf"])];
    replies.extend((0..9).map(|at| script("pdf", &[&format!("{at}")])));
    for (which, expected) in [("script_runs", 2), ("tool_calls", 2)] {
        let model = scripted(json!(replies));
        let ran = run(&model, FakeExecutor::default(), &AutoApprove, |setup| match which {
            "script_runs" => setup.limits.script_runs = 2,
            _ => setup.limits.tool_calls = 2,
        });
        assert_eq!(ran.state.finished().expect("ended").status, Status::BudgetExhausted, "{which}");
        assert_eq!(ran.state.spent().script_runs, expected, "{which}");
    }
    let model = scripted(json!(replies));
    let ran =
        run(&model, FakeExecutor::default(), &AutoApprove, |setup| setup.limits.tokens = Some(1));
    assert_eq!(ran.state.finished().expect("ended").status, Status::BudgetExhausted);
    assert_eq!(ran.state.spent().turns, 2);
    let model = scripted(json!(replies));
    let ran =
        run(&model, FakeExecutor::default(), &AutoApprove, |setup| setup.limits.wall_ms = Some(0));
    assert_eq!(ran.state.finished().expect("ended").status, Status::BudgetExhausted);
    assert_eq!(ran.state.spent().turns, 0, "there is no time for a last turn");
    assert_eq!(ran.kinds().iter().filter(|kind| *kind == "budget.spent").count(), 1);
}

#[test]
fn the_same_action_with_the_same_result_three_times_is_a_loop() {
    let same = call("read_file", json!({"path": "a"}));
    let ran = run_yes(json!([same, same, same, answer("I give up")]));
    let end = ran.state.finished().expect("ended");
    assert_eq!((end.status, ran.answer()), (Status::Stuck, "I give up"));
    assert_eq!(ran.executor.log().len(), 3);
}

#[test]
fn a_circle_of_two_actions_is_a_loop_too() {
    let (a, b) = (call("read_file", json!({"path": "a"})), call("read_file", json!({"path": "b"})));
    let ran = run_yes(json!([a, b, a, b, a, b, a, b]));
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.status, Status::Stuck);
    assert_eq!(ran.executor.log().len(), 5);
}
