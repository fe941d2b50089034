//! `metier check`: a skill, its file or a folder by name; what a path that is no skill gives;
//! profiles, and how the verdict becomes an exit code.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use metier_testkit::TestHome;

use crate::support::{fifo, run, run_in, run_unprivileged, shown};

/// A repairable description: a warning in the default profile.
const COLON: &str = "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n";
/// Kept out by the default profile.
const TAGS: &str = "---\nname: tags\ndescription: A <b> tag\n---\nDo it.\n";

/// The codes of a run in JSON, in their order.
fn codes(home: &TestHome, args: &[&str]) -> Vec<String> {
    let document = run(home, &[&["check", "--json"], args].concat()).json();
    let list = document["diagnostics"].as_array().expect("a list");
    list.iter().map(|item| item["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn a_flawless_skill_has_no_faults() {
    let home = TestHome::new();
    home.skill("project/good", "good", "Fine.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "good"])), @"
    exit: 0
    ---- stdout
    1 skill checked: no problems

    ---- stderr
    ");
}

#[test]
fn a_folder_its_file_and_the_skill_itself_are_checked_alike() {
    let home = TestHome::new();
    home.write("project/skills/tags/SKILL.md", TAGS);
    let folder = run(&home, &["check", "skills"]);
    insta::assert_snapshot!(shown(&home, &folder), @"
    exit: 1
    ---- stdout
    error[angle-brackets]: `description` contains `<` or `>`
     --> skills/tags/SKILL.md:3:16
      |
    3 | description: A <b> tag
      |                ^
      |
      = help: Write the words out: `less than`, `->` as `to`, placeholders in capitals.
      = note: also rejected by quick_validate

    1 skill checked: 1 error

    ---- stderr
    ");
    assert_eq!(run(&home, &["check", "skills/tags"]), folder);
    assert_eq!(run(&home, &["check", "skills/tags/SKILL.md"]), folder);
    assert_eq!(run(&home, &["check", "./skills/", "skills/tags"]), folder, "once, not twice");
    let absolute = home.project().join("skills/tags");
    assert_eq!(run(&home, &["check", &absolute.to_string_lossy()]), folder);
}

#[test]
fn a_folder_of_skills_is_checked_in_the_order_of_paths() {
    let home = TestHome::new();
    home.write("project/skills/b/SKILL.md", COLON);
    home.write("project/skills/a/deep/SKILL.md", TAGS);
    home.skill("project/skills/c", "c", "Fine.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "skills", "--quiet"])), @r#"
    exit: 1
    ---- stdout
    warning[name-directory]: the skill is named `tags`, its directory `deep`
     --> skills/a/deep/SKILL.md:2:7
      |
    2 | name: tags
      |       ^^^^
      |
      = help: Rename the directory or the skill.
      = note: also rejected by skills-ref

    error[angle-brackets]: `description` contains `<` or `>`
     --> skills/a/deep/SKILL.md:3:16
      |
    3 | description: A <b> tag
      |                ^
      |
      = help: Write the words out: `less than`, `->` as `to`, placeholders in capitals.
      = note: also rejected by quick_validate

    warning[name-directory]: the skill is named `colon`, its directory `b`
     --> skills/b/SKILL.md:2:7
      |
    2 | name: colon
      |       ^^^^^
      |
      = help: Rename the directory or the skill.
      = note: also rejected by skills-ref

    warning[yaml-unquoted-colon]: read as `description: "Use when: asked"`
     --> skills/b/SKILL.md:3:14
      |
    3 | description: Use when: asked
      |              ^^^^^^^^^^^^^^^
      |
      = help: Put the value in double quotes (`metier check --fix` does it).
      = note: also rejected by skills-ref, quick_validate, strict-yaml-clients

    3 skills checked: 1 error, 3 warnings; 1 fixable with `metier check --fix`

    ---- stderr
    "#);
}

#[test]
fn a_path_that_does_not_exist_or_is_no_skill_is_a_usage_error() {
    let home = TestHome::new();
    home.write("project/notes.txt", "x");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "none"])), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: [T]/project/none does not exist
    help: name a skill's folder, its SKILL.md, a folder of skills, or a skill by its name
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "notes.txt"])), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: [T]/project/notes.txt is not a skill: it is neither a directory nor a file called SKILL.md
    ");
}

#[test]
fn an_empty_folder_has_no_skill() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.project().join("empty")).expect("directories");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "empty"])), @"
    exit: 1
    ---- stdout
    error[file-missing]: there is no `SKILL.md` in this directory or below it
    --> empty/SKILL.md
     = help: Create `SKILL.md` with a `name` and a `description`, or point at the right directory.
     = note: also rejected by skills-ref, quick_validate

    1 skill checked: 1 error

    ---- stderr
    ");
}

#[test]
fn a_pipe_or_a_directory_called_skill_md_is_reported_and_never_waited_for() {
    let home = TestHome::new();
    fifo(&home.project().join("pipe/SKILL.md"));
    std::fs::create_dir_all(home.project().join("dir/SKILL.md")).expect("directories");
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "pipe"])), @"
    exit: 1
    ---- stdout
    error[file-not-regular]: `SKILL.md` is not a regular file
    --> pipe/SKILL.md
     = help: Replace it with a regular file.

    1 skill checked: 1 error

    ---- stderr
    ");
    for path in ["pipe/SKILL.md", "dir", "dir/SKILL.md"] {
        assert_eq!(codes(&home, &[path]), ["file-not-regular"], "{path}");
        assert_eq!(run(&home, &["check", path]).code, 1, "{path}");
        assert_eq!(run(&home, &["check", "--fix", path]).code, 1, "{path}");
    }
}

#[test]
fn what_was_not_looked_at_is_reported() {
    let home = TestHome::new();
    home.skill("project/skills/near", "near", "Fine.");
    home.skill("project/skills/1/2/3/4/5/6/7/far", "far", "Too deep.");
    std::os::unix::fs::symlink("nowhere", home.project().join("skills/gone")).expect("a link");
    assert_eq!(codes(&home, &["skills"]), ["walk-too-deep", "link-dangling"]);
    assert_eq!(run(&home, &["check", "--deny-warnings", "skills"]).code, 1);
}

#[test]
fn a_file_that_may_not_be_read_is_reported() {
    let home = TestHome::new();
    let file = home.skill("project/secret", "secret", "Fine.").join("SKILL.md");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).expect("chmod");
    let Some(output) = run_unprivileged(&home, &["check", "secret"]) else {
        return;
    };
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 1
    ---- stdout
    error[file-unreadable]: `SKILL.md` cannot be read: Permission denied (os error 13)
    --> secret/SKILL.md
     = help: Check the permissions of the file and of its directories.

    1 skill checked: 1 error

    ---- stderr
    ");
}

#[test]
fn a_fix_that_cannot_be_written_is_an_error_and_changes_nothing() {
    let home = TestHome::new();
    let file = home.write("project/colon/SKILL.md", COLON);
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    };
    set(file.parent().expect("a folder"), 0o555);
    let output = run_unprivileged(&home, &["check", "--fix", "colon"]);
    set(file.parent().expect("a folder"), 0o755);
    let Some(output) = output else {
        return;
    };
    assert_eq!(output.code, 1, "{output:?}");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("colon/SKILL.md") && said.contains("cannot be written"), "{said}");
    assert_eq!(std::fs::read_to_string(file).expect("reads"), COLON);
}

#[test]
fn a_lower_case_file_is_read_with_a_warning() {
    let home = TestHome::new();
    home.write("project/lower/skill.md", "---\nname: lower\ndescription: Fine.\n---\nDo it.\n");
    for path in ["lower", "lower/skill.md"] {
        assert_eq!(codes(&home, &[path]), ["file-name-case"], "{path}");
    }
    assert_eq!(codes(&home, &["--spec", "lower"]), [""; 0]);
}

#[test]
fn the_specification_alone_judges_other_things_than_the_default_profile() {
    let home = TestHome::new();
    home.write(
        "project/both/SKILL.md",
        "---\nname: both\ndescription: A <b> tag\nversion: 1.0\n---\nDo it.\n",
    );
    assert_eq!(codes(&home, &["--profile", "strict", "both"]), ["angle-brackets"]);
    assert_eq!(codes(&home, &["both"]), ["angle-brackets"], "strict is the default");
    assert_eq!(codes(&home, &["--spec", "both"]), ["field-not-in-spec"]);
    assert_eq!(codes(&home, &["--profile", "spec", "both"]), ["field-not-in-spec"]);
    assert_eq!(run(&home, &["check", "--profile", "lenient", "both"]).code, 0);
    assert_eq!(run(&home, &["check", "--profile", "strict", "both"]).code, 1);
    assert_eq!(run(&home, &["check", "--spec", "both"]).code, 1);
    assert_eq!(run(&home, &["check", "--spec", "--profile", "strict", "both"]).code, 2);
}

#[test]
fn by_the_specification_a_dot_has_the_name_of_the_directory() {
    let home = TestHome::new();
    home.skill("project/right", "right", "Fine.");
    home.skill("project/wrong", "other", "Fine.");
    let right = run_in(&home, "project/right", &["check", "--spec", "."]);
    assert_eq!((right.code, &*right.stdout), (0, "1 skill checked: no problems\n"));
    let wrong = run_in(&home, "project/wrong", &["check", "--spec", "."]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stdout.contains("error[name-directory]"), "{wrong:?}");
    assert!(wrong.stdout.contains("its directory `wrong`"), "{wrong:?}");
}

#[test]
fn warnings_fail_only_where_they_are_denied() {
    let home = TestHome::new();
    home.write("project/colon/SKILL.md", COLON);
    assert_eq!(run(&home, &["check", "colon"]).code, 0);
    let denied = run(&home, &["check", "--deny-warnings", "colon"]);
    assert_eq!(denied.code, 1);
    assert_eq!(denied.stdout, run(&home, &["check", "colon"]).stdout);
    home.skill("project/good", "good", "Fine.");
    assert_eq!(run(&home, &["check", "--deny-warnings", "good"]).code, 0);
}

#[test]
fn quiet_leaves_notes_out() {
    let home = TestHome::new();
    home.write(
        "project/note/SKILL.md",
        "---\nname: note\ndescription: Fine.\ncolour: blue\n---\nDo it.\n",
    );
    let loud = run(&home, &["check", "note"]);
    assert!(loud.stdout.ends_with("1 skill checked: 1 note\n"), "{loud:?}");
    let quiet = run(&home, &["check", "--quiet", "note"]);
    assert_eq!((quiet.code, &*quiet.stdout), (0, "1 skill checked: no problems\n"));
}

#[test]
fn limits_come_from_the_configuration() {
    let home = TestHome::new();
    home.write("project/long/SKILL.md", "---\nname: long\ndescription: Fine.\n---\n1\n2\n3\n");
    assert_eq!(codes(&home, &["long"]), [""; 0]);
    home.write("project/.agent/config.json", r#"{"security": {"max_skill_body_lines": 2}}"#);
    assert_eq!(codes(&home, &["long"]), ["body-too-long"]);
}

#[test]
fn a_glob_that_no_file_can_match_is_reported_under_its_line() {
    let home = TestHome::new();
    let text = "---\nname: x\ndescription: d\npaths:\n- \"*.csv\"\n- \"[abc\"\n---\n# X\n";
    home.write("project/x/SKILL.md", text);
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "x"])), @r#"
    exit: 0
    ---- stdout
    warning[paths-glob-invalid]: `[abc` in `paths` is not a valid glob: a `[` is not closed
     --> x/SKILL.md:6:3
      |
    6 | - "[abc"
      |   ^^^^^^
      |
      = help: Close every `[` and `{`, and put the smaller end of a range first.

    1 skill checked: 1 warning

    ---- stderr
    "#);
    assert!(!run(&home, &["check", "--spec", "x"]).stdout.contains("paths-glob-invalid"));
    home.write("project/x/SKILL.md", text.replace("[abc", "[abc]*.{ts,tsx}"));
    assert_eq!(run(&home, &["check", "x"]).stdout, "1 skill checked: no problems\n");
}

/// Few lines can be as much as many: a loader leaves something out by either measure.
#[test]
fn a_body_with_very_many_characters_in_few_lines_is_reported() {
    let home = TestHome::new();
    let text = |chars| format!("---\nname: x\ndescription: d\n---\n{}\n", "\u{5b57}".repeat(chars));
    home.write("project/x/SKILL.md", text(39_999));
    assert_eq!(codes(&home, &["x"]), Vec::<String>::new());
    home.write("project/x/SKILL.md", text(40_000));
    assert_eq!(codes(&home, &["x"]), ["body-too-long"]);
}

#[test]
fn an_unknown_tool_in_allowed_tools_is_reported_everywhere_with_the_nearest_name() {
    let home = TestHome::new();
    let skill = "---\nname: a\ndescription: Does a.\nallowed-tools: Raed, Foo, mcp__db__query, Bash(git:*)\n---\nDo.\n";
    home.write("project/.agent/skills/a/SKILL.md", skill);
    let near = "unknown tool `Raed` in `allowed-tools`; did you mean `Read`?";
    let far = "unknown tool `Foo` in `allowed-tools`\n";
    for args in [&["check", ".agent/skills/a"][..], &["inspect", "a"], &["doctor"]] {
        let output = run(&home, args);
        assert!(output.stdout.contains(near), "{args:?} {output:?}");
        assert!(output.stdout.contains(far), "{args:?} {output:?}");
        assert_eq!(output.stdout.matches("unknown tool").count(), 2, "{args:?} {output:?}");
    }
    let list = run(&home, &["list"]);
    assert!(list.stdout.contains("[unknown tool] [not trusted] Does a."), "{list:?}");
    let document = run(&home, &["list", "--json"]).json();
    let messages = document["skills"][0]["diagnostics"].as_array().expect("a list");
    assert_eq!(messages[0]["message"], near);
    // In a list it is the line of the name.
    let skill =
        "---\nname: a\ndescription: Does a.\nallowed-tools:\n  - Read\n  - Raed\n---\nDo.\n";
    home.write("project/.agent/skills/a/SKILL.md", skill);
    let output = run(&home, &["check", ".agent/skills/a"]);
    assert!(output.stdout.contains("a/SKILL.md:6:5"), "{output:?}");
}
