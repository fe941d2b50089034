//! `install --agent … --link`: one installed copy, and links to it in the folders of other agents. What the commands
//! make of them, and what they never do. From the outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{json, run};

fn with_source() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home.write("project/src/pdf/data.txt", "1");
    home
}

fn linked() -> TestHome {
    let home = with_source();
    let output = run(&home, &["install", "src", "--agent", "claude,codex", "--link", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    home
}

fn link(home: &TestHome, agent: &str) -> PathBuf {
    home.project().join(format!(".{agent}/skills/pdf"))
}

fn is_link_to_the_copy(home: &TestHome, agent: &str) {
    let text = fs::read_link(link(home, agent)).expect("a link");
    assert_eq!(text, Path::new("../../.agent/skills/pdf"), "it works in every clone");
    assert!(link(home, agent).join("SKILL.md").exists());
}

fn code_of(home: &TestHome, args: &[&str]) -> String {
    let output = run(home, &[args, &["--json"]].concat());
    assert_ne!(output.code, 0, "{args:?}: {output:?}");
    output.json()["error"]["code"].as_str().expect("a code").to_owned()
}

#[test]
fn agents_get_links_to_one_copy_that_is_installed_updated_and_uninstalled_once() {
    let home = with_source();
    let args = ["install", "src", "--agent", "claude,codex", "--link"];
    let plan = json(&home, &[&args[..], &["--dry-run", "--json"]].concat());
    let links: Vec<(&Value, &Value)> = plan["skills"][0]["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|it| (&it["agent"], &it["action"]))
        .collect();
    assert_eq!(links, [(&json!("claude"), &json!("add")), (&json!("codex"), &json!("add"))]);
    assert!(!home.project().join(".claude").exists(), "nothing was changed");
    assert_eq!(run(&home, &args).code, 3, "it needs a yes");
    let output = run(&home, &[&args[..], &["--yes"]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("link (claude)"), "{output:?}");
    for agent in ["claude", "codex"] {
        is_link_to_the_copy(&home, agent);
        assert!(!home.project().join(format!(".{agent}/skills.lock.json")).exists());
        assert_eq!(run(&home, &["verify", "--agent", agent]).code, 0);
    }
    let again = json(&home, &[&args[..], &["--dry-run", "--json"]].concat());
    assert_eq!(again["skills"][0]["links"][0]["action"], "keep", "{again}");

    home.write("project/src/pdf/data.txt", "2");
    assert_eq!(run(&home, &["update", "pdf", "--agent", "claude", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(link(&home, "codex").join("data.txt")).expect("reads"), "2");
    let inventory = json(&home, &["inventory", "--json"]);
    let row = inventory["skills"]
        .as_array()
        .expect("skills")
        .iter()
        .find(|it| it["agents"] == json!(["claude"]))
        .unwrap_or_else(|| panic!("{inventory}"))
        .clone();
    assert_eq!((&row["state"], &row["origin"]), (&json!("managed"), &json!("./src")), "{row}");
    assert!(row["link_to"].as_str().expect("a link").ends_with(".agent/skills/pdf"));

    assert_eq!(run(&home, &["uninstall", "pdf", "--agent", "claude", "--yes"]).code, 0);
    assert!(!link(&home, "claude").exists() && link(&home, "codex").exists());
    assert!(home.project().join(".agent/skills/pdf").exists(), "the skill stays");
    assert_eq!(run(&home, &["verify"]).code, 0);
    assert_eq!(
        code_of(&home, &["uninstall", "pdf", "--agent", "claude", "--yes"]),
        "not-installed"
    );
    assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0);
    assert!(fs::symlink_metadata(link(&home, "codex")).is_err(), "no link to nothing is left");
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    is_link_to_the_copy(&home, "codex");
    assert_eq!(run(&home, &["verify"]).code, 0);
}

#[test]
fn a_link_that_is_gone_or_another_one_now_is_said_and_made_again() {
    let home = linked();
    fs::remove_file(link(&home, "claude")).expect("removes");
    let verified = run(&home, &["verify", "--json"]).json();
    assert_eq!(verified["skills"][0]["state"], "modified", "{verified}");
    assert_eq!(verified["skills"][0]["links"][0]["state"], "missing", "{verified}");
    assert_eq!(run(&home, &["verify", "--agent", "claude"]).code, 1);
    assert_eq!(run(&home, &["install"]).code, 3, "it needs a yes");
    assert_eq!(run(&home, &["install", "--locked", "--yes"]).code, 0);
    is_link_to_the_copy(&home, "claude");

    let other = home.skill("project/other", "pdf", "Mine.");
    fs::remove_file(link(&home, "claude")).expect("removes");
    symlink(&other, link(&home, "claude")).expect("links");
    assert_eq!(
        run(&home, &["verify", "--json"]).json()["skills"][0]["links"][0]["state"],
        "changed"
    );
    assert_eq!(code_of(&home, &["install", "--yes"]), "already-exists");
    assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0);
    assert_eq!(fs::read_link(link(&home, "claude")).expect("a link"), other, "it is not ours");
}

#[test]
fn what_stands_where_a_link_should_be_is_not_lost() {
    let home = with_source();
    home.skill("project/.claude/skills/pdf", "pdf", "Mine.");
    let args = ["install", "src", "--agent", "claude", "--link", "--yes"];
    assert_eq!(code_of(&home, &args), "already-exists");
    assert!(!home.project().join(".agent").exists(), "all of it or nothing");
    assert_eq!(run(&home, &[&args[..], &["--force"]].concat()).code, 0);
    is_link_to_the_copy(&home, "claude");
    let listed = json(&home, &["restore", "--list", "--json"]);
    let path = listed["backups"][0]["path"].as_str().expect("a backup");
    assert!(path.ends_with(".claude/skills/pdf"), "{listed}");

    // A copy that was installed there has a lock of its own, which a link would make a lie.
    let home = with_source();
    assert_eq!(run(&home, &["install", "src", "--agent", "claude", "--yes"]).code, 0);
    assert_eq!(code_of(&home, &[&args[..], &["--force"]].concat()), "already-exists");
    assert_eq!(run(&home, &["uninstall", "pdf", "--agent", "claude", "--yes"]).code, 0);
    assert_eq!(run(&home, &args).code, 0);
    is_link_to_the_copy(&home, "claude");
}

#[test]
fn no_link_is_made_outside_the_project_nor_inside_itself() {
    let home = with_source();
    fs::create_dir_all(home.path().join("outside")).expect("a directory");
    fs::create_dir_all(home.project().join(".claude")).expect("a directory");
    symlink(home.path().join("outside"), home.project().join(".claude/skills")).expect("links");
    let args = ["install", "src", "--agent", "claude", "--link", "--yes"];
    assert_eq!(code_of(&home, &args), "bad-target");
    assert_eq!(fs::read_dir(home.path().join("outside")).expect("there").count(), 0);

    // One that sees the whole folder needs no link.
    fs::remove_file(home.project().join(".claude/skills")).expect("removes");
    fs::create_dir_all(home.project().join(".agent/skills")).expect("a directory");
    symlink("../.agent/skills", home.project().join(".claude/skills")).expect("links");
    assert_eq!(run(&home, &args).code, 0);
    assert!(
        !fs::symlink_metadata(home.project().join(".agent/skills/pdf"))
            .expect("there")
            .is_symlink()
    );
    assert_eq!(run(&home, &["verify"]).code, 0);
}

#[test]
fn links_for_the_user_lead_from_home_to_the_users_own_folder() {
    let home = with_source();
    let args = ["install", "src", "--agent", "claude,metier", "--link", "--user", "--yes"];
    assert_eq!(run(&home, &args).code, 0);
    let text = fs::read_link(home.home().join(".claude/skills/pdf")).expect("a link");
    assert_eq!(text, Path::new("../../.agent/skills/pdf"));
    assert_eq!(run(&home, &["verify", "--user"]).code, 0);
    assert_eq!(run(&home, &["install", "--link"]).code, 2, "without an agent it means nothing");
    assert_eq!(run(&home, &["install", "--link", "--agent", "claude"]).code, 2);
}

#[test]
fn a_folder_that_can_hold_no_link_stops_the_installation_before_anything_changes() {
    let home = with_source();
    home.write("project/.claude", "a file");
    let args = ["install", "src", "--agent", "claude", "--link", "--yes"];
    assert_eq!(code_of(&home, &args), "not-written");
    assert!(!home.project().join(".agent/skills/pdf").exists());
    for next in [&["install", "src", "--yes"][..], &["verify"], &["uninstall", "pdf", "--yes"]] {
        let output = run(&home, next);
        assert_eq!(output.code, 0, "{next:?}: {output:?}");
    }
}

#[test]
fn a_copy_that_takes_the_place_of_a_link_is_no_link_in_the_lock() {
    let home = linked();
    let args = ["install", "src", "--agent", "claude", "--yes"];
    assert_eq!(code_of(&home, &args), "already-exists");
    assert_eq!(run(&home, &[&args[..], &["--force"]].concat()).code, 0);
    assert!(!link(&home, "claude").is_symlink());
    is_link_to_the_copy(&home, "codex");
    let lock = fs::read_to_string(home.project().join(".agent/skills.lock.json")).expect("there");
    assert!(lock.contains("codex") && !lock.contains("claude"), "{lock}");
    for args in [&["verify"][..], &["verify", "--agent", "claude"]] {
        let output = run(&home, args);
        assert!(output.code == 0 && !output.stdout.contains("link"), "{output:?}");
    }
}

#[test]
fn a_copy_that_is_restored_in_the_place_of_a_link_is_no_link_in_the_lock() {
    let home = with_source();
    for args in [
        &["install", "src", "--agent", "claude", "--yes"][..],
        &["uninstall", "pdf", "--agent", "claude", "--yes"],
        &["install", "src", "--agent", "claude", "--link", "--yes"],
        &["restore", "pdf", "--yes", "--force"],
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
    }
    assert!(!link(&home, "claude").is_symlink());
    for args in [&["verify"][..], &["verify", "--agent", "claude"]] {
        let output = run(&home, args);
        assert!(output.code == 0 && !output.stdout.contains("link"), "{output:?}");
    }
}
