//! A run that is killed or interrupted, at any moment: it continues to the same end, nothing is done
//! twice in silence, and nothing is left running.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::recorded_run::open_anchor;
use crate::run_server::{Answer, DIALECTS, Server};
use crate::run_support::{
    answer, call, codes, events, events_in, holds_scripts, is_sound, last_run, of_type, project,
    resource, runs, script, scripted, select,
};
use crate::support::{METIER, files_below, run};

const TIMEOUT: Duration = Duration::from_mins(2);

/// A run in the background, followed by its events.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn start(home: &TestHome, args: &[&str]) -> Self {
        let mut command = home.command(METIER);
        let command = command.args(args).arg("--json").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// Waits for an event of this type.
    fn until(&mut self, wanted: &str) -> Value {
        loop {
            let line = self.lines.next().expect("more events").expect("a line");
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["type"] == wanted {
                return event;
            }
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.expect("kill").success());
    }

    /// How it ended: its exit code, or -1 for a signal.
    fn end(mut self) -> i32 {
        for _ in self.lines.by_ref() {}
        self.child.wait().expect("ends").code().unwrap_or(-1)
    }
}

/// Waits until no process has this word among its arguments.
fn is_gone(word: &str) {
    let since = Instant::now();
    while let Some(process) = process_with(word) {
        assert!(since.elapsed() < TIMEOUT, "{} still runs", process.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn process_with(word: &str) -> Option<PathBuf> {
    let processes = std::fs::read_dir("/proc").expect("proc");
    processes.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
        let words = std::fs::read(path.join("cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
    })
}

/// A skill of the user whose script says that it began, and then sleeps so many seconds.
fn slow(home: &TestHome, seconds: &str) {
    home.skill("home/.agents/skills/slow", "slow", "Sleeps.");
    let text = format!("echo begun\nsleep {seconds} & sleep {seconds}\n");
    home.write("home/.agents/skills/slow/scripts/slow.sh", text);
}

#[test]
fn a_run_that_is_killed_in_a_script_leaves_nothing_and_the_model_learns_of_it_on_resume() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    slow(&home, "7654321");
    let dialect = DIALECTS[0];
    let turns = [
        select(&["slow"]),
        script("slow", "scripts/slow.sh", &[]),
        answer("It was interrupted, so I stop here."),
    ];
    let server = Server::start(move |at, _| dialect.decides(&turns[at.min(2)]));
    dialect.configure(&home, &server.url(), &json!({}));
    let mut running = Running::start(&home, &["run", "sleep", "--yes"]);
    running.until("action.output");
    let since = Instant::now();
    while process_with("7654321").is_none() {
        assert!(since.elapsed() < TIMEOUT, "the script sleeps");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal("KILL");
    assert_eq!(running.end(), -1);
    is_gone("7654321");
    is_sound(&home);
    let resumed = run(&home, &["resume", "last", "--yes"]);
    let said = "It was interrupted, so I stop here.\n";
    assert_eq!((resumed.code, resumed.stdout.as_str()), (1, said), "{resumed:?}");
    assert_eq!(codes(&events(&home)), ["ok", "Interrupted"]);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].body.contains("Look before you do it again"), "the model is shown it");
    is_sound(&home);
}

/// A place with a skill that leaves a trace of every run of its script, and the model's script.
fn traced_project() -> TestHome {
    let home = project();
    home.skill("home/.agents/skills/mark", "mark", "Leaves a mark.");
    home.write("home/.agents/skills/mark/references/a.md", "# A\n");
    home.write(
        "home/.agents/skills/mark/scripts/mark.sh",
        "echo mark >> \"$SKILL_DATA_DIR/marks.txt\"\necho marked\n",
    );
    let mut first = select(&["mark"]);
    first["plan"] = json!({"goal": "mark", "steps": [{"id": "s1", "title": "t",
        "status": "pending"}], "assumptions": [], "constraints": []});
    let mut last = answer("marked and written");
    last["plan_update"] =
        json!({"patch": [{"op": "replace", "path": "/steps/0/status", "value": "completed"}]});
    let replies = json!([
        first,
        resource("mark", "references/a.md"),
        script("mark", "scripts/mark.sh", &[]),
        {"raw": "not a decision"},
        call("write_file", &json!({"path": "out.txt", "content": "written"})),
        call("read_file", &json!({"path": "examples/sales.csv"})),
        last,
    ]);
    scripted(&home, &replies);
    home
}

fn marks(home: &TestHome) -> usize {
    let state = home.home().join(".local/state");
    if !state.exists() {
        return 0;
    }
    let files = files_below(&state).into_iter().filter(|file| file.ends_with("marks.txt"));
    files
        .map(|file| std::fs::read_to_string(state.join(file)).expect("a file").lines().count())
        .sum()
}

/// What must be the same however often a run was killed.
fn outcome(events: &[Value]) -> Value {
    let end = events.last().expect("events");
    let plan = of_type(events, "plan.changed").last().map(|event| event["plan"].clone());
    json!({"status": end["status"], "answer": end["answer"], "plan": plan})
}

fn started(events: &[Value], op: &str, ended: bool) -> bool {
    let begun = of_type(events, "action.started")
        .into_iter()
        .find(|event| event["op"] == op && (op != "tool" || event["tool"] == "write_file"));
    let Some(begun) = begun else { return false };
    let is_end = |event: &&Value| event["op_id"] == begun["op_id"];
    !ended || of_type(events, "action.finished").iter().any(is_end)
}

const FLAGS: [&str; 3] = ["--yes", "--allow", "write_file"];

#[test]
fn killed_at_every_event_a_run_goes_on_to_the_same_end() {
    let home = traced_project();
    if !holds_scripts(&home) {
        return;
    }
    let args = [&["run", "do it", "--model", "scripted:model.json"][..], &FLAGS].concat();
    let output = run(&home, &args);
    assert_eq!((output.code, marks(&home)), (0, 1), "{output:?}");
    let (whole, expected) = (last_run(&home), outcome(&events(&home)));
    let text = std::fs::read_to_string(whole.join("events.jsonl")).expect("a record");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert!(lines.len() > 35, "{} events", lines.len());
    let report: usize = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let (whole, expected, lines) = (&whole, &expected, &lines);
            scope.spawn(move || {
                let cuts = (1..lines.len()).filter(|cut| cut % 2 == half);
                cuts.map(|cut| killed_after(whole, expected, &lines[..cut])).sum::<usize>()
            })
        });
        halves.into_iter().map(|half| half.join().expect("no panic")).sum()
    });
    assert_eq!(report, 2, "one cut for each change that was begun and not finished");
}

/// Continues from the first events of a run in a fresh place; gives how often the model was shown that
/// something was interrupted.
fn killed_after(whole: &Path, expected: &Value, lines: &[&str]) -> usize {
    let cut = lines.len();
    let home = traced_project();
    let folder = runs(&home).join(whole.file_name().expect("a name"));
    std::fs::create_dir_all(folder.join("observations")).expect("a folder");
    for file in ["setup.json", "index.json"] {
        std::fs::copy(whole.join(file), folder.join(file)).expect("copies");
    }
    std::fs::write(folder.join("events.jsonl"), lines.concat()).expect("writes");
    open_anchor(&home.home(), &folder);
    let before = events_in(&folder);
    let resumed = run(&home, &[&["resume", "last"][..], &FLAGS].concat());
    assert_eq!(resumed.code, 0, "killed after event {cut}: {resumed:?}");
    let after = events_in(&folder);
    assert_eq!(outcome(&after), *expected, "killed after event {cut}");
    let report = codes(&after).iter().filter(|code| **code == "Interrupted").count();
    // What was done before the kill was done elsewhere: what is here was done after it.
    let written = usize::from(home.project().join("out.txt").exists());
    for (op, done) in [("script", marks(&home)), ("tool", written)] {
        let again = usize::from(!started(&before, op, true));
        assert_eq!(done, again, "killed after event {cut}: {op}");
        let unclear = started(&before, op, false) && !started(&before, op, true);
        assert!(!unclear || report == 1, "killed after event {cut}: {op} is done again in silence");
    }
    is_sound(&home);
    report
}

#[test]
fn an_interrupt_in_a_script_ends_it_and_the_run_goes_on_later() {
    for (signals, seconds) in [(1, "7654322"), (2, "7654323")] {
        let home = project();
        if !holds_scripts(&home) {
            return;
        }
        slow(&home, seconds);
        let replies = json!([
            select(&["slow"]),
            script("slow", "scripts/slow.sh", &[]),
            answer("It was stopped."),
        ]);
        // Seeing that it was interrupted, a script would do the same again.
        let rule =
            json!({"when": {"last_code": "Interrupted"}, "reply": answer("It was stopped.")});
        let model = json!({"replies": replies, "rules": [rule]});
        home.write("project/model.json", model.to_string());
        let args = ["run", "sleep", "--yes", "--model", "scripted:model.json"];
        let mut running = Running::start(&home, &args);
        running.until("action.output");
        for _ in 0..signals {
            running.signal("INT");
        }
        assert_eq!(running.end(), 130);
        is_gone(seconds);
        if signals == 1 {
            assert_eq!(events(&home).last().expect("events")["status"], "cancelled");
        }
        is_sound(&home);
        let resumed = run(&home, &["resume", "last", "--yes"]);
        assert_eq!(
            (resumed.code, resumed.stdout.as_str()),
            (1, "It was stopped.\n"),
            "{resumed:?}"
        );
        let after = events(&home);
        assert_eq!(codes(&after).len(), 2, "{:?}", codes(&after));
        assert_ne!(codes(&after)[1], "ok", "the model is shown that it was stopped");
        is_sound(&home);
    }
}

#[test]
fn an_interrupt_while_a_model_is_asked_ends_the_wait_once_and_twice() {
    for signals in [1, 2] {
        let home = project();
        let dialect = DIALECTS[1];
        let server = Server::start(move |at, _| match at {
            0 => Answer::silence(),
            _ => dialect.decides(&answer("now it says something")),
        });
        dialect.configure(&home, &server.url(), &json!({}));
        let mut running = Running::start(&home, &["run", "hello"]);
        running.until("model.requested");
        let since = Instant::now();
        while server.asked().is_empty() {
            assert!(since.elapsed() < TIMEOUT, "it asks");
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..signals {
            running.signal("INT");
        }
        assert_eq!(running.end(), 130, "{signals} signals");
        is_sound(&home);
        if signals == 1 {
            assert_eq!(events(&home).last().expect("events")["status"], "cancelled");
        }
        let resumed = run(&home, &["resume", "last"]);
        let said = "now it says something\n";
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, said), "{resumed:?}");
        is_sound(&home);
    }
}

#[test]
fn two_processes_do_not_continue_one_run() {
    let home = project();
    let replies =
        json!([{"action": {"type": "final_answer", "text": "late"}, "delay_ms": 600_000}]);
    let model = scripted(&home, &replies);
    let mut running = Running::start(&home, &["run", "wait", "--model", model]);
    running.until("model.requested");
    let second = run(&home, &["resume", "last"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert_eq!(events(&home).len(), 2, "the second wrote nothing");
    running.signal("INT");
    assert_eq!(running.end(), 130);
}

#[test]
fn an_interrupt_of_exec_ends_the_script_with_its_own_exit_code() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let seconds = "7654324";
    slow(&home, seconds);
    let args = ["exec", "--yes", "slow", "scripts/slow.sh"];
    let mut command = home.command(METIER);
    let command = command.args(args).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut running = Running { child, lines };
    assert_eq!(running.lines.next().expect("a line").expect("a line"), "begun");
    running.signal("INT");
    assert_eq!(running.end(), 130);
    is_gone(seconds);
}
