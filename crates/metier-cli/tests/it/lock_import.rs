//! `metier lock --import` of files with entries that cannot be installed: the others are, everything is said, and
//! the exit code is not 0. From the outside.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{json, run};

fn with_lock(entries: &Value) -> TestHome {
    let home = TestHome::new();
    for name in ["a", "b"] {
        home.skill(&format!("project/src/{name}"), name, "Works.");
    }
    let lock = json!({"version": 1, "skills": entries}).to_string();
    home.write("project/skills-lock.json", lock);
    home
}

fn local(name: &str) -> Value {
    json!({"source": format!("./src/{name}"), "sourceType": "local"})
}

#[test]
fn one_bad_entry_does_not_hide_what_was_done() {
    let home = with_lock(&json!({
        "a": local("a"), "b": local("b"), "gone": local("gone"),
        "npm": {"source": "pkg", "sourceType": "node_modules"}
    }));
    let output = run(&home, &["lock", "--import", "skills-lock.json", "--yes", "--json"]);
    let document = output.json();
    assert_eq!(output.code, 1, "{document}");
    assert_eq!(document["targets"].as_array().map(Vec::len), Some(2), "{document}");
    let failed = &document["failed"][0];
    assert_eq!(
        (&failed["code"], &failed["skills"]),
        (&json!("source-not-found"), &json!(["gone"]))
    );
    assert_eq!(document["left_out"][0]["name"], "npm", "{document}");
    for name in ["a", "b"] {
        assert!(home.project().join(".agent/skills").join(name).exists());
    }
    let said = run(&home, &["lock", "--import", "skills-lock.json", "--yes"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("not installed gone from"), "{said:?}");
    assert!(said.stderr.contains("left out: npm"), "{said:?}");
    assert_eq!(run(&home, &["verify"]).code, 0, "what was done is whole");
}

#[test]
fn what_is_left_out_is_no_success() {
    let home = with_lock(&json!({
        "a": local("a"), "npm": {"source": "pkg", "sourceType": "node_modules"}
    }));
    assert_eq!(run(&home, &["lock", "--import", "skills-lock.json", "--yes"]).code, 1);
    let only = ["lock", "--import", "skills-lock.json", "--skill", "a", "--yes"];
    assert_eq!(run(&home, &only).code, 0, "nothing else was asked for");
}

#[test]
fn chosen_skills_bring_no_other_source_with_them() {
    let home = with_lock(&json!({"a": local("a"), "b": local("b")}));
    let args = ["lock", "--import", "skills-lock.json", "--skill", "a", "--yes", "--json"];
    assert_eq!(json(&home, &args)["targets"].as_array().map(Vec::len), Some(1));
    assert!(!home.project().join(".agent/skills/b").exists());
}

#[test]
fn of_several_agents_one_that_fails_is_said_and_the_others_get_the_skill() {
    let home = with_lock(&json!({}));
    home.skill("project/.claude/skills/a", "a", "Mine.");
    let args = ["install", "./src/a", "--agent", "claude,codex", "--yes", "--json"];
    let output = run(&home, &args);
    let document = output.json();
    assert_eq!(output.code, 1, "{document}");
    assert_eq!(document["failed"][0]["code"], "already-exists", "{document}");
    assert!(home.project().join(".codex/skills/a/SKILL.md").exists());
}
