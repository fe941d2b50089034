//! Results that are kept, from outside: when one is used again and when not, which run is the last, what a run
//! that is stopped leaves, and two runs at once.

use std::process::{Child, Stdio};

use metier_testkit::TestHome;
use metier_testkit::agent::{answer, scripted, select};
use serde_json::{Value, json};

use crate::eval::{results, wait_while};
use crate::run_server::{Answer, CANARY, Server};
use crate::support::{METIER, run};

fn cases(text: &str) -> TestHome {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", text);
    home
}

fn count(home: &TestHome, args: &[&str]) -> usize {
    let ran = run(home, args);
    assert!(ran.code < 2, "{}{}", ran.stdout, ran.stderr);
    results(home).len()
}

/// The digest of the settings that a plan has.
fn settings(home: &TestHome, args: &[&str]) -> Value {
    let all: Vec<&str> = ["eval", "plan"].iter().chain(args).copied().collect();
    run(home, &all).json()["subject"]["settings"].clone()
}

fn start(home: &TestHome, args: &[&str]) -> Child {
    home.command(METIER).args(args).stdout(Stdio::null()).spawn().expect("starts")
}

#[test]
fn a_folder_that_is_named_stands_for_the_cases_of_its_skills() {
    let home = TestHome::new();
    let skill = "project/.agent/skills/letters";
    home.write(
        &format!("{skill}/SKILL.md"),
        "---\nname: letters\ndescription: Write letters. Use when the user asks for a letter.\n---\nWrite.\n",
    );
    home.write(&format!("{skill}/data.json"), "{}");
    let list = r#"[{"query": "write a letter to Ada", "should_trigger": true}]"#;
    home.write(&format!("{skill}/evals/triggers.json"), list);
    home.write("project/package.json", "{}");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    for folder in [".agent/skills/letters/evals", ".agent/skills/letters", ".agent/skills"] {
        let ran = run(&home, &["eval", "run", "--json", folder]);
        assert_eq!(ran.json()["units"]["planned"], 1, "{folder}: {}", ran.stderr);
        assert_eq!(ran.json()["cases"][0]["skill"], "letters", "{folder}");
    }
    home.write(
        "project/.agent/evals/one.yaml",
        "input: what is the capital of France?\nexpected: {skills: []}\n",
    );
    let ran = run(&home, &["eval", "run", "--json", "."]);
    assert_eq!(ran.json()["units"]["planned"], 2, "{}", ran.stderr);
    home.write("project/nothing/read.me", "");
    let none = run(&home, &["eval", "run", "nothing"]);
    assert!(none.code == 1 && none.stderr.contains("no case files in nothing"), "{}", none.stderr);
}

#[test]
fn a_skill_that_no_case_names_is_part_of_every_result() {
    let home = cases("input: own it\nexpected: {output: {contains: done}}\n");
    let folder = home.skill("project/.agent/skills/own", "own", "Owns things. Use for owning.");
    let model = scripted(&home, &json!([select(&["own"]), answer("done")]));
    let args = ["eval", "run", "--model", model];
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!((count(&home, &args), count(&home, &args)), (1, 1), "used again");
    let file = folder.join("SKILL.md");
    let text = std::fs::read_to_string(&file).expect("a skill");
    std::fs::write(&file, format!("{text}\nDo it another way.\n")).expect("writes");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(count(&home, &args), 2, "its text has changed");
    std::fs::create_dir_all(folder.join("references")).expect("dir");
    std::fs::write(folder.join("references/more.md"), "More.\n").expect("writes");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(count(&home, &args), 3, "a file of it is new");
}

#[test]
fn a_script_and_a_recording_count_by_what_is_in_them() {
    let judged = "input: hello\nskill: csv-summary\nexpected: {output: {contains: yes, judge: it is polite}}\n";
    let home = cases(judged);
    let verdict = |is_polite: bool| {
        let data = json!({"verdict": is_polite, "why": "so"});
        let reply = json!({"action": {"type": "final_answer", "text": "it", "data": data}});
        home.write("project/judge.json", json!({"replies": [reply]}).to_string());
    };
    verdict(true);
    let model = scripted(&home, &json!([answer("yes")]));
    let args = ["eval", "run", "--model", model, "--judge", "scripted:judge.json"];
    assert_eq!((count(&home, &args), count(&home, &args)), (1, 1));
    verdict(false);
    assert_eq!(count(&home, &args), 2, "the judge's script has changed");
    scripted(&home, &json!([answer("no")]));
    assert_eq!(count(&home, &args), 3, "the model's script has changed");
    let outcomes: Vec<String> =
        results(&home).iter().map(|it| it["checks"][0]["outcome"].to_string()).collect();
    assert!(outcomes.contains(&"\"failed\"".to_owned()), "{outcomes:?}");
    let unknown = run(&home, &["eval", "run", "--judge", "scripted:nowhere.json"]);
    assert_eq!(unknown.code, 1, "{}", unknown.stdout);
    assert!(unknown.stderr.contains("nowhere.json"), "{}", unknown.stderr);
}

#[test]
fn what_an_agent_may_spend_is_part_of_the_settings() {
    let home = cases("input: x\nexpected: {skills: []}\n");
    let budget = |turns: u32| {
        let agents = json!({"agents": {"small": {"budgets": {"turns": turns}}}});
        home.write("home/.agent/config.json", agents.to_string());
        settings(&home, &["--agent", "small"])
    };
    let (one, five) = (budget(1), budget(5));
    assert!(one.is_string() && one != five, "{one} {five}");
    assert_eq!(one, budget(1));
}

#[test]
fn the_last_run_is_the_one_that_was_made_last_even_when_nothing_was_tried() {
    let (one, two) = ("input: a\nexpected: {skills: []}\n", "input: b\nexpected: {skills: []}\n");
    let home = cases(one);
    let id = |args: &[&str]| run(&home, args).json()["plan"].clone();
    let first = id(&["eval", "--json"]);
    home.write("project/.agent/evals/cases.yaml", two);
    let second = id(&["eval", "--json"]);
    assert!(first != second && first.is_string(), "{first} {second}");
    assert_eq!(id(&["eval", "report", "--json"]), second);
    home.write("project/.agent/evals/cases.yaml", one);
    assert_eq!(id(&["eval", "--json"]), first, "all of it was there");
    assert_eq!(id(&["eval", "report", "--json"]), first);
    assert_eq!(results(&home).len(), 2);
}

#[test]
fn a_run_that_is_stopped_while_it_is_judged_stores_nothing_of_it() {
    let home = cases("input: x\nskill: csv-summary\nexpected: {output: {judge: it is polite}}\n");
    let judge = Server::start(|_, _| Answer::silence());
    let model = scripted(&home, &json!([answer("done")]));
    let mut command = home.command(METIER);
    command.env("OPENAI_BASE_URL", judge.url()).env("OPENAI_API_KEY", CANARY);
    command.args(["eval", "run", "--model", model, "--judge", "openai:m"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("starts");
    wait_while(&mut child, || judge.asked().is_empty());
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill").success());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert_eq!(results(&home), Vec::<Value>::new());
    let folders = std::fs::read_dir(home.project().join(".agent/evals/results"));
    let mut files = folders.expect("results").flatten();
    let attempts =
        files.find_map(|it| std::fs::read_to_string(it.path().join("attempts-0001.jsonl")).ok());
    let attempts = attempts.expect("a plan was worked on");
    assert!(attempts.lines().last().expect("a line").contains("released"), "{attempts}");
}

#[test]
fn two_runs_at_once_of_errors_that_repeat_both_come_to_an_end() {
    let many: Vec<String> =
        (0..8).map(|n| format!("  - input: request {n}\n    expected: {{skills: []}}\n")).collect();
    let home = cases(&format!("cases:\n{}", many.concat()));
    let fault = json!({"fault": "unauthorized", "message": "no key", "delay_ms": 30});
    let model = scripted(&home, &json!([fault]));
    let args = ["eval", "run", "--model", model, "--jobs", "1", "--json"];
    assert_eq!(count(&home, &args), 8);
    let children = [start(&home, &args), start(&home, &args)];
    for mut child in children {
        assert_eq!(child.wait().expect("ends").code(), Some(1));
    }
    let again = run(&home, &["eval", "report", "--json"]).json();
    assert_eq!(again["units"]["errors"], 8, "{again:#}");
}

#[test]
fn each_process_has_a_name_of_its_own_in_the_record() {
    let home = cases("input: x\nexpected: {skills: []}\n");
    let model = scripted(&home, &json!([{"fault": "unauthorized", "message": "no key"}]));
    for _ in 0..2 {
        count(&home, &["eval", "run", "--model", model]);
    }
    let results = home.project().join(".agent/evals/results");
    let folder = std::fs::read_dir(results).expect("lists").flatten();
    let folder = folder.map(|it| it.path()).find(|it| it.is_dir()).expect("a plan");
    let text = std::fs::read_to_string(folder.join("attempts-0001.jsonl")).expect("attempts");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let names: Vec<String> =
        lines.filter_map(|line| line["worker"].as_str().map(str::to_owned)).collect();
    assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert!(names.iter().all(|name| name.starts_with(&format!("{host}-"))), "{names:?}");
}

#[test]
fn a_page_replaces_no_file_of_cases_and_nothing_that_is_no_regular_file() {
    let text = "input: what is the capital of France?\nexpected: {skills: []}\n";
    let home = cases(text);
    home.write("project/real.html", "<!doctype html><p>old</p>");
    std::os::unix::fs::symlink("real.html", home.project().join("link.html")).expect("links");
    crate::support::fifo(&home.project().join("pipe"));
    home.write("project/empty.html", "");
    let kind = |name: &str| {
        std::fs::symlink_metadata(home.project().join(name)).map(|it| it.file_type()).ok()
    };
    for name in [".agent/evals/cases.yaml", "link.html", "pipe"] {
        let before = kind(name);
        for command in ["run", "report"] {
            let output = run(&home, &["eval", command, "--html", name]);
            assert!(
                output.code == 1 && output.stderr.contains("name another file"),
                "{name}: {output:?}"
            );
            assert!(
                !home.project().join(".agent/evals/results").exists(),
                "before anything is run"
            );
        }
        assert_eq!(kind(name), before);
    }
    assert_eq!(
        std::fs::read_to_string(home.project().join(".agent/evals/cases.yaml")).expect("kept"),
        text
    );
    for name in ["real.html", "empty.html", "new.html", "new.html"] {
        let output = run(&home, &["eval", "run", "--gate", "recall=none", "--html", name]);
        assert!(!output.stderr.contains("error:"), "{name}: {output:?}");
        let page = std::fs::read_to_string(home.project().join(name)).expect("a page");
        assert!(page.len() > 1000, "{name}");
    }
}
