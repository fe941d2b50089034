//! `metier inspect`: everything about one skill, by its name or its qualified name, and a helpful
//! word about one that is not there.

use std::os::unix::fs::PermissionsExt;

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{document, json, keys, run, shown, texts};

/// A skill with a file of every type.
fn office(home: &TestHome) {
    home.write(
        "home/.claude/skills/office/SKILL.md",
        "---\nname: office\ndescription: Makes documents.\nversion: 1.2\nallowed-tools: Read, Bash(git:*)\n\
         argument-hint: FILE\nmetadata:\n  team: tools\ncolour: blue\n---\n# Office\n\nDo it.\n",
    );
    let at = |path: &str| format!("home/.claude/skills/office/{path}");
    home.write(&at("references/styles.md"), "# Styles\n");
    home.write(&at("scripts/make.py"), "print(1)\n");
    let tool = home.write(&at("tool"), "#!/bin/sh\n");
    std::fs::set_permissions(tool, PermissionsExt::from_mode(0o755)).expect("chmod");
    home.write(&at("templates/letter.md"), "Dear {{name}}\n");
    home.write(&at("page.html.j2"), "<p>\n");
    home.write(&at("data.bin"), [0; 2000]);
}

#[test]
fn everything_about_a_skill() {
    let home = TestHome::new();
    office(&home);
    insta::assert_snapshot!(shown(&home, &run(&home, &["inspect", "office"])), @"
    exit: 0
    ---- stdout
    office  user:office
    Makes documents.

      path            [T]/home/.claude/skills/office
      root            [T]/home/.claude/skills
      enabled         yes
      started by      a model or a person
      run mode        inline
      allowed tools   Read, Bash(git:*)
      version         1.2
      arguments       FILE
      metadata        team
      unknown fields  colour
      cost            about 16 tokens listed, 7 loaded (3 lines)
      digest          sha256:445ba7dc39a26e8e7fdcdf8619ee1ba816b7192363b9f3aec224c24c71f92432

    Files (7 files, 2.1 KB)
      markdown
        SKILL.md  171 B
        references/styles.md  9 B
      script
        scripts/make.py  9 B
        tool  10 B
      template
        page.html.j2  4 B
        templates/letter.md  14 B
      other
        data.bin  1.9 KB

    Diagnostics
    note[field-unknown]: unknown field `colour`
     --> [T]/home/.claude/skills/office/SKILL.md:9:1
      |
    9 | colour: blue
      | ^^^^^^
      |
      = help: Put your own data under `metadata` if the skill should pass strict validators.


    ---- stderr
    ");
}

#[test]
fn the_document_is_the_entry_with_files_cost_root_and_diagnostics() {
    let home = TestHome::new();
    office(&home);
    let file = |path: &str, kind: &str, bytes: u64, executable: bool| json!({ "path": path, "kind": kind, "bytes": bytes, "executable": executable, "link": false });
    assert_eq!(
        json(&home, &["inspect", "office", "--json"]),
        json!({
            "id": "user:office",
            "name": "office",
            "description": "Makes documents.",
            "source": "user",
            "path": "[T]/home/.claude/skills/office",
            "root": "[T]/home/.claude/skills",
            "trust": "trusted",
            "controls": {
                "disable_model_invocation": false,
                "user_invocable": true,
                "allowed_tools": ["Read", "Bash(git:*)"],
                "run_mode": "inline",
            },
            "meta": {
                "version": "1.2",
                "argument_hint": "FILE",
                "metadata": { "team": "tools" },
                "unknown": { "colour": "blue" },
            },
            "enabled": true,
            "digest": "sha256:445ba7dc39a26e8e7fdcdf8619ee1ba816b7192363b9f3aec224c24c71f92432",
            "diagnostics": [{
                "code": "field-unknown",
                "severity": "note",
                "line": 9,
                "column": 1,
                "message": "unknown field `colour`",
                "help": "Put your own data under `metadata` if the skill should pass strict validators.",
                "fixable": false,
                "rejected_by": ["skills-ref", "quick_validate"],
            }],
            "files": [
                file("SKILL.md", "markdown", 171, false),
                file("data.bin", "other", 2000, false),
                file("page.html.j2", "template", 4, false),
                file("references/styles.md", "markdown", 9, false),
                file("scripts/make.py", "script", 9, false),
                file("templates/letter.md", "template", 14, false),
                file("tool", "script", 10, true),
            ],
            "files_truncated": false,
            "tokens": { "catalog": 16, "body": 7 },
            "body_lines": 3,
        })
    );
}

#[test]
fn a_compiled_in_skill_has_files_too() {
    let home = TestHome::new();
    let shown = json(&home, &["inspect", "profile-csv", "--json"]);
    assert_eq!(shown["path"], "builtin:profile-csv");
    assert_eq!(shown["root"], "builtin:");
    assert_eq!(texts(&shown["files"], "path"), ["SKILL.md", "scripts/profile_csv.py"]);
    assert_eq!(texts(&shown["files"], "kind"), ["markdown", "script"]);
    assert_eq!(shown["diagnostics"], json!([]));
    let human = run(&home, &["inspect", "builtin:profile-csv"]);
    assert!(human.stdout.starts_with("profile-csv  builtin:profile-csv\n"), "{human:?}");
    assert_eq!((human.code, &*human.stderr), (0, ""));
}

#[test]
fn a_shadowed_skill_is_reached_by_both_spellings_of_its_id() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["inspect", "pdf"])), @"
    exit: 0
    ---- stdout
    pdf  project:pdf
    The project's.

      path            [T]/project/.agents/skills/pdf
      root            [T]/project/.agents/skills
      trust           not trusted (loading it asks, its scripts do not run; `metier trust`)
      enabled         yes
      started by      a model or a person
      run mode        inline
      allowed tools   not restricted
      cost            about 17 tokens listed, 8 loaded (4 lines)
      digest          sha256:f166711f8321db61e02232f4d1c4a310621d52d001185e36c92f602fbe9fd759

    Files (1 file, 61 B)
      markdown
        SKILL.md  61 B

    Shadows
      user:pdf  [T]/home/.agents/skills/pdf

    ---- stderr
    ");
    let shadowed = run(&home, &["inspect", "user:pdf"]);
    insta::assert_snapshot!(shown(&home, &shadowed), @"
    exit: 0
    ---- stdout
    pdf  user:pdf
    The user's.

      path            [T]/home/.agents/skills/pdf
      root            [T]/home/.agents/skills
      enabled         yes
      started by      a model or a person
      run mode        inline
      allowed tools   not restricted
      cost            about 17 tokens listed, 8 loaded (4 lines)
      digest          sha256:498025eb40fe75c65d8ffdfa95696c5c38444eade2f37e58ccc1d1548d0a8924

    Files (1 file, 58 B)
      markdown
        SKILL.md  58 B

    Shadowed by
      project:pdf  [T]/project/.agents/skills/pdf

    ---- stderr
    ");
    assert_eq!(run(&home, &["inspect", "pdf@user"]), shadowed);
    let winner = run(&home, &["inspect", "project:pdf"]);
    assert_eq!(run(&home, &["inspect", "pdf"]), winner);
    assert_eq!(run(&home, &["inspect", "pdf@project"]), winner);
}

#[test]
fn the_document_of_a_shadowed_skill_names_the_conflict() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    let conflict = json!({
        "name": "pdf",
        "winner": "[T]/project/.agents/skills/pdf",
        "source": "project",
        "reason": "higher-root",
        "shadowed": [
            { "source": "user", "path": "[T]/home/.agents/skills/pdf", "reason": "higher-root" },
        ],
    });
    for id in ["project:pdf", "user:pdf"] {
        let shown = json(&home, &["inspect", id, "--json"]);
        assert_eq!(shown["id"], id);
        assert_eq!(shown["conflict"], conflict);
    }
    assert!(!keys(&json(&home, &["inspect", "write-skill", "--json"])).contains(&"conflict"));
}

#[test]
fn diagnostics_are_drawn_and_include_those_of_the_body() {
    let home = TestHome::new();
    home.write(
        "project/.agents/skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: asked\n---\n",
    );
    let output = run(&home, &["inspect", "colon"]);
    let from = output.stdout.find("Diagnostics").expect("diagnostics");
    insta::assert_snapshot!(home.scrub(&output.stdout[from..]), @r#"
    Diagnostics
    warning[yaml-unquoted-colon]: read as `description: "Use when: asked"`
     --> [T]/project/.agents/skills/colon/SKILL.md:3:14
      |
    3 | description: Use when: asked
      |              ^^^^^^^^^^^^^^^
      |
      = help: Put the value in double quotes (`metier check --fix` does it).
      = note: also rejected by skills-ref, quick_validate, strict-yaml-clients

    warning[body-empty]: there is no text after the frontmatter
     --> [T]/project/.agents/skills/colon/SKILL.md:5:1
      |
    5 |
      | ^
      |
      = help: Explain how to do the task: when to use the skill, the steps, the checks.
    "#);
    assert_eq!(output.code, 0);
    let shown = json(&home, &["inspect", "colon", "--json"]);
    assert_eq!(texts(&shown["diagnostics"], "code"), ["yaml-unquoted-colon", "body-empty"]);
}

#[test]
fn a_disabled_skill_can_still_be_inspected() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/off", "off", "Switched off.");
    home.write("home/.agent/config.json", r#"{"skills": {"off": {"enabled": false}}}"#);
    let shown = json(&home, &["inspect", "off", "--json"]);
    assert_eq!(shown["enabled"], json!(false));
    assert!(run(&home, &["inspect", "off"]).stdout.contains("  enabled         no\n"));
}

#[test]
fn a_misspelt_name_is_answered_with_the_nearest_one() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf-forms", "pdf-forms", "Fills in forms.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["inspect", "pdf-from"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: there is no skill `pdf-from` here
    help: did you mean `pdf-forms`?
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["inspect", "nothing-like-it"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: there is no skill `nothing-like-it` here
    help: `metier list --all` shows every skill, and why others were left out
    ");
    let output = run(&home, &["inspect", "pdf-from", "--json"]);
    assert_eq!(
        document(&home, &output, 1),
        json!({ "error": {
            "code": "SkillNotFound",
            "message": "there is no skill `pdf-from` here",
            "help": "did you mean `pdf-forms`?",
        }})
    );
}

#[test]
fn an_ignored_skill_says_why_it_is_not_listed() {
    let home = TestHome::new();
    home.write(
        "project/.agents/skills/tags/SKILL.md",
        "---\nname: tags\ndescription: A <b>\n---\n",
    );
    insta::assert_snapshot!(shown(&home, &run(&home, &["inspect", "tags"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: `tags` is not listed: `description` contains `<` or `>` [angle-brackets] [T]/project/.agents/skills/tags:3
    help: Write the words out: `less than`, `->` as `to`, placeholders in capitals. `metier check` shows the line.
    ");
    let error = document(&home, &run(&home, &["inspect", "tags", "--json"]), 1);
    assert_eq!(error["error"]["code"], "skill-ignored");
}

#[test]
fn copies_are_reported() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "One skill.");
    home.skill("home/.agents/skills/pdf", "pdf", "One skill.");
    let human = home.scrub(&run(&home, &["inspect", "pdf"]).stdout);
    assert!(human.contains("  also at         [T]/home/.agents/skills/pdf\n"), "{human}");
}

/// The largest is a hole on disk: what is judged is a beginning, and time and memory are bounded.
#[test]
fn a_skill_that_no_loader_would_read_is_listed_and_says_so() {
    let home = TestHome::new();
    let head = "---\nname: huge\ndescription: Fine.\n---\nDo it.\n";
    let path = home.write("project/.agents/skills/huge/SKILL.md", head);
    for bytes in [2_000_001, 3 << 30] {
        let file = std::fs::File::options().write(true).open(&path).expect("opens");
        file.set_len(bytes).expect("a sparse file");
        let document = document(&home, &run(&home, &["inspect", "huge", "--json"]), 0);
        let found = document["diagnostics"].as_array().expect("a list");
        let codes: Vec<&str> = found.iter().filter_map(|it| it["code"].as_str()).collect();
        assert!(codes.contains(&"skill-unloadable"), "{codes:?}");
        assert!(!codes.contains(&"file-empty"), "{codes:?}");
        let checked = run(&home, &["check", ".agents/skills/huge"]);
        assert_eq!(checked.code, 1);
        let wanted = format!("error[skill-unloadable]: the file has {bytes} bytes; ");
        assert!(checked.stdout.contains(&wanted), "{checked:?}");
    }
    // The public specification has no such limit.
    assert_eq!(run(&home, &["check", "--spec", ".agents/skills/huge"]).code, 0);
}

#[test]
fn items_of_a_list_stay_whole() {
    let home = TestHome::new();
    home.write(
        "project/.agents/skills/x/SKILL.md",
        "---\nname: x\ndescription: Does it.\ncompatibility:\n  - Linux\n  - Python 3.11\n\
         allowed-tools:\n  - Azure MCP/documentation\n  - Read\n---\n\nDo it.\n",
    );
    let entry = run(&home, &["inspect", "x", "--json"]).json();
    assert_eq!(entry["meta"]["compatibility"], "Linux, Python 3.11");
    assert_eq!(
        entry["controls"]["allowed_tools"],
        serde_json::json!(["Azure MCP/documentation", "Read"])
    );
}
