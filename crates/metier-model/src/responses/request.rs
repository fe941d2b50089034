//! A turn as the body of a Responses request. Pure.
//! Nothing is stored at the provider: every turn is sent whole.

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
    if style.mode == OutputMode::JsonSchema {
        let format = json!({"type": "json_schema", "name": "decision", "strict": true, "schema": *turn.schema});
        // The setting may hold something else too, such as how many words are wanted.
        let text = body.entry("text").or_insert_with(|| json!({}));
        if let Some(text) = text.as_object_mut() {
            text.insert("format".to_owned(), format);
        }
    }
    let messages: Vec<Value> = messages_of(turn, style)
        .into_iter()
        .map(|message| {
            let (role, kind) = match message.role {
                Role::User => ("user", "input_text"),
                Role::Assistant => ("assistant", "output_text"),
            };
            let content = json!([{"type": kind, "text": message.text}]);
            json!({"type": "message", "role": role, "content": content})
        })
        .collect();
    // The run is kept by us; nothing of it need stay at the provider.
    body.entry("store").or_insert(json!(false));
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(model));
    set("input", Value::Array(messages));
    set("max_output_tokens", json!(max_tokens.unwrap_or(turn.max_output_tokens)));
    let system = system_of(turn, style);
    if !system.is_empty() {
        set("instructions", json!(system));
    }
    if style.stream {
        set("stream", json!(true));
    }
    if style.mode == OutputMode::ToolCall {
        let tools = functions(turn).into_iter().map(|function| {
            json!({
                "type": "function", "name": function.name, "description": function.about,
                "parameters": function.parameters, "strict": true
            })
        });
        set("tools", tools.collect());
        if style.demand_call {
            set("tool_choice", json!("required"));
        }
        if style.forbid_parallel {
            set("parallel_tool_calls", json!(false));
        }
    }
    Value::Object(body)
}
