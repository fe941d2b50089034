//! `metier new`: where a skill goes, what is in it, what is refused with which advice, and that
//! nothing that is there is replaced.

use std::process::Stdio;

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{
    METIER, at, document, files_below, json, run, run_in, run_on_terminal, shown,
};

#[test]
fn inside_a_repository_it_is_the_projects_and_the_check_finds_nothing() {
    let home = TestHome::new();
    let output = run(&home, &["new", "pdf-tools", "-d", "Fill PDF forms."]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    created pdf-tools
      [T]/project/.agent/skills/pdf-tools/SKILL.md

    ---- stderr
    next: `metier open pdf-tools` to edit it, `metier check [T]/project/.agent/skills/pdf-tools` to check it
    ");
    let text = std::fs::read_to_string(home.project().join(".agent/skills/pdf-tools/SKILL.md"));
    insta::assert_snapshot!(text.expect("reads"), @r#"
    ---
    name: pdf-tools
    description: "Fill PDF forms."
    ---

    # Pdf tools

    Say in a sentence or two what this skill gets done, and what the result looks like.

    ## When to use

    - The requests it is for, in the words people use.
    - What looks close and is not for it.

    ## Steps

    1. The first thing to do, with what to look at before.
    2. The next thing to do, and how to check that it worked.

    ## Checks

    - How to tell that the result is right, before it is handed over.
    - What to do when it is not.

    ## Resources

    Nothing yet. Details that only some tasks need go into a folder called references, code that
    would be written again each time into one called scripts; name each file here, and say when to
    use it.
    "#);
    for args in [
        &["check", ".agent/skills/pdf-tools", "--json"][..],
        &["check", "--spec", ".agent/skills/pdf-tools", "--json"],
    ] {
        assert_eq!(json(&home, args)["diagnostics"], json!([]), "{args:?}");
    }
    assert_eq!(files_below(&home.project()), [".agent/skills/pdf-tools/SKILL.md"]);
}

#[test]
fn the_document_reports_what_was_made() {
    let home = TestHome::new();
    let made = json(
        &home,
        &["new", "csv", "-d", "Report.", "--with-script", "--license", "MIT", "--json"],
    );
    assert_eq!(
        made,
        json!({
            "id": "project:csv",
            "name": "csv",
            "path": "[T]/project/.agent/skills/csv",
            "files": ["SKILL.md", "scripts/main.py"],
            "diagnostics": [],
            "shadowed_by": null,
            "shadows": [],
        })
    );
    let inspected = json(&home, &["inspect", "csv", "--json"]);
    assert_eq!(inspected["meta"], json!({ "license": "MIT" }));
    assert_eq!(inspected["diagnostics"], json!([]));
    assert_eq!(inspected["files"][1]["executable"], json!(true));
}

#[test]
fn any_description_is_written_so_that_it_is_read_again() {
    let home = TestHome::new();
    for (at, description) in [
        "Use when: asked",
        "It's \"quoted\" and 'so'",
        "two\nlines\r\nand a\ttab",
        "# no comment # at all",
        "- a list? {no} [no] & *no !no %no @no `no` | no",
        "C:\\path\\new --- end",
        "生成电子表格 😀 कौशल",
        "true",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("s{at}");
        let made = run(&home, &["new", &name, &format!("--description={description}")]);
        assert_eq!(made.code, 0, "{description:?}: {made:?}");
        let entry = json(&home, &["inspect", &name, "--json"]);
        let lines = description.replace("\r\n", "\n");
        assert_eq!(entry["description"], json!(lines), "{description:?}");
        assert_eq!(entry["diagnostics"], json!([]), "{description:?}");
    }
}

#[test]
fn what_a_scan_would_ignore_is_not_written() {
    let home = TestHome::new();
    for (args, code) in [
        (&["-d", "  "][..], "description-missing"),
        (&["-d", "for <you>"], "angle-brackets"),
        (&["-d", "a\u{1b}[2Jb"], "control-character"),
        (&["-d", &"x".repeat(9000)], "description-over-limit"),
        (&["-d", "Fine.", "--allowed-tools", "Bash(git"], "allowed-tools-unbalanced"),
    ] {
        let output = run(&home, &[&["new", "pdf", "--json"], args].concat());
        let error = document(&home, &output, 1);
        assert_eq!(error["error"]["code"], json!(code), "{error}");
        assert!(error["error"]["help"].is_string(), "{error}");
    }
    assert_eq!(files_below(&home.path().join("project")), [] as [&str; 0]);
    assert!(!home.project().join(".agent").exists());
}

#[test]
fn a_bad_name_is_refused_with_the_nearest_good_one() {
    let home = TestHome::new();
    let output = run(&home, &["new", "PDF Tools", "-d", "x"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: `PDF Tools` is not a valid skill name: use lower-case letters, digits and single hyphens inside, at most 64 characters
    help: try `pdf-tools`
    ");
    for name in ["..", "../up", "a/b", "/abs", "a--b", "con", "", "\u{1b}[2J", ".hidden"] {
        let error = document(&home, &run(&home, &["new", "-d", "x", "--json", "--", name]), 2);
        assert_eq!(error["error"]["code"], json!("bad-name"), "{name:?}");
    }
    assert!(!home.project().join(".agent").exists());
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let home = TestHome::new();
    home.write("project/.agent/skills/pdf/notes.txt", "mine");
    std::fs::create_dir_all(home.project().join(".agent/skills/empty")).expect("directory");
    std::os::unix::fs::symlink("nowhere", home.project().join(".agent/skills/link")).expect("link");
    insta::assert_snapshot!(shown(&home, &run(&home, &["new", "pdf", "-d", "x"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/project/.agent/skills/pdf is there already
    help: choose another name, or move the existing one away
    ");
    for name in ["empty", "link"] {
        let error = document(&home, &run(&home, &["new", name, "-d", "x", "--json"]), 1);
        assert_eq!(error["error"]["code"], json!("already-exists"), "{name}");
    }
    let notes = std::fs::read_to_string(home.project().join(".agent/skills/pdf/notes.txt"));
    assert_eq!(notes.expect("reads"), "mine");
}

#[test]
fn of_several_at_once_one_makes_the_skill_and_the_others_fail() {
    let home = TestHome::new();
    let start = |at: usize| {
        let mut command = home.command(METIER);
        command.args(["new", "same", "-d", &format!("Number {at}.")]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
    };
    let children: Vec<_> = (0..12).map(start).collect();
    let codes = children.into_iter().map(|mut child| child.wait().expect("ends").code());
    let mut codes: Vec<_> = codes.map(|code| code.expect("no signal")).collect();
    codes.sort_unstable();
    assert_eq!(codes, [&[0][..], &[1; 11]].concat());
    assert_eq!(files_below(&home.project()), [".agent/skills/same/SKILL.md"]);
}

#[test]
fn without_a_terminal_a_missing_description_is_a_usage_error() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["new", "pdf"])), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: a skill needs a description: what it does and when to use it
    help: give it with --description TEXT
    ");
}

#[test]
fn on_a_terminal_the_description_is_asked_for_and_nothing_else() {
    let home = TestHome::new();
    let Some(output) = run_on_terminal(&home, &["new", "pdf"], "Fill: \"forms\".\n") else {
        return;
    };
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("What does it do, and when should it be used?"), "{output:?}");
    let entry = json(&home, &["inspect", "pdf", "--json"]);
    assert_eq!(entry["description"], json!("Fill: \"forms\"."));
    let output = run_on_terminal(&home, &["new", "other"], "\n").expect("a terminal");
    assert_eq!(output.code, 2, "{output:?}");
    assert!(!home.project().join(".agent/skills/other").exists());
}

#[test]
fn each_place_can_be_chosen() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.project().join("deep/er")).expect("directories");
    std::fs::create_dir_all(home.path().join("elsewhere")).expect("directories");
    home.skill("project/deep/.agent/skills/there", "there", "Already.");
    let path = |dir: &str, args: &[&str]| {
        let output = run_in(&home, dir, &[&["new", "-d", "x", "--json"], args].concat());
        document(&home, &output, 0)["path"].as_str().expect("a path").to_owned()
    };
    assert_eq!(path("project/deep/er", &["a"]), "[T]/project/deep/.agent/skills/a");
    assert_eq!(path("project", &["b", "--user"]), "[T]/home/.agent/skills/b");
    assert_eq!(path("elsewhere", &["c"]), "[T]/home/.agent/skills/c");
    assert_eq!(path("elsewhere", &["d", "--project"]), "[T]/elsewhere/.agent/skills/d");
    assert_eq!(path("project", &["e", "--root", ".claude/skills"]), "[T]/project/.claude/skills/e");
    let moved = TestHome::finish(
        home.command(METIER)
            .env("METIER_HOME", home.path().join("moved"))
            .args(["new", "f", "-d", "x", "--user", "--json"]),
    );
    assert_eq!(document(&home, &moved, 0)["path"], json!("[T]/moved/skills/f"));
    let in_home = run_in(&home, "home", &["new", "g", "-d", "x", "--project"]);
    assert_eq!(in_home.code, 2, "{in_home:?}");
    assert!(in_home.stderr.contains("the home directory is not a project"), "{in_home:?}");
    let in_home = run_in(&home, "home", &["new", "g", "-d", "x", "--json"]);
    assert_eq!(document(&home, &in_home, 0)["id"], json!("user:g"));
}

#[test]
fn a_rival_of_the_same_name_is_reported() {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "The user's.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["new", "pdf", "-d", "x"])), @"
    exit: 0
    ---- stdout
    created pdf
      [T]/project/.agent/skills/pdf/SKILL.md

    ---- stderr
    warning: it shadows the user skill [T]/home/.claude/skills/pdf
    next: `metier open pdf` to edit it, `metier check [T]/project/.agent/skills/pdf` to check it
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["new", "pdf", "-d", "y", "--user"])), @"
    exit: 0
    ---- stdout
    created pdf
      [T]/home/.agent/skills/pdf/SKILL.md

    ---- stderr
    warning: it is shadowed by the project skill [T]/project/.agent/skills/pdf; name it `user:pdf` to reach it
    next: `metier open user:pdf` to edit it, `metier check [T]/home/.agent/skills/pdf` to check it
    ");
    let outside = at(&home, "outside");
    let output = run(&home, &["new", "far", "-d", "x", "--root", &outside]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    created far
      [T]/outside/far/SKILL.md

    ---- stderr
    warning: this folder is not searched for skills; pass it with --root, or add it to `skill_roots`
    next: `metier open --root [T]/outside far` to edit it, `metier check [T]/outside/far` to check it
    ");
}

#[test]
fn a_bad_name_is_refused_before_anything_is_asked() {
    let home = TestHome::new();
    let Some(output) = run_on_terminal(&home, &["new", "Bad Name"], "\n") else { return };
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stdout.contains("try `bad-name`"), "{output:?}");
    assert!(!output.stdout.contains("What does it do"), "{output:?}");
    let error = document(&home, &run(&home, &["new", "Bad Name", "--json"]), 2);
    assert_eq!(error["error"]["code"], json!("bad-name"));
}
