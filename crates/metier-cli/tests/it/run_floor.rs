//! What no rule lets a run change, and what it changes only when asked: files that start programs when
//! a folder is opened, at login or by git, and files that CI and builds run.

use std::os::unix::fs::symlink;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{answer, call, codes, events, of_type, project, run_scripted, scripted};
use crate::run_terminal::Terminal;
use crate::support::{json, run};

fn write(path: &str) -> Value {
    call("write_file", &json!({"path": path, "content": "x\n", "expected_sha256": null}))
}

/// Tries to write each of these; gives the codes.
fn written(home: &TestHome, paths: &[&str], flags: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    // Not more in a run than its budget takes.
    for part in paths.chunks(10) {
        let turns: Vec<Value> = part.iter().map(|path| write(path)).chain([answer("x")]).collect();
        let output = run_scripted(home, &json!(turns), flags);
        let events = events(home);
        let codes = codes(&events);
        // One that succeeded, else how the last one ended.
        let exit = match codes.last() {
            _ if codes.contains(&"ok") => 0,
            Some(&"NotAllowed") => 3,
            _ => 1,
        };
        assert_eq!(output.code, exit, "{codes:?}: {output:?}");
        all.extend(codes.into_iter().map(str::to_owned));
    }
    all
}

const OPEN: [&str; 5] = ["--allow", "*", "--allow", "write_file", "--yes"];

const STARTS: &[&str] = &[
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".opencode/plugin/a.ts",
    "opencode.json",
    ".kiro/hooks/a.json",
    ".roo/mcp.json",
    ".idea/runConfigurations/a.xml",
    ".zed/tasks.json",
    ".devcontainer/devcontainer.json",
    ".husky/pre-commit",
    ".githooks/pre-push",
    "tools/hooks/commit-msg",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    ".vscode/tasks.json",
    "team.code-workspace",
    ".nvim.lua",
    ".exrc",
    ".envrc",
    "mise.toml",
    ".mcp.json",
    ".claude/agents/a.md",
    "packages/deep/down/.CURSOR/mcp.json",
    "packages/deep/.Husky/_/pre-commit",
    "packages/OpenCode.JSON",
    "a/.GITHUB/hooks/a.json",
];

#[test]
fn what_starts_by_itself_is_not_written_whatever_is_allowed() {
    let home = project();
    // Some are there already, some have to be made with their folders.
    home.write("project/.vscode/tasks.json", "{}");
    home.write("project/.husky/pre-commit", "echo mine\n");
    for _ in 0..2 {
        for (path, code) in STARTS.iter().zip(written(&home, STARTS, &OPEN)) {
            assert_eq!(code, "NotAllowed", "{path}");
        }
    }
    for path in
        STARTS.iter().filter(|path| !path.starts_with(".vscode") && !path.starts_with(".husky"))
    {
        assert!(!home.project().join(path).exists(), "{path}");
    }
    let mine = std::fs::read(home.project().join(".husky/pre-commit")).expect("there");
    assert_eq!(mine, b"echo mine\n");
    let delete = call("delete_file", &json!({"path": ".husky/pre-commit"}));
    run_scripted(&home, &json!([delete, answer("x")]), &["--allow", "delete_file", "--yes"]);
    assert_eq!(codes(&events(&home)), ["NotAllowed"]);
    // They may be read.
    let read = call("read_file", &json!({"path": ".husky/pre-commit"}));
    run_scripted(&home, &json!([read, answer("x")]), &[]);
    assert_eq!(codes(&events(&home)), ["ok"]);
    assert_eq!(written(&home, &["notes.txt", "docs/husky.md"], &OPEN), ["ok", "ok"]);
}

#[test]
fn no_link_leads_into_what_starts_by_itself() {
    let home = project();
    home.write("project/.husky/pre-commit", "echo mine\n");
    symlink(".husky", home.project().join("docs")).expect("links");
    symlink(".husky/pre-commit", home.project().join("notes.txt")).expect("links");
    symlink("docs", home.project().join("twice")).expect("links");
    symlink(".vscode/tasks.json", home.project().join("dangling.json")).expect("links");
    std::fs::hard_link(home.project().join(".husky/pre-commit"), home.project().join("hard.txt"))
        .expect("links");
    let paths = ["docs/pre-commit", "docs/a", "notes.txt", "twice/a", "dangling.json", "hard.txt"];
    for (path, code) in paths.iter().zip(written(&home, &paths, &OPEN)) {
        assert_ne!(code, "ok", "{path}");
    }
    let mine = std::fs::read(home.project().join(".husky/pre-commit")).expect("there");
    assert_eq!(mine, b"echo mine\n");
    assert!(!home.project().join(".vscode").exists() && !home.project().join(".husky/a").exists());
}

const RUN: [&str; 6] = ["run", "do it", "--model", "scripted:model.json", "--allow", "write_file"];

#[test]
fn ci_and_build_files_ask_with_the_difference() {
    let home = project();
    home.write("project/Makefile", "all:\n\techo old\n");
    let content = "all:\n\techo new\n";
    let change = call("write_file", &json!({"path": "Makefile", "content": content}));
    scripted(&home, &json!([change, answer("done")]));
    let waits = run(&home, &RUN);
    assert_eq!(waits.code, 3, "{waits:?}");
    assert!(waits.stderr.contains("run by a build"), "{waits:?}");
    if let Some(mut terminal) = Terminal::start(&home, &RUN) {
        terminal.until("[e]xplain:", 1);
        terminal.types("n\n");
        terminal.until("Reason, for the model", 1);
        terminal.types("\n");
        let (seen, code) = terminal.end();
        assert_eq!(code, 3, "{seen}");
        assert!(seen.contains("-\techo old") || seen.contains("-\\techo old"), "{seen}");
        assert!(seen.contains("echo new"), "{seen}");
        assert_eq!(codes(&events(&home)), ["Rejected"]);
    }
    let before = std::fs::read_to_string(home.project().join("Makefile")).expect("there");
    assert!(before.contains("old"));
    // `--yes` answers an ordinary question.
    assert_eq!(run(&home, &[&RUN[..], &["--yes"]].concat()).code, 0);
    let after = std::fs::read_to_string(home.project().join("Makefile")).expect("there");
    assert_eq!(after, content);
}

#[test]
fn only_a_rule_of_the_user_about_that_very_file_answers_before() {
    let home = project();
    let paths = [
        "Makefile",
        ".github/workflows/ci.yml",
        "sub/package.json",
        "Cargo.toml",
        "build.rs",
        "Dockerfile",
        "pyproject.toml",
        "Jenkinsfile",
        ".gitlab-ci.yml",
        "CLAUDE.md",
    ];
    let asked = |path: &str, flags: &[&str]| {
        let output = run_scripted(&home, &json!([write(path), answer("x")]), flags);
        let opened = of_type(&events(&home), "ask.opened").len();
        assert_eq!((output.code, opened), if opened == 1 { (3, 1) } else { (0, 0) }, "{output:?}");
        opened == 1
    };
    for path in paths {
        assert!(asked(path, &["--allow", "write_file"]), "{path}");
        assert!(asked(path, &["--allow", "write_file:*"]), "{path}");
        let exact = format!("write_file:{path}");
        assert!(!asked(path, &["--allow", &exact]), "{path}");
        assert!(home.project().join(path).exists(), "{path}");
    }
    // A pattern does not name a file, and a project names nothing.
    let rule = |place: &str, pattern: &str| {
        let rule = json!({"permission": "write_file", "pattern": pattern, "effect": "allow"});
        home.write(place, json!({ "permissions": [rule] }).to_string());
    };
    rule("home/.agent/config.json", "Make*");
    assert!(asked("Makefile", &[]));
    rule("home/.agent/config.json", "Makefile");
    assert!(!asked("Makefile", &[]));
    assert!(asked("sub/Makefile", &["--allow", "write_file"]));
    rule("home/.agent/config.json", "*");
    rule("project/.agent/config.json", "Makefile");
    assert!(asked("Makefile", &[]));
    let report = json(&home, &["explain", "write_file", "Makefile", "--json"]);
    assert_eq!(report["effect"], "ask");
    let layers = report["layers"].as_array().expect("layers");
    let guarded = layers.iter().find(|layer| layer["layer"] == "guarded").expect("a layer");
    assert_eq!(guarded["because"], "`makefile*` is run by a build");
    let explained = run(&home, &["explain", "write_file", "Makefile"]);
    assert!(explained.stderr.contains("with this very path"), "{explained:?}");
}
