//! Judging a script before anything of it runs: what is denied, and what is not even asked about.
//! No script is started here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metier_agent::RunSkills;
use metier_agent::local_executor::{ScriptJudgement, ScriptRequest};
use metier_policy::{
    Effect, Invoker, PlacedRule, Policy, PolicyPlaces, Rule, RuleLayer, RuleSource,
};
use metier_registry::{Root, ScanOptions, scan};
use metier_sandbox::{SearchPath, Tier};
use metier_skill::Source;
use metier_tools::policy_facts::absolute;
use metier_tools::{FailureCode, OutputCap, ScriptHost, ToolFailure, Toolbox};

use crate::foreign::executor;

const ID: &str = "user:work";

/// Judges the script of a skill with this frontmatter under this rule; `is_held` says whether the
/// machine has a sandbox.
fn judge(
    frontmatter: &str,
    effect: Effect,
    is_held: bool,
    loaded: &[&str],
) -> Result<ScriptJudgement, ToolFailure> {
    let dir = tempfile::tempdir().expect("dir");
    let top = dir.path().canonicalize().expect("real");
    write(
        &top.join("skills/work/SKILL.md"),
        &format!("---\nname: work\ndescription: Works.\n{frontmatter}---\n# Work\n"),
    );
    write(&top.join("skills/work/scripts/run.sh"), "echo ran\n");
    let root = Root {
        source: Source::User,
        path: top.join("skills"),
        plugin: None,
        required: true,
        absent: false,
        foreign: None,
    };
    let found = scan(&[root], &ScanOptions { builtin: false, ..ScanOptions::default() });
    let rule = Rule { permission: "run_script".to_owned(), pattern: "*".to_owned(), effect };
    let rules = [PlacedRule { rule, line: None }];
    let layer = RuleLayer::new(RuleSource::User, "config.json", rules).expect("rules");
    let mut executor = executor(&top, Toolbox::new());
    let places = PolicyPlaces::new(absolute(&executor.workspace).expect("a path"));
    executor.policy = Arc::new(Policy::new(places).with_layer(layer));
    executor.index = Arc::new(found.index);
    if is_held {
        let (runs, data) = (top.join("runs"), top.join("data"));
        executor.host = Box::new(move |output| {
            Ok(ScriptHost {
                helper: "/nonexistent".into(),
                tier: Tier::Medium,
                search: SearchPath::default(),
                runs: runs.clone(),
                data: data.clone(),
                workspace: None,
                own: Vec::new(),
                outputs: None,
                variables: BTreeMap::new(),
                secrets: Arc::default(),
                cap: OutputCap::default(),
                timeout: Duration::from_secs(1),
                output: Some(output),
            })
        });
    }
    let loaded = loaded.iter().map(|id| id.parse().expect("an id")).collect();
    Arc::new(executor).judge_script(&ScriptRequest {
        skill: &ID.parse().expect("an id"),
        path: "scripts/run.sh",
        args: &[],
        skills: &RunSkills { loaded, ..RunSkills::default() },
        invoker: Invoker::User,
        timeout: None,
    })
}

#[expect(clippy::disallowed_methods, reason = "a test makes files")]
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn a_denied_script_has_nothing_that_could_run() {
    for is_held in [true, false] {
        let judged = judge("", Effect::Deny, is_held, &[ID]).expect("a judgement");
        assert_eq!(judged.decision.effect(), Effect::Deny);
        assert!(judged.prepared.is_none());
    }
}

#[test]
fn a_script_that_may_run_is_prepared_and_the_network_stays_closed() {
    let judged = judge("", Effect::Allow, true, &[ID]).expect("a judgement");
    assert_eq!(judged.decision.effect(), Effect::Allow);
    let prepared = judged.prepared.expect("prepared");
    assert!(!prepared.sees_workspace() && prepared.perhaps_missing.is_empty());
    let asked = judge("", Effect::Ask, true, &[ID]).expect("a judgement");
    assert_eq!((asked.decision.effect(), asked.decision.asked().count()), (Effect::Ask, 1));
    assert!(asked.prepared.is_some());
}

#[test]
fn what_cannot_run_is_not_asked_about() {
    let code = |judged: Result<ScriptJudgement, ToolFailure>| judged.expect_err("cannot run").code;
    let no_sandbox = judge("", Effect::Ask, false, &[ID]);
    assert_eq!(code(no_sandbox), FailureCode::NotAllowed);
    let needs = "metadata:\n  requires:\n    bins: no-such-program-here\n";
    let needing = judge(needs, Effect::Ask, true, &[ID]);
    assert_eq!(code(needing), FailureCode::RequirementMissing);
    let not_loaded = judge("", Effect::Allow, true, &[]);
    assert_eq!(code(not_loaded), FailureCode::SkillNotFound);
}
