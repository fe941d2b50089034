//! What is sent, and what is sent instead when a server does not take it.
//! The server keeps every request, so that what was tried is known.

use metier_cancel::CancelToken;
use metier_model::{
    EndpointTest, Key, ModelErrorKind as Kind, OutputMode, Probe, StreamEvent, Support, probe,
};
use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::talk::{ARGUMENTS, DECISION, Provider, WAYS, Way, ask, events, turn};

const OPENAI: Way = WAYS[0];
const ANTHROPIC: Way = WAYS[2];

fn refusal(status: u16, field: &str, message: &str) -> Answer {
    let error =
        json!({"error": {"message": message, "param": field, "type": "invalid_request_error"}});
    Answer::reply(status, &[], error.to_string())
}

/// A good reply of chat completions as a tool call, in pieces.
fn tool_stream() -> String {
    let (left, right) = ARGUMENTS.split_at(20);
    let delta = |call: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    events(&[
        delta(
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "final_answer", "arguments": ""}}),
        ),
        delta(json!({"index": 0, "function": {"arguments": left}})),
        delta(json!({"index": 0, "function": {"arguments": right}})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 12}}),
    ])
}

#[test]
fn chat_completions_are_asked_for_with_a_schema_and_a_count() {
    let server = Server::start(vec![OPENAI.good()]);
    let model = OPENAI.model(&format!("{}/v1/", server.url()), |endpoint| {
        endpoint.params.insert("temperature".to_owned(), json!(0.5));
    });
    ask(&*model).is_good(OPENAI, &server, 1);
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    let turn = turn();
    let expected = json!({
        "model": "test-model",
        "temperature": 0.5,
        "max_tokens": 500,
        "stream": true,
        "stream_options": {"include_usage": true},
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "decision", "strict": true, "schema": *turn.schema
        }},
        "messages": [
            {"role": "system", "content": *turn.system},
            {"role": "user", "content": "Say something larger"},
            {"role": "assistant", "content": r#"{"action":{"type":"search_skills","query":"x"}}"#},
            {"role": "user", "content": "nothing found\n\n3 turns are left."},
        ]
    });
    assert_eq!(asked.body, expected);
}

#[test]
fn messages_are_asked_for_with_functions_and_marks_for_the_cache() {
    let server = Server::start(vec![ANTHROPIC.good()]);
    ask(&*ANTHROPIC.model(&server.url(), |_| {})).is_good(ANTHROPIC, &server, 1);
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(asked.headers.get("anthropic-version").map(String::as_str), Some("2023-06-01"));
    let body = &asked.body;
    let names: Vec<&Value> = (0..5).map(|at| &body["tools"][at]["name"]).collect();
    assert_eq!(
        names,
        ["select_skills", "load_resource", "run_script", "search_skills", "final_answer"]
    );
    assert_eq!(body["tool_choice"], json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(500), &json!(true)));
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["cache_control"], mark);
    let last = &body["messages"][2]["content"];
    assert_eq!(
        *last,
        json!([
            {"type": "text", "text": "nothing found", "cache_control": mark},
            {"type": "text", "text": "3 turns are left."}
        ])
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 2, "at most 4 are allowed");
    for key in ["temperature", "top_p", "top_k"] {
        assert_eq!(body.get(key), None);
    }
}

#[test]
fn the_cached_part_of_a_turn_is_the_start_of_the_next() {
    let blocks = |turn: &metier_model::Turn| {
        let server = Server::start(vec![ANTHROPIC.good()]);
        let model = ANTHROPIC.model(&server.url(), |_| {});
        model.reply(turn, &mut |_| {}, &CancelToken::new()).expect("good");
        let mut blocks = Vec::new();
        let body = server.asked()[0].body.clone();
        for message in body["messages"].as_array().expect("messages") {
            for block in message["content"].as_array().expect("blocks") {
                let marked = block.get("cache_control").is_some();
                blocks.push((message["role"].clone(), block["text"].clone(), marked));
            }
        }
        blocks
    };
    let first = turn();
    let mut second = turn();
    second.trail.push(metier_model::TrailEntry {
        decision: Some(DECISION.into()),
        observation: "done".into(),
        past: std::sync::Arc::default(),
    });
    second.tail = "2 turns are left.".to_owned();
    let (first, second) = (blocks(&first), blocks(&second));
    let cached = first.iter().rposition(|block| block.2).expect("a mark") + 1;
    for (a, b) in first[..cached].iter().zip(&second) {
        assert_eq!((&a.0, &a.1), (&b.0, &b.1));
    }
    assert!(second.iter().rposition(|block| block.2).expect("a mark") >= cached);
}

#[test]
fn keys_of_the_schema_are_sent_in_its_own_order() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let thread = std::thread::spawn(move || {
        use std::io::Read;
        let (mut connection, _) = listener.accept().expect("a connection");
        let mut bytes = vec![0; 1 << 20];
        let mut read = 0;
        while !String::from_utf8_lossy(&bytes[..read]).contains("\"stream_options\"") {
            read += connection.read(&mut bytes[read..]).expect("bytes");
        }
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    let model = OPENAI.model(&url, |endpoint| endpoint.retry.attempts = 1);
    let _ = ask(&*model);
    let sent = thread.join().expect("bytes");
    let sent = &sent[sent.find("\"schema\":").expect("a schema")..];
    let place = |key: &str| sent.find(key).unwrap_or_else(|| panic!("{key}"));
    assert!(place("\"plan\":") < place("\"plan_update\":"), "a plan comes before an action");
    assert!(place("\"plan_update\":") < place("\"action\":"));
}

#[test]
fn a_server_that_takes_less_gets_less_and_it_is_remembered() {
    let server = Server::start(vec![
        refusal(400, "stream_options", "stream_options: Extra inputs are not permitted"),
        refusal(
            400,
            "max_tokens",
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        ),
        refusal(422, "response_format", "This response_format type is unavailable now"),
        refusal(400, "", "Thinking mode does not support this tool_choice"),
        Answer::reply(200, &[], tool_stream()),
    ]);
    let model = OPENAI.model(&server.url(), |endpoint| endpoint.retry.attempts = 1);
    let outcome = ask(&*model);
    outcome.is_good(OPENAI, &server, 5);
    assert_eq!(outcome.reply.as_ref().map(|reply| reply.mode), Ok(OutputMode::ToolCall));
    let steps = outcome.events.iter().filter(|event| matches!(event, StreamEvent::Retrying { .. }));
    assert_eq!(steps.count(), 4);
    ask(&*model).reply.expect("good");
    let asked = server.asked();
    assert_eq!(asked.len(), 6, "what worked is remembered");
    let last = &asked[5].body;
    for gone in ["stream_options", "max_tokens", "response_format", "tool_choice"] {
        assert_eq!(last.get(gone), None, "{gone}");
    }
    assert_eq!(last["max_completion_tokens"], 500);
    assert_eq!(last["tools"][0]["function"]["name"], "select_skills");
}

#[test]
fn a_server_without_tools_is_prompted() {
    for (way, script) in [
        (
            OPENAI,
            vec![
                refusal(400, "", "response_format is not supported"),
                refusal(500, "", "tools param requires --jinja flag"),
                OPENAI.good(),
            ],
        ),
        (
            ANTHROPIC,
            vec![
                refusal(400, "", "tool_choice: unsupported"),
                refusal(400, "", "tool_choice: unsupported"),
                refusal(400, "", "tools: Extra inputs are not permitted"),
                ANTHROPIC.good_words(),
            ],
        ),
    ] {
        let requests = u32::try_from(script.len()).expect("few");
        let server = Server::start(script);
        let outcome = ask(&*way.model(&server.url(), |_| {}));
        outcome.is_good(way, &server, requests);
        assert_eq!(outcome.reply.map(|reply| reply.mode), Ok(OutputMode::Prompted));
        let asked = server.asked();
        let body = &asked.last().expect("a request").body;
        for gone in ["tools", "tool_choice", "response_format"] {
            assert_eq!(body.get(gone), None, "{gone}");
        }
    }
}

#[test]
fn a_manner_that_was_chosen_is_kept() {
    let answer = refusal(400, "response_format", "response_format is not supported");
    let server = Server::start(vec![answer]);
    let model = OPENAI.model(&server.url(), |endpoint| {
        endpoint.params.insert("output".to_owned(), json!("json_schema"));
    });
    ask(&*model).is_failure(OPENAI, &server, Kind::BadRequest, 1);
}

#[test]
fn a_call_that_was_cut_off_before_its_arguments_is_none() {
    let cut = |name: &str, arguments: &[&str], reason: &str| {
        let delta = |call: Value| json!({"choices": [{"delta": {"tool_calls": [call]}}]});
        let mut stream = vec![delta(json!({"index": 0, "id": "a", "function": {"name": name}}))];
        let pieces =
            arguments.iter().map(|piece| json!({"index": 0, "function": {"arguments": piece}}));
        stream.extend(pieces.map(delta));
        stream.push(json!({"choices": [{"delta": {}, "finish_reason": reason}]}));
        let server = Server::start(vec![Answer::reply(200, &[], events(&stream))]);
        let model = OPENAI.model(&server.url(), |endpoint| {
            endpoint.params.insert("output".to_owned(), json!("tool_call"));
        });
        let reply = ask(&*model).reply.expect("a reply");
        metier_model::parse_reply(&reply).map_err(|fault| fault.code)
    };
    for arguments in [&[][..], &[""], &[" ", "\n"], &["\"{}"], &[" ", "\"", "{}"], &["{"]] {
        for name in ["list_dir", "final_answer"] {
            let code = cut(name, arguments, "length");
            assert_eq!(code, Err(metier_model::FaultCode::Truncated), "{name} {arguments:?}");
        }
    }
    // What the model closed counts, and so does a call without arguments that ended by itself.
    for (arguments, reason) in [
        (&["{}"][..], "length"),
        (&[" ", "\"{}\""], "length"),
        (&[""], "tool_calls"),
        (&[], "tool_calls"),
    ] {
        let decision = cut("list_dir", arguments, reason).expect("a decision");
        assert_eq!(decision.action.kind(), "call_tool", "{arguments:?} {reason}");
    }
}

#[test]
fn several_tool_calls_are_several_parts() {
    let call = |index: u64, id: &str, arguments: &str| json!({"index": index, "id": id, "function": {"name": "search_skills", "arguments": arguments}});
    // Out of order, and in pieces.
    let delta = |calls: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
    let stream = events(&[
        delta(json!([call(1, "b", "{\"b\"")])),
        delta(json!([call(0, "a", "{\"a\":1}"), {"index": 1, "function": {"arguments": ":2}"}}])),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]);
    let openai = Answer::reply(200, &[], stream);
    let tool = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "search_skills", "input": input});
    let message = json!({
        "type": "message", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Both:"}, tool("a", json!({"a": 1})), tool("b", json!({"b": 2}))]
    });
    for (way, answer) in
        [(OPENAI, openai), (ANTHROPIC, Answer::reply(200, &[], message.to_string()))]
    {
        let server = Server::start(vec![answer]);
        let model = way.model(&server.url(), |endpoint| {
            endpoint.params.insert("output".to_owned(), json!("tool_call"));
        });
        let reply = ask(&*model).reply.expect("a reply");
        let both = "{\"action\":{\"type\":\"search_skills\",\"a\":1}}\n\
                    {\"action\":{\"type\":\"search_skills\",\"b\":2}}";
        assert_eq!((reply.text.as_str(), reply.parts), (both, 2), "{way:?}");
        assert!(reply.usage.estimated, "no server count");
        let turn = turn();
        let texts = turn.messages().into_iter().map(|message| message.text).collect::<String>();
        let words = [&*turn.system_for_call, &texts].map(metier_skill::estimate_tokens);
        let sent = server.asked()[0].body["tools"].to_string();
        let all = words.iter().sum::<usize>() + metier_skill::estimate_tokens(&sent);
        let input = usize::try_from(reply.usage.input).expect("small");
        assert!(input * 10 > all * 8 && input <= all, "{input} of {all}: the functions count");
        let fault = metier_model::parse_reply(&reply).expect_err("two are one too many");
        assert_eq!(fault.code, metier_model::FaultCode::TwoActions);
    }
}

#[test]
fn settings_that_cannot_be_used_are_refused_before_anything_is_sent() {
    use metier_model::{Anthropic, Endpoint, OpenAi};
    let mut bad_key = Endpoint::new("m");
    bad_key.key = Key::new("sk-\u{7}secret");
    let mut bad_url = Endpoint::new("m");
    bad_url.base_url = Some("localhost:1234".to_owned());
    let mut bad_param = Endpoint::new("m");
    bad_param.params.insert("messages".to_owned(), json!([]));
    for endpoint in [bad_key, bad_url, bad_param, Endpoint::new(" ")] {
        for error in [
            OpenAi::new(endpoint.clone()).expect_err("refused"),
            Anthropic::new(endpoint.clone()).expect_err("refused"),
        ] {
            assert_eq!(error.kind, Kind::Config);
            assert!(!error.message.contains("secret"), "{error}");
        }
    }
    let model = OpenAi::new(Endpoint { key: Key::new("sk-abcdefghij"), ..Endpoint::new("m") });
    assert!(!format!("{:?}", model.expect("fine")).contains("abcdefghij"));
}

/// A reply in words, in every protocol at once.
fn prose() -> Value {
    json!({
        "type": "message", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn",
        "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "object": "response", "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}]
    })
}

#[test]
fn a_probe_says_whether_a_model_can_be_used_and_how() {
    for way in WAYS {
        let refused = refusal(429, "", "slow down");
        let answers = || {
            let body = way.good_body().replace("größer", "Lantern");
            Answer::reply(200, &[("content-type", way.content_type())], body)
        };
        let words = Answer::reply(200, &[], prose().to_string());
        let list = json!({"data": [{"id": "test-model", "meta": {"n_ctx": 4096}}]});
        let list = Answer::reply(200, &[], list.to_string());
        let server = Server::start(vec![refused, answers(), way.good(), words, list]);
        let found = probe(&*way.model(&server.url(), |_| {}), &CancelToken::new());
        let mode = match way.provider {
            Provider::OpenAi | Provider::Responses => OutputMode::JsonSchema,
            Provider::Anthropic => OutputMode::ToolCall,
        };
        assert_eq!((found.ok, found.mode, found.notes.len()), (true, Some(mode), 1), "{found:?}");
        assert_eq!(found.usage.map(|usage| usage.output), Some(12));
        let can = EndpointTest {
            // This server calls a function whatever is asked for.
            json_schema: match way.provider {
                Provider::Anthropic => Support::Ignored,
                Provider::OpenAi | Provider::Responses => Support::Held,
            },
            tool_calls: Support::Ignored,
            streaming: way.stream,
            context_tokens: Some(4096),
        };
        assert_eq!(found.endpoint, Some(can), "{way:?}");

        // A whole decision that answers something else is no answer.
        let server = Server::start(vec![way.good(), way.good(), way.good()]);
        let found = probe(&*way.model(&server.url(), |_| {}), &CancelToken::new());
        assert!(!found.ok && found.fault.is_some_and(|fault| fault.contains("größer")), "{way:?}");

        let server = Server::start(vec![way.error(401, "authentication_error", "no", &[])]);
        let Probe { ok, error, mode, .. } =
            probe(&*way.model(&server.url(), |_| {}), &CancelToken::new());
        assert_eq!(
            (ok, mode, error.map(|error| error.kind)),
            (false, None, Some(Kind::Unauthorized))
        );

        let words = || Answer::reply(200, &[], prose().to_string());
        let server = Server::start(vec![words(), words(), words(), words()]);
        let found = probe(&*way.model(&server.url(), |_| {}), &CancelToken::new());
        assert!(!found.ok && found.error.is_none() && found.fault.is_some(), "{found:?}");
    }
}

#[test]
fn the_bytes_of_the_successful_request_are_reported() {
    for way in WAYS {
        let server = Server::start(vec![refusal(429, "", "slow down"), way.good()]);
        let reply = ask(&*way.model(&server.url(), |_| {})).reply.expect("a reply");
        let asked = server.asked();
        let length: u64 = asked[1].headers["content-length"].parse().expect("a number");
        assert_eq!(reply.usage.sent_bytes, length, "{way:?}");
        let turn = turn();
        let system = match way.provider {
            Provider::OpenAi | Provider::Responses => &turn.system,
            Provider::Anthropic => &turn.system_for_call,
        };
        assert!(length > (system.len() + turn.schema.to_string().len()) as u64, "{way:?}");
    }
    // A request that asks in another style is counted as it was sent.
    let refused = refusal(400, "response_format", "response_format is not supported");
    let server = Server::start(vec![refused, OPENAI.good()]);
    let reply = ask(&*OPENAI.model(&server.url(), |_| {})).reply.expect("a reply");
    let lengths: Vec<u64> = server
        .asked()
        .iter()
        .map(|asked| asked.headers["content-length"].parse().unwrap())
        .collect();
    assert_ne!(lengths[0], lengths[1]);
    assert_eq!(reply.usage.sent_bytes, lengths[1]);
}
