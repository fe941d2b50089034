//! What a program with an agent of its own relies on: approvals as fields, a catalog that mentions no tool of
//! ours, and the example in Python, run for real.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::run_support::{REQUEST, holds_scripts, project};
use crate::support::{METIER, many_skills, run};

#[test]
fn what_needs_approval_carries_the_command_and_the_digest() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let script = ["csv-summary", "scripts/summarise.sh", "--", "examples/sales.csv"];
    let exec = run(&home, &[&["exec", "--json"], &script[..]].concat());
    assert_eq!(exec.code, 3);
    let approval = exec.json()["error"]["approval"].clone();
    let digest = approval["digest"].as_str().expect("a digest").to_owned();
    let command = approval["command"].as_str().expect("a command");
    assert!(
        command.starts_with(&format!("metier exec --approve {digest} csv-summary")),
        "{command}"
    );
    let approved = run(&home, &[&["exec", "--json", "--approve", &digest], &script[..]].concat());
    assert_eq!(approved.code, 0, "{approved:?}");

    let waiting = run(&home, &["run", "--json", REQUEST]);
    assert_eq!(waiting.code, 3);
    let last = waiting.stdout.lines().last().expect("lines");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["type"], "run.finished");
    let command = last["approval"]["command"].as_str().expect("a command");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    assert_eq!(words[3], last["approval"]["digest"].as_str().expect("a digest"));
    let resumed = run(&home, &words);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let done = run(&home, &["run", "--json", "--yes", REQUEST]);
    let last = done.stdout.lines().last().expect("lines");
    assert!(!last.contains("\"approval\""), "nothing is open: {last}");
}

#[test]
fn a_catalog_for_another_program_mentions_no_tool_of_ours() {
    let home = project();
    many_skills(&home, "home/.agents/skills", 60);
    for format in ["lines", "xml", "tool", "awareness", "direct", "json"] {
        for budget in ["100", "400"] {
            let output = run(&home, &["catalog", "--format", format, "--budget", budget]);
            assert_eq!(output.code, 0, "{output:?}");
            assert!(!output.stdout.contains("search_skills"), "{format}: {}", output.stdout);
        }
    }
}

#[test]
fn the_example_in_python_lists_reads_asks_and_runs() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent_skills.py");
    let bin = Path::new(METIER).parent().expect("a folder");
    let path = std::env::join_paths(
        std::iter::once(bin.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("paths");
    for (answer, expected) in [("y\n", "East        5  259"), ("n\n", "The user said no.")] {
        let mut command = home.command("python3");
        command.arg(&example).env("PATH", &path).current_dir(home.project());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            metier_testkit::not_tested_without("python3", "there is no python3");
            return;
        };
        let mut typed = child.stdin.take().expect("piped");
        typed.write_all(answer.as_bytes()).expect("types");
        drop(typed);
        let output = child.wait_with_output().expect("ends");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains(expected), "{output:?}");
        let asked = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(asked.contains("needs approval"), "{asked}");
    }
}
