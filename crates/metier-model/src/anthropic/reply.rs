//! What a value of the Messages protocol adds to a reply: a whole message, or an event.
//! Pure. Cutting bytes into values is `reader`'s.

use serde_json::Value;

use crate::gather::{Gathered, Out, Tokens};
use crate::model::Finish;

/// Adds what `value` says; true when it was the last event.
pub(crate) fn take(value: &Value, gathered: &mut Gathered, out: Out<'_>) -> bool {
    let index = || value.get("index").and_then(Value::as_u64).unwrap_or(0);
    match text(value, "type") {
        "message" => {
            let blocks = value.get("content").and_then(Value::as_array).into_iter().flatten();
            for (index, block) in (0u64..).zip(blocks) {
                whole_block(index, block, gathered, out);
            }
            (gathered.is_whole, gathered.is_begun) = (true, true);
            ended(value, value.get("usage"), gathered);
        }
        "message_start" => {
            gathered.is_begun = true;
            if let Some(usage) = value.pointer("/message/usage") {
                gathered.tokens(tokens(usage));
            }
        }
        "content_block_start" => {
            let block = value.get("content_block").unwrap_or(&Value::Null);
            let (index, kind) = (index(), text(block, "type"));
            match kind {
                "text" if !text(block, "text").is_empty() => {
                    gathered.text(text(block, "text"), out);
                }
                "tool_use" => {
                    gathered.call(Some(index), text(block, "id"), text(block, "name"), "", out);
                    // Some servers give the whole input here, and no deltas.
                    if let Some(input) = block.get("input").filter(|input| !is_blank(input)) {
                        gathered.call(Some(index), "", "", &input.to_string(), out);
                    }
                }
                _ => {}
            }
        }
        "content_block_delta" => {
            let delta = value.get("delta").unwrap_or(&Value::Null);
            match text(delta, "type") {
                "text_delta" => gathered.text(text(delta, "text"), out),
                // A server's own tool streams its input in the same way; such a block is not ours.
                "input_json_delta" if gathered.arguments(index()).is_some() => {
                    gathered.call(Some(index()), "", "", text(delta, "partial_json"), out);
                }
                _ => {}
            }
        }
        "content_block_stop" => {
            let index = index();
            if gathered.arguments(index) == Some("") {
                gathered.call(Some(index), "", "", "{}", out);
            }
        }
        "message_delta" => {
            let delta = value.get("delta").unwrap_or(&Value::Null);
            ended(delta, value.get("usage"), gathered);
        }
        "message_stop" => return gathered.is_begun,
        _ => {}
    }
    false
}

fn whole_block(index: u64, block: &Value, gathered: &mut Gathered, out: Out<'_>) {
    match text(block, "type") {
        "text" => gathered.text(text(block, "text"), out),
        "tool_use" => {
            let input = block.get("input").filter(|input| input.is_object());
            let input = input.map_or_else(|| "{}".to_owned(), Value::to_string);
            gathered.call(Some(index), text(block, "id"), text(block, "name"), &input, out);
        }
        _ => {}
    }
}

fn ended(value: &Value, usage: Option<&Value>, gathered: &mut Gathered) {
    match value.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "tool_use" | "stop_sequence") => gathered.finish(Finish::Stop),
        Some("max_tokens" | "model_context_window_exceeded") => gathered.finish(Finish::Length),
        Some("refusal") => gathered.finish(Finish::Refusal),
        Some(_) => gathered.finish(Finish::Unknown),
        None => {}
    }
    if let Some(usage) = usage {
        gathered.tokens(tokens(usage));
    }
}

fn is_blank(input: &Value) -> bool {
    input.as_object().is_none_or(serde_json::Map::is_empty)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What is counted apart here is one number with us: all tokens that were sent.
fn tokens(usage: &Value) -> Tokens {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (read, write) =
        (number("/cache_read_input_tokens"), number("/cache_creation_input_tokens"));
    let input = number("/input_tokens")
        .map(|input| input.saturating_add(read.unwrap_or(0)).saturating_add(write.unwrap_or(0)));
    Tokens {
        input,
        output: number("/output_tokens"),
        cache_read: read,
        cache_write: write,
        reasoning: number("/output_tokens_details/thinking_tokens")
            .or_else(|| number("/output_tokens_details/reasoning_tokens")),
    }
}
