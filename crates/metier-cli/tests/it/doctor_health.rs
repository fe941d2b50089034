//! `metier doctor` on what a scan does not see: requirements, outdated plugins, rules without effect; and
//! folders of skills that are spelt in the singular.

use metier_testkit::{Output, TestHome, skill_text};
use serde_json::Value;

use crate::support::{json, run};

fn findings(home: &TestHome, code: &str) -> (i32, Vec<Value>) {
    let Output { code: exit, stdout, .. } = run(home, &["doctor", "--json"]);
    let document: Value = serde_json::from_str(&stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("a list").iter();
    (exit, findings.filter(|it| it["code"] == code).cloned().collect())
}

#[test]
fn a_requirement_that_is_not_met_is_an_error() {
    let home = TestHome::new();
    for (name, requires) in [
        ("needs-program", "bins: [sh, no-such-program]"),
        ("needs-variable", "env: NO_SUCH_VARIABLE"),
        ("needs-skill", "skills: [needs-program, no-such-skill]"),
        ("needs-nothing", "bins: sh"),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: d\nmetadata:\n  requires:\n    {requires}\n---\nText.\n"
        );
        home.write(&format!("home/.agents/skills/{name}/SKILL.md"), text);
    }
    let (exit, found) = findings(&home, "requirement-missing");
    assert_eq!(exit, 1);
    let mut messages: Vec<&str> = found.iter().map(|it| it["message"].as_str().unwrap()).collect();
    messages.sort_unstable();
    assert_eq!(
        messages,
        [
            "the skill needs the program `no-such-program`",
            "the skill needs the skill `no-such-skill`",
            "the skill needs the variable `NO_SUCH_VARIABLE`",
        ]
    );
    let page = run(&home, &["doctor"]).stdout;
    assert!(!page.contains("every skill works"), "{page}");
}

#[test]
fn a_skill_that_only_an_older_version_of_a_plugin_has_is_reported() {
    let home = TestHome::new();
    let cache = "home/.claude/plugins/cache/market/tool";
    home.skill(&format!("{cache}/1.9.0/skills/gone"), "gone", "Was dropped.");
    home.skill(&format!("{cache}/1.9.0/skills/kept"), "kept", "Is in both.");
    home.skill(&format!("{cache}/1.10.0/skills/kept"), "kept", "Is in both.");
    let (_, found) = findings(&home, "plugin-outdated");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["path"].as_str().expect("a path").ends_with("1.9.0/skills/gone"));
    assert_eq!(found[0]["severity"], "warning");
}

#[test]
fn a_rule_that_matches_nothing_known_is_a_warning_with_its_line() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "Reads PDF files.");
    home.write(
        "home/.agent/config.json",
        r#"{ "permissions": [
            {"permission": "skill", "pattern": "skill/zz", "effect": "deny"},
            {"permission": "skill", "pattern": "skill/pdf", "effect": "ask"},
            {"permission": "load_skill", "pattern": "user:*", "effect": "ask"},
            {"permission": "run_scirpt", "pattern": "*", "effect": "deny"}
        ] }"#,
    );
    let (exit, found) = findings(&home, "rule-unmatched");
    assert_eq!(exit, 0, "a warning");
    let mut lines: Vec<u64> = found.iter().map(|it| it["line"].as_u64().expect("a line")).collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 5], "{found:?}");
    let page = run(&home, &["doctor"]).stdout;
    assert!(page.contains(".agent/config.json:2\n"), "{page}");
}

#[test]
fn a_rule_about_scripts_of_no_known_skill_is_a_warning_with_the_nearest_name() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf-tools", "pdf-tools", "Reads PDF files.");
    let rules: &[(&str, &str, Option<&str>)] = &[
        ("run_script", "no-such-skill/*", Some("")),
        ("run_script", "pdf-tool/*", Some("pdf-tools")),
        ("run_script", "user:pdf-tols/scripts/a.py --fast *", Some("user:pdf-tools")),
        ("script_network", "pdf-tool/scripts/get.sh", Some("pdf-tools")),
        ("skill", "skill/pdf-tool", Some("pdf-tools")),
        ("load_skill", "csv-sumary", Some("csv-summary")),
        ("run_scirpt", "*", Some("run_script")),
        // A script is a skill and a path.
        ("run_script", "pdf-tools", Some("pdf-tools/*")),
        ("run_script", "pdf-tools/*", None),
        ("run_script", "user:pdf-tools/scripts/a.py *", None),
        ("run_script", "builtin:*", None),
        // What follows a colon at the end are arguments, as in `git:*`.
        ("run_script", "pdf-tool:*", Some("")),
        ("run_script", "builtin:*/*", None),
        ("run_script", "pdf*", None),
        ("run_script", "*", None),
        ("run_script", "*/scripts/a.py", None),
        ("script_network", "csv-summary/*", None),
        ("network_request", "no.such.host", None),
        ("run_command", "no-such-program *", None),
        ("read_file", "no/such/file", None),
    ];
    let lines = rules.iter().map(|(permission, pattern, _)| {
        format!(r#"{{"permission": "{permission}", "pattern": "{pattern}", "effect": "deny"}}"#)
    });
    let lines: Vec<String> = lines.collect();
    home.write(
        "home/.agent/config.json",
        format!("{{ \"permissions\": [\n{}] }}", lines.join(",\n")),
    );
    let (_, found) = findings(&home, "rule-unmatched");
    let warnings = run(&home, &["permissions"]).stderr;
    for (at, (permission, pattern, near)) in rules.iter().enumerate() {
        let line = at + 2;
        let finding = found.iter().find(|it| it["line"] == line);
        let Some(near) = near else {
            assert!(finding.is_none(), "{permission} {pattern}: {finding:?}");
            continue;
        };
        let message = finding.and_then(|it| it["message"].as_str()).unwrap_or_default();
        let advice = if near.is_empty() { "tool" } else { &format!("; did you mean `{near}`?") };
        let rule = format!("the rule `deny {permission} {pattern}` matches no known skill or tool");
        assert!(message.starts_with(&rule) && message.ends_with(advice), "{pattern}: {message}");
        assert!(warnings.contains(&format!("config.json:{line}: {message}\n")), "{warnings}");
    }
}

#[test]
fn a_rule_of_an_agent_that_matches_nothing_known_is_a_warning_too() {
    let home = TestHome::new();
    home.write(
        "home/.agent/config.json",
        r#"{ "agents": { "x": { "permissions": { "skil": { "*": "deny" }, "skill": { "zzz-*": "deny" } } } } }"#,
    );
    let (_, found) = findings(&home, "rule-unmatched");
    let messages: Vec<&str> = found.iter().filter_map(|it| it["message"].as_str()).collect();
    assert_eq!(messages.len(), 2, "{found:?}");
    assert!(messages.iter().any(|it| it.contains("skil *")), "{messages:?}");
    assert!(messages.iter().any(|it| it.contains("zzz-*")), "{messages:?}");
}

#[test]
fn a_rule_may_name_a_skill_as_skill_slash_name() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/zz", "zz", "Is denied.");
    home.skill("home/.agents/skills/other", "other", "Is not.");
    home.write(
        "home/.agent/config.json",
        r#"{ "permissions": [{"permission":"skill","pattern":"skill/zz","effect":"deny"}] }"#,
    );
    let effect =
        |skill: &str| json(&home, &["explain", "load_skill", skill, "--json"])["effect"].clone();
    assert_eq!(effect("zz"), "deny");
    assert_eq!(effect("other"), "allow");
    let text = run(&home, &["catalog"]).stdout;
    assert!(text.contains("other") && !text.contains("name=zz"), "{text}");
}

#[test]
fn folders_in_the_singular_are_searched_too() {
    let home = TestHome::new();
    for (at, folder) in [
        "project/.agent/skill",
        "project/.agents/skill",
        "project/.claude/skill",
        "home/.agent/skill",
        "home/.claude/skill",
    ]
    .iter()
    .enumerate()
    {
        home.write(&format!("{folder}/one-{at}/SKILL.md"), skill_text(&format!("one-{at}"), "d"));
    }
    let listing = json(&home, &["list", "--json"]);
    let names: Vec<&str> = listing["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .filter(|name| name.starts_with("one-"))
        .collect();
    assert_eq!(names, ["one-0", "one-1", "one-2", "one-3", "one-4"]);
}
