//! What a model sees in one turn: as text for those that read, as data for those that do not. The
//! trail has both: each entry shares what was done, as data, with the run that it belongs to.
//!
//! The text has a stable prefix. `system` and `request` are byte-identical over the turns of a run,
//! and `trail` only grows (until old observations are shortened), so that a provider's prompt cache
//! survives; `tail` is the one part that changes with every turn, and stands last.

use std::sync::Arc;

use metier_skill::FailureCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::plan::Plan;
use crate::protocol::PlanMode;

/// Everything that a model sees in one turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Which turn of the run, from 1.
    pub number: u32,
    /// Instructions, actions, tools and the catalog.
    pub system: Arc<str>,
    /// The same where a decision is asked for as the call of a function: its parameters say what the
    /// examples say.
    pub system_for_call: Arc<str>,
    /// The user's request, with what the catalog shows for it.
    pub request: Arc<str>,
    /// What was decided and what came of it.
    pub trail: Vec<TrailEntry>,
    /// The plan, the request again, what is left of the budgets, a word on the last turn.
    pub tail: String,
    /// Whether decisions of this run have a plan. A turn may still be held to a schema without one.
    pub plan: PlanMode,
    /// The JSON Schema of a decision in this turn.
    pub schema: Arc<Value>,
    /// The same, held to what can be done in this turn: for replies that a server holds to a schema which is
    /// no part of the prompt that it caches. Functions are: servers write them before everything else.
    pub held_schema: Option<Arc<Value>>,
    /// Tokens that the reply may have.
    pub max_output_tokens: u32,
    /// What else is known, as data.
    pub view: Arc<View>,
}

/// A decision and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrailEntry {
    /// The model's words; nothing where something happened without it (a skill the user chose).
    pub decision: Option<Arc<str>>,
    /// What came of it.
    pub observation: Arc<str>,
    /// The same as data, for models that do not read prompts.
    pub past: Arc<PastAction>,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// We: the request, observations.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation. Neighbours have different roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What.
    pub text: String,
}

impl Turn {
    /// The schema that a server enforces on a reply in JSON.
    pub fn enforced_schema(&self) -> &Value {
        self.held_schema.as_ref().unwrap_or(&self.schema)
    }

    /// The conversation after the system's part: it starts and ends with the user, and roles
    /// alternate, as every provider wants it.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = vec![Message { role: Role::User, text: self.request.to_string() }];
        let mut say = |role: Role, text: &str| match messages.last_mut() {
            Some(last) if last.role == role => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            _ => messages.push(Message { role, text: text.to_owned() }),
        };
        for entry in &self.trail {
            if let Some(decision) = &entry.decision {
                // An empty message is refused by some providers.
                say(Role::Assistant, if decision.is_empty() { "(no reply)" } else { decision });
            }
            say(Role::User, &entry.observation);
        }
        if !self.tail.is_empty() {
            say(Role::User, &self.tail);
        }
        messages
    }

    /// What the model decided so far and what came of it, oldest first. What happened without it (a
    /// skill the user chose) was no turn of the model's.
    pub fn past(&self) -> impl DoubleEndedIterator<Item = &PastAction> {
        self.trail.iter().filter(|entry| entry.decision.is_some()).map(|entry| &*entry.past)
    }

    /// Bytes of all the text that is sent.
    pub fn text_bytes(&self) -> usize {
        self.system.len() + self.messages().iter().map(|message| message.text.len()).sum::<usize>()
    }
}

/// What is known in a turn besides the trail, as data.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The user's request alone.
    pub request: String,
    /// Files that the user gave, by path.
    pub files: Vec<String>,
    /// The skills that may be selected.
    pub offered: Arc<[OfferedSkill]>,
    /// The skills that are loaded, in the order of loading.
    pub loaded: Vec<LoadedText>,
    /// The tools that may be called.
    pub tools: Arc<[ToolOffer]>,
    /// The plan so far.
    pub plan: Option<Plan>,
    /// Whether this is the last turn: only an answer counts.
    pub last_turn: bool,
}

/// A skill that may be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedSkill {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// What it is for, as its author says.
    pub description: String,
}

/// A loaded skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedText {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// What it is for, as its author says, where it is none of those that are offered.
    pub description: String,
    /// Its body.
    pub body: Arc<str>,
    /// What a person who called it put behind its name; the body holds it.
    pub arguments: Option<String>,
    /// Its files, by path.
    pub files: Vec<String>,
    /// Whether the user chose it, not the model.
    pub by_user: bool,
}

/// One past action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PastAction {
    /// What was decided; nothing where the reply was no decision.
    pub action: Option<Action>,
    /// Whether it was done.
    pub ok: bool,
    /// The code of the failure, where it was not.
    pub code: Option<FailureCode>,
    /// What came of it, as the model is shown it, without fences.
    pub text: Arc<str>,
    /// The same for programs.
    pub data: Value,
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}
