//! What a model or a person is given hides nothing, although the file that it was cut from may hold
//! marks that are honest there: a mark needs the Arabic that stands elsewhere in the file.

use metier_skill::hidden::find_hidden;
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, events, holds_scripts, of_type, run_scripted, script, select,
};
use crate::support::{json as printed, run};

/// A skill of 130 lines whose Arabic stands in a section that a short body leaves out.
fn home() -> TestHome {
    let home = TestHome::new();
    let filler = "word\n".repeat(60);
    home.write(
        "home/.agents/skills/marks/SKILL.md",
        format!(
            "---\nname: marks\ndescription: Marks.\n---\n# Steps\nGo\u{61c}now\n\
             ## Pay\u{200f}ment\n{filler}## Numbers\nمرحبا {filler}# Checks\nE\u{200e}nd\n"
        ),
    );
    home.write("home/.agent/config.json", r#"{"security": {"max_skill_body_lines": 40}}"#);
    home
}

#[track_caller]
fn assert_open(text: &Value) {
    let text = text.as_str().expect("a text");
    assert_eq!(find_hidden(&format!("x\n{text}\n")).len(), 0, "{text:?}");
}

#[test]
fn a_trimmed_body_and_its_parts_hide_nothing() {
    let home = home();
    let body = printed(&home, &["read", "marks", "--json"]);
    assert_open(&body["text"]);
    assert!(body["text"].as_str().is_some_and(|text| text.contains("# Steps\nGonow\n")), "{body}");
    let omitted = body["report"]["omitted"].as_array().expect("a list").clone();
    assert_eq!(omitted.len(), 2, "{body}");
    for section in omitted {
        let heading = section["heading"].as_str().expect("a heading");
        let part = printed(&home, &["read", "marks", "SKILL.md", "--section", heading, "--json"]);
        assert_open(&part["text"]);
        assert_eq!(part["report"]["section"], heading);
    }
    let lines = printed(&home, &["read", "marks", "SKILL.md", "--lines", "5-7", "--json"]);
    assert_eq!(lines["text"], "# Steps\nGonow\n## Payment\n");
}

#[test]
fn what_a_model_is_given_of_files_and_outputs_hides_nothing() {
    let home = home();
    home.write("project/notes.txt", "a\u{61c}b\nرقم\n");
    home.write(
        "home/.agents/skills/marks/scripts/say.sh",
        "printf 'se\\342\\200\\256nd \\033[2J\\363\\240\\201\\241.\\n'\n",
    );
    let read = call("read_file", &json!({"path": "notes.txt", "first_line": 1, "last_line": 1}));
    let say = script("marks", "scripts/say.sh", &[]);
    let ran =
        run_scripted(&home, &json!([select(&["marks"]), read, say, answer("done")]), &["--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let events = events(&home);
    let finished = of_type(&events, "action.finished");
    let texts: Vec<&Value> = finished.iter().map(|event| &event["text"]).collect();
    for text in &texts {
        assert_open(text);
    }
    assert_eq!(texts[1], "ab\n");
    if holds_scripts(&home) {
        let said = texts[2].as_str().expect("a text");
        assert!(said.contains("[stdout]\nsend \\x1b[2J.\n"), "{said:?}");
    }
    // The record can be followed again.
    assert_eq!(run(&home, &["replay", "last"]).code, 0);
}
