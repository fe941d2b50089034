//! `metier chat` from outside: several requests in one session, each with what was said before.
//! A server that keeps every request says what a model was sent.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run::piped;
use crate::run_server::{Answer, DIALECTS, Server};
use crate::run_support::{
    answer, call, events_in, holds_scripts, of_type, project, runs, scripted, select,
};
use crate::support::METIER;

const TIMEOUT: Duration = Duration::from_mins(2);

/// A session over pipes.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    fn start(home: &TestHome, flags: &[&str]) -> Self {
        let mut command = home.command(METIER);
        command.arg("chat").args(flags);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let answers = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { input: child.stdin.take(), child, answers }
    }

    fn says(&mut self, request: &str) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{request}").and_then(|()| input.flush()).expect("writes");
    }

    fn answer(&mut self) -> String {
        self.answers.next().expect("an answer").expect("a line")
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    }

    /// Closes the input; gives what else was said and the exit code.
    fn end(mut self) -> (Vec<String>, i32) {
        drop(self.input.take());
        let rest = self.answers.by_ref().map(|line| line.expect("a line")).collect();
        (rest, self.child.wait().expect("ends").code().unwrap_or(-1))
    }
}

fn asked_so_far(server: &Server, wanted: usize) {
    let since = Instant::now();
    while server.asked().len() < wanted {
        assert!(since.elapsed() < TIMEOUT, "{} requests", server.asked().len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The records of a session, oldest first.
fn records(home: &TestHome) -> Vec<Vec<Value>> {
    let list = std::fs::read_dir(runs(home)).expect("runs");
    let mut folders: Vec<_> = list.map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders.iter().map(|folder| events_in(folder)).collect()
}

#[test]
fn a_second_request_knows_the_first_and_keeps_its_skills() {
    for dialect in DIALECTS {
        let home = project();
        home.write(
            "home/.agents/skills/manners/SKILL.md",
            "---\nname: manners\ndescription: How to greet.\n---\nAlways greet twice.\n",
        );
        let turns = [
            select(&["manners"]),
            answer("Hello, hello. [End of Answer 1]"),
            answer("As I said: hello."),
            answer("Third."),
        ];
        let server = Server::start(move |at, _| dialect.decides(&turns[at.min(3)]));
        dialect.configure(&home, &server.url(), &json!({}));
        let mut session = Session::start(&home, &[]);
        session.says("greet me with manners");
        assert_eq!(session.answer(), "Hello, hello. [End of Answer 1]");
        session.says("what did you say?");
        assert_eq!(session.answer(), "As I said: hello.");
        session.says("/manners again");
        assert_eq!(session.answer(), "Third.");
        let (rest, code) = session.end();
        assert_eq!((rest.len(), code), (0, 0), "{rest:?}");
        let asked = server.asked();
        assert_eq!(asked.len(), 4);
        let second = &asked[2].body;
        for earlier in ["greet me with manners", "Hello, hello.", "Always greet twice."] {
            assert!(second.contains(earlier), "{earlier}: {second}");
        }
        assert!(!asked[0].body.contains("Always greet twice."), "it was not loaded at first");
        assert_eq!(asked[3].body.matches("Always greet twice.").count(), 1, "loaded once");
        // A pipe calls nothing; what is loaded stays so.
        assert!(asked[3].body.contains("/manners again"), "{}", asked[3].body);
        let records = records(&home);
        assert_eq!(records.len(), 3, "each request is a run of its own");
        let request = |record: &[Value]| record[0]["request"].clone();
        assert_eq!(request(&records[1]), "what did you say?", "the request is what was typed");
    }
}

#[test]
fn ctrl_c_stops_the_request_and_not_the_session() {
    let home = project();
    let dialect = DIALECTS[0];
    let server = Server::start(move |at, _| match at {
        0 => Answer::silence(),
        _ => dialect.decides(&answer("the second one")),
    });
    dialect.configure(&home, &server.url(), &json!({}));
    let mut session = Session::start(&home, &[]);
    session.says("the first one hangs");
    asked_so_far(&server, 1);
    session.interrupt();
    session.says("and now?");
    assert_eq!(session.answer(), "the second one");
    let (_, code) = session.end();
    assert_eq!(code, 0, "the last request was answered");
    let ends: Vec<Value> = records(&home)
        .iter()
        .map(|record| record.last().expect("events")["status"].clone())
        .collect();
    assert_eq!(ends, ["cancelled", "completed"]);
    let asked = server.asked();
    let second = &asked.last().expect("asked").body;
    let mark = "[That request is over: it ended without an answer (cancelled). Do not work on it.]";
    assert!(second.contains("the first one hangs") && second.contains(mark), "{second}");
}

#[test]
fn ctrl_c_while_nothing_is_worked_on_ends_the_session() {
    let home = project();
    let dialect = DIALECTS[0];
    let server = Server::start(move |_, _| dialect.decides(&answer("done")));
    dialect.configure(&home, &server.url(), &json!({}));
    let mut session = Session::start(&home, &[]);
    session.says("one");
    assert_eq!(session.answer(), "done");
    session.interrupt();
    let ended = session.child.wait().expect("ends").code();
    assert_eq!(ended, Some(130));
}

#[test]
fn a_session_through_a_pipe_stops_at_no_question_and_continues_with_the_next() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let mut session = Session::start(&home, &[]);
    session.says("summarise examples/sales.csv by region");
    session.says("give me an overview of this project");
    let (_, code) = session.end();
    let records = records(&home);
    assert_eq!(records.len(), 2, "exit code {code}");
    assert_eq!(records[0].last().expect("events")["status"], "needs_approval");
}

#[test]
fn files_and_flags_hold_for_every_request_of_a_session() {
    let home = project();
    let dialect = DIALECTS[1];
    let write = || call("write_file", &json!({"path": "out.txt", "content": "x"}));
    let turns = [write(), answer("one"), write(), answer("two")];
    let server = Server::start(move |at, _| dialect.decides(&turns[at.min(3)]));
    dialect.configure(&home, &server.url(), &json!({}));
    let mut session = Session::start(&home, &["--yes", "--deny", "write_file"]);
    for said in ["one", "two"] {
        session.says(said);
        assert_eq!(session.answer(), said);
    }
    assert_eq!(session.end().1, 3);
    assert!(!home.project().join("out.txt").exists());
    for record in records(&home) {
        assert_eq!(of_type(&record, "observation.made")[0]["code"], "NotAllowed");
    }
}

/// A model on loopback whose key is printed by a program that counts how often it is run.
fn with_key_command(home: &TestHome, server: &Server, command: &str) -> std::path::PathBuf {
    let count = home.path().join("key-command-ran");
    let program = format!("echo ran >> {}; {command}\n", count.display());
    let program = home.write("home/bin/print-key", program);
    let config = json!({"model": {
        "provider": "openai", "name": "test-model", "base_url": server.url(),
        "key_command": ["/bin/sh", program],
    }});
    home.write("home/.agent/config.json", config.to_string());
    count
}

#[test]
fn the_program_that_prints_the_key_runs_once_for_a_whole_session() {
    let home = project();
    let dialect = DIALECTS[0];
    let server = Server::start(move |_, _| dialect.decides(&answer("done")));
    let count = with_key_command(&home, &server, "echo key-of-4711-letters");
    let mut session = Session::start(&home, &[]);
    for request in ["one", "two", "three"] {
        session.says(request);
        assert_eq!(session.answer(), "done");
    }
    assert_eq!(session.end().1, 0);
    assert_eq!(std::fs::read_to_string(count).expect("it ran").lines().count(), 1);
    for asked in server.asked() {
        assert_eq!(asked.headers["authorization"], "Bearer key-of-4711-letters");
    }
}

#[test]
fn ctrl_c_ends_the_program_that_prints_the_key() {
    let home = project();
    let server = Server::start(|_, _| Answer::silence());
    let count = with_key_command(&home, &server, "exec sleep 3600");
    for args in [&["run", "hello"][..], &["chat"], &["models", "test"]] {
        let _ = std::fs::remove_file(&count);
        let mut command = home.command(METIER);
        let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        let start = Instant::now();
        while !count.exists() {
            assert!(start.elapsed() < TIMEOUT, "{args:?}: the program did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
        assert_eq!(child.wait().expect("ends").code(), Some(130), "{args:?}");
    }
    assert_eq!(server.asked().len(), 0);
    assert!(!runs(&home).exists(), "nothing is recorded");
}

#[test]
fn a_model_that_cannot_be_used_is_an_error_before_the_first_message() {
    let home = project();
    home.write("project/broken.json", "{ not json");
    for (model, words, code) in [
        ("opanai:x", "unknown provider `opanai`", 2),
        ("openai", "needs a name", 2),
        ("scripted:missing.json", "missing.json cannot be read", 1),
        ("scripted:broken.json", "broken.json, line 1, column 3", 1),
        ("replay:nothing", "nothing", 1),
    ] {
        // Nothing is typed, and the input stays open.
        let mut command = home.command(METIER);
        let command = command.args(["chat", "--model", model]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("it starts");
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{model}: {said}");
        assert_eq!(output.status.code(), Some(code), "{model}: {said}");
    }
    assert!(!runs(&home).exists(), "nothing is recorded");
}

#[test]
fn commands_of_a_chat_are_not_sent_to_a_model() {
    let home = project();
    home.skill("home/.agent/skills/manners", "manners", "Greets people.");
    home.write(
        "home/.agent/config.json",
        r#"{"agents": {"a": {"permissions": {"skill": {"manners": "deny"}}}}}"#,
    );
    let chat = |flags: &[&str], input: &str| {
        let mut command = home.command(METIER);
        let piped = command.arg("chat").args(flags).stdin(Stdio::piped());
        let mut child =
            piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("writes");
        let output = child.wait_with_output().expect("ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let (out, _, code) = chat(&[], "/help\n\n/skills\n/model\n/exit\nnot a request\n");
    assert_eq!(code, Some(0), "{out}");
    for words in ["/skills  ", "\nmanners ", " Greets people.\n", "router:"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(!runs(&home).exists(), "nothing was worked on: {out}");
    let (out, _, _) = chat(&["--agent", "a"], "/skills\n");
    assert!(!out.contains("manners"), "{out}");
    // What a pipe brings calls no skill, as for `run -`.
    home.write(
        "home/.agent/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Ship.\ndisable-model-invocation: true\n---\nSHIP-BODY\n",
    );
    let (_, error, _) = chat(&[], "/deploy now\nuse the deploy skill\n");
    assert_eq!(error.matches("calls no skill by its name").count(), 2, "{error}");
    for record in records(&home) {
        assert!(of_type(&record, "action.started").is_empty(), "{record:?}");
    }
    // A model that cannot be used leaves the one of before.
    let (out, error, _) = chat(&[], "/model opanai:x\n/model\n/model mock\n");
    assert!(error.contains("unknown provider `opanai`"), "{error}");
    assert_eq!(out.matches("router:").count(), 2, "{out}");
    let (out, _, _) = chat(&["--json"], "/skills\n/model\n");
    assert_eq!(out, "", "programs read events alone");
    // What would fail for every message fails at the start.
    for flags in [["--deny", "nosuch_tool"], ["--skill", "nosuch-skill"]] {
        let (_, error, code) = chat(&flags, "");
        assert!(code != Some(0) && error.contains("nosuch"), "{flags:?}: {error}");
    }
}

#[test]
fn a_person_edits_lines_and_finds_those_of_earlier_sessions() {
    use crate::run_terminal::Terminal;
    let home = project();
    let Some(mut first) = Terminal::start(&home, &["chat"]) else { return };
    first.until("> ", 1);
    // An empty line does nothing; left arrow and backspace edit.
    first.types("\r");
    first.types("/modelx\u{7f}\r");
    first.until("router:", 1);
    first.types(" /help\r");
    first.until("ends the session, like Ctrl-D", 1);
    first.types("/exit\r");
    let (seen, code) = first.end();
    assert_eq!(code, 0, "{seen}");
    let state = home.home().join(".local/state/metier/chat_history");
    let kept = std::fs::read_to_string(&state).unwrap_or_else(|error| panic!("{error}: {seen}"));
    assert_eq!(kept, "/model\n/exit\n", "a line that begins with a blank is not kept");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&state).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let Some(mut second) = Terminal::start(&home, &["chat"]) else { return };
    second.until("> ", 1);
    // Up twice: the line before the last one.
    second.types("\u{1b}[A\u{1b}[A\r");
    second.until("router:", 1);
    let (seen, code) = second.end_by("\u{4}");
    assert_eq!(code, 0, "Ctrl-D ends the session: {seen}");
}

#[test]
fn ctrl_c_at_the_prompt_discards_the_line_and_twice_ends_the_session() {
    use crate::run_terminal::Terminal;
    let home = project();
    let Some(mut terminal) = Terminal::start(&home, &["chat"]) else { return };
    terminal.until("> ", 1);
    terminal.types("/exit");
    terminal.until("/exit", 1);
    terminal.types("\u{3}");
    terminal.until("press Ctrl-C again", 1);
    terminal.types("/model\r");
    terminal.until("router:", 1);
    terminal.types("\u{3}");
    terminal.until("press Ctrl-C again", 2);
    let (seen, code) = terminal.end_by("\u{3}");
    assert_eq!(code, 130, "{seen}");
}

#[test]
fn a_slip_in_a_command_is_no_request() {
    let home = project();
    let model = scripted(&home, &json!([answer("a turn")]));
    for (line, meant) in [("/modle router", "/model"), ("/hlep", "/help"), ("/skils", "/skills")] {
        let output = piped(&home, &["chat", "--model", model], &format!("{line}\n"));
        assert_eq!(output.code, 2, "{line}: {output:?}");
        assert!(output.stderr.contains(&format!("did you mean `{meant}`?")), "{line}: {output:?}");
        assert!(!output.stdout.contains("a turn"), "{line}: {output:?}");
    }
    for line in ["/tmp is full", "what is /modle?"] {
        let output = piped(&home, &["chat", "--model", model], &format!("{line}\n"));
        assert!(output.stdout.contains("a turn"), "{line}: {output:?}");
    }
    // A skill of that name is one.
    home.skill("home/.agents/skills/modle", "modle", "Makes a modle.");
    let output = piped(&home, &["chat", "--model", model], "/modle\n");
    assert!(!output.stderr.contains("did you mean"), "{output:?}");
}
