//! Both adapters towards a test server, and replies that both of them understand.
//! What one adapter does, the other must do.

use std::sync::Arc;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_model::{
    Anthropic, Endpoint, Key, Model, ModelError, ModelErrorKind, OpenAi, PlanMode, Reply,
    RetryPolicy, StreamEvent, TrailEntry, Turn, View, call_instructions, decision_schema,
    instructions,
};
use serde_json::{Value, json};

use crate::server::{Answer, Server};

/// A key that is easy to find wherever it should not be.
pub(crate) const KEY: &str = "sk-test-VERYSECRET-0123456789";
/// The decision that good replies hold.
pub(crate) const DECISION: &str =
    r#"{"action":{"type":"final_answer","data":null,"plan":null,"text":"größer 漢字 😀"}}"#;
/// The same as the arguments of the function `final_answer`.
pub(crate) const ARGUMENTS: &str = r#"{"data":null,"plan":null,"text":"größer 漢字 😀"}"#;

/// Which adapter, and whether it asks for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) provider: Provider,
    pub(crate) stream: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAi,
    Anthropic,
    Responses,
}

/// All protocols, streaming and not.
pub(crate) const WAYS: [Way; 6] = [
    Way { provider: Provider::OpenAi, stream: true },
    Way { provider: Provider::OpenAi, stream: false },
    Way { provider: Provider::Anthropic, stream: true },
    Way { provider: Provider::Anthropic, stream: false },
    Way { provider: Provider::Responses, stream: true },
    Way { provider: Provider::Responses, stream: false },
];

impl Way {
    /// The adapter, with short waits between attempts.
    pub(crate) fn model(self, url: &str, change: impl FnOnce(&mut Endpoint)) -> Box<dyn Model> {
        let mut endpoint = Endpoint::new("test-model");
        endpoint.base_url = Some(url.to_owned());
        endpoint.key = Key::new(KEY);
        endpoint.params.insert("stream".to_owned(), json!(self.stream));
        endpoint.retry = RetryPolicy {
            attempts: 3,
            base: Duration::from_millis(1),
            cap: Duration::from_millis(2),
            seed: Some(1),
            ..RetryPolicy::default()
        };
        if self.provider == Provider::Responses {
            endpoint.params.insert("api".to_owned(), json!("responses"));
        }
        change(&mut endpoint);
        match self.provider {
            Provider::OpenAi | Provider::Responses => {
                Box::new(OpenAi::new(endpoint).expect("settings"))
            }
            Provider::Anthropic => Box::new(Anthropic::new(endpoint).expect("settings")),
        }
    }

    /// A good reply, whole or as a stream.
    pub(crate) fn good(self) -> Answer {
        let body = self.good_body();
        Answer::reply(200, &[("content-type", self.content_type())], body)
    }

    pub(crate) fn content_type(self) -> &'static str {
        if self.stream { "text/event-stream" } else { "application/json" }
    }

    /// A good reply in words, where functions are not taken.
    pub(crate) fn good_words(self) -> Answer {
        let body = json!({
            "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": DECISION}],
            "usage": {"input_tokens": 30, "output_tokens": 12}
        });
        match self.provider {
            Provider::Anthropic => Answer::reply(200, &[], body.to_string()),
            Provider::OpenAi | Provider::Responses => self.good(),
        }
    }

    /// The bytes of a good reply.
    pub(crate) fn good_body(self) -> String {
        let text = if self.provider == Provider::Anthropic { ARGUMENTS } else { DECISION };
        let (left, right) = text.split_at(text.find('漢').expect("there"));
        match (self.provider, self.stream) {
            (Provider::OpenAi, true) => events(&[
                json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
                json!({"choices": [{"index": 0, "delta": {"content": left}, "finish_reason": null}]}),
                json!({"choices": [{"index": 0, "delta": {"content": right}}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 12}}),
            ]) + "data: [DONE]

",
            (Provider::OpenAi, false) => json!({
                "choices": [{"index": 0, "message": {"role": "assistant", "content": DECISION}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 30, "completion_tokens": 12}
            })
            .to_string(),
            (Provider::Anthropic, true) => events(&[
                json!({"type": "message_start", "message": {"type": "message", "content": [], "usage": {"input_tokens": 30, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "final_answer", "input": {}}}),
                json!({"type": "ping"}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": left}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": right}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 12}}),
                json!({"type": "message_stop"}),
            ]),
            (Provider::Responses, true) => events(&[
                json!({"type": "response.created", "response": {"object": "response", "status": "in_progress", "error": null, "output": []}}),
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": left}),
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": right}),
                json!({"type": "response.completed", "response": whole_response()}),
            ]),
            (Provider::Responses, false) => whole_response().to_string(),
            (Provider::Anthropic, false) => {
                let input: Value = serde_json::from_str(ARGUMENTS).expect("JSON");
                json!({
                "type": "message", "role": "assistant", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "t1", "name": "final_answer", "input": input}],
                "usage": {"input_tokens": 30, "output_tokens": 12}
                })
                .to_string()
            }
        }
    }

    /// An error as this provider writes it.
    pub(crate) fn error(
        self,
        status: u16,
        kind: &str,
        message: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let error = json!({"type": kind, "message": message, "code": kind});
        let body = match self.provider {
            Provider::OpenAi | Provider::Responses => json!({"error": error}),
            Provider::Anthropic => json!({"type": "error", "error": error}),
        };
        Answer::reply(status, headers, body.to_string())
    }
}

fn whole_response() -> Value {
    let message =
        json!({"type": "message", "content": [{"type": "output_text", "text": DECISION}]});
    json!({
        "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [{"type": "reasoning", "summary": []}, message],
        "usage": {"input_tokens": 30, "output_tokens": 12}
    })
}

/// A stream of these values, with their names where they have one.
pub(crate) fn events(values: &[Value]) -> String {
    let mut stream = String::new();
    for value in values {
        if let Some(name) = value["type"].as_str() {
            stream.push_str(&format!("event: {name}\n"));
        }
        stream.push_str(&format!("data: {value}\n\n"));
    }
    stream
}

/// A turn with something of everything.
pub(crate) fn turn() -> Turn {
    Turn {
        number: 2,
        system: instructions(&[], PlanMode::On).into(),
        system_for_call: call_instructions(PlanMode::On).into(),
        request: "Say something larger".into(),
        trail: vec![TrailEntry {
            decision: Some(r#"{"action":{"type":"search_skills","query":"x"}}"#.into()),
            observation: "nothing found".into(),
            past: Arc::default(),
        }],
        tail: "3 turns are left.".to_owned(),
        plan: PlanMode::On,
        schema: Arc::new(decision_schema(&[], PlanMode::On)),
        held_schema: None,
        max_output_tokens: 500,
        view: Arc::new(View::default()),
    }
}

/// What came of a call, and what was heard on the way.
pub(crate) struct Outcome {
    pub(crate) reply: Result<Reply, ModelError>,
    pub(crate) events: Vec<StreamEvent>,
}

impl Outcome {
    /// The kind of the failure.
    pub(crate) fn kind(&self) -> Option<ModelErrorKind> {
        self.reply.as_ref().err().map(|error| error.kind)
    }

    /// The text that was passed on since the last attempt began.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for event in &self.events {
            match event {
                StreamEvent::Text(piece) => text.push_str(piece),
                StreamEvent::Retrying { .. } => text.clear(),
                _ => {}
            }
        }
        text
    }

    /// Checks that this is the good reply after so many requests.
    pub(crate) fn is_good(&self, way: Way, server: &Server, requests: u32) {
        let reply = self.reply.as_ref().unwrap_or_else(|error| panic!("{way:?}: {error}"));
        assert_eq!(reply.text, DECISION, "{way:?}");
        assert_eq!(self.text(), DECISION, "{way:?}");
        assert_eq!((reply.usage.input, reply.usage.output), (30, 12), "{way:?}");
        assert_eq!((reply.parts, reply.usage.attempts), (1, requests), "{way:?}");
        assert_eq!(server.requests(), requests as usize, "{way:?}");
        metier_model::parse_reply(reply).expect("a decision");
    }

    /// Checks that this is a failure of this kind after so many requests, and tells its words.
    pub(crate) fn is_failure(
        &self,
        way: Way,
        server: &Server,
        kind: ModelErrorKind,
        requests: u32,
    ) -> String {
        let error = self.reply.as_ref().expect_err("a failure");
        assert_eq!(error.kind, kind, "{way:?}: {error}");
        assert_eq!(error.attempts, requests, "{way:?}: {error}");
        assert_eq!(server.requests(), requests as usize, "{way:?}: {error}");
        assert!(
            !format!("{error:?} {error} {:?}", self.events).contains("VERYSECRET"),
            "{error:?}"
        );
        error.message.clone()
    }
}

/// Asks for a reply without cancelling it.
pub(crate) fn ask(model: &dyn Model) -> Outcome {
    ask_until(model, &CancelToken::new())
}

/// Asks for a reply.
pub(crate) fn ask_until(model: &dyn Model, cancel: &CancelToken) -> Outcome {
    ask_in(&turn(), model, cancel)
}

/// Asks for a reply to a turn that asks for no plan.
pub(crate) fn ask_without_plan(model: &dyn Model) -> Outcome {
    let schema = Arc::new(decision_schema(&[], PlanMode::Off));
    ask_in(&Turn { plan: PlanMode::Off, schema, ..turn() }, model, &CancelToken::new())
}

fn ask_in(turn: &Turn, model: &dyn Model, cancel: &CancelToken) -> Outcome {
    let mut events = Vec::new();
    let reply = model.reply(turn, &mut |event| events.push(event), cancel);
    Outcome { reply, events }
}
