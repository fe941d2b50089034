//! An approval that was printed counts once, within a day, for the run that asked and in its
//! workspace; on every way in, and with words that say why it does not.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, events, holds_scripts, is_sound, of_type, printed_approval, project,
    run_scripted, script, select,
};
use crate::support::{METIER, files_below, run, run_in};

const PENDING: &str = ".local/state/metier/pending";
const DAY: u64 = 24 * 60 * 60;

/// A project in which writing asks.
fn asking() -> TestHome {
    let home = project();
    let rule =
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#;
    home.write("home/.agent/config.json", rule);
    home
}

/// A run that waits at its question; gives the printed command.
fn waiting(home: &TestHome) -> Vec<String> {
    let write = call(
        "write_file",
        &json!({"path": "out.txt", "content": "written", "expected_sha256": null}),
    );
    let output = run_scripted(home, &json!([write, answer("done")]), &[]);
    assert_eq!(output.code, 3, "{output:?}");
    printed_approval(&output)
}

fn paste(home: &TestHome, dir: &str, words: &[String]) -> Output {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run_in(home, dir, &words)
}

fn pending(home: &TestHome) -> Vec<PathBuf> {
    let list = std::fs::read_dir(home.home().join(PENDING)).expect("a folder");
    list.map(|entry| entry.expect("an entry").path()).collect()
}

/// Lets so many seconds go by for every question that is open; a question from before has none.
fn later(home: &TestHome, seconds: i64) {
    for file in pending(home) {
        let text = std::fs::read(&file).expect("a note");
        let Ok(mut note) = serde_json::from_slice::<Value>(&text) else { continue };
        let asked = note["asked_at"].as_i64().expect("a time");
        note["asked_at"] = json!(asked - seconds);
        std::fs::write(&file, note.to_string()).expect("writes");
    }
}

/// It was refused with these words, and nothing was done.
fn refused(home: &TestHome, output: &Output, because: &str) {
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stderr.contains(because), "{because}: {output:?}");
    assert!(!output.stderr.contains("--approve sha256"), "no new one is printed: {output:?}");
    assert!(!home.project().join("out.txt").exists());
    assert!(!home.path().join("other/out.txt").exists());
}

#[test]
fn an_approval_of_a_run_is_too_old_after_a_day_and_is_asked_for_again() {
    let home = asking();
    let words = waiting(&home);
    later(&home, i64::try_from(40 * DAY).expect("days"));
    for _ in 0..2 {
        refused(&home, &paste(&home, "project", &words), "it is older than a day");
    }
    let anew = run(&home, &["resume", "last"]);
    assert_eq!(anew.code, 3, "{anew:?}");
    let words = printed_approval(&anew);
    // Nearly a day is not a day.
    later(&home, i64::try_from(DAY - 600).expect("a day"));
    assert_eq!(paste(&home, "project", &words).code, 0);
    assert!(home.project().join("out.txt").exists());
    let asked = events(&home);
    assert_eq!(of_type(&asked, "ask.answered").last().expect("answered")["by"], "approve");
    is_sound(&home);
}

#[test]
fn a_note_from_the_future_does_not_count() {
    let home = asking();
    let words = waiting(&home);
    later(&home, -3600);
    refused(&home, &paste(&home, "project", &words), "it is older than a day");
}

#[test]
fn an_approval_counts_in_the_workspace_where_it_was_asked_for() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    // A request without a path is the same in every workspace.
    home.skill("home/.agents/skills/work", "work", "Works.");
    let trace = "echo ran >> \"$SKILL_DATA_DIR/trace\"\n";
    home.write("home/.agents/skills/work/scripts/run.sh", trace);
    let replies = json!([select(&["work"]), script("work", "scripts/run.sh", &[]), answer("done")]);
    let words = printed_approval(&run_scripted(&home, &replies, &[]));
    let mut copy = Command::new("cp");
    copy.args(["-r", "project", "other"]).current_dir(home.path());
    assert!(copy.status().expect("cp").success());
    let has_run = || {
        let files = files_below(&home.home().join(".local/state/metier"));
        files.iter().any(|file| file.ends_with("trace"))
    };
    for _ in 0..2 {
        let output = paste(&home, "other", &words);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("you did not begin the run"), "{output:?}");
        assert!(!has_run());
    }
    assert_eq!(paste(&home, "project", &words).code, 0, "its own is untouched");
    assert!(has_run());
}

#[test]
fn two_runs_that_ask_the_same_have_an_approval_each() {
    let home = asking();
    let (first, second) = (waiting(&home), waiting(&home));
    assert_eq!(first[3], second[3], "one request, one digest");
    assert_eq!(pending(&home).len(), 2);
    assert_eq!(paste(&home, "project", &first).code, 0);
    assert_eq!(paste(&home, "project", &first).code, 1, "the run has ended");
    std::fs::remove_file(home.project().join("out.txt")).expect("written");
    // The second run's own question is gone; the digest of another run's does not stand in for it.
    let third = waiting(&home);
    let own = pending(&home).into_iter().find(|file| {
        let text = std::fs::read_to_string(file).expect("a note");
        text.contains(second[1].as_str())
    });
    std::fs::remove_file(own.expect("a note of the second run")).expect("removes");
    refused(&home, &paste(&home, "project", &second), "it is for another run");
    assert_eq!(paste(&home, "project", &third).code, 0);
    std::fs::remove_file(home.project().join("out.txt")).expect("written");
    refused(&home, &paste(&home, "project", &second), "it was used already");
}

#[test]
fn a_note_that_was_copied_to_another_runs_name_lets_nothing_pass() {
    let home = asking();
    let (first, second) = (waiting(&home), waiting(&home));
    let notes = pending(&home);
    let of = |words: &[String]| {
        let is_its = |file: &&PathBuf| {
            std::fs::read_to_string(file).expect("a note").contains(words[1].as_str())
        };
        notes.iter().find(is_its).expect("a note").clone()
    };
    std::fs::copy(of(&first), of(&second)).expect("copies");
    refused(&home, &paste(&home, "project", &second), "the approval does not count");
}

#[test]
fn what_exec_asked_for_counts_within_a_day_in_its_workspace_and_once() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    std::fs::create_dir_all(home.path().join("other/.git")).expect("a folder");
    home.skill("home/.agents/skills/work", "work", "Works.");
    home.write("home/.agents/skills/work/scripts/run.sh", "echo ran\n");
    let exec = ["exec", "work", "scripts/run.sh"];
    let asked = |dir: &str| printed_approval(&run_in(&home, dir, &exec));
    let words = asked("project");
    refused(&home, &paste(&home, "other", &words), "it is for another workspace, ");
    later(&home, i64::try_from(40 * DAY).expect("days"));
    refused(&home, &paste(&home, "project", &words), "it is older than a day");
    let words = asked("project");
    assert_eq!(paste(&home, "project", &words).stdout, "ran\n");
    for _ in 0..2 {
        refused(&home, &paste(&home, "project", &words), "it was used already");
    }
    // The other workspace's own approval is not used up by that.
    let (here, there) = (asked("project"), asked("other"));
    assert_eq!(here, there);
    for dir in ["project", "other"] {
        assert_eq!(paste(&home, dir, &here).stdout, "ran\n", "{dir}");
    }
}

#[test]
fn what_a_chat_left_open_is_bound_like_any_other() {
    let home = asking();
    let write = call(
        "write_file",
        &json!({"path": "out.txt", "content": "written", "expected_sha256": null}),
    );
    home.write("project/model.json", json!({"replies": [write, answer("done")]}).to_string());
    let mut chat = home.command(METIER);
    let piped = chat.args(["chat", "--model", "scripted:model.json"]).stdin(Stdio::piped());
    let mut child = piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    writeln!(child.stdin.take().expect("piped"), "do it").expect("types");
    let ended = child.wait_with_output().expect("ends");
    let output = Output {
        stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        code: ended.status.code().unwrap_or(-1),
    };
    assert_eq!(output.code, 3, "{output:?}");
    let words = printed_approval(&output);
    later(&home, i64::try_from(40 * DAY).expect("days"));
    refused(&home, &paste(&home, "project", &words), "it is older than a day");
}

#[test]
fn old_notes_are_swept_up() {
    let home = asking();
    waiting(&home);
    later(&home, i64::try_from(40 * DAY).expect("days"));
    home.write(&format!("home/{PENDING}/sha256-damaged"), "{");
    waiting(&home);
    assert_eq!(pending(&home).len(), 1, "{:?}", pending(&home));
}
