//! What the tests of `metier run` share: a project with the examples, scripted models, and what a run
//! left behind.

use std::path::{Path, PathBuf};

use metier_sandbox::{SandboxProbe, Tier};
use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::{METIER, run};

/// The request of the first page of the documentation.
pub(crate) const REQUEST: &str = "summarise examples/sales.csv by region";

/// A project as a fresh clone has it: the example, and nothing of the user's.
pub(crate) fn project() -> TestHome {
    let home = TestHome::new();
    let sales = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sales.csv");
    home.write("project/examples/sales.csv", std::fs::read(sales).expect("the example"));
    home
}

/// Whether scripts can run on this machine.
pub(crate) fn holds_scripts(home: &TestHome) -> bool {
    let place = home.path().canonicalize().expect("a path").join("probe");
    let probe = SandboxProbe::run(METIER.as_ref(), &place).expect("a probe");
    let holds = probe.tier_for(Tier::Medium).is_ok();
    if !holds {
        eprintln!("NOT TESTED: this machine holds no script (sandbox {})", probe.best);
    }
    holds
}

/// Writes a scripted model into the project; gives what `--model` takes.
pub(crate) fn scripted(home: &TestHome, replies: &Value) -> &'static str {
    home.write("project/model.json", json!({ "replies": replies }).to_string());
    "scripted:model.json"
}

/// Runs a request with a scripted model.
pub(crate) fn run_scripted(home: &TestHome, replies: &Value, flags: &[&str]) -> Output {
    let model = scripted(home, replies);
    run(home, &[&["run", "do it", "--model", model], flags].concat())
}

pub(crate) fn select(names: &[&str]) -> Value {
    let skills: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"action": {"type": "select_skills", "skills": skills, "reason": "it fits"}})
}

pub(crate) fn resource(skill: &str, path: &str) -> Value {
    json!({"action": {"type": "load_resource", "skill": {"name": skill}, "relative_path": path}})
}

pub(crate) fn script(skill: &str, path: &str, args: &[&str]) -> Value {
    json!({"action": {"type": "run_script", "skill": {"name": skill}, "relative_path": path,
        "args": args}})
}

pub(crate) fn call(tool: &str, args: &Value) -> Value {
    json!({"action": {"type": "call_tool", "tool": tool, "args": args}})
}

pub(crate) fn answer(text: &str) -> Value {
    json!({"action": {"type": "final_answer", "text": text}})
}

/// The folder of all runs.
pub(crate) fn runs(home: &TestHome) -> PathBuf {
    home.project().join(".agent/runs")
}

/// The folder of the newest run.
pub(crate) fn last_run(home: &TestHome) -> PathBuf {
    let list = std::fs::read_dir(runs(home)).expect("runs");
    let folders = list.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    folders.max().expect("a run")
}

/// The events of a run.
pub(crate) fn events_in(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).expect("a record");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The events of the newest run.
pub(crate) fn events(home: &TestHome) -> Vec<Value> {
    events_in(&last_run(home))
}

/// Those of one type.
pub(crate) fn of_type<'e>(events: &'e [Value], wanted: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == wanted).collect()
}

/// The codes of what the model was told, in order; `ok` where an action was done.
pub(crate) fn codes(events: &[Value]) -> Vec<&str> {
    let report = of_type(events, "observation.made");
    report.into_iter().map(|event| event["code"].as_str().unwrap_or("ok")).collect()
}

/// The record of the newest run is whole and true, and leads to itself again.
pub(crate) fn is_sound(home: &TestHome) {
    let audit = run(home, &["audit", "verify", "last"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    let replay = run(home, &["replay", "last"]);
    assert_eq!(replay.code, 0, "{replay:?}");
}

/// The command that a run printed for its approval, as words after `metier`.
pub(crate) fn printed_approval(output: &Output) -> Vec<String> {
    let line = output.stderr.lines().find(|line| line.contains("--approve"));
    let line = line.unwrap_or_else(|| panic!("no approval in {output:?}"));
    let command = line.split_once("once: metier ").expect("the command").1;
    command.split_whitespace().map(str::to_owned).collect()
}
