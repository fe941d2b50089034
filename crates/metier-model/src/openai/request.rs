//! A turn as the body of a chat completions request. Pure.
//! What a server may refuse of it is `request_style`'s to know.

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
    let mut messages = Vec::new();
    let system = system_of(turn, style);
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend(messages_of(turn, style).into_iter().map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": message.text})
    }));
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(model));
    set("messages", Value::Array(messages));
    set(style.limit.as_str(), json!(max_tokens.unwrap_or(turn.max_output_tokens)));
    if style.stream {
        set("stream", json!(true));
        if style.ask_usage {
            set("stream_options", json!({"include_usage": true}));
        }
    }
    match style.mode {
        OutputMode::JsonSchema => {
            let schema = turn.enforced_schema();
            let wanted = json!({"name": "decision", "strict": true, "schema": schema});
            set("response_format", json!({"type": "json_schema", "json_schema": wanted}));
        }
        OutputMode::ToolCall => {
            let tools = functions(turn).into_iter().map(|function| {
                json!({"type": "function", "function": {
                    "name": function.name, "description": function.about,
                    "parameters": function.parameters, "strict": true
                }})
            });
            set("tools", tools.collect());
            // Only the word is known to every server; llama.cpp takes an object for no demand at all.
            if style.demand_call {
                set("tool_choice", json!("required"));
            }
            if style.forbid_parallel {
                set("parallel_tool_calls", json!(false));
            }
        }
        OutputMode::Prompted => {}
    }
    Value::Object(body)
}
