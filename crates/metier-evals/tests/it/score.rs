//! Judging a trial by its case: what can be judged in which arm, and what is forbidden.
//! The traces are made by hand; nothing is run.

use metier::agent::Status;
use metier_evals::{Arm, Case, CheckOutcome, Trace, TrialAction, TrialCost, parse_cases, score};
use serde_json::json;

fn case(text: &str) -> Case {
    let mut cases = parse_cases(text, "cases.yaml", None).unwrap_or_else(|it| panic!("{it:?}"));
    cases.remove(0)
}

fn action(action: &str, tool: Option<&str>) -> TrialAction {
    TrialAction {
        step: 1,
        action: action.to_owned(),
        target: String::new(),
        skill: None,
        path: None,
        tool: tool.map(str::to_owned),
        args: json!(null),
        ok: true,
        code: None,
        inner: false,
    }
}

fn trace(actions: Vec<TrialAction>) -> Trace {
    Trace {
        status: Status::Completed,
        fired: Vec::new(),
        actions,
        answer: Some("done".to_owned()),
        data: None,
        outputs: Vec::new(),
        cost: TrialCost::default(),
        run: None,
    }
}

/// The names of the checks that a trace fails.
fn failed(case: &Case, arm: Arm, trace: &Trace) -> Vec<String> {
    let checks = score(case, arm, trace).checks.into_iter();
    let failed = checks.filter(|check| check.outcome == CheckOutcome::Failed);
    failed.map(|check| check.name).collect()
}

#[test]
fn a_load_is_not_wanted_in_the_arms_in_which_the_skill_is_not_offered() {
    let case = case(
        "input: fill it\nskill: pdf\nexpected:\n  steps: [{title: loads it, action: load_skill pdf}, {title: reads, action: read_file}]\n  actions: {must: [load_skill pdf, read_file], order: [load_skill pdf, read_file], counts: [{action: load_skill pdf, min: 1}]}\n",
    );
    let done = trace(vec![action("call_tool", Some("read_file")), action("final_answer", None)]);
    for arm in [Arm::None, Arm::Inlined] {
        assert_eq!(failed(&case, arm, &done), Vec::<String>::new(), "{arm:?}");
        let nothing = failed(&case, arm, &trace(Vec::new()));
        assert_eq!(nothing.len(), 3, "what else is wanted still is: {nothing:?}");
    }
    assert_eq!(failed(&case, Arm::Listed, &done).len(), 5, "there it could have been loaded");
}

#[test]
fn to_forbid_every_tool_forbids_no_load_and_no_answer() {
    let case = case("input: x\nexpected: {skills: [pdf]}\nconstraints: {forbidden_tools: ['*']}\n");
    let loads = trace(vec![action("select_skills", None), action("final_answer", None)]);
    assert_eq!(failed(&case, Arm::Listed, &loads), Vec::<String>::new());
    for one in [action("call_tool", Some("read_file")), action("run_script", None)] {
        assert_eq!(failed(&case, Arm::Listed, &trace(vec![one])), ["never *"]);
    }
}
