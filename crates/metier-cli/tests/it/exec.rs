//! `metier exec` and `metier tools`: what may run, what runs, and what is reported, with real scripts in
//! the real sandbox. Every escape is tried with `metier-sandbox`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_testkit::{Output, TestHome};
use serde_json::Value;

use crate::support::{METIER, document, json, keys, run, shown};

const SKILL: &str = "home/.agents/skills/work";

/// A user's skill whose script is `text`.
fn skill(home: &TestHome, more: &str, script: &str, text: &str) {
    home.write(
        &format!("{SKILL}/SKILL.md"),
        format!("---\nname: work\ndescription: Works.\n{more}---\n# Work\n"),
    );
    home.write(&format!("{SKILL}/{script}"), text);
}

/// Whether this machine holds scripts at all; says so where it does not.
fn holds(home: &TestHome) -> bool {
    let best = json(home, &["doctor", "--json"])["sandbox"]["best"].clone();
    if best == "strong" || best == "medium" {
        return true;
    }
    metier_testkit::not_tested(format_args!("this machine holds no script (sandbox {best})"));
    false
}

fn exec(home: &TestHome, args: &[&str]) -> Value {
    let output = run(home, &[&["exec", "--json", "--yes", "work"], args].concat());
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_script_runs_confined_and_its_output_is_given() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    let script = "#!/bin/sh\necho \"$1\" \"$(cat \"$2\")\"\necho problem >&2\npwd\n\
                  echo kept > outputs/result.txt\nexit 4\n";
    skill(&home, "", "scripts/run.sh", script);
    home.write("project/note.txt", "words");
    let document = exec(&home, &["scripts/run.sh", "--", "hello", "note.txt"]);
    assert_eq!(
        keys(&document),
        [
            "answered",
            "effect",
            "exit_code",
            "hint",
            "kept",
            "left_out",
            "network",
            "outputs",
            "outputs_fault",
            "removed",
            "report",
            "request",
            "skill",
            "stderr",
            "stdout",
            "tier",
            "timed_out",
            "warnings"
        ]
    );
    assert_eq!(document["exit_code"], 4);
    let stdout = document["stdout"].as_str().expect("a text");
    assert!(stdout.starts_with("hello words\n"), "{document}");
    assert!(!stdout.contains("/project\n"), "it runs in a directory of its own: {document}");
    assert_eq!(document["stderr"], "problem\n");
    assert_eq!((&document["answered"], &document["effect"]), (&"yes".into(), &"ask".into()));
    let kept = document["outputs"][0].as_str().expect("a file");
    assert_eq!(std::fs::read_to_string(kept).expect("kept"), "kept\n");
}

#[test]
fn the_built_in_script_gives_the_right_numbers() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    home.write("project/sales.csv", "region,amount\nnorth,10\nsouth,5\n");
    let args = ["exec", "--yes", "profile-csv", "scripts/profile_csv.py", "--", "sales.csv"];
    let output = run(&home, &args);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.starts_with("sales.csv has 2 rows and 2 columns.\n"), "{output:?}");
    let output = run(&home, &[&args[..], &["--json"]].concat());
    let profile: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!((&profile["rows"], &profile["columns"][1]["max"]), (&2.into(), &10.into()));
}

#[test]
fn without_a_terminal_the_command_that_lets_it_pass_is_printed() {
    let home = TestHome::new();
    skill(&home, "", "scripts/run.sh", "echo ran \"$1\"\n");
    let refused = run(&home, &["exec", "work", "scripts/run.sh", "--", "it's me"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""), "{refused:?}");
    let command =
        refused.stderr.split("approve this request once: ").nth(1).expect("a command").trim();
    if !holds(&home) {
        return;
    }
    let pasted = |command: &str| -> Output {
        let line = command.replacen("metier", METIER, 1);
        TestHome::finish(home.command("sh").args(["-c", &line]))
    };
    let passed = pasted(command);
    assert_eq!((passed.code, passed.stdout.as_str()), (0, "ran it's me\n"), "{passed:?}");
    for _ in 0..3 {
        let again = pasted(command);
        assert_eq!(again.code, 3, "once is once, and a refusal is no new leave: {again:?}");
    }
    // Nothing is remembered, and the approval is good for no other request.
    assert_eq!(run(&home, &["exec", "work", "scripts/run.sh", "--", "it's me"]).code, 3);
    assert_eq!(pasted(&command.replace("me'", "you'")).code, 3);
    home.write(&format!("{SKILL}/scripts/run.sh"), "echo changed\n");
    assert_eq!(pasted(command).code, 3, "a changed script was never approved");
}

#[test]
fn the_printed_command_lets_odd_arguments_pass_as_they_were() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "printf '<%s>' \"$@\"\n");
    let odd =
        ["two\nlines\ttab", "end\n\n", "esc\u{1b}[2J%d\\n", "\u{202e}back", "$(id) `id` it's", ""];
    let args = [&["exec", "work", "scripts/run.sh", "--"], &odd[..]].concat();
    let refused = run(&home, &args);
    assert_eq!(refused.code, 3, "{refused:?}");
    let command = refused.stderr.split("approve this request once: ").nth(1).expect("a command");
    assert!(!command.contains(['\u{1b}', '\u{202e}']), "it could deceive who pastes it: {command}");
    let line = command.trim().replacen("metier", METIER, 1);
    let passed = TestHome::finish(home.command("sh").args(["-c", &line]));
    let expected = odd.iter().map(|word| format!("<{word}>")).collect::<Vec<_>>().concat();
    assert_eq!((passed.code, passed.stdout.as_str()), (0, expected.as_str()), "{command}");
}

#[test]
fn a_script_does_not_read_the_keys_in_a_workspace() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    let script = "cd \"$WORKSPACE_DIR\"\ncat app/.env.example app/main.py\n\
                  cat .env app/.env.local link app/id_rsa || true\n";
    skill(&home, "", "scripts/run.sh", script);
    for secret in ["project/.env", "project/app/.env.local", "project/app/id_rsa"] {
        home.write(secret, "KEY-OF-THE-PROJECT");
    }
    home.write("project/app/.env.example", "template ");
    home.write("project/app/main.py", "code\n");
    std::os::unix::fs::symlink(".env", home.path().join("project/link")).expect("links");
    let document = exec(&home, &["scripts/run.sh"]);
    assert_eq!(document["stdout"], "template code\n", "{document}");
}

#[test]
fn only_the_outputs_of_a_script_are_kept() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    let script = "env > tmp/env; env > .profile; mkdir x; env > x/y; echo kept > outputs/file\n";
    skill(&home, "", "scripts/run.sh", script);
    home.write("home/.agent/config.json", r#"{"execution": {"env": ["SHOP_TOKEN"]}}"#);
    let output =
        TestHome::finish(home.command(METIER).env("SHOP_TOKEN", "canary-in-the-mine").args([
            "exec",
            "--json",
            "--yes",
            "work",
            "scripts/run.sh",
        ]));
    let document: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let file = document["outputs"][0].as_str().expect("a file");
    assert_eq!(std::fs::read_to_string(file).expect("kept"), "kept\n");
    let found =
        TestHome::finish(home.command("grep").args(["-rl", "canary-in-the-mine"]).arg(home.path()));
    assert_eq!((found.code, found.stdout.as_str()), (1, ""), "the canary is in no file");
}

#[test]
fn long_output_that_is_no_text_loses_no_line_and_what_is_cut_is_reported() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    let script = "i=0; while [ $i -lt 4000 ]; do printf 'z\\351ro %04d\\n' $i; i=$((i+1)); done\n";
    skill(&home, "", "scripts/run.sh", script);
    let output = run(&home, &["exec", "--yes", "work", "scripts/run.sh"]);
    let numbers: Vec<&str> =
        output.stdout.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    let expected: Vec<String> = (0..4000).map(|number| format!("{number:04}")).collect();
    assert_eq!(numbers, expected);
    skill(&home, "", "scripts/run.sh", "head -c 70000000 /dev/zero | tr '\\0' a\n");
    let output = run(&home, &["exec", "--yes", "work", "scripts/run.sh"]);
    assert_eq!(output.stdout.len(), 64 << 20);
    assert!(output.stderr.contains("2891136 bytes of the output are missing"), "{}", output.stderr);
}

#[test]
fn allowed_tools_is_a_ceiling_that_yes_does_not_lift() {
    let home = TestHome::new();
    skill(&home, "allowed-tools: Read\n", "scripts/run.sh", "echo ran\n");
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "*", "pattern": "*", "effect": "allow"}]}"#,
    );
    for args in [
        &["exec", "--json", "work", "scripts/run.sh"][..],
        &["exec", "--json", "--yes", "work", "scripts/run.sh"],
    ] {
        let error = document(&home, &run(&home, args), 3);
        assert_eq!(error["error"]["code"], "NotAllowed");
        let report = error["error"]["message"].as_str().expect("a text");
        assert!(report.contains("allowed-tools"), "{report}");
    }
    let tools = json(&home, &["tools", "--json", "--skill", "work"]);
    for tool in tools["tools"].as_array().expect("a list") {
        let expected = match tool["name"].as_str().expect("a name") {
            "load_skill" | "read_file" => "allow",
            _ => "deny",
        };
        assert_eq!(tool["effect"], expected, "{tool}");
    }
}

#[test]
fn a_rule_about_an_argument_holds_as_it_was_typed_and_as_it_is_passed() {
    let home = TestHome::new();
    skill(&home, "", "scripts/cat.sh", "cat \"$@\"\n");
    home.write("project/secret.txt", "words");
    for pattern in ["work/scripts/cat.sh secret.txt", "work/scripts/cat.sh */secret.txt"] {
        let rule =
            serde_json::json!({"permission": "run_script", "pattern": pattern, "effect": "deny"});
        let config = serde_json::json!({ "permissions": [rule] });
        home.write("home/.agent/config.json", config.to_string());
        let output = run(&home, &["exec", "--yes", "work", "scripts/cat.sh", "--", "secret.txt"]);
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{pattern}: {output:?}");
    }
}

#[test]
fn what_was_approved_is_what_runs_though_the_file_is_swapped_and_swapped_back() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "echo good\n");
    for at in 0..200 {
        home.write(&format!("{SKILL}/references/{at}.md"), "text\n");
    }
    let script = home.path().join(format!("{SKILL}/scripts/run.sh"));
    let (good, evil) = (home.write("good", "echo good\n"), home.write("evil", "echo evil\n"));
    let swap = |from: &Path| {
        let staged = home.path().join("staged");
        std::fs::copy(from, &staged).expect("copies");
        std::fs::rename(&staged, &script).expect("renames");
    };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let digest =
        json(&home, &["explain", "run_script", "scripts/run.sh", "--skill", "work", "--json"]);
    assert_eq!(digest["effect"], "ask");
    // An approval of the good content only: with `--yes` each content would be approved anew.
    let refused = run(&home, &["exec", "work", "scripts/run.sh"]);
    let command = refused
        .stderr
        .split("approve this request once: ")
        .nth(1)
        .expect("a command")
        .trim()
        .to_owned();
    let (mut ran, mut evil_ran) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                swap(&evil);
                std::thread::sleep(Duration::from_millis(3));
                swap(&good);
                std::thread::sleep(Duration::from_millis(12));
            }
        });
        for _ in 0..25 {
            // Each exit code 3 of the good content prepares the next approval.
            run(&home, &["exec", "work", "scripts/run.sh"]);
            let line = command.replacen("metier", METIER, 1);
            let output = TestHome::finish(home.command("sh").args(["-c", &line]));
            ran += usize::from(output.stdout.contains("good"));
            evil_ran += usize::from(output.stdout.contains("evil"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    println!("ran {ran} of 25 times");
    assert_eq!(evil_ran, 0);
}

#[test]
fn long_output_is_given_whole_and_links_are_no_outputs() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    let script =
        "seq 1 60000\nln -s /etc/passwd outputs/link\nmkfifo outputs/pipe\necho x > outputs/real\n";
    skill(&home, "", "scripts/run.sh", script);
    let output = run(&home, &["exec", "--yes", "work", "scripts/run.sh"]);
    let mut expected = String::new();
    for number in 1..=60000 {
        expected.push_str(&format!("{number}\n"));
    }
    assert_eq!(output.stdout.len(), expected.len(), "{}", output.stderr);
    assert!(output.stdout == expected);
    let document = exec(&home, &["scripts/run.sh"]);
    let outputs = document["outputs"].as_array().expect("a list");
    assert_eq!(outputs.len(), 1, "{document}");
}

#[test]
fn what_a_killed_run_left_is_swept_up_and_what_was_kept_stays() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "echo ran\n");
    let exec = "home/.local/state/metier/exec";
    home.write(&format!("{exec}/1-4194304/stage/skill/SKILL.md"), "left");
    let kept = home.write(&format!("{exec}/1-4194303/stage/work/outputs/file"), "kept");
    let output = run(&home, &["exec", "--yes", "work", "scripts/run.sh"]);
    assert_eq!(output.stdout, "ran\n", "{output:?}");
    assert!(!home.path().join(format!("{exec}/1-4194304")).exists());
    assert!(kept.exists());
}

#[test]
fn what_was_kept_goes_after_a_month() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "echo kept > outputs/result.txt\n");
    let kept = |document: &Value| PathBuf::from(document["kept"].as_str().expect("a folder"));
    let (old, young) = (exec(&home, &["scripts/run.sh"]), exec(&home, &["scripts/run.sh"]));
    let (old, young) = (kept(&old), kept(&young));
    let age = |folder: &Path, days: u64| {
        let time = SystemTime::now() - Duration::from_hours(days * 24);
        for file in ["outputs/result.txt", "outputs", "stdout", "stderr", ""] {
            let file = std::fs::File::open(folder.join(file));
            file.and_then(|file| file.set_modified(time)).expect("a time");
        }
    };
    age(&old, 31);
    age(&young, 29);
    exec(&home, &["scripts/run.sh"]);
    assert!(!old.exists());
    assert_eq!(std::fs::read(young.join("outputs/result.txt")).expect("kept"), b"kept\n");
}

#[test]
fn a_skill_that_is_switched_off_runs_nothing() {
    let home = TestHome::new();
    skill(&home, "", "scripts/run.sh", "echo ran\n");
    assert_eq!(run(&home, &["disable", "work"]).code, 0);
    let refused = run(&home, &["exec", "--yes", "work", "scripts/run.sh"]);
    insta::assert_snapshot!(shown(&home, &refused), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: user:work is switched off
    help: `metier enable user:work` switches it on
    ");
    let args = ["exec", "--json", "--yes", "user:work", "scripts/run.sh"];
    let error = document(&home, &run(&home, &args), 1);
    assert_eq!(error["error"]["code"], "skill-disabled");
    assert_eq!(run(&home, &["run", "/work", "--model", "router"]).code, 1, "as everywhere");
    assert_eq!(run(&home, &["enable", "work"]).code, 0);
    if holds(&home) {
        assert_eq!(exec(&home, &["scripts/run.sh"])["stdout"], "ran\n");
    }
}

#[test]
fn a_workspace_that_would_show_keys_is_not_shown() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/cat.sh", "cat \"$@\" || echo unreadable\n");
    home.write("home/.ssh/id_ed25519", "PRIVATE-KEY-BYTES");
    let args = ["exec", "--yes", "work", "scripts/cat.sh", "--", "id_ed25519"];
    let output = crate::support::run_in(&home, "home/.ssh", &args);
    assert!(output.stdout.ends_with("unreadable\n"), "{output:?}");
    assert!(output.stderr.contains("scripts do not see"), "{output:?}");
}

#[test]
fn a_project_is_trusted_by_its_content() {
    let home = TestHome::new();
    let dir = "project/.agents/skills/theirs";
    home.skill(dir, "theirs", "Came with a clone.");
    home.write(&format!("{dir}/scripts/run.sh"), "echo ran\n");
    let exec =
        |args: &[&str]| run(&home, &[&["exec"], args, &["theirs", "scripts/run.sh"]].concat());
    assert_eq!(exec(&["--yes"]).code, 3, "an untrusted project's scripts do not run");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(exec(&[]).code, 3, "trusted, it still asks");
    if holds(&home) {
        assert_eq!(exec(&["--yes"]).stdout, "ran\n");
    }
    home.write(&format!("{dir}/scripts/run.sh"), "echo changed\n");
    assert_eq!(exec(&["--yes"]).code, 3, "a change of content takes the trust away");
}

#[test]
fn a_script_that_does_not_end_is_stopped() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "trap '' TERM\necho started\nsleep 600\n");
    let output =
        run(&home, &["exec", "--json", "--yes", "--timeout", "1", "work", "scripts/run.sh"]);
    let document: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!((output.code, &document["timed_out"]), (1, &true.into()), "{document}");
    assert_eq!(document["stdout"], "started\n");
}

#[test]
fn a_script_sees_only_the_variables_that_it_was_promised_and_shows_no_secret() {
    let home = TestHome::new();
    if !holds(&home) {
        return;
    }
    skill(&home, "", "scripts/run.sh", "env\ncat \"$1\" || echo unreadable\n");
    home.write("home/.ssh/id_ed25519", "PRIVATE-KEY-BYTES");
    home.write("home/.agent/config.json", r#"{"execution": {"env": ["SHOP_TOKEN", "SHOP_NAME"]}}"#);
    let secret = home.path().join("home/.ssh/id_ed25519");
    let output = TestHome::finish(
        home.command(METIER)
            .env("SHOP_TOKEN", "tok-4711-very-secret")
            .env("SHOP_NAME", "corner shop")
            .env("CANARY", "canary-in-the-mine")
            .args(["exec", "--yes", "work", "scripts/run.sh", "--"])
            .arg(secret),
    );
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains("SHOP_NAME=corner shop"), "{all}");
    assert!(all.contains("SHOP_TOKEN="), "{all}");
    assert!(all.contains("unreadable"), "{all}");
    for hidden in ["tok-4711", "canary-in-the-mine", "PRIVATE-KEY-BYTES"] {
        assert!(!all.contains(hidden), "{hidden} in {all}");
    }
}

#[test]
fn what_a_skill_needs_is_checked_first() {
    let home = TestHome::new();
    let needs = "metadata:\n  requires:\n    bins: [sh, no-such-program-here]\n    env: NO_SUCH_VARIABLE\n    \
                 skills: [profile-csv, no-such-skill]\n";
    skill(&home, needs, "scripts/run.sh", "echo ran\n");
    let output = run(&home, &["exec", "--json", "--yes", "work", "scripts/run.sh"]);
    let error = document(&home, &output, 1);
    assert_eq!(error["error"]["code"], "RequirementMissing");
    assert_eq!(
        error["error"]["message"],
        "the skill needs the program `no-such-program-here`, the variable `NO_SUCH_VARIABLE`, the \
         skill `no-such-skill`"
    );
}

#[test]
fn mistakes_are_reported() {
    let home = TestHome::new();
    skill(&home, "", "scripts/run.sh", "echo ran\n");
    for (args, code) in [
        (["work", "../../x.sh"], 2),
        (["work", "scripts/none.sh"], 1),
        (["nobody", "scripts/run.sh"], 1),
    ] {
        let output = run(&home, &[&["exec", "--json", "--yes"][..], &args].concat());
        let error = document(&home, &output, code);
        assert!(error["error"]["message"].as_str().is_some_and(|report| !report.is_empty()));
    }
    home.write(&format!("{SKILL}/scripts/odd"), "no first line, no suffix\n");
    let output = run(&home, &["exec", "--yes", "work", "scripts/odd"]);
    assert!(output.stderr.contains("nothing says what runs"), "{}", shown(&home, &output));
}

#[test]
fn the_list_of_tools_shows_what_the_rules_say_about_a_plain_file() {
    let home = TestHome::new();
    let of = |home: &TestHome, tool: &str| {
        let list = json(home, &["tools", "--json"]);
        let rows = list["tools"].as_array().expect("tools").clone();
        let row = rows.into_iter().find(|row| row["name"] == tool).expect("a row");
        (row["effect"].clone(), row["reason"].as_str().expect("a reason").to_owned())
    };
    for tool in ["write_file", "delete_file"] {
        let (effect, reason) = of(&home, tool);
        assert_eq!(effect, "deny");
        assert!(reason.contains("is off by default; add an allow or ask rule"), "{tool}: {reason}");
        let rule = format!(
            r#"{{"permissions": [{{"permission": "{tool}", "pattern": "*", "effect": "allow"}}]}}"#
        );
        home.write("home/.agent/config.json", rule);
        assert_eq!(of(&home, tool).0, "allow", "{tool}");
    }
}
