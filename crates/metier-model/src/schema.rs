//! The JSON Schema of a decision, and the words that explain it: both from the table of `protocol`.
//!
//! The schema keeps to the subset that every provider enforces: an object at the root, every
//! property required and nullable where it may be left out, nothing else allowed, no limits of
//! numbers or lengths. Whatever a provider enforces, `parse` checks again.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};

use crate::action::{Action, AnswerStatus};
use crate::protocol::{
    ACTIONS, ActionSpec, DECISION, DecisionForm, FINAL_ANSWER, Kind, Need, OPERATION, OPERATIONS,
    PLAN, PLAN_UPDATE, PlanMode, SKILL, STATUS, STEP,
};
use crate::turn::ToolOffer;
pub use crate::words::{call_instructions, instructions};

/// The schema of a decision where these tools may be called.
pub fn decision_schema(tools: &[ToolOffer], form: impl Into<DecisionForm>) -> Value {
    let form = form.into();
    decision(form.plan, &actions(tools, form, None))
}

/// The schema of an action without a word on the plan, for a model whose last reply was cut off:
/// lists are where one that repeats itself never comes to an end.
pub fn brief_schema(tools: &[ToolOffer], form: impl Into<DecisionForm>) -> Value {
    decision(PlanMode::Off, &actions(tools, form.into(), None))
}

/// The same without this kind of action (of a call: without this tool), for a model that repeated it
/// and got the same again.
pub fn schema_without(
    tools: &[ToolOffer],
    form: impl Into<DecisionForm>,
    repeated: &Action,
) -> Value {
    decision(PlanMode::Off, &actions(tools, form.into(), Some(repeated)))
}

/// A loaded skill as a schema takes it: what of it can be run and read.
#[derive(Debug, Clone, Copy)]
pub struct HeldSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its files, by path.
    pub files: &'a [String],
}

/// Files that a schema lists; of a skill with more any path may be named.
const MAX_LISTED_FILES: usize = 100;

/// The schema of what can be done now: files and scripts of loaded skills only, by their paths. A model
/// that is held to it invents none. It changes with every load, so it is for servers whose schema is no part of
/// the prompt.
pub fn held_schema(
    tools: &[ToolOffer],
    form: impl Into<DecisionForm>,
    loaded: &[HeldSkill<'_>],
    repeated: Option<&Action>,
) -> Value {
    let form = form.into();
    let all = actions(tools, form, repeated);
    let held = all.into_iter().flat_map(|variant| match of_skill(&variant) {
        Some(uses) => loaded.iter().filter_map(|skill| held_to(&variant, uses, *skill)).collect(),
        None => vec![variant],
    });
    decision(form.plan, &held.collect::<Vec<_>>())
}

/// How an action uses the files of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileUse {
    Run,
    Read,
}

fn of_skill(variant: &Value) -> Option<FileUse> {
    match variant.pointer("/properties/type/enum/0")?.as_str()? {
        "run_script" => Some(FileUse::Run),
        "load_resource" => Some(FileUse::Read),
        _ => None,
    }
}

/// The variant for this skill; nothing where it has no file for it.
fn held_to(variant: &Value, uses: FileUse, skill: HeldSkill<'_>) -> Option<Value> {
    let is_script = |file: &&String| file.starts_with("scripts/");
    let has_scripts = skill.files.iter().any(|file| is_script(&file));
    let is_listed = |file: &&String| uses == FileUse::Read || !has_scripts || is_script(file);
    let paths: Vec<&String> = skill.files.iter().filter(is_listed).collect();
    if paths.is_empty() {
        return None;
    }
    let mut held = variant.clone();
    *held.pointer_mut("/properties/skill/properties/name")? =
        json!({"type": "string", "enum": [skill.name]});
    if paths.len() <= MAX_LISTED_FILES {
        *held.pointer_mut("/properties/relative_path")? = json!({"type": "string", "enum": paths});
    }
    Some(held)
}

/// The schema of an answer and nothing else, for the last turn.
pub fn answer_schema() -> Value {
    let answer = ACTIONS.iter().filter(|spec| spec.kind == FINAL_ANSWER);
    let actions: Vec<Value> = answer.flat_map(|spec| variants(spec, &[])).collect();
    decision(PlanMode::Off, &actions)
}

fn decision(plan: PlanMode, actions: &[Value]) -> Value {
    let fields = match plan {
        PlanMode::On => &DECISION[..],
        PlanMode::Off => &["action"],
    };
    object(fields, |name| match name {
        "plan" => nullable(self::plan()),
        "plan_update" => plan_update(),
        _ => match actions {
            [only] => only.clone(),
            several => json!({"anyOf": several}),
        },
    })
}

fn actions(tools: &[ToolOffer], form: DecisionForm, without: Option<&Action>) -> Vec<Value> {
    let called = match without {
        Some(Action::CallTool { tool, .. }) => Some(tool),
        _ => None,
    };
    let tools: Vec<ToolOffer> =
        tools.iter().filter(|tool| Some(&tool.name) != called).cloned().collect();
    let is_left_out =
        |spec: &&ActionSpec| called.is_none() && without.is_some_and(|it| it.kind() == spec.kind);
    let left = form.actions().filter(|spec| !is_left_out(spec));
    left.flat_map(|spec| variants(spec, &tools)).collect()
}

fn nothing() -> Value {
    json!({"type": "null"})
}

/// An action is one variant; calling a tool is one for each tool, with its own arguments.
fn variants(spec: &ActionSpec, tools: &[ToolOffer]) -> Vec<Value> {
    let names: Vec<&str> =
        std::iter::once("type").chain(spec.fields.iter().map(|field| field.name)).collect();
    let variant = |tool: Option<&ToolOffer>| {
        object(&names, |name| {
            let Some(field) = spec.fields.iter().find(|field| field.name == name) else {
                return json!({"type": "string", "enum": [spec.kind]});
            };
            let schema = match (field.kind, tool) {
                (Kind::Tool, Some(tool)) => json!({"type": "string", "enum": [tool.name]}),
                (Kind::Arguments, Some(tool)) => tool.schema.clone(),
                (Kind::Texts, _) => json!({"type": "array", "items": {"type": "string"}}),
                (Kind::AnswerStatus, _) => {
                    json!({"type": "string", "enum": AnswerStatus::WORDS})
                }
                (Kind::Skill, _) => skill(),
                (Kind::Skills, _) => json!({"type": "array", "items": skill()}),
                (Kind::Text | Kind::Anything | Kind::Tool | Kind::Arguments, _) => {
                    json!({"type": "string"})
                }
            };
            if field.need == Need::May { nullable(schema) } else { schema }
        })
    };
    if spec.fields.iter().any(|field| field.kind == Kind::Tool) {
        tools.iter().map(|tool| variant(Some(tool))).collect()
    } else {
        vec![variant(None)]
    }
}

fn skill() -> Value {
    object(&SKILL, |name| match name {
        "source" => nullable(json!({"type": "string"})),
        _ => json!({"type": "string"}),
    })
}

fn step() -> Value {
    object(&STEP, |name| match name {
        "status" => json!({"type": "string", "enum": STATUS}),
        _ => json!({"type": "string"}),
    })
}

fn plan() -> Value {
    object(&PLAN, |name| match name {
        "goal" => json!({"type": "string"}),
        "steps" => json!({"type": "array", "items": step()}),
        _ => json!({"type": "array", "items": {"type": "string"}}),
    })
}

/// A plan as a function takes it: what is done, step by step. It is given whole each time, and may be null.
pub(crate) fn short_plan() -> Value {
    nullable(object(&PLAN[..2], |name| match name {
        "goal" => json!({"type": "string"}),
        _ => json!({"type": "array", "items": step()}),
    }))
}

/// Either a new plan or a patch: a model that is held to this cannot write both.
fn plan_update() -> Value {
    let update = |replace: &Value, patch: &Value| {
        object(&PLAN_UPDATE, |name| if name == "replace" { replace.clone() } else { patch.clone() })
    };
    let patch = json!({"type": "array", "items": {"anyOf": operations()}});
    json!({"anyOf": [update(&plan(), &nothing()), update(&nothing(), &patch), nothing()]})
}

/// The operations of a patch: those that set something, and those that say where it comes from.
fn operations() -> [Value; 2] {
    let (moving, setting): (Vec<&str>, Vec<&str>) =
        OPERATIONS.iter().partition(|op| matches!(**op, "move" | "copy"));
    let text = || json!({"type": "string"});
    let set = object(&OPERATION, |name| match name {
        "op" => json!({"type": "string", "enum": setting}),
        "path" => text(),
        "from" => nothing(),
        // A patch may put anything anywhere, but a plan holds nothing else than these.
        _ => json!({"anyOf": [
            text(),
            step(),
            {"type": "array", "items": text()},
            {"type": "null"}
        ]}),
    });
    let moved = object(&OPERATION, |name| match name {
        "op" => json!({"type": "string", "enum": moving}),
        "path" | "from" => text(),
        _ => nothing(),
    });
    [set, moved]
}

/// An object with these properties and no others.
fn object(names: &[&str], schema: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), schema(name))).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false
    })
}

fn nullable(schema: Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.get("enum").is_none() => json!({"type": ["string", "null"]}),
        _ => Value::Object(Map::from_iter([(
            "anyOf".to_owned(),
            Value::Array(vec![schema, nothing()]),
        )])),
    }
}

/// A schema that is written with its properties in the order of `required`.
///
/// Providers that enforce a schema have a model write the keys in the order of the schema, and a
/// [`Value`] has its keys sorted: a model would choose the arguments before the tool, and the action
/// before the plan. Serialise this into the request, not into a `Value`.
#[derive(Debug, Clone, Copy)]
pub struct InOrder<'a>(pub &'a Value);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(&InOrder(item)))?;
                seq.end()
            }
            Value::Object(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for (key, value) in map {
                    match (key.as_str(), value, map.get("required")) {
                        ("properties", Value::Object(properties), Some(Value::Array(order))) => {
                            out.serialize_entry(key, &Properties(properties, order))?;
                        }
                        _ => out.serialize_entry(key, &InOrder(value))?,
                    }
                }
                out.end()
            }
            other => other.serialize(serializer),
        }
    }
}

struct Properties<'a>(&'a Map<String, Value>, &'a [Value]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(properties, order) = self;
        let place = |key: &String| order.iter().position(|name| name.as_str() == Some(key));
        let mut entries: Vec<(&String, &Value)> = properties.iter().collect();
        entries.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
        serializer.collect_map(entries.into_iter().map(|(key, value)| (key, InOrder(value))))
    }
}

/// A value that a schema of arguments allows: null where it may be, a text as its name in capitals.
pub(crate) fn example_of(name: &str, schema: &Value) -> Value {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let any_of = schema.get("anyOf").and_then(Value::as_array);
    let null = any_of.is_some_and(|options| options.iter().any(|it| it["type"] == "null"));
    if null || kinds.contains(&"null") {
        return Value::Null;
    }
    if let Some(first) = schema.get("enum").and_then(|words| words.get(0)) {
        return first.clone();
    }
    match kinds.first().copied() {
        Some("string") => json!(name.to_ascii_uppercase()),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let properties = properties.into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), example_of(name, schema))).collect()
        }
        _ => {
            let first = any_of.and_then(|options| options.first());
            first.map_or(Value::Null, |first| example_of(name, first))
        }
    }
}
