//! What holds for every tool: the order of a call, the shape of schemas, wrong arguments.
//!
//! No test here is about what a tool does.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_tools::{FailureCode, Touch, Verdict, wait};
use serde_json::{Value, json};

use crate::bench::Bench;

#[test]
fn schemas_keep_to_the_subset_that_every_provider_enforces() {
    let bench = Bench::new(&[]);
    for tool in bench.tools.tools() {
        let schema = tool.schema();
        assert_eq!(schema["type"], "object", "{}", tool.name());
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
        let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let mut required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        required.sort_unstable();
        assert_eq!(fields, required, "{}", tool.name());
        assert!(!tool.description().is_empty());
    }
}

#[test]
fn wrong_arguments_are_told_before_anything_is_decided() {
    let bench = Bench::new(&[("a", "1\n")]);
    for bad in [
        json!(null),
        json!("a"),
        json!({}),
        json!({"path": 7}),
        json!({"path": "a", "more": 1}),
        json!({"path": "a", "first_line": 0}),
        json!({"path": "a", "first_line": 3, "last_line": 2}),
        json!({"path": "a", "first_line": -1}),
    ] {
        let failure = bench.tools.plan("read_file", bad.clone()).expect_err("wrong");
        assert_eq!(failure.code, FailureCode::InvalidArguments, "{bad}");
    }
    let unknown = bench.tools.plan("raed_file", json!({})).expect_err("unknown");
    assert_eq!(unknown.code, FailureCode::UnknownTool);
    assert_eq!(unknown.help, "did you mean `read_file`?");
    let other = bench.tools.plan("read_file", json!({"path": "a", "skill": "none"}));
    assert_eq!(other.expect_err("unknown").code, FailureCode::SkillNotFound);
}

#[test]
fn without_an_allowing_verdict_there_is_no_permit() {
    let bench = Bench::new(&[("a", "1\n")]);
    let plan = || bench.tools.plan("read_file", json!({"path": "a"})).expect("a plan");
    let screen = || Arc::new(|_: &Touch| true);
    let denied = plan().decided(Verdict::Deny("rule 3".into()), screen()).expect_err("denied");
    assert_eq!(denied.code, FailureCode::NotAllowed);
    assert!(denied.message.contains("rule 3"));
    let asked = plan().decided(Verdict::Ask("metier trust".into()), screen()).expect_err("asked");
    assert_eq!(asked.code, FailureCode::NeedsApproval);
    let told = json!({
        "code": "NeedsApproval",
        "message": "`read_file` needs an approval first: metier trust",
        "help": "wait for the answer, or do it another way"
    });
    assert_eq!(serde_json::to_value(&asked).unwrap(), told);
}

#[test]
fn a_permit_is_good_for_its_own_tool_only() {
    let bench = Bench::new(&[("a", "1\n")]);
    let planned = bench.tools.plan("list_dir", json!({"path": null})).expect("a plan");
    let permit = planned.decided(Verdict::Allow, Arc::new(|_: &Touch| true)).expect("a permit");
    let tool = bench.tools.find("read_file").expect("a tool");
    let failure = wait(tool.call(permit, &CancelToken::new())).expect_err("refused");
    assert_eq!(failure.code, FailureCode::Failed);
}

#[test]
fn a_call_that_is_stopped_before_it_starts_does_nothing() {
    let bench = Bench::new(&[("a", "1\n")]);
    let planned = bench.tools.plan("read_file", json!({"path": "a"})).expect("a plan");
    let permit = planned.decided(Verdict::Allow, Arc::new(|_: &Touch| true)).expect("a permit");
    let cancel = CancelToken::new();
    cancel.cancel();
    assert_eq!(wait(permit.call(&cancel)).expect_err("stopped").code, FailureCode::Cancelled);
}
