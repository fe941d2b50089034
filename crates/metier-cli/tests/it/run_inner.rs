//! A skill that works in a loop of its own, through the binary: its questions, its record, and what
//! happens when the process is killed or interrupted inside it.

use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::recorded_run::open_anchor;
use crate::run_server::{Answer, Asked, DIALECTS, Dialect, Server};
use crate::run_support::{
    answer, codes, events, events_in, holds_scripts, is_sound, last_run, of_type, printed_approval,
    project, script, select,
};
use crate::support::run;

const DIALECT: Dialect = DIALECTS[0];

/// A skill that runs as a subagent, with a script; a model that lets it work and tells what it found.
fn delegating() -> (TestHome, Server) {
    let home = project();
    home.write(
        "home/.agents/skills/deep/SKILL.md",
        "---\nname: deep\ndescription: Looks deeply.\nrun-mode: subagent\n---\nRun the script.\n",
    );
    home.write("home/.agents/skills/deep/scripts/look.sh", "echo a deep look\n");
    let server = Server::start(|_, asked| decide(asked));
    DIALECT.configure(&home, &server.url(), &json!({}));
    (home, server)
}

/// What the model says follows from what it is shown, so that it is the same after a kill.
fn decide(asked: &Asked) -> Answer {
    let body: Value = serde_json::from_str(&asked.body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    let said = messages.iter().filter(|message| message["role"] == "assistant").count();
    let is_inner = asked.body.contains("You work on this with the skill");
    let decision = match (is_inner, said) {
        (true, 0) => script("deep", "scripts/look.sh", &[]),
        (true, _) => answer("Inside I found it."),
        (false, 0) => select(&["deep"]),
        (false, _) => answer("The whole answer."),
    };
    DIALECT.decides(&decision)
}

/// The folder of the loop inside a run.
fn inner(run: &Path) -> PathBuf {
    let list = std::fs::read_dir(run.join("inner")).expect("a loop inside");
    let mut folders = list.map(|entry| entry.expect("an entry").path());
    folders.find(|path| path.is_dir()).expect("a folder")
}

#[test]
fn a_question_inside_is_answered_by_the_printed_command() {
    let (home, server) = delegating();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "look deeply"]);
    assert_eq!(output.code, 3, "{output:?}");
    let words = printed_approval(&output);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let resumed = run(&home, &words);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "The whole answer.\n"), "{resumed:?}");
    is_sound(&home);
    let inside = events_in(&inner(&last_run(&home)));
    assert_eq!(codes(&inside), ["ok", "ok"], "the skill was loaded and its script was run");
    assert_eq!(of_type(&inside, "ask.answered").last().expect("answered")["by"], "approve");
    let asked = server.asked();
    let last = &asked.last().expect("requests").body;
    assert!(
        last.contains("Inside I found it.") && !last.contains("a deep look"),
        "a summary: {last}"
    );
    assert_eq!(codes(&events(&home)), ["ok"]);
}

#[test]
fn killed_at_every_event_inside_the_run_goes_on_to_the_same_end() {
    let (home, _server) = delegating();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "look deeply", "--yes"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "The whole answer.\n"), "{output:?}");
    let folder = last_run(&home);
    let inside = inner(&folder).join("events.jsonl");
    let outside = folder.join("events.jsonl");
    let read = |file: &Path| std::fs::read_to_string(file).expect("a record");
    let (whole_inside, whole_outside) = (read(&inside), read(&outside));
    let lines: Vec<&str> = whole_inside.split_inclusive('\n').collect();
    // Outside, the last thing is that the skill began to work.
    let begun: Vec<&str> = whole_outside.split_inclusive('\n').collect();
    let started = begun.iter().rposition(|line| line.contains("\"action.started\"")).expect("one");
    let mut report = 0;
    for cut in 0..=lines.len() {
        // A process that was killed has not recorded how it ended.
        for file in [&inside, &outside] {
            let _ = std::fs::remove_file(file.with_file_name("run.json"));
        }
        std::fs::write(&outside, begun[..=started].concat()).expect("writes");
        std::fs::write(&inside, lines[..cut].concat()).expect("writes");
        for file in [&inside, &outside] {
            open_anchor(&home.home(), file.parent().expect("a folder"));
        }
        let resumed = run(&home, &["resume", "last", "--yes"]);
        assert_eq!(resumed.stdout, "The whole answer.\n", "killed after {cut}: {resumed:?}");
        let record: Vec<Value> =
            read(&inside).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let interrupted = codes(&record).iter().filter(|code| **code == "Interrupted").count();
        let ran =
            of_type(&record, "action.started").iter().filter(|op| op["op"] == "script").count();
        assert_eq!(ran, 1, "killed after {cut}: nothing is done twice");
        // The one script did not come to its end.
        assert_eq!(usize::try_from(resumed.code), Ok(interrupted), "killed after {cut}");
        report += interrupted;
        is_sound(&home);
    }
    assert_eq!(report, 1, "one cut is inside the script");
}
