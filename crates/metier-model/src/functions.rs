//! A decision as functions: one for each action and each tool, derived from the schema of the turn.
//!
//! So what a model may call is what it may decide now, in the same types and words as everywhere else. A
//! call goes back to a decision in `reply_builder`. Where a plan is asked for, every function takes it: whole,
//! and without what else a decision may change of it, for each function pays for it again.

use metier_skill::estimate_tokens;
use serde_json::{Map, Value, json};

use crate::action::Action;
use crate::parse::parse_text;
use crate::protocol::{self, PlanMode};
use crate::schema;
use crate::turn::{Message, Role, Turn};

/// A function that a model is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) about: String,
    /// The JSON Schema of its arguments.
    pub(crate) parameters: Value,
}

/// The characters of a function's name at most, as providers have them.
const NAME_BYTES: usize = 64;

impl Function {
    /// Tokens of it in a prompt, as an estimate.
    pub(crate) fn tokens(&self) -> usize {
        estimate_tokens(&self.name)
            + estimate_tokens(&self.about)
            + estimate_tokens(&self.parameters.to_string())
    }
}

/// What a model may call in this turn. A load adds nothing: servers write the functions before all else, and what
/// they keep of the prompt would be lost. Nor does the form of a tool's arguments change within a run.
pub(crate) fn functions(turn: &Turn) -> Vec<Function> {
    let schema = &turn.schema;
    let has_plan = schema.pointer("/properties/plan").is_some();
    let Some(action) = schema.pointer("/properties/action") else { return Vec::new() };
    let variants = match action.get("anyOf").and_then(Value::as_array) {
        Some(variants) => variants.as_slice(),
        None => std::slice::from_ref(action),
    };
    let mut functions: Vec<Function> = Vec::new();
    for variant in variants {
        let kind = constant(variant, "type").unwrap_or_default();
        let tool = constant(variant, "tool").filter(|tool| is_name(tool));
        let name = tool.unwrap_or(kind);
        let parameters = match tool {
            Some(_) if turn.plan == PlanMode::Off => {
                variant.pointer("/properties/args").cloned().unwrap_or_default()
            }
            Some(_) => picked(variant, has_plan, |field| field == "args"),
            None => picked(variant, has_plan, |field| field != "type"),
        };
        if let Some(known) = functions.iter_mut().find(|known| known.name == name) {
            known.parameters = either(&known.parameters, &parameters);
            continue;
        }
        let offer = turn.view.tools.iter().find(|offer| Some(&*offer.name) == tool);
        let about = match offer {
            Some(offer) => offer.description.clone(),
            None => protocol::action(kind).map_or("", |spec| spec.about).to_owned(),
        };
        functions.push(Function { name: name.to_owned(), about, parameters });
    }
    functions
}

/// The conversation of a turn in which functions are called: past decisions stand in it as the calls that they
/// were. A model that reads them in another form answers in that form. They are text all the same: a call that
/// is sent back as one has to bring the thoughts before it along, which no record keeps.
pub(crate) fn messages(turn: &Turn) -> Vec<Message> {
    let mut messages = turn.messages();
    for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
        if let Some(call) = call_words(&message.text, turn.plan) {
            message.text = call;
        }
    }
    messages
}

/// A decision as `{"name": ..., "arguments": {...}}`.
fn call_words(decision: &str, plan: PlanMode) -> Option<String> {
    let Action::CallTool { tool, args, skill: None } = parse_text(decision).ok()?.action else {
        let mut decision: Value = serde_json::from_str(decision).ok()?;
        let mut fields = decision.get_mut("action")?.take();
        let name = fields.as_object_mut()?.remove("type")?;
        return Some(format!(r#"{{"name": {name}, "arguments": {fields}}}"#));
    };
    let arguments =
        if plan == PlanMode::On { json!({ "args": args }) } else { Value::Object(args) };
    let name = Value::from(tool);
    Some(format!(r#"{{"name": {name}, "arguments": {arguments}}}"#))
}

/// Whether a tool can be called by its name.
fn is_name(tool: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_BYTES).contains(&tool.len())
        && tool.bytes().all(is_part)
        && !Action::KINDS.contains(&tool)
}

/// The one value that a field of an action can have.
fn constant<'v>(variant: &'v Value, field: &str) -> Option<&'v str> {
    variant.pointer(&format!("/properties/{field}/enum/0"))?.as_str()
}

/// These fields of an action, after the plan where one is asked for.
fn picked(variant: &Value, has_plan: bool, is_picked: impl Fn(&str) -> bool) -> Value {
    let mut fields = Map::new();
    let mut names = Vec::new();
    if has_plan {
        fields.insert("plan".to_owned(), schema::short_plan());
        names.push("plan");
    }
    let order = variant.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in order.filter_map(Value::as_str).filter(|name| is_picked(name)) {
        fields.insert(name.to_owned(), variant["properties"][name].clone());
        names.push(name);
    }
    json!({"type": "object", "properties": fields, "required": names, "additionalProperties": false})
}

/// What one of the two schemas takes, or a little more: the files of two skills are one list.
fn either(one: &Value, other: &Value) -> Value {
    let list = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
    if one == other {
        return one.clone();
    }
    if let (Some(mut words), Some(more)) = (list(one), list(other)) {
        words.extend(
            more.into_iter().filter(|word| !list(one).is_some_and(|has| has.contains(word))),
        );
        return json!({"type": "string", "enum": words});
    }
    if let (Some(Value::Object(fields)), Some(Value::Object(others))) =
        (one.get("properties"), other.get("properties"))
        && fields.keys().eq(others.keys())
    {
        let both = |(name, field): (&String, &Value)| (name.clone(), either(field, &others[name]));
        let fields: Map<String, Value> = fields.iter().map(both).collect();
        let mut merged = one.clone();
        merged["properties"] = Value::Object(fields);
        return merged;
    }
    match one.get("anyOf").and_then(Value::as_array) {
        Some(options) if options.contains(other) => one.clone(),
        Some(options) => {
            json!({"anyOf": options.iter().chain([other]).collect::<Vec<_>>()})
        }
        None => json!({"anyOf": [one, other]}),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schema::{HeldSkill, decision_schema, held_schema};
    use crate::turn::{ToolOffer, View};

    fn tool(name: &str) -> ToolOffer {
        let path = json!({"path": {"type": "string"}});
        ToolOffer {
            name: name.to_owned(),
            description: format!("What {name} does."),
            schema: json!({
                "type": "object", "properties": path, "required": ["path"],
                "additionalProperties": false
            }),
        }
    }

    fn turn(tools: &[ToolOffer], plan: PlanMode) -> Turn {
        Turn {
            number: 1,
            system: "".into(),
            system_for_call: "".into(),
            request: "".into(),
            trail: Vec::new(),
            tail: String::new(),
            plan,
            schema: Arc::new(decision_schema(tools, plan)),
            held_schema: None,
            max_output_tokens: 100,
            view: Arc::new(View { tools: tools.into(), ..View::default() }),
        }
    }

    fn named<'f>(functions: &'f [Function], name: &str) -> &'f Function {
        let found = functions.iter().find(|function| function.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn each_action_and_each_tool_is_a_function() {
        let tools = [tool("read_file"), tool("grep")];
        let all = functions(&turn(&tools, PlanMode::Off));
        let names: Vec<&str> = all.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "select_skills",
                "load_resource",
                "run_script",
                "search_skills",
                "read_file",
                "grep",
                "final_answer"
            ]
        );
        let read = named(&all, "read_file");
        assert_eq!(
            (&read.parameters, read.about.as_str()),
            (&tools[0].schema, "What read_file does.")
        );
        let answer = named(&all, "final_answer");
        assert_eq!(answer.parameters["required"], json!(["text", "data", "status"]));
        assert!(answer.about.starts_with("Answer the user"));
    }

    #[test]
    fn a_plan_stands_before_the_arguments_of_every_function_where_it_is_asked_for() {
        let all = functions(&turn(&[tool("read_file")], PlanMode::On));
        for function in &all {
            let required = &function.parameters["required"];
            assert_eq!(required[0], "plan", "{function:?}");
            assert_eq!(function.parameters["additionalProperties"], false);
        }
        assert_eq!(named(&all, "read_file").parameters["required"], json!(["plan", "args"]));
        assert!(
            functions(&turn(&[], PlanMode::Off))
                .iter()
                .all(|it| !it.parameters.to_string().contains("plan"))
        );
    }

    #[test]
    fn past_decisions_stand_in_the_conversation_as_calls_and_other_words_as_they_were() {
        for (plan, decision, shown) in [
            (
                PlanMode::Off,
                r#"{"action":{"type":"call_tool","tool":"grep","args":{"a":1}}}"#,
                r#"{"name": "grep", "arguments": {"a":1}}"#,
            ),
            (
                PlanMode::On,
                r#"{"action":{"type":"call_tool","tool":"grep","args":{"a":1}}}"#,
                r#"{"name": "grep", "arguments": {"args":{"a":1}}}"#,
            ),
            (
                PlanMode::Off,
                r#"{"action":{"type":"search_skills","query":"q"}}"#,
                r#"{"name": "search_skills", "arguments": {"query":"q"}}"#,
            ),
            (PlanMode::Off, "I think so.", "I think so."),
        ] {
            let mut turn = turn(&[], plan);
            turn.trail.push(crate::turn::TrailEntry {
                decision: Some(decision.into()),
                observation: "seen".into(),
                past: Arc::default(),
            });
            assert_eq!(messages(&turn)[1].text, shown);
        }
    }

    #[test]
    fn a_tool_whose_name_is_an_action_or_no_function_is_called_by_call_tool() {
        let tools = [tool("final_answer"), tool("a/b"), tool("grep")];
        let all = functions(&turn(&tools, PlanMode::Off));
        assert_eq!(all.iter().filter(|function| function.name == "final_answer").count(), 1);
        let call = named(&all, "call_tool");
        assert_eq!(call.parameters["properties"]["tool"]["enum"], json!(["final_answer", "a/b"]));
        assert_eq!(call.parameters["required"], json!(["tool", "args", "skill"]));
    }

    #[test]
    fn neither_a_load_nor_a_turn_without_a_plan_changes_the_form_of_a_tool() {
        let tools = [tool("read_file")];
        let mut turn = turn(&tools, PlanMode::On);
        let before = functions(&turn);
        let files = ["scripts/a.py".to_owned()];
        let loaded = [HeldSkill { name: "one", files: &files }];
        turn.held_schema = Some(Arc::new(held_schema(&tools, PlanMode::Off, &loaded, None)));
        assert_eq!(functions(&turn), before);
        turn.schema = Arc::new(decision_schema(&tools, PlanMode::Off));
        assert_eq!(named(&functions(&turn), "read_file").parameters["required"], json!(["args"]));
    }
}
