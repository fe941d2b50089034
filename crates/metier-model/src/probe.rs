//! Tries a model: one small, real decision, and what came of it.
//! It asks as a run does, so that what works here works there.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_skill::text::quoted;
use serde::Serialize;

use crate::action::Action;
use crate::fault::{FaultCode, ParseFault};
use crate::model::{Finish, Model, ModelError, ModelInfo, OutputMode, Reply, StreamEvent, Usage};
use crate::parse::{CALL_START, parse_reply};
use crate::protocol::PlanMode;
use crate::schema::{answer_schema, call_instructions, instructions};
use crate::turn::{Turn, View};

/// What came of trying a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probe {
    /// Who was asked.
    pub info: ModelInfo,
    /// Whether it decided something that we understand.
    pub ok: bool,
    /// How the decision was asked for in the end.
    pub mode: Option<OutputMode>,
    /// Milliseconds until the first words.
    pub first_ms: Option<u64>,
    /// Milliseconds in all.
    pub total_ms: Option<u64>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Attempts that failed on the way, as sentences.
    pub notes: Vec<String>,
    /// Why there was no reply.
    pub error: Option<ModelError>,
    /// What is wrong with the reply, where there was one.
    pub fault: Option<String>,
    /// What the endpoint can do; nothing where it gave no answer, or is no endpoint.
    pub endpoint: Option<EndpointTest>,
}

/// What an endpoint can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointTest {
    /// Whether it holds replies to a JSON Schema.
    pub json_schema: Support,
    /// Whether it takes a function, and the model calls it.
    pub tool_calls: Support,
    /// Whether a reply comes in pieces.
    pub streaming: bool,
    /// Tokens that the model can take in, where the settings or the server say so.
    pub context_tokens: Option<u32>,
}

impl Probe {
    /// What to do next; nothing where it works in the best way that its endpoint has.
    pub fn advice(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(error.kind.help().to_owned());
        }
        let EndpointTest { json_schema, tool_calls, .. } = self.endpoint.as_ref()?;
        let ignored = match self.mode? {
            OutputMode::JsonSchema if *json_schema == Support::Ignored => "a JSON Schema",
            OutputMode::ToolCall if *tool_calls == Support::Ignored => "a function",
            _ => return (!self.ok).then(|| "try a larger model".to_owned()),
        };
        let better = if *tool_calls == Support::Held {
            OutputMode::ToolCall
        } else if *json_schema == Support::Held {
            OutputMode::JsonSchema
        } else if self.ok {
            OutputMode::Prompted
        } else {
            return Some(
                "neither a JSON Schema nor a function holds its replies; try another server, or a \
                 larger model"
                    .to_owned(),
            );
        };
        let better = better.as_str();
        Some(format!(
            "the endpoint takes {ignored} and does not keep to it; set `model.params.output` to `{better}`"
        ))
    }
}

/// What came of asking in one mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// The reply had the form, though no word of the prompt asked for it.
    Held,
    /// It was accepted, and the reply had another form.
    Ignored,
    /// It was refused, in these words.
    Refused(String),
}

/// The word that is asked for. It stands in no example of ours, so that a reply that copies one is no
/// answer.
const WORD: &str = "lantern";

/// What is wrong with an answer that does not hold the word.
fn wrong_answer(action: &Action) -> Option<String> {
    match action {
        Action::FinalAnswer { text, .. } if text.to_lowercase().contains(WORD) => None,
        Action::FinalAnswer { text, .. } => Some(format!(
            "it was asked to answer with the word `{WORD}` and answered {}",
            quoted(text, 80)
        )),
        other => Some(format!(
            "it was asked to answer with the word `{WORD}` and decided for `{}`",
            other.kind()
        )),
    }
}

/// Why a reply is no decision, for a person: the words of a fault are for the model.
fn no_decision(reply: &Reply, fault: &ParseFault) -> String {
    let wrote = match reply.text.trim() {
        "" => String::new(),
        text => format!(": {}", quoted(text, 80)),
    };
    match fault.code {
        FaultCode::EmptyReply => "the reply is empty".to_owned(),
        FaultCode::NotJson | FaultCode::NotADecision
            if reply.mode == OutputMode::ToolCall && !reply.text.starts_with(CALL_START) =>
        {
            format!("the reply calls no function{wrote}")
        }
        FaultCode::NotJson => format!("the reply is not JSON{wrote}"),
        FaultCode::Refused => fault.without_code(),
        FaultCode::Truncated if reply.finish == Finish::Length => format!(
            "the reply was cut off at the limit of tokens (`model.params.max_tokens`){wrote}"
        ),
        _ => format!("the reply is not a decision ({}){wrote}", fault.without_code()),
    }
}

/// Tokens that a model may use for it. Those that think first need some room.
const ROOM: u32 = 2048;

/// Asks `model` for one small decision, in the same way as a run does; and where that works, what its
/// endpoint can do.
pub fn probe(model: &dyn Model, cancel: &CancelToken) -> Probe {
    let request = format!("This is a test of the connection. Answer with this word: {WORD}");
    let turn = Turn {
        tail: "[Last turn: reply with `final_answer`.]".to_owned(),
        system: Arc::from(instructions(&[], PlanMode::Off)),
        system_for_call: Arc::from(call_instructions(PlanMode::Off)),
        ..turn(&request)
    };
    let mut probe = Probe {
        info: model.info(),
        ok: false,
        mode: None,
        first_ms: None,
        total_ms: None,
        usage: None,
        notes: Vec::new(),
        error: None,
        fault: None,
        endpoint: None,
    };
    let (mut pieces, mut first) = (0, None);
    let mut sink = |event: StreamEvent| match event {
        StreamEvent::Retrying { error, .. } => probe.notes.push(error.to_string()),
        StreamEvent::Text(_) => pieces += 1,
    };
    match model.reply(&turn, &mut sink, cancel) {
        Ok(reply) => {
            probe.mode = Some(reply.mode);
            (probe.first_ms, probe.total_ms) =
                (Some(reply.usage.first_ms), Some(reply.usage.total_ms));
            probe.usage = Some(reply.usage);
            match parse_reply(&reply) {
                Ok(decision) => probe.fault = wrong_answer(&decision.action),
                Err(fault) => probe.fault = Some(no_decision(&reply, &fault)),
            }
            probe.ok = probe.fault.is_none();
            first = Some(reply.text);
        }
        Err(error) => probe.error = Some(error),
    }
    if probe.error.is_none() {
        let first = first.unwrap_or_default();
        // A call that comes whole is one piece, and the end that makes it a decision another.
        let whole = if probe.mode == Some(OutputMode::ToolCall) { 2 } else { 1 };
        probe.endpoint = endpoint_test(model, &first, pieces > whole, cancel);
        // A run that follows asks in the way that gave the reply.
        if let Some(mode) = probe.mode {
            model.ask_only_in(mode);
        }
    }
    probe
}

/// What the endpoint of a model can do; nothing where there is only one way to ask.
fn endpoint_test(
    model: &dyn Model,
    first: &str,
    streaming: bool,
    cancel: &CancelToken,
) -> Option<EndpointTest> {
    Some(EndpointTest {
        json_schema: support(model, OutputMode::JsonSchema, first, cancel)?,
        tool_calls: support(model, OutputMode::ToolCall, first, cancel)?,
        streaming,
        context_tokens: model.context_size(cancel),
    })
}

/// Whether a reply has the form that only the request's settings ask for: the prompt has no word on it. The
/// same words as before (`first`), to another question, follow nothing.
fn support(
    model: &dyn Model,
    mode: OutputMode,
    first: &str,
    cancel: &CancelToken,
) -> Option<Support> {
    if !model.ask_only_in(mode) {
        return None;
    }
    // About something else: a small model answers a second question about the word with the word.
    let turn = turn("How many days has a week? Say it in one short sentence.");
    Some(match model.reply(&turn, &mut |_| {}, cancel) {
        Ok(reply) if reply.text != first && has_form(&reply) => Support::Held,
        Ok(_) => Support::Ignored,
        Err(error) => Support::Refused(error.to_string()),
    })
}

/// Whether it is a decision in the form of its mode.
fn has_form(reply: &Reply) -> bool {
    let is_call = reply.text.starts_with(CALL_START);
    parse_reply(reply).is_ok() && (is_call || reply.mode != OutputMode::ToolCall)
}

/// A turn with this request and without instructions, which only an answer fits.
fn turn(request: &str) -> Turn {
    Turn {
        number: 1,
        system: Arc::from("You answer questions."),
        system_for_call: Arc::from("You answer questions."),
        request: Arc::from(request),
        trail: Vec::new(),
        tail: String::new(),
        plan: PlanMode::Off,
        schema: Arc::new(answer_schema()),
        held_schema: None,
        max_output_tokens: ROOM,
        view: Arc::new(View { request: request.to_owned(), last_turn: true, ..View::default() }),
    }
}
