//! The JSON Schemas of arguments, derived from their types, and reading arguments by them.
//!
//! The subset is the one every provider enforces: an object at the root, all fields required and
//! nullable where they may be left out, nothing else allowed; no references, no keywords beyond those
//! in [`KEYWORDS`]. Reading is as strict about names, and takes a missing field for null.

use metier_skill::text::short_line;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::failure::{ToolFailure, shown};
use metier_skill::FailureCode;

/// The keywords that stay. Providers refuse, or silently ignore, a schema with others (`format`,
/// `minimum`, `default`, `$schema`, `title`); a tool checks its ranges itself.
const KEYWORDS: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
];

/// The schema of arguments, within the subset.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let derived = settings.into_generator().into_root_schema_for::<T>().to_value();
    let mut schema = Map::new();
    if let Value::Object(derived) = &derived
        && derived.get("type").is_some_and(|kind| kind == "object")
    {
        schema = normalized(derived);
        // What the type says about itself is for its authors; the tool has its own description.
        schema.remove("description");
    }
    // A type without fields takes an empty object.
    schema.insert("type".to_owned(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.entry("required").or_insert_with(|| json!([]));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Value::Object(schema)
}

/// A derived schema within the subset.
fn normalized(derived: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    for (keyword, value) in derived {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                let fields: Map<String, Value> =
                    fields.iter().map(|(name, field)| (name.clone(), within(field))).collect();
                // What must be given first: providers have a model write the keys in this order.
                let must = derived.get("required").and_then(Value::as_array);
                let is_needed =
                    |name: &String| must.is_some_and(|names| names.iter().any(|it| it == name));
                let mut names: Vec<&String> = fields.keys().collect();
                names.sort_by_key(|name| !is_needed(name));
                schema.insert("required".to_owned(), json!(names));
                schema.insert("additionalProperties".to_owned(), json!(false));
                schema.insert(keyword.clone(), Value::Object(fields));
            }
            // Every field is required; those above.
            ("required", _) => {}
            ("items", item) => drop(schema.insert(keyword.clone(), within(item))),
            ("anyOf" | "oneOf", Value::Array(kinds)) => {
                let kinds: Vec<Value> = kinds.iter().map(within).collect();
                schema.insert("anyOf".to_owned(), Value::Array(kinds));
            }
            ("const", value) => drop(schema.insert("enum".to_owned(), json!([value]))),
            // A doc comment is wrapped where its line ended.
            ("description", Value::String(text)) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                schema.insert(keyword.clone(), json!(words.join(" ")));
            }
            (known, value) if KEYWORDS.contains(&known) => {
                schema.insert(keyword.clone(), value.clone());
            }
            _ => {}
        }
    }
    schema
}

fn within(derived: &Value) -> Value {
    match derived {
        Value::Object(derived) => Value::Object(normalized(derived)),
        // `true`: anything.
        _ => json!({}),
    }
}

/// The arguments as a tool's own type. A field that the type does not have is refused, whatever the
/// type says about unknown fields: a model that invents one means something by it.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(arguments: &Value) -> Result<T, ToolFailure> {
    let invalid = |message: String| ToolFailure::new(FailureCode::InvalidArguments, message);
    let Value::Object(given) = arguments else {
        return Err(invalid("the arguments are not an object".to_owned()));
    };
    let schema = schema_of::<T>();
    if let Some(unknown) = given.keys().find(|name| schema["properties"].get(*name).is_none()) {
        let message = format!("the arguments do not fit: there is no field {}", shown(unknown));
        return Err(invalid(message));
    }
    T::deserialize(arguments).map_err(|error| {
        let message = error.to_string();
        invalid(format!("the arguments do not fit: {}", short_line(&message, 300)))
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Odd {
        /// A number that is never
        /// negative.
        count: u8,
        kind: Option<Kind>,
        inner: Vec<Inner>,
        either: Either,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        /// One.
        First,
        SecondOne,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        #[serde(default)]
        path: std::path::PathBuf,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Either {
        Text(String),
        Number(f64),
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Nothing {}

    /// Every keyword in a schema, however deep.
    fn keywords(schema: &Value, into: &mut Vec<String>) {
        let Value::Object(schema) = schema else { return };
        for (keyword, value) in schema {
            into.push(keyword.clone());
            match value {
                Value::Object(fields) if keyword == "properties" => {
                    fields.values().for_each(|field| keywords(field, into));
                }
                Value::Array(kinds) if keyword == "anyOf" => {
                    for kind in kinds {
                        keywords(kind, into);
                    }
                }
                value => keywords(value, into),
            }
        }
    }

    #[test]
    fn whatever_is_derived_keeps_to_the_subset() {
        let schema = schema_of::<Odd>();
        let mut found = Vec::new();
        keywords(&schema, &mut found);
        assert!(found.iter().all(|keyword| KEYWORDS.contains(&keyword.as_str())), "{schema:#}");
        let count = &schema["properties"]["count"];
        let expected =
            json!({"type": "integer", "description": "A number that is never negative."});
        assert_eq!(*count, expected);
        let mut required: Vec<&str> = schema["required"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        required.sort_unstable();
        assert_eq!(required, ["count", "either", "inner", "kind"]);
        let item = &schema["properties"]["inner"]["items"];
        assert_eq!(item["additionalProperties"], false, "inner objects too");
        assert_eq!(item["required"], json!(["path"]), "a default does not make it optional");
        assert!(schema["properties"]["kind"].to_string().contains("second-one"), "{schema:#}");
    }

    #[test]
    fn no_arguments_are_an_empty_object_and_an_unknown_field_is_refused() {
        let empty = json!({"type": "object", "properties": {}, "required": [],
            "additionalProperties": false});
        assert_eq!(schema_of::<Nothing>(), empty);
        assert_eq!(schema_of::<()>(), empty);
        assert!(read::<Nothing>(&json!({})).is_ok());
        let failure = read::<Nothing>(&json!({"more": 1})).expect_err("unknown");
        assert!(failure.message.contains("no field `more`"), "{failure}");
    }
}
