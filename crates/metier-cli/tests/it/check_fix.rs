//! `metier check --fix` writes the safe fixes and nothing else; `--diff` shows them and writes
//! nothing.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use metier_testkit::TestHome;

use crate::support::{files_below, run, shown};

/// A byte order mark, Windows line ends, two repairs, a field that grants, and a body that is no text.
const MESSY: &[u8] = b"\xef\xbb\xbf---\r\nname: \xe2\x80\x9cx\xe2\x80\x9d\r\ndescription: Use when: asked\r\nallowed-tools: Bash(git:*),Read\r\n---\r\n\r\n\xff\xfe\0 it\tso.\r\n";
const FIXED: &[u8] = b"---\r\nname: \"x\"\r\ndescription: \"Use when: asked\"\r\nallowed-tools: Bash(git:*),Read\r\n---\r\n\r\n\xff\xfe\0 it\tso.\r\n";

#[test]
fn diff_shows_the_fixes_and_writes_nothing() {
    let home = TestHome::new();
    let text = "---\nname: x\ndescription: Use when: asked\n---\nDo it.\n";
    let path = home.write("project/x/SKILL.md", text);
    let before = std::fs::metadata(&path).expect("there");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "--diff", "x"])), @r#"
    exit: 0
    ---- stdout
    warning[yaml-unquoted-colon]: read as `description: "Use when: asked"`
     --> x/SKILL.md:3:14
      |
    3 | description: Use when: asked
      |              ^^^^^^^^^^^^^^^
      |
      = help: Put the value in double quotes (`metier check --fix` does it).
      = note: also rejected by skills-ref, quick_validate, strict-yaml-clients

    --- x/SKILL.md
    +++ x/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: x
    -description: Use when: asked
    +description: "Use when: asked"
     ---
     Do it.

    1 skill checked: 1 warning; 1 fixable with `metier check --fix`

    ---- stderr
    "#);
    let after = std::fs::metadata(&path).expect("there");
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), text);
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(files_below(&home.project().join("x")), ["SKILL.md"]);
}

#[test]
fn fix_writes_exactly_what_diff_shows() {
    let home = TestHome::new();
    home.write("project/x/SKILL.md", "---\nname: x\ndescription: Use when: asked\n---\nDo it.\n");
    let diff_of = |output: &str| {
        let from = output.find("--- x/SKILL.md").expect("a diff");
        let to = output.rfind("\n\n").expect("a summary");
        output[from..to].to_owned()
    };
    let promised = diff_of(&run(&home, &["check", "--diff", "x"]).stdout);
    let fixed = run(&home, &["check", "--fix", "x"]);
    assert_eq!(diff_of(&fixed.stdout), promised);
    insta::assert_snapshot!(shown(&home, &fixed), @r#"
    exit: 0
    ---- stdout
    --- x/SKILL.md
    +++ x/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: x
    -description: Use when: asked
    +description: "Use when: asked"
     ---
     Do it.

    1 skill checked: no problems; 1 fixed

    ---- stderr
    "#);
}

#[test]
fn fix_keeps_the_mode_the_line_ends_and_every_other_byte() {
    let home = TestHome::new();
    let path = home.write("project/x/SKILL.md", MESSY);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("chmod");
    run(&home, &["check", "--fix", "x"]);
    assert_eq!(std::fs::read(&path).expect("reads"), FIXED);
    assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o7777, 0o640);
    assert_eq!(files_below(&home.project().join("x")), ["SKILL.md"], "no temporary file is left");
}

#[test]
fn a_second_fix_changes_nothing() {
    let home = TestHome::new();
    let path = home.write("project/x/SKILL.md", MESSY);
    run(&home, &["check", "--fix", "x"]);
    let before = std::fs::metadata(&path).expect("there");
    let again = run(&home, &["check", "--fix", "x"]);
    let after = std::fs::metadata(&path).expect("there");
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec()),
        "not written"
    );
    assert!(!again.stdout.contains("fixed"), "{again:?}");
    assert_eq!(again.stdout, run(&home, &["check", "x"]).stdout);
}

#[test]
fn fix_never_touches_what_grants() {
    for line in [
        "allowed-tools: Bash(git: *)",
        "allowed-tools: “Read”",
        "allowed-tools: \"Read",
        "allowed-tools:\tRead",
        "disable-model-invocation: “true”",
        "user-invocable: 'no",
    ] {
        let home = TestHome::new();
        let text = |description: &str| {
            format!("---\nname: x\n{line}\ndescription: {description}\n---\nDo it.\n")
        };
        let path = home.write("project/x/SKILL.md", text("Use when: asked"));
        run(&home, &["check", "--fix", "x"]);
        let written = std::fs::read_to_string(&path).expect("reads");
        assert!(written.contains(&format!("\n{line}\n")), "{written}");
        assert!(written == text("\"Use when: asked\"") || written == text("Use when: asked"));
    }
}

#[test]
fn fix_repairs_every_skill_of_a_folder_and_counts() {
    let home = TestHome::new();
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Use when: asked\n---\nDo it.\n");
        home.write(&format!("project/skills/{name}/SKILL.md"), text);
    }
    home.skill("project/skills/c", "c", "Fine.");
    let mut document = run(&home, &["check", "--fix", "--json", "skills"]).json();
    let diffs = document["diffs"].take();
    assert_eq!(diffs.as_array().map(Vec::len), Some(2), "what was written is shown: {diffs}");
    document.as_object_mut().expect("a document").remove("diffs");
    assert_eq!(
        document,
        serde_json::json!({
            "diagnostics": [],
            "summary": { "skills": 3, "errors": 0, "warnings": 0, "notes": 0, "fixable": 0, "fixed": 2 },
        })
    );
}

#[test]
fn fix_leaves_a_linked_file_alone_and_says_so() {
    let home = TestHome::new();
    let text = "---\nname: x\ndescription: Use when: asked\n---\nDo it.\n";
    let real = home.write("real/SKILL.md", text);
    std::fs::create_dir_all(home.project().join("x")).expect("directories");
    let link = home.project().join("x/SKILL.md");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let output = run(&home, &["check", "--fix", "x"]);
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("error[file-unwritable]: the file is a link"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&real).expect("reads"), text, "a link may lead anywhere");
}

/// Of a file that large only the beginning is read, and writing that back would cost the rest.
#[test]
fn fix_never_shortens_a_file_that_is_too_large_to_read_whole() {
    let home = TestHome::new();
    let mut text = "---\nname: x\ndescription: Use when: asked\n---\nDo it.\n".to_owned();
    text.push_str(&"one more line of it\n".repeat(900_000));
    let path = home.write("project/x/SKILL.md", &text);
    for way in ["--fix", "--diff"] {
        let output = run(&home, &["check", way, "x"]);
        assert_eq!(output.code, 1);
        assert!(output.stdout.contains("error[file-unwritable]: "), "{output:?}");
        assert!(!output.stdout.contains("+++ "), "{output:?}");
        assert!(output.stdout.ends_with("2 errors, 2 warnings\n"), "none is promised: {output:?}");
    }
    assert!(std::fs::read(&path).expect("reads") == text.as_bytes(), "every byte is there");
}

#[test]
fn one_file_that_cannot_be_written_keeps_no_other_from_being_fixed() {
    let home = TestHome::new();
    let text = |name: &str| format!("---\nname: {name}\ndescription: Use when: asked\n---\nx\n");
    let real = home.write("real/SKILL.md", text("b"));
    home.write("project/skills/a/SKILL.md", text("a"));
    std::fs::create_dir_all(home.project().join("skills/b")).expect("directories");
    std::os::unix::fs::symlink(&real, home.project().join("skills/b/SKILL.md")).expect("a link");
    home.write("project/skills/c/SKILL.md", text("c"));
    let output = run(&home, &["check", "--fix", "skills"]);
    assert_eq!(output.code, 1);
    for name in ["a", "c"] {
        assert!(output.stdout.contains(&format!("+++ skills/{name}/SKILL.md")), "{output:?}");
    }
}

#[test]
fn fix_and_diff_exclude_each_other() {
    let home = TestHome::new();
    home.skill("project/x", "x", "Fine.");
    assert_eq!(run(&home, &["check", "--fix", "--diff", "x"]).code, 2);
}
