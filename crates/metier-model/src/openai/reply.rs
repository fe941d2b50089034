//! What a value of the chat completions protocol adds to a reply: a whole completion, or a chunk.
//! Pure. Cutting bytes into values is `reader`'s.

use serde_json::Value;

use crate::failure::Failure;
use crate::model::{Finish, ModelErrorKind};
use crate::reply_builder::{Out, ReplyBuilder, Tokens};

/// Adds what `value` says.
pub(crate) fn take(value: &Value, builder: &mut ReplyBuilder, out: Out<'_>) -> Result<(), Failure> {
    let usage = value.get("usage").filter(|usage| usage.is_object());
    if let Some(usage) = usage.or_else(|| value.pointer("/x_groq/usage")) {
        builder.tokens(tokens(usage));
    }
    let choices = value.get("choices").and_then(Value::as_array);
    // Only one answer was asked for; of several the first is it.
    let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
    let Some(choice) = choices.and_then(|choices| choices.iter().find(is_first)) else {
        return Ok(());
    };
    if let Some(failure) = Failure::inside(choice) {
        return Err(failure);
    }
    if let Some(delta) = choice.get("delta").filter(|delta| delta.is_object()) {
        message(delta, builder, out);
    } else if let Some(whole) = choice.get("message").filter(|message| message.is_object()) {
        // Some servers end a stream with the whole message once more.
        if !builder.is_begun {
            message(whole, builder, out);
            (builder.is_whole, builder.is_begun) = (true, true);
        }
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("error") => {
            let message = "the provider failed while it replied";
            return Err(Failure::new(ModelErrorKind::ServerError, message));
        }
        Some(reason) if !reason.is_empty() => builder.finish(finish(reason)),
        _ => {}
    }
    Ok(())
}

fn message(message: &Value, builder: &mut ReplyBuilder, out: Out<'_>) {
    match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => builder.text(text, out),
        Some(Value::Array(parts)) => {
            let is_text = |part: &&Value| part.get("type").is_none_or(|kind| kind == "text");
            for part in parts.iter().filter(is_text) {
                if let Some(text) = part.get("text").and_then(Value::as_str) {
                    builder.text(text, out);
                }
            }
        }
        _ => {}
    }
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
        && !refusal.is_empty()
    {
        builder.refusal(refusal);
    }
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let index = call.get("index").and_then(Value::as_u64);
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        function(index, id, call.get("function"), builder, out);
    }
    if let Some(function_call) = message.get("function_call").filter(|call| call.is_object()) {
        function(Some(0), "", Some(function_call), builder, out);
    }
}

fn function(
    index: Option<u64>,
    id: &str,
    function: Option<&Value>,
    builder: &mut ReplyBuilder,
    out: Out<'_>,
) {
    let field = |name: &str| function.and_then(|function| function.get(name));
    let name = field("name").and_then(Value::as_str).unwrap_or_default();
    match field("arguments") {
        Some(Value::String(piece)) => builder.call(index, id, name, piece, out),
        // Some give the arguments as an object; as text they are the same.
        Some(object @ Value::Object(_)) => builder.call(index, id, name, &object.to_string(), out),
        _ => builder.call(index, id, name, "", out),
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "tool_calls" | "function_call" | "end_turn" | "eos" | "tool_use" => Finish::Stop,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" | "refusal" | "safety" => Finish::Refusal,
        _ => Finish::Unknown,
    }
}

fn tokens(usage: &Value) -> Tokens {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Tokens {
        input: number("/prompt_tokens"),
        output: number("/completion_tokens"),
        cache_read: number("/prompt_tokens_details/cached_tokens")
            .or_else(|| number("/prompt_cache_hit_tokens")),
        cache_write: number("/prompt_tokens_details/cache_write_tokens"),
        reasoning: number("/completion_tokens_details/reasoning_tokens"),
    }
}
