//! The JSON Schema of the configuration, made from [`Config`] and from the defaults.
//!
//! It is the single truth: editors read it, the checker walks it. Its own keywords are
//! `x-metier-user-only` (a project may not set the key, or not to this word), `x-metier-project` (the
//! schema that holds in a project's file instead), `x-metier-not-managed` (an administrator may not
//! set the key) and, before it is finished, `x-metier-aliases` (other words for a value).

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value as Json, json};

use crate::config::Config;
use crate::settings::Settings;

/// The JSON Schema (draft 2020-12) of a configuration file, with descriptions and defaults. The
/// same for the same version of Metier, byte for byte.
pub fn json_schema() -> Json {
    schema().clone()
}

/// The schema, made once.
pub(crate) fn schema() -> &'static Json {
    static SCHEMA: LazyLock<Json> = LazyLock::new(generate);
    &SCHEMA
}

fn generate() -> Json {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(simplify));
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    schema["title"] = json!("Metier configuration");
    schema["$id"] = json!("metier-config.schema.json");
    for row in Settings::default().explain() {
        let empty = row.value.is_null() || row.value == json!([]) || row.value == json!({});
        let pointer = format!("/properties/{}", row.key_path.replace('.', "/properties/"));
        if let (Some(place), false) = (schema.pointer_mut(&pointer), empty) {
            place["default"] = row.value.clone();
        }
    }
    // serde_json keeps the order of insertion when another crate asks it to; the schema must not
    // depend on that.
    schema.sort_all_objects();
    schema
}

/// Makes what schemars derives into what a file may say.
fn simplify(schema: &mut Schema) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    // `Option` gives a type or null, but a file that has nothing to say leaves the key out.
    if let Some(Json::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Json::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Json::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
    // A format is a hint that no editor checks; a bound is checked by all.
    if map.get("format").and_then(Json::as_str) == Some("uint32") {
        map.remove("format");
        map.insert("maximum".to_owned(), json!(u32::MAX));
    }
    if let Some(Json::Array(choices)) = map.get_mut("oneOf") {
        let aliases: Vec<Json> = choices.iter_mut().flat_map(take_aliases).collect();
        choices.extend(aliases);
    }
    // schemars' defaults are those of an empty layer; ours are added at the end.
    map.remove("default");
}

/// The other words for one value, each as a value of its own.
fn take_aliases(choice: &mut Json) -> Vec<Json> {
    let name = choice["const"].as_str().unwrap_or_default().to_owned();
    let aliases = choice.as_object_mut().and_then(|map| map.remove("x-metier-aliases"));
    let aliases = aliases.as_ref().and_then(Json::as_array).cloned().unwrap_or_default();
    let described = format!("The same as `{name}`.");
    let value = |alias| json!({ "const": alias, "description": described, "type": "string" });
    aliases.into_iter().map(value).collect()
}

/// The words that a schema allows, when it allows only words.
pub(crate) fn words_of(schema: &Json) -> Option<Vec<&str>> {
    let choices = schema.get("oneOf")?.as_array()?;
    choices.iter().map(|choice| choice.get("const")?.as_str()).collect()
}

/// The schema of one of the words that a schema allows.
pub(crate) fn word_schema<'s>(schema: &'s Json, word: &str) -> Option<&'s Json> {
    let mut choices = schema.get("oneOf")?.as_array()?.iter();
    choices.find(|choice| choice.get("const").and_then(Json::as_str) == Some(word))
}

/// The type that a schema wants of a value: the one that the value has, where there is a choice.
pub(crate) fn type_for<'s>(schema: &'s Json, found: &str) -> Option<&'s str> {
    match schema.get("type")? {
        Json::Array(types) => {
            let mut types = types.iter().filter_map(Json::as_str);
            let first = types.clone().next();
            types.find(|wanted| *wanted == found).or(first)
        }
        wanted => wanted.as_str(),
    }
}

/// The keys that an object may have, without `$schema`, which sets nothing.
pub(crate) fn keys_of(schema: &Json) -> Vec<&str> {
    let keys = properties(schema).into_iter().flat_map(|map| map.keys());
    keys.map(String::as_str).filter(|key| *key != "$schema").collect()
}

/// The section that has this key, when just one has.
pub(crate) fn home_of_key(key: &str) -> Option<&'static str> {
    let sections = schema().get("properties")?.as_object()?;
    let has_key = |section: &Json| properties(section).is_some_and(|map| map.contains_key(key));
    let mut homes = sections.iter().filter(|(_, section)| has_key(section));
    match (homes.next(), homes.next()) {
        (Some((home, _)), None) => Some(home),
        _ => None,
    }
}

fn properties(schema: &Json) -> Option<&Map<String, Json>> {
    schema.get("properties")?.as_object()
}
