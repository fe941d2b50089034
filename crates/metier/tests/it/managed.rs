//! An administrator's configuration: limits that no one loosens and rules that no one overrules. What a
//! broken file does to each command is tested with the binary.

use metier::{ConfigFile, Metier, Result, WithSkills};
use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{builder, environment};

/// The runtime where an administrator has written the file at `file`.
fn open_with(home: &TestHome, file: &str) -> Result<Metier> {
    let named = environment(home).with("METIER_MANAGED_CONFIG", home.path().join(file));
    builder(home, "project").environment(named).open()
}

fn open(home: &TestHome) -> Metier {
    open_with(home, "managed.json").expect("it opens")
}

fn effect(metier: &Metier, tool: &str, args: &[&str], skills: &WithSkills) -> &'static str {
    metier.explain(tool, args, skills).expect("a decision").decision.effect.as_str()
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
        let metier = open(&home);
        let rows = metier.settings().explain();
        let row = |key: &str| rows.iter().find(|row| row.key_path == key).expect("a row");
        let is = row("execution.require_sandbox");
        assert_eq!(is.value, true, "{managed}");
        let asked = is.overruled.as_ref().map(|it| &it.value);
        assert_eq!(asked, Some(&json!(false)), "what the user asked for is shown: {is:?}");
        assert_eq!(row("execution.min_tier").value, tier, "{managed}");
    }
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
    let metier = open(&home);
    let managed = |file: &&ConfigFile| file.scope.as_str() == "managed" && file.exists;
    assert_eq!(metier.config_files().iter().filter(managed).count(), 1);
    let value = |key: &str| {
        let row = metier.settings().explain().iter().find(|row| row.key_path == key);
        row.unwrap_or_else(|| panic!("{key}")).value.clone()
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
    assert_eq!(effect(&metier, "read_file", &["a.txt"], &WithSkills::default()), "ask");
    for text in [
        r#"{"model": {"provider": "openai"}}"#,
        r#"{"skill_roots": ["x"]}"#,
        r#"{"trusted_keys": ["x"]}"#,
        r#"{"execution": {"env": ["TOKEN"]}}"#,
    ] {
        home.write("managed.json", text);
        let refused = open_with(&home, "managed.json").expect_err("a preference");
        assert_eq!(refused.code, "config-not-allowed-in-managed", "{text}: {refused}");
    }
}

#[test]
fn a_rule_for_all_tools_asks_about_the_network_that_another_file_opened() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/net", "net", "Calls.");
    home.write("home/.agents/skills/net/scripts/x.sh", "echo x\n");
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
        home.rules("managed.json", managed);
        home.rules("home/.agent/config.json", user);
        let skills = WithSkills::acting_for("net");
        let decided = effect(&open(&home), "script_network", &["scripts/x.sh"], &skills);
        assert_eq!(decided, expected, "{managed:?} {user:?}");
    }
}

#[test]
fn a_run_cannot_write_the_file() {
    let home = TestHome::new();
    home.write("project/rules/managed.json", "{}");
    home.rules("home/.agent/config.json", &[("write_file", "*", "allow")]);
    let metier = open_with(&home, "project/rules/managed.json").expect("it opens");
    assert_eq!(
        effect(&metier, "write_file", &["rules/other.json"], &WithSkills::default()),
        "allow"
    );
    assert_eq!(
        effect(&metier, "write_file", &["rules/managed.json"], &WithSkills::default()),
        "deny"
    );
}
