//! A record back to a state: what resume continues from, and what replay compares. Pure.
//!
//! The inputs of a record drive the step again; the outputs that follow must be those that were
//! recorded. The first one that is not is a difference: the record was changed, or the program
//! decides otherwise than the one that wrote it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use crate::event::Event;
use crate::log::Record;
use crate::setup::Setup;
use crate::state::State;
use crate::step::{StepEffect, step};

/// Where a record leads.
#[derive(Debug, Clone)]
pub struct Folded {
    /// The state after it.
    pub state: State,
    /// What was to be done next.
    pub effect: StepEffect,
    /// Events that follow from the last input and were not written any more.
    pub missing: Vec<Event>,
}

/// Where a record and its replay part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The number of the event.
    pub seq: u64,
    /// What follows from the events before it; nothing when nothing does.
    pub expected: Option<Event>,
    /// What was recorded; nothing when the record ends before it.
    pub recorded: Option<Event>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |event: &Option<Event>| {
            let text = event.as_ref().and_then(|event| serde_json::to_string(event).ok());
            text.unwrap_or_else(|| "nothing".to_owned())
        };
        write!(
            f,
            "event {}: recorded is {}, but what went before leads to {}",
            self.seq,
            text(&self.recorded),
            text(&self.expected)
        )
    }
}

impl std::error::Error for Difference {}

/// Runs through a record again.
pub fn fold(setup: Arc<Setup>, records: &[Record]) -> Result<Folded, Box<Difference>> {
    let mut state = State::new(setup);
    let mut effect = StepEffect::Stop;
    let mut expected: VecDeque<Event> = VecDeque::new();
    for record in records.iter().filter(|record| !record.event.is_information()) {
        let differs = |expected: Option<Event>| {
            let recorded = Some(record.event.clone());
            Box::new(Difference { seq: record.seq, expected, recorded })
        };
        if record.event.is_input() {
            if matches!(record.event, Event::RunResumed { not_begun: true, .. }) {
                expected.pop_front_if(|next| matches!(next, Event::ActionStarted { .. }));
            }
            if let Some(missed) = expected.pop_front() {
                return Err(differs(Some(missed)));
            }
            let stepped = step(&mut state, &record.event, record.elapsed_ms);
            effect = stepped.effect;
            expected = stepped.events.into();
        } else {
            let follows = expected.pop_front();
            if follows.as_ref() != Some(&record.event) {
                return Err(differs(follows));
            }
        }
    }
    Ok(Folded { state, effect, missing: expected.into() })
}
