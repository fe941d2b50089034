//! A tool that a program brings goes the way of ours: policy, ceiling, approval, cancellation, masking,
//! cap, budgets and record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metier::agent::Status;
use metier::skill::WorkPath;
use metier::tools::Touch;
use metier::tools::schemars::{self, JsonSchema};
use metier::{
    CallContext, CancelToken, ErrorKind, FailureCode, Risk, Run, RunRecord, Session, Tool,
    ToolFailure, ToolResult,
};
use metier_testkit::TestHome;
use metier_testkit::agent::{answer, call, codes, events_in, of_type, scripted, select};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, environment, open};

#[derive(Deserialize, JsonSchema)]
struct NoteArgs {
    /// What to note.
    text: String,
}

type Act = fn(&str, &CallContext) -> Result<ToolResult, ToolFailure>;

/// Notes a text, or does what the test wants.
struct TestTool {
    name: &'static str,
    risk: Risk,
    calls: Arc<AtomicUsize>,
    act: Act,
}

impl TestTool {
    fn new(risk: Risk) -> Self {
        let act: Act = |text, _| Ok(ToolResult::text(format!("noted: {text}")));
        Self { name: "note", risk, calls: Arc::default(), act }
    }

    fn doing(act: Act) -> Self {
        Self { act, ..Self::new(Risk::Low) }
    }
}

impl Tool for TestTool {
    type Args = NoteArgs;

    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "Note a text."
    }

    fn risk(&self) -> Risk {
        self.risk
    }

    fn call(&self, args: NoteArgs, context: &CallContext) -> Result<ToolResult, ToolFailure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.act)(&args.text, context)
    }
}

fn note() -> Value {
    call("note", &json!({"text": "hello"}))
}

/// A session whose model calls the tool once, then answers.
fn session(home: &TestHome) -> Session {
    let model = scripted(home, &json!([note(), answer("done")]));
    open(home, "project").session().model(model)
}

fn config(home: &TestHome, config: &Value) {
    home.write("home/.agent/config.json", config.to_string());
}

fn record(run: &Run) -> Vec<Value> {
    events_in(run.folder().path())
}

/// What the policy said about the tool.
fn effect(events: &[Value]) -> &str {
    let decided = of_type(events, "policy.decided");
    let about = decided.iter().find(|event| event["tool"] == "note").expect("a decision");
    about["effect"].as_str().expect("an effect")
}

#[derive(Deserialize, JsonSchema)]
struct OpenArgs {
    /// What to open.
    path: String,
}

/// Says which path it was given.
struct OpenTool;

impl Tool for OpenTool {
    type Args = OpenArgs;

    fn name(&self) -> &'static str {
        "open_note"
    }

    fn description(&self) -> &'static str {
        "Open a note."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn call(&self, args: OpenArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
        Ok(ToolResult::text(format!("opened: {}", args.path)))
    }
}

#[test]
fn a_path_of_its_own_is_passed_as_the_model_wrote_it() {
    let home = TestHome::new();
    home.write("home/proj/a.txt", "a\n");
    let open_note = call("open_note", &json!({"path": "~/proj/a.txt"}));
    scripted(&home, &json!([open_note, answer("done")]));
    let model = format!("scripted:{}", home.project().join("model.json").display());
    let session = open(&home, "home/proj").session().model(model);
    let run = session.tool(OpenTool).run("do it").expect("it runs");
    let events = record(&run);
    assert_eq!(of_type(&events, "action.finished")[0]["text"], "opened: ~/proj/a.txt");
}

#[test]
fn a_low_risk_is_allowed_and_the_others_ask() {
    for (risk, expected) in [(Risk::Low, "allow"), (Risk::Medium, "ask"), (Risk::High, "ask")] {
        let home = TestHome::new();
        let tool = TestTool::new(risk);
        let calls = Arc::clone(&tool.calls);
        let run = session(&home).tool(tool).run("do it").expect("it runs");
        let events = record(&run);
        assert_eq!(effect(&events), expected, "{risk}");
        if expected == "allow" {
            assert_eq!((run.answer().as_str(), calls.load(Ordering::Relaxed)), ("done", 1));
            assert!(of_type(&events, "ask.opened").is_empty());
            let finished = of_type(&events, "action.finished");
            assert_eq!(finished[0]["text"], "noted: hello");
        } else {
            assert_eq!(run.status(), Status::NeedsApproval, "{risk}");
            assert_eq!(calls.load(Ordering::Relaxed), 0, "nothing is called before the answer");
        }
    }
}

#[test]
fn an_approval_lets_it_pass_and_everything_is_in_the_record() {
    let home = TestHome::new();
    let asking = session(&home).tool(TestTool::new(Risk::High)).approve(|ask| {
        assert!(ask.action().contains("note"), "{}", ask.action());
        assert!(ask.reason().contains("high risk"), "{}", ask.reason());
        ask.once()
    });
    let ended = asking.run("do it").expect("it runs");
    assert_eq!(ended.answer(), "done");
    let events = record(&ended);
    let kinds =
        ["policy.decided", "ask.opened", "ask.answered", "action.started", "action.finished"];
    let seen: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let seen: Vec<&str> = seen.into_iter().filter(|kind| kinds.contains(kind)).collect();
    assert_eq!(seen, kinds);
    assert!(metier::damage(ended.folder()).expect("audited").is_empty());
    let record = RunRecord::read(ended.folder()).expect("a record");
    assert!(record.faults.is_empty() && record.replay().difference.is_none());
}

#[test]
fn a_rejection_reaches_the_model_and_not_the_tool() {
    let home = TestHome::new();
    let tool = TestTool::new(Risk::Medium);
    let calls = Arc::clone(&tool.calls);
    let run = session(&home).tool(tool).approve(|ask| ask.reject("not now")).run("do it");
    let events = record(&run.expect("it runs"));
    assert_eq!(codes(&events), ["Rejected"]);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn an_answer_of_always_counts_the_next_time() {
    let home = TestHome::new();
    let first = session(&home).tool(TestTool::new(Risk::Medium)).approve(|ask| ask.always());
    assert_eq!(first.run("do it").expect("it runs").answer(), "done");
    let second = session(&home).tool(TestTool::new(Risk::Medium)).run("do it").expect("it runs");
    let events = record(&second);
    assert_eq!(effect(&events), "allow", "{events:#?}");
}

#[test]
fn rules_are_about_its_name() {
    let home = TestHome::new();
    config(
        &home,
        &json!({"permissions": [{"permission": "note", "pattern": "*", "effect": "deny"}]}),
    );
    let run = session(&home).tool(TestTool::new(Risk::Low)).run("do it").expect("it runs");
    assert_eq!(effect(&record(&run)), "deny");
    assert_eq!(codes(&record(&run)), ["NotAllowed"]);

    let home = TestHome::new();
    let allowed = session(&home).tool(TestTool::new(Risk::High)).allow("note");
    assert_eq!(allowed.run("do it").expect("it runs").answer(), "done");
    let denied = session(&home).tool(TestTool::new(Risk::Low)).deny("note");
    assert_eq!(effect(&record(&denied.run("do it").expect("it runs"))), "deny");
    let unknown = session(&home).deny("note").run("do it").expect_err("no such tool");
    assert_eq!(unknown.kind, ErrorKind::Usage, "{unknown}");
}

/// Of a low risk it is the agent's own, unless the model attributes it to the skill; of a higher one it is
/// held by every loaded skill that lists its tools.
#[test]
fn a_skill_that_lists_its_tools_has_to_list_it() {
    for (risk, attributed, listed, expected) in [
        (Risk::Low, false, "Read", "allow"),
        (Risk::Low, true, "Read", "deny"),
        (Risk::Low, true, "Read, note", "allow"),
        (Risk::Medium, false, "Read", "deny"),
        (Risk::High, false, "Read", "deny"),
        (Risk::High, true, "Read", "deny"),
        (Risk::High, false, "Read, note", "ask"),
    ] {
        let home = TestHome::new();
        let skill = format!(
            "---\nname: diary\ndescription: Keeps a diary.\nallowed-tools: {listed}\n---\nNote it.\n"
        );
        home.write("home/.agents/skills/diary/SKILL.md", skill);
        let mut note = note();
        if attributed {
            note["action"]["skill"] = json!({"name": "diary"});
        }
        let model = scripted(&home, &json!([select(&["diary"]), note, answer("done")]));
        let session = open(&home, "project").session().model(model);
        let run = session.tool(TestTool::new(risk)).run("do it").expect("it runs");
        assert_eq!(effect(&record(&run)), expected, "{risk} {attributed} {listed}");
    }
}

#[test]
fn an_approver_lifts_a_ceiling_only_by_saying_so() {
    for (lifts, expected) in [(true, "ok"), (false, "NotAllowed")] {
        let home = TestHome::new();
        let skill =
            "---\nname: diary\ndescription: Keeps a diary.\nallowed-tools: Read\n---\nNote it.\n";
        home.write("home/.agents/skills/diary/SKILL.md", skill);
        let model = scripted(&home, &json!([select(&["diary"]), note(), answer("done")]));
        let session = open(&home, "project").session().model(model);
        let session = session.approve(move |ask| match ask.liftable() {
            [] => ask.once(),
            [skill] if lifts => {
                assert_eq!(skill.to_string(), "user:diary");
                ask.lift()
            }
            _ => ask.always(),
        });
        let run = session.tool(TestTool::new(Risk::High)).run("do it").expect("it runs");
        assert_eq!(codes(&record(&run)), ["ok", expected]);
    }
}

#[test]
fn what_it_gives_is_masked_capped_and_counted() {
    let home = TestHome::new();
    config(
        &home,
        &json!({"execution": {"env": ["SHOP_TOKEN"], "max_output_chars": 90},
            "budgets": {"tool_calls": 1}}),
    );
    let tool = TestTool::doing(|_, _| {
        let text = format!("hunter2hunter2 {}end", "x".repeat(5000));
        Ok(ToolResult::text(text).with_data(json!({"token": "hunter2hunter2"})))
    });
    let model = scripted(&home, &json!([note(), answer("done")]));
    let run = builder(&home, "project")
        .environment(environment(&home).with("SHOP_TOKEN", "hunter2hunter2"))
        .open()
        .expect("it opens")
        .session()
        .model(model)
        .tool(tool)
        .run("do it")
        .expect("it runs");
    let events = record(&run);
    assert!(!json!(events).to_string().contains("hunter2"), "{events:#?}");
    let outcome = of_type(&events, "action.finished")[0].clone();
    assert_eq!(outcome["truncated"], true);
    let text = outcome["text"].as_str().expect("a text");
    assert!(text.len() < 400 && text.ends_with("end"), "{text}");
    let whole =
        run.folder().observations().path().read_dir().expect("stored").next().expect("a file");
    let whole = std::fs::read_to_string(whole.expect("a file").path()).expect("text");
    assert!(whole.len() > 5000 && !whole.contains("hunter2"));
    assert_eq!(of_type(&events, "run.finished")[0]["spent"]["tool_calls"], 1);
}

#[test]
fn a_panic_and_a_failure_reach_the_model() {
    let acts: [Act; 2] = [
        |_, _| std::panic::resume_unwind(Box::new("on purpose")),
        |_, _| Err(ToolFailure::new(FailureCode::NotFound, "there is no such note")),
    ];
    for (act, code) in acts.into_iter().zip(["Failed", "NotFound"]) {
        let home = TestHome::new();
        let run = session(&home).tool(TestTool::doing(act)).run("do it").expect("it runs");
        assert_eq!((run.answer().as_str(), codes(&record(&run))), ("done", vec![code]));
    }
}

#[test]
fn what_it_says_of_its_result_is_its_own_business() {
    let home = TestHome::new();
    home.write("project/mine.txt", "mine");
    let act: Act = |text, _| {
        let result = ToolResult::text("built").with_data(json!({"exit_code": 2}));
        Ok(ToolResult { storage_ref: Some(text.to_owned()), ..result })
    };
    let file = home.project().join("mine.txt").display().to_string();
    let calls = json!([call("note", &json!({"text": file})), answer("done")]);
    let model = scripted(&home, &calls);
    let session = open(&home, "project").session().model(model);
    let run = session.tool(TestTool::doing(act)).run("do it").expect("it runs");
    // An exit code means something for scripts and commands alone, and only their files are moved.
    assert_eq!(codes(&record(&run)), vec!["ok"]);
    assert_eq!(std::fs::read(&file).expect("still there"), b"mine");
}

#[test]
fn a_tool_that_does_not_listen_is_left_behind_when_the_session_is_cancelled() {
    let home = TestHome::new();
    let token = CancelToken::new();
    let tool = TestTool::doing(|_, context| {
        context.cancel().cancel();
        std::thread::sleep(Duration::from_mins(2));
        Ok(ToolResult::default())
    });
    let started = Instant::now();
    let run = session(&home).tool(tool).cancel_with(token.clone()).run("do it").expect("it ends");
    assert_eq!(run.status(), Status::Cancelled);
    assert!(token.is_cancelled() && started.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_name_that_is_ours_or_given_twice_is_an_error_of_the_run() {
    for name in ["read_file", "Bash", "network", "two words", ""] {
        let home = TestHome::new();
        let tool = TestTool { name, ..TestTool::new(Risk::Low) };
        let error = session(&home).tool(tool).run("do it").expect_err("refused");
        assert_eq!((error.kind, error.code), (ErrorKind::Usage, "tool-name"), "{error}");
        assert!(!home.project().join(".agent").exists(), "nothing was begun");
    }
    let home = TestHome::new();
    let twice = session(&home).tool(TestTool::new(Risk::Low)).tool(TestTool::new(Risk::High));
    let error = twice.run("do it").expect_err("refused");
    assert!(error.message.contains("`note`"), "{error}");
}

#[test]
fn a_run_that_waits_for_it_is_resumed_with_it() {
    let home = TestHome::new();
    let waits = session(&home).tool(TestTool::new(Risk::Medium)).run("do it").expect("it runs");
    let open = waits.open_approval().expect("a question");
    let resumed = session(&home)
        .tool(TestTool::new(Risk::Medium))
        .approve_request(open.request)
        .resume(&waits.id().to_string())
        .expect("it resumes");
    assert_eq!(resumed.answer(), "done");

    // A program without the tool, such as the binary, answers the model that there is no such tool.
    let waits = session(&home).tool(TestTool::new(Risk::Medium)).run("do it").expect("it runs");
    let resumed = session(&home).approve(|ask| ask.once()).resume(&waits.id().to_string());
    assert_eq!(resumed.expect("it resumes").answer(), "done");
    assert_eq!(codes(&record(&waits)), ["UnknownTool"]);

    // What was denied when it began stays denied, and need not be a tool of this session.
    let waits = session(&home).tool(TestTool::new(Risk::Medium)).deny("note").dry_run();
    let waits = waits.run("do it").expect("it runs");
    let again = session(&home).resume(&waits.id().to_string());
    assert!(again.as_ref().err().is_none_or(|error| error.kind != ErrorKind::Usage), "{again:?}");
}

#[test]
fn a_chat_has_it_in_every_request() {
    let home = TestHome::new();
    let tool = TestTool::new(Risk::Low);
    let calls = Arc::clone(&tool.calls);
    let mut chat = session(&home).tool(tool).chat().expect("a chat");
    for _ in 0..2 {
        assert_eq!(chat.send("do it").expect("it runs").answer(), "done");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

/// Reads any file: a low risk, but what it touches is judged.
struct Peek(std::path::PathBuf);

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

impl Tool for Peek {
    type Args = NoArgs;

    fn name(&self) -> &'static str {
        "peek"
    }

    fn description(&self) -> &'static str {
        "Read a file."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn touches(&self, _: &NoArgs) -> Result<Vec<Touch>, ToolFailure> {
        let absolute = self.0.to_string_lossy().into_owned();
        let relative = WorkPath::new("peeked").expect("a path");
        Ok(vec![Touch::Path { absolute, relative }])
    }

    fn call(&self, _: NoArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
        Ok(ToolResult::text("read"))
    }
}

#[test]
fn what_it_touches_is_judged_too() {
    let places = [
        ("project/notes.md", "allow"),
        ("elsewhere.md", "ask"),
        ("home/.ssh/id_rsa", "deny"),
        ("project/harmless.md", "deny"),
    ];
    for (place, expected) in places {
        let home = TestHome::new();
        home.write("home/.ssh/id_rsa", "key");
        let key = home.home().join(".ssh/id_rsa");
        std::os::unix::fs::symlink(key, home.project().join("harmless.md")).expect("a link");
        let peek = Peek(home.path().join(place));
        let model = scripted(&home, &json!([call("peek", &json!({})), answer("done")]));
        let session = open(&home, "project").session().model(model);
        let run = session.tool(peek).run("do it").expect("it runs");
        let events = record(&run);
        let decided = of_type(&events, "policy.decided");
        assert_eq!(decided[0]["effect"], expected, "{place}");
    }
}
