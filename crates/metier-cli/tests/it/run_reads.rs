//! What a run reads and what it sends. The system calls of a whole run are watched by `strace`, as in
//! `reads`; what reaches a model is read from the bodies of real requests.

use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::reads::{Trace, can_trace, traced};
use crate::run_server::{DIALECTS, Server, run_keyed};
use crate::run_support::{
    answer, call, codes, events, holds_scripts, project, resource, script, scripted, select,
};
use crate::support::run;

/// Two skills of the user with long bodies, resources and scripts.
fn two_skills() -> (TestHome, PathBuf) {
    let home = project();
    for name in ["wanted", "other"] {
        let body = format!("A line of the body of {name}.\n").repeat(600);
        let dir = format!("home/.agents/skills/{name}");
        let text = format!("---\nname: {name}\ndescription: Is {name}.\n---\n{body}");
        home.write(&format!("{dir}/SKILL.md"), text);
        home.write(&format!("{dir}/references/a.md"), format!("# A of {name}\n\nText.\n"));
        home.write(&format!("{dir}/references/b.md"), format!("# B of {name}\n"));
        home.write(&format!("{dir}/scripts/run.sh"), "echo ran\n");
    }
    let root = home.path().canonicalize().expect("there").join("home/.agents/skills");
    (home, root)
}

/// The trace of a run with these replies.
fn watched(home: &TestHome, replies: &Value) -> Trace {
    let model = scripted(home, replies);
    let (trace, output) = traced(home, &["run", "do it", "--yes", "--model", model]);
    assert_eq!(output.code, 0, "{output:?}");
    trace
}

/// Of the other skill only the head may have been read.
fn leaves_the_other_alone(trace: &Trace, root: &Path) {
    let opened = trace.opened_below(&root.join("other"));
    assert_eq!(opened, ["SKILL.md"], "the metadata of another skill, and nothing else");
    let read = trace.bytes_of(&root.join("other/SKILL.md"));
    assert!((1..=4096).contains(&read), "its head: {read} bytes");
}

#[test]
fn at_the_start_only_metadata_is_read() {
    if !can_trace() {
        return;
    }
    let (home, root) = two_skills();
    let trace = watched(&home, &json!([answer("nothing needed")]));
    leaves_the_other_alone(&trace, &root);
    assert_eq!(trace.opened_below(&root.join("wanted")), ["SKILL.md"]);
    let read = trace.bytes_of(&root.join("wanted/SKILL.md"));
    assert!((1..=4096).contains(&read), "its head: {read} bytes");
}

#[test]
fn a_body_is_read_when_its_skill_is_selected_and_nothing_besides() {
    if !can_trace() {
        return;
    }
    let (home, root) = two_skills();
    let trace = watched(&home, &json!([select(&["wanted"]), answer("read")]));
    leaves_the_other_alone(&trace, &root);
    assert_eq!(trace.opened_below(&root.join("wanted")), ["SKILL.md"], "no resource, no script");
    let file = root.join("wanted/SKILL.md");
    let size = std::fs::metadata(&file).expect("there").len();
    let read = trace.bytes_of(&file);
    assert!((size..=size + 4096).contains(&read), "head and body: {read} of {size}");
}

#[test]
fn a_resource_is_read_when_it_is_asked_for_and_no_other() {
    if !can_trace() {
        return;
    }
    let (home, root) = two_skills();
    let replies =
        json!([select(&["wanted"]), resource("wanted", "references/a.md"), answer("read")]);
    let trace = watched(&home, &replies);
    leaves_the_other_alone(&trace, &root);
    assert_eq!(trace.opened_below(&root.join("wanted")), ["SKILL.md", "references/a.md"]);
}

#[test]
fn a_script_is_read_when_it_is_run() {
    let (home, root) = two_skills();
    if !can_trace() || !holds_scripts(&home) {
        return;
    }
    let replies =
        json!([select(&["wanted"]), script("wanted", "scripts/run.sh", &[]), answer("ran")]);
    let trace = watched(&home, &replies);
    leaves_the_other_alone(&trace, &root);
    let opened = trace.opened_below(&root.join("wanted"));
    assert!(opened.contains(&"scripts/run.sh".to_owned()), "{opened:?}");
    assert_eq!(codes(&events(&home)), ["ok", "ok"]);
}

#[test]
fn a_denied_skill_is_not_even_opened_when_a_model_insists() {
    if !can_trace() {
        return;
    }
    let (home, root) = two_skills();
    let rule =
        r#"{"permissions": [{"permission": "load_skill", "pattern": "other", "effect": "deny"}]}"#;
    home.write("home/.agent/config.json", rule);
    let replies = json!([
        select(&["other"]),
        resource("other", "references/a.md"),
        select(&["user:other"]),
        call("read_file", &json!({"path": "../home/.agents/skills/other/SKILL.md"})),
        answer("no"),
    ]);
    let trace = watched(&home, &replies);
    leaves_the_other_alone(&trace, &root);
    let report = codes(&events(&home)).iter().map(|code| (*code).to_owned()).collect::<Vec<_>>();
    assert_eq!(report.len(), 4, "{report:?}");
    assert!(!report.contains(&"ok".to_owned()), "{report:?}");
}

#[test]
fn nothing_of_a_denied_skill_is_sent_to_a_model() {
    for dialect in DIALECTS {
        let home = project();
        for (name, words) in [("open-one", "plain words"), ("secret-one", "hush-hush words")] {
            home.write(
                &format!("home/.agents/skills/{name}/SKILL.md"),
                format!(
                    "---\nname: {name}\ndescription: AskDetails {words}.\n---\nBody: {words}.\n"
                ),
            );
            home.write(
                &format!("home/.agents/skills/{name}/notes.md"),
                format!("Notes: {words}\n"),
            );
        }
        let turns = [
            json!({"action": {"type": "search_skills", "query": "hush-hush words secret"}}),
            select(&["open-one"]),
            call("list_dir", &json!({"path": "."})),
            call("grep", &json!({"pattern": "hush", "path": "."})),
            answer("done"),
        ];
        let server = Server::start(move |at, _| dialect.decides(&turns[at.min(4)]));
        let model = json!({"provider": dialect.word(), "name": "m", "base_url": server.url()});
        let deny = json!({"permission": "load_skill", "pattern": "secret-one", "effect": "deny"});
        let config = json!({"model": model, "permissions": [deny]});
        home.write("home/.agent/config.json", config.to_string());
        let output = run_keyed(&home, &["run", "--yes", "what can you do?"]);
        assert_eq!((output.code, output.stdout.as_str()), (0, "done\n"), "{output:?}");
        let asked = server.asked();
        assert_eq!(asked.len(), 5, "every turn is one request");
        for request in &asked {
            assert!(request.body.contains("open-one"), "the other one is offered");
            for hidden in ["secret-one", "hush-hush words.", "Notes: hush"] {
                assert!(!request.body.contains(hidden), "{hidden} in {}", request.body);
            }
        }
        assert!(asked[2].body.contains("Body: plain words."), "what was selected is sent");
        assert!(!asked[1].body.contains("Body: plain words."), "and not before");
    }
}

#[test]
fn an_untrusted_project_skill_is_asked_about_and_not_sent() {
    let home = project();
    home.write(
        "project/.agents/skills/theirs/SKILL.md",
        "---\nname: theirs\ndescription: Theirs.\n---\nOnly after trust.\n",
    );
    let dialect = DIALECTS[0];
    let server = Server::in_order(vec![
        dialect.decides(&select(&["theirs"])),
        dialect.decides(&answer("read it")),
    ]);
    dialect.configure(&home, &server.url(), &json!({}));
    let output = run_keyed(&home, &["run", "do what theirs says"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(server.asked().iter().all(|request| !request.body.contains("Only after trust")));
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let resumed = run_keyed(&home, &["resume", "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "read it\n"), "{resumed:?}");
    assert!(server.asked()[1].body.contains("Only after trust"), "now it is sent");
}
