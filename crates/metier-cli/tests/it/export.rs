//! `metier export`: trajectories that keep to the rules of ATIF 1.8, and traces that keep to those of
//! OTLP, from real records.

use std::collections::BTreeSet;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::recorded_run::{Case, kill_after};
use crate::support::{document, json, keys, run};

fn object_has_only(value: &Value, allowed: &[&str]) {
    for key in keys(value) {
        assert!(allowed.contains(&key), "`{key}` in {value}");
    }
}

/// The rules of the format: known keys only, steps from 1, results that name a call of their step,
/// nothing of a language model where none was asked, and references that lead somewhere.
fn check_trajectory(report: &Value) {
    object_has_only(
        report,
        &[
            "schema_version",
            "session_id",
            "trajectory_id",
            "agent",
            "steps",
            "notes",
            "final_metrics",
            "continued_trajectory_ref",
            "extra",
            "subagent_trajectories",
        ],
    );
    assert_eq!(report["schema_version"], "ATIF-v1.8");
    assert!(report["trajectory_id"].is_string() && report["session_id"].is_string());
    object_has_only(
        &report["agent"],
        &["name", "version", "model_name", "tool_definitions", "extra"],
    );
    assert!(report["agent"]["name"].is_string() && report["agent"]["version"].is_string());
    let empty = Vec::new();
    let inner = report["subagent_trajectories"].as_array().unwrap_or(&empty);
    let known: BTreeSet<&str> =
        inner.iter().map(|inner| inner["trajectory_id"].as_str().expect("an id")).collect();
    assert_eq!(known.len(), inner.len());
    for (at, step) in report["steps"].as_array().expect("steps").iter().enumerate() {
        check_step(at, step, &known);
    }
    object_has_only(
        &report["final_metrics"],
        &[
            "total_prompt_tokens",
            "total_completion_tokens",
            "total_cached_tokens",
            "total_cost_usd",
            "total_steps",
            "extra",
        ],
    );
    let steps = report["steps"].as_array().map_or(0, Vec::len);
    assert_eq!(report["final_metrics"]["total_steps"], steps);
    inner.iter().for_each(check_trajectory);
}

fn check_step(at: usize, step: &Value, known: &BTreeSet<&str>) {
    object_has_only(
        step,
        &[
            "step_id",
            "timestamp",
            "source",
            "model_name",
            "reasoning_effort",
            "message",
            "reasoning_content",
            "tool_calls",
            "observation",
            "metrics",
            "is_copied_context",
            "llm_call_count",
            "extra",
        ],
    );
    assert_eq!(step["step_id"], at + 1);
    assert!(step["message"].is_string(), "{step}");
    let source = step["source"].as_str().expect("a source");
    assert!(["system", "user", "agent"].contains(&source));
    let of_agent = ["model_name", "reasoning_content", "tool_calls", "metrics"];
    assert!(source == "agent" || of_agent.iter().all(|key| step[key].is_null()), "{step}");
    if step["llm_call_count"] == 0 {
        assert!(step["metrics"].is_null() && step["reasoning_content"].is_null(), "{step}");
    }
    let empty = Vec::new();
    let calls = step["tool_calls"].as_array().unwrap_or(&empty);
    for call in calls {
        object_has_only(call, &["tool_call_id", "function_name", "arguments", "extra"]);
        assert!(call["function_name"].is_string() && call["arguments"].is_object(), "{call}");
    }
    for result in step["observation"]["results"].as_array().unwrap_or(&empty) {
        object_has_only(result, &["source_call_id", "content", "subagent_trajectory_ref", "extra"]);
        let named = &result["source_call_id"];
        assert!(named.is_null() || calls.iter().any(|call| call["tool_call_id"] == *named));
        for to in result["subagent_trajectory_ref"].as_array().unwrap_or(&empty) {
            assert!(known.contains(to["trajectory_id"].as_str().expect("an id")), "{to}");
        }
    }
}

#[test]
fn a_trajectory_holds_the_run_within_the_rules_of_the_format() {
    let home = TestHome::new();
    Case::default().record(&home);
    let report = json(&home, &["export", "--atif", "--json"]);
    check_trajectory(&report);
    assert_eq!(report["session_id"], "20260131-120000-aaaaa");
    assert_eq!(report["extra"]["status"], "completed");
    let steps = report["steps"].as_array().expect("steps");
    let sources: Vec<&str> =
        steps.iter().map(|step| step["source"].as_str().expect("a source")).collect();
    assert_eq!(&sources[..3], ["system", "user", "agent"]);
    assert_eq!(sources.iter().filter(|source| **source == "agent").count(), 7);
    let agent: Vec<&Value> = steps.iter().filter(|step| step["source"] == "agent").collect();
    assert_eq!(agent[0]["message"], "It finds things.");
    assert_eq!(agent[0]["extra"]["retries"], 1);
    assert_eq!(agent[0]["extra"]["plan"]["goal"], "Know how many");
    assert_eq!(agent[0]["tool_calls"][0]["function_name"], "select_skills");
    assert_eq!(agent[1]["message"], "Let me think.");
    assert_eq!(agent[1]["observation"]["results"][0]["extra"]["code"], "not_json");
    assert_eq!(agent[2]["tool_calls"][0]["function_name"], "grep");
    assert_eq!(agent[2]["tool_calls"][0]["arguments"], json!({"pattern": "secret needle"}));
    let found = agent[2]["observation"]["results"][0]["content"].as_str().expect("text");
    assert!(found.ends_with("line 900 matches"), "the whole text, wherever it is stored");
    let asked = &agent[3]["observation"]["results"][0]["extra"];
    assert_eq!(asked["policy"]["effect"], "ask");
    assert_eq!(asked["answer"], json!({"answer": "once", "by": "yes"}));
    let refused = &agent[4]["observation"]["results"][0];
    assert_eq!(refused["extra"]["code"], "NotAllowed");
    let delegated = &agent[5]["observation"]["results"][0];
    assert_eq!(
        delegated["subagent_trajectory_ref"][0]["trajectory_id"],
        "20260131-120000-aaaaa-sub5"
    );
    assert_eq!(agent[6]["message"], "There are 900.\nThey are in out.txt.");
    assert_eq!(agent[6]["extra"]["data"], json!({"count": 900}));
    assert!(agent.iter().all(|step| step["llm_call_count"] == 1));
    assert_eq!(agent[0]["metrics"]["prompt_tokens"], 100);
    assert_eq!(report["final_metrics"]["total_prompt_tokens"], 700);
    assert_eq!(report["final_metrics"]["total_completion_tokens"], 70);
    assert_eq!(report["final_metrics"]["total_cached_tokens"], 280);
}

#[test]
fn a_run_without_a_language_model_says_so() {
    for provider in ["router", "scripted", "replay"] {
        let home = TestHome::new();
        Case { provider, ..Case::default() }.record(&home);
        let report = json(&home, &["export", "--atif"]);
        check_trajectory(&report);
        let steps = report["steps"].as_array().expect("steps");
        let agent: Vec<&Value> = steps.iter().filter(|step| step["source"] == "agent").collect();
        assert_eq!(agent.len(), 7);
        assert!(agent.iter().all(|step| step["llm_call_count"] == 0), "{provider}");
        assert_eq!(report["final_metrics"]["total_prompt_tokens"], 0);
    }
}

/// The attributes of a span or event, by key.
fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let list = of["attributes"].as_array().expect("attributes");
    let found: Vec<&Value> = list.iter().filter(|known| known["key"] == key).collect();
    assert!(found.len() <= 1, "{key} stands twice in {of}");
    found.first().map_or(&Value::Null, |known| {
        let value = &known["value"];
        value.as_object().expect("a value").values().next().expect("one")
    })
}

fn spans(report: &Value) -> Vec<&Value> {
    let scope = &report["resourceSpans"][0]["scopeSpans"][0];
    scope["spans"].as_array().expect("spans").iter().collect()
}

fn nanos(value: &Value) -> u64 {
    value.as_str().expect("a text, as OTLP writes such numbers").parse().expect("a number")
}

fn check_trace(report: &Value) {
    let spans = spans(report);
    let ids: BTreeSet<&str> =
        spans.iter().map(|span| span["spanId"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), spans.len(), "every span has its own id");
    let trace = spans[0]["traceId"].as_str().expect("an id");
    assert_eq!(trace.len(), 32);
    let mut roots = 0;
    for span in &spans {
        assert_eq!(span["traceId"], trace);
        let id = span["spanId"].as_str().expect("an id");
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match span["parentSpanId"].as_str() {
            Some(parent) => assert!(ids.contains(parent), "{span}"),
            None => roots += 1,
        }
        let (start, end) = (nanos(&span["startTimeUnixNano"]), nanos(&span["endTimeUnixNano"]));
        assert!(start > 1_600_000_000_000_000_000 && start <= end, "{span}");
        let operation = attribute(span, "gen_ai.operation.name").as_str().expect("a name");
        assert!(span["name"].as_str().expect("a name").starts_with(operation));
        assert!(["invoke_agent", "chat", "execute_tool"].contains(&operation));
        assert_eq!(attribute(span, "error.type").is_null(), span["status"].is_null(), "{span}");
    }
    assert_eq!(roots, 1);
}

#[test]
fn a_trace_has_the_spans_of_the_conventions() {
    let home = TestHome::new();
    Case::default().record(&home);
    let report = json(&home, &["export", "last", "--otel"]);
    check_trace(&report);
    assert_eq!(json(&home, &["export", "--otel"]), report, "the same run is the same trace");
    let spans = spans(&report);
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).count();
    assert_eq!(named("chat small"), 7 + 1, "seven turns, and one of the loop inside");
    assert_eq!(named("execute_tool grep"), 1);
    assert_eq!(named("execute_tool network_request"), 0, "what was denied was not executed");
    let find = |name: &str| *spans.iter().find(|span| span["name"] == name).expect("a span");
    let (inner, delegate) = (find("invoke_agent user:researcher"), find("execute_tool delegate"));
    assert_eq!(inner["parentSpanId"], delegate["spanId"]);
    let root = find("invoke_agent metier");
    assert_eq!(attribute(root, "gen_ai.usage.input_tokens"), "800");
    assert_eq!(attribute(root, "gen_ai.conversation.id"), "20260131-120000-aaaaa");
    let policies: Vec<&Value> = root["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["name"] == "metier.policy")
        .map(|event| attribute(event, "metier.effect"))
        .collect();
    assert_eq!(policies, ["ask", "deny"]);
    let first = find("chat small");
    assert_eq!(first["kind"], 3, "a model elsewhere is a client's call");
    assert_eq!(first["events"][0]["name"], "metier.retry");
    assert_eq!(attribute(first, "gen_ai.usage.cache_read.input_tokens"), "40");
}

#[test]
fn a_trace_holds_texts_only_when_they_are_asked_for() {
    let home = TestHome::new();
    Case::default().record(&home);
    let bare = json(&home, &["export", "--otel"]).to_string();
    let whole = json(&home, &["export", "--otel", "--content"]);
    check_trace(&whole);
    let whole = whole.to_string();
    for text in [
        "secret needle",
        "There are 900.",
        "Count the matches",
        "line 900",
        "out.txt",
        "a rule about",
    ] {
        assert!(!bare.contains(text), "{text}");
        assert!(whole.contains(text), "{text}");
    }
}

#[test]
fn what_never_ended_is_an_error_in_a_trace() {
    let home = TestHome::new();
    let folder = Case::waiting("20260131-120000-aaaaa").record(&home);
    let waiting = json(&home, &["export", "--otel"]);
    check_trace(&waiting);
    let root = spans(&waiting).into_iter().find(|span| span["parentSpanId"].is_null());
    let root = root.expect("a root");
    assert_eq!(attribute(root, "error.type"), "needs_approval");
    assert_eq!(root["status"], json!({"code": 2}), "its words are content");
    for events in 2..12 {
        let whole = std::fs::read(folder.events_file()).expect("a record");
        std::fs::write(folder.path().join("run.json"), "").expect("writes");
        kill_after(&folder, events);
        let killed = json(&home, &["export", "--otel"]);
        check_trace(&killed);
        let ended = spans(&killed).iter().all(|span| span["status"].is_null());
        assert!(!ended, "after {events} events");
        check_trajectory(&json(&home, &["export", "--atif"]));
        std::fs::write(folder.events_file(), whole).expect("writes");
    }
}

#[test]
fn an_export_names_its_format_and_its_file_and_refuses_a_broken_record() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    for args in [
        &["export", "last"][..],
        &["export", "last", "--atif", "--otel"],
        &["export", "last", "--atif", "--content"],
    ] {
        assert_eq!(run(&home, args).code, 2, "{args:?}");
    }
    let written = json(&home, &["export", "aaaaa", "--atif", "-o", "t.json", "--json"]);
    assert_eq!(written, json!({"file": "[T]/project/t.json"}));
    let file = std::fs::read(home.project().join("t.json")).expect("a file");
    check_trajectory(&serde_json::from_slice(&file).expect("JSON"));
    let record = std::fs::read_to_string(folder.events_file()).expect("a record");
    std::fs::write(folder.events_file(), record.replacen("finder", "binder", 1)).expect("writes");
    let error = document(&home, &run(&home, &["export", "--otel", "--json"]), 1);
    assert_eq!(error["error"]["code"], "record-broken");
    std::fs::write(folder.events_file(), record).expect("writes");
    let setup = folder.path().join("setup.json");
    let given = std::fs::read_to_string(&setup).expect("a setup");
    std::fs::write(setup, given.replacen("openai", "router", 1)).expect("writes");
    let error = document(&home, &run(&home, &["export", "--atif", "--json"]), 1);
    assert_eq!(error["error"]["code"], "record-broken");
}
