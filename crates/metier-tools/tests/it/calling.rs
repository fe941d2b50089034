//! What holds for every tool: the order of a call, the shape of schemas, wrong arguments.
//!
//! No test here is about what a tool does.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_policy::Effect;
use metier_tools::{FailureCode, Touch};
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

/// The schema of an object, written by hand.
fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
    json!({"type": "object", "properties": fields, "required": names, "additionalProperties": false})
}

fn field(kind: &str, about: &str) -> Value {
    json!({"type": kind, "description": about})
}

fn nullable(kind: &str, about: &str) -> Value {
    json!({"type": [kind, "null"], "description": about})
}

/// The same schema whatever the order of what has none.
fn unordered(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (keyword, value) in fields.iter_mut() {
                *value = unordered(value.take());
                if let (Value::Array(items), "required" | "type") = (value, keyword.as_str()) {
                    items.sort_by_key(ToString::to_string);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = unordered(item.take());
            }
        }
        _ => {}
    }
    schema
}

/// What three tools say of their `skill`, word for word: a prompt explains it once.
const OF_SKILL: &str = "The loaded skill whose file it is; null: the workspace.";

#[test]
fn what_must_be_given_is_written_first() {
    let bench = Bench::new(&[]);
    for (name, first) in [("read_file", "path"), ("grep", "pattern"), ("network_request", "url")] {
        let schema = bench.tools.find(name).expect("a tool").schema();
        assert_eq!(schema["required"][0], first, "{name}");
    }
}

#[test]
fn what_is_derived_is_the_schema_that_a_person_would_write() {
    let expected = [
        (
            "read_file",
            object(&[
                ("path", field("string", "Relative, never absolute.")),
                ("skill", nullable("string", OF_SKILL)),
                ("first_line", nullable("integer", "From 1.")),
                ("last_line", json!({"type": ["integer", "null"]})),
            ]),
        ),
        (
            "list_dir",
            object(&[
                ("path", json!({"type": ["string", "null"]})),
                ("skill", nullable("string", OF_SKILL)),
            ]),
        ),
        (
            "grep",
            object(&[
                ("pattern", json!({"type": "string"})),
                ("path", json!({"type": ["string", "null"]})),
                ("skill", nullable("string", OF_SKILL)),
                ("glob", nullable("string", "Only files like *.py.")),
                ("ignore_case", json!({"type": ["boolean", "null"]})),
                ("literal", json!({"type": ["boolean", "null"]})),
                ("context", json!({"type": ["integer", "null"]})),
            ]),
        ),
        (
            "write_file",
            object(&[
                ("path", field("string", "The file, relative to the workspace.")),
                ("content", field("string", "The whole text of the file.")),
                (
                    "expected_sha256",
                    nullable(
                        "string",
                        "The `sha256` that `read_file` gave: nothing is written if the file is another \
                         by now. Null: whatever is there is replaced.",
                    ),
                ),
            ]),
        ),
        (
            "delete_file",
            object(&[("path", field("string", "The file, relative to the workspace."))]),
        ),
        (
            "network_request",
            object(&[
                ("url", field("string", "An https URL, without a user name and password.")),
                (
                    "method",
                    json!({
                        "type": ["string", "null"],
                        "enum": ["GET", "HEAD", "POST", null],
                        "description": "Null: GET."
                    }),
                ),
                (
                    "headers",
                    json!({
                        "type": ["array", "null"],
                        "items": object(&[
                            ("name", field("string", "One of the headers that may be set.")),
                            ("value", field("string", "Its value.")),
                        ]),
                        "description": "Of these: accept, accept-language, content-type, \
                            if-modified-since, if-none-match. Null: none."
                    }),
                ),
                ("body", nullable("string", "What a POST sends; null: nothing.")),
            ]),
        ),
    ];
    let bench = Bench::new(&[]);
    assert_eq!(bench.tools.tools().len(), expected.len(), "a tool without a comparison");
    for (name, expected) in expected {
        let derived = bench.tools.find(name).expect("a tool").schema();
        assert_eq!(unordered(derived), unordered(expected), "{name}");
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_decided() {
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
    let denied = plan().decided(Effect::Deny, "rule 3", screen()).expect_err("denied");
    assert_eq!(denied.code, FailureCode::NotAllowed);
    assert!(denied.message.contains("rule 3"));
    let asked = plan().decided(Effect::Ask, "metier trust", screen()).expect_err("asked");
    assert_eq!(asked.code, FailureCode::NeedsApproval);
    let expected = json!({
        "code": "NeedsApproval",
        "message": "`read_file` needs approval first: metier trust",
        "help": "wait for the answer, or do it another way"
    });
    assert_eq!(serde_json::to_value(&asked).unwrap(), expected);
}

#[test]
fn a_call_that_is_stopped_before_it_starts_does_nothing() {
    let bench = Bench::new(&[("a", "1\n")]);
    let planned = bench.tools.plan("read_file", json!({"path": "a"})).expect("a plan");
    let permit = planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true)).expect("a permit");
    let cancel = CancelToken::new();
    cancel.cancel();
    assert_eq!(permit.call(&cancel).expect_err("stopped").code, FailureCode::Cancelled);
}
