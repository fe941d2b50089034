//! Files that a person keeps in the folder of an installed skill: a new version takes them over, or the plan says
//! that they are only in the backup. From the outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{files_below, json, run};

fn with_own_files() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home.write("project/src/pdf/data.txt", "1");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    let folder = "project/.agent/skills/pdf";
    let secret = home.write(&format!("{folder}/.env"), "KEY=1\n");
    fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).expect("chmod");
    home.write(&format!("{folder}/config/prod/.env.local"), "KEY=2\n");
    home.write(&format!("{folder}/.git/HEAD"), "ref: refs/heads/main\n");
    home.write(&format!("{folder}/node_modules/x/index.js"), "x\n");
    home
}

#[test]
fn an_update_takes_what_a_person_keeps_beside_the_skill_along() {
    let home = with_own_files();
    home.write("project/src/pdf/data.txt", "2");
    let plan = json(&home, &["update", "pdf", "--dry-run", "--json"]);
    let planned = &plan["skills"][0];
    assert_eq!(planned["kept_files"], json!([".env", ".git", "config/prod/.env.local"]), "{plan}");
    assert_eq!(planned["backup_files"], json!(["node_modules"]), "{plan}");
    let output = run(&home, &["update", "pdf", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    for said in [
        "your files come along: .env, .git, config/prod/.env.local",
        "only in the backup afterwards: node_modules",
    ] {
        assert!(output.stdout.contains(said), "{output:?}");
    }
    let skill = home.project().join(".agent/skills/pdf");
    let read = |path: &str| fs::read_to_string(skill.join(path)).expect(path);
    assert_eq!(
        (read("data.txt"), read(".env"), read("config/prod/.env.local")),
        ("2".to_owned(), "KEY=1\n".to_owned(), "KEY=2\n".to_owned())
    );
    assert_eq!(read(".git/HEAD"), "ref: refs/heads/main\n");
    let mode = fs::metadata(skill.join(".env")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner alone, as it was");
    assert!(!skill.join("node_modules").exists());
    assert_eq!(run(&home, &["verify"]).code, 0);
    let backups = home.path().join("home/.local/state/metier/backups");
    let kept = files_below(&backups);
    assert!(kept.iter().any(|it| it.ends_with("node_modules/x/index.js")), "{kept:?}");
}

#[test]
fn a_file_of_the_new_version_where_a_folder_of_the_person_was_is_said() {
    let home = with_own_files();
    home.write("project/src/pdf/config", "a file now");
    let plan = json(&home, &["update", "pdf", "--dry-run", "--json"]);
    assert_eq!(
        plan["skills"][0]["backup_files"],
        json!(["config/prod/.env.local", "node_modules"])
    );
    assert_eq!(run(&home, &["update", "pdf", "--yes"]).code, 0);
    assert_eq!(run(&home, &["verify"]).code, 0);
}

#[test]
fn other_files_of_a_person_stop_an_update_and_by_force_are_said_to_be_in_the_backup() {
    let home = with_own_files();
    home.write("project/src/pdf/data.txt", "2");
    home.write("project/.agent/skills/pdf/notes.txt", "mine");
    let output = run(&home, &["update", "pdf", "--yes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("notes.txt"), "it says which: {output:?}");
    let plan = json(&home, &["update", "pdf", "--force", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["backup_files"], json!(["node_modules", "notes.txt"]), "{plan}");
    assert_eq!(run(&home, &["update", "pdf", "--force", "--yes"]).code, 0);
    let skill = home.project().join(".agent/skills/pdf");
    assert!(skill.join(".env").exists() && !skill.join("notes.txt").exists());
}

#[test]
fn uninstalling_says_what_goes_to_the_backup_with_the_skill() {
    let home = with_own_files();
    let output = run(&home, &["uninstall", "pdf", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains(".env"), "{output:?}");
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert!(home.project().join(".agent/skills/pdf/.env").exists());
}

#[test]
fn a_socket_beside_what_a_person_keeps_stays_behind_and_is_named() {
    let home = with_own_files();
    let socket = home.project().join(".agent/skills/pdf/.git/watch.ipc");
    let _listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    home.write("project/src/pdf/data.txt", "2");
    let output = run(&home, &["update", "pdf", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("not copied (not regular files): .git/watch.ipc"), "{output:?}");
    assert!(home.project().join(".agent/skills/pdf/.git/HEAD").exists());
    assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0);
}
