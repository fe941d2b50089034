//! Plans: created, replaced, patched, or left alone with words for the model.
//! A patch is applied whole or not at all.

use metier_model::plan::apply;
use metier_model::{Action, Decision, Plan, PlanStep, PlanUpdate, StepStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::any;

fn step(id: &str, status: StepStatus) -> PlanStep {
    PlanStep { id: id.to_owned(), title: format!("do {id}"), status }
}

fn plan() -> Plan {
    let steps = vec![step("s1", StepStatus::InProgress), step("s2", StepStatus::Pending)];
    Plan { goal: "a form".to_owned(), steps, ..Plan::default() }
}

fn decision(plan: Option<Plan>, plan_update: Option<PlanUpdate>) -> Decision {
    Decision { plan, plan_update, ..Decision::to(Action::SearchSkills { query: String::new() }) }
}

fn patched(current: &Plan, patch: &Value) -> Result<Plan, String> {
    let patch = patch.as_array().expect("a list").clone();
    let next = apply(Some(current), &decision(None, Some(PlanUpdate::Patch(patch))))?;
    Ok(next.expect("a plan"))
}

#[test]
fn a_plan_is_created_replaced_and_kept() {
    let other = Plan { goal: "another".to_owned(), ..Plan::default() };
    assert_eq!(apply(None, &decision(None, None)), Ok(None));
    assert_eq!(apply(None, &decision(Some(plan()), None)), Ok(Some(plan())));
    assert_eq!(apply(Some(&plan()), &decision(None, None)), Ok(Some(plan())));
    assert_eq!(apply(Some(&plan()), &decision(Some(other.clone()), None)), Ok(Some(other.clone())));
    let replace = PlanUpdate::Replace(other.clone());
    assert_eq!(apply(Some(&plan()), &decision(None, Some(replace))), Ok(Some(other)));
}

#[test]
fn steps_are_patched_by_index_and_by_id() {
    let expected = Plan {
        steps: vec![
            step("s1", StepStatus::Completed),
            step("s3", StepStatus::Pending),
            step("s2", StepStatus::InProgress),
        ],
        ..plan()
    };
    let new = json!({"id": "s3", "title": "do s3", "status": "pending"});
    for patch in [
        json!([
            {"op": "replace", "path": "/steps/0/status", "value": "completed"},
            {"op": "add", "path": "/steps/1", "value": new},
            {"op": "replace", "path": "/steps/2/status", "value": "in_progress"}
        ]),
        json!([
            {"op": "replace", "path": "/steps/s1/status", "value": "completed", "from": null},
            {"op": "add", "path": "/steps/s2", "value": new, "from": null},
            {"op": "test", "path": "/steps/s3/title", "value": "do s3"},
            {"op": "replace", "path": "/steps/s2/status", "value": "in_progress", "from": null}
        ]),
    ] {
        assert_eq!(patched(&plan(), &patch), Ok(expected.clone()));
    }
    let moved = json!([
        {"op": "move", "from": "/steps/s2", "path": "/steps/0", "value": null},
        {"op": "remove", "path": "/steps/s1", "from": null, "value": null},
        {"op": "add", "path": "/assumptions/-", "value": "It is a PDF."}
    ]);
    let expected = Plan {
        steps: vec![step("s2", StepStatus::Pending)],
        assumptions: vec!["It is a PDF.".to_owned()],
        ..plan()
    };
    assert_eq!(patched(&plan(), &moved), Ok(expected));
}

#[test]
fn an_id_with_a_slash_is_escaped_as_in_a_pointer() {
    let current = Plan { steps: vec![step("a/b~", StepStatus::Pending)], ..plan() };
    let patch = json!([{"op": "replace", "path": "/steps/a~1b~0/status", "value": "skipped"}]);
    assert_eq!(patched(&current, &patch).expect("a plan").steps[0].status, StepStatus::Skipped);
}

#[test]
fn a_wrong_patch_is_refused_with_the_reason_and_changes_nothing() {
    for (patch, expected) in [
        (
            json!([{"op": "remove", "path": "/steps/s9"}]),
            "no step has the id `s9` (there are: s1, s2)",
        ),
        (json!([{"op": "remove", "path": "/steps/9"}]), "patch[0]: remove /steps/9: "),
        (json!([{"op": "remove", "path": "/goal"}]), "missing_field at `plan.goal`"),
        (
            json!([{"op": "replace", "path": "/steps/0/status", "value": "dunno"}]),
            "unknown status `dunno`",
        ),
        (json!([{"op": "replace", "path": "", "value": 7}]), "expected an object"),
        (
            json!([{"op": "add", "path": "/steps/0/note", "value": "x"}]),
            "a step has no field `note`",
        ),
        (json!([{"op": "test", "path": "/goal", "value": "x"}]), "patch[0]: test /goal: "),
        (json!([{"op": "add", "path": "goal", "value": "x"}]), "patch[0]: add goal: "),
        (
            json!([{"op": "copy", "from": "/steps/s1", "path": "/steps/-"}]),
            "two steps have the id `s1`",
        ),
        (json!([{"op": "replace", "path": "/steps/0/id", "value": " "}]), "an empty id"),
        (json!([{"op": "replace", "path": "/goal", "value": "x".repeat(501)}]), "501 characters"),
        (
            json!([
                {"op": "replace", "path": "/goal", "value": "fine"},
                {"op": "remove", "path": "/steps/5"}
            ]),
            "patch[1]: remove",
        ),
    ] {
        let words = patched(&plan(), &patch).expect_err(expected);
        assert!(words.contains(expected), "{words}");
    }
    let patch = decision(None, Some(PlanUpdate::Patch(Vec::new())));
    assert!(apply(None, &patch).expect_err("no plan").contains("no plan to patch"));
}

#[test]
fn a_patch_cannot_blow_up() {
    let doubling = vec![json!({"op": "copy", "from": "/steps", "path": "/steps/0/x"}); 150];
    let words = patched(&plan(), &Value::from(doubling)).expect_err("too large");
    assert!(words.contains("too large"), "{words}");
    let many = vec![json!({"op": "copy", "from": "/steps/0", "path": "/steps/-"}); 5_000];
    assert!(
        patched(&plan(), &Value::from(many)).expect_err("too many").contains("5000 operations")
    );
}

#[test]
fn a_plan_has_its_limits_however_it_comes() {
    let steps = |count: usize| (0..count).map(|i| step(&i.to_string(), StepStatus::Pending));
    let large = |count| Plan { steps: steps(count).collect(), ..plan() };
    assert!(apply(None, &decision(Some(large(50)), None)).is_ok());
    assert!(apply(None, &decision(Some(large(51)), None)).expect_err("51").contains("51 steps"));
    let replace = PlanUpdate::Replace(Plan { assumptions: vec!["x".repeat(501)], ..plan() });
    assert!(apply(Some(&plan()), &decision(None, Some(replace))).is_err());
    // One that is kept is not judged again.
    assert!(apply(Some(&large(51)), &decision(None, None)).is_ok());
}

proptest! {
    #[test]
    fn no_decision_makes_it_panic_and_what_comes_out_is_within_the_limits(
        current in any::plan(),
        decision in any::decision(),
    ) {
        if let Ok(Some(next)) = apply(Some(&current), &decision)
            && (decision.plan.is_some() || decision.plan_update.is_some())
        {
            let mut ids: Vec<&str> = next.steps.iter().map(|step| step.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), next.steps.len());
            prop_assert!(!ids.contains(&""));
        }
    }
}
