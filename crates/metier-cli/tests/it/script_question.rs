//! The question about a script, in `run`, `chat` and `exec` on a terminal: what it says, what can be typed,
//! and what an "always" is remembered for.

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_support::{
    answer, events, holds_scripts, of_type, project, run_scripted, script, scripted, select,
};
use crate::run_terminal::Terminal;
use crate::support::{run, run_in};

const QUESTION: &str = "[e]xplain:";
const SKILL: &str = "home/.agents/skills/count";

/// A project with a table and a skill that counts its lines.
fn counting() -> TestHome {
    let home = project();
    home.write(
        &format!("{SKILL}/SKILL.md"),
        "---\nname: count\ndescription: Counts lines of a table.\n---\n# Count\n",
    );
    home.write(&format!("{SKILL}/scripts/count.sh"), "# counts what it is given\nwc -l < \"$1\"\n");
    home.write("project/table.csv", "a\n1\n2\n");
    home.write("project/other.csv", "a\n1\n");
    home
}

/// Works at a terminal: types each of the keys when a question stands there. Returns what was seen, how
/// often it was asked and the exit code; nothing where there is no terminal.
fn at_terminal(home: &TestHome, args: &[&str], keys: &[&str]) -> Option<(String, usize, i32)> {
    let mut terminal = Terminal::start(home, args)?;
    for (at, key) in keys.iter().enumerate() {
        terminal.until(QUESTION, at + 1);
        terminal.types(key);
    }
    let (seen, code) = terminal.end();
    let asked = seen.matches(QUESTION).count();
    Some((seen, asked, code))
}

/// The ways in which a script is asked for, each with a table as its argument.
fn ways(home: &TestHome, table: &str) -> Vec<Vec<String>> {
    let replies =
        json!([select(&["count"]), script("count", "scripts/count.sh", &[table]), answer("done")]);
    let model = scripted(home, &replies);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        words(&["run", "count it", "--model", model]),
        words(&["exec", "count", "scripts/count.sh", "--", table]),
    ]
}

fn ask(home: &TestHome, way: &[String], keys: &[&str]) -> Option<(String, usize, i32)> {
    let words: Vec<&str> = way.iter().map(String::as_str).collect();
    at_terminal(home, &words, keys)
}

#[test]
fn always_for_exactly_this_holds_for_a_file_and_for_nothing_else() {
    for at in 0..2 {
        let home = counting();
        if !holds_scripts(&home) {
            return;
        }
        let way = ways(&home, "table.csv").remove(at);
        let Some((seen, asked, code)) = ask(&home, &way, &["a\n"]) else { return };
        assert_eq!((asked, code), (1, 0), "{seen}");
        for _ in 0..2 {
            let (seen, asked, code) = ask(&home, &way, &[]).expect("a terminal");
            assert_eq!((asked, code), (0, 0), "it is not asked again: {seen}");
        }
        let other = ways(&home, "other.csv").remove(at);
        let (seen, asked, _) = ask(&home, &other, &["y\n"]).expect("a terminal");
        assert_eq!(asked, 1, "another file is another request: {seen}");
        let listed = run(&home, &["permissions"]).stdout;
        assert!(listed.contains("table.csv"), "{listed}");
    }
}

#[test]
fn always_for_this_script_holds_for_all_arguments_until_the_skill_changes() {
    for at in 0..2 {
        let home = counting();
        if !holds_scripts(&home) {
            return;
        }
        home.write(&format!("{SKILL}/scripts/other.sh"), "echo other\n");
        let way = ways(&home, "table.csv").remove(at);
        let Some((seen, asked, code)) = ask(&home, &way, &["s\n"]) else { return };
        assert_eq!((asked, code), (1, 0), "{seen}");
        for table in ["table.csv", "other.csv"] {
            for way in ways(&home, table) {
                let (seen, asked, code) = ask(&home, &way, &[]).expect("a terminal");
                assert_eq!((asked, code), (0, 0), "{way:?}: {seen}");
            }
        }
        let listed = run(&home, &["permissions"]).stdout;
        assert!(listed.contains("scripts/count.sh with any arguments"), "{listed}");
        let other = run(&home, &["exec", "count", "scripts/other.sh"]);
        assert_eq!(other.code, 3, "another script is asked about: {other:?}");
        home.write(&format!("{SKILL}/scripts/count.sh"), "echo changed\n");
        let (seen, asked, _) = ask(&home, &way, &["n no\n"]).expect("a terminal");
        assert_eq!(asked, 1, "another content is asked about: {seen}");
    }
}

#[test]
fn the_question_says_where_an_always_holds_and_it_holds_there() {
    for (skill, place, elsewhere) in [
        ("home/.agents/skills", "in every folder", 0),
        ("project/.agent/skills", "in this folder", 1),
    ] {
        for key in ["a\n", "s\n"] {
            let home = counting();
            if !holds_scripts(&home) {
                return;
            }
            for folder in [skill, "other/.agent/skills"] {
                // The same skill, byte by byte, in another project.
                if folder.starts_with("home") || skill.starts_with("project") {
                    home.write(
                        &format!("{folder}/say/SKILL.md"),
                        "---\nname: say\ndescription: Says a word.\n---\n# Say\n",
                    );
                    home.write(&format!("{folder}/say/scripts/say.sh"), "echo said\n");
                }
            }
            home.write("other/a.txt", "other\n");
            let other = home.path().join("other");
            let other = other.to_str().expect("a text");
            for folder in ["project", "other"] {
                run_in(&home, folder, &["trust", "--yes"]);
            }
            let words = ["exec", "say", "scripts/say.sh"];
            let Some((seen, asked, code)) = at_terminal(&home, &words, &[key]) else { return };
            assert_eq!((asked, code), (1, 0), "{seen}");
            assert!(seen.replace("\r\n", "").contains(place), "{seen}");
            let (seen, asked, _) = at_terminal(&home, &words, &[]).expect("a terminal");
            assert_eq!(asked, 0, "{seen}");
            let words = [&["-C", other][..], &words].concat();
            let code = run(&home, &words).code;
            assert_eq!(code, if elsewhere == 0 { 0 } else { 3 }, "{skill} {key}");
            let listed = run(&home, &["permissions"]).stdout;
            assert_eq!(listed.contains("everywhere"), elsewhere == 0, "{listed}");
        }
    }
}

#[test]
fn a_script_that_changes_while_it_is_asked_about_is_changed() {
    let home = counting();
    if !holds_scripts(&home) {
        return;
    }
    for key in ["y\n", "a\n"] {
        let words = ["exec", "count", "scripts/count.sh"];
        let Some(mut terminal) = Terminal::start(&home, &words) else { return };
        terminal.until(QUESTION, 1);
        home.write(&format!("{SKILL}/scripts/count.sh"), format!("echo changed {key}"));
        terminal.types(key);
        let (seen, code) = terminal.end();
        assert_eq!(code, 1, "{seen}");
        assert!(seen.contains("changed after it was approved"), "{seen}");
    }
    let way = ways(&home, "table.csv").remove(0);
    let words: Vec<&str> = way.iter().map(String::as_str).collect();
    let Some(mut terminal) = Terminal::start(&home, &words) else { return };
    terminal.until(QUESTION, 1);
    home.write(&format!("{SKILL}/scripts/count.sh"), "echo changed again\n");
    terminal.types("y\n");
    terminal.end();
    let events = events(&home);
    let last = of_type(&events, "action.finished").last().expect("a script").to_string();
    assert!(last.contains("\"Changed\"") && !last.contains("skill-changed"), "{last}");
}

#[test]
fn a_chat_remembers_the_answer_and_so_does_the_next_one() {
    let home = counting();
    if !holds_scripts(&home) {
        return;
    }
    for (key, questions) in [(Some("s\n"), 1), (None, 0)] {
        let Some(mut terminal) = Terminal::start(&home, &["chat"]) else { return };
        terminal.until(">", 1);
        terminal.types("summarise examples/sales.csv by region\n");
        if let Some(key) = key {
            terminal.until(QUESTION, 1);
            terminal.types(key);
        }
        terminal.until("No language model was used", 1);
        terminal.until("(metier show)", 1);
        terminal.types("summarise examples/sales.csv by product\n");
        terminal.until("No language model was used", 2);
        let (seen, _) = terminal.end_by("\u{4}");
        assert_eq!(seen.matches(QUESTION).count(), questions, "{seen}");
    }
}

#[test]
fn the_question_says_what_the_script_may_touch_and_shows_its_text() {
    let home = counting();
    if !holds_scripts(&home) {
        return;
    }
    for way in ways(&home, "table.csv") {
        let Some((seen, _, code)) = ask(&home, &way, &["e\n", "what?\n", "\n", "y\n"]) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        for part in [
            "its skill is",
            "/.agents/skills/count (user)",
            "/project, changes nothing there; no network; nothing else of your home directory; 60 s at most",
            "# counts what it is given",
            "`what?` is not an answer: type `y` yes, `a` always, `s` always for this script",
            "nothing was typed: type `y` yes",
        ] {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        // The text comes with `e`, not unasked.
        let before = seen.split(QUESTION).next().expect("a text");
        assert!(!before.contains("counts what it is given"), "{seen}");
    }
    home.write(
        "project/.agents/skills/clone/SKILL.md",
        "---\nname: clone\ndescription: Cloned.\n---\n",
    );
    home.write("project/.agents/skills/clone/scripts/run.sh", "echo cloned\n");
    assert_eq!(run(&home, &["trust", "--yes", "."]).code, 0);
    let way = ["exec", "clone", "scripts/run.sh"];
    let (seen, _, _) = at_terminal(&home, &way, &["y\n"]).expect("a terminal");
    assert!(seen.contains("it came with the project: "), "{seen}");
}

#[test]
fn a_no_takes_its_reason_on_the_same_line() {
    let home = counting();
    if !holds_scripts(&home) {
        return;
    }
    for (typed, words) in [
        ("n because it is the wrong table\n", "it is the wrong table"),
        ("no, use other.csv\n", "use other.csv"),
        ("N other.csv instead\n", "other.csv instead"),
    ] {
        let way = ways(&home, "table.csv").remove(0);
        let Some((seen, asked, _)) = ask(&home, &way, &[typed]) else { return };
        assert_eq!(asked, 1, "{seen}");
        assert!(!seen.contains("Reason, for the model"), "{seen}");
        let events = events(&home);
        let given = of_type(&events, "ask.answered");
        assert_eq!(given.last().expect("an answer")["answer"], json!({"reject": words}));
    }
    let way = ways(&home, "table.csv").remove(1);
    let (seen, _, code) = ask(&home, &way, &["n because not now\n"]).expect("a terminal");
    assert_eq!(code, 3, "{seen}");
}

#[test]
fn nothing_is_asked_about_a_script_that_does_not_exist() {
    let home = counting();
    for (typed, meant) in
        [("scripts/cuont.sh", "scripts/count.sh"), ("count.sh", "scripts/count.sh")]
    {
        let output = run(&home, &["exec", "count", typed]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(&format!("did you mean `{meant}`?")), "{output:?}");
        assert!(!output.stderr.contains("--approve"), "{output:?}");
        let replies = json!([select(&["count"]), script("count", typed, &[]), answer("done")]);
        let output = run_scripted(&home, &replies, &[]);
        assert!(!output.stderr.contains("--approve"), "{output:?}");
        let events = events(&home);
        let finished = of_type(&events, "action.finished");
        let failed = finished.iter().find(|event| event["code"] == "NotFound");
        let text = failed.expect("it is not there")["text"].as_str().expect("a text").to_owned();
        assert!(text.contains(meant), "{text}");
    }
}
