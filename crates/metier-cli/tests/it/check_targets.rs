//! What `metier check` checks without a path, and with the path of a whole project: the skills that
//! lie there in plain sight, and those in the hidden folders of agents.

use metier_testkit::TestHome;

use crate::support::{run, run_in, run_unprivileged, shown, texts};

/// A repairable description: a warning in the default profile.
const COLON: &str = "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n";
/// Kept out by the default profile.
const TAGS: &str = "---\nname: tags\ndescription: A <b> tag\n---\nDo it.\n";

#[test]
fn without_a_path_inside_a_skill_that_skill_is_checked() {
    let home = TestHome::new();
    home.write("project/.agents/skills/colon/SKILL.md", COLON);
    home.write("project/.agents/skills/tags/SKILL.md", TAGS);
    let inside = run_in(&home, "project/.agents/skills/colon", &["check"]);
    insta::assert_snapshot!(shown(&home, &inside), @r#"
    exit: 0
    ---- stdout
    warning[yaml-unquoted-colon]: read as `description: "Use when: asked"`
     --> SKILL.md:3:14
      |
    3 | description: Use when: asked
      |              ^^^^^^^^^^^^^^^
      |
      = help: Put the value in double quotes (`metier check --fix` does it).
      = note: also rejected by skills-ref, quick_validate, strict-yaml-clients

    1 skill checked: 1 warning; 1 fixable with `metier check --fix`

    ---- stderr
    looked in: [T]/project/.agents/skills/colon
    "#);
    for path in [".", "SKILL.md"] {
        let named = run_in(&home, "project/.agents/skills/colon", &["check", path]);
        assert_eq!((named.stdout, named.stderr.as_str()), (inside.stdout.clone(), ""));
    }
}

#[test]
fn without_a_path_in_a_project_its_skills_are_checked_and_not_the_users() {
    let home = TestHome::new();
    home.write("project/.agents/skills/colon/SKILL.md", COLON);
    home.write("project/.claude/skills/tags/SKILL.md", TAGS);
    home.write("home/.agents/skills/tags/SKILL.md", TAGS);
    std::fs::create_dir_all(home.project().join("src")).expect("directories");
    for dir in ["project", "project/src"] {
        let output = run_in(&home, dir, &["check"]);
        assert_eq!(output.code, 1);
        assert!(output.stdout.contains("warning[yaml-unquoted-colon]"), "{output:?}");
        assert!(
            output.stdout.ends_with(
                "2 skills checked: 1 error, 1 warning; 1 fixable with `metier check --fix`\n"
            ),
            "{output:?}"
        );
    }
}

/// Hidden folders are not walked, but in a project those of the agents are where the skills are.
#[test]
fn a_project_is_checked_with_its_agents_folders() {
    let home = TestHome::new();
    home.write("project/.agents/skills/colon/SKILL.md", COLON);
    home.write("project/.claude/skills/tags/SKILL.md", TAGS);
    home.write("project/.hidden/skills/tags/SKILL.md", TAGS);
    let files = |dir: &str, args: &[&str]| -> Vec<String> {
        let document = run_in(&home, dir, &[&["check", "--json"], args].concat()).json();
        let mut files: Vec<String> =
            texts(&document["diagnostics"], "file").into_iter().map(|f| home.scrub(f)).collect();
        assert_eq!(document["summary"]["skills"], files.len(), "one fault a skill: {document}");
        files.sort();
        files
    };
    let hidden = [".agents/skills/colon/SKILL.md", ".claude/skills/tags/SKILL.md"];
    assert_eq!(files("project", &[]), hidden);
    assert_eq!(files("project", &["."]), hidden);
    assert_eq!(files("home", &["../project"]), hidden.map(|file| format!("[T]/project/{file}")));

    // With a folder of skills in plain sight, too.
    home.write("project/skills/colon/SKILL.md", COLON);
    let all = [hidden[0], hidden[1], "skills/colon/SKILL.md"];
    assert_eq!(files("project", &[]), all);
    assert_eq!(files("project", &["."]), all);
    assert_eq!(files("project", &["skills"]), all[2..], "a folder of skills is no project");

    // A link from an agent's folder to that one makes no second skill of it.
    std::fs::create_dir_all(home.project().join(".codex")).expect("directories");
    let link = home.project().join(".codex/skills");
    std::os::unix::fs::symlink("../skills", link).expect("a link");
    assert_eq!(files("project", &["."]), all);
    assert_eq!(files("project", &[".", ".codex/skills"]), all);
}

#[test]
fn inside_a_skill_no_agents_folder_is_looked_for() {
    let home = TestHome::new();
    home.skill("project/good", "good", "Fine.");
    home.write("project/good/.claude/skills/tags/SKILL.md", TAGS);
    assert_eq!(run(&home, &["check", "good"]).stdout, "1 skill checked: no problems\n");
}

#[test]
fn without_a_path_and_without_a_skill_there_is_advice() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["check"])), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: there is no skill in this directory or in the project's skill folders
    help: name one: `metier check PATH` or `metier check NAME`; --user checks your own skills, --all those of every root
    ");
}

/// A folder that was named and has no skill is a fault, whatever else there is to say about it.
#[test]
fn a_folder_with_no_skill_in_it_fails_though_something_was_found() {
    let home = TestHome::new();
    home.write("project/mixed/Skill.md", COLON);
    std::fs::create_dir_all(home.project().join("gone")).expect("directories");
    std::os::unix::fs::symlink("nowhere", home.project().join("gone/SKILL.md")).expect("a link");
    for arguments in [&["check", "mixed"][..], &["check", "--spec", "mixed"]] {
        let output = run(&home, arguments);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stdout.contains("[file-name-case]: the file is named `Skill.md`"));
        assert!(output.stdout.contains("error[file-missing]: there is no `SKILL.md`"));
    }
    let inside = run_in(&home, "project/mixed", &["check"]);
    assert_eq!(inside.code, 1, "{inside:?}");
    assert!(inside.stdout.contains("error[file-missing]"), "{inside:?}");
    let gone = run(&home, &["check", "gone"]);
    assert_eq!(gone.code, 1, "{gone:?}");
    assert!(gone.stdout.ends_with("1 skill checked: 1 error\n"), "{gone:?}");
}

#[test]
fn a_folder_that_may_not_be_read_is_reported_once() {
    use std::os::unix::fs::PermissionsExt;

    let home = TestHome::new();
    let locked = home.skill("project/locked", "locked", "Fine.");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).expect("chmod");
    let output = run_unprivileged(&home, &["check", "locked"]);
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o755)).expect("chmod");
    let Some(output) = output else { return };
    assert_eq!(output.code, 1);
    assert_eq!(output.stdout.matches("error[root-unreadable]").count(), 1, "{output:?}");
}

#[test]
fn a_skill_is_checked_by_its_name_wherever_it_is_installed() {
    let home = TestHome::new();
    home.write("home/.agents/skills/colon/SKILL.md", COLON);
    home.write("home/.claude/skills/tags/SKILL.md", TAGS);
    for name in ["colon", "user:colon"] {
        let output = run(&home, &["check", name]);
        assert!(output.stdout.contains("home/.agents/skills/colon/SKILL.md:3"), "{output:?}");
        assert_eq!(output.code, 0);
    }
    let broken = run(&home, &["check", "tags"]);
    assert!(broken.stdout.contains("1 skill checked: 1 error"), "left out, and found: {broken:?}");
    // What lies here is meant before what is installed.
    home.write("project/colon/SKILL.md", TAGS.replace("tags", "colon"));
    assert_eq!(run(&home, &["check", "colon"]).code, 1);
    let near = run(&home, &["check", "colom"]);
    assert_eq!(near.code, 2);
    assert!(near.stderr.contains("did you mean the skill `colon`?"), "{near:?}");
    let builtin = run(&home, &["check", "csv-summary"]);
    assert!(builtin.stderr.contains("builtin:csv-summary is built in"), "{builtin:?}");
}

#[test]
fn user_and_all_check_whole_sources_and_say_where_they_looked() {
    let home = TestHome::new();
    home.write("project/.agents/skills/colon/SKILL.md", COLON);
    home.write("home/.agents/skills/tags/SKILL.md", TAGS);
    home.write("home/.claude/skills/colon/SKILL.md", COLON.replace("asked", "needed"));
    let user = run(&home, &["check", "--user"]);
    assert!(user.stdout.contains("2 skills checked: 1 error, 1 warning"), "{user:?}");
    assert_eq!(
        home.scrub(&user.stderr),
        "looked in: [T]/home/.agents/skills, [T]/home/.claude/skills\n"
    );
    let all = run(&home, &["check", "--all", "--json"]).json();
    assert_eq!(all["summary"]["skills"], 3);
    assert_eq!(all["looked_at"].as_array().map(Vec::len), Some(3), "{all}");
    let both = run(&home, &["check", "--user", "colon"]);
    assert_eq!(both.code, 2, "a path and a scope do not go together");
}

#[test]
fn statistics_count_by_code() {
    let home = TestHome::new();
    home.write("home/.agents/skills/tags/SKILL.md", TAGS);
    home.write("home/.agents/skills/colon/SKILL.md", COLON);
    home.write("home/.agents/skills/other/SKILL.md", COLON.replace("colon", "other"));
    let output = run(&home, &["check", "--user", "--statistics"]);
    insta::assert_snapshot!(output.stdout, @r"
    COUNT  FIXABLE  SEVERITY  CODE
    2      2        warning   yaml-unquoted-colon
    1      -        error     angle-brackets

    3 skills checked: 1 error, 2 warnings; 2 fixable with `metier check --fix`
    ");
    let document = run(&home, &["check", "--user", "--statistics", "--json"]).json();
    assert_eq!(document["statistics"][0]["code"], "yaml-unquoted-colon");
    assert_eq!(document["statistics"][0]["count"], 2);
}

#[test]
fn a_code_is_explained_and_a_word_that_is_no_tool_says_so() {
    let home = TestHome::new();
    let page = run(&home, &["check", "--explain", "yaml-unquoted-colon"]);
    assert_eq!(page.code, 0);
    assert!(page.stdout.starts_with("yaml-unquoted-colon\n"), "{page:?}");
    for part in ["why: ", "fix: Put the value in double quotes", "severity: strict warning"] {
        assert!(page.stdout.contains(part), "{part}: {page:?}");
    }
    let document = run(&home, &["check", "--explain", "file-bom", "--json"]).json();
    assert_eq!(document["severity"]["spec"], "error");
    let near = run(&home, &["check", "--explain", "yaml-unqoted-colon"]);
    assert_eq!(near.code, 2);
    assert!(near.stderr.contains("did you mean `yaml-unquoted-colon`?"), "{near:?}");
    let code = run(&home, &["explain", "yaml-unquoted-colon"]);
    let advice = "unknown tool `yaml-unquoted-colon`; it is a diagnostic: metier check --explain";
    assert!(code.stderr.contains(advice), "{code:?}");
    let word = run(&home, &["explain", "frobnicate"]);
    assert!(word.stderr.contains("unknown tool `frobnicate`; this holds for a tool"), "{word:?}");
}
