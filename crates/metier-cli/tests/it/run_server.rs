//! A model on loopback: a real HTTP server that answers as `OpenAI` or Anthropic would, or as a test
//! says, and keeps what it was asked.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::METIER;

/// A key that is easy to find wherever it should not be.
pub(crate) const CANARY: &str = "sk-canary-7f3a9b21c4d5e6f8";

/// Whose protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

pub(crate) const DIALECTS: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What is done with a connection: bytes, one piece after the other, and maybe silence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pieces: Vec<Vec<u8>>,
    repeat: usize,
    hold: bool,
    gate: Option<Arc<AtomicBool>>,
}

impl Answer {
    /// A whole reply.
    pub(crate) fn reply(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n{headers}");
        let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        Self { pieces: vec![text.into_bytes()], repeat: 1, ..Self::default() }
    }

    /// A reply that ends with the connection, and so may be cut anywhere.
    pub(crate) fn open(status: u16, content_type: &str, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-type: {content_type}\r\n\
             transfer-encoding: chunked\r\n\r\n"
        );
        let chunk = format!("{:x}\r\n{body}\r\n", body.len());
        Self { pieces: vec![head.into_bytes(), chunk.into_bytes()], repeat: 1, ..Self::default() }
    }

    /// The last piece so many times, or until the client has enough.
    pub(crate) fn times(mut self, repeat: usize) -> Self {
        self.repeat = repeat;
        self
    }

    /// Then keeps the connection open until the client is gone.
    pub(crate) fn then_silence(mut self) -> Self {
        self.hold = true;
        self
    }

    /// A stream in two parts; the second one is sent when `gate` is set.
    pub(crate) fn in_two_parts(body: &str, middle: usize, gate: &Arc<AtomicBool>) -> Self {
        let mut answer = Self::open(200, "text/event-stream", &body[..middle]);
        let rest = &body[middle..];
        answer.pieces.push(format!("{:x}\r\n{rest}\r\n0\r\n\r\n", rest.len()).into_bytes());
        Self { gate: Some(Arc::clone(gate)), ..answer }
    }

    /// Not a word, until the client is gone.
    pub(crate) fn silence() -> Self {
        Self::default().then_silence()
    }
}

impl Dialect {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// A decision as a stream of events.
    pub(crate) fn stream(self, decision: &Value) -> String {
        self.stream_text(&decision.to_string())
    }

    /// The same for any words of a model, in two pieces; a decision is a call where functions are the usual way.
    pub(crate) fn stream_text(self, text: &str) -> String {
        self.stream_pieces(text, function_of(text).filter(|_| self == Self::Anthropic).as_ref())
    }

    /// A decision in the form that a request asks for.
    pub(crate) fn decides_as_asked(self, asked: &Asked, decision: &Value) -> Answer {
        let text = decision.to_string();
        let call = function_of(&text).filter(|_| asked.body.contains("\"tools\""));
        let stream = self.stream_pieces(&text, call.as_ref());
        Answer::reply(200, "content-type: text/event-stream\r\n", &stream)
    }

    fn stream_pieces(self, text: &str, call: Option<&(String, String)>) -> String {
        let text = call.map_or(text, |(_, arguments)| arguments);
        let mut middle = text.len() / 2;
        while !text.is_char_boundary(middle) {
            middle += 1;
        }
        let (left, right) = text.split_at(middle);
        let (block, kind, key) = match call {
            Some((name, _)) => (
                json!({"type": "tool_use", "id": "t1", "name": name, "input": {}}),
                "input_json_delta",
                "partial_json",
            ),
            None => (json!({"type": "text", "text": ""}), "text_delta", "text"),
        };
        let delta = |piece: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, (key): piece}});
        let said = |piece: &str| match call {
            Some((name, _)) => {
                let function = json!({"name": name, "arguments": piece});
                json!({"tool_calls": [{"index": 0, "id": "t1", "function": function}]})
            }
            None => json!({"role": "assistant", "content": piece}),
        };
        let events = match self {
            Self::OpenAi => vec![
                json!({"choices": [{"index": 0, "delta": said(left)}]}),
                json!({"choices": [{"index": 0, "delta": said(right)}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 12}}),
            ],
            Self::Anthropic => vec![
                json!({"type": "message_start", "message": {"type": "message", "content": [],
                    "usage": {"input_tokens": 30, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": block}),
                delta(left),
                delta(right),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
                    "usage": {"output_tokens": 12}}),
                json!({"type": "message_stop"}),
            ],
        };
        let line = |event: &Value| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        };
        let end = if self == Self::OpenAi { "data: [DONE]\n\n" } else { "" };
        events.iter().map(line).collect::<String>() + end
    }

    /// A decision, well formed.
    pub(crate) fn decides(self, decision: &Value) -> Answer {
        Answer::reply(200, "content-type: text/event-stream\r\n", &self.stream(decision))
    }

    /// A refusal as this provider writes it.
    pub(crate) fn refuses(self, status: u16, kind: &str, message: &str, headers: &str) -> Answer {
        let error = json!({"type": kind, "message": message, "code": kind});
        let body = match self {
            Self::OpenAi => json!({ "error": error }),
            Self::Anthropic => json!({"type": "error", "error": error}),
        };
        let headers = format!("content-type: application/json\r\n{headers}");
        Answer::reply(status, &headers, &body.to_string())
    }

    /// Makes this server the user's model, with fields of `params`.
    pub(crate) fn configure(self, home: &TestHome, url: &str, params: &Value) {
        let model = json!({"provider": self.word(), "name": "test-model", "base_url": url,
            "params": params});
        home.write("home/.agent/config.json", json!({ "model": model }).to_string());
    }
}

/// A decision as the function that is called for it, and its arguments.
pub(crate) fn function_of(text: &str) -> Option<(String, String)> {
    let decision: Value = serde_json::from_str(text).ok()?;
    let mut action = decision.get("action")?.as_object()?.clone();
    let kind = action.remove("type")?.as_str()?.to_owned();
    if kind == "call_tool" {
        return Some((action.get("tool")?.as_str()?.to_owned(), action.get("args")?.to_string()));
    }
    Some((kind, Value::Object(action).to_string()))
}

/// Runs the binary with the key in its environment, and named for the user's server.
pub(crate) fn run_keyed(home: &TestHome, args: &[&str]) -> Output {
    let file = home.home().join(".agent/config.json");
    let config = std::fs::read_to_string(&file).unwrap_or_default();
    let config = serde_json::from_str::<Value>(&config).ok();
    if let Some(mut config) = config.filter(|it| it["model"]["base_url"].is_string()) {
        let is_anthropic = config["model"]["provider"] == "anthropic";
        config["model"]["key_env"] =
            json!(if is_anthropic { "ANTHROPIC_API_KEY" } else { "OPENAI_API_KEY" });
        std::fs::write(&file, config.to_string()).expect("a configuration");
    }
    let mut command = home.command(METIER);
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env(name, CANARY);
    }
    TestHome::finish(command.args(args))
}

type Replies = dyn Fn(usize, &Asked) -> Answer + Send + Sync;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts one: `replies` is given how many requests there were before, and this one.
    pub(crate) fn start(replies: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, replies): (_, Arc<Replies>) = (Arc::clone(&asked), Arc::new(replies));
        // The thread ends with the process: a test leaves nothing else behind.
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(connection) = connection else { continue };
                let (kept, replies) = (Arc::clone(&kept), Arc::clone(&replies));
                std::thread::spawn(move || serve(connection, &kept, &*replies));
            }
        });
        Self { address, asked }
    }

    /// One that answers in order; the last answer is given again.
    pub(crate) fn in_order(answers: Vec<Answer>) -> Self {
        Self::start(move |at, _| answers[at.min(answers.len() - 1)].clone())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("a lock").clone()
    }
}

fn serve(mut connection: TcpStream, kept: &Mutex<Vec<Asked>>, replies: &Replies) {
    let Some(request) = read_request(&mut connection) else { return };
    let before = {
        let mut kept = kept.lock().expect("a lock");
        kept.push(request.clone());
        kept.len() - 1
    };
    let Answer { pieces, repeat, hold, gate } = replies(before, &request);
    let last = pieces.len().saturating_sub(1);
    for (at, piece) in pieces.iter().enumerate() {
        while at == last && gate.as_ref().is_some_and(|gate| !gate.load(Ordering::SeqCst)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..if at == last { repeat } else { 1 } {
            if connection.write_all(piece).is_err() {
                return;
            }
        }
    }
    let mut rest = [0; 64];
    while hold && connection.read(&mut rest).is_ok_and(|read| read > 0) {}
}

fn read_request(connection: &mut TcpStream) -> Option<Asked> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 8192]);
    let mut more =
        |connection: &mut TcpStream, bytes: &mut Vec<u8>| match connection.read(&mut piece) {
            Ok(read) if read > 0 => {
                bytes.extend_from_slice(&piece[..read]);
                true
            }
            _ => false,
        };
    let end = loop {
        // The first byte of TLS, which this server does not speak: it says so and closes.
        if bytes.first() == Some(&0x16) {
            let _ = connection.write_all(b"HTTP/1.1 400 Plain HTTP here\r\n\r\n");
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if !more(connection, &mut bytes) {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let headers: BTreeMap<String, String> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        if !more(connection, &mut bytes) {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(Asked { headers, body })
}
