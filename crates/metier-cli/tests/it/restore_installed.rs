//! `metier restore` of installed skills: over the version that stands there, of the right project, and with the
//! records in agreement. From the outside.

use std::fs;

use metier_testkit::TestHome;
use serde_json::Value;

use crate::support::{answers_on_terminal, json, run, run_in};

/// A project whose skill `pdf` was installed at version 1 and updated to version 2.
fn updated() -> TestHome {
    let home = TestHome::new();
    version(&home, "1");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    version(&home, "2");
    let output = run(&home, &["update", "pdf", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(installed(&home), "version 2");
    home
}

fn version(home: &TestHome, version: &str) {
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home.write("project/src/pdf/data.txt", format!("version {version}"));
}

fn installed(home: &TestHome) -> String {
    let path = home.project().join(".agent/skills/pdf/data.txt");
    fs::read_to_string(path).expect("is installed")
}

fn is_verified(home: &TestHome) {
    let output = run(home, &["verify"]);
    assert_eq!(output.code, 0, "the lock agrees with the disk: {output:?}");
}

fn code_of(home: &TestHome, args: &[&str]) -> (i32, String, String) {
    let output = run(home, &[args, &["--json"]].concat());
    let error = &output.json()["error"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        output.code,
        text(&error["code"]),
        format!("{} {}", text(&error["message"]), text(&error["help"])),
    )
}

#[test]
fn the_old_version_comes_back_over_the_new_one_and_the_other_way_round() {
    let home = updated();
    for expected in ["version 1", "version 2", "version 1"] {
        let output = run(&home, &["restore", "pdf", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("what stood there is in a backup"), "{output:?}");
        assert_eq!(installed(&home), expected);
        is_verified(&home);
    }
    let listed = json(&home, &["restore", "--list", "--json"]);
    assert_eq!(listed["backups"].as_array().expect("a list").len(), 1, "{listed}");
}

#[test]
fn what_was_changed_is_restored_over_only_by_force_and_goes_to_a_backup() {
    let home = updated();
    home.write("project/.agent/skills/pdf/data.txt", "mine");
    let (exit, code, said) = code_of(&home, &["restore", "pdf", "--yes"]);
    assert_eq!((exit, code.as_str()), (1, "already-exists"), "{said}");
    assert!(
        said.contains("was changed since it was installed") && said.contains("--force"),
        "{said}"
    );
    assert_eq!(installed(&home), "mine");
    let restored = json(&home, &["restore", "pdf", "--yes", "--force", "--json"]);
    assert_eq!(restored["replaced"], true, "{restored}");
    assert_eq!(installed(&home), "version 1");
    is_verified(&home);
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert_eq!(installed(&home), "mine", "nothing is lost");
}

#[test]
fn a_skill_that_was_replaced_by_force_comes_back_and_its_records_go() {
    let home = TestHome::new();
    version(&home, "1");
    home.skill("project/.agent/skills/pdf", "pdf", "Mine.");
    home.write("project/.agent/skills/pdf/data.txt", "mine");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 1);
    assert_eq!(run(&home, &["install", "src", "--yes", "--force"]).code, 0);
    assert_eq!(installed(&home), "version 1");
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert_eq!(installed(&home), "mine");
    let verified = json(&home, &["verify", "--json"]);
    assert_eq!(verified["skills"][0]["state"], "unmanaged", "{verified}");
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 1, "mine was not installed");
    assert_eq!(run(&home, &["restore", "pdf", "--yes", "--force"]).code, 0);
    assert_eq!(installed(&home), "version 1");
    is_verified(&home);
}

#[test]
fn a_name_means_a_backup_of_this_project_and_another_is_named_by_its_id() {
    let home = updated();
    home.skill("other/src/pdf", "pdf", "Another one.");
    fs::create_dir_all(home.path().join("other/.git")).expect("a repository");
    assert_eq!(run_in(&home, "other", &["install", "src", "--yes"]).code, 0);
    assert_eq!(run_in(&home, "other", &["uninstall", "pdf", "--yes"]).code, 0);
    let listed = json(&home, &["restore", "--list", "--json"]);
    let numbers: Vec<&Value> =
        listed["backups"].as_array().expect("a list").iter().map(|it| &it["number"]).collect();
    assert_eq!(numbers, [&Value::Null, &Value::from(1)], "{listed}");
    assert!(run(&home, &["restore", "--list"]).stdout.contains("pdf (elsewhere)"));
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert_eq!(installed(&home), "version 1");
    assert!(!home.path().join("other/.agent/skills/pdf").exists(), "that one stays deleted");

    fs::create_dir_all(home.path().join("third/.git")).expect("a repository");
    let output = run_in(&home, "third", &["restore", "pdf", "--yes", "--json"]);
    let error = output.json()["error"].clone();
    assert_eq!((output.code, error["code"].as_str()), (1, Some("no-backup")), "{error}");
    let help = error["help"].as_str().expect("help");
    let command = help.rsplit("metier ").next().expect("a command");
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words[0], "restore", "{help}");
    let words = [&words[..], &["--yes"]].concat();
    assert_eq!(run_in(&home, "third", &words).code, 0, "the advice works: {help}");
}

#[test]
fn a_restoration_shows_its_plan_and_asks_like_an_installation() {
    let home = updated();
    let needs = run(&home, &["restore", "pdf", "--json"]);
    assert_eq!(needs.code, 3, "{needs:?}");
    assert!(needs.stdout.contains("metier restore --yes pdf"), "{needs:?}");
    let plan = run(&home, &["restore", "pdf", "--dry-run"]);
    assert!(plan.code == 0 && plan.stdout.contains("changed: data.txt"), "{plan:?}");
    assert_eq!(json(&home, &["restore", "pdf", "--dry-run", "--json"])["dry_run"], true);
    assert_eq!(installed(&home), "version 2");
    let answers = &[("Restore?", "n\n")];
    let Some(output) = answers_on_terminal(&home, &["restore", "pdf"], answers) else { return };
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stdout.contains("changed: data.txt"), "{output:?}");
    assert_eq!(installed(&home), "version 2");
}

#[test]
fn a_file_of_secrets_that_is_replaced_is_named() {
    let home = TestHome::new();
    version(&home, "1");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    home.write("project/.agent/skills/pdf/.env", "TOKEN=old");
    version(&home, "2");
    assert_eq!(run(&home, &["update", "pdf", "--yes"]).code, 0);
    home.write("project/.agent/skills/pdf/.env", "TOKEN=new");
    let plan = run(&home, &["restore", "pdf", "--dry-run"]);
    assert!(plan.stdout.contains("only in the backup afterwards: .env"), "{plan:?}");
    let done = run(&home, &["restore", "pdf", "--yes"]);
    assert!(done.stdout.contains("only in the backup afterwards: .env"), "{done:?}");
}

#[test]
fn in_a_project_a_backup_of_the_users_own_folder_is_restored_only_by_its_id() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/a", "a", "Mine.");
    assert_eq!(run(&home, &["delete", "a", "--yes"]).code, 0);
    let (exit, code, said) = code_of(&home, &["restore", "a", "--yes"]);
    assert_eq!((exit, code.as_str()), (1, "other-place"), "{said}");
    assert!(said.contains("metier restore --yes user:a"), "{said}");
    // The plan says what the command would say.
    let (exit, code, _) = code_of(&home, &["restore", "a", "--dry-run"]);
    assert_eq!((exit, code.as_str()), (1, "other-place"));
    assert!(!home.home().join(".agent/skills/a").exists());
    assert_eq!(run(&home, &["restore", "user:a", "--dry-run"]).code, 0);
    assert_eq!(run(&home, &["restore", "user:a", "--yes"]).code, 0);
    assert!(home.home().join(".agent/skills/a/SKILL.md").exists());
    assert_eq!(run(&home, &["delete", "a", "--yes"]).code, 0);
    home.skill("home/.agent/skills/a", "a", "Another.");
    let real = code_of(&home, &["restore", "user:a", "--yes"]);
    assert_eq!((real.0, real.1.as_str()), (1, "already-exists"), "{real:?}");
    assert_eq!(code_of(&home, &["restore", "user:a", "--dry-run"]), real);
}

#[test]
fn the_list_of_backups_is_aligned_where_no_terminal_reads_it() {
    let home = updated();
    fs::create_dir_all(home.path().join("third/.git")).expect("a repository");
    home.skill("home/.agent/skills/a", "a", "Mine.");
    assert_eq!(run(&home, &["delete", "a", "--yes"]).code, 0);
    let listed = run_in(&home, "third", &["restore", "--list"]).stdout;
    let columns: Vec<Option<usize>> = listed.lines().map(|line| line.find("20")).skip(1).collect();
    let header = listed.lines().next().and_then(|line| line.find("DELETED"));
    assert!(columns.iter().all(|column| *column == header), "{listed}");
}

#[test]
fn an_installed_skill_is_uninstalled_and_not_deleted() {
    let home = TestHome::new();
    home.skill("src/a", "a", "Mine.");
    assert_eq!(run(&home, &["install", "../src/a", "--user", "--yes"]).code, 0);
    let refused = run(&home, &["delete", "a", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("metier uninstall --user a"), "{refused:?}");
    assert!(home.path().join("home/.agent/skills/a").exists());
    // In another agent's folder too the advice works.
    assert_eq!(run(&home, &["uninstall", "--user", "a", "--yes"]).code, 0);
    let agent = ["--user", "--agent", "claude"];
    assert_eq!(run(&home, &[&["install", "../src/a", "--yes"][..], &agent].concat()).code, 0);
    let refused = run(&home, &["delete", "user:a", "--yes"]);
    assert!(refused.stderr.contains("metier uninstall --user --agent claude a"), "{refused:?}");
    assert_eq!(run(&home, &[&["uninstall", "a", "--yes"][..], &agent].concat()).code, 0);
}
