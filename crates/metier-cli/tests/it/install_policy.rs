//! Which sources may be installed from: rules of administrators, the user and a project, judged before
//! anything is asked of the network. Each server here counts its connections.

use std::fs;

use metier_testkit::{GitServer, Output, TestHome, TestRepository};
use serde_json::{Value, json};

use crate::support::{METIER, answer_on_terminal, run};

fn with_server() -> (TestHome, TestRepository, GitServer) {
    let home = TestHome::new();
    home.skill("served/repo/pdf", "pdf", "Fill PDF forms.");
    let repository = TestRepository::new(home.path().join("served/repo"));
    repository.commit();
    let server = GitServer::http(&home.path().join("served"));
    (home, repository, server)
}

fn code(output: &Output) -> (i32, String) {
    (output.code, output.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
}

fn sources(allow: Option<&[&str]>, deny: &[&str]) -> String {
    let mut sources = json!({ "deny": deny });
    if let Some(allow) = allow {
        sources["allow"] = json!(allow);
    }
    json!({ "sources": sources }).to_string()
}

#[test]
fn an_unknown_host_sees_no_connection_until_someone_allows_it() {
    let (home, _repository, server) = with_server();
    let url = server.url("repo/.git");
    for args in [
        &["install", &url, "--json"][..],
        &["install", &url, "--list", "--json"],
        &["install", &url, "--dry-run", "--json"],
    ] {
        let output = run(&home, args);
        assert_eq!(code(&output), (3, "source-not-allowed".to_owned()), "{output:?}");
    }
    assert_eq!(server.connections(), 0);
    let output = run(&home, &["install", &url]);
    assert!(
        output
            .stderr
            .contains(&format!("metier config add sources.allow 'http://{}'", server.address())),
        "{output:?}"
    );
    home.write("home/.agent/config.json", r#"{"sources": {"allow": ["kept.test"]}}"#);
    let pattern = format!("http://{}", server.address());
    let add = ["config", "add", "sources.allow", &pattern];
    assert_eq!(run(&home, &add).code, 0, "the advice works");
    let file = home.home().join(".agent/config.json");
    let kept = format!(r#"{{"sources": {{"allow": ["kept.test", "{pattern}"]}}}}"#);
    assert_eq!(fs::read_to_string(file).expect("a file"), kept, "what was allowed before stays");
    let again = run(&home, &add);
    assert!(again.stdout.contains("already"), "{again:?}");
    let several = ["config", "add", "sources.deny", r#"["a.test", "b.test"]"#];
    assert_eq!(run(&home, &several).code, 0);
    let shown = run(&home, &["config", "--json"]).stdout;
    assert!(!shown.contains(r#"[\"a.test"#), "each is a value of its own: {shown}");
    assert!(shown.contains("b.test"), "{shown}");
    assert_eq!(run(&home, &["install", &url, "--list"]).stdout, "pdf  Fill PDF forms.\n");
    assert!(server.connections() > 0);
}

#[test]
fn yes_answers_for_a_source_that_was_named_and_never_for_one_that_a_clone_brought() {
    let (home, _repository, server) = with_server();
    let url = server.url("repo/.git");
    let wanted = json!({"version": 1, "skills": {"pdf": {"source": url}}});
    home.write("project/.agent/skills.json", wanted.to_string());
    let output = run(&home, &["install", "--yes", "--json"]);
    assert_eq!(code(&output), (3, "source-not-allowed".to_owned()), "{output:?}");
    assert_eq!(server.connections(), 0);
    assert_eq!(run(&home, &["install", &url, "--yes"]).code, 0);
    fs::remove_dir_all(home.project().join(".agent/skills")).expect("removes");
    let seen = server.connections();
    let output = run(&home, &["install", "--locked", "--yes", "--json"]);
    assert_eq!(code(&output), (3, "source-not-allowed".to_owned()), "{output:?}");
    assert_eq!(server.connections(), seen);
    let pattern = format!("http://{}/repo", server.address());
    home.write("home/.agent/config.json", sources(Some(&[&pattern]), &[]));
    assert_eq!(run(&home, &["install", "--locked", "--yes"]).code, 0);
}

#[test]
fn a_rule_that_denies_is_named_with_its_file_and_no_one_else_can_allow_it() {
    let (home, _repository, server) = with_server();
    let url = server.url("repo/.git");
    let host = server.address().to_owned();
    let managed = |args: &[&str]| {
        let mut command = home.command(METIER);
        command.env("METIER_MANAGED_CONFIG", home.path().join("managed.json"));
        TestHome::finish(command.args(args))
    };
    let allow = format!("http://{host}");
    let files = ["managed.json", "home/.agent/config.json", "project/.agent/config.json"];
    for (file, rules, said) in [
        (files[0], sources(None, &["127.0.0.1"]), "`sources.deny` has `127.0.0.1`"),
        (files[0], sources(Some(&["example.org"]), &[]), "does not list it"),
        (files[1], sources(Some(&[&allow]), &["127.0.0.1"]), "`sources.deny` has `127.0.0.1`"),
        (files[2], sources(None, &[&host]), "`sources.deny` has"),
        (files[2], sources(Some(&["example.org"]), &[]), "does not list it"),
        (files[2], sources(Some(&[]), &[]), "does not list it"),
    ] {
        home.write(files[0], "{}");
        home.write(files[1], sources(Some(&[&allow]), &[]));
        home.write(files[2], "{}");
        home.write(file, &rules);
        let output = managed(&["install", &url, "--yes", "--json"]);
        let message = output.json()["error"]["message"].as_str().expect("said").to_owned();
        assert_eq!(code(&output), (3, "source-denied".to_owned()), "{file} {rules}: {output:?}");
        assert!(message.contains(said), "{message}");
        assert!(message.contains(&*home.path().join(file).to_string_lossy()), "{message}");
    }
    assert_eq!(server.connections(), 0);
    home.write(files[1], "{}");
    home.write(files[2], sources(Some(&[&allow]), &[]));
    let output = managed(&["install", &url, "--json"]);
    assert_eq!(
        code(&output),
        (3, "source-not-allowed".to_owned()),
        "a project allows nothing by itself"
    );
    assert_eq!(server.connections(), 0);
    home.write(files[0], sources(Some(&[&allow]), &[]));
    assert_eq!(managed(&["install", &url, "--yes"]).code, 0);
}

#[test]
fn a_path_is_free_unless_it_is_denied() {
    let (home, _repository, _server) = with_server();
    assert_eq!(run(&home, &["install", "../served/repo", "--dry-run"]).code, 0);
    let served = home.path().canonicalize().expect("real").join("served");
    home.write("home/.agent/config.json", sources(None, &[&served.to_string_lossy()]));
    for source in ["../served/repo", "../served/repo/.git", "../served/repo@main"] {
        let output = run(&home, &["install", source, "--yes", "--json"]);
        assert_eq!(code(&output), (3, "source-denied".to_owned()), "{output:?}");
    }
}

#[test]
fn what_is_too_young_is_refused_with_the_file_that_wants_it_older() {
    let (home, repository, _server) = with_server();
    let config = |days: u32| json!({"sources": {"min_release_age": days}}).to_string();
    home.write("home/.agent/config.json", config(7));
    // The commit is of January 2026: old enough on any clock of a later week.
    assert_eq!(run(&home, &["install", "../served/repo/.git", "--dry-run"]).code, 0);
    home.write("project/.agent/config.json", config(3_000_000));
    let output = run(&home, &["install", "../served/repo/.git", "--yes", "--json"]);
    assert_eq!(code(&output), (3, "source-too-young".to_owned()), "{output:?}");
    let error = output.json()["error"].clone();
    let said = format!("{} {}", error["message"], error["help"]);
    assert!(
        said.contains("3000000 are wanted") && said.contains("project/.agent/config.json"),
        "{said}"
    );
    home.write("project/.agent/config.json", "{}");
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    // A commit from the future has no age.
    let text = format!(
        "tree {tree}\nauthor a <a@b> 99999999999 +0000\ncommitter a <a@b> 99999999999 +0000\n\nx\n"
    );
    let commit = repository.git_with(&["hash-object", "-t", "commit", "-w", "--stdin"], &text);
    repository.git(&["update-ref", "refs/heads/main", &commit]);
    let output = run(&home, &["install", "../served/repo/.git", "--yes", "--json"]);
    assert_eq!(code(&output), (3, "source-too-young".to_owned()), "{output:?}");
    assert_eq!(
        run(&home, &["install", "../served/repo", "--dry-run"]).code,
        0,
        "a directory has no age"
    );
}

#[test]
fn a_person_allows_a_host_once_or_always() {
    let (home, _repository, server) = with_server();
    let url = server.url("repo/.git");
    let Some(no) = answer_on_terminal(&home, &["install", &url], "Fetch", "n\n") else { return };
    assert_eq!((no.code, server.connections()), (3, 0), "{no:?}");
    assert!(no.stdout.contains("the connection is not encrypted"), "{no:?}");
    let once = answer_on_terminal(&home, &["install", &url, "--dry-run"], "Fetch", "y\n")
        .expect("a terminal");
    assert_eq!(once.code, 0, "{once:?}");
    assert!(!home.home().join(".agent/config.json").exists());
    let always = answer_on_terminal(&home, &["install", &url, "--dry-run"], "Fetch", "a\n")
        .expect("a terminal");
    assert_eq!(always.code, 0, "{always:?}");
    let text = fs::read_to_string(home.home().join(".agent/config.json")).expect("written");
    let config: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(config["sources"]["allow"], json!([format!("http://{}", server.address())]));
    assert_eq!(run(&home, &["install", &url, "--list"]).code, 0, "and is not asked again");
}

#[test]
fn a_denied_directory_comes_along_with_nothing_and_stops_no_other() {
    let home = TestHome::new();
    home.skill("served/evil", "evil", "Harms.");
    home.skill("served/other", "other", "Works.");
    home.write(
        "served/good/SKILL.md",
        "---\nname: good\ndescription: Works.\nmetadata:\n  metier.requires: evil\n---\n\nText.\n",
    );
    let here = home.project().join(".agent/skills");
    assert_eq!(run(&home, &["install", "../served", "--skill", "other,evil", "--yes"]).code, 0);
    let served = home.path().canonicalize().expect("real").join("served/evil");
    home.write("home/.agent/config.json", sources(None, &[&served.to_string_lossy()]));
    // What is installed and denied since stays, and the skill beside it is updated.
    home.skill("served/other", "other", "Works better.");
    let output = run(&home, &["update", "other", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    home.skill("served/other", "other", "Works best.");
    let states = run(&home, &["outdated", "--json"]).json()["skills"].clone();
    assert_eq!(
        (&states[0]["state"], &states[1]["state"]),
        (&json!("unusable"), &json!("outdated"))
    );
    let output = run(&home, &["update", "--all", "--yes", "--json"]);
    let not_updated = &output.json()["not_updated"];
    assert_eq!(
        (&not_updated[0]["name"], &not_updated[0]["code"]),
        (&json!("evil"), &json!("source-denied"))
    );
    let text = fs::read_to_string(here.join("other/SKILL.md")).expect("there");
    assert!(text.contains("Works best."), "{text}");
    // A skill that needs it does not bring it.
    assert_eq!(run(&home, &["uninstall", "evil", "--yes"]).code, 0);
    let output = run(&home, &["install", "../served", "--skill", "good", "--yes", "--json"]);
    assert_eq!(code(&output), (3, "source-denied".to_owned()), "{output:?}");
    assert!(!here.join("evil").exists() && !here.join("good").exists());
    let alone = ["install", "../served", "--skill", "good", "--no-deps", "--yes"];
    assert_eq!(run(&home, &alone).code, 0);
    home.write("served/good/notes.md", "More.\n");
    assert_eq!(run(&home, &["update", "good", "--yes"]).code, 0);
    assert!(here.join("good/notes.md").exists() && !here.join("evil").exists());
}

#[test]
fn a_query_does_not_pass_for_a_path_that_is_allowed() {
    let home = TestHome::new();
    home.write("home/.agent/config.json", sources(Some(&["example.invalid/*/good"]), &[]));
    let denied = ["install", "https://example.invalid/evil.zip?/good", "--json"];
    assert_eq!(code(&run(&home, &denied)), (3, "source-not-allowed".to_owned()));
}
