//! What the model sees: the prompt of a turn, made from the state alone, and kept within its size.
//!
//! The prompt has a stable part (instructions, catalog, request) and a trail that grows at its end;
//! the plan, the request again and what to do now stand last, where a change costs no prompt cache. When
//! it grows too long, the oldest observations shrink to a line; skills, plan and request stay.

use std::sync::Arc;

use metier_model::schema::HeldSkill;
use metier_model::{
    Action, LoadedText, Plan, PlanMode, StepStatus, TrailEntry, Turn, View, schema,
};
use metier_skill::text::short_line;
use metier_skill::{Digest, FailureCode, SkillId, estimate_tokens};
use serde_json::Value;

use crate::event::Event;
use crate::prompt_parts::PromptParts;
use crate::setup::Setup;
use crate::setup_builder::shown_request;
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
    system_for_call: Arc<str>,
    opening: Arc<str>,
    parts: Arc<PromptParts>,
}

impl Fixed {
    /// The fixed part of the prompts of a run.
    pub fn of(setup: &Setup) -> Self {
        Self::with(setup, setup.prompt_parts())
    }

    /// The same for a run that has begun.
    pub(crate) fn of_state(state: &State) -> Self {
        Self::with(&state.setup, Arc::clone(&state.parts))
    }

    fn with(setup: &Setup, parts: Arc<PromptParts>) -> Self {
        Self {
            system: Arc::clone(&setup.system),
            system_for_call: Arc::clone(&setup.system_for_call),
            opening: setup.opening.as_str().into(),
            parts,
        }
    }

    /// The turn that the model is asked for now.
    pub fn turn(&self, state: &State) -> Turn {
        let trail = state.trail.iter().map(|item| TrailEntry {
            decision: item.decision.clone(),
            observation: Arc::clone(item.shown()),
            past: Arc::clone(&item.past),
        });
        let arguments_of = |id: &SkillId| {
            let chosen = state.setup.chosen.iter().find(|chosen| chosen.id == *id)?;
            chosen.arguments.clone()
        };
        let loaded = state.loaded.iter().map(|skill| LoadedText {
            name: skill.text.id.name.to_string(),
            source: skill.text.id.source.to_string(),
            description: skill.text.description.clone(),
            body: skill.text.body.shared(),
            arguments: arguments_of(&skill.text.id),
            files: skill.text.files.clone(),
            by_user: skill.by_user,
        });
        let view = View {
            request: state.setup.request.clone(),
            files: state.setup.files.clone(),
            offered: Arc::clone(&self.parts.offered),
            loaded: loaded.collect(),
            tools: Arc::clone(&self.parts.tools),
            plan: state.plan.clone(),
            last_turn: state.ending.is_some(),
        };
        Turn {
            number: state.spent.turns,
            system: Arc::clone(&self.system),
            system_for_call: Arc::clone(&self.system_for_call),
            request: Arc::clone(&self.opening),
            trail: trail.collect(),
            tail: tail(state),
            plan: state.setup.plan,
            schema: self.schema_for(state),
            held_schema: self.held_schema(state),
            max_output_tokens: state.setup.limits.reply_tokens,
            view: Arc::new(view),
        }
    }

    /// The last turn is held to an answer: of a small model's last turns three in eight had none. One
    /// that was cut off is held to less, and one that got the same result twice to another action.
    /// Otherwise the schema stays as it is: it is a part of what providers cache.
    fn schema_for(&self, state: &State) -> Arc<Value> {
        let last = state.trail.last();
        if state.ending.is_some() {
            return Arc::clone(&self.parts.answer_schema);
        }
        if last.is_some_and(TrailItem::was_cut_off) {
            return Arc::clone(&self.parts.brief_schema);
        }
        match last.filter(|item| item.is_futile()).and_then(|item| item.past.action.as_ref()) {
            Some(action) => {
                Arc::new(schema::schema_without(&self.parts.tools, state.setup.form(), action))
            }
            None => Arc::clone(&self.parts.schema),
        }
    }

    /// For a model that is asked for no plan, most often a small one on this machine: it runs scripts of skills
    /// that have none, and files of the user as scripts, unless it is held to what there is.
    fn held_schema(&self, state: &State) -> Option<Arc<Value>> {
        let last = state.trail.last();
        if state.ending.is_some() || state.setup.plan == PlanMode::On {
            return None;
        }
        let loaded: Vec<HeldSkill<'_>> = state
            .loaded
            .iter()
            .map(|skill| HeldSkill { name: skill.text.id.name.as_str(), files: &skill.text.files })
            .collect();
        let futile =
            last.filter(|item| item.is_futile()).and_then(|item| item.past.action.as_ref());
        let form = state.setup.form();
        Some(Arc::new(schema::held_schema(&self.parts.tools, form, &loaded, futile)))
    }
}

/// Characters of the request that the tail repeats; all of it stands at the beginning.
const REQUEST_CHARS: usize = 600;
/// What is left of a budget is worth a word from here on.
const FEW: u32 = 5;
/// The same of turns.
const FEW_TURNS: u32 = 3;

/// The part that changes with every turn, and the last that a model reads: its plan, the request again,
/// what to do now, and what is left. On the first turn the request itself stands last.
fn tail(state: &State) -> String {
    let mut text = String::new();
    if let Some(plan) = state.plan.as_ref().filter(|_| state.plan_is_own) {
        text.push_str(&plan_words(plan));
    }
    if !state.trail.is_empty() {
        let request = shown_request(&state.setup.request, &state.setup.chosen);
        text.push_str(&format!("[The request: {}]\n", short_line(&request, REQUEST_CHARS)));
    }
    match &state.ending {
        // Why it is the last is the record's: a small model repeats it as its answer.
        Some(_) => text.push_str(
            "[Last turn: `final_answer` now, from the observations above; say what is missing.]",
        ),
        None if !state.trail.is_empty() => {
            text.push_str(&format!("[{}{}]", left(state), advice_line(state)));
        }
        None => {}
    }
    text
}

/// What to do now, in a sentence that follows from the last thing that happened. Short, and where it can be
/// so that a copy of it says nothing wrong: small models give it as their answer.
pub(crate) fn advice_line(state: &State) -> String {
    let Some(last) = state.trail.last() else { return String::new() };
    let advice = match (&last.past.action, last.past.code) {
        // A skill that the model selected, or that the person chose.
        (Some(Action::SelectSkills { .. }) | None, _) if last.past.ok => {
            "Do now what the text of the skill says for the request."
        }
        _ if last.past.ok => {
            "Answer now if an observation above holds the answer, else take an action other than the \
             last."
        }
        (Some(Action::FinalAnswer { .. }), _) => "Answer again: what was not done, and why.",
        (_, Some(FailureCode::AlreadyLoaded)) => {
            "The text of the skill stands above: do now what it says for the request."
        }
        _ if last.times > 1 => return other_ways(state, last),
        // Small models give up here, though the message says what was wrong.
        (_, Some(FailureCode::ScriptFailed)) => {
            "The script failed: read its message, and run it with the arguments that it wants."
        }
        (_, Some(FailureCode::NotAllowed | FailureCode::Rejected)) => {
            "Not allowed: say so in `final_answer`, unless there is another way."
        }
        _ if last.is_unknown_skill() => {
            "No skill fits: answer from what you know, or say that it is not possible here."
        }
        _ => "That failed: take another action, or answer.",
    };
    advice.to_owned()
}

/// What is left to do after the same call failed twice: what there is, by name.
fn other_ways(state: &State, last: &TrailItem) -> String {
    let failed = last.past.action.as_ref().map(Action::kind);
    let is_reference = |file: &String| !file.starts_with("scripts/");
    let has_reference = state.loaded.iter().any(|skill| skill.text.files.iter().any(is_reference));
    let ways = [
        (has_reference && failed != Some("load_resource"), "`load_resource`"),
        (!state.setup.tools.is_empty() && failed != Some("call_tool"), "a tool"),
        (state.setup.tools.len() > 1 && failed == Some("call_tool"), "another tool"),
        (failed != Some("select_skills"), "another skill"),
    ];
    let ways: Vec<&str> =
        ways.iter().filter(|(is_left, _)| *is_left).map(|(_, way)| *way).collect();
    format!("It failed twice. What is left: {}, or `final_answer`.", ways.join(", "))
}

/// A model's own plan, a step a line.
fn plan_words(plan: &Plan) -> String {
    let mut text = format!("[Plan: {}]\n", plan.goal);
    for step in &plan.steps {
        let mark = match step.status {
            StepStatus::Pending => " ",
            StepStatus::InProgress => ">",
            StepStatus::Completed => "x",
            StepStatus::Skipped => "-",
        };
        text.push_str(&format!("[{mark}] {}: {}\n", step.id, step.title));
    }
    text
}

/// The budgets that come to an end, and the language.
fn left(state: &State) -> String {
    let (limits, spent) = (&state.setup.limits, &state.spent);
    let mut text = String::new();
    for (what, limit, spent, few) in [
        ("turns", limits.turns, spent.turns.saturating_sub(1), FEW_TURNS),
        ("tool calls", limits.tool_calls, spent.tool_calls, FEW),
        ("script runs", limits.script_runs, spent.script_runs, FEW),
    ] {
        let left = limit.saturating_sub(spent);
        if left <= few {
            text.push_str(&format!("{what} left: {left}. "));
        }
    }
    // Small models answer in the language of the instructions.
    if state.setup.request.chars().any(|c| !c.is_ascii() && c.is_alphabetic()) {
        text.push_str("Answer in the language of the request. ");
    }
    text
}

/// Tokens of the prompt as it would be sent now, as an estimate.
pub(crate) fn prompt_tokens(state: &State) -> u64 {
    tokens_with(state, &tail(state))
}

fn tokens_with(state: &State, tail: &str) -> u64 {
    let trail: u64 = state.trail.iter().map(|item| item.tokens).sum();
    state.fixed_tokens + trail + estimate_tokens(tail) as u64
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
    let (prefix, tail) = (state.prefix, tail(state));
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
        tokens: tokens_with(state, &tail),
        prefix_sha256: prefix,
        prompt_sha256: Digest::of_parts(parts),
    }
}
