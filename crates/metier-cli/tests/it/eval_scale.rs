//! Evals on more than one machine, from outside: parts and `merge`, single units, workers on `PostgreSQL`.
//! The stores themselves are tested in `metier-evals`.

use std::io::Write;
use std::process::Stdio;

#[cfg(unix)]
use metier_testkit::PostgresServer;
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{METIER, run};

/// A machine: a home with the same project as every other.
fn machine() -> TestHome {
    let home = TestHome::new();
    let mut cases = String::from("skill: csv-summary\ncases:\n");
    for month in ["May", "June", "July", "August", "March", "April"] {
        cases.push_str(&format!("  - input: totals of units in {month}.csv by region\n    expected: {{skills: [csv-summary]}}\n"));
        cases.push_str(&format!(
            "  - input: which season is {month} in?\n    expected: {{skills: []}}\n"
        ));
    }
    home.write("project/.agent/evals/cases.yaml", cases);
    home
}

fn results_folder(home: &TestHome) -> String {
    home.project().join(".agent/evals/results").display().to_string()
}

fn report(text: &str) -> Value {
    let mut report: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    report.as_object_mut().expect("a report").remove("times");
    report
}

#[test]
fn merged_parts_give_the_report_of_one_run() {
    let whole = machine();
    let one = report(&run(&whole, &["eval", "--json"]).stdout);
    let parts: Vec<TestHome> = (1..=3)
        .map(|number| {
            let home = machine();
            let part = format!("{number}/3");
            let ran = run(&home, &["eval", "run", "--json", "--shard", &part]);
            // A job of a scheduler succeeds when its part is complete.
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert!(ran.stderr.contains(&format!("part {part} is complete")), "{}", ran.stderr);
            home
        })
        .collect();
    let folders: Vec<String> = parts.iter().map(results_folder).collect();
    let all = machine();
    let some = run(&all, &["eval", "merge", "--json", &folders[2], &folders[0]]);
    assert_eq!(some.code, 1, "{}", some.stderr);
    let merged = some.json();
    assert_eq!(merged["missing"], json!(12 - merged["results"].as_u64().expect("a number")));
    let rest = run(&all, &["eval", "merge", &folders[1]]);
    assert!(rest.code == 0 && rest.stdout.starts_with("12 of 12 results in "), "{}", rest.stdout);
    assert_eq!(report(&run(&all, &["eval", "report", "--json", "last"]).stdout), one);
    let other = machine();
    other.write("project/.agent/evals/more.yaml", "input: hello\nexpected: {skills: []}\n");
    run(&other, &["eval", "--json"]);
    let refused = run(&all, &["eval", "merge", &folders[0], &results_folder(&other)]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("hold results of two plans, about different cases"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_part_with_errors_or_another_model_than_asked_for_is_a_failure() {
    let home = machine();
    let refused = run(&home, &["eval", "run", "--shard", "1/3", "--gate", "model=real"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let home = machine();
    let script = json!([{"fault": "unauthorized", "message": "no key"}]);
    let model = metier_testkit::agent::scripted(&home, &script);
    let part = ["eval", "run", "--shard", "1/3", "--model", model];
    assert_eq!(run(&home, &part).code, 1);
    let both = run(&home, &["eval", "run", "--shard", "1/3", "--baseline", "last"]);
    assert_eq!(both.code, 2, "a part is not compared with a whole: {}", both.stderr);
}

/// Runs with something on the standard input.
fn with_input(home: &TestHome, args: &[&str], input: &str) -> std::process::Output {
    let mut command = home.command(METIER);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    // A request that is refused early is not read to its end.
    let _ = child.stdin.take().expect("input").write_all(input.as_bytes());
    child.wait_with_output().expect("ends")
}

#[test]
fn single_units_on_other_machines_give_the_report_of_one_run() {
    let home = machine();
    let one = report(&run(&home, &["eval", "--json"]).stdout);
    let requests = run(&home, &["eval", "plan", "--units"]).stdout;
    let plan = run(&home, &["eval", "plan"]).stdout;
    assert_eq!(requests.lines().count(), 12);
    let (away, collected) = (machine(), machine());
    let mut results = String::new();
    for request in requests.lines() {
        let ran = with_input(&away, &["eval", "run-unit"], request);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        results.push_str(std::str::from_utf8(&ran.stdout).expect("text"));
    }
    assert!(!away.project().join(".agent/evals/results").exists(), "nothing is kept");
    collected.write("folder/plan.json", plan);
    collected.write("folder/results.jsonl", results);
    let folder = collected.path().join("folder").display().to_string();
    let read = report(&run(&collected, &["eval", "report", "--json", &folder]).stdout);
    assert_eq!(read, one, "a `results.jsonl` beside a `plan.json` is a folder of results");
    let merged = run(&collected, &["eval", "merge", &folder]);
    assert_eq!(merged.code, 0, "{}{}", merged.stdout, merged.stderr);
    assert_eq!(report(&run(&collected, &["eval", "report", "--json", "last"]).stdout), one);
    let changed = machine();
    changed.skill("project/.agent/skills/csv-summary", "csv-summary", "Something else.");
    let request = requests.lines().next().expect("a request");
    let refused = with_input(&changed, &["eval", "run-unit"], request);
    let printed = String::from_utf8_lossy(&refused.stdout);
    assert!(!refused.status.success() && printed.is_empty(), "{printed}");
}

#[cfg(unix)]
#[test]
fn workers_on_a_database_carry_out_what_was_handed_to_it() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = server.database("fleet");
    let submits = machine();
    let submitted = run(&submits, &["eval", "plan", "--database", &url]);
    assert!(submitted.stderr.contains("submitted as sha256:"), "{}", submitted.stderr);
    let workers = [machine(), machine()];
    let reports: Vec<Value> = std::thread::scope(|scope| {
        let args = ["eval", "worker", "--json", "--exit-when-done", "--database", &url];
        let threads: Vec<_> =
            workers.iter().map(|home| scope.spawn(move || run(home, &args))).collect();
        threads.into_iter().map(|it| it.join().expect("ends").json()).collect()
    });
    let completed: u64 = reports.iter().map(|it| it["completed"].as_u64().expect("a number")).sum();
    assert_eq!(completed, 12, "{reports:?}");
    assert_eq!(server.sql("fleet", "SELECT count(*) FROM metier_evals.results"), "12");
    let again = run(&workers[0], &["eval", "worker", "--exit-when-done", "--database", &url]);
    assert_eq!((again.code, again.stdout.trim()), (0, "0 units carried out, 0 given back"));
}
