//! Tries a model: one small, real decision, and what came of it.
//! It asks as a run does, so that what works here works there.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_skill::text::quoted;
use serde::Serialize;

use crate::action::Action;
use crate::model::{Model, ModelError, ModelInfo, OutputMode, StreamEvent, Usage};
use crate::parse::parse_reply;
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

/// Tokens that a model may use for it. Those that think first need some room.
const ROOM: u32 = 2048;

/// Asks `model` for one small decision, in the same way as a run does.
pub fn probe(model: &dyn Model, cancel: &CancelToken) -> Probe {
    let request = format!("This is a test of the connection. Answer with this word: {WORD}");
    let turn = Turn {
        number: 1,
        system: Arc::from(instructions(&[], PlanMode::Off)),
        system_for_call: Arc::from(call_instructions(&[], PlanMode::Off)),
        request: Arc::from(request.as_str()),
        trail: Vec::new(),
        tail: "[Last turn: reply with `final_answer`.]".to_owned(),
        schema: Arc::new(answer_schema()),
        max_output_tokens: ROOM,
        view: Arc::new(View { request: request.clone(), last_turn: true, ..View::default() }),
    };
    let mut notes = Vec::new();
    let mut sink = |event: StreamEvent| {
        if let StreamEvent::Retrying { error, .. } = event {
            notes.push(error.to_string());
        }
    };
    let replied = model.reply(&turn, &mut sink, cancel);
    let mut probe = Probe {
        info: model.info(),
        ok: false,
        mode: None,
        first_ms: None,
        total_ms: None,
        usage: None,
        notes,
        error: None,
        fault: None,
    };
    match replied {
        Ok(reply) => {
            probe.mode = Some(reply.mode);
            (probe.first_ms, probe.total_ms) =
                (Some(reply.usage.first_ms), Some(reply.usage.total_ms));
            probe.usage = Some(reply.usage);
            match parse_reply(&reply) {
                Ok(decision) => match wrong_answer(&decision.action) {
                    None => probe.ok = true,
                    fault => probe.fault = fault,
                },
                Err(fault) => probe.fault = Some(fault.to_string()),
            }
        }
        Err(error) => probe.error = Some(error),
    }
    probe
}
