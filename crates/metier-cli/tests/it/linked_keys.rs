//! Keys behind links, as the tools of a run meet them: a path is judged by each name on its way and by
//! where it leads.
#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{answer, call, codes, events, run_scripted};

const KEY: &str = "KEY-OF-THE-PROJECT";

/// A project in which links lead to keys, and from keys to other files.
fn project() -> TestHome {
    let home = TestHome::new();
    for file in ["config.txt", "real/.env", "secrets/one"] {
        home.write(&format!("project/{file}"), format!("word {KEY}\n"));
    }
    home.write("project/v1.txt", "word open\n");
    let link = |target: &str, at: &str| symlink(target, home.project().join(at)).expect("links");
    link("config.txt", ".env");
    link(".env", "notes.txt");
    link("real/.env", "plain.txt");
    link("real", "folder");
    link("secrets", ".env.d");
    link("v1.txt", "latest.txt");
    link(".", "here");
    home
}

/// The codes of what a model is shown, and the whole record.
fn observed(home: &TestHome, calls: &[(&str, Value)]) -> (Vec<String>, String) {
    let mut replies: Vec<Value> = calls.iter().map(|(tool, args)| call(tool, args)).collect();
    replies.push(answer("done"));
    let output = run_scripted(home, &json!(replies), &["--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let events = events(home);
    let codes = codes(&events).into_iter().map(str::to_owned).collect();
    (codes, serde_json::to_string(&events).expect("JSON"))
}

#[test]
fn no_tool_reads_a_key_through_a_link_or_the_other_way_round() {
    let home = project();
    let keys = [
        ".env",
        "notes.txt",
        "plain.txt",
        "folder/.env",
        "here/.env",
        "here/here/notes.txt",
        "config.txt",
        ".env.d/one",
        "secrets/one",
    ];
    for path in keys {
        for tool in ["read_file", "grep"] {
            let mut args = json!({ "path": path });
            if tool == "grep" {
                args["pattern"] = json!("word");
            }
            let (codes, seen) = observed(&home, &[(tool, args)]);
            assert_eq!(codes, ["NotAllowed"], "{tool} {path}");
            assert!(!seen.contains(KEY), "{tool} {path}: {seen}");
        }
    }
    let (codes, text) = observed(&home, &[("list_dir", json!({"path": ".env.d"}))]);
    assert_eq!(codes, ["NotAllowed"], "{text}");
}

#[test]
fn a_search_leaves_keys_out_and_honest_links_are_read() {
    let home = project();
    let calls = [
        ("grep", json!({"pattern": "word"})),
        ("grep", json!({"pattern": "word", "path": "here"})),
        ("read_file", json!({"path": "latest.txt"})),
        ("read_file", json!({"path": "here/v1.txt"})),
    ];
    let (codes, seen) = observed(&home, &calls);
    assert_eq!(codes, ["ok", "ok", "ok", "ok"], "{seen}");
    assert!(!seen.contains(KEY), "{seen}");
    assert!(seen.contains("v1.txt:1: word open") && !seen.contains("config.txt:1"), "{seen}");
}

#[test]
fn the_records_of_another_project_in_the_workspace_are_not_read_either() {
    let home = TestHome::new();
    home.write("project/inner/.agent/runs/1/events.jsonl", format!("word {KEY}\n"));
    home.write("project/inner/.agent/notes", "word open\n");
    let calls = [
        ("read_file", json!({"path": "inner/.agent/runs/1/events.jsonl"})),
        ("grep", json!({"pattern": "word", "path": "inner/.agent"})),
    ];
    let (codes, seen) = observed(&home, &calls);
    assert_eq!(codes, ["NotAllowed", "ok"], "{seen}");
    assert!(seen.contains("word open") && !seen.contains(KEY), "{seen}");
}
