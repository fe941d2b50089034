//! The schema is the single truth: nothing in it is unknown to the checker, nothing is left out.
//!
//! The schema is the single truth, so it is tested against the types.

use std::collections::BTreeSet;

use metier_config::{Scope, Settings, json_schema, parse};
use serde_json::Value;

/// Calls `visit` with the schema of every key, and its path.
fn each_key(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        visit(&path, inner);
        each_key(inner, &path, visit);
    }
}

fn keywords(schema: &Value, found: &mut BTreeSet<String>) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map {
        found.insert(keyword.clone());
        match (keyword.as_str(), value) {
            ("properties", Value::Object(inner)) => inner.values().for_each(|s| keywords(s, found)),
            ("oneOf", Value::Array(choices)) => choices.iter().for_each(|s| keywords(s, found)),
            ("items" | "additionalProperties" | "x-metier-project", inner) => {
                keywords(inner, found);
            }
            _ => {}
        }
    }
}

#[test]
fn the_schema_uses_only_keywords_that_the_checker_knows() {
    let mut found = BTreeSet::new();
    keywords(&json_schema(), &mut found);
    let known = [
        "$id",
        "$schema",
        "additionalProperties",
        "const",
        "default",
        "description",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minLength",
        "minimum",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "x-metier-not-managed",
        "x-metier-project",
        "x-metier-user-only",
    ];
    assert_eq!(found, known.iter().map(ToString::to_string).collect());
}

#[test]
fn the_only_pattern_is_the_one_that_the_checker_knows() {
    let text = json_schema().to_string();
    assert_eq!(text.matches("\"pattern\":\"").count(), 1);
    assert!(text.contains(r#""pattern":"^[^=\\s]+$""#));
}

#[test]
fn every_key_is_described_and_explained() {
    let settings = Settings::default();
    let explained: BTreeSet<&str> =
        settings.explain().iter().map(|row| row.key_path.as_str()).collect();
    each_key(&json_schema(), "", &mut |path, schema| {
        assert!(schema["description"].is_string(), "{path} has no description");
        let is_section = schema.get("properties").is_some();
        // The second is another spelling of a key that is explained.
        if !is_section && !matches!(path, "$schema" | "enableSkills") {
            assert!(explained.contains(path), "{path} is not explained");
        }
    });
}

/// The words of a closed list are written in the schema and read by the domain's type; an alias or
/// a spelling that only one of them knows would be refused with a message about a bug.
#[test]
fn every_word_that_the_schema_lists_is_read() {
    let mut words = 0;
    each_key(&json_schema(), "", &mut |path, schema| {
        let items = schema.get("items");
        let choices = items.unwrap_or(schema).get("oneOf").and_then(Value::as_array);
        for word in choices.into_iter().flatten().map(|choice| &choice["const"]) {
            let value = if items.is_some() { format!("[{word}]") } else { word.to_string() };
            let text = match path.split_once('.') {
                Some((section, key)) => format!(r#"{{ "{section}": {{ "{key}": {value} }} }}"#),
                None => format!(r#"{{ "{path}": {value} }}"#),
            };
            assert!(parse(&text, "c", Scope::User).is_ok(), "{text}");
            words += 1;
        }
    });
    assert!(words > 25, "only {words} words were tried");
}

#[test]
fn defaults_in_the_schema_are_the_defaults_that_count() {
    assert_eq!(json_schema()["properties"]["budgets"]["properties"]["turns"]["default"], 12);
    assert_eq!(json_schema()["properties"]["profile"]["default"], "strict");
}

#[test]
fn the_keys_for_users_alone_are_these() {
    let mut found = Vec::new();
    each_key(&json_schema(), "", &mut |path, schema| {
        if schema["x-metier-user-only"] == true {
            found.push(path.to_owned());
        }
    });
    assert_eq!(
        found,
        [
            "execution.allowed_tools_approve",
            "execution.always_expires_s",
            "execution.env",
            "execution.min_tier",
            "execution.require_sandbox",
            "model.base_url",
            "model.key_command",
            "model.key_env",
            "trusted_keys"
        ]
    );
}

#[test]
fn the_schema_is_draft_2020_12_and_always_the_same() {
    assert_eq!(json_schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(json_schema().to_string(), json_schema().to_string());
}
