//! The words that explain the protocol to a model, from the table of `protocol`.
//!
//! Every line that starts with `{` is a whole decision that the parser and the schema take. The
//! text is a part of the stable prefix of a prompt: the same tools give the same bytes. Every word
//! is paid for in each turn of each run, and a test counts them.

use metier_skill::text::fold_line;
use serde_json::{Map, Value};

use crate::protocol::{ActionSpec, DecisionForm, Kind, PlanMode};
use crate::turn::ToolOffer;

const HEAD: &str = "\
Reply with one JSON object, without prose or code fence. Capitals stand for your own words.
";

const HEAD_OF_CALLS: &str = "\
Reply with one call of a function, and write nothing beside it.
";

/// After the actions, so that a plan is not the first thing that is imitated; inside a line, so that
/// no copy of it is a decision.
const PLANS: &str = r#"
`plan` and `plan_update` stand before the action and may be null. For a task of several steps the first reply has a short plan: {"goal":"GOAL","steps":[{"id":"s1","title":"STEP","status":"in_progress"}]}. Later `plan_update` changes it: {"patch":[{"op":"replace","path":"/steps/s1/status","value":"completed"}]}.
"#;

/// The same where functions are called.
const PLANS_OF_CALLS: &str = "
For a task of several steps give a short `plan` with your first call, and again with a later one when a \
step is done; else it is null.
";

/// The words for the prompt that explain a decision, each action and each tool, with examples.
pub fn instructions(tools: &[ToolOffer], form: impl Into<DecisionForm>) -> String {
    let form = form.into();
    let mut text = HEAD.to_owned();
    for spec in explained(form) {
        let Some(example) = (spec.example)(tools) else { continue };
        let more = if calls_a_tool(spec) { " What has a ? may be null." } else { "" };
        text.push_str(&format!("\n{}: {}{more}\n", spec.kind, spec.about));
        if calls_a_tool(spec) {
            text.push_str(&tools_words(tools));
        }
        let example = in_order(spec, &example, tools);
        text.push_str(&format!("{{\"action\":{example}}}\n"));
    }
    if form.plan == PlanMode::On {
        text.push_str(PLANS);
    }
    text
}

/// The same where a decision is the call of a function: what each is for, and what its arguments are, stands
/// in the functions, and is not paid for twice.
pub fn call_instructions(plan: PlanMode) -> String {
    match plan {
        PlanMode::On => format!("{HEAD_OF_CALLS}{PLANS_OF_CALLS}"),
        PlanMode::Off => HEAD_OF_CALLS.to_owned(),
    }
}

/// The actions in the order in which they are explained. Reading a file of a skill comes late: explained
/// before the tools, it was the first action of a small model for any file that a request named.
fn explained(form: DecisionForm) -> Vec<&'static ActionSpec> {
    let order = ["select_skills", "run_script", "call_tool", "load_resource"];
    let place = |spec: &&ActionSpec| order.iter().position(|kind| *kind == spec.kind);
    let mut actions: Vec<_> = form.actions().collect();
    actions.sort_by_key(|spec| place(spec).unwrap_or(order.len()));
    actions
}

fn calls_a_tool(spec: &ActionSpec) -> bool {
    spec.fields.iter().any(|field| field.kind == Kind::Tool)
}

fn about(tool: &ToolOffer) -> String {
    fold_line(&tool.description).into_owned()
}

/// `- name: what it does.` and a line with its arguments. An argument that an earlier tool explained in
/// the same words is only named.
fn tools_words(tools: &[ToolOffer]) -> String {
    let mut text = String::new();
    let mut explained: Vec<String> = Vec::new();
    for tool in tools {
        text.push_str(&format!("- {}: {}\n", tool.name, about(tool)));
        let named: Vec<String> = arguments(&tool.schema)
            .into_iter()
            .map(|(name, schema)| {
                let words = argument_words(name, schema);
                if explained.contains(&words) {
                    return name.clone();
                }
                explained.push(words.clone());
                words
            })
            .collect();
        if !named.is_empty() {
            text.push_str(&format!("  args: {}\n", named.join("; ")));
        }
    }
    text
}

/// `path`, `first_line? (integer): from 1`; `?` says that it may be null. A text needs no word on its
/// kind.
fn argument_words(name: &str, schema: &Value) -> String {
    let kind = kind_words(schema);
    let (kind, mark) = match kind.strip_suffix(" or null") {
        Some(kind) => (kind, "?"),
        None => (kind.as_str(), ""),
    };
    let kind = match kind {
        "string" => mark.to_owned(),
        kind => format!("{mark} ({kind})"),
    };
    let about = schema.get("description").and_then(Value::as_str).map(fold_line);
    let about = about.map(|about| format!(": {}", about.trim_end_matches('.'))).unwrap_or_default();
    format!("{name}{kind}{about}")
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
