//! The JSON Schemas of arguments, and reading arguments by them.
//!
//! The subset is the one every provider enforces: an object at the root, all fields required and
//! nullable where they may be left out, nothing else allowed. Reading is as strict about names, and
//! takes a missing field for null.

use metier_skill::text::short_line;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::failure::{FailureCode, ToolFailure};

/// A field of the arguments.
pub(crate) struct Field {
    name: &'static str,
    schema: Value,
}

/// A field that must be given.
pub(crate) fn needed(name: &'static str, kind: &str, about: &str) -> Field {
    Field { name, schema: json!({"type": kind, "description": about}) }
}

/// A field that may be null.
pub(crate) fn optional(name: &'static str, kind: &str, about: &str) -> Field {
    Field { name, schema: json!({"type": [kind, "null"], "description": about}) }
}

/// A field with a schema of its own.
#[cfg(feature = "network")]
pub(crate) fn field(name: &'static str, schema: Value) -> Field {
    Field { name, schema }
}

/// The schema of an object with `fields` and no others.
pub(crate) fn object(fields: Vec<Field>) -> Value {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.name.to_owned(), field.schema)).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false
    })
}

/// The arguments as a tool's own type.
pub(crate) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolFailure> {
    if !arguments.is_object() {
        let told = "the arguments are not an object";
        return Err(ToolFailure::new(FailureCode::InvalidArguments, told));
    }
    T::deserialize(arguments).map_err(|error| {
        let told = error.to_string();
        let told = short_line(&told, 300);
        ToolFailure::new(FailureCode::InvalidArguments, format!("the arguments do not fit: {told}"))
    })
}
