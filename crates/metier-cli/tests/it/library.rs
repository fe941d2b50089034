//! What the binary can do, a program on the library can do with the same guarantees: the same decision,
//! the same view from inside the sandbox, the same record, for every command that decides or runs
//! something.

use std::sync::{Arc, Mutex};

use metier::agent::{Note, Observer, Record};
use metier::{
    ApprovalFault, CatalogOptions, Environment, ErrorKind, ExecCall, FindOptions, Metier,
    RunRecord, WithSkills, audit_run,
};
use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{answer, events_in, holds_scripts, last_run, script, scripted, select};
use crate::support::{METIER, json, run, run_in};

/// The library with the environment that [`TestHome::command`] gives the binary.
pub(crate) fn library(home: &TestHome, dir: &str) -> Metier {
    let dir = home.path().join(dir);
    let builder = Metier::builder(dir).environment(environment(home));
    builder.sandbox_helper(METIER).open().expect("it opens")
}

/// The environment that [`TestHome::command`] gives the binary.
fn environment(home: &TestHome) -> Environment {
    let environment = Environment::empty().with_home(home.home()).with("HOME", home.home());
    match std::env::var_os("PATH") {
        Some(path) => environment.with("PATH", path),
        None => environment,
    }
}

/// A user skill with a script that tells what it sees.
fn home() -> TestHome {
    let home = TestHome::new();
    home.skill("home/.agents/skills/look", "look", "Looks around.");
    home.write(
        "home/.agents/skills/look/scripts/look.sh",
        "echo \"args: $*\"\n\
         env | cut -d= -f1 | sort\n\
         cat \"$WORKSPACE_DIR/plain.txt\" || echo 'no workspace'\n\
         cat ~/.secret/token $WORKSPACE_DIR/.env $WORKSPACE_DIR/.secret/token 2>/dev/null \
         || echo 'no secret'\n\
         ls \"$SKILL_DIR\"\n\
         echo made > outputs/made.txt\n",
    );
    home.write("home/.secret/token", "s3cret");
    home.write("project/plain.txt", "plain\n");
    home.write("project/.env", "KEY=s3cret\n");
    home
}

fn look(args: &[&str]) -> ExecCall {
    ExecCall {
        skill: "look".to_owned(),
        script: "scripts/look.sh".to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        timeout: None,
    }
}

/// A document without what differs from run to run.
pub(crate) fn same(home: &TestHome, value: &Value) -> Value {
    const CHANGING: &[&str] = &[
        "elapsed",
        "elapsed_ms",
        "kept",
        "outputs",
        "time",
        "hash",
        "run_id",
        "setup_sha256",
        "total_ms",
        "first_ms",
        "started",
        "cpu_ms",
        "memory_bytes",
        "max_rss",
        "usage",
        "sha256",
        "prompt_sha256",
        "prev",
        "by",
    ];
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !CHANGING.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), same(home, value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(|value| same(home, value)).collect(),
        Value::String(text) => json!(scrubbed(home, text)),
        other => other.clone(),
    }
}

/// A text without the name of the run that a path in it may hold.
fn scrubbed(home: &TestHome, text: &str) -> String {
    let text = home.scrub(text);
    let mut parts = text.split(".agent/runs/");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.find(['/', ' ', '\n']).unwrap_or(part.len());
        out.push_str(".agent/runs/RUN");
        out.push_str(&part[name..]);
    }
    let numbers = |c: char| c.is_ascii_digit() || c == '-';
    let mut parts = out.split("/exec/");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + "/exec/" + part.trim_start_matches(numbers))
}

#[test]
fn explain_tools_and_catalog_say_the_same() {
    let home = home();
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "run_script", "pattern": "look/*", "effect": "ask"},
            {"permission": "write_file", "pattern": "*.md", "effect": "allow"}]}"#,
    );
    let metier = library(&home, "project");
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    for (tool, args, skill) in [
        ("load_skill", &["look"][..], None),
        ("run_script", &["scripts/look.sh", "a b"], Some("look")),
        ("read_file", &["plain.txt"], None),
        ("read_file", &["~/.secret/token"], None),
        ("write_file", &["notes.md"], Some("look")),
        ("run_command", &["git", "push"], None),
        ("network_request", &["example.com"], None),
    ] {
        let mut line = vec!["explain", tool];
        line.extend(skill.iter().flat_map(|name| ["--skill", *name]));
        line.extend(["--json", "--"]);
        line.extend(args);
        let skills = WithSkills { skill: skill.map(str::to_owned), loaded: Vec::new() };
        let by_library = metier.explain(tool, &words(args), &skills).expect("a decision");
        assert_eq!(same(&home, &json!(by_library)), json(&home, &line), "{line:?}");
    }
    let rules =
        json!({ "tools": metier.tool_rules(&WithSkills::acting_for("look")).expect("rules") });
    assert_eq!(rules, json(&home, &["tools", "--skill", "look", "--json"]));
    let options = CatalogOptions { request: Some("look".to_owned()), ..CatalogOptions::default() };
    let catalog = metier.catalog(&options).expect("a catalog").text();
    let printed = json(&home, &["catalog", "--request", "look", "--json"]);
    assert_eq!(json!(catalog), printed["text"]);
}

#[test]
fn exec_asks_refuses_and_shows_the_same_from_inside_the_sandbox() {
    let home = home();
    let metier = library(&home, "project");
    let asked = metier.session().exec(&look(&["x"])).expect_err("no one answers");
    assert_eq!(asked.kind, ErrorKind::NeedsApproval);
    let printed = run(&home, &["exec", "look", "scripts/look.sh", "--", "x"]);
    let digest = asked.approval.as_ref().expect("an approval").request.to_string();
    assert!(printed.stderr.contains(&digest), "one request, one digest: {printed:?}");
    let rejected = metier.session().approve(|ask| ask.reject("no")).exec(&look(&["x"]));
    assert_eq!(rejected.expect_err("a no").kind, ErrorKind::Denied);
    if !holds_scripts(&home) {
        return;
    }
    // What the binary printed, the library takes, and only once.
    let digest = digest.parse().expect("a digest");
    let approved = metier.session().approve_request(digest).exec(&look(&["x"])).expect("it ran");
    assert_eq!(approved.approval.expect("an approval").by, "approve");
    let again = metier.session().approve_request(digest).exec(&look(&["x"])).expect_err("used");
    assert_eq!(again.approval.expect("an approval").refused, Some(ApprovalFault::NotPending));

    for dir in ["project", "home"] {
        let ran = library(&home, dir).session().approve(|ask| ask.once()).exec(&look(&["x"]));
        let ran = ran.expect("it ran");
        let args = ["exec", "--yes", "--json", "look", "scripts/look.sh", "--", "x"];
        let document: Value =
            serde_json::from_str(&run_in(&home, dir, &args).stdout).expect("JSON");
        let stdout = ran.outcome.report.stdout.text.clone();
        assert_eq!(
            json!(scrubbed(&home, &stdout)),
            json!(scrubbed(&home, document["stdout"].as_str().expect("text"))),
            "{dir}"
        );
        assert!(stdout.contains("no secret") && !stdout.contains("s3cret"), "{dir}: {stdout}");
        assert_eq!(stdout.contains("no workspace"), dir == "home", "{dir}: {stdout}");
        assert_eq!(json!(ran.outcome.report.tier), document["tier"]);
        assert_eq!(json!(ran.network), document["network"]);
        assert_eq!(ran.outcome.outputs.len(), 1);
    }
}

#[test]
fn an_answer_of_always_counts_for_both() {
    let home = home();
    if !holds_scripts(&home) {
        return;
    }
    let metier = library(&home, "project");
    let ran = metier.session().approve(|ask| ask.always()).exec(&look(&[])).expect("it ran");
    assert_eq!(json!(ran.effect), json!("ask"));
    let printed = json(&home, &["exec", "--json", "look", "scripts/look.sh"]);
    assert_eq!(printed["effect"], "allow", "{printed}");
    let answers = metier.remembered_answers().expect("answers");
    assert_eq!(answers.len(), 1);
    metier.forget_answer(&answers[0].0.id).expect("forgotten");
    assert_eq!(run(&home, &["exec", "look", "scripts/look.sh"]).code, 3);
}

/// Collects what is heard.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

struct Listener(Arc<Heard>);

impl Observer for Listener {
    fn event(&self, _: u32, record: &Record) {
        self.0.0.lock().expect("a lock").push(record.event.kind().to_owned());
    }

    fn note(&self, _: u32, _: &Note) {}
}

#[test]
fn a_run_leaves_the_same_record() {
    let home = home();
    if !holds_scripts(&home) {
        return;
    }
    let replies = json!([
        select(&["look"]),
        script("look", "scripts/look.sh", &["plain.txt"]),
        answer("done")
    ]);
    let model = scripted(&home, &replies);
    let ran: Output = run(&home, &["run", "do it", "--model", model, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let by_binary = events_in(&last_run(&home));

    let heard = Arc::new(Heard::default());
    let metier = library(&home, "project");
    let run_of_library = metier
        .session()
        .model(model)
        .approve(|ask| ask.once())
        .observer(Listener(Arc::clone(&heard)))
        .run("do it")
        .expect("it runs");
    assert_eq!(run_of_library.answer(), "done");
    let by_library = events_in(run_of_library.folder().path());
    let clean = |events: &[Value]| events.iter().map(|it| same(&home, it)).collect::<Vec<_>>();
    assert_eq!(json!(clean(&by_binary)), json!(clean(&by_library)));
    let recorded: Vec<_> = by_library.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(json!(*heard.0.lock().expect("a lock")), json!(recorded), "every event was heard");

    // Its record holds, is shown and resumed by either.
    let id = run_of_library.id().to_string();
    assert_eq!(run(&home, &["audit", "verify", &id]).code, 0);
    assert_eq!(run(&home, &["replay", &id]).code, 0);
    let folder = metier.find_run("last").expect("a run");
    assert!(audit_run(&folder).expect("audited").iter().all(|(_, it)| it.findings.is_empty()));
    assert!(RunRecord::read(&folder).expect("a record").faults.is_empty());
}

#[test]
fn a_run_that_waits_is_resumed_by_the_other() {
    let home = home();
    if !holds_scripts(&home) {
        return;
    }
    let replies =
        json!([select(&["look"]), script("look", "scripts/look.sh", &[]), answer("done")]);
    let model = scripted(&home, &replies);
    // Begun by the binary, resumed by the library.
    let waits = run(&home, &["run", "do it", "--model", model]);
    assert_eq!(waits.code, 3, "{waits:?}");
    let digest = waits.stderr.split("--approve ").nth(1).expect("an approval");
    let digest = digest.split_whitespace().next().expect("a digest").parse().expect("a digest");
    let metier = library(&home, "project");
    let resumed = metier.session().approve_request(digest).resume("last").expect("it resumes");
    assert_eq!(resumed.answer(), "done");
    // Begun by the library, resumed by the binary.
    let waits = metier.session().model(model).run("do it").expect("it runs");
    let open = waits.open_approval().expect("a question");
    let id = waits.id().to_string();
    let resumed = run(&home, &["resume", &id, "--approve", &open.request.to_string()]);
    assert_eq!((resumed.code, resumed.stdout.trim()), (0, "done"), "{resumed:?}");
    // The same approval does not count twice, on any way in.
    let stale = metier.session().approve_request(open.request).resume(&id);
    assert!(stale.is_err(), "it has ended");
}

#[test]
fn trust_is_one_record_for_both() {
    let home = home();
    home.skill("project/.agent/skills/own", "own", "Comes with the project.");
    home.write("project/.agent/skills/own/scripts/run.sh", "echo ran\n");
    let metier = library(&home, "project");
    let explained = |metier: &Metier| {
        let script = ["scripts/run.sh".to_owned()];
        let own = WithSkills::acting_for("own");
        metier.explain("run_script", &script, &own).expect("a decision").decision.effect
    };
    assert_eq!(explained(&metier).as_str(), "deny");
    metier.trust(None).expect("trusted");
    assert_eq!(explained(&metier).as_str(), "ask");
    let args = ["explain", "run_script", "scripts/run.sh", "--skill", "own", "--json"];
    assert_eq!(json(&home, &args)["effect"], "ask");
    assert_eq!(run(&home, &["untrust"]).code, 0);
    assert_eq!(explained(&metier.finding(FindOptions::default())).as_str(), "deny");
}
