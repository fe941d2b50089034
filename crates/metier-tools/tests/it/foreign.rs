//! Tools that another program brings: the same way as ours, by the risk that they declare.
//! The whole loop with such a tool is tested in `metier-agent`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metier_cancel::CancelToken;
use metier_policy::{
    AbsolutePath, AnswerMemory, Effect, Invoker, PlacedRule, Policy, PolicyPlaces, Rule, RuleLayer,
    RuleSource, UnixTime,
};
use metier_sandbox::Secrets;
use metier_tools::{
    CallContext, CallResult, FailureCode, OutputCap, ResultFilter, Risk, Tool, ToolGate,
    ToolResult, Toolbox,
};
use serde_json::{Value, json};

/// Says what it was given, and counts.
struct Echo {
    name: &'static str,
    risk: Risk,
    calls: Arc<AtomicUsize>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArgs {
    /// What to say.
    text: String,
    times: Option<usize>,
}

impl Tool for Echo {
    type Args = EchoArgs;

    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        "Say it again."
    }

    fn risk(&self) -> Risk {
        self.risk
    }

    fn call(&self, args: EchoArgs, _: &CallContext) -> CallResult {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let text = args.text.repeat(args.times.unwrap_or(1));
        Ok(ToolResult::text(text.clone()).with_data(json!({"said": text})))
    }
}

fn echo(name: &'static str, risk: Risk) -> (Echo, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (Echo { name, risk, calls: Arc::clone(&calls) }, calls)
}

fn gate(rules: &[(&str, Effect)]) -> ToolGate {
    let rules = rules.iter().map(|(permission, effect)| PlacedRule {
        rule: Rule {
            permission: (*permission).to_owned(),
            pattern: "*".to_owned(),
            effect: *effect,
        },
        line: None,
    });
    let layer = RuleLayer::new(RuleSource::User, "config.json", rules).expect("rules");
    let places = PolicyPlaces::new(AbsolutePath::new("/work").expect("a path"));
    ToolGate {
        policy: Arc::new(Policy::new(places).with_layer(layer)),
        answers: Arc::new(AnswerMemory::default()),
        loaded: Arc::new([]),
        now: UnixTime(0),
        invoker: Invoker::Model,
        skill: None,
    }
}

fn call(tools: &Toolbox, gate: &ToolGate, arguments: Value) -> CallResult {
    let planned = tools.plan("echo", arguments)?;
    let decision = gate.judge(&planned)?;
    let filter = gate.touch_filter(planned.tool());
    planned
        .decided(decision.effect, &decision.sentences().join("; "), filter)?
        .call(&CancelToken::new())
}

#[test]
fn a_registered_tool_is_judged_by_its_risk_and_a_rule_about_its_name_counts_first() {
    for (risk, rules, expected) in [
        (Risk::Low, &[][..], "done"),
        (Risk::Medium, &[], "NeedsApproval"),
        (Risk::High, &[], "NeedsApproval"),
        (Risk::High, &[("echo", Effect::Allow)], "done"),
        (Risk::Low, &[("echo", Effect::Ask)], "NeedsApproval"),
        (Risk::Low, &[("echo", Effect::Deny)], "NotAllowed"),
        (Risk::Low, &[("*", Effect::Deny)], "NotAllowed"),
    ] {
        let (tool, calls) = echo("echo", risk);
        let tools = Toolbox::new().with_foreign(tool).expect("a name of its own");
        let code = match call(&tools, &gate(rules), json!({"text": "a", "times": null})) {
            Ok(_) => "done",
            Err(failure) => failure.code.as_str(),
        };
        assert_eq!(code, expected, "{risk} {rules:?}");
        assert_eq!(calls.load(Ordering::SeqCst), usize::from(expected == "done"));
    }
}

#[test]
fn a_tool_that_is_only_named_like_a_foreign_one_stays_off() {
    // Like a built-in tool, without a declared risk: it was never registered.
    let (tool, _) = echo("echo", Risk::Low);
    let tools = Toolbox::new().with(tool);
    let failure = call(&tools, &gate(&[]), json!({"text": "a"})).expect_err("off");
    assert_eq!(failure.code, FailureCode::NotAllowed);
}

#[test]
fn a_name_that_means_another_tool_is_refused_when_it_is_registered() {
    let taken = ["read_file", "Read_File", "run_script", "network", "bash", "Bash", "load_skill"];
    for name in taken.into_iter().chain(["", "two words", "ECHO", "echo"]) {
        let tools = Toolbox::new().with_foreign(echo("echo", Risk::Low).0).expect("free");
        let refused = tools.with_foreign(echo(name, Risk::Low).0).expect_err(name);
        assert_eq!(refused.code, FailureCode::InvalidArguments, "{name}");
    }
    assert!(Toolbox::new().with_foreign(echo("todo_board", Risk::Low).0).is_ok());
}

#[test]
fn what_a_foreign_tool_gives_is_masked_and_cut_and_its_arguments_are_checked() {
    let results = ResultFilter {
        secrets: Arc::new(Secrets::new(["hunter2hunter2"])),
        cap: OutputCap { chars: 100 },
        ..ResultFilter::default()
    };
    let (tool, calls) = echo("echo", Risk::Low);
    let tools = Toolbox::new().with_results(results).with_foreign(tool).expect("a name of its own");
    let secret = json!({"text": "my hunter2hunter2 ", "times": 40});
    let result = call(&tools, &gate(&[]), secret).expect("said");
    let whole = format!("{} {}", result.text, result.data);
    assert!(!whole.contains("hunter2"), "{whole}");
    assert!(result.truncated && whole.len() < 1000, "{whole}");
    for bad in [json!({}), json!({"text": 1}), json!({"text": "a", "tims": 2}), json!("a")] {
        let failure = call(&tools, &gate(&[]), bad.clone()).expect_err("wrong");
        assert_eq!(failure.code, FailureCode::InvalidArguments, "{bad}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
