//! What an answer says was not done, over what the compiled-in summary really prints, and with skills that a
//! person called by name. tidy:allow-cjk

use std::path::Path;
use std::process::Command;

use metier_model::{Action, LoadedText, OfferedSkill, PastAction, SkillRef, View};
use serde_json::json;

use crate::support::{Scene, decide};

const TABLE: &str = "product,region,units,price\nA,North,5,1.5\nB,South,7,2.5\nA,New York,3,1\n";
const BODY: &str = "# Sums\n\nRun `scripts/summarise.sh --by COLUMN FILE`, or `scripts/summarise.sh --column NUMBERS \
                    FILE`, or `scripts/summarise.sh FILE`.\nFor a request in Chinese add `--lang zh` before the file.\n";
const ABOUT: &str = "Summarise a CSV file: totals and averages of its columns.";

/// How a skill was called, and what its text is.
struct Called<'c> {
    body: &'c str,
    arguments: Option<&'c str>,
    /// A model is offered it.
    offered: bool,
}

const BY_MODEL: Called<'_> = Called { body: BODY, arguments: None, offered: true };

/// The first line of the answer where it says what was not done.
fn not_done(request: &str, called: &Called<'_>) -> String {
    let dir = tempfile::tempdir().expect("dir");
    std::fs::write(dir.path().join("sales.csv"), TABLE).expect("writes");
    let name = "my-table".to_owned();
    let (body, arguments) = (called.body.into(), called.arguments.map(str::to_owned));
    let description = if called.offered { String::new() } else { ABOUT.to_owned() };
    let files = vec!["SKILL.md".to_owned(), "scripts/summarise.sh".to_owned()];
    let (source, by_user) = ("user".to_owned(), arguments.is_some());
    let skill = LoadedText { name, source, description, body, arguments, files, by_user };
    let offer = OfferedSkill {
        name: skill.name.clone(),
        source: skill.source.clone(),
        description: ABOUT.to_owned(),
    };
    let view = View {
        request: request.to_owned(),
        offered: Vec::from_iter(called.offered.then_some(offer)).into(),
        loaded: vec![skill],
        ..View::default()
    };
    let mut scene = Scene { view, past: Vec::new() };
    let action = decide(&scene).action;
    let Action::RunScript { skill, relative_path, args } = &action else {
        panic!("{request}: {action:?}")
    };
    assert_eq!(*skill, SkillRef::named("my-table"));
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/csv-summary").join(relative_path);
    let output = Command::new("sh")
        .arg(script)
        .args(args)
        .env("WORKSPACE_DIR", dir.path())
        .current_dir(dir.path())
        .output()
        .expect("runs");
    assert!(output.status.success(), "{request}: {output:?}");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let data = json!({"exit_code": 0, "timed_out": false, "stdout": stdout, "stderr": ""});
    scene.past.push(PastAction { action: Some(action), ok: true, data, ..PastAction::default() });
    let Action::FinalAnswer { text, .. } = decide(&scene).action else { panic!("{request}") };
    let first = text.lines().next().unwrap_or_default();
    let note = ["Not done: ", "没有做到："].iter().find_map(|start| first.strip_prefix(start));
    let end =
        |note: &str| note.find(". What").or_else(|| note.find("。以下")).unwrap_or(note.len());
    note.map_or(String::new(), |note| note[..end(note)].to_owned())
}

#[test]
fn what_the_printed_table_has_is_done() {
    for request in [
        "get min and max units in sales.csv",
        "max of units in sales.csv",
        "min price in sales.csv",
        "highest units in sales.csv",
        "lowest units in sales.csv",
        "the largest price in sales.csv",
        "avg units in sales.csv",
        "average units and their maximum in sales.csv",
        "sales.csv 里 units 最大是多少",
        "sales.csv 里 units 最小是多少",
        "sales.csv 里 units 最低是多少",
        "sales.csv 里 units 最高是多少",
    ] {
        assert_eq!(not_done(request, &BY_MODEL), "", "{request}");
    }
    for (request, wanted) in [
        ("median of units in sales.csv", "\"median\""),
        ("total units of North in sales.csv", "\"of North\""),
        ("bottom 2 units in sales.csv", "\"bottom 2\""),
        ("price times units in sales.csv", "\"times units\""),
        ("sales.csv 里 units 中位数", "“中位数”"),
    ] {
        assert_eq!(not_done(request, &BY_MODEL), wanted, "{request}");
    }
}

/// The person's own words stand in the text of a skill that was called with them.
#[test]
fn the_words_behind_a_skills_name_promise_nothing() {
    let appended = |given: &str| format!("{BODY}\nARGUMENTS: {given}\n");
    let placed = |given: &str| format!("{BODY}\nWork on {given} now.\n");
    for (request, given, wanted) in [
        (
            "use the my-table skill on sales.csv and delete it",
            "on sales.csv and delete it",
            "\"and delete it\"",
        ),
        ("/my-table sales.csv and email it", "sales.csv and email it", "\"and email it\""),
        ("/my-table sales.csv only rows of North", "sales.csv only rows of North", "\"of North\""),
        ("/my-table sales.csv 北方的数据", "sales.csv 北方的数据", "“北方”"),
        ("/my-table sales.csv，然后删除它", "sales.csv，然后删除它", "“删除它”"),
        ("/my-table sales.csv", "sales.csv", ""),
        ("/my-table total units in sales.csv", "total units in sales.csv", ""),
    ] {
        for body in [appended(given), placed(given)] {
            for offered in [true, false] {
                let called = Called { body: &body, arguments: Some(given), offered };
                assert_eq!(not_done(request, &called), wanted, "{request}, {offered}: {body}");
            }
        }
    }
    // Placeholders that took one word each.
    let body = format!("{BODY}\nRead sales.csv and then delete.\n");
    let called = Called { body: &body, arguments: Some("sales.csv and delete"), offered: false };
    assert_eq!(not_done("/my-table sales.csv and delete", &called), "\"and delete\"");
}

#[test]
fn a_text_promises_whole_words_and_what_it_does_not_refuse() {
    let given = "sales.csv and mail it";
    for (more, wanted) in [
        ("It mails the result.", ""),
        ("It is mailed to the person.", ""),
        ("Write the emailed-out list of blackmail.", "\"and mail it\""),
        ("Never mail the file to anyone.", "\"and mail it\""),
        ("- Do not mail the file.", "\"and mail it\""),
    ] {
        let body = format!("{BODY}{more}\n\nARGUMENTS: {given}\n");
        let called = Called { body: &body, arguments: Some(given), offered: false };
        assert_eq!(not_done("/my-table sales.csv and mail it", &called), wanted, "{more}");
    }
}

#[test]
fn a_rest_of_a_word_is_not_named() {
    let (body, given) =
        (format!("{BODY}\nARGUMENTS: 把 sales.csv 翻译成英文\n"), "把 sales.csv 翻译成英文");
    let body = body.replace("# Sums", "# 翻译\n\n把文件翻译成英语。");
    let called = Called { body: &body, arguments: Some(given), offered: true };
    let note = not_done("/my-table 把 sales.csv 翻译成英文", &called);
    assert!(!note.contains("“文”"), "{note}");
    assert_eq!(not_done("sales.csv 用什么语言写的？", &BY_MODEL), "");
}
