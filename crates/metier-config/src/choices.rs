//! The words that a file may use where a domain type knows more: two of the profiles, and the
//! permissions of our own tools.
//!
//! Other closed lists are enums whose schema is derived; these two cannot be, because
//! [`Profile::Spec`] only judges skills and [`Permission`] also holds the names of foreign tools.

use metier_policy::Permission;
use metier_skill::Profile;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

/// The longest list of permissions.
const MAX_PERMISSIONS: usize = 1000;

/// The profiles by which skills are found.
pub(crate) fn profiles(_: &mut SchemaGenerator) -> Schema {
    let strict = "A skill with a fault in what matters stays out of the index.";
    let lenient = "What can be read is loaded, and every repair is reported.";
    one_of([
        choice(Profile::Strict.as_str(), strict, &[]),
        choice(Profile::Lenient.as_str(), lenient, &[]),
    ])
}

/// A list of permissions of our own tools. Foreign tools are left out: a misspelt `run_scrip` would
/// pass for one, and the user would never be asked.
pub(crate) fn permissions(_: &mut SchemaGenerator) -> Schema {
    let choices = Permission::ours().map(|permission| {
        choice(permission.as_str(), description(&permission), permission.aliases())
    });
    json_schema!({ "type": "array", "maxItems": MAX_PERMISSIONS, "items": one_of(choices) })
}

fn one_of(choices: impl IntoIterator<Item = Json>) -> Schema {
    let choices: Vec<Json> = choices.into_iter().collect();
    json_schema!({ "oneOf": choices })
}

fn choice(word: &str, description: &str, aliases: &[&str]) -> Json {
    let mut choice = json!({ "const": word, "description": description, "type": "string" });
    if !aliases.is_empty() {
        choice["x-metier-aliases"] = json!(aliases);
    }
    choice
}

fn description(permission: &Permission) -> &'static str {
    match permission {
        Permission::LoadSkill => "Reading a skill's instructions.",
        Permission::ReadFile => "Reading a file.",
        Permission::ListDir => "Listing a directory.",
        Permission::Grep => "Searching in files.",
        Permission::RunScript => "Running a skill's script.",
        Permission::RunCommand => "Running a command.",
        Permission::WriteFile => "Writing a file.",
        Permission::DeleteFile => "Deleting a file.",
        Permission::NetworkRequest => "Reaching the network.",
        Permission::ScriptNetwork => "Running a script that reaches the network.",
        _ => "Using this tool.",
    }
}
