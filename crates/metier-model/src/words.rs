//! The words that explain the protocol to a model, from the table of `protocol`.
//!
//! Every line that starts with `{` is a whole decision that the parser and the schema take. The
//! text is a part of the stable prefix of a prompt: the same tools give the same bytes.

use metier_skill::text::fold_line;
use serde_json::{Map, Value};

use crate::protocol::{ACTIONS, ActionSpec, Kind};
use crate::turn::ToolOffer;

const HEAD: &str = "\
Reply with exactly one JSON object and nothing else: no prose, no code fence. It has three keys:
- plan: with the first decision, what you mean to do; later null.
- plan_update: null, or how the plan changes: replace (a whole new plan) or patch (operations of \
RFC 6902; a step is addressed by its id).
- action: the one thing to do next. You see what came of it before you decide again.
";

const PLANS: [(&str, &str); 2] = [
    (
        "The first decision, with a plan:",
        r#"{"plan":{"goal":"A filled form","steps":[{"id":"s1","title":"Load the skill","status":"in_progress"},{"id":"s2","title":"Fill the form","status":"pending"}],"assumptions":[],"constraints":[]},"plan_update":null,"action":{"type":"select_skills","skills":[{"name":"example-skill","source":null}],"reason":"It fills forms."}}"#,
    ),
    (
        "A later one that changes the plan:",
        r#"{"plan":null,"plan_update":{"replace":null,"patch":[{"op":"replace","path":"/steps/s1/status","from":null,"value":"completed"}]},"action":{"type":"search_skills","query":"sign a form"}}"#,
    ),
];

/// The words for the prompt that explain a decision, each action and each tool, with examples.
pub fn instructions(tools: &[ToolOffer]) -> String {
    let mut text = HEAD.to_owned();
    for (about, example) in PLANS {
        text.push_str(&format!("\n{about}\n{example}\n"));
    }
    text.push_str("\nThe actions:\n");
    for spec in &ACTIONS {
        let Some(example) = (spec.example)(tools) else { continue };
        text.push_str(&format!("\n{}: {}\n", spec.kind, spec.about));
        if spec.fields.iter().any(|field| field.kind == Kind::Tool) {
            text.extend(tools.iter().map(tool_words));
        }
        let example = in_order(spec, &example, tools);
        text.push_str(&format!(r#"{{"plan":null,"plan_update":null,"action":{example}}}"#));
        text.push('\n');
    }
    text
}

/// `- name: what it does. Arguments:` and a line for each argument.
fn tool_words(tool: &ToolOffer) -> String {
    let mut text = format!("- {}: {}", tool.name, fold_line(&tool.description));
    for (name, schema) in arguments(&tool.schema) {
        let about = schema.get("description").and_then(Value::as_str).map(fold_line);
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        text.push_str(&format!("\n  {name} ({}){about}", kind_words(schema)));
    }
    text.push('\n');
    text
}

/// The arguments of a tool in the order in which it requires them.
fn arguments(schema: &Value) -> Vec<(&String, &Value)> {
    let required = schema.get("required").and_then(Value::as_array);
    let place = |name: &String| {
        required?.iter().position(|required| required.as_str() == Some(name.as_str()))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut arguments: Vec<_> = properties.into_iter().flatten().collect();
    arguments.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    arguments
}

/// `string`, `integer or null`, `one of "GET", "POST", null`.
fn kind_words(schema: &Value) -> String {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return format!("one of {}", words.join(", "));
    }
    let options = schema.get("anyOf").and_then(Value::as_array);
    if let Some(options) = options {
        return options.iter().map(kind_words).collect::<Vec<_>>().join(" or ");
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any JSON".to_owned(),
    };
    match schema.get("items").and_then(|items| items.get("properties")).and_then(Value::as_object) {
        Some(of) => {
            let names: Vec<&str> = of.keys().map(String::as_str).collect();
            format!("{kind}, of objects with {}", names.join(", "))
        }
        None => kind,
    }
}

/// The text of an example with its keys in the order of the table: a model imitates what it sees,
/// and an action that names its type first is known early.
fn in_order(spec: &ActionSpec, example: &Value, tools: &[ToolOffer]) -> String {
    let keys = std::iter::once("type").chain(spec.fields.iter().map(|field| field.name));
    let entries = keys.filter_map(|key| {
        let value = example.get(key)?;
        let text = match (key, value) {
            ("args", Value::Object(args)) => arguments_text(args, tools.first()?),
            _ => value.to_string(),
        };
        Some(format!("{}:{text}", Value::from(key)))
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn arguments_text(args: &Map<String, Value>, tool: &ToolOffer) -> String {
    let named = arguments(&tool.schema).into_iter();
    let entries = named.filter_map(|(name, _)| {
        let value = args.get(name)?;
        Some(format!("{}:{value}", Value::from(name.as_str())))
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}
