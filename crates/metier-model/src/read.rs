//! A JSON value to a decision, field by field, by the table of `protocol`.
//!
//! Names are strict and nothing is guessed: a field that we do not know is a fault, unless it is
//! null, for a model that fills every field of the schema says nothing by that. The few other ways
//! to write the same thing are listed in `parse`.

use metier_skill::nearest;
use metier_skill::text::{quoted, short_line};
use serde_json::{Map, Value};

use crate::action::{Action, AnswerStatus, Decision, SkillRef};
use crate::fault::{FaultCode, ParseFault};
use crate::json::{self, MAX_DEPTH};
use crate::plan::{Plan, PlanStep, PlanUpdate, StepStatus};
use crate::protocol::{
    self, DECISION, Kind, Need, OPERATION, OPERATIONS, PLAN, PLAN_UPDATE, SKILL, STATUS, STEP,
};

type Read<T> = Result<T, ParseFault>;

/// Arguments and data stand in an action, which stands in a decision.
const DEPTH_IN_ACTION: usize = MAX_DEPTH - 2;

/// The decision that a value is.
pub(crate) fn decision(value: Value) -> Read<Decision> {
    let mut map = match value {
        Value::Object(map) => map,
        Value::Array(items) if items.len() > 1 && items.iter().all(Value::is_object) => {
            let message = format!(
                "the reply is a list of {} objects; decide on one action, see what comes of it, \
                 then decide again",
                items.len()
            );
            return Err(ParseFault::new(FaultCode::TwoActions, message));
        }
        other => {
            let message = format!(
                "the reply is {}; expected one object with plan, plan_update and action",
                kind_of(&other)
            );
            return Err(ParseFault::new(FaultCode::NotADecision, message));
        }
    };
    if !map.keys().any(|key| DECISION.contains(&key.as_str())) {
        return Err(not_a_decision(&map));
    }
    only(&map, "", "a decision", &DECISION)?;
    lift_plan(&mut map);
    let plan = given(&mut map, "plan").map(|value| plan(value, "plan")).transpose()?;
    let update = given(&mut map, "plan_update").map(|value| plan_update(value, "plan_update"));
    let action = match given(&mut map, "action") {
        Some(value) => action(value)?,
        None => return Err(ParseFault::missing("action", "an object with a type")),
    };
    Ok(Decision { plan, plan_update: update.transpose()?.flatten(), action })
}

/// A function takes the plan among its arguments, where no action has a field of that name.
fn lift_plan(map: &mut Map<String, Value>) {
    for name in ["plan", "plan_update"] {
        let is_given = map.get(name).is_some_and(|value| !value.is_null());
        let inside = map.get_mut("action").and_then(Value::as_object_mut);
        if let Some(value) = inside.filter(|_| !is_given).and_then(|action| action.remove(name)) {
            map.insert(name.to_owned(), value);
        }
    }
}

fn not_a_decision(map: &Map<String, Value>) -> ParseFault {
    let kind = map.get("type").and_then(Value::as_str);
    let message = if kind.is_some_and(|kind| protocol::action(kind).is_some()) {
        r#"this is an action alone; write {"plan":null,"plan_update":null,"action":{...}}"#
            .to_owned()
    } else {
        let near = map.keys().find_map(|key| nearest(key, DECISION).map(|near| (key, near)));
        let near = near.map(|(key, near)| {
            format!("; did you mean `{near}` with the key {}?", quoted(key, 60))
        });
        format!(
            "the object has no `action`{}; expected the keys plan, plan_update and action",
            near.unwrap_or_default()
        )
    };
    ParseFault::new(FaultCode::NotADecision, message)
}

fn action(value: Value) -> Read<Action> {
    let mut map = match value {
        Value::Array(items) if items.len() > 1 => {
            let message = "expected one action, got a list; decide on the first one only";
            return Err(ParseFault::at(FaultCode::TwoActions, "action", message));
        }
        other => object(other, "action")?,
    };
    let kinds = || Action::KINDS.join(", ");
    let Some(kind) = given(&mut map, "type") else {
        return Err(ParseFault::missing("action.type", &format!("one of {}", kinds())));
    };
    let kind = text(kind, "action.type")?;
    let Some(spec) = protocol::action(&kind) else {
        let near = nearest(&kind, Action::KINDS);
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message =
            format!("unknown action {}{near} (expected one of: {})", quoted(&kind, 60), kinds());
        return Err(ParseFault::at(FaultCode::UnknownAction, "action.type", message));
    };
    let known: Vec<&str> =
        std::iter::once("type").chain(spec.fields.iter().map(|field| field.name)).collect();
    only(&map, "action", spec.kind, &known)?;
    let mut checked = Map::new();
    checked.insert("type".to_owned(), spec.kind.into());
    for field in spec.fields {
        let path = format!("action.{}", field.name);
        match given(&mut map, field.name) {
            Some(value) => {
                checked.insert(field.name.to_owned(), field_value(field.kind, value, &path)?);
            }
            None if field.need == Need::Must => {
                return Err(ParseFault::missing(&path, field_words(field.kind)));
            }
            None => {}
        }
    }
    // Everything is checked above, with better words than these.
    serde_json::from_value(Value::Object(checked)).map_err(|error| {
        ParseFault::at(FaultCode::WrongType, "action", short_line(&error.to_string(), 200))
    })
}

fn field_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Tool => "a text",
        Kind::Texts => "a list of texts",
        Kind::Skill => r#"a skill: {"name":"...","source":null}"#,
        Kind::Skills => r#"a list of skills: [{"name":"...","source":null}]"#,
        Kind::Arguments => "an object",
        Kind::AnswerStatus => "`done`, `abstained` or `failed`",
        Kind::Anything => "a JSON value",
    }
}

fn field_value(kind: Kind, value: Value, path: &str) -> Read<Value> {
    let list = |value: Value, item: Kind| match value {
        Value::Array(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(i, it)| field_value(item, it, &format!("{path}[{i}]"))).collect()
        }
        other => Err(wrong(path, field_words(kind), &other)),
    };
    match kind {
        Kind::Text | Kind::Tool => text(value, path).map(Value::from),
        Kind::AnswerStatus => match value.as_str() {
            Some(word) if AnswerStatus::WORDS.contains(&word) => Ok(value),
            _ => Err(wrong(path, field_words(kind), &value)),
        },
        Kind::Texts => list(value, Kind::Text),
        Kind::Skills => list(value, Kind::Skill),
        Kind::Skill => {
            let skill = skill(value, path)?;
            Ok(serde_json::to_value(skill).unwrap_or_default())
        }
        Kind::Arguments => match value {
            Value::Object(_) => Ok(value),
            Value::String(text) => match json::read(&text, DEPTH_IN_ACTION) {
                Ok(value @ Value::Object(_)) => Ok(value),
                Ok(other) => Err(wrong(path, "an object", &other)),
                Err(fault) => {
                    let message = format!(
                        "expected an object, got a text that does not parse as one: {}",
                        fault.message
                    );
                    Err(ParseFault::at(FaultCode::WrongType, path, message))
                }
            },
            other => Err(wrong(path, "an object", &other)),
        },
        Kind::Anything => Ok(match value {
            Value::String(text) => match json::read(&text, DEPTH_IN_ACTION) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
                _ => Value::String(text),
            },
            other => other,
        }),
    }
}

fn skill(value: Value, path: &str) -> Read<SkillRef> {
    if let Value::String(name) = value {
        return Ok(SkillRef { name, source: None });
    }
    if !value.is_object() {
        return Err(wrong(path, field_words(Kind::Skill), &value));
    }
    let mut map = object(value, path)?;
    only(&map, path, "a skill", &SKILL)?;
    let source = format!("{path}.source");
    Ok(SkillRef {
        name: must(&mut map, path, "name")?,
        source: given(&mut map, "source").map(|value| text(value, &source)).transpose()?,
    })
}

/// The plan that a value is. Its size is `plan::apply`'s business.
pub(crate) fn plan(value: Value, path: &str) -> Read<Plan> {
    let mut map = object(value, path)?;
    only(&map, path, "a plan", &PLAN)?;
    let mut plan = Plan { goal: must(&mut map, path, "goal")?, ..Plan::default() };
    match given(&mut map, "steps") {
        Some(Value::Array(steps)) => {
            for (i, step) in steps.into_iter().enumerate() {
                plan.steps.push(plan_step(step, &format!("{path}.steps[{i}]"))?);
            }
        }
        Some(other) => {
            let expected = r#"a list of {"id":"s1","title":"...","status":"pending"}"#;
            return Err(wrong(&format!("{path}.steps"), expected, &other));
        }
        None => {}
    }
    let mut words = |name: &str| given(&mut map, name).map(crate::plan::words_of);
    plan.assumptions = words("assumptions").unwrap_or_default();
    plan.constraints = words("constraints").unwrap_or_default();
    Ok(plan)
}

fn plan_step(value: Value, path: &str) -> Read<PlanStep> {
    let mut map = object(value, path)?;
    only(&map, path, "a step", &STEP)?;
    let id = must(&mut map, path, "id")?;
    let title = must(&mut map, path, "title")?;
    let Some(status) = given(&mut map, "status") else {
        return Ok(PlanStep { id, title, status: StepStatus::default() });
    };
    let path = format!("{path}.status");
    let word = text(status, &path)?;
    let status = serde_json::from_value(Value::from(word.as_str()));
    let status = status.map_err(|_| not_among(&path, "status", &word, &STATUS))?;
    Ok(PlanStep { id, title, status })
}

fn plan_update(value: Value, path: &str) -> Read<Option<PlanUpdate>> {
    let mut map = object(value, path)?;
    only(&map, path, "a plan_update", &PLAN_UPDATE)?;
    match (given(&mut map, "replace"), given(&mut map, "patch")) {
        (None, None) => Ok(None),
        (Some(new), None) => {
            plan(new, &format!("{path}.replace")).map(|plan| Some(PlanUpdate::Replace(plan)))
        }
        (None, Some(Value::Array(operations))) => {
            for (i, operation) in operations.iter().enumerate() {
                check_operation(operation, &format!("{path}.patch[{i}]"))?;
            }
            Ok(Some(PlanUpdate::Patch(operations)))
        }
        (None, Some(other)) => {
            Err(wrong(&format!("{path}.patch"), "a list of operations (RFC 6902)", &other))
        }
        (Some(_), Some(_)) => {
            let message = "give replace or patch, and null for the other";
            Err(ParseFault::at(FaultCode::WrongType, path, message))
        }
    }
}

fn check_operation(value: &Value, path: &str) -> Read<()> {
    let mut map = object(value.clone(), path)?;
    only(&map, path, "an operation", &OPERATION)?;
    let op = must(&mut map, path, "op")?;
    if !OPERATIONS.contains(&op.as_str()) {
        return Err(not_among(&format!("{path}.op"), "operation", &op, &OPERATIONS));
    }
    must(&mut map, path, "path")?;
    if let Some(from) = given(&mut map, "from") {
        text(from, &format!("{path}.from"))?;
    } else if matches!(op.as_str(), "move" | "copy") {
        return Err(ParseFault::missing(&format!("{path}.from"), "the path that it comes from"));
    }
    if matches!(op.as_str(), "add" | "replace" | "test") && !map.contains_key("value") {
        return Err(ParseFault::missing(&format!("{path}.value"), "the value"));
    }
    Ok(())
}

/// The value of a key, where it is there and not null.
fn given(map: &mut Map<String, Value>, name: &str) -> Option<Value> {
    match map.get(name) {
        None | Some(Value::Null) => None,
        Some(_) => map.remove(name),
    }
}

/// A text that has to be there.
fn must(map: &mut Map<String, Value>, path: &str, name: &str) -> Read<String> {
    match given(map, name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => text(other, &format!("{path}.{name}")),
        None => Err(ParseFault::missing(&format!("{path}.{name}"), "a text")),
    }
}

/// No key but the known ones, unless it says nothing.
fn only(map: &Map<String, Value>, path: &str, of: &str, known: &[&str]) -> Read<()> {
    let unknown =
        map.iter().find(|(key, value)| !value.is_null() && !known.contains(&key.as_str()));
    let Some((key, _)) = unknown else { return Ok(()) };
    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
    Err(ParseFault::unknown_field(&path, key, of, known))
}

fn object(value: Value, path: &str) -> Read<Map<String, Value>> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(wrong(path, "an object", &other)),
    }
}

fn text(value: Value, path: &str) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(path, "a text", &other)),
    }
}

fn wrong(path: &str, expected: &str, got: &Value) -> ParseFault {
    let message = format!("expected {expected}, got {}", kind_of(got));
    ParseFault::at(FaultCode::WrongType, path, message)
}

fn not_among(path: &str, what: &str, word: &str, known: &[&str]) -> ParseFault {
    let near = nearest(word, known.iter().copied());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let message = format!(
        "unknown {what} {}{near} (expected one of: {})",
        quoted(word, 60),
        known.join(", ")
    );
    ParseFault::at(FaultCode::WrongType, path, message)
}

const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
