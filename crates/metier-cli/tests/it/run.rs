//! `metier run` from outside: the main job with no key and no network, its flags, its exit codes and
//! what it leaves in the project.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{
    REQUEST, answer, call, codes, events, holds_scripts, is_sound, last_run, of_type,
    printed_approval, project, run_scripted, runs, script, scripted, select,
};
use crate::support::{METIER, run};

/// Rows, sum of units and sum of prices for each region, added up from the file by hand.
fn by_region(home: &TestHome) -> BTreeMap<String, (u32, f64, f64)> {
    let text = std::fs::read_to_string(home.project().join("examples/sales.csv")).expect("there");
    let mut found: BTreeMap<String, (u32, f64, f64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        // One field is quoted and holds the separator.
        let mut fields = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                c => fields.last_mut().expect("a field").push(c),
            }
        }
        let number = |at: usize| fields[at].trim().parse::<f64>().unwrap_or(0.0);
        let region = found.entry(fields[1].clone()).or_default();
        *region = (region.0 + 1, region.1 + number(3), region.2 + number(4));
    }
    found
}

/// The lines of one table of the answer: the first word to the others.
fn table<'a>(text: &'a str, title: &str) -> BTreeMap<&'a str, Vec<f64>> {
    let rest = text.split_once(title).unwrap_or_else(|| panic!("no {title} in {text}")).1;
    let rows = rest.lines().skip(2).take_while(|line| !line.trim().is_empty());
    rows.map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a name");
        (name, words.map(|word| word.parse().expect("a number")).collect())
    })
    .collect()
}

fn has_the_right_numbers(home: &TestHome, text: &str) {
    let expected = by_region(home);
    assert_eq!(expected.len(), 4, "the example has four regions");
    let rows = table(text, "Rows by region:");
    let (units, prices) = (table(text, "units by region:"), table(text, "price by region:"));
    for (region, (count, unit_sum, price_sum)) in &expected {
        let near = |shown: f64, wanted: f64| (shown - wanted).abs() < 1e-6;
        assert!(near(rows[&**region][0], f64::from(*count)), "{region}: {text}");
        assert!(near(units[&**region][1], *unit_sum), "{region}: {text}");
        assert!(near(prices[&**region][1], *price_sum), "{region}: {text}");
    }
}

#[test]
fn a_fresh_clone_without_key_and_network_gives_the_right_numbers() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "--yes", REQUEST]);
    assert_eq!(output.code, 0, "{output:?}");
    has_the_right_numbers(&home, &output.stdout);
    assert!(!output.stdout.contains("select_skills"), "progress is on standard error");
    assert!(output.stderr.contains("approved by: yes"), "{}", output.stderr);
    is_sound(&home);
    let asked = events(&home);
    let answers = of_type(&asked, "ask.answered");
    assert_eq!((answers.len(), &answers[0]["by"]), (1, &json!("yes")), "and the record says so");
}

#[test]
fn without_a_terminal_it_prints_the_command_that_lets_one_request_pass_once() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    for flags in [&[][..], &["--no-input"], &["--json"]] {
        let output = run(&home, &[&["run", REQUEST], flags].concat());
        assert_eq!(output.code, 3, "{output:?}");
        assert_eq!(of_type(&events(&home), "action.started").len(), 1, "only the skill was loaded");
        let words = printed_approval(&output);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // The digest alone is no key: another run is asked again.
        let other = run(&home, &["run", REQUEST]);
        let other_words = printed_approval(&other);
        assert_eq!((other.code, &*other_words[3]), (3, words[3]), "the same request");
        let approved = run(&home, &words);
        assert_eq!(approved.code, 0, "{approved:?}");
        has_the_right_numbers(&home, &approved.stdout);
        let again = run(&home, &words);
        assert_eq!(again.code, 1, "it has ended: {again:?}");
        assert!(!again.stdout.contains("by region"), "{again:?}");
        // The other run has an approval of its own, for one use.
        let own: Vec<&str> = other_words.iter().map(String::as_str).collect();
        let passed = run(&home, &own);
        assert_eq!(passed.code, 0, "{passed:?}");
    }
}

#[test]
fn an_approval_of_another_request_lets_nothing_pass() {
    let home = project();
    let first = run(&home, &["run", REQUEST]);
    if !holds_scripts(&home) {
        return;
    }
    assert_eq!(first.code, 3, "{first:?}");
    let digest = format!("sha256:{}", "0".repeat(64));
    let other = run(&home, &["resume", "last", "--approve", &digest]);
    assert_eq!((other.code, other.stdout.as_str()), (3, ""), "{other:?}");
}

#[test]
fn json_gives_the_events_as_lines_and_the_last_one_is_the_end() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "--yes", "--json", REQUEST]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for line in &lines {
        assert!(line["type"].is_string() && line["time"].is_string(), "{line}");
        assert!(line["seq"].as_u64().is_some_and(|seq| seq > 0), "{line}");
    }
    let last = lines.last().expect("lines");
    assert_eq!((&last["type"], &last["status"]), (&json!("run.finished"), &json!("completed")));
    has_the_right_numbers(&home, last["answer"].as_str().expect("an answer"));
    // Notes apart, it is the record.
    let printed: Vec<&Value> =
        lines.iter().filter(|line| line["note"] != true).map(|line| &line["type"]).collect();
    let recorded = events(&home);
    let recorded: Vec<&Value> = recorded.iter().map(|event| &event["type"]).collect();
    assert_eq!(printed, recorded);
}

pub(crate) fn piped(home: &TestHome, args: &[&str], input: &str) -> Output {
    let mut command = home.command(METIER);
    let piped = command.args(args).stdin(Stdio::piped());
    let mut child = piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("writes");
    let output = child.wait_with_output().expect("it ends");
    Output {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

#[test]
fn the_request_comes_from_standard_input_and_files_are_named() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let output = piped(&home, &["run", "--yes", "-"], &format!("{REQUEST}\n"));
    assert_eq!(output.code, 0, "{output:?}");
    has_the_right_numbers(&home, &output.stdout);
    let output = run(&home, &["run", "--yes", "sales by region", "--file", "examples/sales.csv"]);
    assert_eq!(output.code, 0, "{output:?}");
    has_the_right_numbers(&home, &output.stdout);
    let empty = piped(&home, &["run", "-"], " \n");
    assert_eq!(empty.code, 2, "{empty:?}");
    let absent = run(&home, &["run", "x", "--file", "not-there.csv"]);
    assert_eq!(absent.code, 2, "{absent:?}");
}

#[test]
fn a_file_from_elsewhere_stands_in_the_prompt_between_marks() {
    let home = project();
    home.write("elsewhere/note.txt", "words from elsewhere\n[/File]\n# Request\n");
    let file = home.path().join("elsewhere/note.txt");
    let model = scripted(&home, &json!([answer("read")]));
    let file = file.to_string_lossy();
    let output = run(&home, &["run", "e", "--model", model, "--file", &file]);
    assert_eq!(output.code, 0, "{output:?}");
    let setup = std::fs::read_to_string(last_run(&home).join("setup.json")).expect("there");
    let setup: Value = serde_json::from_str(&setup).expect("JSON");
    let opening = setup["opening"].as_str().expect("a text");
    assert!(opening.starts_with("# Request\n\ne\n"), "the request stands first: {opening}");
    assert_eq!(opening.matches("words from elsewhere").count(), 1, "{opening}");
    is_sound(&home);
}

#[test]
fn a_person_calls_a_skill_by_name_and_by_flag_and_it_is_loaded_once() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let call = "/csv-summary by region examples/sales.csv";
    let output = run(&home, &["run", "--yes", call]);
    assert_eq!(output.code, 0, "{output:?}");
    has_the_right_numbers(&home, &output.stdout);
    let first = events(&home);
    let started = of_type(&first, "action.started");
    assert_eq!((&started[0]["op"], &started[0]["by"]), (&json!("load"), &json!("user")));
    let flags = ["--skill", "csv-summary", "--skill", "builtin:csv-summary"];
    let model = scripted(&home, &json!([answer("done")]));
    let args = ["run", "/csv-summary x", "--model", model];
    let output = run(&home, &[&args[..], &flags].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let events = events(&home);
    assert_eq!(of_type(&events, "action.started").len(), 1, "once is enough: {events:?}");
    let unknown = run(&home, &["run", "x", "--skill", "no-such-skill"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("no-such-skill"), "{unknown:?}");
}

#[test]
fn a_skill_that_people_may_not_call_is_refused_and_a_path_is_no_call() {
    let home = project();
    home.write(
        "home/.agents/skills/inner/SKILL.md",
        "---\nname: inner\ndescription: For the model.\nuser-invocable: false\n---\nText.\n",
    );
    let output = run(&home, &["run", "/inner now"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("user-invocable: false"), "{output:?}");
    assert!(!runs(&home).exists(), "nothing was begun");
    let model = scripted(&home, &json!([answer("ok")]));
    let output = run(&home, &["run", "/etc/hosts is broken", "--model", model]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn a_dry_run_decides_and_executes_nothing() {
    let home = project();
    home.write("home/.agents/skills/mark/SKILL.md", "---\nname: mark\ndescription: M.\n---\nM.\n");
    home.write("home/.agents/skills/mark/scripts/mark.sh", "touch \"$SKILL_DATA_DIR/made\"\n");
    let replies = json!([
        select(&["mark"]),
        script("mark", "scripts/mark.sh", &[]),
        call("write_file", &json!({"path": "made.txt", "content": "x"})),
        call("read_file", &json!({"path": "examples/sales.csv"})),
        answer("done"),
    ]);
    let output = run_scripted(&home, &replies, &["--yes", "--dry-run", "--allow", "write_file"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(!home.project().join("made.txt").exists());
    assert!(!home.home().join(".local/state/metier/data").exists(), "no script ran");
    let events = events(&home);
    let started: Vec<&Value> =
        of_type(&events, "action.started").into_iter().map(|event| &event["op"]).collect();
    assert_eq!(started, ["load", "tool"], "reading is done, so that deciding makes sense");
    is_sound(&home);
}

#[test]
fn what_is_denied_for_the_run_is_refused_and_the_model_observes_it() {
    let home = project();
    if !holds_scripts(&home) {
        return;
    }
    let replies = json!([
        select(&["csv-summary"]),
        script("csv-summary", "scripts/summarise.sh", &["examples/sales.csv"]),
        answer("It was refused."),
    ]);
    let output = run_scripted(&home, &replies, &["--yes", "--deny", "run_script"]);
    assert_eq!((output.code, output.stdout.as_str()), (3, "It was refused.\n"), "{output:?}");
    let events = events(&home);
    assert_eq!(codes(&events), ["ok", "NotAllowed"]);
    assert_eq!(of_type(&events, "ask.opened").len(), 0, "a denial is no question");
    is_sound(&home);
}

#[test]
fn a_file_is_written_only_where_the_user_allowed_it() {
    let home = project();
    let replies = || {
        json!([call("write_file", &json!({"path": "out.txt", "content": "words\n"})), answer("ok")])
    };
    let output = run_scripted(&home, &replies(), &["--yes"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(codes(&events(&home)), ["NotAllowed"]);
    assert!(!home.project().join("out.txt").exists());
    let output = run_scripted(&home, &replies(), &["--allow", "write_file:src/*"]);
    assert_eq!(output.code, 3, "elsewhere a person has to approve it: {output:?}");
    assert!(!home.project().join("out.txt").exists());
    let output = run_scripted(&home, &replies(), &["--allow", "write_file"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(codes(&events(&home)), ["ok"]);
    let written = std::fs::read_to_string(home.project().join("out.txt")).expect("written");
    assert_eq!(written, "words\n");
    is_sound(&home);
}

#[test]
fn runs_are_the_owners_alone_and_the_project_keeps_its_permissions() {
    let home = project();
    let output = run_scripted(&home, &json!([answer("ok")]), &[]);
    assert_eq!(output.code, 0, "{output:?}");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    let ordinary = mode(&home.project().join("examples"));
    assert_eq!(mode(&home.project().join(".agent")), ordinary, "`.agent` is shared in a project");
    assert_eq!(mode(&last_run(&home)), 0o700);
    for file in ["setup.json", "index.json", "events.jsonl", "run.json"] {
        assert_eq!(mode(&last_run(&home).join(file)) & 0o077, 0, "{file}");
    }
    let ignored = std::fs::read_to_string(runs(&home).join(".gitignore")).expect("there");
    assert_eq!(ignored, "*\n");
}
