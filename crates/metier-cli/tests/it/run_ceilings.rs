//! `allowed-tools` in a run: attribution only narrows, the agent's own reads stay, skills combine, and
//! only a person lifts a ceiling, for one run.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_server::{Answer, Asked, DIALECTS, Dialect, Server};
use crate::run_support::{
    answer, call, codes, events, events_in, holds_scripts, is_sound, last_run, of_type, project,
    run_scripted, script, scripted, select,
};
use crate::run_terminal::Terminal;
use crate::support::{json, run};

/// A project with a skill that may only read, and one without limits.
fn limited() -> TestHome {
    let home = project();
    home.write(
        "home/.agents/skills/reader/SKILL.md",
        "---\nname: reader\ndescription: Reads.\nallowed-tools: Read\n---\nRead.\n",
    );
    home.skill("home/.agents/skills/free", "free", "Has no limits.");
    home
}

fn write(path: &str, skill: Option<&str>) -> Value {
    let args = json!({"path": path, "content": "new\n", "expected_sha256": null});
    attributed(call("write_file", &args), skill)
}

fn grep(skill: Option<&str>) -> Value {
    let args = json!({"pattern": "North", "path": "examples", "skill": null, "glob": null,
        "ignore_case": null, "literal": null, "context": null});
    attributed(call("grep", &args), skill)
}

fn attributed(mut decision: Value, skill: Option<&str>) -> Value {
    if let Some(name) = skill {
        decision["action"]["skill"] = json!({ "name": name });
    }
    decision
}

const ALLOWED: [&str; 2] = ["--allow", "write_file"];

/// The reasons of all denials, in order.
fn denials(events: &[Value]) -> Vec<String> {
    let decided = of_type(events, "policy.decided").into_iter();
    let denied = decided.filter(|event| event["effect"] == "deny");
    denied.map(|event| event["reason"].as_str().expect("a reason").to_owned()).collect()
}

#[test]
fn a_ceiling_does_not_fall_when_the_model_names_another_skill() {
    let home = limited();
    let replies = json!([
        select(&["reader", "free"]),
        write("a.txt", Some("free")),
        write("a.txt", None),
        write("a.txt", Some("reader")),
        answer("x")
    ]);
    for flags in [&ALLOWED[..], &["--allow", "write_file", "--yes"], &["--allow", "*", "--yes"]] {
        let output = run_scripted(&home, &replies, flags);
        assert_eq!(output.code, 3, "{output:?}");
        let events = events(&home);
        let refused = ["ok", "NotAllowed", "NotAllowed", "NotAllowed"];
        assert_eq!(codes(&events), refused, "{flags:?}");
        for reason in denials(&events) {
            assert!(reason.contains("allowed-tools of user:reader list only `Read`"), "{reason}");
        }
        assert!(!home.project().join("a.txt").exists());
        is_sound(&home);
    }
    // Without the limited skill the same call is done.
    let replies = json!([select(&["free"]), write("a.txt", Some("free")), answer("x")]);
    run_scripted(&home, &replies, &ALLOWED);
    assert_eq!(codes(&events(&home)), ["ok", "ok"]);
}

#[test]
fn after_a_limited_skill_the_agents_own_reads_are_its_own() {
    let home = limited();
    let list = call("list_dir", &json!({"path": ".", "skill": null}));
    let replies = json!([
        select(&["csv-summary"]),
        grep(None),
        list,
        grep(Some("csv-summary")),
        attributed(list.clone(), Some("csv-summary")),
        answer("x")
    ]);
    let output = run_scripted(&home, &replies, &[]);
    assert_eq!(output.code, 0, "{output:?}");
    let codes: Vec<Value> = codes(&events(&home)).into_iter().map(Value::from).collect();
    assert_eq!(json!(codes), json!(["ok", "ok", "ok", "NotAllowed", "NotAllowed"]));
}

#[test]
fn a_file_of_a_skill_is_held_to_the_ceiling_of_that_skill() {
    let home = limited();
    home.write("home/.agents/skills/reader/notes.md", "a note\n");
    let read = call(
        "read_file",
        &json!({"path": "notes.md", "skill": "reader", "first_line": null, "last_line": null}),
    );
    let list = call("list_dir", &json!({"path": ".", "skill": "reader"}));
    let replies = json!([select(&["reader", "free"]), read, list, answer("x")]);
    let output = run_scripted(&home, &replies, &[]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(codes(&events(&home)), ["ok", "ok", "NotAllowed"], "it lists only Read");
}

#[test]
fn two_limited_skills_work_in_one_run() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let file = "examples/sales.csv";
    let replies = json!([
        select(&["csv-summary", "profile-csv"]),
        script("csv-summary", "scripts/summarise.sh", &["--by", "region", file]),
        script("profile-csv", "scripts/profile_csv.py", &[file]),
        script("csv-summary", "scripts/summarise.sh", &[file]),
        answer("x")
    ]);
    let output = run_scripted(&home, &replies, &["--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(codes(&events(&home)), ["ok", "ok", "ok", "ok"], "{output:?}");
}

#[test]
fn a_call_for_a_skill_that_is_not_loaded_is_refused() {
    let home = limited();
    let replies = json!([
        select(&["free"]),
        write("a.txt", Some("reader")),
        grep(Some("reader")),
        grep(Some("no-such-skill")),
        answer("x")
    ]);
    run_scripted(&home, &replies, &["--allow", "write_file", "--yes"]);
    let expected = ["ok", "SkillNotLoaded", "SkillNotLoaded", "SkillNotFound"];
    assert_eq!(codes(&events(&home)), expected);
    assert!(!home.project().join("a.txt").exists());
}

const RUN: [&str; 6] = ["run", "do it", "--model", "scripted:model.json", "--allow", "write_file"];
const LIFT: &str = "type `lift`";

#[test]
fn a_person_lifts_a_ceiling_for_one_run_and_a_yes_does_not() {
    let home = limited();
    scripted(
        &home,
        &json!([
            select(&["reader", "free"]),
            write("a.txt", Some("free")),
            write("b.txt", None),
            write("c.txt", Some("reader")),
            answer("done")
        ]),
    );
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(LIFT, 1);
    for keys in ["y\n", "yes\n", "a\n", "\n"] {
        terminal.types(keys);
    }
    terminal.until(LIFT, 5);
    assert!(!home.project().join("a.txt").exists(), "a yes is no answer to this question");
    terminal.types("lift\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("user:reader"), "{seen}");
    let events = events(&home);
    assert_eq!(codes(&events), ["ok", "ok", "ok", "NotAllowed"], "its own calls stay limited");
    let opened = of_type(&events, "ask.opened");
    assert_eq!(opened.len(), 1, "asked once");
    assert_eq!(opened[0]["liftable"], json!(["user:reader"]));
    let given = of_type(&events, "ask.answered");
    assert_eq!((&given[0]["answer"], &given[0]["by"]), (&json!("lift"), &json!("user")));
    is_sound(&home);
    assert!(run(&home, &["show", "last"]).stdout.contains("user:reader"));
    // The next run starts with all ceilings.
    let next = run(&home, &[&RUN[..], &["--yes"]].concat());
    assert_eq!(next.code, 3, "{next:?}");
    assert_eq!(codes(&self::events(&home)), ["ok", "NotAllowed", "NotAllowed", "NotAllowed"]);
}

#[test]
fn a_no_to_lifting_is_asked_for_once() {
    let home = limited();
    let replies =
        json!([select(&["reader"]), write("a.txt", None), write("b.txt", None), answer("done")]);
    scripted(&home, &replies);
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(LIFT, 1);
    terminal.types("n\n");
    terminal.until("Reason, for the model", 1);
    terminal.types("not in this run\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 3, "{seen}");
    let events = events(&home);
    assert_eq!(codes(&events), ["ok", "Rejected", "NotAllowed"]);
    assert_eq!(of_type(&events, "ask.opened").len(), 1);
    assert!(!home.project().join("a.txt").exists() && !home.project().join("b.txt").exists());
    is_sound(&home);
}

#[test]
fn what_was_lifted_is_lifted_when_the_run_is_resumed_and_a_later_skill_is_asked_about() {
    let home = limited();
    home.write(
        "home/.agents/skills/second/SKILL.md",
        "---\nname: second\ndescription: Lists.\nallowed-tools: LS\n---\nList.\n",
    );
    let fault = json!({"fault": "unauthorized", "message": "no key"});
    let start = json!([select(&["reader"]), write("a.txt", None), fault]);
    scripted(&home, &start);
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(LIFT, 1);
    terminal.types("lift\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 1, "the model failed: {seen}");
    let mut replies = start.as_array().expect("a list").clone();
    replies.pop();
    replies.extend([
        write("b.txt", None),
        select(&["second"]),
        write("c.txt", None),
        answer("done"),
    ]);
    scripted(&home, &json!(replies));
    let resumed = run(&home, &["resume", "last", "--allow", "write_file", "--yes"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let events = events(&home);
    assert_eq!(codes(&events), ["ok", "ok", "ok", "ok", "NotAllowed"]);
    let denied = denials(&events).pop().expect("a denial");
    assert!(denied.contains("user:second") && !denied.contains("user:reader"), "{denied}");
    is_sound(&home);
}

#[test]
fn no_flag_lifts_a_ceiling() {
    let home = limited();
    let rule =
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#;
    home.write("home/.agent/config.json", rule);
    // The approval of the ordinary question about the same call does not lift anything.
    let free = json!([select(&["free"]), write("a.txt", None), answer("x")]);
    let waits = run_scripted(&home, &free, &["--no-input"]);
    assert_eq!(waits.code, 3, "{waits:?}");
    let asked = events(&home);
    let digest = of_type(&asked, "ask.opened")[0]["request"].as_str().expect("a digest").to_owned();
    let replies = json!([select(&["reader"]), write("a.txt", None), answer("x")]);
    for flags in [&["--yes"][..], &["--no-input"], &["--allow", "*"], &["--json"]] {
        let output = run_scripted(&home, &replies, flags);
        assert_eq!(output.code, 3, "the model is shown the refusal: {flags:?} {output:?}");
        assert_eq!(codes(&events(&home)), ["ok", "NotAllowed"], "{flags:?}");
        let resumed = run(&home, &["resume", "last", "--approve", &digest]);
        assert_ne!(resumed.code, 0, "it has ended");
    }
    assert!(!home.project().join("a.txt").exists());
}

const DIALECT: Dialect = DIALECTS[0];

/// A model that loads `reader` and then `deep`, which works in a loop of its own and writes a file.
fn delegating(asked: &Asked) -> Answer {
    let body: Value = serde_json::from_str(&asked.body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    let said = messages.iter().filter(|message| message["role"] == "assistant").count();
    let is_inner = asked.body.contains("You work on this with the skill");
    let decision = match (is_inner, said) {
        (true, 0) => write("a.txt", None),
        (true, 1) => write("a.txt", Some("deep")),
        (true, 2) => write("a.txt", Some("reader")),
        (true, 3) => grep(None),
        (true, _) => answer("inside"),
        (false, 0) => select(&["reader"]),
        (false, 1) => select(&["deep"]),
        (false, _) => answer("outside"),
    };
    DIALECT.decides(&decision)
}

#[test]
fn a_subagent_inherits_the_ceilings_of_the_run() {
    let home = limited();
    home.write(
        "home/.agents/skills/deep/SKILL.md",
        "---\nname: deep\ndescription: Looks deeply.\nrun-mode: subagent\n---\nWork.\n",
    );
    let server = Server::start(|_, asked| delegating(asked));
    DIALECT.configure(&home, &server.url(), &json!({}));
    let output = run(&home, &["run", "do it", "--allow", "write_file", "--yes"]);
    assert_eq!((output.code, output.stdout.as_str()), (3, "outside\n"), "{output:?}");
    let inner = last_run(&home).join("inner");
    let list = std::fs::read_dir(inner).expect("a loop inside");
    let mut folders = list.map(|entry| entry.expect("an entry").path());
    let inside = events_in(&folders.find(|path| path.is_dir()).expect("a folder"));
    let expected = ["ok", "NotAllowed", "NotAllowed", "SkillNotLoaded", "ok"];
    assert_eq!(codes(&inside), expected);
    assert!(!home.project().join("a.txt").exists());
    is_sound(&home);
}

#[test]
fn a_shortened_context_keeps_the_ceilings() {
    let home = limited();
    home.write("project/long.txt", "many words in a line\n".repeat(2000));
    let turns = [
        select(&["reader"]),
        call("read_file", &json!({"path": "long.txt", "first_line": 1, "last_line": 300})),
        call("read_file", &json!({"path": "long.txt", "first_line": 301, "last_line": 600})),
        call("read_file", &json!({"path": "long.txt", "first_line": 601, "last_line": 900})),
        write("a.txt", None),
        answer("x"),
    ];
    let server = Server::start(move |at, _| DIALECT.decides(&turns[at.min(5)]));
    DIALECT.configure(&home, &server.url(), &json!({"window": 5000}));
    let output = run(&home, &["run", "do it", "--allow", "write_file", "--yes"]);
    assert_eq!(output.code, 3, "{output:?}");
    let events = events(&home);
    assert!(!of_type(&events, "context.compacted").is_empty(), "{output:?}");
    assert_eq!(codes(&events), ["ok", "ok", "ok", "ok", "NotAllowed"]);
}

#[test]
fn explain_and_tools_name_the_skill_whose_ceiling_refuses() {
    let home = limited();
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "allow"}]}"#,
    );
    let explain = |more: &[&str]| {
        json(&home, &[&["explain", "write_file", "a.txt", "--json"], more].concat())
    };
    let refused = explain(&["--skill", "free", "--loaded", "reader"]);
    assert_eq!(refused["effect"], "deny");
    assert_eq!(refused["liftable"], json!(["user:reader"]));
    let layers = refused["layers"].as_array().expect("layers");
    let ceiling = layers.iter().find(|layer| layer["layer"] == "skill").expect("a ceiling");
    assert_eq!(ceiling["ceiling"], json!({"skill": "user:reader", "holds": "run"}));
    let own = explain(&["--skill", "reader"]);
    assert_eq!((&own["effect"], own.get("liftable")), (&json!("deny"), None), "{own}");
    assert_eq!(explain(&["--loaded", "free"])["effect"], "allow");
    assert_eq!(explain(&["--loaded", "free", "--loaded", "reader"])["effect"], "deny");
    let human = run(&home, &["explain", "write_file", "a.txt", "--loaded", "reader"]);
    assert!(human.stdout.contains("allowed-tools of user:reader"), "{human:?}");
    assert!(human.stderr.contains("--yes"), "how it is lifted: {human:?}");
    let tools = json(&home, &["tools", "--loaded", "reader", "--json"]);
    let tool = |name: &str| {
        let list = tools["tools"].as_array().expect("tools");
        list.iter().find(|tool| tool["name"] == name).expect("a tool").clone()
    };
    assert_eq!(tool("write_file")["effect"], "deny");
    assert_eq!(tool("write_file")["ceiling"], "user:reader");
    assert_eq!(
        (tool("grep")["effect"].clone(), tool("grep").get("ceiling")),
        (json!("allow"), None)
    );
}
