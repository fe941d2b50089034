//! Values that a run never sends, shows or records, wherever they come from.
//!
//! A run is made from its setup and from the inputs of its step, and from nothing else: prompts, events,
//! summaries and exports follow from these. So both are masked before they are written down or stepped
//! on, whatever brought the value in: a file that the user gave, the text of a skill, a tool's result, a
//! provider that repeats the key, words that a person typed. Ids, codes and digests are left alone.

use std::sync::Arc;

use metier_model::Turn;
use metier_policy::Answer;
use metier_sandbox::Secrets;
use serde_json::Value;

use crate::event::Event;
use crate::op::{Outcome, Text};
use crate::setup::Setup;

/// Masks the texts of a setup.
pub(crate) fn mask_setup(setup: &mut Setup, secrets: &Arc<Secrets>) {
    let Setup {
        request,
        files,
        system,
        system_for_call,
        opening,
        chosen,
        skills,
        shown,
        tools,
        ..
    } = setup;
    let texts = [request, opening].into_iter().chain(files);
    let texts = texts.chain(chosen.iter_mut().filter_map(|chosen| chosen.arguments.as_mut()));
    let texts = texts.chain(shown.iter_mut().map(|shown| &mut shown.reason));
    texts.for_each(|text| mask(text, secrets));
    mask_shared(system, secrets);
    mask_shared(system_for_call, secrets);
    if skills.iter().any(|card| secrets.hide_in(&card.description).is_some()) {
        let cards = std::mem::take(skills);
        *skills = cards.changed(|card| mask_shared(&mut card.description, secrets));
    }
    if tools.iter().any(|card| secrets.hide_in(&card.offer.description).is_some()) {
        let tools = Arc::make_mut(tools).iter_mut();
        tools.for_each(|card| mask(&mut card.offer.description, secrets));
    }
}

/// Masks the text of a turn.
pub(crate) fn mask_turn(turn: &mut Turn, secrets: &Arc<Secrets>) {
    mask_shared(&mut turn.system, secrets);
    mask_shared(&mut turn.system_for_call, secrets);
    mask_shared(&mut turn.request, secrets);
    for entry in &mut turn.trail {
        mask_shared(&mut entry.observation, secrets);
        if let Some(decision) = &mut entry.decision {
            mask_shared(decision, secrets);
        }
    }
    mask(&mut turn.tail, secrets);
}

/// Masks the texts of an event that comes from outside. What follows from it has none to mask.
pub(crate) fn mask_event(event: &mut Event, secrets: &Arc<Secrets>) {
    match event {
        Event::RunStarted { request, .. } => mask(request, secrets),
        Event::ModelReplied { reply, .. } => mask(&mut reply.text, secrets),
        Event::ModelFailed { error, .. } | Event::ModelRetrying { error, .. } => {
            mask(&mut error.message, secrets);
        }
        Event::PolicyDecided { reason, layers, .. } => {
            std::iter::once(reason).chain(layers).for_each(|text| mask(text, secrets));
        }
        Event::AskAnswered { answer: Answer::Reject(words), .. } => mask(words, secrets),
        Event::ActionFinished { outcome, .. } => mask_outcome(outcome, secrets),
        _ => {}
    }
}

fn mask_outcome(outcome: &mut Outcome, secrets: &Arc<Secrets>) {
    mask_text(&mut outcome.text, secrets);
    mask_value(&mut outcome.data, secrets);
    if let Some(at) = &mut outcome.storage_ref {
        mask(at, secrets);
    }
    if let Some(skill) = &mut outcome.skill {
        mask_text(&mut skill.block, secrets);
        mask_text(&mut skill.body, secrets);
        skill.files.iter_mut().for_each(|name| mask(name, secrets));
    }
}

fn mask_value(value: &mut Value, secrets: &Arc<Secrets>) {
    match value {
        Value::String(text) => mask(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, secrets)),
        Value::Object(fields) => {
            if fields.keys().any(|key| secrets.hide_in(key).is_some()) {
                let all = std::mem::take(fields).into_iter();
                *fields = all.map(|(key, item)| (masked(key, secrets), item)).collect();
            }
            fields.values_mut().for_each(|item| mask_value(item, secrets));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mask_text(text: &mut Text, secrets: &Arc<Secrets>) {
    if let Text::Inline(inline) = text {
        mask_shared(inline, secrets);
    }
}

fn mask_shared(text: &mut Arc<str>, secrets: &Arc<Secrets>) {
    if let Some(hidden) = secrets.hide_in(text) {
        *text = hidden.into();
    }
}

fn mask(text: &mut String, secrets: &Arc<Secrets>) {
    if let Some(hidden) = secrets.hide_in(text) {
        *text = hidden;
    }
}

fn masked(mut text: String, secrets: &Arc<Secrets>) -> String {
    mask(&mut text, secrets);
    text
}
