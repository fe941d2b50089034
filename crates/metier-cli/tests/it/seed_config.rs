//! The first design's own configuration file, as it stands there: its roots keep what they are, its
//! `mock` is the built-in offline model, and a file in another format is not ignored in silence.

use std::path::PathBuf;

use metier_testkit::TestHome;
use serde_json::Value;

use crate::run_support::{answer, project};
use crate::support::METIER;

/// The four fields that the design lists as an example, verbatim; `...` stands there for nothing.
const SEED: &str = r#"{
  "skill_roots": [".agent/skills", "~/.agent/skills"],
  "model": { "provider": "mock", "params": { } },
  "execution": { "require_approval_for": ["write_file","run_script","network"] },
  "security": { "max_skill_body_lines": 500, "block_angle_brackets_in_frontmatter": true }
}"#;

fn sources(home: &TestHome) -> Vec<(String, String)> {
    let listed = home.run(METIER, &["list", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let text = |skill: &Value, key: &str| skill[key].as_str().expect("text").to_owned();
    let skills = listed.json()["skills"].as_array().expect("a list").clone();
    let own = skills.iter().filter(|skill| skill["source"] != "builtin");
    own.map(|skill| (text(skill, "name"), text(skill, "source"))).collect()
}

#[test]
fn a_known_root_keeps_its_source_and_rank() {
    let home = project();
    home.skill("home/.agent/skills/mine", "mine", "Mine.");
    home.skill("home/.agent/skills/both", "both", "Of the user.");
    home.skill("project/.agent/skills/ours", "ours", "Of the project.");
    home.skill("project/.agent/skills/both", "both", "Of the project.");
    let without = (sources(&home), home.run(METIER, &["roots", "--json"]).stdout);
    home.write("project/.agent/config.json", SEED);
    let with = (sources(&home), home.run(METIER, &["roots", "--json"]).stdout);
    assert_eq!(with, without, "the file changes nothing about the roots");
    let expected = [("both", "project"), ("mine", "user"), ("ours", "project")];
    assert_eq!(with.0, expected.map(|(name, source)| (name.to_owned(), source.to_owned())));
    // In the user's own file too.
    std::fs::remove_file(home.project().join(".agent/config.json")).expect("removes");
    home.write(
        "home/.agent/config.json",
        r#"{"skill_roots": ["~/.claude/skills", ".agent/skills"]}"#,
    );
    assert_eq!(home.run(METIER, &["roots", "--json"]).stdout, without.1);
}

#[test]
fn a_project_adds_folders_inside_it_and_no_others() {
    let home = project();
    home.skill("home/private/skills/secret", "secret", "Not the project's.");
    home.skill("elsewhere/skills/other", "other", "Not the project's.");
    home.skill("project/tools/skills/tool", "tool", "The project's.");
    let elsewhere = home.path().join("elsewhere/skills");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&elsewhere, home.project().join("linked")).expect("a link");
    let named = ["~/private/skills", "../elsewhere/skills", "linked", "new/../../elsewhere/skills"];
    for outside in named.map(str::to_owned).into_iter().chain([elsewhere.display().to_string()]) {
        let config = serde_json::json!({"skill_roots": ["tools/skills", outside]});
        home.write("project/.agent/config.json", config.to_string());
        let names: Vec<String> = sources(&home).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["tool"], "{outside}");
        let said = home.run(METIER, &["run", "hello"]).stderr;
        assert!(said.contains("outside the project and is not searched"), "{outside}: {said}");
        assert!(said.contains(&outside), "{said}");
    }
    // The user may name any folder.
    home.write("project/.agent/config.json", "{}");
    home.write("home/.agent/config.json", r#"{"skill_roots": ["~/private/skills"]}"#);
    assert_eq!(sources(&home), [("secret".to_owned(), "user".to_owned())]);
}

#[test]
fn mock_in_a_project_is_the_offline_model_and_one_line_says_so() {
    let home = project();
    home.write("project/.agent/config.json", SEED);
    let output = home.run(METIER, &["run", "--yes", "hello there"]);
    let lines = output.stderr.lines().filter(|line| line.contains("the built-in offline model"));
    assert_eq!(lines.count(), 1, "{output:?}");
    assert!(output.stderr.contains(".agent/config.json:3"), "{output:?}");
    assert_eq!(started(&home)["model"]["provider"], "router", "{output:?}");
    // A script of the project's is never used: the author of the clone would write the decisions.
    home.write("project/model.json", script("from the clone"));
    home.write(
        "project/.agent/config.json",
        r#"{"model": {"provider": "mock", "name": "model.json"}}"#,
    );
    let output = home.run(METIER, &["run", "hello there"]);
    assert!(!output.stdout.contains("from the clone"), "{output:?}");
    assert_eq!(started(&home)["model"]["provider"], "router");
}

#[test]
fn mock_of_the_user_is_a_script_where_one_is_named_and_offline_where_none_is() {
    let home = project();
    home.write("home/.agent/config.json", r#"{"model": {"provider": "mock"}}"#);
    let output = home.run(METIER, &["run", "hello there"]);
    assert_eq!(started(&home)["model"]["provider"], "router", "{output:?}");
    assert!(!output.stderr.contains("the project changes"), "{output:?}");
    let file = home.write("home/model.json", script("from my script"));
    let named = serde_json::json!({"model": {"provider": "mock", "name": file}});
    home.write("home/.agent/config.json", named.to_string());
    assert!(home.run(METIER, &["run", "hello"]).stdout.contains("from my script"));
    // A flag, whatever the files say.
    home.write("home/.agent/config.json", "{}");
    let flag = format!("mock:{}", file.display());
    assert!(
        home.run(METIER, &["run", "--model", &flag, "hello"]).stdout.contains("from my script")
    );
    let output = home.run(METIER, &["run", "--model", "mock", "hello there"]);
    assert_eq!(started(&home)["model"]["provider"], "router", "{output:?}");
}

#[test]
fn configuration_in_another_format_is_said_to_be_unread_in_every_run() {
    let home = project();
    let files =
        ["project/.agent/config.toml", "home/.agent/config.toml", "project/.agent/config.yaml"];
    let files: Vec<PathBuf> =
        files.map(|file| home.write(file, "model = 1\n")).into_iter().collect();
    for args in [&["run", "hello"][..], &["list"], &["config"], &["explain", "read_file", "x"]] {
        let output = home.run(METIER, args);
        for file in &files {
            let line = format!("{} is not read", file.display());
            assert!(output.stderr.contains(&line), "{args:?}: {output:?}");
        }
    }
}

fn script(text: &str) -> String {
    serde_json::json!({ "replies": [answer(text)] }).to_string()
}

/// The first event of the newest run.
fn started(home: &TestHome) -> Value {
    crate::run_support::events_in(&crate::run_support::last_run(home))[0].clone()
}
