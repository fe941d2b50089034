//! The provider's key stands in a file, a skill, a request or a reply: it is never in a prompt, a record,
//! an export or on a screen, wherever it came from and however it is known.

use std::path::Path;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_server::{Answer, Dialect, Server};
use crate::run_support::{
    answer, call, holds_scripts, is_sound, last_run, project, resource, script, select,
};
use crate::support::METIER;

/// Looks like no token of a known provider: only its value gives it away.
const KEY: &str = "plain.Key-4711/of_a+provider";
const OTHER: &str = "another-plain-key-0815";

/// How a key is known.
#[derive(Debug, Clone, Copy)]
enum KeySource {
    Usual,
    Named,
    Printed,
}

/// The user's model on loopback, with the key from `source`.
fn configure(home: &TestHome, server: &Server, source: KeySource) {
    let mut model = json!({"provider": "openai", "name": "test-model", "base_url": server.url()});
    match source {
        // For a server of one's own it has to be named, too.
        KeySource::Usual => model["key_env"] = json!("OPENAI_API_KEY"),
        KeySource::Named => model["key_env"] = json!("MY_OWN_VARIABLE"),
        KeySource::Printed => {
            // Some stores print notes after the key.
            let program = home.write("home/bin/pass", format!("echo '{KEY} '; echo note\n"));
            model["key_command"] = json!(["/bin/sh", program]);
        }
    }
    let rules = json!([{"permission": "run_script", "pattern": "*", "effect": "allow"}]);
    let config = json!({"model": model, "permissions": rules});
    home.write("home/.agent/config.json", config.to_string());
}

fn keyed(home: &TestHome, source: KeySource, key: &str, args: &[&str]) -> Output {
    let mut command = home.command(METIER);
    match source {
        KeySource::Usual => command.env("OPENAI_API_KEY", key),
        KeySource::Named => command.env("MY_OWN_VARIABLE", key),
        KeySource::Printed => &mut command,
    };
    TestHome::finish(command.args(args))
}

/// A project in which the key stands everywhere.
fn littered() -> TestHome {
    let home = project();
    home.write("project/notes.txt", format!("before {KEY} after\n"));
    home.write("project/data.json", json!({KEY: [KEY], "url": KEY}).to_string());
    home.write("elsewhere.txt", format!("given: {KEY}\n"));
    let skill = "home/.agents/skills/leaky";
    let head = format!("---\nname: leaky\ndescription: Uses {KEY} to greet.\n---\n");
    home.write(&format!("{skill}/SKILL.md"), format!("{head}Log in with {KEY}.\n"));
    home.write(&format!("{skill}/references/a.md"), format!("# A\n\n{KEY}\n"));
    home.write(
        &format!("{skill}/scripts/show.sh"),
        "cat \"$WORKSPACE_DIR/notes.txt\"; cat \"$WORKSPACE_DIR/data.json\" >&2; exit 3\n",
    );
    home
}

fn is_nowhere(key: &str, text: &str, place: &str) {
    assert!(!text.contains(key), "the key is in {place}: {text}");
}

/// No file below `dir` holds the key.
fn look_through(key: &str, dir: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files += look_through(key, &path);
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("reads")).into_owned();
        is_nowhere(key, &text, &path.display().to_string());
        files += 1;
    }
    files
}

fn prompts(server: &Server) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.body).collect()
}

#[test]
fn the_key_in_files_skills_and_requests_is_neither_sent_nor_recorded() {
    for source in [KeySource::Usual, KeySource::Named, KeySource::Printed] {
        let home = littered();
        let dialect = Dialect::OpenAi;
        let mut actions = vec![
            call("read_file", &json!({"path": "notes.txt"})),
            call("grep", &json!({"pattern": "before"})),
            call("read_file", &json!({"path": "data.json"})),
            select(&["leaky"]),
            resource("leaky", "references/a.md"),
            json!({"action": {"type": "search_skills", "query": "greet"}}),
        ];
        let runs_scripts = holds_scripts(&home);
        if runs_scripts {
            actions.push(script("leaky", "scripts/show.sh", &[]));
        }
        actions.push(answer("done"));
        let turns = actions.len();
        let answers = actions.iter().map(|action| dialect.decides(action));
        let server = Server::in_order(answers.collect());
        configure(&home, &server, source);
        let request = format!("greet with {KEY}");
        let args = ["run", "--json", &request, "--file", "../elsewhere.txt"];
        let output = keyed(&home, source, KEY, &args);
        // The script ends with 3, and nothing else was tried.
        assert_eq!(output.code, i32::from(runs_scripts), "{source:?}: {output:?}");
        let asked = server.asked();
        assert_eq!(asked.len(), turns, "{source:?}: {output:?}");
        let sent = format!("Bearer {KEY}");
        assert_eq!(asked[0].headers["authorization"], sent, "it is the key: {source:?}");
        for body in prompts(&server) {
            is_nowhere(KEY, &body, "a prompt");
        }
        let last = prompts(&server).pop().expect("a prompt");
        assert!(last.matches("[redacted]").count() > 6, "{last}");
        is_nowhere(KEY, &format!("{}{}", output.stdout, output.stderr), "the events");
        assert!(look_through(KEY, &last_run(&home)) > 3);
        for args in [
            &["show", "last"][..],
            &["show", "last", "--html"],
            &["show", "last", "--json"],
            &["runs", "--json"],
            &["export", "last", "--atif"],
            &["export", "last", "--otel"],
            &["audit", "verify", "last", "--json"],
        ] {
            let output = keyed(&home, source, KEY, args);
            assert_eq!(output.code, 0, "{args:?}: {output:?}");
            is_nowhere(KEY, &format!("{}{}", output.stdout, output.stderr), args[0]);
        }
        is_sound(&home);
    }
}

#[test]
fn a_provider_that_repeats_the_key_shows_it_to_no_one() {
    let home = project();
    let dialect = Dialect::OpenAi;
    // The stream is cut in the middle of the key.
    let text = answer(&format!("x {KEY}")).to_string();
    let left = text.len() / 2;
    let at = text.find(KEY).expect("the key");
    assert!(at < left && left < at + KEY.len(), "{text}");
    let body = dialect.stream_text(&text);
    let server =
        Server::in_order(vec![Answer::reply(200, "content-type: text/event-stream\r\n", &body)]);
    configure(&home, &server, KeySource::Usual);
    for args in [&["run", "hello"][..], &["run", "--json", "hello"]] {
        let output = keyed(&home, KeySource::Usual, KEY, args);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("x [redacted]"), "{output:?}");
        is_nowhere(KEY, &format!("{}{}", output.stdout, output.stderr), "the output");
        for piece in [&KEY[..12], &KEY[KEY.len() - 12..]] {
            is_nowhere(piece, &output.stdout, "the notes");
        }
        look_through(KEY, &last_run(&home));
        is_sound(&home);
    }
}

#[test]
fn a_key_that_becomes_known_later_is_not_sent_from_the_record() {
    let home = project();
    home.write("project/notes.txt", format!("before {OTHER} after\n"));
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![
        dialect.decides(&call("read_file", &json!({"path": "notes.txt"}))),
        dialect.refuses(401, "authentication_error", "this key has expired", ""),
        dialect.decides(&call("read_file", &json!({"path": "notes.txt"}))),
        dialect.decides(&answer("done")),
    ]);
    configure(&home, &server, KeySource::Usual);
    let output = keyed(&home, KeySource::Usual, KEY, &["run", "read my notes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(prompts(&server)[1].contains(OTHER), "it was no key then");
    let output = keyed(&home, KeySource::Usual, OTHER, &["resume", "last"]);
    assert_eq!(output.code, 0, "{output:?}");
    for body in &prompts(&server)[2..] {
        is_nowhere(OTHER, body, "a prompt");
    }
    is_sound(&home);
}

#[test]
fn a_key_in_the_environment_is_masked_whichever_model_is_asked() {
    let home = littered();
    home.write("project/other.txt", format!("{OTHER}\n"));
    let replies = json!([
        call("read_file", &json!({"path": "notes.txt"})),
        call("read_file", &json!({"path": "other.txt"})),
        answer("done")
    ]);
    home.write("project/model.json", json!({ "replies": replies }).to_string());
    let mut command = home.command(METIER);
    command.env("ANTHROPIC_API_KEY", KEY).env("OPENAI_API_KEY", OTHER);
    let args = ["run", "look", "--model", "scripted:model.json", "--json"];
    let output = TestHome::finish(command.args(args));
    assert_eq!(output.code, 0, "{output:?}");
    for key in [KEY, OTHER] {
        is_nowhere(key, &output.stdout, "the events");
        look_through(key, &last_run(&home));
    }
    // A word is no secret.
    let mut command = home.command(METIER);
    command.env("OPENAI_API_KEY", "before").args(args);
    assert!(TestHome::finish(&mut command).stdout.contains("before "));
}

#[test]
fn a_script_that_is_run_alone_does_not_show_it() {
    let home = littered();
    if !holds_scripts(&home) {
        return;
    }
    for json in [&[][..], &["--json"]] {
        let args = [&["exec", "--yes", "leaky", "scripts/show.sh"], json].concat();
        let output = keyed(&home, KeySource::Usual, KEY, &args);
        assert_eq!(output.code, 1, "{output:?}");
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("before [redacted] after"), "{output:?}");
        is_nowhere(KEY, &all, "the output");
    }
}

/// The same as JSON writes it, with escapes.
#[test]
fn a_key_with_odd_characters_is_found_in_every_spelling() {
    let home = project();
    let odd = "odd\"key\\with-4711-marks";
    home.write("project/data.json", json!({ "key": odd }).to_string());
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![
        dialect.decides(&call("read_file", &json!({"path": "data.json"}))),
        dialect.decides(&answer("done")),
    ]);
    configure(&home, &server, KeySource::Usual);
    let output = keyed(&home, KeySource::Usual, odd, &["run", "--json", "look"]);
    assert_eq!(output.code, 0, "{output:?}");
    let sent: Value = serde_json::from_str(&prompts(&server)[1]).expect("JSON");
    let text = sent["messages"].to_string();
    assert!(!text.contains("4711") && text.contains("[redacted]"), "{text}");
    is_nowhere("4711", &output.stdout, "the events");
}
