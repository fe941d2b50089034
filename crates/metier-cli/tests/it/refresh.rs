//! `metier refresh`: what changed in this directory's skills since the last refresh, where that is
//! remembered, and what happens when it cannot be.

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{json, keys, run, run_in, shown};

macro_rules! assert_refreshed {
    ($home:expr, $output:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![(r"read in [0-9.]+ ms", "read in [N] ms")]}, {
            insta::assert_snapshot!(shown($home, $output), @$snapshot);
        });
    };
}

#[test]
fn first_then_nothing_then_what_was_added_changed_and_removed() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/changed", "changed", "As it was.");
    home.skill("project/.agents/skills/removed", "removed", "Soon gone.");
    home.skill("project/.agents/skills/same", "same", "Never touched.");
    assert_refreshed!(&home, &run(&home, &["refresh"]), @"
    exit: 0
    ---- stdout

    ---- stderr
    8 skills read in [N] ms; first refresh here
    ");
    assert_refreshed!(&home, &run(&home, &["refresh"]), @"
    exit: 0
    ---- stdout

    ---- stderr
    8 skills read in [N] ms; nothing changed since the last refresh
    ");
    home.skill("project/.agents/skills/added", "added", "New.");
    home.skill("project/.agents/skills/changed", "changed", "As it is.");
    std::fs::remove_dir_all(home.project().join(".agents/skills/removed")).expect("removes");
    assert_refreshed!(&home, &run(&home, &["refresh"]), @"
    exit: 0
    ---- stdout
    + added   project:added  [T]/project/.agents/skills/added
    ~ changed project:changed  [T]/project/.agents/skills/changed
    - removed project:removed  [T]/project/.agents/skills/removed

    ---- stderr
    8 skills read in [N] ms; 3 changes
    ");
    assert_refreshed!(&home, &run(&home, &["refresh"]), @"
    exit: 0
    ---- stdout

    ---- stderr
    8 skills read in [N] ms; nothing changed since the last refresh
    ");
}

#[test]
fn the_document_has_changes_and_report() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/old", "old", "Soon off.");
    let first = json(&home, &["refresh", "--json"]);
    assert_eq!(keys(&first), ["changes", "first", "report"]);
    assert_eq!((&first["first"], &first["changes"]), (&json!(true), &json!([])));
    home.skill("project/.agents/skills/new", "new", "New.");
    home.write("home/.agent/config.json", r#"{"skills": {"old": {"enabled": false}}}"#);
    let second = json(&home, &["refresh", "--json"]);
    assert_eq!(second["first"], json!(false));
    assert_eq!(
        second["changes"],
        json!([
            { "change": "added", "id": "project:new", "name": "new", "path": "[T]/project/.agents/skills/new" },
            { "change": "changed", "id": "project:old", "name": "old", "path": "[T]/project/.agents/skills/old" },
        ])
    );
}

#[test]
fn each_directory_has_its_own_memory() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.path().join("other/.git")).expect("directories");
    assert!(run(&home, &["refresh"]).stderr.contains("first refresh here"));
    assert!(run_in(&home, "other", &["refresh"]).stderr.contains("first refresh here"));
    assert!(run(&home, &["refresh"]).stderr.contains("nothing changed"));
}

#[test]
fn a_damaged_memory_is_a_first_refresh() {
    let home = TestHome::new();
    run(&home, &["refresh"]);
    let state = home.home().join(".local/state/metier");
    for entry in std::fs::read_dir(state).expect("the state folder") {
        std::fs::write(entry.expect("an entry").path(), "no JSON").expect("writes");
    }
    assert!(run(&home, &["refresh"]).stderr.contains("first refresh here"));
    assert!(run(&home, &["refresh"]).stderr.contains("nothing changed"));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_an_error_with_advice() {
    let home = TestHome::new();
    home.write("home/.local/state", "a file where the folder should be");
    let output = run(&home, &["refresh"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("cannot save the list of skills"), "{output:?}");
    assert!(output.stderr.contains("help: check the permissions"), "{output:?}");
}
