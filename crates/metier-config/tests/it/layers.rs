//! How the files become one: preferences, guards, joined lists, and where each value came from.
//!
//! A project may tighten a guard and never loosen one.

use std::time::Duration;

use insta::assert_snapshot;
use metier_agent::RunLimits;
use metier_config::{Explained, Layer, Scope, Settings};
use metier_loader::{BodyLimits, OverLimit};
use metier_model::{NamedEndpoint, Provider};
use metier_policy::{Lifetime, Permission, Preapproval};
use metier_registry::catalog::CatalogFormat;
use metier_sandbox::Tier;
use metier_skill::{Limits, Profile};
use serde_json::json;

use crate::support::{project, user};

fn row<'s>(settings: &'s Settings, key: &str) -> &'s Explained {
    settings.explain().iter().find(|row| row.key_path == key).unwrap()
}

fn merged(user: &Layer, project: &Layer) -> Settings {
    Settings::merge(Some(user), Some(project))
}

#[test]
fn without_files_the_defaults_of_the_design_count() {
    let line = |row: &Explained| format!("{} = {} ({})", row.key_path, row.value, row.origin);
    let rows: Vec<String> = Settings::default().explain().iter().map(line).collect();
    assert_snapshot!(rows.join("\n"), @r#"
    skill_roots = [] (default)
    profile = "strict" (default)
    model.provider = "router" (default)
    model.name = null (default)
    model.base_url = null (default)
    model.key_env = null (default)
    model.key_command = null (default)
    model.plan = "auto" (default)
    model.params = {} (default)
    execution.require_approval_for = [] (default)
    execution.timeout_s = 60 (default)
    execution.max_output_chars = 12000 (default)
    execution.env = [] (default)
    execution.require_sandbox = true (default)
    execution.min_tier = "medium" (default)
    execution.always_expires_s = null (default)
    execution.allowed_tools_approve = false (default)
    security.max_skill_body_lines = 500 (default)
    security.max_skill_body_chars = 40000 (default)
    security.over_long_body = "trim" (default)
    security.block_angle_brackets_in_frontmatter = true (default)
    security.follow_symlinks = true (default)
    security.max_frontmatter_lines = 200 (default)
    security.max_frontmatter_line_chars = 500 (default)
    security.max_frontmatter_bytes = 65536 (default)
    security.max_description_chars = 8192 (default)
    security.max_walk_depth = 6 (default)
    security.max_walk_entries = 1000000 (default)
    permissions = [] (default)
    permission_examples = [] (default)
    agents = {} (default)
    enable_skills = true (default)
    skills = {} (default)
    sources.allow = [] (default)
    sources.deny = [] (default)
    sources.min_release_age = null (default)
    budgets.turns = 12 (default)
    budgets.tool_calls = 30 (default)
    budgets.script_runs = 10 (default)
    budgets.wall_s = null (default)
    budgets.tokens = null (default)
    budgets.skills_a_turn = 2 (default)
    catalog.format = "lines" (default)
    catalog.budget_tokens = 4000 (default)
    trusted_keys = [] (default)
    "#);
    let settings = Settings::default();
    assert_eq!(settings.profile, Profile::Strict);
    assert_eq!(settings.execution.min_tier, Tier::Medium);
    assert_eq!(settings.walk.max_entries, 1_000_000);
}

#[test]
fn a_project_overrides_preferences() {
    let settings = merged(
        &user(r#"{ "catalog": { "format": "xml", "budget_tokens": 100 } }"#),
        &project(r#"{ "catalog": { "format": "json" } }"#),
    );
    assert_eq!(settings.catalog.format, CatalogFormat::Json);
    assert_eq!(settings.catalog.budget_tokens, 100);
    assert_eq!(row(&settings, "catalog.format").origin, ".agent/config.json");
    assert_eq!(row(&settings, "catalog.budget_tokens").origin, "~/.agent/config.json");
}

#[test]
fn a_project_lowers_a_limit_and_never_raises_it() {
    let user = user(r#"{ "security": { "max_skill_body_lines": 300, "max_walk_depth": 20 } }"#);
    let project = project(
        r#"{ "security": { "max_skill_body_lines": 900, "max_walk_depth": 3, "max_frontmatter_lines": 9999 } }"#,
    );
    let settings = merged(&user, &project);
    assert_eq!((settings.body_limits.lines, settings.limits.body_lines), (300, 300));
    assert_eq!(settings.walk.max_depth, 3);
    assert_eq!(settings.limits.frontmatter_lines, 200, "the default holds too");
    let kept = row(&settings, "security.max_skill_body_lines");
    assert_eq!((kept.origin.as_str(), kept.line), ("~/.agent/config.json", Some(1)));
    assert_eq!(kept.overruled.as_ref().unwrap().value, json!(900));
    assert_eq!(row(&settings, "security.max_walk_depth").overruled, None);
}

#[test]
fn a_user_may_raise_a_limit_above_its_default() {
    let user = user(r#"{ "budgets": { "turns": 100 }, "execution": { "timeout_s": 600 } }"#);
    let settings = Settings::merge(Some(&user), None);
    assert_eq!(settings.run_limits.turns, 100);
    assert_eq!(settings.execution.timeout, Duration::from_mins(10));
}

#[test]
fn a_project_switches_guards_on_and_never_off() {
    let loose = r#"{ "profile": "lenient", "security": { "block_angle_brackets_in_frontmatter": false, "follow_symlinks": true } }"#;
    let tight = r#"{ "profile": "strict", "security": { "block_angle_brackets_in_frontmatter": true, "follow_symlinks": false } }"#;
    let guards = |settings: &Settings| {
        let (limits, walk) = (&settings.limits, &settings.walk);
        (settings.profile, limits.block_angle_brackets, walk.follow_symlinks)
    };
    assert_eq!(guards(&merged(&user(tight), &project(loose))), (Profile::Strict, true, false));
    assert_eq!(guards(&merged(&user(loose), &project(tight))), (Profile::Strict, true, false));
    assert_eq!(guards(&merged(&user(loose), &project(loose))), (Profile::Lenient, false, true));
    let project = project(loose);
    let alone = Settings::merge(None, Some(&project));
    assert_eq!(guards(&alone), (Profile::Strict, true, true));
    assert_eq!(row(&alone, "profile").overruled.as_ref().unwrap().value, json!("lenient"));
}

#[test]
fn any_number_is_stricter_than_no_limit() {
    let project = project(r#"{ "budgets": { "tokens": 5000 } }"#);
    assert_eq!(Settings::merge(None, Some(&project)).run_limits.tokens, Some(5000));
    let user = user(r#"{ "budgets": { "tokens": 1000 } }"#);
    assert_eq!(merged(&user, &project).run_limits.tokens, Some(1000));
}

#[test]
fn roots_are_the_projects_then_the_users() {
    let settings = merged(
        &user(r#"{ "skill_roots": ["~/mine"] }"#),
        &project(r#"{ "skill_roots": ["ours", "more"] }"#),
    );
    let roots: Vec<_> =
        settings.skill_roots.iter().map(|root| (root.path.as_str(), root.scope)).collect();
    assert_eq!(
        roots,
        [("ours", Scope::Project), ("more", Scope::Project), ("~/mine", Scope::User)]
    );
}

#[test]
fn a_project_switches_skills_off_and_never_on() {
    let settings = merged(
        &user(r#"{ "skills": { "user:pdf": { "enabled": false }, "a.b": { "enabled": true } } }"#),
        &project(
            "{ \"skills\": {\n \"user:pdf\": { \"enabled\": true },\n \"a.b\": { \"enabled\": false } } }",
        ),
    );
    assert_eq!(settings.skills, [("a.b".to_owned(), false), ("user:pdf".to_owned(), false)].into());
    let pdf = row(&settings, "skills.user:pdf.enabled");
    assert_eq!((pdf.origin.as_str(), pdf.line), ("~/.agent/config.json", Some(1)));
    let overruled = pdf.overruled.as_ref().unwrap();
    assert_eq!((&overruled.value, overruled.line), (&json!(true), Some(2)));
    let off = row(&settings, "skills.\"a.b\".enabled");
    assert_eq!((off.origin.as_str(), off.line), (".agent/config.json", Some(3)));
    assert_eq!(off.overruled, None);
}

/// An id is more precise than a name, but only inside one file.
#[test]
fn what_the_user_switched_off_by_name_no_project_switches_on_by_id() {
    let by_name = user(r#"{ "skills": { "pdf": { "enabled": false } } }"#);
    let by_id = project(
        r#"{ "skills": { "user:pdf": { "enabled": true }, "docs:pdf": { "enabled": true } } }"#,
    );
    let settings = merged(&by_name, &by_id);
    assert!(!settings.skills["user:pdf"]);
    assert!(settings.skills["docs:pdf"], "a plugin's name is no id of `pdf`");
    let pdf = row(&settings, "skills.user:pdf.enabled");
    assert_eq!((pdf.origin.as_str(), pdf.line), ("~/.agent/config.json", Some(1)));
    assert_eq!(pdf.overruled.as_ref().unwrap().value, json!(true));
    // The user's own exception from the user's own rule stands.
    let own =
        user(r#"{ "skills": { "pdf": { "enabled": false }, "user:pdf": { "enabled": true } } }"#);
    assert!(merged(&own, &by_id).skills["user:pdf"]);
    // And what a project switches off by name is off for the user's ids too.
    let settings = merged(
        &user(r#"{ "skills": { "user:pdf": { "enabled": true } } }"#),
        &project(r#"{ "skills": { "pdf": { "enabled": false } } }"#),
    );
    assert_eq!(settings.skills, [("pdf".to_owned(), false), ("user:pdf".to_owned(), false)].into());
}

#[test]
fn permissions_of_each_file_stay_separate_and_know_their_lines() {
    let rules = r#"{ "permissions": [
  { "permission": "run_script", "pattern": "*", "effect": "ask" },
  { "permission": "run_script", "pattern": "pdf/*", "effect": "allow" },
] }"#;
    let settings = merged(&user(rules), &project(rules));
    let lines: Vec<_> = settings
        .permissions
        .iter()
        .map(|layer| (layer.scope, layer.rules.iter().map(|rule| rule.line).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        lines,
        [(Scope::User, vec![Some(2), Some(3)]), (Scope::Project, vec![Some(2), Some(3)]),]
    );
}

#[test]
fn approvals_are_joined() {
    let settings = merged(
        &user(r#"{ "execution": { "require_approval_for": ["grep"] } }"#),
        &project(r#"{ "execution": { "require_approval_for": ["network", "grep"] } }"#),
    );
    assert_eq!(
        settings.execution.require_approval_for,
        [Permission::Grep, Permission::NetworkRequest]
    );
}

#[test]
fn parameters_are_joined_key_by_key() {
    let settings = merged(
        &user(r#"{ "model": { "params": { "temperature": 1, "top_p": 0.5 } } }"#),
        &project(r#"{ "model": { "params": { "temperature": 0 } } }"#),
    );
    assert_eq!(json!(settings.model.params), json!({ "temperature": 0, "top_p": 0.5 }));
    assert_eq!(row(&settings, "model.params.temperature").origin, ".agent/config.json");
}

#[test]
fn a_limit_of_a_project_is_one_limit_under_every_name() {
    let own = user(r#"{ "model": { "params": { "max_completion_tokens": 500, "top_k": 4 } } }"#);
    let settings = merged(&own, &project(r#"{ "model": { "params": { "max_tokens": 900 } } }"#));
    assert_eq!(json!(settings.model.params), json!({ "max_completion_tokens": 500, "top_k": 4 }));
    let kept = row(&settings, "model.params.max_completion_tokens");
    let overruled = kept.overruled.as_ref().unwrap();
    assert_eq!((&overruled.value, overruled.line), (&json!(900), Some(1)));
    let settings = merged(&own, &project(r#"{ "model": { "params": { "max_tokens": 90 } } }"#));
    assert_eq!(json!(settings.model.params), json!({ "max_tokens": 90, "top_k": 4 }));
    assert_eq!(row(&settings, "model.params.max_tokens").origin, ".agent/config.json");
    let efforts = user(r#"{ "model": { "params": { "effort": "max" } } }"#);
    let theirs = project(r#"{ "model": { "params": { "reasoning_effort": "low" } } }"#);
    let settings = merged(&efforts, &theirs);
    assert_eq!(json!(settings.model.params), json!({ "reasoning_effort": "low" }));
}

#[test]
fn another_provider_does_not_inherit_a_name_and_parameters() {
    let settings = merged(
        &user(
            r#"{ "model": { "provider": "anthropic", "name": "claude", "params": { "top_k": 1 } } }"#,
        ),
        &project(r#"{ "model": { "provider": "router" } }"#),
    );
    assert_eq!(settings.model.provider, Provider::Router);
    assert_eq!((settings.model.name, settings.model.params.len()), (None, 0));
}

#[test]
fn a_project_cannot_choose_to_whom_requests_are_sent() {
    let theirs = project(r#"{ "model": { "provider": "anthropic", "name": "theirs" } }"#);
    let settings = merged(
        &user(
            r#"{ "model": { "provider": "openai", "base_url": "http://localhost:1", "name": "m" } }"#,
        ),
        &theirs,
    );
    assert_eq!(
        settings.model.provider,
        Provider::Endpoint(NamedEndpoint::find("openai").expect("known"))
    );
    assert_eq!(settings.model.base_url.as_deref(), Some("http://localhost:1"));
    assert_eq!(settings.model.name.as_deref(), Some("m"));
    let kept = row(&settings, "model.provider");
    assert_eq!(kept.overruled.as_ref().unwrap().value, json!("anthropic"));
    // Nor by an address or a key of the user's that no provider stands beside.
    for own in [r#"{ "model": { "base_url": "http://localhost:1" } }"#, "{}"] {
        let settings = merged(&user(own), &theirs);
        assert_eq!(settings.model.provider, Provider::Router, "{own}");
        assert_eq!(settings.model.name, None, "{own}");
    }
}

/// A script or a record in a clone would be a model that the clone's author wrote.
#[test]
fn a_project_cannot_bring_its_own_model() {
    for (word, provider) in [("scripted", Provider::Scripted), ("replay", Provider::Replay)] {
        let text = format!(
            "{{ \"model\": {{\n \"provider\": \"{word}\",\n \"name\": \"evil.json\", \
             \"params\": {{ \"top_p\": 1 }} }} }}"
        );
        let project = project(&text);
        let alone = Settings::merge(None, Some(&project));
        assert_eq!((alone.model.provider, &alone.model.name), (Provider::Router, &None), "{word}");
        assert_eq!(alone.model.params.len(), 0, "they were meant for what was refused");
        let kept = row(&alone, "model.provider");
        let overruled = kept.overruled.as_ref().unwrap();
        assert_eq!((kept.origin.as_str(), overruled.line), ("default", Some(2)), "{word}");
        assert_eq!(overruled.value, json!(provider));
        let name = row(&alone, "model.name").overruled.as_ref().unwrap();
        assert_eq!((&name.value, name.line), (&json!("evil.json"), Some(3)));
        let own = user(r#"{ "model": { "provider": "openai", "name": "m" } }"#);
        let settings = merged(&own, &project);
        assert_eq!(
            settings.model.provider,
            Provider::Endpoint(NamedEndpoint::find("openai").expect("known")),
            "{word}"
        );
        assert_eq!(settings.model.name.as_deref(), Some("m"), "a name is spelled for a provider");
        // Where the user chose such a model, the project does not choose its file.
        let own = format!(r#"{{ "model": {{ "provider": "{word}", "name": "mine" }} }}"#);
        let settings = merged(&user(&own), &project);
        assert_eq!(settings.model.provider, provider);
        assert_eq!(settings.model.name.as_deref(), Some("mine"), "{word}");
    }
}

#[test]
fn mock_is_a_script_only_where_the_user_names_one() {
    let mock = r#"{ "model": { "provider": "mock", "name": "s.json", "params": { "top_p": 1 } } }"#;
    let clone = project(mock);
    let own = user(r#"{ "model": { "provider": "openai", "name": "m" } }"#);
    for settings in [Settings::merge(None, Some(&clone)), merged(&own, &clone)] {
        assert_eq!((settings.model.provider, &settings.model.name), (Provider::Router, &None));
        assert_eq!(settings.model.params.len(), 0, "they were meant for a script");
        assert_eq!(row(&settings, "model.provider").origin, ".agent/config.json");
    }
    let scripted = Settings::merge(Some(&user(mock)), None);
    assert_eq!(scripted.model.provider, Provider::Scripted);
    assert_eq!(scripted.model.name.as_deref(), Some("s.json"));
    let bare = user(r#"{ "model": { "provider": "mock" } }"#);
    assert_eq!(Settings::merge(Some(&bare), None).model.provider, Provider::Router);
}

#[test]
fn a_provider_that_a_project_chose_is_the_projects_only_where_it_differs() {
    let project = project(r#"{ "model": { "provider": "router" } }"#);
    let origin = |settings: &Settings| row(settings, "model.provider").origin.clone();
    assert_eq!(origin(&Settings::merge(None, Some(&project))), "default");
    let own = user(r#"{ "model": { "provider": "anthropic" } }"#);
    assert_eq!(origin(&merged(&own, &project)), ".agent/config.json");
    let own = user(r#"{ "model": { "provider": "router" } }"#);
    assert_eq!(origin(&merged(&own, &project)), "~/.agent/config.json");
}

#[test]
fn settings_are_the_domains_own_values() {
    let settings = Settings::merge(
        Some(&user(
            r#"{ "budgets": { "wall_s": 2 },
                 "execution": { "min_tier": "strong", "always_expires_s": 60,
                                "allowed_tools_approve": true, "max_output_chars": 7 },
                 "security": { "over_long_body": "refuse", "max_walk_depth": 3 },
                 "skills": { "pdf": { "enabled": false } } }"#,
        )),
        None,
    );
    assert_eq!(settings.run_limits, RunLimits { wall_ms: Some(2000), ..RunLimits::default() });
    assert_eq!(settings.execution.min_tier, Tier::Strong);
    assert_eq!(settings.execution.always, Lifetime::Seconds(60));
    assert_eq!(settings.execution.preapproval, Preapproval::TrustedSkills);
    assert_eq!(settings.execution.output_cap.chars, 7);
    assert_eq!(
        settings.body_limits,
        BodyLimits { over: OverLimit::Refuse, ..BodyLimits::default() }
    );
    let options = settings.scan_options();
    assert_eq!((options.max_depth, options.limits), (3, Limits::default()));
    let switches: Vec<_> = options.switches.iter().map(|it| (&*it.key, it.enabled)).collect();
    assert_eq!(switches, [("pdf", false)]);
}

#[test]
fn without_files_every_limit_is_the_default_of_its_type() {
    let settings = Settings::default();
    assert_eq!(settings.limits, Limits::default());
    assert_eq!(settings.body_limits, BodyLimits::default());
    assert_eq!(settings.run_limits, RunLimits::default());
    assert_eq!(settings.execution.always, Lifetime::Unlimited);
    assert_eq!(settings.execution.preapproval, Preapproval::Never);
    assert_eq!(settings.catalog.budget_tokens, 4000);
}

#[test]
fn without_require_sandbox_any_tier_will_do() {
    let own = user(r#"{ "execution": { "require_sandbox": false, "min_tier": "strong" } }"#);
    assert_eq!(Settings::merge(Some(&own), None).execution.min_tier, Tier::None);
}
