//! What a value of the Messages protocol adds to a reply: a whole message, or an event.
//! Pure. Cutting bytes into values is `reader`'s.

use serde_json::Value;

use crate::model::Finish;
use crate::reply_builder::{Out, ReplyBuilder, Tokens};

/// Adds what `value` says; true when it was the last event.
pub(crate) fn take(value: &Value, builder: &mut ReplyBuilder, out: Out<'_>) -> bool {
    let index = || value.get("index").and_then(Value::as_u64).unwrap_or(0);
    match text(value, "type") {
        "message" => {
            let blocks = value.get("content").and_then(Value::as_array).into_iter().flatten();
            for (index, block) in (0u64..).zip(blocks) {
                whole_block(index, block, builder, out);
            }
            (builder.is_whole, builder.is_begun) = (true, true);
            ended(value, value.get("usage"), builder);
        }
        "message_start" => {
            builder.is_begun = true;
            if let Some(usage) = value.pointer("/message/usage") {
                builder.tokens(tokens(usage));
            }
        }
        "content_block_start" => {
            let block = value.get("content_block").unwrap_or(&Value::Null);
            let (index, kind) = (index(), text(block, "type"));
            match kind {
                "text" if !text(block, "text").is_empty() => {
                    builder.text(text(block, "text"), out);
                }
                "tool_use" => {
                    builder.call(Some(index), text(block, "id"), text(block, "name"), "", out);
                    // Some servers give the whole input here, and no deltas.
                    if let Some(input) = block.get("input").filter(|input| !is_blank(input)) {
                        builder.call(Some(index), "", "", &input.to_string(), out);
                    }
                }
                _ => {}
            }
        }
        "content_block_delta" => {
            let delta = value.get("delta").unwrap_or(&Value::Null);
            match text(delta, "type") {
                "text_delta" => builder.text(text(delta, "text"), out),
                // A server's own tool streams its input in the same way; such a block is not ours.
                "input_json_delta" if builder.arguments(index()).is_some() => {
                    builder.call(Some(index()), "", "", text(delta, "partial_json"), out);
                }
                _ => {}
            }
        }
        "content_block_stop" => {
            let index = index();
            if builder.arguments(index) == Some("") {
                builder.call(Some(index), "", "", "{}", out);
            }
        }
        "message_delta" => {
            let delta = value.get("delta").unwrap_or(&Value::Null);
            ended(delta, value.get("usage"), builder);
        }
        "message_stop" => return builder.is_begun,
        _ => {}
    }
    false
}

fn whole_block(index: u64, block: &Value, builder: &mut ReplyBuilder, out: Out<'_>) {
    match text(block, "type") {
        "text" => builder.text(text(block, "text"), out),
        "tool_use" => {
            let input = block.get("input").filter(|input| input.is_object());
            let input = input.map_or_else(|| "{}".to_owned(), Value::to_string);
            builder.call(Some(index), text(block, "id"), text(block, "name"), &input, out);
        }
        _ => {}
    }
}

fn ended(value: &Value, usage: Option<&Value>, builder: &mut ReplyBuilder) {
    match value.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "tool_use" | "stop_sequence") => builder.finish(Finish::Stop),
        Some("max_tokens" | "model_context_window_exceeded") => builder.finish(Finish::Length),
        Some("refusal") => builder.finish(Finish::Refusal),
        Some(_) => builder.finish(Finish::Unknown),
        None => {}
    }
    if let Some(usage) = usage {
        builder.tokens(tokens(usage));
    }
}

fn is_blank(input: &Value) -> bool {
    input.as_object().is_none_or(serde_json::Map::is_empty)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What is counted apart here is one number with us: all tokens that were sent. Where the provider
/// compacted the conversation first, the numbers at the top are those of the last pass alone, and every
/// pass is billed: `iterations` lists them.
fn tokens(usage: &Value) -> Tokens {
    let passes = usage.get("iterations").and_then(Value::as_array);
    match passes.filter(|passes| !passes.is_empty()) {
        Some(passes) => {
            let sum = |sum: Tokens, pass: &Value| sum.plus(tokens_of_one(pass));
            let sum = passes.iter().fold(Tokens::default(), sum);
            // A pass does not say how many tokens were thought.
            Tokens { reasoning: sum.reasoning.or(tokens_of_one(usage).reasoning), ..sum }
        }
        None => tokens_of_one(usage),
    }
}

fn tokens_of_one(usage: &Value) -> Tokens {
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
