//! A skill that changes between the index that a run pinned and its load: reported, and refused where
//! its frontmatter changed.

use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_server::{DIALECTS, Dialect, Server};
use crate::run_support::{
    answer, codes, events, holds_scripts, is_sound, of_type, project, resource, script, select,
};
use crate::support::run;

const DIALECT: Dialect = DIALECTS[0];

fn text(tools: &str, body: &str) -> String {
    format!("---\nname: work\ndescription: Works.\n{tools}---\n{body}\n")
}

fn with_skill() -> (TestHome, PathBuf) {
    let home = project();
    home.write("home/.agents/skills/work/notes.md", "a note\n");
    home.write("home/.agents/skills/work/scripts/run.sh", "echo it ran\n");
    let file =
        home.write("home/.agents/skills/work/SKILL.md", text("allowed-tools: Read\n", "First."));
    (home, file)
}

/// Runs these decisions; before the model gives the one at `at`, the skill is changed.
fn changed_before(
    home: &TestHome,
    turns: Vec<Value>,
    at: usize,
    change: impl Fn() + Send + Sync + 'static,
) -> (Vec<Value>, Vec<String>) {
    let last = turns.len() - 1;
    let server = Server::start(move |number, _| {
        if number == at {
            change();
        }
        DIALECT.decides(&turns[number.min(last)])
    });
    DIALECT.configure(home, &server.url(), &json!({}));
    let output = run(home, &["run", "do it", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    is_sound(home);
    (events(home), server.asked().into_iter().map(|asked| asked.body).collect())
}

fn write(file: &Path, words: &str) {
    std::fs::write(file, words).expect("writes");
}

#[test]
fn a_changed_body_is_loaded_and_reported() {
    for keeps_time in [false, true] {
        let (home, file) = with_skill();
        let change = move || {
            let before = std::fs::metadata(&file).and_then(|data| data.modified()).expect("a time");
            write(&file, &text("allowed-tools: Read\n", "Second words."));
            if keeps_time {
                let opened = std::fs::File::options().write(true).open(&file).expect("opens");
                opened.set_modified(before).expect("sets the time");
            }
        };
        let turns = vec![select(&["work"]), answer("x")];
        let (events, asked) = changed_before(&home, turns, 0, change);
        assert_eq!(codes(&events), ["ok"]);
        let report = of_type(&events, "skill.changed");
        assert_eq!(report.len(), 1, "{keeps_time}");
        assert_eq!(
            (&report[0]["skill"], &report[0]["loaded"]),
            (&json!("user:work"), &json!(true))
        );
        assert!(asked[1].contains("Second words."), "what is shown is what was read");
        assert!(asked[1].contains("modified after the run began"), "{}", asked[1]);
        let shown = run(&home, &["show", "last"]);
        assert!(
            shown.stdout.contains("user:work") && shown.stdout.contains("changed"),
            "{shown:?}"
        );
    }
}

#[test]
fn a_changed_frontmatter_is_refused() {
    for way in ["in place", "by rename", "by subagent"] {
        let (home, file) = with_skill();
        if way == "by subagent" {
            write(&file, &text("allowed-tools: Read\nrun-mode: subagent\n", "First."));
        }
        let change = move || {
            let words = text("", "Second words.");
            if way == "by rename" {
                let aside = file.with_file_name("new");
                write(&aside, &words);
                std::fs::rename(aside, &file).expect("renames");
            } else {
                write(&file, &words);
            }
        };
        let turns = vec![select(&["work"]), answer("x")];
        let (events, asked) = changed_before(&home, turns, 0, change);
        assert_eq!(codes(&events), ["Changed"], "{way}");
        let report = of_type(&events, "skill.changed");
        assert_eq!((report.len(), &report[0]["loaded"]), (1, &json!(false)), "{way}");
        assert!(asked.iter().all(|body| !body.contains("Second words.")), "{way}");
    }
}

#[test]
fn after_its_load_a_changed_frontmatter_stops_its_files_and_scripts() {
    let (home, file) = with_skill();
    write(&file, &text("allowed-tools: Read Bash\n", "First."));
    if !holds_scripts(&home) {
        return;
    }
    let change = move || write(&file, &text("", "Second words."));
    let turns = vec![
        select(&["work"]),
        script("work", "scripts/run.sh", &[]),
        resource("work", "notes.md"),
        script("work", "scripts/run.sh", &[]),
        resource("work", "notes.md"),
        answer("x"),
    ];
    let (events, _) = changed_before(&home, turns, 3, change);
    assert_eq!(codes(&events), ["ok", "ok", "ok", "Changed", "Changed"]);
}

#[test]
fn an_unchanged_skill_is_not_called_changed() {
    let (home, _) = with_skill();
    let turns = vec![select(&["work"]), answer("x")];
    let (events, asked) = changed_before(&home, turns, 9, || {});
    assert_eq!(codes(&events), ["ok"]);
    assert!(of_type(&events, "skill.changed").is_empty());
    assert!(!asked[1].contains("modified after the run began"));
}

#[test]
fn a_resumed_run_reports_what_changed_since_it_began() {
    let (home, file) = with_skill();
    let fault = json!({"replies": [{"fault": "unauthorized", "message": "no key"}]});
    home.write("project/model.json", fault.to_string());
    let started = run(&home, &["run", "do it", "--model", "scripted:model.json"]);
    assert_eq!(started.code, 1, "{started:?}");
    write(&file, &text("allowed-tools: Read\n", "Second words."));
    let replies = json!({"replies": [select(&["work"]), answer("x")]});
    home.write("project/model.json", replies.to_string());
    let resumed = run(&home, &["resume", "last"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let events = events(&home);
    assert_eq!(codes(&events), ["ok"]);
    assert_eq!(of_type(&events, "skill.changed").len(), 1);
    is_sound(&home);
}
