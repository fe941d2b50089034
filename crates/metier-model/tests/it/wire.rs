//! Recorded replies of real providers, given again: over HTTP through the adapters, and to the
//! readers cut at every single byte.

use std::collections::{BTreeMap, BTreeSet};

use metier_model::raw::{Dialect, Heard, OutputMode, Progress, ReplyReader, read_chunks};
use metier_model::{Finish, ModelErrorKind as Kind, Reply};
use serde_json::{Value, json};

use crate::recordings::{Expected, Recording, recordings, value_of};
use crate::server::{Answer, Server};
use crate::talk::{Provider, WAYS, Way, ask, ask_without_plan};

/// The recordings of our protocols.
fn ours() -> Option<Vec<(Dialect, Recording)>> {
    let all = recordings()?.into_iter();
    Some(all.filter_map(|it| it.dialect.map(|dialect| (dialect, it))).collect())
}

/// Why recordings of a path are left out: by the end of the path.
const LEFT_OUT: &[(&str, &str)] = &[
    ("/responses", "asked by GET, which no adapter does"),
    ("/api/chat", "Ollama's own protocol; it speaks chat completions too"),
    ("/embeddings", "no conversation"),
    ("/rerank", "no conversation"),
    ("/speech", "no conversation"),
    ("/transcriptions", "no conversation"),
    ("/generations", "no conversation"),
    ("/models", "a list, not a reply"),
    ("/tags", "a list, not a reply"),
    ("/props", "settings of a server"),
    ("/files", "files at the provider"),
    ("/files/file_REDACTED_1", "files at the provider"),
];

#[test]
fn every_recording_is_given_again_or_left_out_for_a_reason() {
    let Some(all) = recordings() else { return };
    let mut left_out: BTreeMap<String, (u32, &str)> = BTreeMap::new();
    let ours = all.iter().filter(|it| it.dialect.is_some()).count();
    for recording in all.iter().filter(|it| it.dialect.is_none()) {
        let group = &recording.group;
        let reason = LEFT_OUT.iter().find(|(end, _)| group.ends_with(end));
        let reason = reason.unwrap_or_else(|| panic!("{}: {group}", recording.name)).1;
        left_out.entry(group.clone()).or_insert((0, reason)).0 += 1;
    }
    println!("{ours} of {} recordings are of our protocols; left out are:", all.len());
    for (group, (count, reason)) in &left_out {
        println!("  {count:4} {group}: {reason}");
    }
    assert!(ours > 1000, "{ours}");
}

/// In which mode a recorded request was made.
fn mode(recording: &Recording) -> OutputMode {
    match recording.request.get("tools") {
        Some(_) => OutputMode::ToolCall,
        None => OutputMode::Prompted,
    }
}

/// The text that a reply has by our rules: of the calls, else the words, else the refusal.
fn text(expected: &Expected, mode: OutputMode) -> (Vec<Value>, u32) {
    let has_words = !expected.content.trim().is_empty();
    if !expected.calls.is_empty() && (mode == OutputMode::ToolCall || !has_words) {
        let is_cut = expected.finish() == Finish::Length;
        let decision = |(name, value): &(String, Value)| match (mode, value) {
            // Without arguments because it was cut off is not without arguments.
            (OutputMode::ToolCall, Value::String(cut)) if !cut.is_empty() || is_cut => {
                let (name, end) = (json!(name), if cut.is_empty() { "" } else { "}}" });
                let start = r#"{"action":{"type":"call_tool","tool":"#;
                json!(format!(r#"{start}{name},"args":{cut}{end}"#))
            }
            (OutputMode::ToolCall, value) => {
                let args = if value.is_string() { json!({}) } else { value.clone() };
                json!({"action": {"type": "call_tool", "tool": name, "args": args}})
            }
            _ => value.clone(),
        };
        let values = expected.calls.iter().map(decision).collect();
        return (values, u32::try_from(expected.calls.len()).expect("few"));
    }
    let refused = !has_words && !expected.refusal.trim().is_empty();
    let words = if refused { &expected.refusal } else { &expected.content };
    (vec![Value::String(words.clone())], 1)
}

/// The parts of a text of ours, as values where it came from calls.
fn parts(text: &str, expected: &(Vec<Value>, u32)) -> Vec<Value> {
    match expected.0.as_slice() {
        [Value::String(_)] => vec![Value::String(text.to_owned())],
        [_] => vec![value_of(text)],
        _ => text.lines().map(value_of).collect(),
    }
}

fn check_reply(name: &str, reply: &Reply, expected: &Expected) {
    let text = text(expected, reply.mode);
    assert_eq!(parts(&reply.text, &text), text.0, "{name}");
    assert_eq!(reply.parts, text.1, "{name}");
    assert_eq!(reply.finish, expected.finish(), "{name}: {}", expected.reason);
    let usage = &reply.usage;
    match expected.tokens {
        Some(tokens) => assert_eq!((usage.input, usage.output, usage.cache_read), tokens, "{name}"),
        None => assert!(usage.estimated, "{name}"),
    }
}

/// The kind of failure that a status stands for, said once more in plain words.
fn kind_of(status: u16, reply: &str) -> Kind {
    match status {
        400 if reply.contains("exceed_context_size_error") => Kind::ContextOverflow,
        400 if reply.contains("\"model_not_found\"") => Kind::NotFound,
        401 => Kind::Unauthorized,
        404 => Kind::NotFound,
        500 => Kind::ServerError,
        _ => Kind::BadRequest,
    }
}

#[test]
fn recorded_replies_come_through_the_adapters() {
    let Some(recordings) = ours() else { return };
    let server = Server::start(Vec::new());
    let mut models = BTreeMap::new();
    let (mut replies, mut failures) = (0, 0);
    for (dialect, recording) in &recordings {
        let provider = match dialect {
            Dialect::OpenAi => Provider::OpenAi,
            Dialect::Anthropic => Provider::Anthropic,
            Dialect::Responses => Provider::Responses,
        };
        let stream = recording.request["stream"] == json!(true);
        let mode = mode(recording);
        let key = (format!("{provider:?}"), stream, mode == OutputMode::ToolCall);
        let model = models.entry(key).or_insert_with(|| {
            Way { provider, stream }.model(&server.url(), |endpoint| {
                endpoint.retry.attempts = 1;
                let output = json!(mode);
                endpoint.params.insert("output".to_owned(), output);
            })
        });
        let headers = [("content-type", recording.content_type.as_str())];
        let bytes = recording.reply.as_bytes();
        let whole = Answer::reply(recording.status, &headers, bytes);
        let middle = bytes.split_at(bytes.len() / 2);
        let halves = Answer::chunks(recording.status, &headers, [middle.0, middle.1]);
        let pieces = Answer::chunks(recording.status, &headers, bytes.chunks(61));
        let mut heard: Option<(String, Vec<_>)> = None;
        for answer in [whole, halves, pieces] {
            server.script(vec![answer]);
            let outcome = ask_without_plan(&**model);
            let result = match &outcome.reply {
                Ok(reply) => {
                    assert_eq!(recording.status, 200, "{}", recording.name);
                    check_reply(&recording.name, reply, &Expected::of(recording));
                    if reply.parts == 1 {
                        assert_eq!(outcome.text(), reply.text, "{}", recording.name);
                    }
                    format!("{reply:?}").replace(&format!("{:?}", reply.usage), "")
                }
                Err(error) => {
                    assert_ne!(recording.status, 200, "{}: {error}", recording.name);
                    let kind = kind_of(recording.status, &recording.reply);
                    assert_eq!(error.kind, kind, "{}: {error}", recording.name);
                    let body: Value = serde_json::from_str(&recording.reply).expect("JSON");
                    let words = body["error"]["message"].as_str().expect("words");
                    assert!(error.message.contains(words), "{}: {error}", recording.name);
                    error.message.clone()
                }
            };
            let now = (result, outcome.events);
            assert_eq!(heard.get_or_insert_with(|| now.clone()), &now, "{}", recording.name);
        }
        if recording.status == 200 { replies += 1 } else { failures += 1 }
    }
    println!("over HTTP, in three cuts each: {replies} replies and {failures} failures");
}

/// What the reader heard and says, and its calls, when it is given these pieces.
fn read<'a>(
    dialect: Dialect,
    mode: OutputMode,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Heard {
    read_chunks(dialect, mode, pieces)
}

/// Bodies up to here are read anew for each place to cut; longer ones from mark to mark.
const SHORT: usize = 1500;

#[test]
fn a_recorded_reply_may_be_cut_at_every_byte() {
    let Some(recordings) = ours() else { return };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let each = recordings.len().div_ceil(threads);
    let cuts: usize = std::thread::scope(|scope| {
        let work: Vec<_> = recordings
            .chunks(each)
            .map(|some| {
                scope.spawn(|| {
                    some.iter().map(|(dialect, it)| cut_everywhere(*dialect, it)).sum::<usize>()
                })
            })
            .collect();
        work.into_iter().map(|thread| thread.join().expect("all cuts are alike")).sum()
    });
    println!("{cuts} cuts of {} replies made no difference", recordings.len());
    assert!(cuts > 2_000_000, "{cuts}");
}

fn cut_everywhere(dialect: Dialect, recording: &Recording) -> usize {
    let (name, bytes, mode) = (&recording.name, recording.reply.as_bytes(), mode(recording));
    let whole = read(dialect, mode, [bytes]);
    assert_eq!(read(dialect, mode, bytes.chunks(1)), whole, "{name}: byte by byte");
    if recording.status == 200 {
        let expected = Expected::of(recording);
        let mut reader = ReplyReader::new(dialect, mode, 1 << 20);
        let _ = reader.feed(bytes, &mut |_| {}).expect("good bytes");
        let said = reader.end(&mut |_| {}).expect("a reply");
        let text = text(&expected, mode);
        assert_eq!(parts(&said.text, &text), text.0, "{name}");
        let calls = reader.builder().calls().into_iter();
        let calls: Vec<_> =
            calls.map(|call| (call.name.clone(), value_of(&call.arguments))).collect();
        assert_eq!(calls, expected.calls, "{name}");
    } else {
        assert!(whole.1.is_err(), "{name}: an error's body is no reply");
    }
    let is_json = recording.reply.trim_start().starts_with('{');
    if is_json {
        cut_json(dialect, mode, name, bytes);
    } else if bytes.len() <= SHORT {
        for at in 1..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(read(dialect, mode, [left, right]), whole, "{name} at {at}");
        }
    } else {
        cut_events(dialect, mode, name, bytes);
    }
    bytes.len().saturating_sub(1)
}

/// JSON is only read when it is whole, so the reader must be the same before that.
fn cut_json(dialect: Dialect, mode: OutputMode, name: &str, bytes: &[u8]) {
    let fed = |pieces: &[&[u8]]| {
        let mut reader = ReplyReader::new(dialect, mode, 1 << 20);
        for piece in pieces {
            let progress = reader.feed(piece, &mut |_| panic!("{name}: too early"));
            assert_eq!(progress, Ok(Progress::More), "{name}");
        }
        reader
    };
    let whole = fed(&[bytes]);
    for at in 1..bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert!(fed(&[left, right]) == whole, "{name} at {at}");
    }
}

/// A reader is the same value after the same bytes. So it is enough that a cut anywhere between two
/// marks leads to the reader that stands at the second mark, and that each mark is reached alike in
/// one piece and in many; then all that follows is the same too. It saves reading a long stream as
/// often as it has bytes.
fn cut_events(dialect: Dialect, mode: OutputMode, name: &str, bytes: &[u8]) {
    let mut marks: Vec<usize> = bytes
        .windows(2)
        .enumerate()
        .filter(|(_, two)| two == b"\n\n")
        .map(|(at, _)| at + 2)
        .collect();
    marks.push(bytes.len());
    let feed = |reader: &mut ReplyReader, piece: &[u8], heard: &mut Vec<String>| {
        reader.feed(piece, &mut |text| heard.push(text.to_owned())).expect("good bytes");
    };
    let (mut at_mark, mut heard, mut from) =
        (ReplyReader::new(dialect, mode, 1 << 20), Vec::new(), 0);
    for mark in marks {
        let (mut next, mut next_heard) = (at_mark.clone(), heard.clone());
        feed(&mut next, &bytes[from..mark], &mut next_heard);
        let (mut in_one, mut heard_in_one) = (ReplyReader::new(dialect, mode, 1 << 20), Vec::new());
        feed(&mut in_one, &bytes[..mark], &mut heard_in_one);
        assert!(in_one == next, "{name}: in one piece up to {mark}");
        assert_eq!(heard_in_one, next_heard, "{name}: in one piece up to {mark}");
        let new = &next_heard[heard.len()..];
        for cut in from..mark {
            let (mut reader, mut heard) = (at_mark.clone(), Vec::new());
            feed(&mut reader, &bytes[from..cut], &mut heard);
            feed(&mut reader, &bytes[cut..mark], &mut heard);
            assert!(reader == next && heard == new, "{name} at {cut}");
        }
        (at_mark, heard, from) = (next, next_heard, mark);
    }
}

/// The fields of a request: path and type. Schemas are the caller's, and not looked into.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    found.insert(format!("{path} {kind}"));
    match value {
        Value::Array(items) => {
            for item in items {
                fields(item, &format!("{path}[]"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                if matches!(key.as_str(), "schema" | "parameters" | "input_schema") {
                    found.insert(format!("{path}.{key} object"));
                } else {
                    fields(value, &format!("{path}.{key}"), found);
                }
            }
        }
        _ => {}
    }
}

/// Fields of ours that no recording has, though the providers document them.
const NOT_RECORDED: &[&str] =
    &[".tool_choice.disable_parallel_tool_use boolean", ".tools[].function.strict boolean"];

#[test]
fn our_requests_have_fields_that_recorded_requests_have() {
    let Some(recordings) = ours() else { return };
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (dialect, recording) in recordings.iter().filter(|(_, it)| it.status == 200) {
        let known = known.entry(format!("{dialect:?}")).or_default();
        fields(&recording.request, "", known);
    }
    let mut compared = 0;
    for way in WAYS {
        for output in ["json_schema", "tool_call", "prompted"] {
            let server = Server::start(vec![way.good()]);
            let model = way.model(&server.url(), |endpoint| {
                endpoint.params.insert("output".to_owned(), json!(output));
            });
            ask(&*model).reply.expect("good");
            let mut sent = BTreeSet::new();
            fields(&server.asked()[0].body, "", &mut sent);
            for field in &sent {
                let is_known = known[&format!("{:?}", way.provider)].contains(field);
                assert!(is_known || NOT_RECORDED.contains(&field.as_str()), "{way:?}: {field}");
                compared += 1;
            }
        }
    }
    println!("{compared} fields of 18 requests are as they were recorded");
    assert!(compared > 200, "{compared}");
}

/// Shapes as the providers document them, of two replies that are rare: a response that was put off, and a conversation that the
/// provider compacted while it streamed.
#[test]
fn a_response_that_is_put_off_is_not_a_broken_connection_and_is_sent_once() {
    for status in ["queued", "in_progress"] {
        let reply = json!({
            "id": "resp_1", "object": "response", "status": status, "background": true,
            "error": null, "incomplete_details": null, "output": [], "usage": null,
        });
        let mut reader = ReplyReader::new(Dialect::Responses, OutputMode::JsonSchema, 1 << 20);
        let mut out = |_: &str| {};
        let read = reader.feed(reply.to_string().as_bytes(), &mut out);
        let failure = read.map(|_| ()).and_then(|()| reader.end(&mut out).map(|_| ()));
        let failure = failure.expect_err("no reply");
        assert!(!failure.is_retryable(), "{failure:?}");
        assert!(failure.error.message.contains(&format!("status `{status}`")), "{failure:?}");
    }
}

#[test]
fn a_stream_that_ends_in_the_queue_is_sent_once_and_one_that_breaks_off_later_again() {
    let event = |kind: &str| {
        let event = json!({"type": kind, "response": {"id": "resp_1", "output": []}});
        format!("event: {kind}\ndata: {event}\n\n")
    };
    let failure = |kinds: &[&str]| {
        let mut reader = ReplyReader::new(Dialect::Responses, OutputMode::JsonSchema, 1 << 20);
        let stream: String = kinds.iter().map(|kind| event(kind)).collect();
        reader.feed(stream.as_bytes(), &mut |_| {}).expect("events");
        reader.end(&mut |_| {}).expect_err("no reply")
    };
    for kinds in [&["response.queued"][..], &["response.created", "response.queued"]] {
        let failure = failure(kinds);
        assert!(!failure.is_retryable(), "{failure:?}");
        assert!(failure.error.message.contains("status `queued`"), "{failure:?}");
    }
    assert!(failure(&["response.queued", "response.in_progress"]).is_retryable());
}

#[test]
fn every_pass_of_a_streamed_compaction_is_counted() {
    let events = [
        json!({"type": "message_start", "message": {"type": "message", "role": "assistant",
            "content": [], "usage": {"input_tokens": 180_000, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "compaction", "content": null}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "compaction_delta", "content": "a summary"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "{}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
        "input_tokens": 23_000, "output_tokens": 1000, "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
            {"type": "message", "input_tokens": 23_000, "output_tokens": 1000},
        ]}}),
        json!({"type": "message_stop"}),
    ];
    let mut reader = ReplyReader::new(Dialect::Anthropic, OutputMode::Prompted, 1 << 20);
    let mut out = |_: &str| {};
    for event in &events {
        let kind = event["type"].as_str().expect("a type");
        let bytes = format!("event: {kind}\ndata: {event}\n\n");
        reader.feed(bytes.as_bytes(), &mut out).expect("reads");
    }
    let said = reader.end(&mut out).expect("a reply");
    assert_eq!(said.text, "{}", "the summary is no part of it");
    let usage = said.usage.expect("usage");
    assert_eq!((usage.input, usage.output), (203_000, 4500));
}
