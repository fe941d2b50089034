//! The tools `run_script` and `run_command` of the library, with this binary as the sandbox's helper:
//! planned, decided by the real policy, and run for real.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_policy::{AnswerMemory, Effect, Invoker, Policy, TrustedFolders, UnixTime};
use metier_registry::{Entry, Root, ScanOptions, scan};
use metier_sandbox::{OutputStream, RunEvent, SandboxProbe, SearchPath, Secrets, Tier};
use metier_skill::{RelPath, Source};
use metier_testkit::TestHome;
use metier_tools::policy_facts::{acting_skill, loaded_skill, places_of};
use metier_tools::script::ScriptCall;
use metier_tools::{
    CallResult, FailureCode, OutputCap, OutputSink, ResultFilter, RunCommand, ScriptDecision,
    ScriptHost, ToolFailure, ToolGate, Toolbox,
};
use serde_json::{Value, json};

use crate::run_support::{answer, call, events, holds_scripts, of_type, project, run_scripted};
use crate::support::METIER;

struct Session {
    home: TestHome,
    rules: String,
    output: Option<OutputSink>,
    tier: Tier,
    host: Arc<ScriptHost>,
    entry: Arc<Entry>,
    toolbox: Toolbox,
    gate: ToolGate,
}

/// A session that has loaded a skill with `frontmatter`, whose script is `script`, under the user's
/// `rules`. Nothing where this machine holds no scripts.
fn session(frontmatter: &str, script: &str, rules: &str) -> Option<Session> {
    let home = TestHome::new();
    let dir = home.path().canonicalize().expect("a directory");
    home.write(
        "home/.agents/skills/work/SKILL.md",
        format!("---\nname: work\ndescription: Works.\n{frontmatter}---\n# Work\n"),
    );
    home.write("home/.agents/skills/work/scripts/run.sh", script);
    home.write("project/note.txt", "words of the workspace\n");
    let probe = SandboxProbe::run(METIER.as_ref(), &dir.join("probe")).expect("a probe");
    let Ok(tier) = probe.tier_for(Tier::Medium) else {
        metier_testkit::not_tested(format_args!(
            "this machine holds no script (sandbox {})",
            probe.best
        ));
        return None;
    };
    Some(with_tools(home, rules, None, tier))
}

/// A session that loads the skill as it is now.
fn with_tools(home: TestHome, rules: &str, output: Option<OutputSink>, tier: Tier) -> Session {
    let dir = home.path().canonicalize().expect("a directory");
    let root = Root {
        source: Source::User,
        path: dir.join("home/.agents/skills"),
        plugin: None,
        required: true,
        absent: false,
        foreign: None,
    };
    let roots = [root];
    let found = scan(&roots, &ScanOptions { builtin: false, ..ScanOptions::default() });
    let entry: Arc<Entry> = Arc::clone(&found.index.entries()[0]);
    let text = format!(r#"{{"permissions": {rules}}}"#);
    let layer = metier_config::parse(&text, "config.json", metier_config::Scope::User);
    let settings = metier_config::Settings::merge(Some(&layer.expect("rules")), None);
    let places = places_of(&found.index, &roots, &dir.join("project"), None).expect("places");
    let layers = settings.policy_layers().expect("rules");
    let policy = layers.into_iter().fold(Policy::new(places), Policy::with_layer);
    let host = Arc::new(ScriptHost {
        helper: METIER.into(),
        tier,
        search: SearchPath {
            dirs: ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
            home: None,
            untrusted: vec![dir.join("project")],
        },
        runs: dir.join("runs"),
        data: dir.join("data"),
        workspace: Some(dir.join("project")),
        own: Vec::new(),
        outputs: Some(dir.join("project/.agent/runs/now/observations")),
        variables: BTreeMap::new(),
        secrets: Arc::new(Secrets::new(["planted-secret-value"])),
        cap: OutputCap::default(),
        timeout: Duration::from_mins(1),
        output: output.clone(),
    });
    let toolbox = Toolbox::new().with(RunCommand::new(Arc::clone(&host)));
    let loaded = loaded_skill(&entry, &policy, &TrustedFolders::default());
    let gate = ToolGate {
        policy: Arc::new(policy),
        answers: Arc::new(AnswerMemory::default()),
        loaded: [loaded].into(),
        now: UnixTime(0),
        invoker: Invoker::Model,
        skill: acting_skill(&entry, &TrustedFolders::default()).ok(),
    };
    Session { home, rules: rules.to_owned(), output, tier, host, entry, toolbox, gate }
}

impl Session {
    /// The same with the skill as it is now, and the sink that was set.
    fn with_new_run(self) -> Self {
        with_tools(self.home, &self.rules, self.output, self.tier)
    }

    fn call(&self, tool: &'static str, arguments: Value, cancel: &CancelToken) -> CallResult {
        let planned = self.toolbox.plan(tool, arguments)?;
        let decision = self.gate.judge(&planned)?;
        let screen = self.gate.touch_filter(planned.tool());
        planned.decided(decision.effect, &decision.sentences().join("; "), screen)?.call(cancel)
    }

    /// The script as the gate judges it.
    fn judged(&self, args: &[&str]) -> Result<(ScriptDecision, ScriptCall), ToolFailure> {
        let script = RelPath::new("scripts/run.sh").expect("a path");
        let args: Vec<String> = args.iter().map(|&word| word.to_owned()).collect();
        self.gate.judge_script(&self.entry, &script, &args.clone(), args)
    }

    /// Runs it if it is allowed; gives what a model is shown.
    fn script(&self, args: &[&str]) -> CallResult {
        let (decision, call) = self.judged(args)?;
        let code = match decision.effect() {
            Effect::Allow => return self.run(&call),
            Effect::Ask => FailureCode::NeedsApproval,
            Effect::Deny => FailureCode::NotAllowed,
        };
        Err(ToolFailure::new(code, decision.reason()))
    }

    fn run(&self, call: &ScriptCall) -> CallResult {
        let hear = |event: RunEvent| {
            if let (Some(output), RunEvent::Output { stream, text }) = (&self.output, event) {
                let stream = if stream == OutputStream::Stdout { "stdout" } else { "stderr" };
                output(stream, &text);
            }
        };
        let outcome = self.host.run(call, &CancelToken::new(), &hear).map_err(|error| {
            ToolFailure::new(error.failure_code(), format!("{error} [{}]", error.code()))
        })?;
        let results = ResultFilter::default();
        results.filter("run_script", Ok(outcome.to_result(call.network, Vec::new(), &results)))
    }
}

const ALL: &str = r#"[{"permission": "*", "pattern": "*", "effect": "allow"}]"#;

#[test]
fn an_allowed_script_runs_and_its_secrets_are_masked() {
    let script = "cat \"$WORKSPACE_DIR/note.txt\"\necho \"$1\" planted-secret-value\n\
                  touch \"$WORKSPACE_DIR/made\" || true\nexit 3\n";
    let Some(session) = session("", script, ALL) else { return };
    let result = session.script(&["a b"]).expect("runs");
    assert!(result.text.starts_with("[exit code 3, sandbox "), "{}", result.text);
    assert!(result.text.contains("words of the workspace\na b "), "{}", result.text);
    assert!(!result.text.contains("planted-secret-value"), "{}", result.text);
    assert_eq!(result.data["exit_code"], 3);
    assert!(!session.home.path().join("project/made").exists(), "the workspace is read-only");
}

/// The rule of docs/policy.md, and a repository to use it in.
#[test]
fn a_command_starts_in_the_workspace() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let rules = json!({"permissions": [
        {"permission": "run_command", "pattern": "git *", "effect": "allow"},
        {"permission": "run_command", "pattern": "pwd", "effect": "allow"},
        {"permission": "run_command", "pattern": "touch *", "effect": "allow"}
    ]});
    home.write("home/.agent/config.json", rules.to_string());
    let make = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm 'the first change'";
    let made = TestHome::finish(home.command("sh").args(["-c", make]));
    let git = if made.code == 0 {
        vec![call("run_command", &json!({"command": ["git", "log", "--oneline"]}))]
    } else {
        metier_testkit::not_tested_without("git", "there is no git");
        Vec::new()
    };
    let replies: Vec<Value> = [
        vec![call("run_command", &json!({"command": ["pwd"]}))],
        vec![call("run_command", &json!({"command": ["touch", "made"]}))],
        git,
        vec![answer("done")],
    ]
    .concat();
    for _ in 0..2 {
        let output = run_scripted(&home, &json!(replies), &[]);
        assert_eq!(output.code, 0, "{output:?}");
        let events = events(&home);
        let ran: Vec<&Value> = of_type(&events, "action.finished");
        let project = home.project().canonicalize().expect("a path");
        assert_eq!(ran[0]["data"]["stdout"], format!("{}\n", project.display()), "{ran:?}");
        assert_ne!(ran[1]["data"]["exit_code"], 0, "it is read-only: {ran:?}");
        if let Some(log) = ran.get(2) {
            let text = log["data"]["stdout"].as_str().expect("a text");
            assert!(text.contains("the first change"), "{log}");
        }
    }
    assert!(!home.project().join("made").exists());
}

#[test]
fn both_streams_are_data_and_long_output_is_cut_and_kept_whole() {
    let Some(session) = session("", "echo out; echo err planted-secret-value >&2\n", ALL) else {
        return;
    };
    let data = session.script(&[]).expect("runs").data;
    assert_eq!((&data["stdout"], &data["stderr"]), (&json!("out\n"), &json!("err [redacted]\n")));
    let numbers = "seq 1 5000";
    session.home.write("home/.agents/skills/work/scripts/run.sh", format!("{numbers}\n"));
    let session = session.with_new_run();
    let whole = (1..=5000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let command = json!({"command": ["seq", "1", "5000"]});
    let results = [
        session.script(&[]).expect("runs"),
        session.call("run_command", command, &CancelToken::new()).expect("runs"),
    ];
    for result in results {
        assert!(result.truncated && result.text.chars().count() < 20_200, "{}", result.text.len());
        let shown = result.data["stdout"].as_str().expect("a text");
        assert!(shown.starts_with("1\n2\n") && shown.ends_with("4999\n5000\n"));
        assert!(shown.chars().count() < 20_200);
        let kept = result.storage_ref.expect("kept");
        let stored = std::fs::read_to_string(format!("{kept}/stdout")).expect("a file");
        assert!(stored == whole, "the whole is stored");
        assert!(result.text.contains(&kept), "and the text says where");
    }
}

#[test]
fn output_is_heard_as_it_comes_and_masked() {
    let Some(mut session) = session("", "echo ran\n", ALL) else { return };
    let heard: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let (go, wait_for) = (session.home.path().join("project/go"), Arc::clone(&heard));
    // The script ends only when what it printed first was heard.
    let hear = Arc::new(move |stream: &str, text: &str| {
        wait_for.lock().expect("a lock").push((stream.to_owned(), text.to_owned()));
        std::fs::write(&go, "").expect("writes");
    });
    let script = "echo first planted-secret-value\n\
                  until [ -e \"$WORKSPACE_DIR/go\" ]; do sleep 0.05; done\necho second >&2\n";
    session.home.write("home/.agents/skills/work/scripts/run.sh", script);
    session.output = Some(hear);
    let session = session.with_new_run();
    let result = session.script(&[]).expect("runs");
    assert_eq!(result.data["exit_code"], 0, "{}", result.text);
    let words = json!({"command": ["echo", "third"]});
    session.call("run_command", words, &CancelToken::new()).expect("runs");
    let heard = heard.lock().expect("a lock").clone();
    let expected =
        [("stdout", "first [redacted]\n"), ("stderr", "second\n"), ("stdout", "third\n")];
    assert_eq!(heard, expected.map(|(stream, text)| (stream.to_owned(), text.to_owned())));
}

#[test]
fn what_earlier_scripts_of_the_run_left_is_read_and_no_other_record_is() {
    let script = "cd \"$WORKSPACE_DIR/.agent\"\ncat runs/now/observations/output-001/outputs/x.csv\n\
                  cat runs/now/events.jsonl runs/other/events.jsonl runs/now/observations/.env\n";
    let Some(mut session) = session("", script, ALL) else { return };
    let kept = "project/.agent/runs/now/observations";
    session.home.write(&format!("{kept}/output-001/outputs/x.csv"), "region,amount\n");
    session.home.write(&format!("{kept}/.env"), "a key\n");
    for record in ["now", "other"] {
        session.home.write(&format!("project/.agent/runs/{record}/events.jsonl"), "a record\n");
    }
    let best = session.tier;
    for tier in [Tier::Strong, Tier::Medium].into_iter().filter(|tier| *tier <= best) {
        session = with_tools(session.home, ALL, None, tier);
        for _ in 0..2 {
            let result = session.script(&[]).expect("runs");
            assert_eq!(result.data["stdout"], "region,amount\n", "{tier}: {}", result.text);
        }
    }
}

#[test]
fn an_ask_and_a_ceiling_keep_a_script_from_running() {
    if let Some(session) = session("", "echo ran\n", "[]") {
        let failure = session.script(&[]).expect_err("asks");
        assert_eq!(failure.code, FailureCode::NeedsApproval);
    }
    if let Some(session) = session("allowed-tools: Read\n", "echo ran\n", ALL) {
        let failure = session.script(&[]).expect_err("denied");
        assert_eq!(failure.code, FailureCode::NotAllowed);
        assert!(failure.message.contains("allowed-tools"), "{}", failure.message);
        let command = json!({"command": ["echo", "hi"]});
        let failure =
            session.call("run_command", command, &CancelToken::new()).expect_err("denied");
        assert_eq!(failure.code, FailureCode::NotAllowed);
    }
}

#[test]
fn a_script_that_changed_after_the_decision_does_not_run() {
    let Some(session) = session("", "echo ran\n", ALL) else { return };
    let (_, call) = session.judged(&[]).expect("a decision");
    session.home.write("home/.agents/skills/work/scripts/run.sh", "echo changed\n");
    let failure = session.run(&call).expect_err("changed");
    assert_eq!(failure.code, FailureCode::Changed, "{}", failure.message);
}

#[test]
fn a_command_runs_by_words_and_can_be_cancelled() {
    let Some(session) = session("", "echo ran\n", ALL) else { return };
    let call = |words: Value, cancel: &CancelToken| {
        session.call("run_command", json!({ "command": words }), cancel)
    };
    let result = call(json!(["echo", "$HOME; rm -rf /", "x"]), &CancelToken::new()).expect("runs");
    assert!(result.text.contains("$HOME; rm -rf / x\n"), "{}", result.text);
    for bad in [json!([]), json!(["./evil"]), json!([""]), json!("echo")] {
        let failure = call(bad, &CancelToken::new()).expect_err("refused");
        assert_eq!(failure.code, FailureCode::InvalidArguments);
    }
    let cancel = CancelToken::new();
    let failure = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call(json!(["sleep", "600"]), &cancel));
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        waiting.join().expect("no panic").expect_err("cancelled")
    });
    assert_eq!(failure.code, FailureCode::Cancelled);
}
