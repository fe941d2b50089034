//! A run against a provider that fails, over real HTTP and with both protocols: every fault ends in an
//! attempt that succeeds or in a clear error, the record stays true, and the key is nowhere.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_server::{Answer, CANARY, DIALECTS, Dialect, Server, function_of, run_keyed};
use crate::run_support::{answer, call, codes, events, is_sound, of_type, project};

/// No file and no output has the key.
fn keeps_the_key(home: &TestHome, output: &Output) {
    assert!(!output.stdout.contains(CANARY) && !output.stderr.contains(CANARY), "{output:?}");
    let mut files = 0;
    look_through(home.path(), &mut files);
    assert!(files > 1, "{files} files were looked through");
}

fn look_through(dir: &Path, files: &mut usize) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_through(&path, files);
        } else {
            let bytes = std::fs::read(&path).expect("reads");
            let found = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
            assert!(!found, "the key is in {}", path.display());
            *files += 1;
        }
    }
}

/// A run against this server, with everything checked that holds for every fault.
fn run_against(home: &TestHome, dialect: Dialect, url: &str, params: &Value) -> Output {
    dialect.configure(home, url, params);
    let output = run_keyed(home, &["run", "say hello"]);
    keeps_the_key(home, &output);
    is_sound(home);
    let events = events(home);
    assert_eq!(events.last().expect("events")["type"], "run.finished");
    output
}

/// The fault is passed by another attempt.
fn recovers(fault: impl Fn(Dialect) -> Answer) {
    for dialect in DIALECTS {
        let home = project();
        let good = dialect.decides(&answer("hello ö 漢"));
        let server = Server::in_order(vec![fault(dialect), good]);
        let output = run_against(&home, dialect, &server.url(), &json!({}));
        assert_eq!((output.code, output.stdout.as_str()), (0, "hello ö 漢\n"), "{output:?}");
        assert_eq!(server.asked().len(), 2, "{dialect:?}: one more attempt");
        let events = events(&home);
        assert_eq!(of_type(&events, "model.retrying").len(), 1, "{dialect:?}: and it is reported");
        assert!(output.stderr.contains("retry"), "{output:?}");
        let key = server.asked()[0].headers.values().any(|value| value.contains(CANARY));
        assert!(key, "{dialect:?}: the key was sent, so that it could have leaked");
    }
}

/// The fault ends the run, which says why and can be resumed once the provider is well.
fn fails(words: &str, params: &Value, fault: impl Fn(Dialect) -> Answer) {
    for dialect in DIALECTS {
        let home = project();
        let server = Server::in_order(vec![fault(dialect)]);
        let output = run_against(&home, dialect, &server.url(), params);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{dialect:?}: {output:?}");
        let report = output.stderr.to_lowercase();
        assert!(report.contains(words), "{dialect:?}: {words:?} in {output:?}");
        assert!(report.contains("metier resume"), "{output:?}");
        let well = Server::in_order(vec![dialect.decides(&answer("well again"))]);
        dialect.configure(&home, &well.url(), &json!({}));
        let resumed = run_keyed(&home, &["resume", "last"]);
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "well again\n"), "{resumed:?}");
        is_sound(&home);
    }
}

#[test]
fn a_429_is_tried_again_with_and_without_a_time() {
    recovers(|dialect| dialect.refuses(429, "rate_limit_error", "slow down", ""));
    recovers(|dialect| dialect.refuses(429, "rate_limit_error", "slow down", "retry-after: 1\r\n"));
}

#[test]
fn a_wait_that_is_longer_than_anybody_waits_is_an_error_at_once() {
    fails("longer than", &json!({}), |dialect| {
        dialect.refuses(429, "rate_limit_error", "slow down", "retry-after: 86400\r\n")
    });
}

#[test]
fn a_500_and_a_529_are_tried_again() {
    recovers(|dialect| dialect.refuses(500, "api_error", "we broke", ""));
    recovers(|dialect| dialect.refuses(529, "overloaded_error", "too many", ""));
}

#[test]
fn a_stream_that_is_cut_is_tried_again() {
    recovers(|dialect| {
        let whole = dialect.stream(&answer("a longer answer that is cut in the middle"));
        Answer::open(200, "text/event-stream", &whole[..whole.len() * 2 / 3])
    });
}

#[test]
fn half_a_json_document_is_tried_again() {
    recovers(|_| Answer::reply(200, "content-type: application/json\r\n", "{\"choices\": [{\"mes"));
}

/// What a reply was held to: the actions by name, and whether it could have a plan.
fn held_to(dialect: Dialect, body: &str) -> (Vec<Value>, bool) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    match dialect {
        Dialect::OpenAi => {
            let properties = &body["response_format"]["json_schema"]["schema"]["properties"];
            let action = &properties["action"];
            let one = vec![action.clone()];
            let actions = action["anyOf"].as_array().unwrap_or(&one);
            let kinds = actions.iter().map(|it| it["properties"]["type"]["enum"][0].clone());
            (kinds.collect(), properties.get("plan").is_some())
        }
        Dialect::Anthropic => {
            let tools = body["tools"].as_array().expect("functions");
            let plan = |tool: &Value| tool["input_schema"]["properties"].get("plan").is_some();
            (tools.iter().map(|tool| tool["name"].clone()).collect(), tools.iter().any(plan))
        }
    }
}

#[test]
fn a_model_that_is_cut_off_is_held_to_less_until_it_decides() {
    for dialect in DIALECTS {
        let home = project();
        let babble = format!("{{\"plan\": {{\"goal\": \"{}", "and so on ".repeat(400));
        let whole = dialect.stream_text(&babble);
        let (stop, length) = match dialect {
            Dialect::OpenAi => (r#""finish_reason":"stop""#, r#""finish_reason":"length""#),
            Dialect::Anthropic => (r#""stop_reason":"tool_use""#, r#""stop_reason":"max_tokens""#),
        };
        assert!(whole.contains(stop));
        let cut = whole.replace(stop, length);
        let cut = || Answer::reply(200, "content-type: text/event-stream\r\n", &cut);
        let listing = dialect.decides(&call("list_dir", &json!({"path": "."})));
        let server = Server::in_order(vec![
            cut(),
            listing,
            cut(),
            dialect.decides(&answer("That was short.")),
        ]);
        dialect.configure(&home, &server.url(), &json!({}));
        let output = run_keyed(&home, &["run", "--max-turns", "3", "say hello"]);
        assert_eq!((output.code, output.stdout.as_str()), (4, "That was short.\n"), "{output:?}");
        is_sound(&home);
        let asked = server.asked();
        let held: Vec<_> = asked.iter().map(|it| held_to(dialect, &it.body)).collect();
        let all = &held[0].0;
        assert!(all.len() > 4, "{dialect:?}: all that can be done without a skill: {all:?}");
        assert_eq!(held[1], (all.clone(), false), "{dialect:?}: no plan after a cut-off reply");
        assert_eq!(held[2], held[0], "{dialect:?}: all again after a decision");
        let answer_alone = (vec![json!("final_answer")], false);
        assert_eq!(held[3], answer_alone, "{dialect:?}: the last turn has room for an answer");
        assert!(!asked[1].body.contains(&"and so on ".repeat(30)), "it does not see itself babble");
    }
}

#[test]
fn a_page_in_place_of_a_reply_is_a_clear_error() {
    fails("neither json nor a stream", &json!({}), |_| {
        Answer::reply(200, "content-type: text/html\r\n", "<html><h1>Log in</h1></html>")
    });
}

#[test]
fn a_slow_first_byte_ends_at_the_time_that_was_set() {
    fails("second", &json!({"timeout_s": 0.7}), |_| Answer::silence());
    fails("second", &json!({"timeout_s": 0.7}), |dialect| {
        let whole = dialect.stream(&answer("x"));
        Answer::open(200, "text/event-stream", &whole[..whole.len() / 2]).then_silence()
    });
}

#[test]
fn a_reply_of_fifty_megabytes_is_not_taken() {
    fails("large", &json!({}), |_| {
        let piece = format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0,
            "delta": {"content": "x".repeat(65_000)}}], "type": "ping"})
        );
        Answer::open(200, "text/event-stream", &piece).times(800)
    });
}

#[test]
fn a_refused_connection_and_a_broken_tls_are_clear_errors() {
    for dialect in DIALECTS {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let home = project();
        let output = run_against(&home, dialect, &format!("http://{address}"), &json!({}));
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
        assert!(output.stderr.to_lowercase().contains("connect"), "{output:?}");
        let server = Server::in_order(vec![Answer::reply(200, "", "no TLS here")]);
        let home = project();
        let url = server.url().replace("http:", "https:");
        let output = run_against(&home, dialect, &url, &json!({}));
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
        assert!(output.stderr.to_lowercase().contains("tls"), "{output:?}");
    }
}

/// A server that speaks TLS with a certificate of its own making; gives its port, and how many
/// requests it read.
fn with_own_certificate(name: &str) -> (u16, Arc<AtomicUsize>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.expect("a key"))
        .expect("a configuration");
    let (config, read) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    let seen = Arc::clone(&read);
    // The thread ends with the process.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let Ok(session) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
            let mut stream = rustls::StreamOwned::new(session, connection);
            let mut bytes = [0; 64];
            if std::io::Read::read(&mut stream, &mut bytes).is_ok_and(|count| count > 0) {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    (port, read)
}

#[test]
fn an_untrusted_certificate_is_a_clear_error_and_nothing_is_sent() {
    for dialect in DIALECTS {
        for name in ["localhost", "elsewhere.example"] {
            let (port, read) = with_own_certificate(name);
            let home = project();
            let url = format!("https://localhost:{port}");
            let output = run_against(&home, dialect, &url, &json!({}));
            assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
            assert!(output.stderr.to_lowercase().contains("certificate"), "{name}: {output:?}");
            assert_eq!(read.load(Ordering::SeqCst), 0, "no byte of the request, no key");
        }
    }
}

#[test]
fn a_key_that_is_refused_is_reported_without_the_key() {
    fails("401", &json!({}), |dialect| {
        let message = format!("Incorrect API key provided: {CANARY}. Get one from the console.");
        dialect.refuses(401, "authentication_error", &message, "")
    });
}

#[test]
fn a_prompt_that_is_too_long_is_shortened_and_sent_again() {
    for dialect in DIALECTS {
        let home = project();
        for name in ["a", "b"] {
            home.write(
                &format!("project/{name}.txt"),
                format!("{name} line of words\n").repeat(800),
            );
        }
        let first = AtomicUsize::new(0);
        let decisions = [
            call("read_file", &json!({"path": "a.txt"})),
            call("read_file", &json!({"path": "b.txt"})),
            answer("read both"),
        ];
        let turn = AtomicUsize::new(0);
        let server = Server::start(move |at, asked| {
            if at == 0 {
                first.store(asked.body.len(), Ordering::SeqCst);
            }
            if asked.body.len() > first.load(Ordering::SeqCst) + 9_000 {
                return dialect.refuses(400, "invalid_request_error", "prompt is too long", "");
            }
            dialect.decides(&decisions[turn.fetch_add(1, Ordering::SeqCst).min(2)])
        });
        let output = run_against(&home, dialect, &server.url(), &json!({}));
        assert_eq!((output.code, output.stdout.as_str()), (0, "read both\n"), "{output:?}");
        let (events, asked) = (events(&home), server.asked());
        assert_eq!(of_type(&events, "context.compacted").len(), 1);
        assert_eq!(codes(&events), ["ok", "ok"]);
        assert_eq!(asked.len(), 4, "three turns, one of them twice");
        let lines = |at: usize| asked[at].body.matches("a line of words").count();
        assert!(lines(2) > 100, "the long prompt had both");
        assert!(lines(3) < 12, "of the old one a summary is left: {}", lines(3));
        assert!(asked[3].body.contains("b line of words"), "the new one was not seen yet");
    }
}

#[test]
fn models_test_says_whether_the_endpoint_works_and_what_it_can_do() {
    for dialect in DIALECTS {
        let home = project();
        let server = Server::start(move |_, asked| {
            let is_first = asked.body.contains("Answer with this word");
            let text = if is_first { "Lantern." } else { "A lamp." };
            dialect.decides_as_asked(asked, &answer(text))
        });
        dialect.configure(&home, &server.url(), &json!({"window": 8192}));
        let output = run_keyed(&home, &["models", "test"]);
        assert_eq!(output.code, 0, "{output:?}");
        let more: Vec<&str> = output.stdout.lines().skip(1).collect();
        assert_eq!(more[..2], ["  JSON Schema: held", "  tool calls: held"]);
        assert_eq!(more[3..], ["  context: 8192 tokens"]);
        let line = output.stdout.as_str();
        assert!(line.starts_with(&format!("works {}:test-model: ", dialect.word())), "{line}");
        assert!(line.contains(" ms") && line.contains("42 tokens"), "{line}");
        let output = run_keyed(&home, &["models", "test", "--json"]);
        let document = output.json();
        assert_eq!((&document["test"]["ok"], output.code), (&json!(true), 0), "{document}");
        let server = Server::start(move |_, _| dialect.decides(&answer("ANSWER")));
        dialect.configure(&home, &server.url(), &json!({}));
        let output = run_keyed(&home, &["models", "test"]);
        assert_eq!(output.code, 1, "a copy of our example is no answer: {output:?}");
        assert!(output.stdout.contains("answered `ANSWER`"), "{output:?}");
        let forms = ["  JSON Schema: ignored", "  tool calls: ignored"];
        assert!(forms.iter().all(|form| output.stdout.contains(form)), "canned: {output:?}");
        let message = format!("wrong key {CANARY}");
        let server =
            Server::start(move |_, _| dialect.refuses(401, "authentication_error", &message, ""));
        dialect.configure(&home, &server.url(), &json!({}));
        let output = run_keyed(&home, &["models", "test"]);
        assert_eq!((output.code, output.stdout.lines().count()), (1, 1), "{output:?}");
        assert!(output.stdout.starts_with("fails ") && output.stdout.contains("401"), "{output:?}");
        assert!(output.stderr.contains("help"), "{output:?}");
        keeps_the_key(&home, &output);
        assert!(!home.project().join(".agent").exists(), "a test is no run");
    }
}

#[test]
fn models_test_quotes_what_is_no_decision_and_says_what_to_set() {
    let words = |content: &Value| {
        let message = json!({"role": "assistant", "content": content});
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    };
    let called = |decision: &Value| {
        let (name, arguments) = function_of(&decision.to_string()).expect("a decision");
        let function = json!({"name": name, "arguments": arguments});
        let message =
            json!({"tool_calls": [{"id": "c", "type": "function", "function": function}]});
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    };
    let tested = |calls_hold: bool, said: Value| {
        let home = project();
        let server = Server::start(move |_, asked| {
            let body = if calls_hold && asked.body.contains("\"tools\"") {
                called(&answer("A lamp."))
            } else {
                words(&said)
            };
            Answer::reply(200, "content-type: application/json\r\n", &body.to_string())
        });
        Dialect::OpenAi.configure(&home, &server.url(), &json!({"stream": false}));
        run_keyed(&home, &["models", "test"])
    };
    let prose = "A lantern is a lamp.";

    let output = tested(true, json!(prose));
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(
        output.stdout.lines().collect::<Vec<_>>(),
        [
            "fails openai:test-model: the reply is not JSON: `A lantern is a lamp.`",
            "  JSON Schema: ignored",
            "  tool calls: held",
            "  streaming: no",
            "  context: not known; `model.params.window` sets it",
        ]
    );
    assert!(output.stderr.contains("set `model.params.output` to `tool_call`"), "{output:?}");

    let output = tested(false, json!(prose));
    assert!(output.stderr.contains("neither a JSON Schema nor a function holds"), "{output:?}");

    let output = tested(false, json!(""));
    assert!(output.stdout.contains(": the reply is empty\n"), "{output:?}");
}
