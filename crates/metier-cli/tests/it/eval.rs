//! `metier eval` from outside: offline runs, errors that stay errors, arms, trust, isolation, cache.
//! Statistics and the forms of reports are tested in `metier-evals`.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metier_testkit::TestHome;
use metier_testkit::agent::{answer, call, scripted, select};
use serde_json::{Value, json};

use crate::run_server::{Answer, CANARY, Dialect, Server};
use crate::support::{METIER, run};

/// Six requests that are about the built-in skill for tables, and six that are not.
const TRIGGERS: &str = r"
skill: csv-summary
cases:
  - input: summarise sales.csv by region
    expected: {skills: [csv-summary]}
  - input: totals of units by month in orders.csv
    expected: {skills: [csv-summary]}
  - input: what is the average price in prices.csv?
    expected: {skills: [csv-summary]}
  - input: what is the capital of France?
    expected: {skills: []}
  - input: write a poem about the sea
    expected: {not_skills: [csv-summary]}
";

fn cases(text: &str) -> TestHome {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", text);
    home
}

/// The report without its times.
fn report(text: &str) -> Value {
    let mut report: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    report.as_object_mut().expect("a report").remove("times");
    report
}

/// Every result that is kept, by file name and line, without its times.
pub(crate) fn results(home: &TestHome) -> Vec<Value> {
    let mut found = Vec::new();
    let mut left = vec![home.project().join(".agent/evals/results")];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).expect("results").flatten() {
            if entry.path().is_dir() {
                left.push(entry.path());
            } else if entry.file_name().to_string_lossy().starts_with("results") {
                let text = std::fs::read_to_string(entry.path()).expect("text");
                found.extend(text.lines().map(|line| {
                    let mut result: Value = serde_json::from_str(line).expect("JSON");
                    result["cost"]["elapsed_ms"] = json!(0);
                    // Each user has a key of their own.
                    assert!(result["seal"].take().is_string(), "{line}");
                    result
                }));
            }
        }
    }
    found.sort_by_key(|result| result["fingerprint"].to_string());
    found
}

/// Waits for what a process does; one that ends instead is a failure.
pub(crate) fn wait_while(child: &mut Child, is_so: impl Fn() -> bool) {
    while is_so() {
        let ended = child.try_wait().expect("waits");
        assert!(ended.is_none(), "it ended before: {ended:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn evals_run_offline_and_print_a_report_with_the_right_numbers() {
    let home = cases(TRIGGERS);
    let ran = run(&home, &["eval", "--json"]);
    let report = report(&ran.stdout);
    assert_eq!(report["units"]["planned"], 5, "{report:#}");
    let skill = &report["skills"][0];
    assert_eq!(skill["skill"], "csv-summary", "{report:#}");
    assert_eq!(skill["recall"]["rate"], 1.0, "{report:#}");
    assert_eq!(skill["precision"]["rate"], 1.0, "{report:#}");
    assert_eq!(report["abstention"]["rate"], 1.0, "{report:#}");
    let human = run(&home, &["eval", "run"]);
    assert!(human.stdout.contains("csv-summary"), "{}", human.stdout);
}

#[test]
fn the_same_run_twice_is_cached_and_gives_the_same_bytes_whatever_the_jobs() {
    let home = cases(TRIGGERS);
    let first = run(&home, &["eval", "--json", "--jobs", "1"]);
    let kept = results(&home);
    let again = run(&home, &["eval", "--json", "--jobs", "4"]);
    assert_eq!(report(&first.stdout), report(&again.stdout));
    assert_eq!(kept, results(&home), "nothing was tried again");
    let other = cases(TRIGGERS);
    let parallel = run(&other, &["eval", "--json", "--jobs", "4"]);
    assert_eq!(report(&first.stdout), report(&parallel.stdout));
    assert_eq!(kept, results(&other));
}

#[test]
fn the_seed_s_input_expected_and_constraints_work_as_they_are_written() {
    let text = r"
input: summarise sales.csv by region
files: [../../sales.csv]
expected:
  skills: [csv-summary]
  actions: [load_skill, run_script]
  output: East
constraints:
  max_tool_calls: 3
  forbidden_tools: [network_request]
";
    let home = cases(text);
    home.write("project/sales.csv", "region,units\nEast,2\nWest,3\nEast,4\n");
    let ran = run(&home, &["eval", "--json"]);
    let kept = results(&home);
    assert_eq!(kept.len(), 1, "{}{}", ran.stdout, ran.stderr);
    let failed: Vec<&Value> = kept[0]["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["outcome"] != "passed")
        .collect();
    assert!(failed.is_empty(), "{:#}", kept[0]);
    assert_eq!(kept[0]["fired"][0]["skill"], "csv-summary");
    assert_eq!(report(&ran.stdout)["cases"][0]["arms"][0]["outcome"], "passed");
    assert!(!home.project().join(".agent/runs").exists(), "the user's workspace is as it was");
}

#[test]
fn a_model_that_always_fails_is_an_error_and_never_an_answer() {
    let home = cases(TRIGGERS);
    let model = scripted(&home, &json!([{"fault": "unauthorized", "message": "no key"}]));
    let ran = run(&home, &["eval", "run", "--model", model, "--json"]);
    let report = report(&ran.stdout);
    assert_eq!(ran.code, 1);
    assert_eq!(report["verdict"]["verdict"], "invalid", "{report:#}");
    assert_eq!(report["units"]["errors_by_kind"], json!({"provider": 5}), "{report:#}");
    for result in results(&home) {
        assert_eq!(result["end"]["end"], "error");
        assert_eq!(result["triggers"], json!([]));
    }
}

#[test]
fn replies_that_are_no_decisions_are_errors_of_their_own() {
    let home = cases("input: x\nexpected: {skills: []}\n");
    let words = json!({"raw": "hm"});
    let model = scripted(&home, &json!([words, words, words, words, words, words, words, words]));
    let ran = run(&home, &["eval", "run", "--model", model, "--json"]);
    assert_eq!(ran.code, 1);
    assert_eq!(results(&home)[0]["end"]["kind"], "invalid_replies", "{}", ran.stdout);
}

#[test]
fn a_skill_that_cannot_be_loaded_is_an_error_and_no_miss() {
    let home = cases(TRIGGERS);
    let off = run(&home, &["disable", "csv-summary"]);
    assert_eq!(off.code, 0, "{}", off.stderr);
    let ran = run(&home, &["eval", "--json"]);
    assert_eq!(ran.code, 1);
    let kinds: Vec<Value> = results(&home).iter().map(|it| it["end"]["kind"].clone()).collect();
    assert!(kinds.iter().all(|kind| kind == "skill_not_loadable"), "{kinds:?}");
}

#[test]
fn a_judge_that_answers_nonsense_judges_nothing() {
    let home =
        cases("input: hello\nskill: csv-summary\nexpected: {output: {judge: it is polite}}\n");
    home.write(
        "project/judge.json",
        json!({"replies": [answer("perhaps"), answer("perhaps")]}).to_string(),
    );
    let model = scripted(&home, &json!([answer("Good day.")]));
    let ran =
        run(&home, &["eval", "run", "--model", model, "--judge", "scripted:judge.json", "--json"]);
    assert_eq!(ran.code, 1);
    let check = &results(&home)[0]["checks"][0];
    assert_eq!(check["outcome"], "not_graded", "{check:#}");
    assert!(check["detail"].as_str().expect("text").contains("perhaps"), "{check:#}");
}

#[test]
fn a_judge_s_question_and_answer_are_kept() {
    let home =
        cases("input: hello\nskill: csv-summary\nexpected: {output: {judge: it is polite}}\n");
    let verdict = json!({"action": {"type": "final_answer", "text": "yes", "data": {"verdict": true, "why": "it greets"}}});
    home.write("project/judge.json", json!({"replies": [verdict]}).to_string());
    let model = scripted(&home, &json!([answer("Good day.")]));
    run(&home, &["eval", "run", "--model", model, "--judge", "scripted:judge.json"]);
    let check = &results(&home)[0]["checks"][0];
    assert_eq!(check["outcome"], "passed", "{check:#}");
    let detail = check["detail"].as_str().expect("text");
    assert!(detail.contains("it is polite") && detail.contains("it greets"), "{detail}");
}

#[test]
fn untrusted_skills_stop_a_run_before_its_first_case() {
    let home = cases("input: x\nexpected: {skills: []}\n");
    home.skill("project/.agent/skills/own", "own", "Owns things. Use for owning.");
    let ran = run(&home, &["eval"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("metier trust"), "{}", ran.stderr);
    assert!(!home.project().join(".agent/evals/results").exists());
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_ne!(run(&home, &["eval"]).code, 3);
}

#[test]
fn arms_vary_the_skill_and_only_the_listed_one_measures_triggers() {
    let home = cases(
        "input: summarise sales.csv by region\nskill: csv-summary\nexpected: {skills: [csv-summary], output: {contains: units}}\nfiles: [../../sales.csv]\n",
    );
    home.write("project/sales.csv", "region,units\nEast,2\n");
    let ran = run(&home, &["eval", "run", "--arms", "none,listed,forced,inlined", "--json"]);
    let kept = results(&home);
    assert_eq!(kept.len(), 4, "{}{}", ran.stdout, ran.stderr);
    for result in kept {
        let fired = result["fired"].as_array().expect("fired");
        match result["arm"].as_str().expect("an arm") {
            "none" | "inlined" => assert!(fired.is_empty(), "{result:#}"),
            "forced" => assert_eq!(fired[0]["step"], 0, "{result:#}"),
            _ => assert_eq!(fired[0]["step"], 1, "{result:#}"),
        }
        assert_eq!(
            result["triggers"].as_array().expect("triggers").is_empty(),
            result["arm"] != "listed"
        );
        // Two of the arms run its script, at the same time.
        if crate::run_support::holds_scripts(&home) && fired.len() == 1 {
            assert_eq!(result["checks"][0]["outcome"], "passed", "{result:#}");
        }
    }
}

#[test]
fn a_trial_works_in_a_folder_of_its_own() {
    let text = "input: note it\nskill: csv-summary\nfiles: {notes/a.txt: ../../given.txt}\nexpected:\n  output: {files: [{path: notes/b.txt, contains: hello}]}\n  actions: {must: [write_file], must_not: [run_command]}\n";
    let home = cases(text);
    home.write("project/given.txt", "given");
    let write = call("write_file", &json!({"path": "notes/b.txt", "content": "hello"}));
    let read = call("read_file", &json!({"path": "notes/a.txt"}));
    let model = scripted(&home, &json!([read, write, answer("done")]));
    // What is off by default is off in a trial too.
    let ran = run(&home, &["eval", "run", "--model", model, "--json"]);
    assert_eq!(report(&ran.stdout)["cases"][0]["arms"][0]["outcome"], "failed");
    let ran = run(&home, &["eval", "run", "--model", model, "--allow", "write_file", "--json"]);
    let kept = results(&home);
    assert_eq!(report(&ran.stdout)["cases"][0]["arms"][0]["outcome"], "passed", "{kept:#?}");
    assert!(!home.project().join("notes").exists());
    assert_eq!(std::fs::read_to_string(home.project().join("given.txt")).expect("there"), "given");
}

#[test]
fn what_was_done_instead_of_a_miss_is_named() {
    let home = cases(
        "input: x\nexpected: {skills: [csv-summary], actions: {order: [load_skill, run_script]}}\n",
    );
    let list = call("list_dir", &json!({"path": "."}));
    let model = scripted(&home, &json!([list, answer("done")]));
    run(&home, &["eval", "run", "--model", model]);
    let kept = results(&home);
    assert_eq!(kept[0]["triggers"][0]["fired"], false);
    assert!(
        kept[0]["triggers"][0]["instead"]
            .as_str()
            .expect("named")
            .starts_with("call_tool list_dir")
    );
}

#[test]
fn a_load_counts_within_the_steps_of_the_case() {
    let list = call("list_dir", &json!({"path": "."}));
    let late = json!([list, list.clone(), select(&["csv-summary"]), answer("done")]);
    for (within, fired) in [(2, false), (3, true)] {
        let home = cases(&format!(
            "input: x\nexpected: {{skills: [csv-summary]}}\nconstraints: {{trigger_within: {within}}}\n"
        ));
        let model = scripted(&home, &late);
        run(&home, &["eval", "run", "--model", model]);
        assert_eq!(results(&home)[0]["triggers"][0]["fired"], fired, "{within}");
    }
}

#[test]
fn a_run_that_was_interrupted_continues_where_it_stopped() {
    let many: Vec<String> = (0..40)
        .map(|n| format!("  - input: request {n}\n    expected: {{skills: []}}\n"))
        .collect();
    let home = cases(&format!("cases:\n{}", many.concat()));
    // The fourth request is not answered until the run has been stopped.
    let goes_on = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&goes_on);
    let server = Server::start(move |at, _| {
        if at < 3 || answers.load(Ordering::SeqCst) {
            Dialect::OpenAi.decides(&answer("no"))
        } else {
            Answer::silence()
        }
    });
    let command = || {
        let mut command = home.command(METIER);
        command.env("OPENAI_BASE_URL", server.url()).env("OPENAI_API_KEY", CANARY);
        command.args(["eval", "run", "--model", "openai:m", "--jobs", "1", "--json"]);
        command
    };
    let mut child = command().stdout(Stdio::null()).spawn().expect("starts");
    wait_while(&mut child, || server.asked().len() < 4);
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill").success());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert_eq!(results(&home).len(), 3, "it was stopped");
    goes_on.store(true, Ordering::SeqCst);
    let ran = TestHome::finish(&mut command());
    assert_eq!(report(&ran.stdout)["units"]["planned"], 40, "{}", ran.stderr);
    assert_eq!(results(&home).len(), 40);
    assert_eq!(server.asked().len(), 4 + 37, "what was there is not asked again");
}

#[test]
fn mistakes_in_case_files_are_shown_with_their_places_and_run_nothing() {
    let home = cases("cases:\n  - input: x\n    expect: {}\n");
    let ran = run(&home, &["eval"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(".agent/evals/cases.yaml:3:5: unknown key \"expect\"")
            || ran.stderr.contains("unknown key"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("did you mean `expected`?"), "{}", ran.stderr);
    let home = cases("");
    assert_eq!(run(&home, &["eval"]).code, 1);
    let home = TestHome::new();
    let none = run(&home, &["eval"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("metier eval init"), "{}", none.stderr);
    let home = cases("input: x\nexpected: {skills: [csv-sumary]}\n");
    let unknown = run(&home, &["eval"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("did you mean `csv-summary`?"), "{}", unknown.stderr);
}

#[test]
fn a_first_file_can_be_run_and_is_checked() {
    let home = TestHome::new();
    let made = run(&home, &["eval", "init", "csv-summary"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let text = std::fs::read_to_string(home.project().join(".agent/evals/csv-summary.yaml"))
        .expect("written");
    assert!(text.contains("# edit") && text.contains("not_skills"), "{text}");
    assert_ne!(run(&home, &["eval", "init", "csv-summary"]).code, 0, "it is not written over");
    let checked = run(&home, &["eval", "check", "--json"]);
    let checked: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    assert!(!checked["cases"].as_array().expect("cases").is_empty());
    let ran = run(&home, &["eval", "--json"]);
    assert!(report(&ran.stdout)["units"]["planned"].as_u64() > Some(0), "{}", ran.stderr);
}

#[test]
fn doubtful_cases_are_found() {
    let home = cases(
        "skill: csv-summary\ncases:\n  - {input: use the csv-summary skill, expected: {skills: csv-summary}}\n  - {input: 'Total of a.csv', expected: {skills: csv-summary}}\n  - {input: 'total of  a.csv', expected: {skills: csv-summary}}\n  - {input: b, expected: {not_skills: csv-summary}, constraints: {forbidden_tools: raed_file}}\n",
    );
    let checked = run(&home, &["eval", "check", "--json"]);
    assert_eq!(checked.code, 1);
    let checked: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let codes: Vec<&str> = checked["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|it| it["code"].as_str())
        .collect();
    for code in ["leaked-name", "duplicate", "few-positives", "few-negatives", "unknown-tool"] {
        assert!(codes.contains(&code), "{code}: {checked:#}");
    }
}

#[test]
fn names_that_nothing_here_has_are_found_before_a_check_can_only_pass() {
    for (expected, code, said, is_refused) in [
        ("{actions: {must_not: [load_skill froms]}}", "unknown-skill", "forms", true),
        ("{actions: {must_not: [run_script froms/scripts/x.py]}}", "unknown-skill", "forms", true),
        ("{actions: {must: [load_resource forms/nosuch.md]}}", "unknown-file", "nosuch.md", true),
        ("{actions: {order: [load_resource forms/SKILL.m]}}", "unknown-file", "SKILL.md", true),
        (
            "{actions: {must_not: [load_resource forms/nosuch.md]}}",
            "unknown-file",
            "nosuch.md",
            false,
        ),
        ("{actions: {must_not: [network_reqest]}}", "unknown-tool", "network_request", true),
        ("{actions: {must_not: [weather]}}", "unknown-tool", "weather", false),
        ("{output: {contains: ['']}}", "empty-text", "empty", true),
        ("{output: {regex: ['']}}", "empty-text", "empty", true),
    ] {
        let home = with_forms(&format!("input: hello there\nexpected: {expected}\n"));
        let checked = run(&home, &["eval", "check", "--json"]);
        let findings = checked.json()["findings"].clone();
        let found = findings.as_array().expect("findings").iter().find(|it| it["code"] == code);
        let found = found.unwrap_or_else(|| panic!("{expected}: {findings:#}"));
        assert!(checked.code == 1 && found.to_string().contains(said), "{expected}: {found}");
        let ran = run(&home, &["eval", "run"]);
        let is_fault = ran.stderr.contains("cases.yaml:1");
        assert_eq!(is_fault, is_refused, "{expected}: {ran:?}");
        assert!(!is_refused || ran.stderr.contains(said), "{expected}: {ran:?}");
    }
    for expected in [
        "{actions: {must_not: [load_skill forms, 'run_script forms/scripts/*', read_file]}}",
        "{actions: {must: [{tool: load_resource, skill: forms, path: nosuch.md, ok: false}]}}",
        "{actions: {must_not: [load_resource forms/SKILL.md]}}",
    ] {
        let home = with_forms(&format!("input: hello there\nexpected: {expected}\n"));
        let findings = run(&home, &["eval", "check", "--json"]).json()["findings"].clone();
        assert!(!findings.to_string().contains("unknown-"), "{expected}: {findings:#}");
    }
    let home = cases(
        "input: hello\nexpected: {output: hi}\nconstraints: {forbidden_tools: [write_fil]}\n",
    );
    let ran = run(&home, &["eval", "run"]);
    assert!(ran.code != 0 && ran.stderr.contains("did you mean `write_file`?"), "{ran:?}");
}

/// A skill of the user's own with a file, and these cases.
fn with_forms(text: &str) -> TestHome {
    let home = cases(text);
    home.skill("home/.agent/skills/forms", "forms", "Fill paper forms.");
    home.write("home/.agent/skills/forms/fields.md", "Fields.");
    home
}

#[test]
fn two_skills_that_say_the_same_are_named_with_their_words() {
    let home = TestHome::new();
    home.skill(
        "project/.agent/skills/ledger",
        "ledger",
        "Books invoices. Use when the user asks for booking invoices, totals of invoices.",
    );
    home.skill(
        "project/.agent/skills/billing",
        "billing",
        "Makes invoices. Use when the user asks for making invoices, totals of invoices.",
    );
    run(&home, &["trust", "--yes"]);
    let shown = run(&home, &["eval", "overlap", "ledger", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let pair = &shown["pairs"][0];
    assert!(pair["words"].to_string().contains("invoic"), "{shown:#}");
}

#[test]
fn skills_do_not_compete_for_words_that_say_nothing() {
    let home = TestHome::new();
    let ask = "Files leave requests. Use when the user says \"book my holiday\" or \"how many days are left\", such as now.";
    home.skill("project/.agent/skills/leave", "leave", ask);
    let shown: Value = run(&home, &["eval", "overlap", "-n", "99", "--json"]).json();
    for pair in shown["pairs"].as_array().expect("pairs") {
        assert_ne!(pair["words"], json!([]), "{pair}");
        let phrase = pair["example"].as_str().expect("a phrase");
        let words = phrase.split(' ').filter(|word| word.contains(char::is_alphanumeric));
        assert!(words.count() > 1 && !phrase.contains('"'), "{phrase}");
    }
}

#[test]
fn an_a_a_run_of_the_offline_model_has_no_noise() {
    let home = cases(TRIGGERS);
    let ran = run(&home, &["eval", "aa", "--json"]);
    let noise: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    assert_eq!((&noise["flips"], &noise["pairs"]), (&json!(0), &json!(5)));
}

#[test]
fn a_program_judges_in_the_sandbox() {
    if !crate::run_support::holds_scripts(&TestHome::new()) {
        return;
    }
    let text = "input: x\nskill: csv-summary\nexpected: {output: {commands: [[grep, -q, hello, '{answer}'], {command: [grep, -q, nothing, '{answer}'], exit: 1}]}}\n";
    let home = cases(text);
    let model = scripted(&home, &json!([answer("hello there")]));
    let ran = run(&home, &["eval", "run", "--model", model, "--run-commands", "--json"]);
    let kept = results(&home);
    assert_eq!(report(&ran.stdout)["cases"][0]["arms"][0]["outcome"], "passed", "{kept:#?}");
}

#[test]
fn a_run_is_exported_in_the_public_shapes_to_a_new_folder_only() {
    let home = cases(TRIGGERS);
    run(&home, &["eval"]);
    let exported = run(&home, &["eval", "export", "--out", "out", "--json"]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let path = home.project().join("out/benchmark.json");
    let text = std::fs::read_to_string(path).expect("the benchmark");
    let benchmark: Value = serde_json::from_str(&text).expect("JSON");
    let runs = benchmark["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 5, "{benchmark:#}");
    assert_eq!(runs[0]["configuration"], "with_skill");
    let again = run(&home, &["eval", "export", "--out", "out"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.stderr.contains("is there already"), "{again:?}");
}
