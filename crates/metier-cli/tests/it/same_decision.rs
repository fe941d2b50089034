//! One request, one decision, on every way in: `explain`, `exec`, `tools`, the catalog, a model, a person
//! and the library, asked about the same skill under the same rules.

use metier::WithSkills;
use metier_testkit::TestHome;
use serde_json::Value;

use crate::library::library;
use crate::run_support::{
    answer, codes, events, holds_scripts, of_type, run_scripted, script as script_action, select,
};
use crate::support::{json, run, texts};

/// Rules of the user's file, and what they mean for loading the skill and for its script.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("no rules", "[]", "allow", "ask"),
    (
        "everything allowed",
        r#"[{"permission": "*", "pattern": "*", "effect": "allow"}]"#,
        "allow",
        "allow",
    ),
    (
        "loading denied",
        r#"[{"permission": "load_skill", "pattern": "user:work", "effect": "deny"}]"#,
        "deny",
        "ask",
    ),
    (
        "loading asks",
        r#"[{"permission": "load_skill", "pattern": "wo*", "effect": "ask"}]"#,
        "ask",
        "ask",
    ),
    (
        "the script allowed",
        r#"[{"permission": "run_script", "pattern": "work/scripts/run.sh", "effect": "allow"}]"#,
        "allow",
        "allow",
    ),
    (
        "scripts denied",
        r#"[{"permission": "run_script", "pattern": "*", "effect": "deny"}]"#,
        "allow",
        "deny",
    ),
    (
        "the last rule wins",
        r#"[{"permission": "load_skill", "pattern": "*", "effect": "deny"}, {"permission": "load_skill", "pattern": "work", "effect": "allow"}]"#,
        "allow",
        "ask",
    ),
    (
        "a script with the network asks",
        r#"[{"permission": "run_script", "pattern": "*", "effect": "allow"}, {"permission": "script_network", "pattern": "work/*", "effect": "ask"}]"#,
        "allow",
        "ask",
    ),
];

fn home(rules: &str) -> TestHome {
    let home = TestHome::new();
    home.skill("home/.agents/skills/work", "work", "Works.");
    home.write("home/.agents/skills/work/scripts/run.sh", "echo ran\n");
    home.write("home/.agent/config.json", format!(r#"{{"permissions": {rules}}}"#));
    home
}

fn effect(document: &Value) -> &str {
    document["effect"].as_str().expect("an effect")
}

/// What the library decides about loading the skill and running its script.
fn by_the_library(home: &TestHome) -> [&'static str; 2] {
    let metier = library(home, "project");
    let load = metier.explain("load_skill", &["work"], &WithSkills::default()).expect("a decision");
    let work = WithSkills::acting_for("work");
    let script = metier.explain("run_script", &["scripts/run.sh"], &work).expect("a decision");
    [load.decision.effect.as_str(), script.decision.effect.as_str()]
}

/// What the policy said in the last run about the first operation of this kind.
fn decided(home: &TestHome, kind: &str) -> Option<&'static str> {
    let events = events(home);
    let said = of_type(&events, "policy.decided").into_iter().find(|event| event["op"] == kind)?;
    ["allow", "ask", "deny"].into_iter().find(|effect| said["effect"] == *effect)
}

#[test]
fn every_way_in_gives_the_same_decision() {
    let holds = holds_scripts(&TestHome::new());
    for (case, rules, load, script) in CASES {
        let home = home(rules);
        let explained = json(&home, &["explain", "load_skill", "work", "--json"]);
        assert_eq!(effect(&explained), *load, "{case}: explain load_skill");
        assert_eq!(by_the_library(&home), [*load, *script], "{case}: the library");
        let tools = json(&home, &["tools", "--skill", "work", "--json"]);
        let rows = tools["tools"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["name"] == "load_skill").expect("a row");
        assert_eq!(effect(row), *load, "{case}: tools");
        let catalog = json(&home, &["catalog", "--json"]);
        let shown = texts(&catalog["shown"], "name").contains(&"work");
        assert_eq!(shown, *load != "deny", "{case}: the catalog");

        let args = ["explain", "run_script", "scripts/run.sh", "--skill", "work", "--json"];
        assert_eq!(effect(&json(&home, &args)), *script, "{case}: explain run_script");
        let ran = run(&home, &["exec", "--json", "work", "scripts/run.sh"]);
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let by_exec = match document["error"]["code"].as_str() {
            Some("NotAllowed") => "deny",
            Some("NeedsApproval") => "ask",
            // It was allowed, and ran or could not be held here.
            _ => "allow",
        };
        assert_eq!(by_exec, *script, "{case}: exec {document}");
        assert_eq!(ran.code == 3, *script != "allow", "{case}: exec");

        let slash = run(&home, &["run", "/work", "--yes"]);
        if *load == "deny" {
            assert_eq!(slash.code, 3, "{case}: the slash command begins nothing: {slash:?}");
        } else {
            assert_eq!(decided(&home, "load"), Some(*load), "{case}: the slash command {slash:?}");
        }
        let turns = serde_json::json!([
            select(&["work"]),
            script_action("work", "scripts/run.sh", &[]),
            answer("done")
        ]);
        let model = run_scripted(&home, &turns, &["--yes"]);
        if *load == "deny" {
            // It is as good as not there.
            assert_eq!(codes(&events(&home)), ["SkillNotFound", "SkillNotFound"], "{case}");
            continue;
        }
        assert_eq!(decided(&home, "load"), Some(*load), "{case}: a model loads: {model:?}");
        if holds {
            let report = decided(&home, "script");
            assert_eq!(report, Some(*script), "{case}: a model's script: {model:?}");
        }
    }
}

#[test]
fn an_unreadable_configuration_starts_nothing() {
    let home = home("[]");
    home.write("home/.agent/config.json", r#"{"permissions": [{"permission": "run_script"#);
    for args in [
        &["exec", "--yes", "work", "scripts/run.sh"][..],
        &["catalog"],
        &["tools"],
        &["explain", "load_skill", "work"],
        &["trust", "--yes"],
    ] {
        let output = run(&home, args);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{args:?} {output:?}");
    }
}
