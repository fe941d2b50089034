//! How a run looks while it works: what is done in plain words, changes of files, the plan, output
//! that is shown once, and the answer last. On a terminal and off it.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, holds_scripts, project, run_scripted, script, scripted, select,
};
use crate::run_terminal::Terminal;
use crate::screen::screen;
use crate::support::run;

const RUN: [&str; 5] = ["run", "do it", "--model", "scripted:model.json", "--yes"];

/// A decision with a plan of two steps.
fn planned(mut decision: Value, first: &str, second: &str) -> Value {
    decision["plan"] = json!({"goal": "Tidy up", "assumptions": [], "constraints": [], "steps": [
        {"id": "s1", "title": "Look around", "status": first},
        {"id": "s2", "title": "Write it down", "status": second},
    ]});
    decision
}

/// A project in which files may be written, and a model that reads, searches, writes and answers.
fn tidying() -> TestHome {
    let home = project();
    home.write("project/README.md", "# Demo\n");
    home.write("project/docs/summary.md", "one\ntwo\n");
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "allow"}]}"#,
    );
    let write = json!({"path": "docs/summary.md", "content": "one\n2\nthree\n"});
    let replies = json!([
        planned(call("read_file", &json!({"path": "README.md"})), "in_progress", "pending"),
        call("grep", &json!({"pattern": "TODO", "path": "examples"})),
        planned(call("write_file", &write), "completed", "in_progress"),
        call("delete_file", &json!({"path": "docs/summary.md"})),
        planned(answer("# Done\n\nNow **three** lines:\n\n- `2`"), "completed", "completed"),
    ]);
    scripted(&home, &replies);
    home
}

/// The lines of a terminal on which the binary ran to its end.
fn seen(home: &TestHome, args: &[&str]) -> Option<Vec<String>> {
    let (bytes, code) = Terminal::start(home, args)?.end_raw();
    assert_eq!(code, 0, "{bytes}");
    Some(screen(&bytes))
}

fn is_denial(line: &str) -> bool {
    line.starts_with("  not allowed ")
}

#[test]
fn every_action_is_a_line_in_plain_words_and_a_step_is_printed_when_it_changes() {
    let home = tidying();
    let output = run(&home, &RUN);
    assert_eq!(output.stdout, "# Done\n\nNow **three** lines:\n\n- `2`\n", "never rendered here");
    let lines: Vec<&str> = output.stderr.lines().filter(|line| !is_denial(line)).collect();
    assert_eq!(
        lines[..lines.len() - 1],
        [
            "plan Tidy up",
            "  [>] Look around",
            "  [ ] Write it down",
            "read README.md",
            "grep \"TODO\" examples",
            "  [x] Look around",
            "  [>] Write it down",
            "write docs/summary.md (+2 -1)",
            "  @@ -1,2 +1,3 @@",
            "   one",
            "  -two",
            "  +2",
            "  +three",
            "delete docs/summary.md",
            "  [x] Write it down",
        ],
        "{output:?}"
    );
}

#[test]
fn on_a_terminal_the_plan_stands_there_once_and_the_answer_is_last_and_rendered() {
    let home = tidying();
    let Some(lines) = seen(&home, &RUN) else { return };
    let text = lines.join("\n");
    assert_eq!(text.matches("plan Tidy up").count(), 1, "{text}");
    assert_eq!(text.matches("Write it down").count(), 1, "{text}");
    let end = "  [x] Look around\n  [x] Write it down\n\nDone\n\nNow three lines:\n\n• 2\nrun ";
    assert!(text.contains(end), "{text}");
    assert!(text.contains("write docs/summary.md (+2 -1)\n  @@ -1,2 +1,3 @@\n"), "{text}");
    assert!(!text.contains("deciding"), "what was being done is gone: {text}");
}

#[test]
fn without_colour_the_answer_is_as_it_was_written_and_lines_are_still_written_over() {
    let home = tidying();
    let Some(lines) = seen(&home, &[&RUN[..], &["--color", "never"]].concat()) else { return };
    let text = lines.join("\n");
    assert!(text.contains("# Done\n\nNow **three** lines:\n\n- `2`\n"), "{text}");
    assert_eq!(text.matches("plan Tidy up").count(), 1, "{text}");
}

/// A skill whose script prints twelve lines.
fn printing(end: &str) -> TestHome {
    let home = project();
    home.skill("home/.agents/skills/talk", "talk", "Talks.");
    let text = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n.; done\n";
    home.write("home/.agents/skills/talk/scripts/talk.sh", text);
    let script = script("talk", "scripts/talk.sh", &[]);
    scripted(&home, &json!([select(&["talk"]), script, answer(end)]));
    home
}

#[test]
fn output_that_the_answer_repeats_is_printed_once_and_other_output_is_kept_in_short() {
    let numbers = (1..=12).map(|n| format!("line {n}.\n")).collect::<Vec<_>>().concat();
    for (end, times, folded) in [(numbers.as_str(), 1, 0), ("All of them were printed.", 1, 1)] {
        let home = printing(end);
        if !holds_scripts(&home) {
            return;
        }
        let Some(lines) = seen(&home, &RUN) else { return };
        let text = lines.join("\n");
        assert_eq!(text.matches("line 3.").count(), times, "{text}");
        assert_eq!(text.matches("... 4 more lines (metier show)").count(), folded, "{text}");
        assert!(text.contains("\nrun user:talk/scripts/talk.sh\n"), "{text}");
    }
}

#[test]
fn a_change_that_was_shown_in_the_question_is_not_shown_again() {
    let home = tidying();
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#,
    );
    let Some(mut terminal) = Terminal::start(&home, &RUN[..4]) else { return };
    terminal.until("[e]xplain:", 1);
    terminal.types("y\n");
    let (bytes, code) = terminal.end_raw();
    assert_eq!(code, 0, "{bytes}");
    let text = screen(&bytes).join("\n");
    assert_eq!(text.matches("+three").count(), 1, "{text}");
    assert!(text.contains("write docs/summary.md (+2 -1)\ndelete docs/summary.md"), "{text}");
}

#[test]
fn ctrl_c_at_a_question_ends_its_line_and_says_how_to_continue() {
    let home = printing("never");
    if !holds_scripts(&home) {
        return;
    }
    let Some(mut terminal) = Terminal::start(&home, &RUN[..4]) else { return };
    terminal.until("[e]xplain:", 1);
    terminal.types("\u{3}");
    let (bytes, code) = terminal.end_raw();
    assert_eq!(code, 130, "{bytes}");
    let lines = screen(&bytes);
    let at = lines.iter().position(|line| line == "Cancelled.");
    let at = at.unwrap_or_else(|| panic!("{lines:?}"));
    assert!(lines[at - 1].ends_with("^C"), "{lines:?}");
    assert!(lines[at + 1].starts_with("help: `metier resume "), "{lines:?}");
}

#[test]
fn marks_in_an_answer_do_not_bring_escapes_back() {
    let home = project();
    scripted(
        &home,
        &json!([answer(
            "**a\u{1b}[2J** `\u{1b}]0;x\u{7}` &#27;[2J\n\n| \u{9b}2J | b |\n|-|-|\n| 1 | 2 |"
        )]),
    );
    let Some(lines) = seen(&home, &RUN) else { return };
    let text = lines.join("\n");
    assert!(text.contains(r"a\x1b[2J \x1b]0;x\x07 &#27;[2J"), "{text}");
    let plain = run_scripted(&home, &json!([answer("**b**")]), &[]);
    assert_eq!(plain.stdout, "**b**\n");
}
