//! Calls under the real policy: what it allows, asks and denies, and what a search leaves out.
//!
//! The rules themselves are tested in `metier-policy`.

use std::sync::Arc;

use std::path::Path;

use metier_cancel::CancelToken;
use metier_policy::{
    AbsolutePath, AnswerMemory, AnswerScope, Effect, Invoker, Lifetime, Permission, PlacedRule,
    Policy, PolicyPlaces, RememberedAnswer, Rule, RuleLayer, RuleSource, TrustedFolders, UnixTime,
};
use metier_registry::{Entry, Root, ScanOptions, scan};
use metier_skill::{RelPath, Source};
use metier_tools::policy_facts::{acting_skill, loaded_skill};
use metier_tools::{CallResult, Risk, ScriptDecision, ToolFailure, ToolGate};
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
    let layer = RuleLayer::new(RuleSource::User, "config.json", rules).unwrap();
    ToolGate {
        policy: Arc::new(Policy::new(PolicyPlaces::new(workspace)).with_layer(layer)),
        answers: Arc::new(AnswerMemory::default()),
        loaded: Arc::new([]),
        now: UnixTime(0),
        invoker: Invoker::Model,
        skill: None,
    }
}

fn call(bench: &Bench, gate: &ToolGate, tool: &str, arguments: Value) -> CallResult {
    let planned = bench.tools.plan(tool, arguments)?;
    let decision = gate.judge(&planned)?;
    let filter = gate.touch_filter(planned.tool());
    let permit = planned.decided(decision.effect, &decision.sentences().join("; "), filter)?;
    permit.call(&CancelToken::new())
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

/// A skill of this source with a script.
fn skill_with_script(dir: &Path, source: Source) -> Arc<Entry> {
    let folder = dir.join("work/scripts");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "---\nname: work\ndescription: Works.\n---\n# Work\n";
    std::fs::write(dir.join("work/SKILL.md"), text).unwrap();
    std::fs::write(folder.join("run.sh"), "echo good\n").unwrap();
    let root = Root {
        source,
        path: dir.to_owned(),
        plugin: None,
        required: true,
        absent: false,
        foreign: None,
    };
    let found = scan(&[root], &ScanOptions { builtin: false, ..ScanOptions::default() });
    Arc::clone(&found.index.entries()[0])
}

/// What is decided about the script.
fn judge_run(gate: &ToolGate, entry: &Arc<Entry>) -> Result<ScriptDecision, ToolFailure> {
    let script = RelPath::new("scripts/run.sh").unwrap();
    gate.judge_script(entry, &script, &[], Vec::new()).map(|(decision, _)| decision)
}

#[test]
fn a_changed_script_loses_its_always_though_the_gate_knows_the_old_content() {
    let dir = tempfile::tempdir().unwrap();
    let entry = skill_with_script(dir.path(), Source::User);
    let mut gate = gate(&Bench::new(&[]), &[]);
    gate.loaded = [loaded_skill(&entry, &gate.policy, &TrustedFolders::default())].into();
    gate.skill = acting_skill(&entry, &TrustedFolders::default()).ok();
    let decision = judge_run(&gate, &entry).expect("decides");
    let request = decision.request().clone();
    let mut answers = AnswerMemory::default();
    answers.remember(RememberedAnswer::of(
        &request,
        AnswerScope::Everywhere,
        UnixTime(0),
        Lifetime::Unlimited,
    ));
    gate.answers = Arc::new(answers);
    assert_eq!(judge_run(&gate, &entry).expect("decides").effect(), Effect::Allow);
    std::fs::write(dir.path().join("work/scripts/run.sh"), "echo evil\n").unwrap();
    let failure = judge_run(&gate, &entry).expect_err("changed");
    assert_eq!(failure.code.as_str(), "Changed", "{failure:?}");
    // Known anew, it asks.
    gate.skill = acting_skill(&entry, &TrustedFolders::default()).ok();
    assert_eq!(judge_run(&gate, &entry).expect("decides").effect(), Effect::Ask);
}

#[test]
fn a_script_acts_for_its_own_skill_by_default() {
    for (source, expected) in [(Source::User, Effect::Allow), (Source::Project, Effect::Deny)] {
        let dir = tempfile::tempdir().unwrap();
        let entry = skill_with_script(dir.path(), source);
        let mut gate = gate(&Bench::new(&[]), &[("*", "*", Effect::Allow)]);
        gate.loaded = [loaded_skill(&entry, &gate.policy, &TrustedFolders::default())].into();
        let decision = judge_run(&gate, &entry).expect("decides");
        let acting = decision.request().skill.clone().expect("a skill");
        assert_eq!(acting.id, entry.id());
        let known = acting_skill(&entry, &TrustedFolders::default()).expect("a content");
        assert_eq!(acting.digest, known.digest, "an answer is bound to the content");
        assert_eq!(decision.effect(), expected, "{source:?}");
    }
}
