//! Laws: reading never panics, errors stand inside the text, what the schema accepts serde reads,
//! and no project loosens a guard.

use metier_config::{ConfigErrorKind, Layer, Scope, Settings, parse};
use metier_loader::OverLimit;
use metier_skill::Profile;
use proptest::prelude::*;
use proptest::sample::Index;

const VALID: &str = r#"// A configuration with every key.
{
  "$schema": "x", "skill_roots": ["a", "~/b"], "profile": "strict",
  "model": { "provider": "openai", "name": "模型", "params": { "temperature": 0.5, "stop": ["a", "b"], "seed": -7 } },
  "execution": { "require_approval_for": ["grep", "network"], "timeout_s": 5, "max_output_chars": 7 },
  "security": { "max_skill_body_lines": 1, "max_skill_body_chars": 2, "over_long_body": "refuse", "follow_symlinks": false,
    "block_angle_brackets_in_frontmatter": true, "max_frontmatter_lines": 3, /* x */
    "max_frontmatter_line_chars": 4, "max_frontmatter_bytes": 5, "max_description_chars": 6,
    "max_walk_depth": 7, "max_walk_entries": 8 },
  "permissions": [{ "permission": "*", "pattern": "a \"b\" \u00e9", "effect": "deny" }],
  "permission_examples": [{ "request": "grep .", "expect": "allow" }],
  "skills": { "user:pdf": { "enabled": true } },
  "budgets": { "turns": 1, "tool_calls": 0, "script_runs": 0, "wall_s": 1, "tokens": 1, "skills_a_turn": 1 },
  "catalog": { "format": "awareness", "budget_tokens": 9 },
}
"#;

/// What must hold for any text.
fn check(text: &str) -> Result<(), TestCaseError> {
    for scope in [Scope::Managed, Scope::User, Scope::Project] {
        match parse(text, "c", scope) {
            Ok(layer) => {
                let settings = match scope {
                    Scope::Managed => Settings::merge_managed(&[layer], None, None),
                    Scope::User => Settings::merge(Some(&layer), None),
                    Scope::Project => Settings::merge(None, Some(&layer)),
                };
                prop_assert!(!settings.explain().is_empty());
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(error.line >= 1 && error.column >= 1);
                    prop_assert!(error.line <= text.matches(['\n', '\r']).count() + 1);
                    prop_assert!(!error.message.is_empty() && !error.help.is_empty());
                    prop_assert!(!error.message.contains(char::is_control));
                    prop_assert!(!error.message.contains("passed its schema"), "{error}");
                }
            }
        }
    }
    Ok(())
}

/// Pieces that JSON is made of, and some that it is not.
fn fragment() -> impl Strategy<Value = String> {
    let pieces = "{ } [ ] , : \" \\ // /* */ ' null true 0 -0 1e9 1e999 -1 0.0 99999999999 \"\" \\u00 \
                  \\ud83d \"profile\": \"strict\" \"model\": \"skills\": \"enabled\": \u{feff} \u{202e} é";
    let pieces: Vec<&str> = pieces.split(' ').chain(["\n", "\r", " "]).collect();
    prop_oneof![
        4 => proptest::sample::select(pieces).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

/// The nearest start of a character at or before the byte.
fn boundary(text: &str, index: Index) -> usize {
    let offset = index.index(text.len() + 1);
    (0..=offset).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_soup_of_json_is_read_or_refused(soup in proptest::collection::vec(fragment(), 0..40)) {
        check(&soup.concat())?;
    }

    #[test]
    fn a_mutated_configuration_is_read_or_refused(
        edits in proptest::collection::vec((any::<Index>(), any::<Index>(), 0_usize..12, fragment()), 1..4),
    ) {
        let mut text = VALID.to_owned();
        for (at, _, length, insert) in edits {
            let start = boundary(&text, at);
            let end = (start + length..=text.len()).find(|&i| text.is_char_boundary(i));
            text.replace_range(start..end.unwrap_or(text.len()), &insert);
        }
        check(&text)?;
    }

    #[test]
    fn a_value_moved_to_another_key_is_read_or_refused(
        from in any::<Index>(), to in any::<Index>(),
    ) {
        let values = ["0", "-0", "1", "1.0", "\"\"", "\"a\"", "true", "null", "[]", "{}", "[\"a\"]", "[0]", "\"strict\"", "4294967295", "4294967296", "{\"enabled\":true}", "1e2"];
        let keys = ["$schema", "skill_roots", "profile", "model", "execution", "security", "permissions", "permission_examples", "skills", "sources", "budgets", "catalog", "trusted_keys"];
        let value = values[from.index(values.len())];
        check(&format!(r#"{{ "{}": {value} }}"#, keys[to.index(keys.len())]))?;
        let inner = ["provider", "name", "params", "timeout_s", "env", "min_tier", "turns", "tool_calls", "format", "follow_symlinks"];
        let sections = ["model", "execution", "budgets", "catalog", "security"];
        for section in sections {
            check(&format!(r#"{{ "{section}": {{ "{}": {value} }} }}"#, inner[to.index(inner.len())]))?;
        }
    }

    #[test]
    fn no_project_loosens_a_guard(user in guards(), project in guards()) {
        let user = parse(&user, "user", Scope::User).unwrap();
        let project = parse(&project, "project", Scope::Project).unwrap();
        let alone = Settings::merge(Some(&user), None);
        let both = Settings::merge(Some(&user), Some(&project));
        prop_assert!(is_as_strict(&both, &alone));
        let default = Settings::merge(None, Some(&project));
        prop_assert!(is_as_strict(&default, &Settings::default()));
    }

    #[test]
    fn a_skill_is_off_when_either_file_says_so(user in switches(), project in switches()) {
        let user = parse(&user, "user", Scope::User).unwrap();
        let project = parse(&project, "project", Scope::Project).unwrap();
        let users = Settings::merge(Some(&user), None);
        let projects = Settings::merge(None, Some(&project));
        let both = Settings::merge(Some(&user), Some(&project));
        for id in ["user:pdf", "project:pdf", "plugin:docs:pdf", "builtin:other"] {
            prop_assert_eq!(
                both.is_skill_enabled(id),
                users.is_skill_enabled(id) && projects.is_skill_enabled(id),
                "{}", id
            );
        }
    }
}

fn guards() -> impl Strategy<Value = String> {
    let number = || proptest::option::of(1_u32..2_000_000);
    let switch = || proptest::option::of(any::<bool>());
    (number(), number(), number(), switch(), switch(), switch(), switch()).prop_map(
        |(lines, turns, tokens, block, follow, strict, refuse)| {
            let mut security = serde_json::Map::new();
            let mut budgets = serde_json::Map::new();
            let mut config = serde_json::Map::new();
            lines.map(|n| security.insert("max_skill_body_lines".into(), n.into()));
            block.map(|b| security.insert("block_angle_brackets_in_frontmatter".into(), b.into()));
            follow.map(|b| security.insert("follow_symlinks".into(), b.into()));
            turns.map(|n| budgets.insert("turns".into(), n.into()));
            tokens.map(|n| budgets.insert("tokens".into(), n.into()));
            strict.map(|s| {
                config.insert("profile".into(), if s { "strict" } else { "lenient" }.into())
            });
            refuse.map(|r| {
                security.insert("over_long_body".into(), if r { "refuse" } else { "trim" }.into())
            });
            config.insert("security".into(), security.into());
            config.insert("budgets".into(), budgets.into());
            serde_json::Value::Object(config).to_string()
        },
    )
}

/// Switches for one skill by its name and by two ids, and for a name that only looks like an id.
fn switches() -> impl Strategy<Value = String> {
    let keys = vec!["pdf", "user:pdf", "project:pdf", "docs:pdf"];
    let chosen = proptest::sample::subsequence(keys, 0..=4);
    (chosen, proptest::collection::vec(any::<bool>(), 4)).prop_map(|(keys, on)| {
        let entry =
            |(key, on): (&str, bool)| (key.to_owned(), serde_json::json!({ "enabled": on }));
        let skills: serde_json::Map<_, _> = keys.into_iter().zip(on).map(entry).collect();
        serde_json::json!({ "skills": skills }).to_string()
    })
}

fn is_as_strict(settings: &Settings, than: &Settings) -> bool {
    let (ours, theirs) = (&settings.run_limits, &than.run_limits);
    settings.body_limits.lines <= than.body_limits.lines
        && settings.limits.block_angle_brackets >= than.limits.block_angle_brackets
        && settings.walk.follow_symlinks <= than.walk.follow_symlinks
        && (settings.body_limits.over == OverLimit::Refuse
            || than.body_limits.over == OverLimit::Trim)
        && ours.turns <= theirs.turns
        && ours.tokens.unwrap_or(u64::MAX) <= theirs.tokens.unwrap_or(u64::MAX)
        && (settings.profile == Profile::Strict || than.profile == Profile::Lenient)
}

#[test]
fn the_configuration_to_mutate_is_valid() {
    let layer: Result<Layer, _> = parse(VALID, "c", Scope::Project);
    assert!(layer.is_ok(), "{layer:?}");
    assert_eq!(parse("{", "c", Scope::User).unwrap_err()[0].kind, ConfigErrorKind::Syntax);
}
