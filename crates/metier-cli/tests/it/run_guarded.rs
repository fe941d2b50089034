//! What a run is not talked into: records that others made, approvals of something else,
//! ceilings that got lost, other runs' records.

use metier_testkit::{Output, TestHome};
use serde_json::json;

use crate::run_support::{
    answer, call, codes, events, holds_scripts, is_sound, last_run, of_type, printed_approval,
    project, run_scripted, runs, script, select,
};
use crate::support::{document, run};

fn write_file(content: &str) -> serde_json::Value {
    call("write_file", &json!({"path": "out.txt", "content": content, "expected_sha256": null}))
}

/// A run that stands at the question whether it may write.
fn waiting(home: &TestHome, content: &str) -> Output {
    let rule =
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#;
    home.write("home/.agent/config.json", rule);
    let output = run_scripted(home, &json!([write_file(content), answer("done")]), &[]);
    assert_eq!(output.code, 3, "{output:?}");
    output
}

#[test]
fn a_run_that_came_with_a_project_is_not_gone_on_with() {
    let (theirs, ours) = (project(), project());
    waiting(&theirs, "evil");
    let from = last_run(&theirs);
    let name = from.file_name().expect("a name").to_string_lossy().into_owned();
    for file in ["setup.json", "index.json", "events.jsonl", "run.json"] {
        let bytes = std::fs::read(from.join(file)).expect("reads");
        ours.write(&format!("project/.agent/runs/{name}/{file}"), bytes);
    }
    ours.write("project/model.json", json!({"replies": [write_file("evil")]}).to_string());
    let refused = run(&ours, &["resume", "last", "--yes", "--json"]);
    assert_eq!(document(&ours, &refused, 1)["error"]["code"], "run-foreign");
    assert!(!ours.project().join("out.txt").exists());
    assert_eq!(run(&ours, &["show", "last"]).code, 0, "it can be looked at");
}

#[test]
fn an_approval_lets_pass_what_was_asked_about_and_nothing_else() {
    let home = project();
    let harmless = printed_approval(&waiting(&home, "harmless"));
    let evil = printed_approval(&waiting(&home, "evil"));
    let digest = |words: &[String]| words.last().expect("a digest").clone();
    assert_ne!(digest(&harmless), digest(&evil), "the content is a part of it");
    let other = ["resume", "last", "--no-input", "--approve", &digest(&harmless)];
    assert_eq!(run(&home, &other).code, 3);
    assert!(!home.project().join("out.txt").exists());
    let own: Vec<&str> = evil.iter().map(String::as_str).collect();
    assert_eq!(run(&home, &own).code, 0);
    assert_eq!(std::fs::read(home.project().join("out.txt")).expect("written"), b"evil");
}

#[test]
fn a_skill_that_changes_takes_nothing_off_its_ceiling() {
    let home = project();
    home.write("home/.agent/config.json", "{}");
    let skill = |description: &str| {
        let text = format!(
            "---\nname: reader\ndescription: {description}\nallowed-tools: Read\n---\nRead.\n"
        );
        home.write("home/.agents/skills/reader/SKILL.md", text);
    };
    skill("Reads.");
    let mut list = call("list_dir", &json!({"path": ".", "skill": null}));
    list["action"]["skill"] = json!({"name": "reader"});
    let fault = json!({"fault": "unauthorized", "message": "no key"});
    let output = run_scripted(&home, &json!([select(&["reader"]), list, fault]), &[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(codes(&events(&home)), ["ok", "NotAllowed"]);
    skill("Reads much.");
    home.write(
        "project/model.json",
        json!({"replies": [select(&["reader"]), list, list, answer("x")]}).to_string(),
    );
    assert_eq!(run(&home, &["resume", "last"]).code, 0);
    assert_eq!(codes(&events(&home)), ["ok", "NotAllowed", "Changed"]);
}

#[test]
fn the_records_of_other_runs_are_not_read_in_a_run() {
    let home = project();
    run_scripted(&home, &json!([answer("CANARY")]), &[]);
    let name = last_run(&home).file_name().expect("a name").to_string_lossy().into_owned();
    let read = call(
        "read_file",
        &json!({"path": format!(".agent/runs/{name}/run.json"),
        "skill": null, "first_line": null, "last_line": null}),
    );
    let grep = call(
        "grep",
        &json!({"pattern": "CANARY", "path": ".agent", "skill": null, "glob": null,
        "ignore_case": null, "literal": null, "context": null}),
    );
    let output = run_scripted(&home, &json!([read, grep, answer("x")]), &[]);
    assert_eq!(output.code, 0, "{output:?}");
    let events = events(&home);
    assert_eq!(codes(&events)[0], "NotAllowed");
    for event in of_type(&events, "action.finished") {
        let text = event["text"].to_string();
        assert!(!text.contains("run.finished") && !text.contains("\"answer\""), "{text}");
    }
    assert_eq!(runs(&home).read_dir().expect("runs").count(), 3, "two runs and .gitignore");
}

#[test]
fn the_whole_output_of_a_script_lies_with_the_run_and_is_vouched_for() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    home.skill("home/.agents/skills/loud", "loud", "Prints much.");
    home.write(
        "home/.agents/skills/loud/scripts/go.sh",
        "#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo \"line $i of many\"; i=$((i+1)); done\n\
         echo result > outputs/result.txt\n",
    );
    let replies = json!([select(&["loud"]), script("loud", "scripts/go.sh", &[]), answer("x")]);
    let output = run_scripted(&home, &replies, &["--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    is_sound(&home);
    let events = events(&home);
    let outcome = of_type(&events, "action.finished")[1];
    let place = outcome["storage_ref"].as_str().expect("a place");
    assert!(place.starts_with(".agent/runs/"), "{place}");
    let whole = std::fs::read_to_string(home.project().join(place).join("stdout")).expect("there");
    assert_eq!(whole.lines().count(), 20_000);
    let left = outcome["data"]["outputs"][0].as_str().expect("an output");
    assert_eq!(std::fs::read(home.project().join(left)).expect("there"), b"result\n");
    home.write(&format!("project/{place}/stdout"), "other words");
    let audit = run(&home, &["audit", "verify", "last", "--json"]);
    assert_eq!(document(&home, &audit, 1)["findings"][0]["code"], "text-changed");
}
