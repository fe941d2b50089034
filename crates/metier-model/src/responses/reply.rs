//! What a value of the Responses protocol adds to a reply: a whole response, or an event.
//! Pure. Cutting bytes into values is `reader`'s.

use serde_json::Value;

use crate::failure::Failure;
use crate::gather::{Gathered, Out, Tokens};
use crate::model::{Finish, ModelErrorKind};

/// Adds what `value` says; true when it was the last event.
pub(crate) fn take(value: &Value, gathered: &mut Gathered, out: Out<'_>) -> Result<bool, Failure> {
    let index = value.get("output_index").and_then(Value::as_u64);
    match text(value, "type") {
        "response.created" => gathered.is_begun = true,
        "response.output_text.delta" => gathered.text(text(value, "delta"), out),
        "response.refusal.delta" => gathered.refusal(text(value, "delta")),
        "response.output_item.added" => {
            let item = value.get("item").unwrap_or(&Value::Null);
            if text(item, "type") == "function_call" {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                gathered.call(index, id, name, text(item, "arguments"), out);
            }
        }
        "response.function_call_arguments.delta" => {
            gathered.call(index, "", "", text(value, "delta"), out);
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = value.get("response").unwrap_or(&Value::Null);
            if let Some(failure) = Failure::inside(response) {
                return Err(failure);
            }
            // Some servers send nothing but this.
            if !gathered.has_something() {
                items(response, gathered, out);
            }
            ended(response, gathered)?;
            return Ok(true);
        }
        _ if text(value, "object") == "response" => {
            items(value, gathered, out);
            gathered.is_begun = true;
            gathered.is_whole = ended(value, gathered)?;
        }
        _ => {}
    }
    Ok(false)
}

fn items(response: &Value, gathered: &mut Gathered, out: Out<'_>) {
    let items = response.get("output").and_then(Value::as_array).into_iter().flatten();
    for (index, item) in (0u64..).zip(items) {
        match text(item, "type") {
            "message" => {
                for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                    match text(part, "type") {
                        "output_text" => gathered.text(text(part, "text"), out),
                        "refusal" => gathered.refusal(text(part, "refusal")),
                        _ => {}
                    }
                }
            }
            "function_call" => {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                gathered.call(Some(index), id, name, text(item, "arguments"), out);
            }
            _ => {}
        }
    }
}

/// Why it ended and what it cost; false while it goes on.
fn ended(response: &Value, gathered: &mut Gathered) -> Result<bool, Failure> {
    if let Some(usage) = response.get("usage") {
        gathered.tokens(tokens(usage));
    }
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    gathered.finish(match (text(response, "status"), reason) {
        ("completed", _) => Finish::Stop,
        ("incomplete", Some("max_output_tokens" | "max_tokens")) => Finish::Length,
        ("incomplete", Some("content_filter")) => Finish::Refusal,
        ("failed" | "cancelled", _) => {
            let message = "the provider failed while it replied";
            return Err(Failure::new(ModelErrorKind::ServerError, message));
        }
        ("queued" | "in_progress", _) => return Ok(false),
        _ => Finish::Unknown,
    });
    Ok(true)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn tokens(usage: &Value) -> Tokens {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Tokens {
        input: number("/input_tokens"),
        output: number("/output_tokens"),
        cache_read: number("/input_tokens_details/cached_tokens"),
        cache_write: number("/input_tokens_details/cache_write_tokens"),
        reasoning: number("/output_tokens_details/reasoning_tokens"),
    }
}
