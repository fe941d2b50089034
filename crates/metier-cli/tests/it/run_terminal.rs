//! `metier run` on a terminal: questions and their keys, the answer as it streams, Ctrl-C, and that no
//! foreign text acts on the terminal.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_server::{Answer, DIALECTS, Server};
use crate::run_support::{
    answer, call, codes, events, holds_scripts, is_sound, of_type, project, script, scripted,
    select,
};
use crate::screen::screen;
use crate::support::{METIER, run};

const TIMEOUT: Duration = Duration::from_secs(50);
const QUESTION: &str = "[e]xplain:";

/// A terminal with the binary on it. Both streams are one.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command; nothing where there is no `script` to make a terminal.
    pub(crate) fn start(home: &TestHome, args: &[&str]) -> Option<Self> {
        let quoted = |arg: &&str| format!("'{}'", arg.replace('\'', "'\\''"));
        let line: Vec<String> = std::iter::once(&METIER).chain(args).map(quoted).collect();
        let mut command = home.command("script");
        let line = format!("exec {}", line.join(" "));
        command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = piped.spawn() else {
            metier_testkit::not_tested_without("script", "there is no `script` to make a terminal");
            return None;
        };
        let seen: Arc<Mutex<String>> = Arc::default();
        let (keys, mut screen) =
            (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let kept = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(read) = screen.read(&mut piece) {
                if read == 0 {
                    return;
                }
                bytes.extend_from_slice(&piece[..read]);
                *kept.lock().expect("a lock") = String::from_utf8_lossy(&bytes).into_owned();
            }
        });
        Some(Self { child, keys, seen, reader })
    }

    fn seen(&self) -> String {
        self.seen.lock().expect("a lock").clone()
    }

    /// Waits until a text stands there so many times.
    pub(crate) fn until(&self, text: &str, times: usize) {
        let since = Instant::now();
        while self.seen().matches(text).count() < times {
            assert!(since.elapsed() < TIMEOUT, "no {text:?} ({times}) in {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).and_then(|()| self.keys.flush()).expect("types");
    }

    /// Waits for its end; gives what was seen and the exit code.
    pub(crate) fn end(self) -> (String, i32) {
        let (seen, code) = self.end_raw();
        (seen.replace('\r', ""), code)
    }

    /// Types a key until it ends: what is typed while the editor takes the terminal can be lost.
    pub(crate) fn end_by(mut self, key: &str) -> (String, i32) {
        let since = Instant::now();
        while self.child.try_wait().expect("waits").is_none() {
            assert!(since.elapsed() < TIMEOUT, "no end in {:?}", self.seen());
            let _ = self.keys.write_all(key.as_bytes()).and_then(|()| self.keys.flush());
            std::thread::sleep(Duration::from_millis(500));
        }
        self.end()
    }

    /// The same with every byte that moves the cursor.
    pub(crate) fn end_raw(mut self) -> (String, i32) {
        let since = Instant::now();
        let ended = loop {
            if let Some(ended) = self.child.try_wait().expect("waits") {
                break ended;
            }
            assert!(since.elapsed() < TIMEOUT, "no end in {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        };
        let code = ended.code().unwrap_or(-1);
        // The last of it may still be on its way.
        self.reader.join().expect("no panic");
        let seen = self.seen.lock().expect("a lock").clone();
        (seen, code)
    }
}

/// A place with a skill of the user whose script prints these words.
fn with_script(words: &str) -> TestHome {
    let home = project();
    home.skill("home/.agents/skills/talk", "talk", "Talks.");
    home.write("home/.agents/skills/talk/scripts/talk.sh", format!("printf '%b' '{words}\\n'\n"));
    let replies =
        json!([select(&["talk"]), script("talk", "scripts/talk.sh", &[]), answer("That was it."),]);
    scripted(&home, &replies);
    home
}

const RUN: [&str; 4] = ["run", "talk to me", "--model", "scripted:model.json"];

/// Runs on a terminal and answers the question when it comes.
fn answered(home: &TestHome, keys: &[&str]) -> Option<(String, i32)> {
    let mut terminal = Terminal::start(home, &RUN)?;
    for (at, key) in keys.iter().enumerate() {
        if at == 0 || keys[at - 1] == "e\n" {
            terminal.until(QUESTION, 1 + keys[..at].iter().filter(|key| **key == "e\n").count());
        } else {
            terminal.until("Reason, for the model", 1);
        }
        terminal.types(key);
    }
    Some(terminal.end())
}

#[test]
fn yes_lets_it_pass_once_and_the_next_run_asks_again() {
    let home = with_script("words of the script");
    if !holds_scripts(&home) {
        return;
    }
    for _ in 0..2 {
        let Some((seen, code)) = answered(&home, &["y\n"]) else { return };
        assert_eq!(code, 0, "{seen}");
        assert!(seen.contains("run user:talk/scripts/talk.sh"), "what is asked: {seen}");
        assert!(seen.contains("| words of the script"), "its output is shown: {seen}");
        is_sound(&home);
    }
    let events = events(&home);
    let given = of_type(&events, "ask.answered");
    assert_eq!((&given[0]["answer"], &given[0]["by"]), (&json!("once"), &json!("user")));
}

#[test]
fn always_is_remembered_until_the_script_changes() {
    let home = with_script("one");
    if !holds_scripts(&home) {
        return;
    }
    let Some((seen, code)) = answered(&home, &["a\n"]) else { return };
    assert_eq!(code, 0, "{seen}");
    let next = run(&home, &RUN);
    assert_eq!((next.code, next.stdout.as_str()), (0, "That was it.\n"), "{next:?}");
    assert_eq!(of_type(&events(&home), "ask.opened").len(), 0, "no one is asked");
    home.write("home/.agents/skills/talk/scripts/talk.sh", "echo two\n");
    let changed = run(&home, &RUN);
    assert_eq!(changed.code, 3, "changed content is another question: {changed:?}");
}

/// The one answer that is remembered.
fn remembered(home: &TestHome) -> serde_json::Value {
    let list = run(home, &["permissions", "--json"]).json();
    assert_eq!(list["answers"].as_array().map_or(0, Vec::len), 1, "{list}");
    list["answers"][0].clone()
}

#[test]
fn always_for_some_time_ends_with_that_time_and_with_what_the_user_set_for_all() {
    let home = with_script("one");
    if !holds_scripts(&home) {
        return;
    }
    let seconds = |answer: &serde_json::Value| {
        let [given, end] = ["granted_at", "expires_at"].map(|key| answer[key].as_u64());
        end.expect("it ends") - given.expect("a time")
    };
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(QUESTION, 1);
    terminal.types("a soon\n");
    terminal.until("a time is a number", 1);
    terminal.until(QUESTION, 2);
    terminal.types("a 8h\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(seconds(&remembered(&home)), 8 * 60 * 60);
    assert_eq!(of_type(&events(&home), "ask.answered")[0]["answer"], json!({"always_for": 28_800}));
    is_sound(&home);
    assert_eq!(run(&home, &RUN).code, 0, "no one is asked while it holds");
    // Time is what the record says: an answer of yesterday.
    let file = home.home().join(".local/state/metier/answers.json");
    let mut kept: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).expect("answers")).expect("JSON");
    kept[0]["expires_at"] = json!(1);
    std::fs::write(&file, kept.to_string()).expect("writes");
    assert_eq!(remembered(&home)["holds"], false);
    assert_eq!(run(&home, &RUN).code, 3, "it is asked again");
    // A limit also counts for what was answered before there was one.
    kept[0]["expires_at"] = serde_json::Value::Null;
    std::fs::write(&file, kept.to_string()).expect("writes");
    assert_eq!(run(&home, &RUN).code, 0, "without a limit it holds");
    kept[0]["granted_at"] = json!(kept[0]["granted_at"].as_u64().expect("a time") - 7200);
    std::fs::write(&file, kept.to_string()).expect("writes");
    home.write("home/.agent/config.json", r#"{"execution": {"always_expires_s": 3600}}"#);
    assert_eq!(remembered(&home)["holds"], false);
    assert_eq!(run(&home, &RUN).code, 3, "it is asked again");
    for keys in ["a 8h\n", "a\n"] {
        let Some((seen, code)) = answered(&home, &[keys]) else { return };
        assert_eq!(code, 0, "{seen}");
        assert_eq!(seconds(&remembered(&home)), 3600, "the shorter time counts for {keys:?}");
        std::fs::remove_file(&file).expect("forgets");
    }
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let home = with_script("one");
    if !holds_scripts(&home) {
        return;
    }
    let again = script("talk", "scripts/talk.sh", &["again"]);
    let first = script("talk", "scripts/talk.sh", &[]);
    scripted(&home, &json!([select(&["talk"]), first, again, answer("That was it.")]));
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(QUESTION, 1);
    terminal.types("y\ny\n");
    terminal.until(QUESTION, 2);
    terminal.types("n\n");
    terminal.until("Reason, for the model", 1);
    terminal.types("\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(codes(&events(&home)), ["ok", "ok", "Rejected"], "{seen}");
}

#[test]
fn no_takes_words_to_the_model_and_explain_asks_again() {
    let home = with_script("never");
    if !holds_scripts(&home) {
        return;
    }
    let dialect = DIALECTS[0];
    let turns = [select(&["talk"]), script("talk", "scripts/talk.sh", &[]), answer("Very well.")];
    let server = Server::start(move |at, _| dialect.decides(&turns[at.min(2)]));
    dialect.configure(&home, &server.url(), &json!({}));
    let Some(mut terminal) = Terminal::start(&home, &["run", "talk to me"]) else { return };
    terminal.until(QUESTION, 1);
    terminal.types("e\n");
    terminal.until(QUESTION, 2);
    terminal.types("what?\n");
    terminal.until(QUESTION, 3);
    terminal.types("\n");
    terminal.until(QUESTION, 4);
    terminal.types("n\n");
    terminal.until("Reason, for the model", 1);
    terminal.types("whisper instead\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 3, "{seen}");
    for explained in ["because: ", "request: sha256:", "\"path\": \"scripts/talk.sh\""] {
        assert!(seen.contains(explained), "{explained}: {seen}");
    }
    assert!(seen.contains("Very well."), "{seen}");
    assert!(!seen.contains("| never"), "it did not run: {seen}");
    assert_eq!(codes(&events(&home)), ["ok", "Rejected"]);
    assert!(server.asked()[2].body.contains("The user said no: whisper instead"));
    is_sound(&home);
}

#[test]
fn a_change_of_a_file_is_shown_before_it_is_approved() {
    let home = project();
    home.write("project/list.txt", "first\nsecond\n");
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#,
    );
    let content = "first\nzweite\n";
    let replies =
        json!([call("write_file", &json!({"path": "list.txt", "content": content})), answer("ok")]);
    scripted(&home, &replies);
    let Some((seen, code)) = answered(&home, &["y\n"]) else { return };
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("-second") && seen.contains("+zweite"), "{seen}");
    let now = std::fs::read_to_string(home.project().join("list.txt")).expect("there");
    assert_eq!(now, content);
}

#[test]
fn ctrl_c_and_a_closed_terminal_at_a_question_leave_a_run_that_goes_on_later() {
    for (keys, code, status) in [("\u{3}", 130, "cancelled"), ("\u{4}", 3, "needs_approval")] {
        let home = with_script("later");
        if !holds_scripts(&home) {
            return;
        }
        let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
        terminal.until(QUESTION, 1);
        terminal.types(keys);
        let (seen, ended) = terminal.end();
        assert_eq!(ended, code, "{seen}");
        assert_eq!(events(&home).last().expect("events")["status"], status, "{seen}");
        assert!(!seen.contains("| later"), "{seen}");
        is_sound(&home);
        let resumed = run(&home, &["resume", "last", "--yes"]);
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "That was it.\n"), "{resumed:?}");
    }
}

#[test]
fn the_answer_is_shown_as_it_streams_and_once() {
    for dialect in DIALECTS {
        let home = project();
        let gate = Arc::new(AtomicBool::new(false));
        // In the order of the schema: before its type is known, no text is an answer's.
        let text = "the first half is what everyone sees early; late comes the second half";
        let decision = format!(r#"{{"action":{{"type":"final_answer","text":"{text}"}}}}"#);
        let body = dialect.stream_text(&decision);
        let middle = body.find("second half").map(|at| body[..at].rfind("\n\n").expect("events"));
        let middle = middle.expect("the second half") + 2;
        let answer = Answer::in_two_parts(&body, middle, &gate);
        let server = Server::in_order(vec![answer]);
        dialect.configure(&home, &server.url(), &json!({}));
        let Some(terminal) = Terminal::start(&home, &["run", "tell me"]) else { return };
        terminal.until("the first", 1);
        assert!(!terminal.seen().contains("second half"), "it is not there yet");
        gate.store(true, Ordering::SeqCst);
        let (seen, code) = terminal.end_raw();
        assert_eq!(code, 0, "{seen}");
        let seen = screen(&seen).join("\n");
        assert_eq!(seen.matches("the second half").count(), 1, "{seen}");
        is_sound(&home);
    }
}

/// Blinking text on red, a window title, a cleared screen, C1 controls, and text that runs backwards.
const EVIL: &str = "\u{1b}[5;41mA\u{1b}]0;title\u{7}B\u{1b}[2JC\u{9b}31mD\u{202e}E";

#[test]
fn foreign_text_does_not_act_on_the_terminal() {
    let home = with_script(r"\033[5;41mA\033]0;title\007B\033[2J\302\233C\nplain");
    if !holds_scripts(&home) {
        return;
    }
    let name = format!("home/.agents/skills/{EVIL}");
    home.skill(&name, "evil", "\"\\u001b[2J\\u009b\\u202e evil\"");
    let mut first = select(&["talk", EVIL]);
    first["plan"] = json!({"goal": EVIL, "steps": [{"id": "s1", "title": EVIL,
        "status": "in_progress"}], "assumptions": [EVIL], "constraints": []});
    let replies = json!([
        first,
        script("talk", "scripts/talk.sh", &[EVIL]),
        call(EVIL, &json!({EVIL: EVIL})),
        {"raw": format!("{EVIL} is no decision")},
        {"action": {"type": "search_skills", "query": EVIL}},
        answer(&format!("line one {EVIL}\nline two")),
    ]);
    scripted(&home, &replies);
    let Some(mut terminal) = Terminal::start(&home, &RUN) else { return };
    terminal.until(QUESTION, 1);
    terminal.types("e\n");
    terminal.until(QUESTION, 2);
    terminal.types("y\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    for shown in ["plain", "line one", "line two", r"\x1b[5;41mA"] {
        assert!(seen.contains(shown), "{shown}: {seen}");
    }
    for harm in ["\u{1b}[5", "\u{1b}]", "\u{1b}[2J", "\u{9b}", "\u{7}", "\u{202e}"] {
        assert!(!seen.contains(harm), "{harm:?} in {seen:?}");
    }
    let plain = run(&home, &[&RUN[..], &["--yes"]].concat());
    for text in [&plain.stdout, &plain.stderr] {
        let is_harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(is_harmful), "{plain:?}");
    }
}
