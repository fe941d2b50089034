//! `budgets.wall_s`: a run ends when its time is up, whatever it waits for, as a spent budget and with a
//! record that holds. What is waited for here would take much longer than any of these tests may.

use std::time::{Duration, Instant};

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_server::{Answer, DIALECTS, Dialect, Server, run_keyed};
use crate::run_support::{
    answer, call, events, holds_scripts, is_sound, of_type, project, run_scripted, script, select,
};
use crate::support::{METIER, run, run_on_terminal};

/// How long the things take that are stopped.
const FOREVER: Duration = Duration::from_mins(5);

/// A project with a skill whose scripts take their time, and a budget of `seconds`.
fn hurried(seconds: u32) -> TestHome {
    let home = project();
    configure(&home, seconds, &json!({}));
    let skill = "home/.agents/skills/slow";
    let head = "---\nname: slow\ndescription: Takes its time.\n---\nSlowly.\n";
    home.write(&format!("{skill}/SKILL.md"), head);
    let sleep = format!("sleep {} &\nwait\n", FOREVER.as_secs());
    home.write(&format!("{skill}/scripts/sleep.sh"), sleep);
    home.write(&format!("{skill}/scripts/quick.sh"), "echo quick\n");
    home
}

fn configure(home: &TestHome, seconds: u32, model: &Value) {
    let rules = json!([
        {"permission": "run_script", "pattern": "*", "effect": "allow"},
        {"permission": "run_command", "pattern": "*", "effect": "allow"}
    ]);
    let config = json!({"budgets": {"wall_s": seconds}, "permissions": rules, "model": model});
    home.write("home/.agent/config.json", config.to_string());
}

/// It ended because its time was up, and not because what it waited for was over.
fn is_out_of_time(home: &TestHome, output: &Output, started: Instant) -> Vec<Value> {
    assert_eq!(output.code, 4, "{output:?}");
    assert!(started.elapsed() < FOREVER, "{:?}", started.elapsed());
    let events = events(home);
    let end = events.last().expect("events");
    assert_eq!(
        (&end["type"], &end["status"]),
        (&json!("run.finished"), &json!("budget_exhausted"))
    );
    assert_eq!(
        end["message"].as_str().map(|text| text.contains("budgets.wall_s")),
        Some(true),
        "{end}"
    );
    assert_eq!(of_type(&events, "budget.spent").len(), 1);
    is_sound(home);
    events
}

#[test]
fn a_script_is_stopped_and_the_run_ends() {
    let home = hurried(2);
    if !holds_scripts(&home) {
        return;
    }
    let replies = json!([select(&["slow"]), script("slow", "scripts/sleep.sh", &[]), answer("x")]);
    for flags in [&[][..], &["--json"]] {
        let started = Instant::now();
        let output = run_scripted(&home, &replies, flags);
        let events = is_out_of_time(&home, &output, started);
        let finished = of_type(&events, "action.finished");
        assert_eq!(finished.last().expect("a script")["code"], "Cancelled", "it has its end");
        assert_eq!(of_type(&events, "model.requested").len(), 2, "and there is no last turn");
    }
    assert!(run(&home, &["show", "last"]).stdout.contains("the time of `budgets.wall_s` is up"));
    assert_eq!(run(&home, &["resume", "last"]).code, 1, "it has ended");
}

#[test]
fn a_command_is_stopped() {
    let home = hurried(1);
    if !holds_scripts(&home) {
        return;
    }
    let seconds = FOREVER.as_secs().to_string();
    let sleep = call("run_command", &json!({"command": ["sleep", seconds]}));
    let started = Instant::now();
    let output = run_scripted(&home, &json!([sleep, answer("x")]), &[]);
    is_out_of_time(&home, &output, started);
}

#[test]
fn a_reply_that_hangs_or_never_ends_is_stopped() {
    for dialect in DIALECTS {
        let stream = dialect.stream(&answer("a long answer"));
        let endless = Answer::open(200, "text/event-stream", ": still there\n\n").times(usize::MAX);
        let refused = || dialect.refuses(503, "overloaded_error", "later", "retry-after: 50\r\n");
        for (which, reply) in [
            ("silence", Answer::silence()),
            ("half", Answer::open(200, "text/event-stream", &stream[..99]).then_silence()),
            ("endless", endless),
            ("a wait before the next attempt", refused()),
        ] {
            let home = project();
            let server = Server::in_order(vec![reply]);
            let model = json!({"provider": dialect.word(), "name": "m", "base_url": server.url()});
            configure(&home, 1, &model);
            let started = Instant::now();
            let output = run_keyed(&home, &["run", "say hello"]);
            let events = is_out_of_time(&home, &output, started);
            assert_eq!(of_type(&events, "model.failed").len(), 1, "{which}");
            assert_eq!(of_type(&events, "model.replied").len(), 0, "{which}");
        }
    }
}

#[test]
fn a_subagent_has_the_time_that_is_left() {
    let home = hurried(2);
    if !holds_scripts(&home) {
        return;
    }
    let path = "home/.agents/skills/slow/SKILL.md";
    home.write(path, "---\nname: slow\ndescription: Slow.\nrun-mode: subagent\n---\nSlowly.\n");
    let sleep = script("slow", "scripts/sleep.sh", &[]);
    let replies = json!([select(&["slow"]), sleep, answer("inner"), answer("outer")]);
    let started = Instant::now();
    let output = run_scripted(&home, &replies, &[]);
    is_out_of_time(&home, &output, started);
    // A reply inside, too.
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![dialect.decides(&select(&["slow"])), Answer::silence()]);
    let model = json!({"provider": "openai", "name": "m", "base_url": server.url()});
    configure(&home, 2, &model);
    let started = Instant::now();
    let output = run_keyed(&home, &["run", "be slow"]);
    is_out_of_time(&home, &output, started);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_resumed_run_has_the_time_that_is_left() {
    let home = project();
    let dialect = Dialect::OpenAi;
    let gate = std::sync::Arc::default();
    let stream = dialect.stream(&call("list_dir", &json!({"path": "."})));
    let server = Server::in_order(vec![
        Answer::in_two_parts(&stream, 20, &gate),
        dialect.refuses(401, "authentication_error", "no", ""),
        Answer::silence(),
    ]);
    let model = json!({"provider": "openai", "name": "m", "base_url": server.url()});
    configure(&home, 5, &model);
    // The first process takes most of the time.
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(3));
        gate.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let output = run_keyed(&home, &["run", "look around"]);
    opener.join().expect("opens");
    assert_eq!(output.code, 1, "{output:?}");
    let elapsed = |home: &TestHome| {
        events(home).last().expect("events")["elapsed_ms"].as_u64().expect("a time")
    };
    let before = elapsed(&home);
    assert!(before > 2000, "{before}");
    // What a run was given holds, whatever the settings say now.
    configure(&home, 300, &model);
    let started = Instant::now();
    let output = run_keyed(&home, &["resume", "last"]);
    is_out_of_time(&home, &output, started);
    let end = elapsed(&home);
    assert!((5000..5000 + before).contains(&end), "it goes on from {before}: {end}");
}

#[test]
fn a_question_that_no_one_answers_ends_with_the_time() {
    let home = hurried(2);
    if !holds_scripts(&home) {
        return;
    }
    home.write("home/.agent/config.json", json!({"budgets": {"wall_s": 2}}).to_string());
    let replies = json!({"replies":
        [select(&["slow"]), script("slow", "scripts/quick.sh", &[]), answer("x")]});
    home.write("project/model.json", replies.to_string());
    let started = Instant::now();
    let args = ["run", "do it", "--model", "scripted:model.json"];
    let Some(output) = run_on_terminal(&home, &args, "") else { return };
    is_out_of_time(&home, &output, started);
}

#[test]
fn other_budgets_keep_their_last_turn_while_there_is_time() {
    let home = hurried(250);
    let list = call("list_dir", &json!({"path": "."}));
    let output = run_scripted(&home, &json!([list, answer("what I have")]), &["--max-turns", "1"]);
    assert_eq!((output.code, output.stdout.as_str()), (4, "what I have\n"), "{output:?}");
    let dialect = Dialect::OpenAi;
    let server = Server::in_order(vec![dialect.decides(&list), Answer::silence()]);
    let model = json!({"provider": "openai", "name": "m", "base_url": server.url()});
    configure(&home, 2, &model);
    let output = run_keyed(&home, &["run", "look", "--max-turns", "1"]);
    assert_eq!((output.code, output.stdout.as_str()), (4, ""), "{output:?}");
    assert_eq!(server.asked().len(), 2, "the last turn was begun, and stopped");
    is_sound(&home);
}

#[test]
fn a_run_that_is_in_time_is_not_touched() {
    let home = hurried(250);
    let output = run_scripted(&home, &json!([answer("done")]), &[]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "done\n"), "{output:?}");
    let mut command = home.command(METIER);
    command.args(["chat", "--model", "router"]);
    assert_eq!(TestHome::finish(&mut command).code, 0);
}
