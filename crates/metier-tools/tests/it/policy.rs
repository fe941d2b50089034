//! Calls under the real policy: what it allows, asks and denies, and what a search leaves out.
//!
//! The rules themselves are tested in `metier-policy`.

use std::sync::Arc;

use metier_policy::{
    AbsolutePath, Effect, Invoker, Layer, Memory, Permission, PlacedRule, Places, Policy, Rule,
    RuleSource, UnixTime,
};
use metier_tools::{Answer, Cancel, Risk, ToolGate, Verdict, wait};
use serde_json::{Value, json};

use crate::bench::Bench;

fn gate(bench: &Bench, rules: &[(&str, &str, Effect)]) -> ToolGate {
    let workspace = AbsolutePath::new(bench.workspace.to_str().unwrap()).unwrap();
    let rules = rules.iter().map(|(permission, pattern, effect)| PlacedRule {
        rule: Rule {
            permission: (*permission).to_owned(),
            pattern: (*pattern).to_owned(),
            effect: *effect,
        },
        line: None,
    });
    let layer = Layer::new(RuleSource::User, "config.json", rules).unwrap();
    ToolGate {
        policy: Arc::new(Policy::new(Places::new(workspace)).with_layer(layer)),
        answers: Arc::new(Memory::default()),
        loaded: Arc::new([]),
        now: UnixTime(0),
        invoker: Invoker::Model,
        skill: None,
    }
}

fn call(bench: &Bench, gate: &ToolGate, tool: &str, arguments: Value) -> Answer {
    let planned = bench.tools.plan(tool, arguments)?;
    let verdict = Verdict::from(&gate.decision(&planned)?);
    let screen = gate.screen(planned.tool().name());
    wait(planned.decided(verdict, screen)?.call(&Cancel::new()))
}

#[test]
fn tools_and_permissions_have_the_same_names_and_risks() {
    let bench = Bench::new(&[]);
    for tool in bench.tools.tools() {
        let permission = Permission::named(tool.name()).unwrap();
        assert!(Permission::ours().any(|ours| ours == permission), "{}", tool.name());
        assert_eq!(permission.risk(), tool.risk());
        assert!(matches!(tool.risk(), Risk::Low | Risk::High));
    }
}

#[test]
fn the_same_call_is_allowed_asked_about_or_denied_by_the_rules() {
    let bench = Bench::new(&[("a", "text"), (".env", "KEY=1"), ("dir/x", "x")]);
    let code = |rules: &[(&str, &str, Effect)], tool: &str, arguments: Value| match call(
        &bench,
        &gate(&bench, rules),
        tool,
        arguments,
    ) {
        Ok(_) => "done",
        Err(failure) => failure.code.as_str(),
    };
    let write = || json!({"path": "dir/new", "content": "x"});
    assert_eq!(code(&[], "read_file", json!({"path": "a"})), "done");
    assert_eq!(code(&[], "read_file", json!({"path": ".env"})), "NotAllowed");
    assert_eq!(code(&[], "write_file", write()), "NotAllowed");
    assert_eq!(
        code(&[("write_file", "dir/*", Effect::Ask)], "write_file", write()),
        "NeedsApproval"
    );
    assert_eq!(code(&[("write_file", "dir/*", Effect::Allow)], "write_file", write()), "done");
    assert_eq!(
        code(&[("read_file", "a", Effect::Deny)], "read_file", json!({"path": "a"})),
        "NotAllowed"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_harmless_name_does_not_open_a_protected_file() {
    let bench = Bench::new(&[(".env", "KEY=1")]);
    std::os::unix::fs::symlink(".env", bench.workspace.join("notes")).unwrap();
    let answer = call(&bench, &gate(&bench, &[]), "read_file", json!({"path": "notes"}));
    assert_eq!(answer.expect_err("denied").code.as_str(), "NotAllowed");
}

#[test]
fn a_search_reads_no_file_that_the_policy_protects() {
    let bench =
        Bench::new(&[("keys/id_rsa", "needle"), ("closed/a", "needle"), ("open/a", "needle")]);
    let gate = gate(&bench, &[("grep", "closed/*", Effect::Deny)]);
    let result = call(&bench, &gate, "grep", json!({"pattern": "needle"})).expect("searches");
    assert_eq!(result.text, "open/a:1: needle\n");
}
