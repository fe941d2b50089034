//! The JSON Schema of a script, for editors and the documentation. It is made from the types that read
//! one; what a decision may hold is checked by the reader, action by action.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::script::{ChunksText, FaultText, RawText, Script};
use crate::protocol::ACTIONS;

/// The JSON Schema (draft 2020-12) of a scripted model's file; the same for the same version, byte for
/// byte.
pub fn script_schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Script>().to_value();
    schema["title"] = json!("Metier scripted model");
    schema["$id"] = json!("metier-script.schema.json");
    schema.sort_all_objects();
    schema
}

pub(super) fn replies(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": reply(generator) })
}

/// One reply: a decision, words as they are, words in pieces, or a fault.
pub(super) fn reply(generator: &mut SchemaGenerator) -> Schema {
    let kinds: Vec<&str> = ACTIONS.iter().map(|spec| spec.kind).collect();
    let decision = json!({
        "description": "A decision, as a model makes it.",
        "type": "object",
        "required": ["action"],
        "additionalProperties": false,
        "properties": {
            "action": {
                "description": "What to do; the other fields are those of its type.",
                "type": "object",
                "required": ["type"],
                "properties": { "type": { "enum": kinds } },
            },
            "plan": { "description": "The plan, with the first decision." },
            "plan_update": { "description": "What changes about the plan." },
        },
    });
    let others = [
        RawText::json_schema(generator),
        ChunksText::json_schema(generator),
        FaultText::json_schema(generator),
    ];
    let mut choices = vec![decision];
    choices.extend(others.map(Schema::to_value));
    for choice in &mut choices {
        choice["properties"]["delay_ms"] = json!({
            "description": "Milliseconds until the reply comes.", "type": "integer", "minimum": 0,
        });
    }
    json_schema!({ "anyOf": choices })
}
