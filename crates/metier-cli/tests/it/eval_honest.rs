//! What a harness gets wrong without anyone noticing, from outside: skills that changed, refusals that look like
//! choices, failures inside subagents, tries that did not work, files that were there before.

use metier_testkit::agent::{answer, call, script, scripted, select};
use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::{METIER, run};

fn home_with(cases: &str) -> TestHome {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", cases);
    home
}

/// The first case in the first arm.
fn arm(ran: &Output) -> Value {
    ran.json()["cases"][0]["arms"][0].clone()
}

fn evaluated(home: &TestHome, replies: &Value, more: &[&str]) -> Output {
    let model = scripted(home, replies);
    run(home, &[&["eval", "run", "--json", "--model", model][..], more].concat())
}

const SKILL: &str = "---\nname: letters\ndescription: Write letters to customers. Use when the user asks for a letter.\n---\n\nWrite it.\n";

#[test]
fn a_skill_that_changed_since_it_was_trusted_is_not_measured_as_one_that_is_never_loaded() {
    let home =
        home_with("input: please write a letter to our customers\nexpected: {skills: [letters]}\n");
    home.write("project/.agent/skills/letters/SKILL.md", SKILL);
    assert_eq!(run(&home, &["eval"]).code, 3);
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(arm(&run(&home, &["eval", "--json"]))["outcome"], "passed");
    home.write("project/.agent/skills/letters/SKILL.md", format!("{SKILL}More.\n"));
    let ran = run(&home, &["eval"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let said = "letters of this project has changed since it was trusted";
    assert!(ran.stderr.contains(said) && ran.stderr.contains("metier trust"), "{ran:?}");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(arm(&run(&home, &["eval", "--json"]))["outcome"], "passed");
}

#[test]
fn a_load_that_a_rule_asks_about_is_an_error_and_no_miss() {
    let home = home_with("input: x\nexpected: {skills: [csv-summary]}\n");
    let rule = json!({"permissions": [{"permission": "load_skill", "pattern": "csv-summary", "effect": "ask"}]});
    home.write("home/.agent/config.json", rule.to_string());
    let replies = json!([select(&["csv-summary"]), answer("done")]);
    let ran = evaluated(&home, &replies, &[]);
    assert_eq!(arm(&ran)["errors"], json!({"skill_not_loadable": 1}), "{ran:?}");
    assert!(ran.stdout.contains("--allow load_skill:csv-summary"), "{ran:?}");
}

#[test]
fn a_subagent_whose_model_fails_makes_the_trial_an_error() {
    let home = TestHome::new();
    home.write(
        "home/.agent/skills/helper/SKILL.md",
        "---\nname: helper\ndescription: Looks deeply.\nrun-mode: subagent\n---\nWork.\n",
    );
    for expected in
        ["{skills: [helper, csv-summary]}", "{not_skills: [csv-summary]}", "{output: done}"]
    {
        home.write("project/.agent/evals/cases.yaml", format!("input: x\nexpected: {expected}\n"));
        let replies = json!([select(&["helper"]), {"fault": "server_error"}, answer("done")]);
        let ran = evaluated(&home, &replies, &[]);
        assert_eq!(arm(&ran)["errors"], json!({"provider": 1}), "{expected}: {ran:?}");
        assert_eq!(ran.json()["verdict"]["verdict"], "invalid");
    }
    // One that works is one action and one answer, and what it took counts.
    let counts = "input: x\nexpected: {actions: {counts: [{action: load_skill helper, min: 1, max: 1}, \
                  {action: final_answer, min: 1, max: 1}]}}\n";
    home.write("project/.agent/evals/cases.yaml", counts);
    let script = json!({"rules": [{"when": {"loaded": "helper"}, "reply": answer("inner")}],
                        "replies": [select(&["helper"]), answer("done")]});
    home.write("project/inner.json", script.to_string());
    let ran = run(&home, &["eval", "run", "--json", "--model", "scripted:inner.json"]);
    assert_eq!(arm(&ran)["outcome"], "passed", "{ran:?}");
    let cost = &ran.json()["arms"][0]["cost"];
    assert_eq!(cost["model_calls"]["value"], 3.0, "{cost}");
}

#[test]
fn what_was_tried_and_failed_was_not_done() {
    let missing = call("read_file", &json!({"path": "nosuch.txt"}));
    let replies = json!([missing, answer("done")]);
    for (checks, outcome) in [
        ("{must: [read_file]}", "failed"),
        ("{order: [read_file]}", "failed"),
        ("{counts: [{action: read_file, min: 1}]}", "failed"),
        ("{must_not: [read_file]}", "failed"),
        ("{counts: [{action: read_file, min: 0, max: 0}]}", "failed"),
        ("{must: [{tool: read_file, ok: false}]}", "passed"),
    ] {
        let home = home_with(&format!("input: x\nexpected: {{actions: {checks}}}\n"));
        let ran = evaluated(&home, &replies, &[]);
        assert_eq!(arm(&ran)["outcome"], outcome, "{checks}: {ran:?}");
    }
}

#[test]
fn a_file_that_the_case_brought_is_not_one_that_was_made() {
    let home = TestHome::new();
    home.write("project/.agent/evals/form.txt", "empty");
    let case = "input: fill it in\nfiles: [form.txt]\nexpected: {output: {files: ['*.txt']}}\n";
    home.write("project/.agent/evals/cases.yaml", case);
    let nothing = json!([answer("done")]);
    assert_eq!(arm(&evaluated(&home, &nothing, &[]))["outcome"], "failed");
    let filled = call("write_file", &json!({"path": "form.txt", "content": "Ada"}));
    let ran = evaluated(&home, &json!([filled, answer("done")]), &["--allow", "write_file"]);
    assert_eq!(arm(&ran)["outcome"], "passed", "{ran:?}");
}

#[test]
fn a_file_that_a_script_left_is_found_however_deep_it_lies_and_wherever() {
    if !crate::run_support::holds_scripts(&TestHome::new()) {
        return;
    }
    // One level less than a script may leave, and so two more than are listed of a skill.
    let deep = "a/".repeat(14) + "report.txt";
    let made = [deep.as_str(), "node_modules/x/index.js", ".git/config"];
    let case = |wanted: &str| {
        format!("input: x\nskill: make\nexpected: {{output: {{files: ['{wanted}']}}}}\n")
    };
    for (wanted, outcome) in
        made.iter().map(|name| (*name, "passed")).chain([("node_modules/y", "failed")])
    {
        let home = home_with(&case(wanted));
        home.skill("home/.agent/skills/make", "make", "Makes files. Use for making files.");
        let lines = made.iter().map(|name| {
            let folder = name.rsplit_once('/').expect("a folder").0;
            format!("mkdir -p 'outputs/{folder}' && echo made > 'outputs/{name}'\n")
        });
        let lines = lines.collect::<String>();
        home.write("home/.agent/skills/make/scripts/make.sh", lines);
        let replies =
            json!([select(&["make"]), script("make", "scripts/make.sh", &[]), answer("done")]);
        let ran = evaluated(&home, &replies, &["--allow", "run_script"]);
        assert_eq!(arm(&ran)["outcome"], outcome, "{wanted}: {ran:?}");
    }
}

#[test]
fn forbidden_tools_take_names_and_wildcards_and_no_rules() {
    let write = call("write_file", &json!({"path": "a.txt", "content": "x"}));
    let replies = json!([write, answer("done")]);
    for forbidden in ["write_file", "'write*'", "'*'"] {
        let home = home_with(&format!(
            "input: x\nconstraints: {{forbidden_tools: [{forbidden}]}}\nexpected: {{output: done}}\n"
        ));
        let ran = evaluated(&home, &replies, &["--allow", "write_file"]);
        assert_eq!(arm(&ran)["outcome"], "failed", "{forbidden}: {ran:?}");
    }
    for harmless in ["load_resource", "search_skills", "'delete*'"] {
        let home = home_with(&format!(
            "input: x\nconstraints: {{forbidden_tools: [{harmless}]}}\nexpected: {{output: done}}\n"
        ));
        let ran = evaluated(&home, &json!([answer("done")]), &[]);
        assert_eq!(arm(&ran)["outcome"], "passed", "{harmless}: {ran:?}");
    }
    let home = home_with("input: x\nconstraints: {forbidden_tools: ['write_file:*.txt']}\n");
    let ran = evaluated(&home, &replies, &[]);
    assert!(ran.code == 1 && ran.stdout.contains("is not the name of a tool"), "{ran:?}");
}

#[test]
fn a_skill_that_the_request_calls_by_name_is_no_trigger() {
    let positives = "please use the csv-summary skill on this";
    let home = home_with(&format!("input: {positives}\nexpected: {{skills: [csv-summary]}}\n"));
    let checked = run(&home, &["eval", "check"]);
    assert!(checked.stdout.contains("leaked-name"), "{checked:?}");
    let ran = evaluated(&home, &json!([answer("done")]), &[]);
    let report = ran.json();
    assert_eq!(arm(&ran)["outcome"], "passed", "{report:#}");
    let skills = report["skills"].as_array().expect("skills");
    assert!(skills.iter().all(|skill| skill.get("recall").is_none()), "{report:#}");
    // One that should not be loaded is a failure all the same.
    let home = home_with(&format!("input: {positives}\nexpected: {{not_skills: [csv-summary]}}\n"));
    assert_eq!(arm(&evaluated(&home, &json!([answer("done")]), &[]))["outcome"], "failed");
}

#[test]
fn where_a_model_is_reached_belongs_to_what_a_result_came_of() {
    let home = home_with("input: x\nexpected: {skills: []}\n");
    let plan = |address: &str| {
        let mut command = home.command(METIER);
        command.env("OPENAI_BASE_URL", address).env("OPENAI_API_KEY", "key");
        command.args(["eval", "plan", "--model", "openai:m"]);
        TestHome::finish(&mut command).stdout
    };
    let (one, other) = (plan("http://127.0.0.1:1/v1"), plan("http://127.0.0.1:2/v1"));
    assert!(one.contains("\"subject\""), "{one}");
    assert_ne!(one, other);
    assert_eq!(one, plan("http://127.0.0.1:1/v1"));
}

#[test]
fn programs_that_judge_have_no_more_time_than_the_trial() {
    let home = home_with(
        "input: x\nconstraints: {timeout_s: 1}\nexpected: {output: {commands: [[sleep, '30']]}}\n",
    );
    let ran = evaluated(&home, &json!([answer("done")]), &["--run-commands"]);
    assert_eq!(arm(&ran)["errors"], json!({"timed_out": 1}), "{ran:?}");
    let home = home_with("input: x\nexpected: {output: {commands: [[no-such-program]]}}\n");
    let ran = evaluated(&home, &json!([answer("done")]), &["--run-commands"]);
    assert_eq!(arm(&ran)["errors"], json!({"grader": 1}), "{ran:?}");
    assert!(!ran.stdout.contains("bug in the tool"), "{ran:?}");
}

#[test]
fn a_case_may_say_what_the_offline_model_decides() {
    let replies = json!([select(&["csv-summary"]), answer("done")]);
    let case = json!({"input": "greet me", "replies": replies, "expected": {
        "skills": ["csv-summary"], "actions": {"order": ["load_skill csv-summary", "final_answer"]}}});
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.json", json!({"cases": [case]}).to_string());
    let ran = run(&home, &["eval", "--json"]);
    assert_eq!(arm(&ran)["outcome"], "passed", "{ran:?}");
    // Another model decides by itself.
    assert_eq!(arm(&evaluated(&home, &json!([answer("done")]), &[]))["outcome"], "failed");
    let bad = json!({"input": "x", "replies": [{"action": 7}], "expected": {"output": "x"}});
    home.write("project/.agent/evals/cases.json", json!({"cases": [bad]}).to_string());
    let ran = run(&home, &["eval", "check"]);
    assert!(ran.code == 1 && ran.stderr.contains("`replies` cannot be read"), "{ran:?}");
}

#[test]
fn errors_are_no_noise() {
    let home = home_with("input: x\nskill: csv-summary\nexpected: {output: done}\n");
    let model = scripted(&home, &json!([{"fault": "server_error"}]));
    let ran = run(&home, &["eval", "aa", "--model", model]);
    assert!(ran.code == 1 && ran.stdout.starts_with("noise: not measured"), "{ran:?}");
    assert!(ran.stdout.contains("`metier eval run` with the same options"), "{ran:?}");
    let run_again = run(&home, &["eval", "run", "--model", "replay:last"]);
    assert!(run_again.code != 0, "{run_again:?}");
}

#[test]
fn doubtful_cases_are_named_and_others_are_not() {
    let home = home_with(
        "cases:\n  - {input: first, expected: {skills: [csv-summary]}}\n  - {input: second, expected: {skills: []}}\n  \
         - {input: third}\n  - {input: fourth, tags: [trigger], expected: {skills: []}}\n",
    );
    let ran = run(&home, &["eval", "check"]);
    assert!(ran.stdout.contains("expects-nothing"), "{ran:?}");
    assert!(ran.stdout.contains("only 2 of the cases should not load csv-summary"), "{ran:?}");
    let zero = home_with("input: x\nconstraints: {trigger_within: 0}\nexpected: {skills: []}\n");
    let ran = run(&zero, &["eval", "check"]);
    assert!(ran.code == 1 && ran.stderr.contains("`trigger_within` is 0"), "{ran:?}");
}

#[test]
fn a_regression_stands_in_every_form() {
    let cases = "skill: csv-summary\ncases:\n  - {id: a, input: greet me, expected: {output: Good}}\n  \
                 - {id: b, input: greet her, expected: {output: Good}}\n";
    let home = home_with(cases);
    let good = evaluated(&home, &json!([answer("Good day.")]), &["--gate", "pass_rate=none"]);
    home.write("project/before.json", &good.stdout);
    let model = scripted(&home, &json!([answer("Bad day.")]));
    let args =
        ["eval", "run", "--model", model, "--baseline", "before.json", "--gate", "pass_rate=none"];
    let form = |more: &[&str]| run(&home, &[&args[..], more].concat());
    let junit = form(&["--format", "junit"]);
    assert!(junit.code == 1 && junit.stdout.contains("name=\"baseline\""), "{junit:?}");
    assert!(junit.stdout.contains("<failure message=\"REGRESSION\""), "{junit:?}");
    let github = form(&["--format", "github"]);
    assert!(github.stdout.contains("::error title=Evals%3A REGRESSION"), "{github:?}");
    let page = form(&["--html", "page.html"]);
    let html = std::fs::read_to_string(home.project().join("page.html")).expect("a page");
    assert!(html.contains("REGRESSION"), "{page:?}");
    // Without noise no test decides, and none is claimed to.
    assert!(page.stdout.contains("no noise: worse") && !page.stdout.contains("-0.0"), "{page:?}");
}

#[test]
fn results_that_cannot_be_read_are_named_and_a_summary_that_cannot_be_written_loses_none() {
    let home = home_with("input: x\nskill: csv-summary\nexpected: {output: done}\n");
    let replies = json!([answer("done")]);
    assert_eq!(arm(&evaluated(&home, &replies, &[]))["outcome"], "passed");
    let results = home.project().join(".agent/evals/results");
    let plans = std::fs::read_dir(&results).expect("results").flatten().map(|entry| entry.path());
    let plan = plans.into_iter().find(|path| path.is_dir()).expect("a plan");
    let file = plan.join("results-0001.jsonl");
    let text = std::fs::read_to_string(&file).expect("text");
    std::fs::write(&file, text.replace("done", "gone")).expect("writes");
    let ran = run(&home, &["eval", "report"]);
    assert!(ran.stderr.contains("are left out (1)"), "{ran:?}");
    let mut command = home.command(METIER);
    command.env("GITHUB_STEP_SUMMARY", home.project().join("no/such/file"));
    command.args(["eval", "report", "--format", "github"]);
    let ran = TestHome::finish(&mut command);
    assert!(ran.stdout.starts_with("::"), "{ran:?}");
    assert!(ran.stderr.contains("GITHUB_STEP_SUMMARY"), "{ran:?}");
    // A plan that an editor ended with a line is the same plan.
    let manifest = plan.join("plan.json");
    let text = std::fs::read_to_string(&manifest).expect("text") + "\n";
    std::fs::write(&manifest, text).expect("writes");
    assert!(!run(&home, &["eval", "report"]).stderr.contains("was changed"));
}

#[test]
fn descriptions_that_are_the_same_overlap_whatever_they_are_like() {
    let home = TestHome::new();
    let long = "Keeps the notes of long meetings with many people from all parts of the company together with \
                everything that was decided there and by whom and until when it has to be done by all of them";
    for (name, text) in
        [("notes", long), ("translate", "Translate"), ("han", "翻译"), ("kana", "かなだけ")]
    {
        for end in ["a", "b"] {
            let skill = format!("---\nname: {name}-{end}\ndescription: {text}\n---\n\nX.\n");
            home.write(&format!("home/.agent/skills/{name}-{end}/SKILL.md"), skill);
        }
    }
    let pairs = run(&home, &["eval", "overlap", "--json", "--limit", "100"]).json();
    let found = |name: &str| {
        let pairs = pairs["pairs"].as_array().expect("pairs");
        pairs.iter().any(|pair| {
            pair["skill"] == format!("{name}-a") && pair["other"] == format!("{name}-b")
        })
    };
    for name in ["notes", "translate", "han", "kana"] {
        assert!(found(name), "{name}: {pairs:#}");
    }
}

#[test]
fn a_skill_that_no_model_is_shown_is_an_error_also_where_it_should_not_be_loaded() {
    let home = home_with("input: what is new?\nexpected: {not_skills: [hidden]}\n");
    home.write(
        "home/.agent/skills/hidden/SKILL.md",
        "---\nname: hidden\ndescription: Tells the news.\ndisable-model-invocation: true\n---\nTell.\n",
    );
    let ran = run(&home, &["eval", "--json"]);
    assert_eq!(arm(&ran)["errors"], json!({"skill_not_loadable": 1}), "{ran:?}");
}

#[test]
fn a_trial_in_which_every_tool_is_forbidden_may_load_its_skill() {
    let case = "input: summarise sales.csv by region\nexpected: {skills: [csv-summary]}\n\
                constraints: {forbidden_tools: ['*']}\n";
    let ran = run(&home_with(case), &["eval", "--json"]);
    // What it did then is judged: the skill's script is one of the tools.
    assert_eq!(arm(&ran)["triggers"][0]["loaded"]["successes"], 1, "{ran:?}");
}

#[test]
fn results_are_not_used_again_where_a_variable_that_scripts_see_has_another_value() {
    let home = home_with("input: x\nexpected: {skills: []}\n");
    home.write("home/.agent/config.json", json!({"execution": {"env": ["REGION"]}}).to_string());
    let plan = |value: &str| {
        let mut command = home.command(METIER);
        let ran = TestHome::finish(command.args(["eval", "--json"]).env("REGION", value));
        assert!(!ran.stdout.contains(value), "{ran:?}");
        ran.json()["plan"].clone()
    };
    let north = plan("secret-north");
    assert_eq!(plan("secret-north"), north);
    assert_ne!(plan("secret-south"), north);
}

#[test]
fn without_the_skill_a_failure_stops_no_run_that_stops_at_failures() {
    let case = |input: &str| {
        format!("  - {{input: {input}, expected: {{output: {{contains: never said}}}}}}\n")
    };
    let home = home_with(&format!("skill: csv-summary\ncases:\n{}{}", case("one"), case("two")));
    let args = ["eval", "run", "--json", "--jobs", "1", "--fail-fast=failures", "--arms", "none"];
    let ran = run(&home, &args);
    assert_eq!(ran.json()["units"]["missing"], 0, "{ran:?}");
    let ran = run(&home, &[&args[..6], &["--arms", "listed"]].concat());
    assert_eq!(ran.json()["units"]["missing"], 1, "{ran:?}");
}

#[test]
fn the_exit_code_says_that_the_noise_of_a_set_was_not_measured_for_a_spent_limit() {
    let home = home_with(
        "cases: [{input: one, expected: {skills: []}}, {input: two, expected: {skills: []}}]\n",
    );
    let ran = run(&home, &["eval", "aa", "--jobs", "1", "--max-calls", "1"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("a limit was spent before both halves were done"), "{ran:?}");
}

#[test]
fn evals_of_the_users_own_skills_are_run_where_they_are_named() {
    let home = home_with("input: x\nexpected: {skills: []}\n");
    home.skill("home/.agent/skills/own", "own", "Something of the user's own.");
    let own = "[{query: something of my own, should_trigger: true}]\n";
    home.write("home/.agent/skills/own/evals/evals.yaml", own);
    assert_eq!(run(&home, &["eval", "--json"]).json()["cases"].as_array().map(Vec::len), Some(1));
    let path = home.home().join(".agent/skills/own/evals");
    let ran = run(&home, &["eval", "run", "--json", path.to_str().expect("a path")]);
    assert_eq!(ran.json()["cases"][0]["skill"], "own", "{ran:?}");
}

#[test]
fn calls_that_failed_are_calls_and_an_order_says_that_they_did_not_work() {
    let missing = call("read_file", &json!({"path": "nosuch.txt"}));
    let replies = json!([missing, call("read_file", &json!({"path": "none.txt"})), answer("done")]);
    for (limit, outcome) in [(1, "failed"), (2, "passed")] {
        let home = home_with(&format!("input: x\nconstraints: {{max_tool_calls: {limit}}}\n"));
        let ran = evaluated(&home, &replies, &[]);
        assert_eq!(arm(&ran)["outcome"], outcome, "{limit}: {ran:?}");
        assert_eq!(ran.json()["arms"][0]["cost"]["tool_calls"]["value"], 2.0, "{ran:?}");
    }
    for mode in ["in_order", "any_order", "exact"] {
        let home = home_with(&format!(
            "input: x\nexpected: {{actions: {{order: {{mode: {mode}, actions: [read_file]}}}}}}\n"
        ));
        let ran = run(&home, &["eval", "run", "--model", scripted(&home, &replies)]);
        assert!(
            ran.stdout.contains("NotFound") && !ran.stdout.contains("was not done"),
            "{mode}: {ran:?}"
        );
    }
}
