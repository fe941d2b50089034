//! `metier list --watch` as a process of its own, with real changes to real files. Each change is
//! made in one step, by a rename: what a watcher may see of a file that is half written is tested
//! with the registry.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use metier_testkit::{TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{Live, METIER, at};

fn watching(home: &TestHome, args: &[&str]) -> Live {
    let live = Live::start(home.command(METIER).args(["list", "--watch"]).args(args));
    let line = live.stderr_line();
    assert!(line.starts_with("watching "), "{line}");
    live
}

/// Puts a skill's folder into place.
fn add(home: &TestHome, dir: &str, name: &str) {
    let made = home.skill(&format!("staged/{name}"), name, "Was not there.");
    std::fs::rename(made, home.path().join(dir)).expect("renames");
}

/// Puts another `SKILL.md` into a skill's place.
fn replace(home: &TestHome, dir: &str, text: &str) {
    let made = home.write("staged/SKILL.md", text);
    std::fs::rename(made, home.path().join(dir).join("SKILL.md")).expect("renames");
}

fn remove(home: &TestHome, dir: &str) {
    std::fs::create_dir_all(home.path().join("staged")).expect("directories");
    std::fs::rename(home.path().join(dir), home.path().join("staged/gone")).expect("renames");
}

#[test]
fn changes_are_printed_as_they_happen() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/old", "old", "Was there.");
    let live = watching(&home, &[]);
    add(&home, "project/.agents/skills/new", "new");
    assert_eq!(home.scrub(&live.line()), "+ added   project:new  [T]/project/.agents/skills/new");
    replace(&home, "project/.agents/skills/new", &skill_text("new", "Says something else."));
    assert_eq!(home.scrub(&live.line()), "~ changed project:new  [T]/project/.agents/skills/new");
    remove(&home, "project/.agents/skills/old");
    assert_eq!(home.scrub(&live.line()), "- removed project:old  [T]/project/.agents/skills/old");
    assert_eq!(live.end(), [""; 0], "and nothing else");
}

#[test]
fn in_json_each_change_is_a_line() {
    let home = TestHome::new();
    // The root itself is made after the watch began.
    let live = watching(&home, &["--json", "--root", &at(&home, "later")]);
    let line = || -> Value { serde_json::from_str(&home.scrub(&live.line())).expect("JSON") };
    let change = |kind: &str| json!({ "change": kind, "id": "explicit:new", "name": "new", "path": "[T]/later/new" });
    home.skill("made/new", "new", "Was not there.");
    std::fs::rename(home.path().join("made"), home.path().join("later")).expect("renames");
    assert_eq!(line(), change("added"));
    replace(&home, "later/new", &skill_text("new", "Says something else."));
    assert_eq!(line(), change("changed"));
    remove(&home, "later/new");
    assert_eq!(line(), change("removed"));
    assert_eq!(live.end(), [""; 0]);
}

#[test]
fn a_skill_that_breaks_is_removed_and_its_rival_comes_back() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("project/.agents/skills/sheet", "sheet", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    let live = watching(&home, &[]);
    replace(&home, "project/.agents/skills/sheet", "no frontmatter");
    assert!(live.line().starts_with("- removed project:sheet"));
    replace(&home, "project/.agents/skills/pdf", "no frontmatter");
    assert_eq!(home.scrub(&live.line()), "- removed project:pdf  [T]/project/.agents/skills/pdf");
    assert_eq!(home.scrub(&live.line()), "+ added   user:pdf  [T]/home/.agents/skills/pdf");
    assert_eq!(live.end(), [""; 0]);
}

/// Each watcher follows one source and hears of its own half, once and no more.
#[test]
fn a_removal_that_uncovers_a_rival_is_reported_to_both_sources() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    let project = watching(&home, &["--source", "project"]);
    let user = watching(&home, &["--source", "user"]);
    let pdf = "project/.agents/skills/pdf";
    remove(&home, pdf);
    assert_eq!(home.scrub(&project.line()), format!("- removed project:pdf  [T]/{pdf}"));
    assert_eq!(home.scrub(&user.line()), "+ added   user:pdf  [T]/home/.agents/skills/pdf");
    std::fs::rename(home.path().join("staged/gone"), home.path().join(pdf)).expect("renames");
    assert_eq!(home.scrub(&project.line()), format!("+ added   project:pdf  [T]/{pdf}"));
    assert_eq!(home.scrub(&user.line()), "- removed user:pdf  [T]/home/.agents/skills/pdf");
    assert_eq!((project.end(), user.end()), (vec![], vec![]), "and nothing else");
}

#[test]
fn a_broken_skill_that_is_fixed_is_reported_before_the_slow_poll() {
    let home = TestHome::new();
    home.write("project/.agents/skills/draft/SKILL.md", "no frontmatter");
    let live = watching(&home, &[]);
    let start = Instant::now();
    replace(&home, "project/.agents/skills/draft", &skill_text("draft", "Done."));
    assert!(live.line().starts_with("+ added   project:draft"));
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

#[test]
fn only_the_source_that_was_asked_for_is_watched() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/theirs", "theirs", "The user's.");
    home.skill("project/.agents/skills/ours", "ours", "The project's.");
    let live = watching(&home, &["--source", "project"]);
    add(&home, "home/.agents/skills/new", "new");
    add(&home, "project/.agents/skills/new", "new");
    assert!(live.line().starts_with("+ added   project:new"));
    assert_eq!(live.end(), [""; 0]);
}

#[test]
fn a_reader_that_goes_away_ends_the_watch() {
    for format in [&[][..], &["--json"]] {
        let home = TestHome::new();
        home.skill("project/.agents/skills/old", "old", "Was there.");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = home.command(METIER);
        command.args(["list", "--watch"]).args(format).stdout(writer).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        // The command keeps a copy of the writing end.
        drop(command);
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("reads");
        assert!(line.starts_with("watching "), "{line}");
        drop(reader);
        // A process that another test is just starting may hold the reading end for a moment, so
        // that one write more is needed.
        let mut round = 0;
        let status = loop {
            replace(&home, "project/.agents/skills/old", &skill_text("old", &round.to_string()));
            std::thread::sleep(Duration::from_millis(100));
            if let Some(status) = child.try_wait().expect("a status") {
                break status;
            }
            round += 1;
            assert!(round < 600, "the watch continues without a reader");
        };
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).expect("ends");
        assert_eq!((status.code(), &*rest), (Some(0), ""));
    }
}
