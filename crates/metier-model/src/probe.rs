//! Tries a model: one small, real decision, and what came of it.
//! It asks as a run does, so that what works here works there.

use std::sync::Arc;

use metier_cancel::CancelToken;
use serde::Serialize;

use crate::model::{Model, ModelError, ModelInfo, OutputMode, StreamEvent, Usage};
use crate::parse::parse_reply;
use crate::schema::{decision_schema, instructions};
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

/// Tokens that a model may use for it. Those that think first need some room.
const ROOM: u32 = 2048;

/// Asks `model` for one small decision, in the same way as a run does.
pub fn probe(model: &dyn Model, cancel: &CancelToken) -> Probe {
    let request = "This is a test of the connection. Answer with the word: ready";
    let turn = Turn {
        number: 1,
        system: Arc::from(instructions(&[])),
        request: Arc::from(request),
        trail: Vec::new(),
        tail: "This is the last turn: decide for `final_answer`.".to_owned(),
        schema: Arc::new(decision_schema(&[])),
        max_output_tokens: ROOM,
        view: Arc::new(View { request: request.to_owned(), last_turn: true, ..View::default() }),
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
                Ok(_) => probe.ok = true,
                Err(fault) => probe.fault = Some(fault.to_string()),
            }
        }
        Err(error) => probe.error = Some(error),
    }
    probe
}
