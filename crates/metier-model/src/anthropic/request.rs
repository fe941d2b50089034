//! A turn as the body of a Messages request, with marks for the prompt cache. Pure.
//!
//! The cache holds prefixes: tools, then system, then messages. A mark after the system's part keeps
//! what all runs share; a mark after the last observation keeps the run so far. The next turn finds
//! it again, because only the tail after it changes.

use serde_json::{Map, Value, json};

use crate::adapter::{messages_of, system_of};
use crate::functions::functions;
use crate::model::OutputMode;
use crate::request_style::RequestStyle;
use crate::turn::{Role, Turn};

/// The body that asks `model` for a decision; `params` are passed as they are.
pub(crate) fn body(
    model: &str,
    params: &Map<String, Value>,
    max_tokens: Option<u32>,
    turn: &Turn,
    style: RequestStyle,
) -> Value {
    let mut body = params.clone();
    let format = (style.mode == OutputMode::JsonSchema)
        .then(|| json!({"type": "json_schema", "schema": turn.enforced_schema()}));
    if let Some(format) = format {
        let config = body.entry("output_config").or_insert_with(|| json!({}));
        if let Some(config) = config.as_object_mut() {
            config.insert("format".to_owned(), format);
        }
    }
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(model));
    set("max_tokens", json!(max_tokens.unwrap_or(turn.max_output_tokens)));
    set("messages", messages(turn, style));
    let system = system_of(turn, style);
    if !system.is_empty() {
        set("system", json!([marked(system)]));
    }
    if style.stream {
        set("stream", json!(true));
    }
    if style.mode == OutputMode::ToolCall {
        let tools = functions(turn).into_iter().map(|function| {
            json!({
                "name": function.name, "description": function.about,
                "input_schema": function.parameters
            })
        });
        set("tools", tools.collect());
        let mut choice = json!({"type": if style.demand_call { "any" } else { "auto" }});
        if style.forbid_parallel {
            choice["disable_parallel_tool_use"] = json!(true);
        }
        if style.demand_call || style.forbid_parallel {
            set("tool_choice", choice);
        }
    }
    Value::Object(body)
}

fn messages(turn: &Turn, style: RequestStyle) -> Value {
    let mut messages = Vec::new();
    let all = messages_of(turn, style);
    let last = all.len().saturating_sub(1);
    for (at, message) in all.iter().enumerate() {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let blocks = if at == last {
            match stable_part(&message.text, &turn.tail) {
                Some(stable) => vec![marked(stable), block(&turn.tail)],
                None if turn.tail.is_empty() => vec![marked(&message.text)],
                None => vec![block(&message.text)],
            }
        } else {
            vec![block(&message.text)]
        };
        messages.push(json!({"role": role, "content": blocks}));
    }
    Value::Array(messages)
}

/// What stands before the tail in the last message.
fn stable_part<'a>(text: &'a str, tail: &str) -> Option<&'a str> {
    if tail.trim().is_empty() {
        return None;
    }
    let stable = text.strip_suffix(tail)?.strip_suffix("\n\n")?;
    (!stable.trim().is_empty()).then_some(stable)
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str) -> Value {
    // Nothing to keep, and providers refuse a mark on an empty block.
    if text.trim().is_empty() {
        return block(text);
    }
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}
