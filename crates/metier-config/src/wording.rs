//! The words of the errors: how values and types are named, and how foreign text is shown.
//!
//! Keys and values come from a file that may be an attacker's (a cloned project), and errors end
//! on terminals: what is quoted is escaped and shortened here.

use jsonc_parser::ast::Value as Node;
use metier_skill::text::short_line;
use serde_json::Value as Json;

use crate::schema::keys_of;

/// Characters of a key or value that an error quotes.
const MAX_QUOTED: usize = 60;

/// Text for a message: visible, and shortened when it is long.
pub(crate) fn quoted(text: &str) -> String {
    short_line(text, MAX_QUOTED).into_owned()
}

/// A string's value for a message. What follows a `=` is left out: where names of environment
/// variables belong, people paste `API_KEY=secret`.
fn value_shown(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) => format!("{}=…", quoted(name)),
        None => quoted(text),
    }
}

/// The value in the file: ``the string `"abc"` ``, `the number 3.5`, `a list`.
pub(crate) fn found(node: &Node<'_>) -> String {
    match node {
        Node::StringLit(lit) => format!("the string \"{}\"", value_shown(&lit.value)),
        Node::NumberLit(lit) => format!("the number {}", quoted(lit.value)),
        Node::BooleanLit(lit) => format!("`{}`", lit.value),
        Node::Object(_) => "an object".to_owned(),
        Node::Array(_) => "a list".to_owned(),
        Node::NullKeyword(_) => "`null`".to_owned(),
    }
}

/// The value that is expected, from the schema's `type`.
pub(crate) fn expected(schema_type: &str) -> &'static str {
    match schema_type {
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "array" => "a list `[ … ]`",
        "object" => "an object `{ … }`",
        _ => "a string",
    }
}

/// Advice for a value of the wrong type: how to write it right where that is plain to see, else
/// what the key is for.
pub(crate) fn type_advice(node: &Node<'_>, schema: &Json, schema_type: &str) -> String {
    match (node, schema_type) {
        (Node::NullKeyword(_), _) => "remove the key to use its default".to_owned(),
        (Node::StringLit(lit), "integer") if lit.value.parse::<u32>().is_ok() => {
            format!("write {} without quotes", lit.value)
        }
        (Node::StringLit(lit), "boolean") if matches!(&*lit.value, "true" | "false") => {
            format!("write {} without quotes", lit.value)
        }
        (Node::StringLit(lit), "array") => {
            format!("put it in a list: [\"{}\"]", value_shown(&lit.value))
        }
        (Node::NumberLit(lit), "string") => format!("put it in quotes: \"{}\"", quoted(lit.value)),
        (_, "object") if !keys_of(schema).is_empty() => {
            format!("write `{{ … }}`; its keys are {}", listed(keys_of(schema)))
        }
        _ => help_text(schema),
    }
}

/// What a key is for: its description in the schema.
pub(crate) fn help_text(schema: &Json) -> String {
    match schema.get("description").and_then(Json::as_str) {
        Some(text) => text.to_owned(),
        None => "`metier config schema` prints what is allowed".to_owned(),
    }
}

/// `` `a`, `b`, `c` ``
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
