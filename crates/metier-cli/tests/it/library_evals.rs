//! Evals and chats by the binary and by a program on the library: the same plan, the same outcomes, the same records,
//! and the same refusals.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use metier::CancelToken;
use metier_evals::{
    CaseCommands, EvalPlan, EvalStore, EvalSubject, EvalUnit, LoopOptions, LoopSubject,
    PlanOptions, TemporaryStore, TrialRunner, WhenIdle, Worker, WorkerOptions, find_case_files,
    make_plan, read_cases, skills_under_test,
};
use metier_testkit::TestHome;
use metier_testkit::agent::{answer, events_in, scripted, select};
use serde_json::{Value, json};

use crate::eval::results;
use crate::library::{library, same};
use crate::run_support::runs;
use crate::support::{METIER, run};

const CASES: &str = r"
skill: csv-summary
cases:
  - input: summarise sales.csv by region
    expected: {skills: [csv-summary]}
  - input: totals of units by month in orders.csv
    expected: {skills: [csv-summary]}
  - input: what is the capital of France?
    expected: {skills: []}
";

/// What a program on the library is given to run.
struct Ready {
    metier: metier::Metier,
    subject: LoopSubject,
    plan: EvalPlan,
}

fn ready(home: &TestHome) -> Result<Ready, metier_evals::EvalError> {
    let metier = library(home, "project");
    let files = find_case_files(&metier, &[])?;
    let cases = read_cases(&files, None)?;
    let options = LoopOptions { model: Some("router".to_owned()), ..LoopOptions::default() };
    let subject = LoopSubject::new(&metier, options, skills_under_test(&cases))?;
    let options = PlanOptions::default();
    let plan = make_plan(&metier, subject.info(), subject.scan(), cases, options)?;
    Ok(Ready { metier, subject, plan })
}

/// The results of a program on the library, in the order and without the times of [`results`].
fn worked(ready: &Ready) -> Vec<Value> {
    let Ready { metier, subject, plan } = ready;
    let runner = TrialRunner::new(metier, plan, subject, None, CaseCommands::Refuse);
    let runner = runner.expect("a runner");
    let carry_out =
        |plan: &EvalPlan, unit: &EvalUnit, cancel: &CancelToken| runner.run(plan, unit, cancel);
    let options = WorkerOptions {
        name: "program".to_owned(),
        harness: plan.harness.clone(),
        plan: Some(plan.id()),
        parallel: 2,
        max_batch: 64,
        when_idle: WhenIdle::EndWhenDone,
        max_units: None,
        poll: Duration::from_millis(20),
    };
    let temporary = TemporaryStore::new().expect("a store");
    let store = temporary.store();
    store.open_plan(plan).expect("opens");
    Worker::new(store, options, &carry_out).work(&CancelToken::new()).expect("works");
    let mut found = Vec::new();
    store
        .results(plan, &mut |result| {
            let mut result = serde_json::to_value(&result).expect("JSON");
            result["cost"]["elapsed_ms"] = json!(0);
            found.push(result);
            Ok(())
        })
        .expect("results");
    found.sort_by_key(|result| result["fingerprint"].to_string());
    found
}

#[test]
fn an_eval_has_the_same_plan_units_and_outcomes() {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", CASES);
    let ready = ready(&home).expect("ready");
    let printed = run(&home, &["eval", "plan", "--model", "router", "--json"]);
    assert_eq!(printed.json(), serde_json::to_value(&ready.plan).expect("JSON"));
    let report = run(&home, &["eval", "run", "--model", "router", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout).expect("a report");
    assert!(report.to_string().contains(&ready.plan.id().to_string()), "{report}");
    let by_binary: Vec<Value> = results(&home)
        .into_iter()
        .map(|mut result| {
            result.as_object_mut().expect("a result").remove("seal");
            result
        })
        .collect();
    assert_eq!(by_binary.len(), 3);
    assert_eq!(json!(by_binary), json!(worked(&ready)));
}

#[test]
fn an_eval_that_the_binary_refuses_is_refused_by_the_library() {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", CASES);
    home.skill("project/.agent/skills/own", "own", "Comes with the project.");
    let refused = run(&home, &["eval", "run", "--model", "router", "--json"]);
    let error = ready(&home).err().expect("refused");
    assert_eq!((refused.code, refused.json()["error"]["code"].clone()), (3, json!(error.code())));
    assert_eq!(error.code(), "eval-untrusted");

    let home = TestHome::new();
    let case = "input: x\nskill: csv-summary\nexpected: {output: {commands: [[touch, ran]]}}\n";
    home.write("project/.agent/evals/cases.yaml", case);
    let refused = run(&home, &["eval", "run", "--model", "router", "--json"]);
    let Ready { metier, subject, plan } = ready(&home).expect("it may be planned");
    let error = TrialRunner::new(&metier, &plan, &subject, None, CaseCommands::Refuse);
    let error = error.err().expect("refused");
    assert_eq!((refused.code, refused.json()["error"]["code"].clone()), (3, json!(error.code())));
    assert_eq!(error.code(), "eval-commands");
    assert!(TrialRunner::new(&metier, &plan, &subject, None, CaseCommands::Run).is_ok());
}

/// The events of the runs of a project, oldest first.
fn chats(home: &TestHome) -> Vec<Value> {
    let list = std::fs::read_dir(runs(home)).expect("runs");
    let mut folders: Vec<_> = list.map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders.iter().map(|folder| same(home, &json!(events_in(folder)))).collect()
}

#[test]
fn a_chat_leaves_the_same_records() {
    let home = TestHome::new();
    let replies = json!([select(&["manners"]), answer("Hello, hello."), answer("As I said.")]);
    home.skill("home/.agents/skills/manners", "manners", "How to greet.");
    scripted(&home, &replies);
    let messages = ["greet me", "what did you say?"];
    let mut command = home.command(METIER);
    command.args(["chat", "--model", "scripted:model.json"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    for message in messages {
        writeln!(input, "{message}").expect("writes");
    }
    drop(input);
    let ended = child.wait_with_output().expect("ends");
    assert!(ended.status.success(), "{ended:?}");

    let metier = library(&home, "project");
    let mut chat = metier.session().model("scripted:model.json").chat().expect("a chat");
    let answers = messages.map(|message| chat.send(message).expect("it runs").answer());
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(printed.lines().collect::<Vec<_>>(), answers);
    let records = chats(&home);
    assert_eq!(records.len(), 4, "each message is a run");
    let (by_binary, by_library) = records.split_at(2);
    assert_eq!(by_binary, by_library);
}
