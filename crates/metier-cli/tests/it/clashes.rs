//! Several skills of one name: the folder that has the name wins inside a root, what is off gives way, a
//! source can be named, and every list says which is which.

use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{answer, codes, events, of_type, scripted, select};
use crate::support::{entry, json, run, shown, shown_own};

/// `pdf/` and a newer `cute-cats/` that calls itself `pdf`, in one root.
fn clash() -> TestHome {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "Reads PDF files.");
    home.skill("home/.agents/skills/cute-cats", "pdf", "Shows cats.");
    for (folder, time) in [("pdf", 1_000), ("cute-cats", 2_000)] {
        let file = home.home().join(".agents/skills").join(folder).join("SKILL.md");
        let file = File::options().write(true).open(file).expect("opens");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(time)).expect("a time");
    }
    home
}

#[test]
fn the_folder_that_has_the_name_wins_over_a_newer_one_and_the_clash_is_marked() {
    let home = clash();
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               user     [clash] Reads PDF files.

    ---- stderr
    6 skills in 2 roots; 1 shadowed, 1 with a clash (metier list --all shows why)
    ");
    let listing = json(&home, &["list", "--json"]);
    let conflict = &listing["report"]["conflicts"][0];
    assert_eq!(conflict["reason"], "folder-name");
    assert!(conflict["winner"].as_str().expect("a path").ends_with("skills/pdf"), "{conflict}");
}

#[test]
fn doctor_calls_a_clash_an_error_and_names_the_one_that_lost() {
    let home = clash();
    let output = run(&home, &["doctor", "--json"]);
    assert_eq!(output.code, 1);
    let document: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let finding = &document["findings"][0];
    assert_eq!(
        (&finding["code"], &finding["severity"]),
        (&json!("skill-shadowed"), &json!("error"))
    );
    assert_eq!(finding["skill"], "user:pdf#2");
    assert!(finding["help"].as_str().expect("help").contains("`user:pdf#2`"), "{finding}");
    let read = run(&home, &["inspect", "user:pdf#2"]).stdout;
    assert!(read.contains("Shows cats."), "{read}");
}

#[test]
fn between_two_that_both_match_or_both_do_not_the_later_one_wins() {
    let home = TestHome::new();
    for (folder, time) in [("a/pdf", 2_000), ("b/pdf", 1_000), ("x", 3_000), ("y", 4_000)] {
        let name = if folder.len() > 1 { "pdf" } else { "cats" };
        home.skill(&format!("home/.agents/skills/{folder}"), name, folder);
        let file = home.home().join(".agents/skills").join(folder).join("SKILL.md");
        let file = File::options().write(true).open(file).expect("opens");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(time)).expect("a time");
    }
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "user:pdf")["description"], "a/pdf");
    assert_eq!(entry(&listing, "user:cats")["description"], "y");
}

/// One name in three sources, each with its own text and script.
fn three() -> TestHome {
    let home = TestHome::new();
    for (folder, from) in [("project", "project"), ("home", "user")] {
        let dir = format!("{folder}/.agents/skills/csv-summary");
        home.skill(&dir, "csv-summary", &format!("From the {from}."));
        home.write(&format!("{dir}/scripts/say.sh"), format!("echo {from}\n"));
    }
    home
}

#[test]
fn a_flag_names_the_source_on_every_command_that_takes_a_skill() {
    let home = three();
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let text = |args: &[&str]| run(&home, args).stdout;
    for (source, words) in [("project", "From the project."), ("user", "From the user.")] {
        let seen = text(&["inspect", "csv-summary", "--source", source]);
        assert!(seen.contains(words), "{seen}");
        let seen = text(&["read", "csv-summary", "--source", source, "--raw", "--yes"]);
        assert!(seen.contains(words), "{seen}");
        let seen = text(&["files", "csv-summary", "--source", source, "--json"]);
        assert!(seen.contains(&format!("{source}:csv-summary")), "{seen}");
    }
    assert!(text(&["inspect", "csv-summary", "--source", "builtin"]).contains("builtin"));
    if crate::run_support::holds_scripts(&home) {
        let args = ["exec", "--yes", "--source", "user", "csv-summary", "scripts/say.sh"];
        assert_eq!(text(&args), "user\n");
    }
    let twice = run(&home, &["inspect", "project:csv-summary", "--source", "user"]);
    assert_eq!(twice.code, 2, "{twice:?}");
    assert_eq!(run(&home, &["inspect", "csv-summary", "--source", "plugin"]).code, 1);
    let model = scripted(&home, &json!([answer("done")]));
    let args =
        ["run", "x", "--skill", "csv-summary", "--source", "user", "--yes", "--model", model];
    let output = run(&home, &args);
    assert_eq!(output.code, 0, "{output:?}");
    let events = events(&home);
    let started = of_type(&events, "action.started")[0].to_string();
    assert!(started.contains("user:csv-summary"), "{started}");
}

#[test]
fn a_list_of_one_source_has_its_shadowed_skills_too() {
    let home = three();
    let listed = run(&home, &["list", "--source", "user"]).stdout;
    assert!(listed.contains("[shadowed] From the user."), "{listed}");
    let document = json(&home, &["list", "--source", "user", "--json"]);
    assert_eq!(document["shadowed"][0]["id"], "user:csv-summary");
}

#[test]
fn a_model_can_name_a_source() {
    let home = three();
    let select_from = |source: Value| {
        json!({"action": {"type": "select_skills", "reason": "x",
            "skills": [{"name": "csv-summary", "source": source}]}})
    };
    let replies = json!([select_from(json!("user")), select_from(json!("plugin")), answer("done")]);
    let model = scripted(&home, &replies);
    let output = run(&home, &["run", "x", "--yes", "--model", model]);
    let events = events(&home);
    assert_eq!(codes(&events), ["ok", "SkillNotFound"], "{output:?}");
    let started = of_type(&events, "action.started")[0].to_string();
    assert!(started.contains("user:csv-summary"), "{started}");
}

#[test]
fn a_skill_that_is_off_gives_way_and_disable_says_to_which() {
    let home = three();
    let output = run(&home, &["disable", "csv-summary"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    project:csv-summary is now off in [T]/home/.agent/config.json

    ---- stderr
    to switch it on again: metier enable project:csv-summary
    user:csv-summary is used instead from now on
    ");
    let elsewhere = three();
    let output = run(&elsewhere, &["disable", "user:csv-summary"]);
    assert!(!output.stderr.contains("is used instead"), "it was not used before: {output:?}");
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "user:csv-summary")["enabled"], true);
    let conflict = &listing["report"]["conflicts"][0]["shadowed"];
    assert_eq!(conflict[1]["reason"], "switched-off", "{conflict}");
    let document = json(&home, &["disable", "user:csv-summary", "--json"]);
    assert_eq!(document["takes_over"], "builtin:csv-summary");
    let back = run(&home, &["enable", "project:csv-summary"]);
    assert_eq!(back.code, 0);
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "project:csv-summary")["enabled"], true);
}

#[test]
fn what_a_project_switches_off_of_another_source_leaves_the_name_empty() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/csv-summary", "csv-summary", "From the user.");
    let document = json(&home, &["disable", "user:csv-summary", "--project", "--json"]);
    assert_eq!(document.get("takes_over"), None, "{document}");
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "user:csv-summary")["enabled"], false);
    // The project's own skill is the project's to switch off: another takes over.
    let home = three();
    let document = json(&home, &["disable", "project:csv-summary", "--project", "--json"]);
    assert_eq!(document["takes_over"], "user:csv-summary");
}

#[test]
fn how_many_skills_a_turn_loads_is_a_setting() {
    let home = TestHome::new();
    for name in ["one", "two", "three"] {
        home.skill(&format!("home/.agents/skills/{name}"), name, name);
    }
    for (most, loaded) in [(1, 1), (3, 3)] {
        let text = format!(r#"{{"budgets": {{"skills_a_turn": {most}}}}}"#);
        home.write("home/.agent/config.json", text);
        let replies = json!([select(&["one", "two", "three"]), answer("done")]);
        let output = run(&home, &["run", "x", "--yes", "--model", scripted(&home, &replies)]);
        assert_eq!(output.code, 0, "{output:?}");
        let events = events(&home);
        let started = of_type(&events, "action.started");
        assert_eq!(started.len(), loaded, "{started:?}");
        std::fs::remove_dir_all(home.path().join("project/.agent/runs")).expect("removed");
    }
}
