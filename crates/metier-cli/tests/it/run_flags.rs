//! What is said for one run alone: turns, model, approvals and rules, and how a run ends by them. All
//! of it holds when the run continues in another process.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    REQUEST, answer, call, codes, events, holds_scripts, is_sound, last_run, of_type,
    printed_approval, project, run_scripted, script, scripted, select,
};
use crate::support::run;

#[test]
fn a_budget_of_one_turn_gives_one_last_turn_and_exit_code_four() {
    let home = project();
    let replies = || {
        json!([call("list_dir", &json!({"path": "."})), answer("What I have so far."), answer("x")])
    };
    let output = run_scripted(&home, &replies(), &["--max-turns", "1"]);
    assert_eq!((output.code, output.stdout.as_str()), (4, "What I have so far.\n"), "{output:?}");
    let events = events(&home);
    let spent = of_type(&events, "budget.spent");
    assert_eq!((spent.len(), &spent[0]["budget"]), (1, &json!("turns")));
    assert_eq!(events.last().expect("events")["status"], "budget_exhausted");
    is_sound(&home);
    let again = run(&home, &["resume", "last"]);
    assert_eq!(again.code, 1, "a spent budget is an end: {again:?}");
}

#[test]
fn a_last_turn_that_is_wasted_ends_the_run_without_an_answer() {
    let home = project();
    let look = || call("list_dir", &json!({"path": "."}));
    let output = run_scripted(&home, &json!([look(), look(), look()]), &["--max-turns", "1"]);
    assert_eq!((output.code, output.stdout.as_str()), (4, ""), "{output:?}");
    assert!(output.stderr.contains("the last turn gave no answer"), "{output:?}");
    is_sound(&home);
}

#[test]
fn going_in_circles_ends_with_exit_code_one() {
    let home = project();
    let look = || call("list_dir", &json!({"path": "examples"}));
    let replies: Vec<Value> = (0..6).map(|_| look()).collect();
    let output = run_scripted(&home, &Value::Array(replies), &[]);
    assert_eq!(output.code, 1, "{output:?}");
    let events = events(&home);
    assert_eq!(of_type(&events, "loop.detected").len(), 1);
    assert_eq!(events.last().expect("events")["status"], "stuck");
    is_sound(&home);
}

#[test]
fn a_model_that_fails_ends_with_exit_code_one_and_can_go_on() {
    let home = project();
    let output = run_scripted(&home, &json!([{"fault": "overloaded", "message": "busy"}]), &[]);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains("busy"), "{output:?}");
    is_sound(&home);
    scripted(&home, &json!([answer("better now")]));
    let resumed = run(&home, &["resume", "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "better now\n"), "{resumed:?}");
    is_sound(&home);
}

#[test]
fn a_model_that_cannot_be_is_reported_before_anything_begins() {
    let home = project();
    home.write("project/bad.json", "{\"replies\": [{\"action\": 1}]}");
    for (model, code, words) in [
        ("gpt", 2, "unknown provider"),
        ("openai", 2, "needs a name"),
        ("anthropic:", 2, "needs a name"),
        ("scripted", 2, "needs a name"),
        ("scripted:not-there.json", 1, "not-there.json"),
        ("scripted:bad.json", 1, "replies[0]"),
        ("replay:nothing", 1, "no run"),
    ] {
        let output = run(&home, &["run", REQUEST, "--model", model]);
        assert_eq!(output.code, code, "{model}: {output:?}");
        assert!(output.stderr.contains(words), "{model}: {output:?}");
        assert!(!home.project().join(".agent").exists(), "{model}: nothing was begun");
        let output = run(&home, &["models", "test", "--model", model]);
        assert_eq!(output.code, code, "{model}: {output:?}");
        assert!(output.stderr.contains(words), "{model}: {output:?}");
    }
}

#[test]
fn flags_that_cannot_be_are_refused_with_exit_code_two() {
    let home = project();
    for flags in [
        &["--yes", "--no-input"][..],
        &["--allow", "no_such_tool"],
        &["--max-turns", "x"],
        &["--max-turns", "0"],
        &["--file", "absent"],
    ] {
        let output = run(&home, &[&["run", REQUEST], flags].concat());
        assert_eq!(output.code, 2, "{flags:?}: {output:?}");
        assert!(!home.project().join(".agent/runs").exists(), "{flags:?}");
    }
}

/// A skill below a root of its own, with a script that says hello.
fn rooted() -> TestHome {
    let home = project();
    home.skill("root/hello", "hello", "Says hello.");
    home.write("root/hello/scripts/hello.sh", "echo hello from the script\n");
    home
}

#[test]
fn the_printed_command_carries_what_was_said_for_this_run_alone() {
    let home = rooted();
    if !holds_scripts(&home) {
        return;
    }
    let root = home.path().join("root");
    let root = root.to_string_lossy();
    let replies = json!([
        select(&["hello"]),
        script("hello", "scripts/hello.sh", &[]),
        call("write_file", &json!({"path": "out.txt", "content": "x"})),
        call("delete_file", &json!({"path": "examples/sales.csv"})),
        answer("done"),
    ]);
    let flags = ["--root", &*root, "--allow", "write_file", "--deny", "delete_file"];
    let output = run_scripted(&home, &replies, &flags);
    assert_eq!(output.code, 3, "{output:?}");
    let words = printed_approval(&output);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let resumed = run(&home, &words);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "done\n"), "{resumed:?}");
    assert_eq!(codes(&events(&home)), ["ok", "ok", "ok", "NotAllowed"]);
    assert!(home.project().join("out.txt").exists());
    is_sound(&home);
}

#[test]
fn a_denial_of_the_run_holds_when_it_goes_on_and_a_leave_does_not() {
    let home = rooted();
    if !holds_scripts(&home) {
        return;
    }
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "delete_file", "pattern": "*", "effect": "allow"}]}"#,
    );
    let root = home.path().join("root");
    let root = root.to_string_lossy();
    let replies = json!([
        select(&["hello"]),
        script("hello", "scripts/hello.sh", &[]),
        call("delete_file", &json!({"path": "examples/sales.csv"})),
        call("write_file", &json!({"path": "out.txt", "content": "x"})),
        answer("done"),
    ]);
    let flags = ["--root", &*root, "--deny", "delete_file", "--allow", "write_file"];
    let output = run_scripted(&home, &replies, &flags);
    assert_eq!(output.code, 3, "{output:?}");
    let resumed = run(&home, &["resume", "last", "--yes", "--root", &root]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(codes(&events(&home)), ["ok", "ok", "NotAllowed", "NotAllowed"]);
    assert!(home.project().join("examples/sales.csv").exists());
    assert!(!home.project().join("out.txt").exists(), "what was allowed is said again, or asked");
}

#[test]
fn the_last_run_is_the_last_one_also_within_a_second() {
    let home = project();
    for turn in 0..6 {
        let text = format!("answer {turn}");
        let output = run_scripted(&home, &json!([answer(&text)]), &[]);
        assert_eq!(output.code, 0, "{output:?}");
        let shown = run(&home, &["show", "last", "--json"]);
        assert!(shown.stdout.contains(&text), "{turn}: {shown:?}");
        let summary = std::fs::read_to_string(last_run(&home).join("run.json")).expect("there");
        assert!(summary.contains(&text), "{summary}");
    }
}
