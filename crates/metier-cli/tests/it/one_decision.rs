//! The text of a skill comes out, and reaches a model, by one decision: the one that loads it. A clone
//! cannot put a body into a prompt, a denial holds for every way in, and a question is answered by a
//! person or by nothing.

use metier::loader::ResourceQuery;
use metier::{CatalogOptions, Error, ErrorKind};
use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::library::library;
use crate::run_server::{Dialect, Server, run_keyed};
use crate::run_support::{answer, events, is_sound, last_run, of_type, project, run_scripted};
use crate::support::{run, run_on_terminal, shown};

/// Stands in the text of skills and nowhere else.
const BODY: &str = "CANARY-IN-A-BODY";
const FILE: &str = "CANARY-IN-A-FILE";

/// A skill of the project, one of the user and their text.
fn two_skills() -> TestHome {
    let home = project();
    for (folder, name) in
        [("project/.agents/skills/theirs", "theirs"), ("home/.agents/skills/mine", "mine")]
    {
        let head = format!("---\nname: {name}\ndescription: Greets people, {name}.\n---\n");
        let body = format!("# {name}\n\n{BODY}-{name}\n\nSee references/gone.md {BODY}.\n");
        home.write(&format!("{folder}/SKILL.md"), head + &body);
        home.write(&format!("{folder}/references/a.md"), format!("# A\n\n{FILE}-{name}\n"));
    }
    home
}

fn permission(home: &TestHome, pattern: &str, effect: &str) {
    let rule = json!({"permission": "load_skill", "pattern": pattern, "effect": effect});
    home.write("home/.agent/config.json", json!({"permissions": [rule]}).to_string());
}

fn shows_no_text(output: &Output) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(!all.contains(BODY) && !all.contains(FILE), "{output:?}");
}

/// Everything that was sent to the model.
fn prompts(server: &Server) -> String {
    server.asked().iter().map(|asked| asked.body.as_str()).collect()
}

/// A run with the catalog's format `direct`, against a real server.
fn direct_run(home: &TestHome, rules: &Value) -> (Server, Output) {
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![dialect.decides(&answer("done"))]);
    let model = json!({"provider": "openai", "name": "test-model", "base_url": server.url()});
    let own = json!({"model": model, "catalog": {"format": "direct"}, "permissions": rules});
    home.write("home/.agent/config.json", own.to_string());
    let output = run_keyed(home, &["run", "greet me"]);
    (server, output)
}

#[test]
fn a_clone_cannot_choose_a_catalog_with_bodies() {
    let home = two_skills();
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![dialect.decides(&answer("done"))]);
    dialect.configure(&home, &server.url(), &json!({}));
    home.write("project/.agent/config.json", "{\n\"catalog\": {\"format\": \"direct\"}}");
    for args in [&["run", "greet me"][..], &["catalog"], &["read", "mine"], &["list"]] {
        let output = run_keyed(&home, args);
        assert_eq!(output.code, 1, "{args:?}: {output:?}");
        shows_no_text(&output);
    }
    assert!(server.asked().is_empty());
    insta::assert_snapshot!(shown(&home, &run(&home, &["catalog"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/project/.agent/config.json:2:23: `catalog.format` cannot be `direct` in a project's file
    help: How the list is written. A project cannot choose `direct`.
    ");
    // The other formats are a matter of taste.
    home.write("project/.agent/config.json", r#"{"catalog": {"format": "xml"}}"#);
    let output = run_keyed(&home, &["run", "greet me"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(prompts(&server).contains("<available_skills>") && !prompts(&server).contains(BODY));
}

#[test]
fn a_prompt_shows_only_bodies_that_load_without_a_question_each_with_its_decision() {
    let home = two_skills();
    let (server, output) = direct_run(&home, &json!([]));
    assert_eq!(output.code, 0, "{output:?}");
    let sent = prompts(&server);
    assert!(sent.contains(&format!("{BODY}-mine")), "{sent}");
    assert!(!sent.contains(&format!("{BODY}-theirs")) && sent.contains("theirs"), "{sent}");
    let events = events(&home);
    assert_eq!(events[0]["type"], "run.started");
    let decided = of_type(&events, "policy.decided");
    let about = |id: &str| decided.iter().find(|event| event["skill"] == id);
    let mine = about("user:mine").expect("a decision");
    assert_eq!((&mine["effect"], &mine["op"]), (&json!("allow"), &json!("load")), "{mine}");
    assert!(mine["request"].is_string() && mine["seq"].as_u64() < Some(99), "{mine}");
    assert!(about("project:theirs").is_none(), "{decided:?}");
    // Every body that the prompt shows has one: the built-in skills too.
    let setup = std::fs::read_to_string(last_run(&home).join("setup.json")).expect("a setup");
    let setup: Value = serde_json::from_str(&setup).expect("JSON");
    let shown = setup["system"].as_str().expect("a text").matches("\n> # ").count();
    assert!(shown > 1, "{setup}");
    assert_eq!(decided.len(), shown, "{decided:?}");
    let asked = events.iter().position(|event| event["type"] == "model.requested");
    let last = events.iter().rposition(|event| event["type"] == "policy.decided");
    assert!(last < asked, "decided before anything was sent");
    is_sound(&home);
    assert_eq!(run(&home, &["export", "last", "--atif"]).code, 0);

    // A rule of the user's that asks keeps the user's own bodies out, and one that denies the names.
    let ask = json!([{"permission": "load_skill", "pattern": "*", "effect": "ask"}]);
    let (server, output) = direct_run(&home, &ask);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(prompts(&server).contains("mine") && !prompts(&server).contains(BODY));
    assert!(of_type(&crate::run_support::events(&home), "policy.decided").is_empty());
    let deny = json!([{"permission": "load_skill", "pattern": "mine", "effect": "deny"}]);
    let (server, _) = direct_run(&home, &deny);
    assert!(!prompts(&server).contains("mine") && !prompts(&server).contains(BODY));

    // Trust is an answer; a body that changed since is not covered by it.
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let (server, _) = direct_run(&home, &json!([]));
    assert!(prompts(&server).contains(&format!("{BODY}-theirs")));
    home.write("project/.agents/skills/theirs/references/a.md", "changed");
    let (server, _) = direct_run(&home, &json!([]));
    assert!(!prompts(&server).contains(&format!("{BODY}-theirs")));
}

#[test]
fn the_catalog_command_shows_the_same_bodies() {
    let home = two_skills();
    let direct = |home: &TestHome| run(home, &["catalog", "--format", "direct"]).stdout;
    let text = direct(&home);
    assert!(text.contains(&format!("{BODY}-mine")), "{text}");
    assert!(text.contains("theirs") && !text.contains(&format!("{BODY}-theirs")), "{text}");
    permission(&home, "*", "ask");
    assert!(direct(&home).contains("mine") && !direct(&home).contains(BODY));
    permission(&home, "*", "deny");
    assert!(!direct(&home).contains("mine"));
}

#[test]
fn what_a_rule_denies_is_shown_by_no_command() {
    let home = two_skills();
    permission(&home, "mine", "deny");
    for args in [
        &["read", "mine"][..],
        &["read", "mine", "--yes"],
        &["read", "mine", "--raw"],
        &["read", "mine", "--block"],
        &["read", "mine", "--arguments", "x"],
        &["read", "mine", "SKILL.md", "--lines", "1-9"],
        &["read", "mine", "references/a.md", "--yes"],
        &["read", "mine", "references/a.md", "--raw", "--yes"],
        &["read", "user:mine", "--section", "mine"],
        &["read", "mine@user", "--json", "--yes"],
        &["run", "greet me", "--skill", "mine"],
        &["run", "greet me", "--skill", "mine", "--yes"],
        &["run", "/mine now", "--yes"],
        &["run", "greet me", "--file", "../home/.agents/skills/mine/SKILL.md", "--yes"],
        &["run", "greet me", "--file", "../home/.agents/skills/mine/references/a.md"],
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 3, "{args:?}: {output:?}");
        shows_no_text(&output);
    }
    let output = run_on_terminal(&home, &["read", "mine"], "");
    if let Some(output) = output {
        assert_eq!(output.code, 3, "{output:?}");
        shows_no_text(&output);
    }
    for args in [&["search", "greets people mine"][..], &["catalog"], &["catalog", "--json"]] {
        let output = run(&home, args);
        shows_no_text(&output);
        let listed = output.stdout.replace("user:mine\",\"name\":\"mine\"", "");
        let names = listed.lines().filter(|line| line.contains("Greets people, mine"));
        assert_eq!(names.count(), 0, "{args:?}: {output:?}");
    }
    assert!(run(&home, &["search", "greets people"]).stdout.contains("theirs"));
    // What it is, and which files it has, is not what it says.
    for args in [&["inspect", "mine"][..], &["inspect", "mine", "--json"], &["files", "mine"]] {
        let output = run(&home, args);
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        assert!(output.stdout.contains("references/a.md"), "{args:?}: {output:?}");
        shows_no_text(&output);
    }
    // Nor does a model get it.
    let load = json!({"action": {"type": "select_skills", "skills": [{"name": "mine"}],
        "reason": "it fits"}});
    run_scripted(&home, &json!([load, answer("done")]), &["--yes"]);
    let record = std::fs::read_to_string(last_run(&home).join("events.jsonl")).expect("a record");
    assert!(!record.contains(BODY), "{record}");
}

#[test]
fn a_question_about_reading_is_answered_by_a_person_or_a_flag() {
    let home = two_skills();
    let commands = [
        &["read", "theirs"][..],
        &["read", "theirs", "--raw"],
        &["read", "theirs", "--block"],
        &["read", "theirs", "--arguments", "x"],
        &["read", "theirs", "references/a.md"],
        &["read", "theirs", "references/a.md", "--json"],
        &["read", "theirs", "references/a.md", "--section", "A"],
    ];
    for _ in 0..2 {
        for args in commands {
            let output = run(&home, args);
            assert_eq!(output.code, 3, "{args:?}: {output:?}");
            shows_no_text(&output);
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(said.contains("--yes") && said.contains("not trusted"), "{output:?}");
            let output = run(&home, &[args, &["--yes"]].concat());
            assert_eq!(output.code, 0, "{args:?}: {output:?}");
            assert!(output.stdout.contains("CANARY"), "{args:?}: {output:?}");
        }
    }
    // Reviewing comes before trusting: who types it at a terminal has answered.
    if let Some(output) = run_on_terminal(&home, &["read", "theirs"], "") {
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains(BODY), "{output:?}");
    }
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    for args in commands {
        assert_eq!(run(&home, args).code, 0, "{args:?}");
    }
    assert!(run(&home, &["inspect", "theirs"]).stdout.contains(BODY), "a line with a problem");
    // A rule that asks holds for the user's own skills, too.
    permission(&home, "mine", "ask");
    assert_eq!(run(&home, &["read", "mine"]).code, 3);
    assert_eq!(run(&home, &["read", "mine", "--yes"]).code, 0);
}

#[test]
fn the_library_decides_the_same() {
    let home = two_skills();
    let kind = |error: &Error| error.kind;
    let metier = library(&home, "project");
    let query = ResourceQuery::default();
    assert!(metier.load("mine").is_ok());
    let asked = [
        metier.load("theirs").map(drop),
        metier.invoke("theirs", "x").map(drop),
        metier.read("theirs", "references/a.md", &query).map(drop),
        metier.read_raw("theirs", "SKILL.md").map(drop),
    ];
    for result in asked {
        assert_eq!(result.as_ref().map_err(kind), Err(ErrorKind::NeedsApproval));
    }
    let body = metier.reader().approved().load("theirs").expect("approved");
    assert!(body.text.contains(BODY));
    permission(&home, "*", "deny");
    let metier = library(&home, "project");
    let reader = metier.reader().approved();
    let denied = [
        reader.load("mine").map(drop),
        reader.invoke("mine", "x").map(drop),
        reader.read("mine", "references/a.md", &query).map(drop),
        reader.read_raw("mine", "references/a.md").map(drop),
        reader.block("mine", &body).map(drop),
        metier.session().skill("mine").model("router").run("greet me").map(drop),
    ];
    for result in denied {
        assert_eq!(result.as_ref().map_err(kind), Err(ErrorKind::Denied));
    }
    assert!(metier.search("greets people", 9).expect("searches").is_empty());
    let catalog = metier.catalog(&CatalogOptions::default()).expect("a catalog");
    assert!(!catalog.text().contains("mine"), "{}", catalog.text());
}

#[test]
fn a_skill_that_is_not_for_people_is_refused_by_a_flag_as_by_its_name() {
    let home = project();
    home.write(
        "home/.agents/skills/inner/SKILL.md",
        format!("---\nname: inner\ndescription: For models.\nuser-invocable: false\n---\n{BODY}\n"),
    );
    let by_name = run(&home, &["run", "/inner now"]);
    let by_flag = run(&home, &["run", "now", "--skill", "inner"]);
    assert_eq!((by_flag.code, &by_flag.stderr), (1, &by_name.stderr), "{by_flag:?}");
    assert_eq!(by_flag.code, by_name.code);
    for args in [
        &["run", "now", "--skill", "user:inner", "--yes"][..],
        &["run", "now", "--skill", "inner", "--dry-run"],
        &["run", "--json", "now", "--skill", "inner"],
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 1, "{args:?}: {output:?}");
        shows_no_text(&output);
    }
    let error = library(&home, "project").session().skill("inner").run("now");
    assert_eq!(error.map(drop).map_err(|error| error.code), Err("NotAllowed"));
    // A model still loads it, and a session keeps what a model loaded.
    let load = json!({"action": {"type": "select_skills", "skills": [{"name": "inner"}],
        "reason": "it fits"}});
    let output = run_scripted(&home, &json!([load, answer("done")]), &[]);
    assert_eq!(output.code, 0, "{output:?}");
    let started = events(&home);
    let started = of_type(&started, "action.started");
    assert_eq!(started[0]["skill"], "user:inner");
}
