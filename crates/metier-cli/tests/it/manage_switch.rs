//! `metier enable` and `metier disable`: what is written and what is not, who wins, and that no
//! setting is lost when many write at once.

use std::process::Stdio;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{METIER, document, entry, json, many_skills, run, run_in, shown};

fn config(home: &TestHome, path: &str) -> String {
    std::fs::read_to_string(home.path().join(path)).expect("reads")
}

fn is_on(home: &TestHome, id: &str) -> bool {
    entry(&json(home, &["list", "--json"]), id)["enabled"].as_bool().expect("a switch")
}

#[test]
fn a_skill_that_is_off_is_marked_and_not_found_and_comes_back() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/invoice", "invoice", "Create an invoice.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["disable", "invoice"])), @"
    exit: 0
    ---- stdout
    project:invoice is now off in [T]/home/.agent/config.json

    ---- stderr
    to switch it on again: metier enable project:invoice
    ");
    insta::assert_snapshot!(config(&home, "home/.agent/config.json"), @r#"
    {
      "skills": {
        "project:invoice": { "enabled": false }
      }
    }
    "#);
    let listed = run(&home, &["list"]).stdout;
    assert!(listed.contains("[off] [not trusted] Create an invoice."), "{listed}");
    assert_eq!(run(&home, &["search", "invoice"]).code, 1);
    insta::assert_snapshot!(shown(&home, &run(&home, &["disable", "invoice"])), @"
    exit: 0
    ---- stdout
    project:invoice was already off in [T]/home/.agent/config.json

    ---- stderr
    to switch it on again: metier enable project:invoice
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["enable", "invoice"])), @"
    exit: 0
    ---- stdout
    project:invoice is now on in [T]/home/.agent/config.json

    ---- stderr
    ");
    assert_eq!(run(&home, &["search", "invoice"]).code, 0);
    let left: Vec<_> = std::fs::read_dir(home.home().join(".agent")).expect("lists").collect();
    assert_eq!(left.len(), 1, "no lock and no temporary file: {left:?}");
}

#[test]
fn the_document_says_what_was_asked_and_what_counts() {
    let home = TestHome::new();
    let switched = json(&home, &["disable", "profile-csv", "--project", "--json"]);
    let expected = json!({
        "id": "builtin:profile-csv",
        "asked": false,
        "enabled": false,
        "scope": "project",
        "file": "[T]/project/.agent/config.json",
        "changed": true,
    });
    assert_eq!(switched, expected);
    let output = run(&home, &["enable", "profile-csv"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    builtin:profile-csv is now on in [T]/home/.agent/config.json

    ---- stderr
    warning: it stays off: the project's configuration switches it off; `metier enable --project builtin:profile-csv` changes that
    ");
    assert!(!is_on(&home, "builtin:profile-csv"));
}

#[test]
fn what_the_user_switched_off_no_project_switches_on() {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "The user's.");
    run(&home, &["disable", "pdf"]);
    let output = run(&home, &["enable", "--project", "pdf"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    user:pdf is now on in [T]/project/.agent/config.json

    ---- stderr
    warning: it stays off: your own configuration switches it off; `metier enable --user user:pdf` changes that
    ");
    assert!(!is_on(&home, "user:pdf"));
    let shown = run(&home, &["config"]);
    let warning = "sets skills.user:pdf.enabled = true, which would loosen a guard";
    assert!(shown.stdout.contains(warning), "{shown:?}");
    home.write("home/.agent/config.json", r#"{"skills": {"pdf": {"enabled": false}}}"#);
    assert!(!is_on(&home, "user:pdf"), "by name too");
}

#[test]
fn a_persons_file_keeps_its_comments_and_its_look() {
    let home = TestHome::new();
    let before = "// mine\n{\n    \"profile\": \"strict\", // why\n    /* more */\n}\n";
    home.write("home/.agent/config.json", before);
    run(&home, &["disable", "write-skill"]);
    run(&home, &["disable", "profile-csv"]);
    run(&home, &["enable", "write-skill"]);
    insta::assert_snapshot!(config(&home, "home/.agent/config.json"), @r#"
    // mine
    {
        "profile": "strict", // why
        /* more */
        "skills": {
            "builtin:write-skill": { "enabled": true },
            "builtin:profile-csv": { "enabled": false },
        },
    }
    "#);
}

#[test]
fn a_file_that_does_not_parse_is_refused_and_left_alone() {
    let home = TestHome::new();
    for (text, code) in [
        ("{ \"profile\": }", "config-syntax"),
        ("", "config-syntax"),
        ("{ \"profil\": \"strict\" }", "config-unknown-key"),
    ] {
        home.write("home/.agent/config.json", text);
        let error = document(&home, &run(&home, &["disable", "write-skill", "--json"]), 1);
        assert_eq!(error["error"]["code"], json!(code), "{text}");
        assert_eq!(config(&home, "home/.agent/config.json"), text);
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["disable", "profile-cvs"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: there is no skill `profile-cvs` here
    help: did you mean `profile-csv`?
    ");
    assert!(!home.home().join(".agent").exists());
    assert_eq!(run(&home, &["disable", "--user", "--project", "write-skill"]).code, 2);
}

#[test]
fn a_projects_new_file_stands_at_the_repositorys_top() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.project().join("a/b")).expect("directories");
    let output = run_in(&home, "project/a/b", &["disable", "--project", "write-skill", "--json"]);
    assert_eq!(document(&home, &output, 0)["file"], json!("[T]/project/.agent/config.json"));
    assert!(!is_on(&home, "builtin:write-skill"));
    let output = run_in(&home, "home", &["disable", "--project", "write-skill"]);
    assert_eq!(output.code, 2, "{output:?}");
}

#[test]
fn a_linked_configuration_stays_a_link() {
    let home = TestHome::new();
    let real = home.write("dotfiles/config.json", "{}\n");
    std::fs::create_dir_all(home.home().join(".agent")).expect("directory");
    let link = home.home().join(".agent/config.json");
    std::os::unix::fs::symlink(&real, &link).expect("link");
    assert_eq!(run(&home, &["disable", "write-skill"]).code, 0);
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(config(&home, "dotfiles/config.json").contains("builtin:write-skill"));
    std::fs::remove_file(&real).expect("removes");
    let error = document(&home, &run(&home, &["disable", "write-skill", "--json"]), 1);
    assert_eq!(error["error"]["code"], json!("config-unreadable"));
    assert!(!real.exists());
}

/// Twenty processes, each with a skill of its own, all started before the first has ended.
#[test]
fn of_twenty_writers_at_once_no_setting_is_lost() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 20);
    home.write("home/.agent/config.json", "{\n  // mine\n  \"profile\": \"strict\",\n}\n");
    for (word, on) in [("disable", false), ("enable", true)] {
        let start = |at: usize| {
            let name = format!("s{at:04}");
            let mut command = home.command(METIER);
            command.args([word, &name]).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("starts")
        };
        let children: Vec<_> = (0..20).map(start).collect();
        for mut child in children {
            assert!(child.wait().expect("ends").success());
        }
        let text = config(&home, "home/.agent/config.json");
        assert!(text.starts_with("{\n  // mine\n  \"profile\": \"strict\",\n"), "{text}");
        let listing = json(&home, &["list", "--json"]);
        for at in 0..20 {
            let skill: &Value = entry(&listing, &format!("project:s{at:04}"));
            assert_eq!(skill["enabled"], json!(on), "{text}");
        }
        assert_eq!(text.matches(&format!("\"enabled\": {on}")).count(), 20, "{text}");
    }
    let left: Vec<_> = std::fs::read_dir(home.home().join(".agent")).expect("lists").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_id_that_was_asked_for_is_written_and_no_other() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/cp", "cp", "The same.");
    home.skill("home/.agents/skills/cp", "cp", "The same.");
    for (asked, written) in [
        ("user:cp", "user:cp"),
        ("cp@user", "user:cp"),
        ("cp", "project:cp"),
        ("project:cp", "project:cp"),
    ] {
        let _ = std::fs::remove_file(home.home().join(".agent/config.json"));
        assert_eq!(json(&home, &["disable", asked, "--json"])["id"], json!(written), "{asked}");
        let text = config(&home, "home/.agent/config.json");
        assert!(text.contains(&format!("\"{written}\"")), "{asked}: {text}");
    }
    let _ = std::fs::remove_file(home.home().join(".agent/config.json"));
    insta::assert_snapshot!(shown(&home, &run(&home, &["disable", "user:cp"])), @"
    exit: 0
    ---- stdout
    user:cp is now off in [T]/home/.agent/config.json

    ---- stderr
    to switch it on again: metier enable user:cp
    warning: project:cp, an identical copy, is used here and is not affected; to disable it: metier disable project:cp
    ");
}

#[test]
fn a_skill_that_is_called_like_an_id_is_switched_by_its_own() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/odd", "user:odd", "Odd.");
    let args = ["disable", "user:odd", "--profile", "lenient", "--json"];
    assert_eq!(json(&home, &args)["id"], json!("project:user:odd"));
}

#[test]
fn a_rank_is_refused_because_an_id_switches_all_of_its_name() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "One.");
    home.skill("home/.claude/skills/pdf", "pdf", "Two.");
    for word in ["disable", "enable"] {
        for rank in ["user:pdf#2", "user:pdf#1", "pdf@user#2"] {
            let error = document(&home, &run(&home, &[word, rank, "--json"]), 2);
            assert_eq!(error["error"]["code"], json!("rank-not-switchable"), "{word} {rank}");
        }
    }
    insta::assert_snapshot!(shown(&home, &run(&home, &["disable", "user:pdf#2"])), @"
    exit: 2
    ---- stdout

    ---- stderr
    error: one of several skills `user:pdf` cannot be switched: an id switches all of that source and name
    help: `user:pdf` without the number switches all of them; delete or rename the one you do not want
    ");
    assert!(!home.home().join(".agent").exists());
}

#[test]
fn the_advice_names_the_file_that_was_written() {
    let home = TestHome::new();
    let off = run(&home, &["disable", "--project", "write-skill"]);
    let advice = "to switch it on again: metier enable --project builtin:write-skill\n";
    assert_eq!(off.stderr, advice);
    assert_eq!(run(&home, &["enable", "--project", "builtin:write-skill"]).stderr, "");
    assert!(is_on(&home, "builtin:write-skill"));
}

#[test]
fn enable_undoes_disable_where_another_skill_took_over_the_name() {
    let home = TestHome::new();
    home.write(
        "project/.agent/skills/twin/SKILL.md",
        "---\nname: twin\ndescription: Ours.\n---\nA\n",
    );
    home.write("home/.agent/skills/twin/SKILL.md", "---\nname: twin\ndescription: Mine.\n---\nB\n");
    for _ in 0..2 {
        let off = json(&home, &["disable", "twin", "--json"]);
        assert_eq!((&off["id"], &off["takes_over"]), (&"project:twin".into(), &"user:twin".into()));
        let on = json(&home, &["enable", "twin", "--json"]);
        assert_eq!((&on["id"], &on["changed"]), (&"project:twin".into(), &true.into()));
        assert!(is_on(&home, "project:twin"));
    }
    // Nothing is off: the one that is used is on already.
    let on = json(&home, &["enable", "twin", "--json"]);
    assert_eq!((&on["id"], &on["changed"]), (&"project:twin".into(), &false.into()));
}
