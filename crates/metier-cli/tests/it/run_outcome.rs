//! How a run ended, for people and programs: the exit code, `run.finished`, `runs` and `show` agree, and
//! what was tried counts more than what the model says.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, events, holds_scripts, is_sound, project, resource, run_scripted,
    run_scripted_for, script, select,
};
use crate::support::{json, run};

/// A project with a skill of the user's whose scripts end well and badly.
fn with_skill() -> TestHome {
    let home = project();
    home.skill("home/.agents/skills/work", "work", "Works.");
    home.write("home/.agents/skills/work/scripts/good.sh", "echo fine\n");
    home.write("home/.agents/skills/work/scripts/bad.sh", "echo no >&2\nexit 7\n");
    home.write("home/.agents/skills/work/references/a.md", "# A\n");
    home
}

fn ending(status: &str) -> Value {
    let mut reply = answer("Everything is fine.");
    reply["action"]["status"] = json!(status);
    reply
}

/// The exit code, and the status that everything agrees on.
fn ended(home: &TestHome, replies: &Value, flags: &[&str]) -> (i32, String) {
    let output = run_scripted(home, replies, flags);
    let last = events(home).pop().expect("an event");
    assert_eq!(last["type"], "run.finished", "{output:?}");
    let status = last["status"].as_str().expect("a status").to_owned();
    let listed = json(home, &["runs", "--json", "--limit", "1"]);
    assert_eq!(listed["runs"][0]["status"], json!(status), "{output:?}");
    let listed = json(home, &["runs", "--json", "--status", &status]);
    assert!(!listed["runs"].as_array().expect("a list").is_empty());
    assert!(run(home, &["show"]).stdout.contains(&status), "{status}");
    assert_eq!(output.stdout, "Everything is fine.\n", "the answer is printed all the same");
    is_sound(home);
    (output.code, status)
}

#[test]
fn numbers_in_an_answer_are_the_same_after_a_replay() {
    let home = project();
    // Every step is a multiplication, so the numbers have all the digits that they can have.
    let mut number = 0.1_f64;
    let numbers: Vec<f64> = std::iter::repeat_with(|| {
        number *= 1.718_281_828_459_045;
        if number > 1e9 {
            number *= 1e-15;
        }
        number
    })
    .take(200)
    .collect();
    let mut reply = answer("x");
    reply["action"]["data"] = json!({ "numbers": numbers });
    run_scripted(&home, &json!([reply]), &[]);
    let last = events(&home).pop().expect("an event");
    assert_eq!(last["data"]["numbers"], json!(numbers));
    is_sound(&home);
    let replayed = run(&home, &["replay", "last"]);
    assert!(replayed.code == 0 && replayed.stdout.contains("all reproduced"), "{replayed:?}");
}

/// What it is, the actions, the flags, the exit code and the status.
type Case<'c> = (&'c str, Vec<Value>, &'c [&'c str], i32, &'c str);

#[test]
fn what_was_tried_decides_and_not_what_the_model_says() {
    if !holds_scripts(&project()) {
        return;
    }
    let (good, bad) =
        (script("work", "scripts/good.sh", &[]), script("work", "scripts/bad.sh", &[]));
    let missing = script("work", "scripts/none.sh", &[]);
    let write = call("write_file", &json!({"path": "out.txt", "content": "x"}));
    let unread = call("read_file", &json!({"path": "missing.txt"}));
    let allowed = ["--yes"];
    let denied = ["--yes", "--deny", "run_script"];
    let writing = ["--yes", "--allow", "write_file"];
    let cases: Vec<Case<'_>> = vec![
        ("a script that worked", vec![good.clone()], &allowed, 0, "completed"),
        ("a script that failed", vec![bad.clone()], &allowed, 1, "failed"),
        ("a script that does not exist", vec![missing.clone()], &allowed, 1, "failed"),
        ("a denied script", vec![good.clone()], &denied, 3, "denied"),
        ("a denied write", vec![write.clone()], &allowed, 3, "denied"),
        ("a failure, then a denial", vec![bad.clone(), write.clone()], &allowed, 3, "denied"),
        ("a denial, then a failure", vec![write.clone(), bad.clone()], &allowed, 1, "failed"),
        ("a failure, then a success", vec![bad.clone(), good.clone()], &allowed, 0, "completed"),
        ("a success, then a failure", vec![good.clone(), bad.clone()], &allowed, 0, "completed"),
        ("a failure, then a write", vec![bad.clone(), write.clone()], &writing, 0, "completed"),
        ("a read that found nothing", vec![unread.clone()], &allowed, 0, "completed"),
        ("a failure, then a read", vec![bad, unread], &allowed, 1, "failed"),
        (
            "a file of the skill",
            vec![resource("work", "references/a.md")],
            &allowed,
            0,
            "completed",
        ),
        ("nothing but the skill", vec![], &allowed, 0, "completed"),
    ];
    for (what, actions, flags, code, status) in cases {
        let home = with_skill();
        let mut replies = vec![select(&["work"])];
        replies.extend(actions);
        replies.push(answer("Everything is fine."));
        assert_eq!(ended(&home, &json!(replies), flags), (code, status.to_owned()), "{what}");
    }
}

#[test]
fn a_model_can_say_that_nothing_came_of_it_but_not_that_something_did() {
    let home = with_skill();
    for (said, code, status) in
        [("done", 0, "completed"), ("abstained", 1, "abstained"), ("failed", 1, "failed")]
    {
        let ended = ended(&home, &json!([ending(said)]), &[]);
        assert_eq!(ended, (code, status.to_owned()), "{said}");
        assert!(!run(&home, &["runs"]).stderr.contains("metier resume"), "it is over");
        assert_eq!(run(&home, &["resume", "last"]).code, 1);
    }
    // A word that is none costs a turn.
    let replies = json!([{"raw": ending("great").to_string()}, answer("Everything is fine.")]);
    assert_eq!(ended(&home, &replies, &[]), (0, "completed".to_owned()));
    assert_eq!(events(&home).iter().filter(|it| it["type"] == "decision.invalid").count(), 1);
}

#[test]
fn a_dry_run_is_not_completed() {
    if !holds_scripts(&project()) {
        return;
    }
    let home = with_skill();
    let replies = json!([
        select(&["work"]),
        script("work", "scripts/bad.sh", &[]),
        answer("Everything is fine."),
    ]);
    assert_eq!(ended(&home, &replies, &["--dry-run"]), (0, "dry_run".to_owned()));
    let denied = ended(&home, &replies, &["--dry-run", "--deny", "run_script"]);
    assert_eq!(denied, (3, "denied".to_owned()), "it says what would happen");
}

#[test]
fn a_budget_is_exceeded_by_the_use_after_the_last() {
    let read = |name: &str| call("read_file", &json!({ "path": name }));
    let sales = || read("examples/sales.csv");
    let run_it = || script("work", "scripts/good.sh", &[]);
    let with = |actions: &[Value]| {
        let mut replies = vec![select(&["work"])];
        replies.extend(actions.iter().cloned());
        replies.push(answer("Everything is fine."));
        json!(replies)
    };
    let exhausted = (4, "budget_exhausted".to_owned());
    let completed = (0, "completed".to_owned());
    let cases = [
        (json!({"tool_calls": 1}), with(&[sales()]), &completed),
        (json!({"tool_calls": 1}), with(&[sales(), read("todo.txt")]), &exhausted),
        (json!({"tool_calls": 0}), with(&[]), &completed),
        (json!({"tool_calls": 0}), with(&[sales()]), &exhausted),
        (json!({"script_runs": 0}), with(&[]), &completed),
        (json!({"script_runs": 0}), with(&[sales()]), &completed),
        (json!({"script_runs": 0}), with(&[run_it()]), &exhausted),
        (json!({"script_runs": 1}), with(&[run_it()]), &completed),
        (json!({"script_runs": 1}), with(&[run_it(), run_it()]), &exhausted),
        (json!({"script_runs": 1, "tool_calls": 1}), with(&[run_it()]), &completed),
        (json!({"turns": 2}), with(&[]), &completed),
        (json!({"turns": 1}), with(&[]), &exhausted),
    ];
    for (budgets, replies, expected) in cases {
        let home = with_skill();
        if !holds_scripts(&home) {
            return;
        }
        home.write("home/.agent/config.json", json!({ "budgets": budgets }).to_string());
        assert_eq!(&ended(&home, &replies, &["--yes"]), expected, "{budgets}: {replies}");
        let spent = &events(&home).pop().expect("an event")["spent"];
        for (budget, limit) in budgets.as_object().expect("an object") {
            let over = u64::from(budget == "turns");
            assert!(spent[budget].as_u64() <= limit.as_u64().map(|it| it + over), "{budgets}");
        }
    }
}

#[test]
fn uses_misses_and_cost_of_skills_are_counted_from_the_runs_of_the_project() {
    let home = with_skill();
    let none = json(&home, &["stats", "--json"]);
    assert_eq!((&none["runs"], &none["skills"]), (&json!(0), &json!([])));
    for _ in 0..2 {
        let replies = json!([select(&["work"]), select(&["nothing"]), answer("x")]);
        assert_eq!(run_scripted(&home, &replies, &[]).code, 0);
    }
    let denied = ["--deny", "load_skill"];
    let _ = run_scripted(&home, &json!([select(&["work"]), answer("x")]), &denied);
    let stats = json(&home, &["stats", "--json"]);
    assert_eq!((&stats["runs"], &stats["skipped"]), (&json!(3), &json!(0)));
    let skill = &stats["skills"][0];
    assert_eq!((&skill["skill"], &skill["uses"]), (&json!("user:work"), &json!(2)), "{stats}");
    // A skill that no rule lets load is not on the model's list, and is the same skill.
    assert_eq!(skill["misses"], 1, "{stats}");
    assert!(skill["tokens"].as_u64() > Some(10), "{stats}");
    assert!(skill["last_use"].as_str().is_some_and(|time| time.starts_with("20")), "{stats}");
    assert_eq!(stats["skills"][1]["skill"], "nothing", "{stats}");
    assert_eq!(
        (&stats["skills"][1]["uses"], &stats["skills"][1]["misses"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(stats["skills"].as_array().map(Vec::len), Some(2), "{stats}");
    let shown = run(&home, &["stats"]);
    assert!(shown.stdout.contains("user:work"), "{shown:?}");
    assert!(shown.stderr.contains("from 3 runs of this project"), "{shown:?}");
}

#[test]
fn a_skill_is_one_row_however_it_was_called() {
    let home = with_skill();
    home.skill("project/.agent/skills/work", "work", "Works in the project.");
    let by_source = |name: &str, source: &str| json!({"action": {"type": "select_skills", "reason": "x", "skills": [{"name": name, "source": source}]}});
    let denied = ["--deny", "load_skill"];
    for (first, flags) in [
        (select(&["work"]), &[][..]),
        (by_source("work", "project"), &[]),
        (by_source("work", "user"), &[]),
        (select(&["user:work"]), &[]),
        (select(&["work"]), &denied),
        (by_source("work", "project"), &denied),
        (by_source("csv-summary", "builtin"), &[]),
        (select(&["csv-summary"]), &[]),
        (select(&["csv-summary"]), &denied),
        (by_source("nothing", "user"), &[]),
    ] {
        let _ = run_scripted(&home, &json!([first, answer("x")]), &[&["--yes"], flags].concat());
    }
    let stats = json(&home, &["stats", "--json"]);
    let rows = stats["skills"].as_array().expect("skills").iter();
    let rows: Vec<Value> =
        rows.map(|row| json!([row["skill"], row["uses"], row["misses"]])).collect();
    let expected = [
        json!(["builtin:csv-summary", 2, 1]),
        json!(["project:work", 2, 2]),
        json!(["user:work", 2, 0]),
        json!(["user:nothing", 0, 1]),
    ];
    assert_eq!(rows, expected, "{stats}");
}

#[test]
fn what_is_long_has_a_reference_in_its_report_and_after_it_was_shortened() {
    let home = with_skill();
    let long = "one line of the body\n".repeat(900);
    let text = format!("---\nname: work\ndescription: Works.\n---\n# Work\n\n{long}");
    home.write("home/.agents/skills/work/SKILL.md", &text);
    home.write("home/.agents/skills/work/references/long.md", format!("# L\n{long}"));
    let replies = json!([
        select(&["work"]),
        resource("work", "references/long.md"),
        answer("Everything is fine."),
    ]);
    assert_eq!(ended(&home, &replies, &[]), (0, "completed".to_owned()));
    let events = events(&home);
    let finished: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "action.finished").collect();
    for event in finished {
        let stored = event["data"]["report"]["storage_ref"].as_str().expect("a reference");
        assert_eq!(event["storage_ref"], stored);
        let text = std::fs::read_to_string(home.project().join(stored)).expect("it is there");
        assert!(text.contains("one line of the body"), "{stored}");
    }
}

#[test]
fn the_offline_model_abstains_where_nothing_fits() {
    let home = project();
    let output = run(&home, &["run", "zzz qqq xxx"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(events(&home).pop().expect("an event")["status"], "abstained");
    if holds_scripts(&home) {
        let request = "summarise examples/sales.csv by region";
        assert_eq!(run(&home, &["run", "--yes", request]).code, 0);
        let denied = run(&home, &["run", "--yes", "--deny", "run_script", request]);
        assert_eq!(denied.code, 3, "{denied:?}");
        let dry = run(&home, &["run", "--dry-run", request]);
        assert_eq!(dry.code, 0, "{dry:?}");
        assert_eq!(events(&home).pop().expect("an event")["status"], "dry_run");
        let unloaded = run(&home, &["run", "--yes", "--deny", "load_skill", request]);
        assert!(matches!(unloaded.code, 1 | 3), "{unloaded:?}");
    }
}

#[test]
fn a_script_that_fails_three_times_alike_is_a_loop_and_no_copy_of_it_is_named() {
    let home = with_skill();
    if !holds_scripts(&home) {
        return;
    }
    // As a traceback does: its own path, and that of the file that it was given.
    home.write(
        "home/.agents/skills/work/scripts/bad.sh",
        "echo \"$0: cannot read $1\" >&2\nexit 7\n",
    );
    home.write("project/table.csv", "a\n");
    let bad = script("work", "scripts/bad.sh", &["table.csv"]);
    let replies = json!([select(&["work"]), bad, bad, bad, ending("done")]);
    assert_eq!(ended(&home, &replies, &["--yes"]), (1, "stuck".to_owned()));
    let events = events(&home);
    let finished = events.iter().filter(|event| event["type"] == "action.finished");
    let failed: Vec<&str> = finished
        .filter(|event| {
            event["code"] == "ScriptFailed" || event["outcome"]["code"] == "ScriptFailed"
        })
        .filter_map(|event| event["text"].as_str().or(event["outcome"]["text"].as_str()))
        .collect();
    assert_eq!(failed.len(), 3, "{events:?}");
    for text in failed {
        assert!(text.contains("scripts/bad.sh: cannot read table.csv"), "{text}");
        assert!(!text.contains("/stage/") && !text.contains("/project/"), "{text}");
    }
}

#[test]
fn a_run_says_that_nothing_was_changed_whatever_its_answer_says() {
    let home = project();
    home.write("project/old.txt", "kept\n");
    let claim = json!([answer("It is deleted."), answer("It is deleted.")]);
    let output = run_scripted_for(&home, &claim, "Delete the file old.txt.");
    assert_eq!((output.code, output.stdout.as_str()), (0, "It is deleted.\n"), "{output:?}");
    assert!(output.stderr.contains("nothing was changed in this run"), "{output:?}");
    let last = events(&home).pop().expect("an event");
    assert_eq!(last["message"], "nothing was changed in this run");
    is_sound(&home);
}
