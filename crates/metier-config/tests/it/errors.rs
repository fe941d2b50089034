//! Every problem with keys and values says where it is, what is wrong and what to do.
//!
//! Snapshots: the message is the interface.

use insta::assert_snapshot;
use metier_config::{ConfigErrorKind, Scope, parse};

use crate::support::{problems, project_problems};

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_key() {
    let text = r#"{
  "security": {
    "follow_symlink": false
  },
  "profil": "strict"
}"#;
    assert_snapshot!(problems(text), @"
    config.json:3:5: unknown key `security.follow_symlink` [config-unknown-key]
      help: did you mean `follow_symlinks`?
    config.json:5:3: unknown key `profil` [config-unknown-key]
      help: did you mean `profile`?
    ");
}

#[test]
fn an_unknown_key_like_no_other_lists_the_keys_at_its_level() {
    assert_snapshot!(problems(r#"{ "catalog": { "colour": 1 } }"#), @"
    config.json:1:16: unknown key `catalog.colour` [config-unknown-key]
      help: the keys allowed here are `budget_tokens`, `format`
    ");
}

#[test]
fn a_key_at_the_wrong_level_says_where_it_belongs() {
    assert_snapshot!(problems(r#"{ "follow_symlinks": false }"#), @"
    config.json:1:3: unknown key `follow_symlinks` [config-unknown-key]
      help: `follow_symlinks` belongs in `security`
    ");
}

#[test]
fn a_wrong_type_says_what_was_expected_and_found() {
    let text = r#"{
  "skill_roots": "skills",
  "profile": 1,
  "model": [],
  "execution": { "timeout_s": "60", "max_output_chars": 1.5, "require_sandbox": "true" },
  "security": { "follow_symlinks": null },
  "skills": { "user:pdf": true },
  "trusted_keys": [ 5 ],
}"#;
    assert_snapshot!(problems(text), @r#"
    config.json:2:18: `skill_roots` must be a list `[ … ]`, but it is the string "skills" [config-wrong-type]
      help: put it in a list: ["skills"]
    config.json:3:14: `profile` must be one of `strict`, `lenient`, but it is the number 1 [config-wrong-type]
      help: How skills with faults are treated. A project can only choose `strict`.
    config.json:4:12: `model` must be an object `{ … }`, but it is a list [config-wrong-type]
      help: write `{ … }`; its keys are `base_url`, `key_command`, `key_env`, `name`, `params`, `plan`, `provider`
    config.json:5:31: `execution.timeout_s` must be a whole number, but it is the string "60" [config-wrong-type]
      help: write 60 without quotes
    config.json:5:57: `execution.max_output_chars` must be a whole number, but it is the number 1.5 [config-wrong-type]
      help: How many characters of a script's output a model is shown.
    config.json:5:81: `execution.require_sandbox` must be `true` or `false`, but it is the string "true" [config-wrong-type]
      help: write true without quotes
    config.json:6:36: `security.follow_symlinks` must be `true` or `false`, but it is `null` [config-wrong-type]
      help: remove the key to use its default
    config.json:7:27: `skills.user:pdf` must be an object `{ … }`, but it is `true` [config-wrong-type]
      help: write `{ … }`; its keys are `enabled`
    config.json:8:21: `trusted_keys[0]` must be a string, but it is the number 5 [config-wrong-type]
      help: put it in quotes: "5"
    "#);
}

#[test]
fn a_configuration_that_is_no_object_is_refused() {
    assert_snapshot!(problems("[]"), @"
    config.json:1:1: the configuration must be an object `{ … }`, but it is a list [config-wrong-type]
      help: write `{ … }`; its keys are `agents`, `budgets`, `catalog`, `enableSkills`, `enable_skills`, `execution`, `model`, `permission_examples`, `permissions`, `profile`, `security`, `skill_roots`, `skills`, `sources`, `trusted_keys`
    ");
}

#[test]
fn a_wrong_word_lists_the_allowed_ones_and_the_nearest() {
    let text = r#"{
  "profile": "strickt",
  "catalog": { "format": "yaml" },
  "execution": { "require_approval_for": ["run_scrip"] },
}"#;
    assert_snapshot!(problems(text), @r#"
    config.json:2:14: `profile` must be one of `strict`, `lenient`, but it is the string "strickt" [config-bad-value]
      help: did you mean `strict`?
    config.json:3:26: `catalog.format` must be one of `lines`, `xml`, `tool`, `awareness`, `direct`, `json`, but it is the string "yaml" [config-bad-value]
      help: How the list is written. A project cannot choose `direct`.
    config.json:4:43: `execution.require_approval_for[0]` must be one of `load_skill`, `read_file`, `list_dir`, `grep`, `run_script`, `run_command`, `write_file`, `delete_file`, `network_request`, `script_network`, `skill`, `network`, but it is the string "run_scrip" [config-bad-value]
      help: did you mean `run_script`?
    "#);
}

#[test]
fn a_number_out_of_bounds_names_the_bound() {
    let text = r#"{
  "budgets": { "turns": 0, "tool_calls": -1, "wall_s": 4294967296 },
  "security": { "max_walk_depth": 99999999999999999999999999999999999999999999 },
  "model": { "params": { "temperature": 1e999 } },
}"#;
    assert_snapshot!(problems(text), @"
    config.json:2:25: `budgets.turns` must be at least 1, but it is 0 [config-bad-value]
      help: How many decisions the model may make.
    config.json:2:42: `budgets.tool_calls` must be at least 0, but it is -1 [config-bad-value]
      help: How many tools may be called.
    config.json:2:56: `budgets.wall_s` must be at most 4294967295, but it is 4294967296 [config-bad-value]
      help: How many seconds a run may take; without it there is no limit.
    config.json:3:35: `security.max_walk_depth` must be at most 4294967295, but it is 99999999999999999999999999999999999999999999 [config-bad-value]
      help: How many levels below a root are searched for skills.
    config.json:4:41: `model.params.temperature` is too large [config-bad-value]
      help: use a number that fits in a 64-bit float
    ");
}

#[test]
fn zero_is_a_budget_for_tools_and_scripts() {
    assert!(
        parse(r#"{ "budgets": { "tool_calls": 0, "script_runs": -0 } }"#, "c", Scope::User).is_ok()
    );
}

#[test]
fn an_empty_string_is_no_name() {
    let text = r#"{ "model": { "name": "" }, "skill_roots": [""] }"#;
    assert_snapshot!(problems(text), @"
    config.json:1:22: `model.name` is empty [config-bad-value]
      help: set a value or remove it; The model's name, as the provider spells it; for `scripted` and `mock` a file, for `replay` a run.
    config.json:1:44: `skill_roots[0]` is empty [config-bad-value]
      help: set a value or remove it; `metier config schema` prints what is allowed
    ");
}

#[test]
fn a_secret_pasted_with_its_variable_is_not_repeated() {
    let shown = problems(r#"{ "execution": { "env": ["HOME", "API_KEY=sk-123"] } }"#);
    assert!(!shown.contains("sk-123"));
    assert!(!problems(r#"{ "execution": { "env": "API_KEY=sk-123" } }"#).contains("sk-123"));
    assert_snapshot!(shown, @r#"
    config.json:1:34: `execution.env[1]` must be just the name of an environment variable [config-bad-value]
      help: write "API_KEY"; values belong in the environment, not here
    "#);
}

#[test]
fn a_rule_needs_all_its_parts() {
    let text = r#"{ "permissions": [ { "permission": "run_script" } ] }"#;
    assert_snapshot!(problems(text), @"
    config.json:1:20: `permissions[0]` is missing `pattern` [config-missing-key]
      help: add `pattern`: What it applies to; `*` and `?` are wildcards.
    config.json:1:20: `permissions[0]` is missing `effect` [config-missing-key]
      help: add `effect`: What happens when the rule matches.
    ");
}

#[test]
fn the_same_key_twice_is_an_error_at_any_depth() {
    let text = r#"{
  "profile": "strict",
  "profile": "lenient",
  "model": { "params": { "a": [ { "b": 1, "b": 2 } ] } },
}"#;
    assert_snapshot!(problems(text), @"
    config.json:3:3: duplicate key `profile`; first set on line 2 [config-duplicate-key]
      help: remove one of the two
    config.json:4:43: duplicate key `model.params.a[0].b`; first set on line 4 [config-duplicate-key]
      help: remove one of the two
    ");
}

#[test]
fn a_key_is_the_same_key_however_it_is_escaped() {
    assert_snapshot!(problems(r#"{ "profile": "strict", "pro\u0066ile": "lenient" }"#), @"
    config.json:1:24: duplicate key `profile`; first set on line 1 [config-duplicate-key]
      help: remove one of the two
    ");
}

#[test]
fn a_project_cannot_set_keys_endpoints_or_the_sandbox() {
    let text = r#"{
  "trusted_keys": ["RWQ"],
  "model": { "base_url": "http://evil.example" },
  "execution": { "require_sandbox": false, "min_tier": "none", "env": ["AWS_SECRET"] },
}"#;
    assert_snapshot!(project_problems(text), @"
    config.json:2:3: `trusted_keys` cannot be set in a project's file [config-not-allowed-in-project]
      help: set it in your own `~/.agent/config.json`: a project must not choose keys, endpoints or the sandbox for you
    config.json:3:14: `model.base_url` cannot be set in a project's file [config-not-allowed-in-project]
      help: set it in your own `~/.agent/config.json`: a project must not choose keys, endpoints or the sandbox for you
    config.json:4:18: `execution.require_sandbox` cannot be set in a project's file [config-not-allowed-in-project]
      help: set it in your own `~/.agent/config.json`: a project must not choose keys, endpoints or the sandbox for you
    config.json:4:44: `execution.min_tier` cannot be set in a project's file [config-not-allowed-in-project]
      help: set it in your own `~/.agent/config.json`: a project must not choose keys, endpoints or the sandbox for you
    config.json:4:64: `execution.env` cannot be set in a project's file [config-not-allowed-in-project]
      help: set it in your own `~/.agent/config.json`: a project must not choose keys, endpoints or the sandbox for you
    ");
    assert!(parse(text, "c", Scope::User).is_ok());
}

#[test]
fn a_project_may_bring_rules_and_preferences() {
    let text = r#"{
  "permissions": [ { "permission": "run_script", "pattern": "*", "effect": "deny" } ],
  "model": { "provider": "openai", "name": "gpt", "params": { "temperature": 0.2 } },
  "profile": "lenient", // merged by the strictest, see `layers`
}"#;
    assert!(parse(text, "c", Scope::Project).is_ok());
}

#[test]
fn what_an_attacker_wrote_reaches_no_terminal_raw() {
    let text = "{ \"a\\u001b[2Jb\u{202e}c\": 1, \"profile\": \"\\u0007x\" }";
    assert_snapshot!(problems(text), @r#"
    config.json:1:3: unknown key `"a\x1b[2Jb\u{202e}c"` [config-unknown-key]
      help: the keys allowed here are `agents`, `budgets`, `catalog`, `enableSkills`, `enable_skills`, `execution`, `model`, `permission_examples`, `permissions`, `profile`, `security`, `skill_roots`, `skills`, `sources`, `trusted_keys`
    config.json:1:34: `profile` must be one of `strict`, `lenient`, but it is the string "\x07x" [config-bad-value]
      help: How skills with faults are treated. A project can only choose `strict`.
    "#);
}

#[test]
fn a_long_key_is_shortened() {
    let text = format!(r#"{{ "{}": 1 }}"#, "k".repeat(100_000));
    let errors = parse(&text, "c", Scope::User).unwrap_err();
    assert!(errors[0].message.len() < 300 && errors[0].key_path.len() < 300);
}

#[test]
fn a_hundred_problems_are_listed_and_the_rest_counted() {
    let keys: Vec<String> = (0..5000).map(|i| format!("\"x{i}\": 1")).collect();
    let errors = parse(&format!("{{ {} }}", keys.join(",\n")), "c", Scope::User).unwrap_err();
    assert_eq!(errors.len(), 101);
    let last = errors.last().unwrap();
    assert_eq!(last.kind, ConfigErrorKind::TooLarge);
    assert_eq!(last.message, "4900 more problems are not listed");
}

#[test]
fn a_megabyte_of_repeated_keys_under_a_long_one_takes_no_time() {
    let inner = r#""a":1,"#.repeat(60_000);
    let text =
        format!(r#"{{ "model": {{ "params": {{ "{}": {{ {inner} }} }} }} }}"#, "k".repeat(500_000));
    assert_eq!(parse(&text, "c", Scope::User).unwrap_err().len(), 101);
}

#[test]
fn a_list_has_a_bound() {
    let text = format!(r#"{{ "skill_roots": [{}] }}"#, r#""a","#.repeat(1001));
    assert_snapshot!(problems(&text), @"
    config.json:1:18: `skill_roots` has 1001 elements; the limit is 1000 [config-bad-value]
      help: More folders to search for skills, before the usual ones. A relative path starts at the folder that holds `.agent`; `~/` is the home directory.
    ");
}

#[test]
fn an_error_in_json_has_its_code() {
    let errors = parse(r#"{ "profil": 1 }"#, "config.json", Scope::User).unwrap_err();
    assert_snapshot!(serde_json::to_string_pretty(&errors).unwrap(), @r#"
    [
      {
        "file": "config.json",
        "line": 1,
        "column": 3,
        "key_path": "profil",
        "kind": "config-unknown-key",
        "message": "unknown key `profil`",
        "help": "did you mean `profile`?"
      }
    ]
    "#);
}

#[test]
fn every_kind_has_its_own_code() {
    let codes: std::collections::BTreeSet<_> =
        ConfigErrorKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), ConfigErrorKind::ALL.len());
    assert!(codes.iter().all(|code| code.starts_with("config-")));
}

#[test]
fn the_profile_that_only_judges_skills_is_refused() {
    assert_snapshot!(problems(r#"{ "profile": "spec" }"#), @r#"
    config.json:1:14: `profile` must be one of `strict`, `lenient`, but it is the string "spec" [config-bad-value]
      help: How skills with faults are treated. A project can only choose `strict`.
    "#);
}
