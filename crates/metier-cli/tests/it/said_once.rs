//! One failure is said once: not in the live view and again at the end, not as a cause that repeats what it is the
//! cause of, not as a help that is in the message, whatever the command.

use std::net::TcpListener;

use metier_testkit::Output;
use serde_json::json;

use crate::run_support::{answer, holds_scripts, project, run_scripted, script, select};
use crate::support::METIER;

/// Characters from which words that come twice are a repetition.
const LONG: usize = 24;

/// Words that stand twice on standard error, apart from names and paths that were given.
fn repeated(output: &Output, given: &[&str]) -> Option<String> {
    let text = given.iter().fold(output.stderr.clone(), |text, name| text.replace(name, "@"));
    let parts = text.split(['\n', ';', '(', ')', '`']).flat_map(|line| line.split(": "));
    let parts: Vec<&str> =
        parts.map(str::trim).filter(|part| part.chars().count() >= LONG).collect();
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        if seen.iter().any(|before| before.contains(part) || part.contains(before)) {
            return Some(part.to_owned());
        }
        seen.push(part);
    }
    // `code: code:`, `cannot be read: cannot be read`.
    let words: Vec<&str> = text.split(' ').collect();
    let twice = words.windows(2).find(|pair| pair[0].ends_with(':') && pair[0] == pair[1]);
    twice.map(|pair| pair.join(" "))
}

fn assert_said_once(output: &Output, given: &[&str], what: &str) {
    assert_ne!(output.code, 0, "{what}: {output:?}");
    assert!(!output.stderr.is_empty(), "{what}: {output:?}");
    let twice = repeated(output, given);
    assert!(twice.is_none(), "{what}: {twice:?} in\n{}", output.stderr);
}

/// An address on this machine where nothing listens.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/v1", listener.local_addr().expect("an address"))
}

#[test]
fn a_model_that_cannot_be_reached_is_said_once_live_and_in_the_record() {
    let home = project();
    let url = closed();
    let host = url.trim_end_matches("/v1");
    let config = json!({"model": {"provider": "openai", "name": "x", "base_url": url}});
    home.write("home/.agent/config.json", config.to_string());
    let reached = |text: &str| text.matches("cannot be reached").count();
    for args in [&["run", "hello"][..], &["run", "--no-input", "hello"]] {
        let output = home.run(METIER, args);
        assert_said_once(&output, &[host], "run");
        assert_eq!(reached(&output.stderr), 2, "the first attempt, and the end: {output:?}");
        assert!(output.stderr.contains("ended failed\n"), "{output:?}");
    }
    let resumed = home.run(METIER, &["resume", "last"]);
    assert_eq!(reached(&resumed.stderr), 2, "{resumed:?}");
    let shown = home.run(METIER, &["show", "last"]).stdout;
    let end = shown.lines().rev().find(|line| line.starts_with("failed")).expect("an end");
    assert_eq!(end, "failed", "{shown}");
    let summary = home.run(METIER, &["runs", "--json"]).json();
    let message = summary["runs"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("cannot be reached"), "the record has it: {summary}");
}

#[test]
fn a_script_that_fails_is_said_once() {
    let home = project();
    home.skill("home/.agents/skills/work", "work", "Works.");
    let text = "#!/bin/sh\necho 'the spreadsheet has no heading at all' >&2\nexit 3\n";
    home.write("home/.agents/skills/work/scripts/bad.sh", text);
    if !holds_scripts(&home) {
        return;
    }
    let output = home.run(METIER, &["exec", "--yes", "work", "scripts/bad.sh"]);
    assert_said_once(&output, &[], "exec");
    let replies = json!([select(&["work"]), script("work", "scripts/bad.sh", &[]), answer("No.")]);
    let output = run_scripted(&home, &replies, &["--yes"]);
    assert_said_once(&output, &[], "run");
    assert_eq!(output.stderr.matches("has no heading").count(), 1, "{output:?}");
}

#[test]
fn a_reply_that_is_no_decision_is_explained_once() {
    let home = project();
    let replies = json!(vec![json!({"raw": "no json"}); 5]);
    let output = run_scripted(&home, &replies, &[]);
    assert_eq!(output.stderr.matches("not_json").count(), 5, "{output:?}");
    assert_eq!(output.stderr.matches("reply with one JSON object").count(), 1, "{output:?}");
}

#[test]
fn a_question_without_an_answer_is_said_once() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let output = home.run(METIER, &["run", "summarise examples/sales.csv by region"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stderr.contains("ended needs_approval\n"), "{output:?}");
    assert_eq!(output.stderr.matches("`run_script` of").count(), 1, "{output:?}");
    let args = ["exec", "csv-summary", "scripts/summarise.sh", "--", "examples/sales.csv"];
    let output = home.run(METIER, &args);
    assert_eq!(
        (output.code, output.stderr.matches("needs approval").count()),
        (3, 1),
        "{output:?}"
    );
}

#[test]
fn an_error_has_neither_its_help_nor_its_cause_twice() {
    let home = project();
    home.skill("project/.agent/skills/pdf", "pdf", "Reads PDF files.");
    home.write("project/cut.json", "{\"replies\": [");
    home.write("project/no.zip", "this is no archive");
    home.write(
        "project/wrong.json",
        json!({"replies": [{"action": {"type": "nope"}}]}).to_string(),
    );
    for line in [
        "run --model scripted:cut.json hello",
        "run --model scripted:wrong.json hello",
        "run --model scripted:missing.json hello",
        "run --model nosuch:x hello",
        "run --model openai hello",
        "run --model openai:x hello",
        "run --skill nope hello",
        "run --file nope.txt hello",
        "run --allow run_scripd=* hello",
        "run --agent nope hello",
        "chat --model scripted:cut.json",
        "exec pdf scripts/nope.sh",
        "exec nosuch scripts/go.sh",
        "exec pdf ../../etc/passwd",
        "read pdf nope.md",
        "read pdf ../nope.md",
        "files nosuch",
        "inspect pdv",
        "check nosuch",
        "scan nosuch",
        "new Pdf -d x",
        "install ./nosuch",
        "install ./no.zip",
        "install ./wrong.json",
        "install https://127.0.0.1:1/a.zip",
        "install --yes https://127.0.0.1:1/a.zip",
        "install --yes git+https://127.0.0.1:1/a.git",
        "install --yes oci://127.0.0.1:1/a:b",
        "update nosuch",
        "uninstall nosuch",
        "verify nosuch",
        "import nosuch",
        "pack nosuch",
        "sign nosuch.zip",
        "keys trust nosuch.pub",
        "keys trust no.zip",
        "resume nosuch",
        "replay nosuch",
        "audit verify nosuch",
        "export --atif nosuch",
        "restore nosuch",
        "eval",
        "eval nosuch",
        "eval wrong.json",
        "eval show nosuch",
        "eval compare nosuch other",
        "models test --model openai:x",
        "trust nosuch",
        "requests show nosuch",
        "permissions forget nosuch",
        "config set budgets.turns x",
        "config set model nosuch:x",
        "explain load_skill nosuch",
        "explain run_script",
        "-C nosuch list",
        "list --root nosuch",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let output = home.run(METIER, &args);
        let given = [home.path().to_str().unwrap_or_default(), "127.0.0.1:1"];
        assert_said_once(&output, &given, line);
    }
}
