//! An administrator's configuration: rules that no one overrules, limits that no one loosens, and a
//! program that does nothing where it cannot be read.

use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::METIER;

/// The binary where an administrator has written `managed.json`.
fn command(home: &TestHome) -> Command {
    let mut command = home.command(METIER);
    command.env("METIER_MANAGED_CONFIG", home.path().join("managed.json"));
    command
}

fn run(home: &TestHome, args: &[&str]) -> Output {
    TestHome::finish(command(home).args(args))
}

fn rules(home: &TestHome, file: &str, rules: &[(&str, &str, &str)]) {
    let rules: Vec<Value> = rules
        .iter()
        .map(|(permission, pattern, effect)| {
            json!({"permission": permission, "pattern": pattern, "effect": effect})
        })
        .collect();
    home.write(file, json!({ "permissions": rules }).to_string());
}

fn effect(home: &TestHome, args: &[&str]) -> Value {
    let output = run(home, &[&["explain", "--json"], args].concat());
    assert_eq!(output.code, 0, "{output:?}");
    output.json()["effect"].clone()
}

#[test]
fn a_rule_of_the_administrator_counts_against_and_for_everybody() {
    let home = TestHome::new();
    let everything = [("run_command", "*", "allow"), ("write_file", "*", "allow")];
    rules(&home, "home/.agent/config.json", &everything);
    rules(
        &home,
        "managed.json",
        &[
            ("run_command", "curl", "deny"),
            ("write_file", "*", "ask"),
            ("network_request", "intranet.example", "allow"),
        ],
    );
    for (request, expected) in [
        (&["run_command", "curl", "x"][..], "deny"),
        (&["run_command", "ls"], "allow"),
        (&["write_file", "a.txt"], "ask"),
        // Where the user says nothing, the administrator's word stands in place of the default.
        (&["network_request", "intranet.example"], "allow"),
        (&["network_request", "other.example"], "ask"),
    ] {
        assert_eq!(effect(&home, request), expected, "{request:?}");
    }
    let report = run(&home, &["explain", "run_command", "curl", "x"]);
    assert!(report.stdout.contains("  managed   deny "), "{report:?}");
    assert!(report.stdout.contains("managed.json:1)"), "{report:?}");
    rules(&home, "project/.agent/config.json", &[("network_request", "*", "deny")]);
    assert_eq!(effect(&home, &["network_request", "intranet.example"]), "deny");
}

#[test]
fn a_file_that_cannot_be_used_stops_every_command() {
    let home = TestHome::new();
    for text in [r#"{"permissions": ["#, r#"{"permission": []}"#, "\u{0}"] {
        home.write("managed.json", text);
        for args in [&["list"][..], &["run", "x"], &["explain", "run_command", "ls"], &["doctor"]] {
            let output = run(&home, args);
            assert_eq!(output.code, 1, "{text:?} {args:?}: {output:?}");
            assert!(output.stderr.contains("managed.json"), "{output:?}");
        }
    }
    std::fs::remove_file(home.path().join("managed.json")).expect("removes");
    std::fs::create_dir(home.path().join("managed.json")).expect("a directory");
    let output = run(&home, &["list"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("administrator"), "{output:?}");
}

#[test]
fn a_file_that_the_environment_names_has_to_be_there_wherever_the_program_runs() {
    let home = TestHome::new();
    home.write("project/own.json", r#"{"permissions": []}"#);
    std::os::unix::fs::symlink("nowhere", home.path().join("cut")).expect("a link");
    let absent = home.path().join("absent.json");
    let cut = home.path().join("cut/config.json");
    for named in ["own.json".as_ref(), absent.as_path(), cut.as_path()] {
        let mut command = home.command(METIER);
        command.env("METIER_MANAGED_CONFIG", named).args(["list", "--json"]);
        let output = TestHome::finish(&mut command);
        assert_eq!(output.code, 1, "{named:?}: {output:?}");
        assert_eq!(output.json()["error"]["code"], "config-unreadable", "{output:?}");
        assert!(output.stdout.contains("administrator"), "{output:?}");
    }
    let mut command = home.command(METIER);
    command.env("METIER_MANAGED_CONFIG", "").arg("list");
    assert_eq!(TestHome::finish(&mut command).code, 0, "an empty one names nothing");
}

#[test]
fn either_word_about_the_sandbox_means_both() {
    let home = TestHome::new();
    let user = json!({"execution": {"require_sandbox": false, "min_tier": "none"}});
    home.write("home/.agent/config.json", user.to_string());
    for (managed, tier) in [
        (json!({"require_sandbox": true}), "medium"),
        (json!({"require_sandbox": true, "min_tier": "none"}), "medium"),
        (json!({"min_tier": "strong"}), "strong"),
        (json!({"min_tier": "strong", "require_sandbox": false}), "strong"),
    ] {
        home.write("managed.json", json!({ "execution": managed }).to_string());
        let shown = run(&home, &["config", "--json"]).json();
        let rows = shown["settings"].as_array().expect("settings");
        let row = |key: &str| rows.iter().find(|row| row["key_path"] == key).expect("a row");
        let is = row("execution.require_sandbox");
        assert_eq!(is["value"], true, "{managed}");
        assert_eq!(is["overruled"]["value"], false, "what the user asked for is told: {is}");
        assert_eq!(row("execution.min_tier")["value"], tier, "{managed}");
    }
}

#[test]
fn an_example_that_fails_is_reported_with_its_line() {
    let home = TestHome::new();
    let text = "{ \"permissions\": [{ \"permission\": \"run_command\", \"pattern\": \"rm\", \
                \"effect\": \"deny\" }],\n\"permission_examples\": [\n\
                { \"request\": \"run_command rm -rf x\", \"expect\": \"allow\" } ] }";
    home.write("managed.json", text);
    let output = run(&home, &["explain", "run_command", "ls"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("managed.json:3"), "{output:?}");
}

#[test]
fn limits_are_tightened_never_loosened_and_preferences_are_refused() {
    let home = TestHome::new();
    let user = json!({
        "execution": {"require_sandbox": false, "min_tier": "none", "allowed_tools_approve": true,
            "timeout_s": 30},
        "budgets": {"turns": 5},
    });
    home.write("home/.agent/config.json", user.to_string());
    let managed = json!({
        "execution": {"min_tier": "strong", "allowed_tools_approve": false,
            "always_expires_s": 86_400, "timeout_s": 600,
            "require_approval_for": ["read_file"]},
        "budgets": {"turns": 50, "script_runs": 2},
    });
    home.write("managed.json", managed.to_string());
    let shown = run(&home, &["config", "--json"]).json();
    assert_eq!(shown["files"][1]["scope"], "managed", "{shown}");
    assert_eq!(shown["files"][1]["exists"], true, "{shown}");
    let value = |key: &str| {
        let rows = shown["settings"].as_array().expect("settings");
        let row = rows.iter().find(|row| row["key_path"] == key);
        row.unwrap_or_else(|| panic!("{key} in {shown}"))["value"].clone()
    };
    for (key, expected) in [
        ("execution.min_tier", json!("strong")),
        ("execution.require_sandbox", json!(true)),
        ("execution.allowed_tools_approve", json!(false)),
        ("execution.always_expires_s", json!(86_400)),
        ("execution.timeout_s", json!(30)),
        ("budgets.turns", json!(5)),
        ("budgets.script_runs", json!(2)),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    assert_eq!(effect(&home, &["read_file", "a.txt"]), "ask");
    for text in [
        r#"{"model": {"provider": "openai"}}"#,
        r#"{"skill_roots": ["x"]}"#,
        r#"{"trusted_keys": ["x"]}"#,
        r#"{"execution": {"env": ["TOKEN"]}}"#,
    ] {
        home.write("managed.json", text);
        let output = run(&home, &["list", "--json"]);
        assert_eq!(output.code, 1, "{text}: {output:?}");
        assert!(output.stdout.contains("config-not-allowed-in-managed"), "{output:?}");
    }
}

#[test]
fn a_rule_for_all_tools_asks_about_the_network_that_another_file_opened() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/net", "net", "Calls.");
    home.write("home/.agents/skills/net/scripts/x.sh", "echo x\n");
    let request = ["script_network", "scripts/x.sh", "--skill", "net"];
    let named = ("script_network", "*", "allow");
    let [all_ask, all_allow] = [("*", "*", "ask"), ("*", "*", "allow")];
    for (managed, user, expected) in [
        (&[named][..], &[][..], "allow"),
        (&[all_ask], &[named], "ask"),
        (&[named], &[all_ask], "ask"),
        (&[all_allow], &[named], "allow"),
        (&[all_allow], &[all_allow], "deny"),
        (&[all_ask], &[all_ask], "deny"),
        (&[("*", "*", "deny")], &[named], "deny"),
    ] {
        rules(&home, "managed.json", managed);
        rules(&home, "home/.agent/config.json", user);
        assert_eq!(effect(&home, &request), expected, "{managed:?} {user:?}");
    }
}

#[test]
fn a_run_cannot_write_the_file() {
    let home = TestHome::new();
    home.write("project/rules/managed.json", "{}");
    rules(&home, "home/.agent/config.json", &[("write_file", "*", "allow")]);
    let explain = |file: &str| {
        let mut command = home.command(METIER);
        command.env("METIER_MANAGED_CONFIG", home.project().join("rules/managed.json"));
        TestHome::finish(command.args(["explain", "--json", "write_file", file])).json()["effect"]
            .clone()
    };
    assert_eq!(explain("rules/other.json"), "allow");
    assert_eq!(explain("rules/managed.json"), "deny");
}
