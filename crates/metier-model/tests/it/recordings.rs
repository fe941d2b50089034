//! Recorded requests and replies of real providers, out of the corpus; and what such a reply says,
//! found in another and simpler way than the adapters do it.

use std::io::Read;

use flate2::read::GzDecoder;
use metier_model::Finish;
use metier_model::raw::Dialect;
use metier_skill::yaml::{self, Node, NodeKind};
use serde_json::Value;

/// One request and its reply.
pub(crate) struct Recording {
    /// The file and its place in it.
    pub(crate) name: String,
    /// What was asked, where it is JSON.
    pub(crate) request: Value,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) reply: String,
    /// Whose protocol it is; nothing where it is neither of ours.
    pub(crate) dialect: Option<Dialect>,
    /// `provider path`, to count what is left out.
    pub(crate) group: String,
}

/// All recordings; nothing where the corpus is absent.
pub(crate) fn recordings() -> Option<Vec<Recording>> {
    let file = metier_testkit::corpus_dir()?.join("wire.tar.gz");
    #[expect(clippy::disallowed_methods, reason = "a test reads the corpus")]
    let file = std::fs::File::open(file).expect("the recordings");
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut all = Vec::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.display();
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("UTF-8");
        // What stands inside a text is indented, so this is only ever the mark of a document.
        for (place, document) in text.split("\n---\n").enumerate() {
            all.extend(recording(&format!("{name}#{place}"), document));
        }
    }
    Some(all)
}

fn recording(name: &str, document: &str) -> Option<Recording> {
    let document = document.strip_prefix("---\n").unwrap_or(document);
    if document.trim().is_empty() {
        return None;
    }
    let document = format!("{document}\n");
    let root = yaml::parse(&document).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let (when, then) = (entry(&root, "when").expect("when"), entry(&root, "then").expect("then"));
    let text = |node: &Node<'_>, key: &str| {
        entry(node, key).and_then(|node| node.text().map(str::to_owned)).unwrap_or_default()
    };
    let path = text(when, "path");
    let provider = name.split('/').nth(1).expect("a provider").to_owned();
    let dialect = if text(when, "method") != "POST" {
        None
    } else if path.ends_with("/chat/completions") {
        Some(Dialect::OpenAi)
    } else if path.ends_with("/v1/messages") {
        Some(Dialect::Anthropic)
    } else if path.ends_with("/responses") {
        Some(Dialect::Responses)
    } else {
        None
    };
    let headers = entry(then, "header");
    let content_type = headers
        .into_iter()
        .flat_map(items)
        .find_map(|header| (text(header, "name") == "content-type").then(|| text(header, "value")));
    Some(Recording {
        name: name.to_owned(),
        request: serde_json::from_str(&text(when, "body")).unwrap_or(Value::Null),
        status: text(then, "status").parse().expect("a status"),
        content_type: content_type.unwrap_or_default(),
        reply: text(then, "body"),
        dialect,
        group: format!("{provider} {path}"),
    })
}

fn entry<'a, 'b>(node: &'a Node<'b>, key: &str) -> Option<&'a Node<'b>> {
    node.entries()?.iter().find(|(name, _)| name.key_text() == key).map(|(_, value)| value)
}

fn items<'a, 'b>(node: &'a Node<'b>) -> &'a [Node<'b>] {
    match &node.kind {
        NodeKind::List(items) => items,
        _ => &[],
    }
}

/// What a reply says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Expected {
    pub(crate) content: String,
    pub(crate) refusal: String,
    /// Names, and arguments as values where they are JSON.
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) reason: String,
    /// Sent, received, from a cache.
    pub(crate) tokens: Option<(u64, u64, u64)>,
}

impl Expected {
    /// What a recorded reply of status 200 says.
    pub(crate) fn of(recording: &Recording) -> Self {
        if recording.reply.trim_start().starts_with('{') {
            let value = serde_json::from_str(&recording.reply).expect("JSON");
            return match recording.dialect.expect("a protocol of ours") {
                Dialect::OpenAi => whole_completion(&value),
                Dialect::Anthropic => whole_message(&value),
                Dialect::Responses => whole_response(&value),
            };
        }
        let data = recording.reply.split('\n').filter_map(|line| line.strip_prefix("data: "));
        let values: Vec<Value> = data
            .filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).expect("JSON"))
            .collect();
        match recording.dialect.expect("a protocol of ours") {
            Dialect::OpenAi => completion_chunks(&values),
            Dialect::Anthropic => message_events(&values),
            Dialect::Responses => response_events(&values),
        }
    }

    /// Why it ended.
    pub(crate) fn finish(&self) -> Finish {
        match self.reason.as_str() {
            "content_filter" => Finish::Refusal,
            "length" | "max_tokens" | "max_output_tokens" => Finish::Length,
            _ if !self.refusal.is_empty() => Finish::Refusal,
            _ => Finish::Stop,
        }
    }
}

/// A text as the value that it is, or as itself.
pub(crate) fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn completion_tokens(usage: &Value) -> Option<(u64, u64, u64)> {
    let cached = &usage["prompt_tokens_details"]["cached_tokens"];
    Some((
        usage["prompt_tokens"].as_u64()?,
        usage["completion_tokens"].as_u64()?,
        cached.as_u64().unwrap_or(0),
    ))
}

fn whole_completion(value: &Value) -> Expected {
    let choice = &value["choices"][0];
    let message = &choice["message"];
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    Expected {
        content: message["content"].as_str().unwrap_or_default().to_owned(),
        refusal: message["refusal"].as_str().unwrap_or_default().to_owned(),
        calls: calls
            .iter()
            .map(|call| &call["function"])
            .map(|function| {
                let arguments = function["arguments"].as_str().expect("text");
                (function["name"].as_str().expect("a name").to_owned(), value_of(arguments))
            })
            .collect(),
        reason: choice["finish_reason"].as_str().unwrap_or_default().to_owned(),
        tokens: completion_tokens(&value["usage"]),
    }
}

fn completion_chunks(values: &[Value]) -> Expected {
    let mut expected = Expected::default();
    let mut calls: Vec<(String, String)> = Vec::new();
    for value in values {
        expected.tokens = completion_tokens(&value["usage"]).or(expected.tokens);
        for choice in value["choices"].as_array().into_iter().flatten() {
            if choice["index"] != 0 {
                continue;
            }
            let delta = &choice["delta"];
            expected.content += delta["content"].as_str().unwrap_or_default();
            expected.refusal += delta["refusal"].as_str().unwrap_or_default();
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let at = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
                if calls.len() <= at {
                    calls.resize(at + 1, Default::default());
                }
                let function = &call["function"];
                calls[at].0 += function["name"].as_str().unwrap_or_default();
                calls[at].1 += function["arguments"].as_str().unwrap_or_default();
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                reason.clone_into(&mut expected.reason);
            }
        }
    }
    expected.calls = calls.into_iter().map(|(name, text)| (name, value_of(&text))).collect();
    expected
}

fn message_tokens(usage: &Value) -> Option<(u64, u64, u64)> {
    let count = |key: &str| usage[key].as_u64();
    let read = count("cache_read_input_tokens").unwrap_or(0);
    let write = count("cache_creation_input_tokens").unwrap_or(0);
    Some((count("input_tokens")? + read + write, count("output_tokens")?, read))
}

fn whole_message(value: &Value) -> Expected {
    let mut expected = Expected {
        reason: value["stop_reason"].as_str().unwrap_or_default().to_owned(),
        tokens: message_tokens(&value["usage"]),
        ..Expected::default()
    };
    for block in value["content"].as_array().expect("blocks") {
        if block["type"] == "text" {
            expected.content += block["text"].as_str().expect("text");
        } else if block["type"] == "tool_use" {
            let name = block["name"].as_str().expect("a name").to_owned();
            expected.calls.push((name, block["input"].clone()));
        }
    }
    expected
}

fn message_events(values: &[Value]) -> Expected {
    let mut expected = Expected::default();
    let mut json = String::new();
    let mut tool: Option<String> = None;
    for value in values {
        match value["type"].as_str().expect("a type") {
            "message_start" => expected.tokens = message_tokens(&value["message"]["usage"]),
            "content_block_start" if value["content_block"]["type"] == "tool_use" => {
                tool = value["content_block"]["name"].as_str().map(str::to_owned);
            }
            "content_block_delta" => {
                expected.content += value["delta"]["text"].as_str().unwrap_or_default();
                json += value["delta"]["partial_json"].as_str().unwrap_or_default();
            }
            "content_block_stop" => {
                if let Some(name) = tool.take() {
                    let text = if json.is_empty() { "{}" } else { &json };
                    expected.calls.push((name, value_of(text)));
                }
                json.clear();
            }
            "message_delta" => {
                if let Some(reason) = value["delta"]["stop_reason"].as_str() {
                    reason.clone_into(&mut expected.reason);
                }
                let (input, _, read) = expected.tokens.expect("counted at the start");
                let last = message_tokens(&value["usage"]);
                let output = value["usage"]["output_tokens"].as_u64().expect("a count");
                let (input, read) = last.map_or((input, read), |(input, _, read)| (input, read));
                expected.tokens = Some((input, output, read));
            }
            _ => {}
        }
    }
    expected
}

fn whole_response(value: &Value) -> Expected {
    let usage = &value["usage"];
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let cached = count("/input_tokens_details/cached_tokens").unwrap_or(0);
    let mut expected = Expected {
        reason: value["incomplete_details"]["reason"].as_str().unwrap_or_default().to_owned(),
        tokens: count("/input_tokens").zip(count("/output_tokens")).map(|(i, o)| (i, o, cached)),
        ..Expected::default()
    };
    for item in value["output"].as_array().expect("items") {
        if item["type"] == "message" {
            for part in item["content"].as_array().expect("parts") {
                expected.content += part["text"].as_str().unwrap_or_default();
                expected.refusal += part["refusal"].as_str().unwrap_or_default();
            }
        } else if item["type"] == "function_call" {
            let name = item["name"].as_str().expect("a name").to_owned();
            expected.calls.push((name, value_of(item["arguments"].as_str().expect("text"))));
        }
    }
    expected
}

/// The last event has all of it once more; the adapter reads the events before it.
fn response_events(values: &[Value]) -> Expected {
    whole_response(&values.last().expect("events")["response"])
}
