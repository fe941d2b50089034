//! What the model sees: the prompt of a turn, made from the state alone, and kept within its size.
//!
//! The prompt has a stable part (instructions, catalog, request) and a trail that grows at its end;
//! the plan and what is left of the budgets stand last, where a change costs no prompt cache. When
//! it grows too long, the oldest observations shrink to a line; skills, plan and request stay.

use std::sync::Arc;

use metier_model::{
    LoadedText, OfferedSkill, StepStatus, ToolOffer, TrailEntry, Turn, View, schema,
};
use metier_skill::{Digest, estimate_tokens};
use serde_json::Value;

use crate::event::Event;
use crate::setup::Setup;
use crate::state::{State, TrailItem};

/// Characters of a reply that was no decision, as the model sees it again.
pub(crate) const INVALID_CHARS: usize = 1000;
/// The same of one that was cut off: a model that repeats itself continues from what it sees.
pub(crate) const CUT_OFF_CHARS: usize = 200;
/// Characters of a decision in a context that has become too long.
const OLD_DECISION_CHARS: usize = 200;

/// The beginning of a text, which says that it is one.
pub(crate) fn head(text: &Arc<str>, chars: usize) -> Arc<str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{} [shortened]", &text[..end]).into(),
        None => Arc::clone(text),
    }
}

/// What does not change over the turns of a run, made once.
#[derive(Debug, Clone)]
pub struct Fixed {
    system: Arc<str>,
    opening: Arc<str>,
    schema: Arc<Value>,
    brief_schema: Arc<Value>,
    answer_schema: Arc<Value>,
    offered: Arc<[OfferedSkill]>,
    tools: Arc<[ToolOffer]>,
}

impl Fixed {
    /// The fixed part of the prompts of a run.
    pub fn of(setup: &Setup) -> Self {
        let tools: Vec<ToolOffer> = setup.tools.iter().map(|card| card.offer.clone()).collect();
        let offered = setup.skills.iter().filter(|card| card.offered).map(|card| OfferedSkill {
            name: card.name.clone(),
            source: card.source.clone(),
            description: card.description.clone(),
        });
        Self {
            system: setup.system.as_str().into(),
            opening: setup.opening.as_str().into(),
            schema: Arc::new(schema::decision_schema(&tools)),
            brief_schema: Arc::new(schema::brief_schema(&tools)),
            answer_schema: Arc::new(schema::answer_schema()),
            offered: offered.collect(),
            tools: tools.into(),
        }
    }

    /// The turn that the model is asked for now.
    pub fn turn(&self, state: &State) -> Turn {
        let trail = state.trail.iter().map(|item| TrailEntry {
            decision: item.decision.clone(),
            observation: Arc::clone(item.shown()),
            past: Arc::clone(&item.past),
        });
        let loaded = state.loaded.iter().map(|skill| LoadedText {
            name: skill.text.id.name.to_string(),
            source: skill.text.id.source.to_string(),
            body: skill.text.body.shared(),
            files: skill.text.files.clone(),
            by_user: skill.by_user,
        });
        let view = View {
            request: state.setup.request.clone(),
            files: state.setup.files.clone(),
            offered: Arc::clone(&self.offered),
            loaded: loaded.collect(),
            tools: Arc::clone(&self.tools),
            plan: state.plan.clone(),
            last_turn: state.ending.is_some(),
        };
        Turn {
            number: state.spent.turns,
            system: Arc::clone(&self.system),
            request: Arc::clone(&self.opening),
            trail: trail.collect(),
            tail: tail(state),
            schema: Arc::clone(self.schema_for(state)),
            max_output_tokens: state.setup.limits.reply_tokens,
            view: Arc::new(view),
        }
    }

    /// A model that was cut off is held to less. Otherwise the schema stays as it is, on the last
    /// turn too: it is a part of what providers cache.
    fn schema_for(&self, state: &State) -> &Arc<Value> {
        let was_cut_off = state.trail.last().is_some_and(TrailItem::was_cut_off);
        match (was_cut_off, &state.ending) {
            (false, _) => &self.schema,
            (true, None) => &self.brief_schema,
            (true, Some(_)) => &self.answer_schema,
        }
    }
}

/// The part that changes with every turn: plan, budgets, a word on the last turn.
fn tail(state: &State) -> String {
    let mut text = String::new();
    if let Some(plan) = &state.plan {
        text.push_str(&format!("[Plan: {}]\n", plan.goal));
        for step in &plan.steps {
            let mark = match step.status {
                StepStatus::Pending => " ",
                StepStatus::InProgress => ">",
                StepStatus::Completed => "x",
                StepStatus::Skipped => "-",
            };
            text.push_str(&format!("[{mark}] {}: {}\n", step.id, step.title));
        }
    }
    let (limits, spent) = (&state.setup.limits, &state.spent);
    match &state.ending {
        Some(ending) => text.push_str(&format!(
            "[Last turn: {}. Reply with `final_answer`: what was found, and what is missing.]",
            ending.message
        )),
        None => text.push_str(&format!(
            "[Turn {} of {}; tool calls left: {}; script runs left: {}.]",
            spent.turns,
            limits.turns,
            limits.tool_calls.saturating_sub(spent.tool_calls),
            limits.script_runs.saturating_sub(spent.script_runs),
        )),
    }
    text
}

/// Tokens of the prompt as it would be sent now, as an estimate.
pub(crate) fn prompt_tokens(state: &State) -> u64 {
    let trail: u64 = state.trail.iter().map(|item| item.tokens).sum();
    state.fixed_tokens + trail + estimate_tokens(&tail(state)) as u64
}

/// Shortens the oldest observations until the prompt has at most `most` tokens; nothing when there
/// is nothing to shorten. The latest observation stays: the model has not seen it yet.
pub(crate) fn compact(state: &mut State, most: u64) -> Option<Event> {
    let tokens_before = prompt_tokens(state);
    let mut tokens_after = tokens_before;
    let mut shortened = 0;
    let last = state.trail.len().saturating_sub(1);
    for item in state.trail.iter_mut().take(last) {
        if tokens_after <= most {
            break;
        }
        let decision = item.decision.as_ref().map(|words| head(words, OLD_DECISION_CHARS));
        let is_short = decision.as_ref().map(|words| words.len())
            == item.decision.as_ref().map(|words| words.len());
        let can_shrink = !item.protected && item.observation.len() > item.line.len();
        if item.shortened || (is_short && !can_shrink) {
            continue;
        }
        let before = item.tokens;
        item.decision = decision;
        item.shortened = can_shrink;
        item.count_tokens();
        tokens_after = tokens_after.saturating_sub(before.saturating_sub(item.tokens));
        shortened += 1;
    }
    (shortened > 0).then_some(Event::ContextCompacted { shortened, tokens_before, tokens_after })
}

/// The event that a model is asked now.
pub(crate) fn requested(state: &State) -> Event {
    let prefix = Digest::of_parts([state.setup.system.as_bytes(), state.setup.opening.as_bytes()]);
    let tail = tail(state);
    let mut parts: Vec<&[u8]> = vec![prefix.as_bytes().as_slice()];
    let mut bytes = state.setup.system.len() + state.setup.opening.len() + tail.len();
    for item in &state.trail {
        let decision = item.decision.as_deref().unwrap_or_default();
        bytes += decision.len() + item.shown().len();
        parts.extend([decision.as_bytes(), item.shown().as_bytes()]);
    }
    parts.push(tail.as_bytes());
    Event::ModelRequested {
        turn: state.spent.turns,
        bytes: bytes as u64,
        tokens: prompt_tokens(state),
        prefix_sha256: prefix,
        prompt_sha256: Digest::of_parts(parts),
    }
}
