//! Mistakes around installed skills, each with its own clear word: a source that is the target, broken or missing
//! records, a source that is gone, and names that are taken.

use std::fs;

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{json, run};

fn installed() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    home
}

#[test]
fn the_folder_of_skills_is_no_source_for_itself() {
    let home = TestHome::new();
    home.skill("project/.agent/skills/pdf", "pdf", "Fill PDF forms.");
    for source in [".agent/skills", ".agent/skills/pdf"] {
        let output = run(&home, &["install", source, "--yes", "--json"]);
        let code = &output.json()["error"]["code"];
        assert_eq!((output.code, code), (1, &json!("source-is-target")), "{output:?}");
    }
    assert!(!home.project().join(".agent/skills.json").exists());
    home.skill("project/skills/csv", "csv", "Read tables.");
    let plan = json(&home, &["install", ".", "--dry-run", "--json"]);
    let names: Vec<_> =
        plan["skills"].as_array().expect("skills").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["csv"], "a project is a source for what is not installed in it");
    let other = run(&home, &["install", ".agent/skills", "--agent", "claude", "--yes"]);
    assert_eq!(other.code, 0, "for another folder it is one: {other:?}");
}

#[test]
fn a_lock_with_conflicts_is_an_error_of_inventory_and_doctor() {
    let home = installed();
    let lock = home.project().join(".agent/skills.lock.json");
    let text = fs::read_to_string(&lock).expect("reads");
    fs::write(&lock, text.replacen('\n', "\n<<<<<<< HEAD\n", 1)).expect("writes");
    let output = run(&home, &["inventory"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("skills.lock.json: line 2: it has conflicts"), "{output:?}");
    let doctor = run(&home, &["doctor", "--json"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    let findings = doctor.json()["findings"].as_array().cloned().expect("findings");
    assert!(findings.iter().any(|it| it["code"] == "records-unreadable"), "{findings:?}");
}

#[test]
fn a_lock_without_the_file_of_what_is_wanted_uninstalls_nothing() {
    let home = installed();
    fs::remove_file(home.project().join(".agent/skills.json")).expect("removes");
    for args in
        [&["install", "--dry-run", "--json"][..], &["install", "--locked", "--yes", "--json"]]
    {
        let output = run(&home, args);
        assert_eq!(
            (output.code, &output.json()["error"]["code"]),
            (1, &json!("bad-record")),
            "{output:?}"
        );
        assert!(output.stdout.contains("skills.json: it is missing"), "{output:?}");
    }
    assert!(home.project().join(".agent/skills/pdf").exists());
}

#[test]
fn a_source_that_is_gone_is_no_comparison() {
    let home = installed();
    fs::remove_dir_all(home.path().join("project/src")).expect("removes");
    let diff = run(&home, &["diff", "pdf"]);
    assert_eq!(diff.code, 1, "{diff:?}");
    assert!(!diff.stderr.contains("nothing would change"), "{diff:?}");
    let outdated = run(&home, &["outdated"]);
    assert_eq!(outdated.code, 1, "{outdated:?}");
    assert!(outdated.stderr.contains("0 up to date, 1 unknown"), "{outdated:?}");
}

#[test]
fn a_plan_says_whose_name_a_skill_takes() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/pdf", "pdf", "Mine.");
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    let plan = run(&home, &["install", "src", "--dry-run"]);
    assert!(plan.stdout.contains("takes the name of user:pdf"), "{plan:?}");
    assert_eq!(
        json(&home, &["install", "src", "--dry-run", "--json"])["skills"][0]["hides"],
        "user:pdf"
    );
    let other = run(&home, &["install", "src", "--dry-run", "--user", "--force"]);
    assert!(!other.stdout.contains("takes the name of"), "{other:?}");
}

#[test]
fn an_unreadable_record_of_another_installer_is_named() {
    let home = TestHome::new();
    home.write("project/skills-lock.json", "{");
    let output = run(&home, &["lock", "--import", "skills-lock.json", "--yes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("skills-lock.json: EOF"), "{output:?}");
}

#[test]
fn what_was_nearly_typed_is_named() {
    let home = installed();
    home.write("project/packs/notes.txt", "");
    for (args, near) in [
        (&["install", "./packs/note.txt"][..], "`./packs/notes.txt`"),
        (&["uninstall", "pfd"], "`pdf`"),
        (&["update", "pfd"], "`pdf`"),
        (&["verify", "pfd"], "`pdf`"),
        (&["diff", "pfd"], "`pdf`"),
    ] {
        let error = run(&home, &[args, &["--json"]].concat()).json()["error"].clone();
        assert_eq!(error["help"], format!("did you mean {near}?"), "{args:?}: {error}");
    }
    let error = run(&home, &["install", "", "--json"]).json()["error"].clone();
    assert_eq!(error["code"], "bad-source", "{error}");
}

/// What was trusted, came back with the same files and is trusted still.
#[test]
fn what_is_trusted_is_not_called_untrusted_when_it_comes_back() {
    let home = installed();
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    fs::remove_dir_all(home.project().join(".agent/skills/pdf")).expect("removes");
    let back = run(&home, &["install", "--yes"]);
    assert_eq!(back.code, 0, "{back:?}");
    assert!(!format!("{}{}", back.stdout, back.stderr).contains("not trusted"), "{back:?}");
    fs::remove_dir_all(home.project().join(".agent/skills/pdf")).expect("removes");
    assert_eq!(run(&home, &["untrust"]).code, 0);
    let back = run(&home, &["install", "--yes"]);
    assert!(format!("{}{}", back.stdout, back.stderr).contains("not trusted yet"), "{back:?}");
}

#[test]
fn another_source_takes_a_name_only_by_force_although_the_folder_is_missing() {
    let home = TestHome::new();
    home.skill("one/a", "a", "First.");
    home.skill("two/a", "a", "Second.");
    assert_eq!(run(&home, &["install", "../one", "--yes"]).code, 0);
    fs::remove_dir_all(home.project().join(".agent/skills/a")).expect("removes");
    let output = run(&home, &["install", "../two", "--yes", "--json"]);
    assert_eq!((output.code, &output.json()["error"]["code"]), (1, &"already-exists".into()));
    let output = run(&home, &["install", "../two", "--yes", "--force"]);
    assert_eq!(output.code, 0, "{output:?}");
    // The same files are no surprise, wherever they come from.
    fs::remove_dir_all(home.project().join(".agent/skills/a")).expect("removes");
    home.skill("three/a", "a", "Second.");
    assert_eq!(run(&home, &["install", "../three", "--yes"]).code, 0);
}

#[test]
fn what_stands_where_a_change_is_made_is_named() {
    let home = TestHome::new();
    home.skill("src/a", "a", "Works.");
    let (skills, records) = ("project/.agent/skills", "project/.agent");
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    for (place, is_file) in [
        (format!("{skills}/.metier-commit"), true),
        (format!("{skills}/.metier-staging"), true),
        (format!("{records}/.skills.lock.json.lock"), false),
    ] {
        let path = home.path().join(&place);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        for is_link in [false, true] {
            match (is_link, is_file) {
                (true, _) => std::os::unix::fs::symlink(&elsewhere, &path).expect("a link"),
                (false, true) => fs::write(&path, "x").expect("a file"),
                (false, false) => fs::create_dir(&path).expect("a folder"),
            }
            let output = run(&home, &["install", "../src", "--yes", "--json"]);
            let error = &output.json()["error"];
            assert_eq!((output.code, &error["code"]), (1, &"bad-target".into()), "{output:?}");
            let message = error["message"].as_str().expect("said");
            let what = if is_link { "it is a link" } else { "it is not a" };
            assert!(message.contains(&place) && message.contains(what), "{message}");
            assert!(error["help"].as_str().is_some_and(|it| it.contains("remove it")), "{error}");
            remove(&path);
        }
    }
    assert_eq!(run(&home, &["install", "../src", "--yes"]).code, 0);
}

fn remove(path: &std::path::Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir(path).expect("removes");
    } else {
        fs::remove_file(path).expect("removes");
    }
}

#[test]
fn what_is_too_much_says_how_much_may_come() {
    let home = TestHome::new();
    home.skill("big", "big", "Has too many files.");
    let pages = home.path().join("big/pages");
    fs::create_dir(&pages).expect("a folder");
    for number in 0..20_000 {
        fs::write(pages.join(number.to_string()), "").expect("writes");
    }
    home.skill("heavy", "heavy", "Has too large a file.");
    let file = fs::File::create(home.path().join("heavy/data")).expect("a file");
    file.set_len((100 << 20) + 1).expect("grows");
    for command in ["install", "pack"] {
        for (source, code, most) in
            [("../big", "archive-entries", "20,000 files"), ("../heavy", "archive-size", "100 MiB")]
        {
            let output = run(&home, &[command, source, "--json"]);
            let error = &output.json()["error"];
            assert_eq!((output.code, error["code"].as_str()), (1, Some(code)), "{output:?}");
            assert!(error["help"].as_str().is_some_and(|help| help.contains(most)), "{error}");
        }
    }
}

#[test]
fn a_lock_that_contradicts_itself_is_said_by_every_command_and_before_it_is_written_again() {
    let home = installed();
    let lock = home.project().join(".agent/skills.lock.json");
    let whole = fs::read_to_string(&lock).expect("a lock");
    let verified = json(&home, &["verify", "--json"]);
    let other = format!("sha256:{}", "0".repeat(64));
    let tree = verified["skills"][0]["tree"].as_str().expect("a digest");
    let file = verified["skills"][0]["files"]["SKILL.md"].as_str().expect("a digest");
    for digest in [tree, file] {
        let wrong = whole.replace(digest, &other);
        assert_ne!(wrong, whole);
        fs::write(&lock, &wrong).expect("writes");
        let outdated = run(&home, &["outdated"]);
        assert!(outdated.code == 1 && outdated.stdout.contains("lock is wrong"), "{outdated:?}");
        let state = &json_of(&home, &["outdated", "--json"])["skills"][0];
        assert_eq!(
            (&state["state"], &state["problem"]["code"]),
            (&json!("bad-lock"), &json!("bad-lock"))
        );
        let updated = json_of(&home, &["update", "--all", "--dry-run", "--json"]);
        assert_eq!(updated["not_updated"][0]["reason"], "bad-lock", "{updated}");
        let said = "skills.lock.json contradicts itself about pdf: it is written again";
        let planned = run(&home, &["install", "--dry-run"]);
        assert!(planned.code == 0 && planned.stderr.contains(said), "{planned:?}");
        assert_eq!(fs::read_to_string(&lock).expect("a lock"), wrong);
        let done = run(&home, &["install", "--yes"]);
        assert!(done.code == 0 && done.stderr.contains(said), "{done:?}");
        assert_eq!(fs::read_to_string(&lock).expect("a lock"), whole);
        let again = run(&home, &["install", "--yes"]);
        assert!(!again.stderr.contains("contradicts"), "{again:?}");
    }
}

fn json_of(home: &TestHome, args: &[&str]) -> serde_json::Value {
    run(home, args).json()
}

#[test]
fn an_installed_skill_may_be_named_with_its_source() {
    let home = installed();
    assert_eq!(run(&home, &["install", "src", "--user", "--yes"]).code, 0);
    home.write("home/.agent/skills/pdf/mine.txt", "x");
    assert_eq!(run(&home, &["verify", "project:pdf"]).code, 0);
    assert_eq!(run(&home, &["verify", "user:pdf"]).code, 1);
    for command in ["diff", "outdated"] {
        assert_eq!(run(&home, &[command, "project:pdf"]).code, 0, "{command}");
    }
    assert_eq!(run(&home, &["update", "project:pdf", "--yes"]).code, 0);
    for args in [&["project:pdf", "user:pdf"][..], &["project:pdf", "--user"]] {
        let output = run(&home, &[&["uninstall", "--yes"], args].concat());
        assert!(output.code == 2 && output.stderr.contains("one source at a time"), "{output:?}");
    }
    assert_eq!(run(&home, &["uninstall", "user:pdf", "--yes", "--force"]).code, 0);
    assert!(home.project().join(".agent/skills/pdf").exists());
    assert_eq!(run(&home, &["uninstall", "project:pdf", "--yes"]).code, 0);
    assert!(!home.project().join(".agent/skills/pdf").exists());
}
