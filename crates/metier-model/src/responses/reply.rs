//! What a value of the Responses protocol adds to a reply: a whole response, or an event.
//! Pure. Cutting bytes into values is `reader`'s.

use serde_json::Value;

use crate::failure::Failure;
use crate::model::{Finish, ModelErrorKind};
use crate::reply_builder::{Out, ReplyBuilder, Tokens};

/// Adds what `value` says; true when it was the last event.
pub(crate) fn take(
    value: &Value,
    builder: &mut ReplyBuilder,
    out: Out<'_>,
) -> Result<bool, Failure> {
    let index = value.get("output_index").and_then(Value::as_u64);
    match text(value, "type") {
        "response.created" => builder.is_begun = true,
        "response.queued" => builder.is_queued = true,
        "response.in_progress" => builder.is_queued = false,
        "response.output_text.delta" => builder.text(text(value, "delta"), out),
        "response.refusal.delta" => builder.refusal(text(value, "delta")),
        "response.output_item.added" => {
            let item = value.get("item").unwrap_or(&Value::Null);
            if text(item, "type") == "function_call" {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                builder.call(index, id, name, text(item, "arguments"), out);
            }
        }
        "response.function_call_arguments.delta" => {
            builder.call(index, "", "", text(value, "delta"), out);
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = value.get("response").unwrap_or(&Value::Null);
            if let Some(failure) = Failure::inside(response) {
                return Err(failure);
            }
            // Some servers send nothing but this.
            if !builder.has_something() {
                items(response, builder, out);
            }
            ended(response, builder)?;
            return Ok(true);
        }
        _ if text(value, "object") == "response" => {
            let status = text(value, "status");
            if matches!(status, "queued" | "in_progress") {
                return Err(put_off(status));
            }
            items(value, builder, out);
            (builder.is_begun, builder.is_whole) = (true, true);
            ended(value, builder)?;
        }
        _ => {}
    }
    Ok(false)
}

fn items(response: &Value, builder: &mut ReplyBuilder, out: Out<'_>) {
    let items = response.get("output").and_then(Value::as_array).into_iter().flatten();
    for (index, item) in (0u64..).zip(items) {
        match text(item, "type") {
            "message" => {
                for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                    match text(part, "type") {
                        "output_text" => builder.text(text(part, "text"), out),
                        "refusal" => builder.refusal(text(part, "refusal")),
                        _ => {}
                    }
                }
            }
            "function_call" => {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                builder.call(Some(index), id, name, text(item, "arguments"), out);
            }
            _ => {}
        }
    }
}

/// A response that is to be fetched later. Sending the request again would queue another one.
pub(crate) fn put_off(status: &str) -> Failure {
    let message = format!(
        "the provider put the reply off (status `{status}`) instead of giving it; remove `background` \
         from `model.params`"
    );
    Failure::new(ModelErrorKind::BadRequest, message).for_good()
}

/// Why it ended and what it cost.
fn ended(response: &Value, builder: &mut ReplyBuilder) -> Result<(), Failure> {
    if let Some(usage) = response.get("usage") {
        builder.tokens(tokens(usage));
    }
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    builder.finish(match (text(response, "status"), reason) {
        ("completed", _) => Finish::Stop,
        ("incomplete", Some("max_output_tokens" | "max_tokens")) => Finish::Length,
        ("incomplete", Some("content_filter")) => Finish::Refusal,
        ("failed" | "cancelled", _) => {
            let message = "the provider failed while it replied";
            return Err(Failure::new(ModelErrorKind::ServerError, message));
        }
        _ => Finish::Unknown,
    });
    Ok(())
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
