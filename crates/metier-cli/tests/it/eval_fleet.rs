//! Workers on `PostgreSQL`, from outside: what they leave to others, what ends them, and what they do while they
//! wait. Leasing is tested in `metier-evals`.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use metier_testkit::PostgresServer;
use metier_testkit::TestHome;
use metier_testkit::agent::{answer, scripted};
use serde_json::{Value, json};

use crate::support::{METIER, run};

/// A machine with a project of some cases.
fn machine(cases: &[&str]) -> TestHome {
    let home = TestHome::new();
    let cases = cases.iter().map(|it| format!("  - input: {it}\n    expected: {{skills: []}}\n"));
    let text = format!("cases:\n{}", cases.collect::<String>());
    home.write("project/.agent/evals/cases.yaml", text);
    home
}

fn submit(home: &TestHome, url: &str) -> String {
    let submitted = run(home, &["eval", "plan", "--database", url]);
    let id = submitted.stderr.split_once("submitted as ").expect("submitted").1;
    id.trim().to_owned()
}

#[test]
fn a_worker_takes_the_next_plan_while_others_have_the_units_of_the_first() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("fleet");
    let home = machine(&["one", "two"]);
    submit(&home, &url);
    server.sql(
        "fleet",
        "UPDATE metier_evals.units SET attempts_left = 2, attempts = 1, worker = 'other',
             token = nextval('metier_evals.tokens'), available_at = now() + interval '1 hour'",
    );
    submit(&machine(&["three", "four", "five"]), &url);
    let args = ["eval", "worker", "--json", "--max-units", "3", "--database", &url];
    let mut command = home.command(METIER);
    let mut worker = command.args(args).stdout(Stdio::piped()).spawn().expect("starts");
    // One that finds fewer units waits for more: it would not end by itself.
    let done = |worker: &mut Child| worker.try_wait().expect("waits").is_some();
    for _ in 0..20_000 {
        if done(&mut worker) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if !done(&mut worker) {
        worker.kill().expect("kills");
    }
    let worked = worker.wait_with_output().expect("ends");
    let worked: Value = serde_json::from_slice(&worked.stdout).expect("a report");
    assert_eq!(worked["completed"], 3, "{worked}");
    let open = "SELECT count(*) FROM metier_evals.units WHERE NOT done";
    assert_eq!(server.sql("fleet", open), "2");
}

#[test]
fn a_database_that_fails_ends_a_worker_and_is_no_reason_to_leave_a_plan_to_others() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("refuses");
    let home = machine(&["one"]);
    submit(&home, &url);
    server.sql(
        "refuses",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA metier_evals TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA metier_evals TO reader;",
    );
    let reader = url.replace("postgres@", "reader@");
    let worked = run(&home, &["eval", "worker", "--exit-when-done", "--database", &reader]);
    assert_eq!(worked.code, 1, "{}{}", worked.stdout, worked.stderr);
    assert!(worked.stderr.contains("permission denied"), "{}", worked.stderr);
    assert!(!worked.stderr.contains("left to others"), "{}", worked.stderr);
}

#[test]
fn plans_that_cannot_be_read_or_are_of_another_setup_are_left_to_others() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("mixed");
    let home = machine(&["one", "two"]);
    submit(&home, &url);
    server.sql("mixed", "UPDATE metier_evals.plans SET manifest = '{\"format\": 2}'");
    let other = machine(&["one"]);
    other.skill("home/.agent/skills/more", "more", "Something else. Use for something else.");
    submit(&other, &url);
    submit(&machine(&["three"]), &url);
    let worked = run(&home, &["eval", "worker", "--exit-when-done", "--database", &url]);
    // A fleet that carries out nothing is no success.
    let said = "1 unit carried out, 0 given back\n2 plans left to other machines\n";
    assert_eq!((worked.code, worked.stdout.as_str()), (1, said));
    assert_eq!(worked.stderr.matches("left to others").count(), 2, "{}", worked.stderr);
}

#[test]
fn a_plan_that_runs_programs_is_left_to_workers_that_may_and_the_next_one_is_done() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("programs");
    let with_programs = TestHome::new();
    let case = "input: x\nskill: csv-summary\nexpected: {output: {commands: [['true']]}}\n";
    with_programs.write("project/.agent/evals/cases.yaml", case);
    submit(&with_programs, &url);
    let home = machine(&["one"]);
    submit(&home, &url);
    let worked = run(&home, &["eval", "worker", "--exit-when-done", "--database", &url]);
    let said = "1 unit carried out, 0 given back\n1 plan left to other machines\n";
    assert_eq!((worked.code, worked.stdout.as_str()), (1, said), "{}", worked.stderr);
    assert!(worked.stderr.contains("left to others"), "{}", worked.stderr);
}

#[test]
fn the_report_of_what_workers_did_is_that_of_one_run() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("report");
    let home = machine(&["one", "what is the capital of France?", "three"]);
    let id = submit(&home, &url);
    let report =
        |run_name: &str| run(&home, &["eval", "report", run_name, "--json", "--database", &url]);
    let before = report("last").json();
    assert_eq!(before["units"]["missing"], 3, "{before:#}");
    assert_eq!(run(&home, &["eval", "worker", "--exit-when-done", "--database", &url]).code, 0);
    let timeless = |mut report: Value| {
        report.as_object_mut().expect("a report").remove("times");
        report
    };
    let short = id.trim_start_matches("sha256:")[..8].to_owned();
    let here = timeless(run(&home, &["eval", "run", "--json"]).json());
    assert_eq!(timeless(report(&short).json()), here);
    let page = home.project().join("page.html");
    let args = ["eval", "report", "--html", "page.html", "--database", &url];
    assert_eq!(run(&home, &args).code, run(&home, &["eval", "report"]).code);
    assert!(std::fs::read_to_string(page).expect("a page").contains("France"));
    assert_eq!(report("0000").code, 1);
    let unknown = format!("sha256:{}", "1".repeat(64));
    let worked = run(&home, &["eval", "worker", "--plan", &unknown, "--database", &url]);
    assert!(worked.code == 1 && worked.stderr.contains("is not known"), "{worked:?}");
}

#[test]
fn a_plan_does_not_choose_the_judge_of_the_machine_that_carries_it_out() {
    let home = TestHome::new();
    let case = "input: x\nskill: csv-summary\nexpected: {output: {judge: it is polite}}\n";
    home.write("project/.agent/evals/cases.yaml", case);
    let verdict =
        json!({"action": {"type": "final_answer", "text": "yes", "data": {"verdict": true}}});
    home.write("project/judge.json", json!({"replies": [verdict]}).to_string());
    let model = scripted(&home, &json!([answer("Good day.")]));
    let made = ["--model", model, "--judge", "scripted:judge.json"];
    let unit = |with: &[&str], input: &str| {
        let args: Vec<&str> = ["eval", "run-unit"].iter().chain(with).copied().collect();
        let mut command = home.command(METIER);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let _ = child.stdin.take().expect("input").write_all(input.as_bytes());
        let ran = child.wait_with_output().expect("ends");
        (String::from_utf8(ran.stdout).expect("text"), String::from_utf8(ran.stderr).expect("text"))
    };
    let plan: Vec<&str> = ["eval", "plan", "--units"].iter().chain(&made).copied().collect();
    let request = run(&home, &plan).stdout;
    let (result, said) = unit(&["--model", model], &request);
    assert!(result.is_empty() && said.contains("--judge"), "{result}{said}");
    let (result, said) = unit(&made, &request);
    assert!(result.contains("\"outcome\":\"passed\""), "{result}{said}");
}
