//! The permission rules of all files as the policy takes them: a layer for each file, and one for
//! the tools that were made to ask.

use metier_config::{Settings, parse};
use metier_policy::{AbsolutePath, PolicyPlaces, RuleSource};

use crate::support::{project, user};

#[test]
fn each_file_and_the_approvals_are_a_layer() {
    let user = user(
        r#"{ "permissions": [
            { "permission": "write_file", "pattern": "docs/*", "effect": "allow" } ] }"#,
    );
    let project = project(
        r#"{ "execution": { "require_approval_for": ["network", "grep", "skill"] },
            "permissions": [ { "permission": "*", "pattern": "*", "effect": "deny" } ] }"#,
    );
    let settings = Settings::merge(Some(&user), Some(&project));
    let layers = settings.policy_layers().unwrap();
    let shown: Vec<_> = layers.iter().map(|layer| (layer.source(), layer.origin())).collect();
    assert_eq!(
        shown,
        [
            (RuleSource::User, "~/.agent/config.json"),
            (RuleSource::Project, ".agent/config.json"),
            (RuleSource::Approval, "execution.require_approval_for"),
        ]
    );
}

#[test]
fn a_rule_that_cannot_be_used_is_reported_with_its_line() {
    let text = "{ \"permissions\": [\n{ \"permission\": \"a b\", \"pattern\": \"*\", \"effect\": \"deny\" } ] }";
    let error = Settings::merge(Some(&user(text)), None).policy_layers().unwrap_err();
    assert_eq!(error.to_string(), "~/.agent/config.json:2: `a b` is not a valid permission name");
}

#[test]
fn an_example_that_fails_is_reported_with_its_line() {
    let text = r#"{
  "permissions": [ { "permission": "read_file", "pattern": "secret/*", "effect": "deny" } ],
  "permission_examples": [
    { "request": "read_file secret/a", "expect": "deny" },
    { "request": "read_file secret/b", "expect": "allow" },
  ],
}"#;
    let places = PolicyPlaces::new(AbsolutePath::new("/workspace").unwrap());
    let settings = Settings::merge(Some(&user(text)), None);
    let failed = settings.failed_examples(&places).unwrap();
    let lines: Vec<_> = failed.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [Some(5)]);
}

/// A tool for the network is offered only for hosts that the user or an administrator named.
#[test]
fn a_project_names_no_hosts_for_the_network() {
    let rules = |host: &str| {
        format!(
            r#"{{ "permissions": [
                {{ "permission": "network", "pattern": "{host}", "effect": "allow" }},
                {{ "permission": "network_request", "pattern": "ask.{host}", "effect": "ask" }},
                {{ "permission": "network_request", "pattern": "not.{host}", "effect": "deny" }},
                {{ "permission": "read_file", "pattern": "x", "effect": "allow" }} ] }}"#
        )
    };
    let managed = parse(&rules("a.example"), "m", metier_config::Scope::Managed).unwrap();
    let (user, project) = (user(&rules("u.example")), project(&rules("p.example")));
    let settings = Settings::merge_managed(&[managed], Some(&user), Some(&project));
    assert_eq!(
        settings.network_hosts().collect::<Vec<_>>(),
        ["a.example", "ask.a.example", "u.example", "ask.u.example"]
    );
}
