//! A recorded run in the formats of others. Pure: a record and what the run was given, to JSON.
//!
//! [`atif()`] is the trajectory format of Harbor, for evals and training; [`otel()`] is a trace of
//! OpenTelemetry, for people who watch services. Both follow the record and add nothing to it; reading
//! the folder of a run is the caller's.

mod atif;
mod otel;

pub use atif::atif;
pub use otel::otel;

use metier_model::ModelInfo;

use metier_skill::SkillId;

use crate::event::Event;
use crate::log::Record;
use crate::op::Op;
use crate::run_id::RunId;
use crate::setup::Setup;

/// A run with its record, and the loops inside it with theirs.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// The run.
    pub id: RunId,
    /// What it was given.
    pub setup: Setup,
    /// Its events, with long texts in place.
    pub records: Vec<Record>,
    /// The loops inside it.
    pub inner: Vec<RecordedRun>,
}

/// Whether an export holds what was said and read, or only what happened, when, and at what cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Prompts, replies, arguments and results stay out.
    LeftOut,
    /// They are in it.
    Included,
}

impl RecordedRun {
    /// The loop that an operation of this run started.
    fn inner_of(&self, op_id: u32) -> Option<&Self> {
        let end = format!("-sub{op_id}");
        self.inner.iter().find(|inner| {
            inner.id.as_str().strip_prefix(self.id.as_str()).is_some_and(|rest| rest == end)
        })
    }

    /// The version of the program that began it.
    fn version(&self) -> &str {
        match self.records.first().map(|first| &first.event) {
            Some(Event::RunStarted { version, .. }) => version,
            _ => "unknown",
        }
    }
}

/// Whether replies come from a language model, and not from rules, a script or a record.
fn is_language_model(model: &ModelInfo) -> bool {
    !matches!(model.provider.as_str(), "router" | "scripted" | "replay")
}

/// The name under which an operation counts as a call of a tool.
fn tool_name(op: &Op) -> &str {
    match op {
        Op::Load { .. } => "load_skill",
        Op::Delegate { .. } => "delegate",
        Op::Resource { .. } => "load_resource",
        Op::Script { .. } => "run_script",
        Op::Tool { tool, .. } => tool,
        Op::Search { .. } => "search_skills",
    }
}

/// The skill that an operation is about.
fn skill_of(op: &Op) -> Option<&SkillId> {
    match op {
        Op::Load { skill, .. }
        | Op::Delegate { skill, .. }
        | Op::Resource { skill, .. }
        | Op::Script { skill, .. } => Some(skill),
        Op::Tool { skill, .. } => skill.as_ref(),
        Op::Search { .. } => None,
    }
}
