//! `metier open`: which program gets what, without a shell, on a terminal and elsewhere; and what is
//! said when there is none.

use std::os::unix::fs::PermissionsExt;

use metier_testkit::{Output, TestHome, skill_text};
use serde_json::json;

use crate::support::{METIER, document, run, run_on_terminal, shown};

fn with_skill() -> TestHome {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "Fill PDF forms.");
    home
}

/// A program that writes its arguments into a file, one a line.
fn program(home: &TestHome, name: &str, exit: u8) -> String {
    let opened_report = home.path().join("opened");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" > '{}'\nexit {exit}\n",
        opened_report.display()
    );
    let path = home.write(&format!("bin/{name}"), text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("chmod");
    path.to_string_lossy().into_owned()
}

fn opened_report(home: &TestHome) -> String {
    home.scrub(&std::fs::read_to_string(home.path().join("opened")).expect("it was started"))
}

fn open(home: &TestHome, variables: &[(&str, &str)], args: &[&str]) -> Output {
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let mut command = home.command(METIER);
    command.env("PATH", path).envs(variables.iter().copied());
    TestHome::finish(command.arg("open").args(args))
}

#[test]
fn the_path_is_printed() {
    let home = with_skill();
    let output = run(&home, &["open", "--print", "pdf"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    [T]/project/.agents/skills/pdf

    ---- stderr
    ");
    let opened = document(&home, &run(&home, &["open", "--print", "pdf", "--json"]), 0);
    assert_eq!(
        opened,
        json!({
            "id": "project:pdf",
            "path": "[T]/project/.agents/skills/pdf",
            "file": "[T]/project/.agents/skills/pdf/SKILL.md",
            "with": "nothing",
        })
    );
}

#[test]
fn an_editor_with_arguments_is_started_without_a_shell() {
    let home = with_skill();
    program(&home, "my editor", 0);
    let bin = home.path().join("bin");
    let editor = format!("'{}/my editor' --wait '$(touch x)' ; echo", bin.display());
    let output = open(&home, &[("VISUAL", &editor), ("EDITOR", "other")], &["--editor", "pdf"]);
    assert_eq!((output.code, &*output.stderr), (0, ""), "{output:?}");
    insta::assert_snapshot!(opened_report(&home), @"
    [T]/bin/my editor
    --wait
    $(touch x)
    ;
    echo
    [T]/project/.agents/skills/pdf/SKILL.md
    ");
    assert!(!home.project().join("x").exists());
}

#[test]
fn without_a_terminal_the_folder_opens_in_the_file_manager() {
    let home = with_skill();
    program(&home, "xdg-open", 0);
    let editor = program(&home, "editor", 0);
    let output = open(&home, &[("EDITOR", &editor)], &["pdf", "--json"]);
    assert_eq!(document(&home, &output, 0)["with"], json!("folder"));
    assert_eq!(opened_report(&home), "[T]/bin/xdg-open\n[T]/project/.agents/skills/pdf\n");
}

#[test]
fn on_a_terminal_the_editor_opens_the_file() {
    let home = with_skill();
    let editor = program(&home, "editor", 0);
    // The terminal's shell gives the variable on.
    let wrapper = format!("VISUAL='{editor}' exec '{METIER}' open pdf\n");
    let script = home.write("open.sh", wrapper);
    let mut command = home.command("script");
    let line = format!("sh {}", script.display());
    command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh");
    if run_on_terminal(&home, &["list"], "").is_none() {
        return;
    }
    let output = TestHome::finish(&mut command);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(opened_report(&home), "[T]/bin/editor\n[T]/project/.agents/skills/pdf/SKILL.md\n");
}

#[test]
fn a_program_that_is_missing_or_fails_is_an_error_that_says_what_to_set() {
    let home = with_skill();
    let failing = program(&home, "failing", 3);
    for (variables, args, code) in [
        (&[][..], &["--editor", "pdf"][..], "no-editor"),
        (&[("VISUAL", "'unclosed")], &["--editor", "pdf"], "no-editor"),
        (&[("VISUAL", "''")], &["--editor", "pdf"], "editor-failed"),
        (&[("VISUAL", "not-a-program --wait")], &["--editor", "pdf"], "editor-failed"),
        (&[("EDITOR", failing.as_str())], &["--editor", "pdf"], "editor-failed"),
        (&[("PATH", "/nowhere")], &["--folder", "pdf"], "file-manager-failed"),
        (&[], &["write-skill"], "skill-builtin"),
        (&[], &["nobody"], "SkillNotFound"),
    ] {
        let output = open(&home, variables, &[args, &["--json"]].concat());
        let error = document(&home, &output, 1);
        assert_eq!(error["error"]["code"], json!(code), "{args:?} {variables:?}: {error}");
        assert!(error["error"]["help"].is_string(), "{error}");
    }
    program(&home, "xdg-open", 4);
    let output = open(&home, &[], &["--folder", "pdf"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: the file manager cannot be opened: `xdg-open` ended with exit status: 4
    help: set VISUAL or EDITOR and use --editor; the folder is [T]/project/.agents/skills/pdf
    ");
    assert_eq!(open(&home, &[], &["--folder", "--print", "pdf"]).code, 2);
}

#[test]
fn a_printed_path_reaches_a_pipe_byte_for_byte() {
    let home = TestHome::new();
    let odd = "project/.agents/skills/\u{1b}[31mred";
    let folder = home.skill(&format!("{odd}/pdf"), "pdf", "Fill PDF forms.");
    let output = run(&home, &["open", "--print", "pdf"]);
    assert_eq!(output.stdout, format!("{}\n", folder.display()));
}

#[test]
fn what_an_editor_prints_is_no_part_of_the_document() {
    let home = with_skill();
    let editor = home.write("bin/chatty", "#!/bin/sh\necho chatter\n");
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).expect("chmod");
    let editor = editor.to_string_lossy().into_owned();
    let output = open(&home, &[("EDITOR", &editor)], &["--editor", "pdf", "--json"]);
    assert_eq!((output.code, &*output.stderr), (0, "chatter\n"), "{output:?}");
    assert_eq!(output.json()["with"], json!("editor"));
    let output = open(&home, &[("EDITOR", &editor)], &["--editor", "pdf"]);
    assert_eq!((&*output.stdout, &*output.stderr), ("chatter\n", ""), "an editor needs its screen");
}

#[test]
fn a_lower_case_file_is_named_as_it_is() {
    let home = TestHome::new();
    home.write("project/.agents/skills/low/skill.md", skill_text("low", "Lower case."));
    let opened = document(&home, &run(&home, &["open", "--print", "low", "--json"]), 0);
    assert_eq!(opened["file"], json!("[T]/project/.agents/skills/low/skill.md"));
    let shown = run(&home, &["catalog", "--format", "xml"]);
    assert!(
        home.scrub(&shown.stdout).contains("[T]/project/.agents/skills/low/skill.md"),
        "{shown:?}"
    );
}
