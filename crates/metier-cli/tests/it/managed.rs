//! An administrator's configuration: rules that no one overrules, limits that no one loosens, and a
//! program that does nothing where it cannot be read.

use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::Value;

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

fn effect(home: &TestHome, args: &[&str]) -> Value {
    let output = run(home, &[&["explain", "--json"], args].concat());
    assert_eq!(output.code, 0, "{output:?}");
    output.json()["effect"].clone()
}

#[test]
fn a_rule_of_the_administrator_counts_against_and_for_everybody() {
    let home = TestHome::new();
    let everything = [("run_command", "*", "allow"), ("write_file", "*", "allow")];
    home.rules("home/.agent/config.json", &everything);
    home.rules(
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
    home.rules("project/.agent/config.json", &[("network_request", "*", "deny")]);
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
