//! `metier roots`: the folders that are searched, in their order, with what is in them, and those
//! that would be searched if they existed.

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{at, builtin, json, run, shown, texts};

#[test]
fn the_roots_that_exist_highest_priority_first() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/sheet", "sheet", "The user's.");
    home.skill("project/.claude/skills/pdf", "pdf", "The project's.");
    home.skill("project/.claude/skills/slides", "slides", "The project's.");
    home.skill("extra/one", "one", "An explicit one.");
    home.write("file", "no directory");
    let [extra, none, file] = ["extra", "none", "file"].map(|name| at(&home, name));
    let args = ["roots", "--root", &extra, "--root", &none, "--root", &file];
    insta::assert_snapshot!(shown(&home, &run(&home, &args)), @"
    exit: 0
    ---- stdout
    SOURCE    STATE          SKILLS  PATH
    explicit  ok             1       [T]/extra
    explicit  missing        -       [T]/none
    explicit  not-directory  -       [T]/file
    project   ok             2       [T]/project/.claude/skills
    user      ok             1       [T]/home/.agents/skills
    builtin   ok             5       builtin:

    ---- stderr
    43 more folders would be searched if they existed (metier roots --all)
    ");
}

#[test]
fn all_shows_every_folder_that_would_be_searched() {
    let home = TestHome::new();
    home.skill("project/.claude/skills/pdf", "pdf", "The project's.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["roots", "--all"])), @"
    exit: 0
    ---- stdout
    SOURCE   STATE    SKILLS  PATH
    project  missing  -       [T]/project/.agent/skills
    project  missing  -       [T]/project/.agent/skill
    project  missing  -       [T]/project/.agents/skills
    project  missing  -       [T]/project/.agents/skill
    project  ok       1       [T]/project/.claude/skills
    project  missing  -       [T]/project/.claude/skill
    project  missing  -       [T]/project/.codex/skills
    project  missing  -       [T]/project/.opencode/skill
    project  missing  -       [T]/project/.opencode/skills
    project  missing  -       [T]/project/.gemini/skills
    project  missing  -       [T]/project/.github/skills
    project  missing  -       [T]/project/.goose/skills
    project  missing  -       [T]/project/.qwen/skills
    project  missing  -       [T]/project/.cursor/skills
    project  missing  -       [T]/project/.warp/skills
    project  missing  -       [T]/project/.factory/skills
    project  missing  -       [T]/project/.kiro/skills
    project  missing  -       [T]/project/.kimi/skills
    project  missing  -       [T]/project/.crush/skills
    project  missing  -       [T]/project/.roo/skills
    project  missing  -       [T]/project/.pi/skills
    project  missing  -       [T]/project/.vibe/skills
    user     missing  -       [T]/home/.agent/skills
    user     missing  -       [T]/home/.agent/skill
    user     missing  -       [T]/home/.agents/skills
    user     missing  -       [T]/home/.agents/skill
    user     missing  -       [T]/home/.config/agents/skills
    user     missing  -       [T]/home/.claude/skills
    user     missing  -       [T]/home/.claude/skill
    user     missing  -       [T]/home/.codex/skills
    user     missing  -       [T]/home/.config/opencode/skill
    user     missing  -       [T]/home/.config/opencode/skills
    user     missing  -       [T]/home/.gemini/skills
    user     missing  -       [T]/home/.copilot/skills
    user     missing  -       [T]/home/.config/goose/skills
    user     missing  -       [T]/home/.qwen/skills
    user     missing  -       [T]/home/.cursor/skills
    user     missing  -       [T]/home/.warp/skills
    user     missing  -       [T]/home/.factory/skills
    user     missing  -       [T]/home/.kiro/skills
    user     missing  -       [T]/home/.kimi/skills
    user     missing  -       [T]/home/.config/crush/skills
    user     missing  -       [T]/home/.roo/skills
    user     missing  -       [T]/home/.pi/agent/skills
    user     missing  -       [T]/home/.vibe/skills
    builtin  ok       5       builtin:

    ---- stderr
    ");
}

#[test]
fn the_document_has_each_root_with_its_state() {
    let home = TestHome::new();
    home.skill("home/.claude/plugins/cache/market/office/1.0/skills/pdf", "pdf", "A plugin's.");
    let roots = json(&home, &["roots", "--json", "--root", &at(&home, "none")]);
    assert_eq!(
        roots,
        json!({ "roots": [
            { "source": "explicit", "path": "[T]/none", "priority": 0, "state": "missing", "found": 0 },
            {
                "source": "plugin",
                "path": "[T]/home/.claude/plugins/cache/market/office/1.0/skills",
                "priority": 46,
                "state": "ok",
                "found": 1,
                "plugin": "office",
            },
            { "source": "builtin", "path": "builtin:", "priority": 47, "state": "ok", "found": builtin() },
        ]})
    );
    let all = json(&home, &["roots", "--all", "--json"]);
    let sources = texts(&all["roots"], "source");
    let mut order = sources.clone();
    order.dedup();
    assert_eq!(order, ["project", "user", "plugin", "builtin"], "each source stands together");
}

#[test]
fn a_plain_file_where_an_agents_folder_could_be_is_not_a_fault() {
    let home = TestHome::new();
    for file in ["project/.codex", "project/.claude", "home/.codex"] {
        home.write(file, "not a folder\n");
    }
    home.skill("project/.agents/skills/greet", "greet", "Greets.");
    for command in [&["list"][..], &["check"], &["check", "."], &["doctor"], &["roots"]] {
        let output = run(&home, command);
        assert_eq!(output.code, 0, "{command:?}: {output:?}");
        assert!(!output.stdout.contains("not-directory"), "{command:?}: {output:?}");
    }
}
