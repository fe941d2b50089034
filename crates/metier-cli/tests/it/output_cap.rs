//! `execution.max_output_chars`: one cap on what is shown of a script or a command, whichever way it is
//! run, and one note that counts all that is missing and says where it is.

use std::path::Path;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, events, holds_scripts, is_sound, last_run, of_type, project, run_scripted,
    script, select,
};
use crate::support::{run, run_on_terminal};

/// Lines that the script prints on each of its streams.
const LINES: usize = 2000;

/// A project with a skill that prints more than `cap` characters.
fn printing(cap: usize) -> TestHome {
    let home = project();
    let rules = json!([
        {"permission": "run_script", "pattern": "*", "effect": "allow"},
        {"permission": "run_command", "pattern": "*", "effect": "allow"}
    ]);
    let config = json!({"execution": {"max_output_chars": cap}, "permissions": rules});
    home.write("home/.agent/config.json", config.to_string());
    let skill = "home/.agents/skills/print";
    let head = "---\nname: print\ndescription: Prints much.\n---\nPrint.\n";
    home.write(&format!("{skill}/SKILL.md"), head);
    let both = format!(
        "i=0\nwhile [ $i -lt {LINES} ]; do echo \"out line number $i\"; echo \"err line number $i\" >&2; \
         i=$((i+1)); done\n"
    );
    home.write(&format!("{skill}/scripts/both.sh"), both);
    home
}

/// What the notes in a text say is missing, in characters and lines.
fn said(text: &str) -> (usize, usize) {
    let mut said = (0, 0);
    for line in text.lines().filter(|line| line.starts_with('[') && line.contains(" left out")) {
        let numbers = line.trim_start_matches('[').split(" left out").next().expect("a note");
        let mut numbers = numbers.split(", ").map(|part| {
            part.split(' ').next().expect("a number").parse::<usize>().expect("a number")
        });
        said.0 += numbers.next().expect("characters");
        said.1 += numbers.next().unwrap_or(0);
    }
    said
}

/// The text holds at most `cap` characters, and what it says and what it shows is all of it.
fn is_true(text: &str, streams: &[&str], cap: usize, place: &Path) {
    assert!(text.chars().count() <= cap, "{} of {cap}: {text}", text.chars().count());
    let is_ours =
        |line: &&str| streams.iter().any(|stream| line.starts_with(&format!("{stream} line")));
    let visible: Vec<&str> = text.lines().filter(is_ours).collect();
    let (chars, lines) = said(text);
    assert_eq!(visible.len() + lines, LINES * streams.len(), "{text}");
    let printed: usize = (0..LINES).map(|number| format!("out line number {number}\n").len()).sum();
    let shown: usize = visible.iter().map(|line| line.len() + 1).sum();
    assert_eq!(shown + chars, printed * streams.len(), "{text}");
    for stream in streams {
        let last = format!("{stream} line number {}", LINES - 1);
        assert!(
            text.contains(&format!("{stream} line number 0\n")) && text.contains(&last),
            "{text}"
        );
    }
    let paths =
        text.split("all of it: ").skip(1).map(|rest| rest.split(']').next().expect("a path"));
    let paths: Vec<&str> = paths.collect();
    assert_eq!(paths.len(), streams.len(), "{text}");
    for (path, stream) in paths.iter().zip(streams) {
        let whole = std::fs::read_to_string(place.join(path)).expect(path);
        assert_eq!(whole.lines().count(), LINES, "{path}");
        assert!(whole.starts_with(&format!("{stream} line number 0\n")), "{path}");
    }
}

fn exec(home: &TestHome) -> Value {
    let output = run(home, &["exec", "--json", "print", "scripts/both.sh"]);
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn exec_cuts_its_json_at_the_cap_and_passes_all_of_it_on_otherwise() {
    for cap in [1000, 12_000, 30_000] {
        let home = printing(cap);
        if !holds_scripts(&home) {
            return;
        }
        let shown = exec(&home);
        for (stream, name) in [("stdout", "out"), ("stderr", "err")] {
            for text in [&shown[stream], &shown["report"][stream]["text"]] {
                is_true(text.as_str().expect("a text"), &[name], cap, home.path());
            }
            assert_eq!(shown["report"][stream]["truncated"], true);
        }
        let whole = run(&home, &["exec", "print", "scripts/both.sh"]);
        assert_eq!(whole.stdout.lines().count(), LINES, "{}", whole.stdout);
        assert_eq!(said(&whole.stdout), (0, 0));
        let errors = whole.stderr.lines().filter(|line| line.starts_with("err line")).count();
        assert_eq!(errors, LINES, "{}", whole.stderr);
    }
    // With room for all of it nothing is cut, though it is more than is sent while it runs.
    let home = printing(200_000);
    let shown = exec(&home);
    let lines = shown["stdout"].as_str().expect("a text").lines().count();
    assert_eq!((lines, &shown["report"]["stdout"]["truncated"]), (LINES, &json!(false)));
    let whole = run(&home, &["exec", "print", "scripts/both.sh"]);
    assert_eq!(whole.stdout.lines().count(), LINES);
}

#[test]
fn a_run_shows_a_model_no_more_than_the_cap_of_scripts_and_commands() {
    for cap in [1000, 12_000, 30_000] {
        let home = printing(cap);
        if !holds_scripts(&home) {
            return;
        }
        home.write(
            "project/all.txt",
            (0..LINES)
                .map(|number| format!("out line number {number}\n"))
                .collect::<Vec<_>>()
                .concat(),
        );
        let command = json!({"command": ["sh", "-c", "cat \"$WORKSPACE_DIR/all.txt\""]});
        let replies = json!([
            select(&["print"]),
            script("print", "scripts/both.sh", &[]),
            call("run_command", &command),
            answer("done")
        ]);
        for flags in [&[][..], &["--json"]] {
            let output = run_scripted(&home, &replies, flags);
            assert_eq!(output.code, 0, "{output:?}");
            let events = events(&home);
            let results: Vec<&Value> = of_type(&events, "action.finished")
                .into_iter()
                .filter(|event| event["data"]["exit_code"].is_number())
                .collect();
            assert_eq!(results.len(), 2, "{results:?}");
            for (result, streams) in results.iter().zip([&["out", "err"][..], &["out"]]) {
                let text = match &result["text"] {
                    Value::String(text) => text.clone(),
                    stored => {
                        let file = last_run(&home).join(stored["ref"].as_str().expect("a file"));
                        std::fs::read_to_string(file).expect("a text")
                    }
                };
                is_true(&text, streams, cap, &home.project());
                assert_eq!(result["truncated"], true);
                let data = result["data"]["stdout"].as_str().expect("a text");
                is_true(data, &["out"], cap, &home.project());
            }
            is_sound(&home);
        }
    }
}

#[test]
fn the_terminal_counts_the_lines_that_it_does_not_show() {
    let home = printing(1000);
    if !holds_scripts(&home) {
        return;
    }
    let replies =
        json!([select(&["print"]), script("print", "scripts/both.sh", &[]), answer("done")]);
    let model = crate::run_support::scripted(&home, &replies);
    let terminal = run_on_terminal(&home, &["run", "do it", "--model", model], "");
    let Some(output) = terminal.map(|output| output.stdout) else { return };
    // What is drawn while the script runs is written over by its first eight lines.
    let more = format!("... {} more lines", 2 * LINES - 8);
    assert!(output.contains(&more), "{output}");
}
