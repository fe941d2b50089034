//! The plan: what a model means to do, kept by us from turn to turn.
//!
//! It is created with the first decision, then replaced or patched (RFC 6902). Applying a patch is
//! all or nothing, and what comes out must be a plan again.

mod patch;

use std::collections::BTreeSet;

use metier_skill::text::quoted;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::action::Decision;

/// Steps of a plan; also its assumptions and its constraints.
pub const MAX_STEPS: usize = 50;
/// Characters of each text of a plan.
pub const MAX_CHARS: usize = 500;

/// What is to be done, in steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What should be true in the end.
    pub goal: String,
    /// The steps, in order; ids are unique.
    #[serde(default)]
    pub steps: Vec<PlanStep>,
    /// What is taken for granted.
    #[serde(default, deserialize_with = "words")]
    pub assumptions: Vec<String>,
    /// What must be kept to.
    #[serde(default, deserialize_with = "words")]
    pub constraints: Vec<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its id, such as `s1`.
    pub id: String,
    /// What is done in it.
    pub title: String,
    /// How far it is.
    #[serde(default)]
    pub status: StepStatus,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    #[serde(alias = "cancelled", alias = "failed")]
    Skipped,
}

/// A change of the plan: a new one, or a patch of the one there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanUpdate {
    /// The new plan.
    Replace(Plan),
    /// Operations of RFC 6902 on the plan as JSON.
    Patch(Vec<Value>),
}

/// The plan after a decision: the one there was, or the new one. All or nothing; what is wrong is
/// put in words for the model.
pub fn apply(current: Option<&Plan>, decision: &Decision) -> Result<Option<Plan>, String> {
    let start = decision.plan.as_ref().or(current);
    let next = match (&decision.plan_update, start) {
        (None, start) => start.cloned(),
        (Some(PlanUpdate::Replace(plan)), _) => Some(plan.clone()),
        (Some(PlanUpdate::Patch(operations)), Some(plan)) => {
            Some(patch::patched(plan, operations)?)
        }
        (Some(PlanUpdate::Patch(_)), None) => {
            return Err("there is no plan to patch yet; give one as `plan`".to_owned());
        }
    };
    if let Some(plan) = &next
        && (decision.plan.is_some() || decision.plan_update.is_some())
    {
        check(plan)?;
    }
    Ok(next)
}

/// A plan is shown in every turn, so it stays small; and its steps can be distinguished.
fn check(plan: &Plan) -> Result<(), String> {
    if plan.steps.len() > MAX_STEPS {
        return Err(format!(
            "the plan has {} steps; at most {MAX_STEPS} are kept, so make them larger",
            plan.steps.len()
        ));
    }
    let mut ids = BTreeSet::new();
    for (i, step) in plan.steps.iter().enumerate() {
        if step.id.trim().is_empty() {
            return Err(format!("steps[{i}] has an empty id; give each step its own, such as s1"));
        }
        if !ids.insert(step.id.as_str()) {
            let id = quoted(&step.id, 60);
            return Err(format!("two steps have the id {id}; give each step its own"));
        }
    }
    for (name, list) in [("assumptions", &plan.assumptions), ("constraints", &plan.constraints)] {
        if list.len() > MAX_STEPS {
            return Err(format!("there are {} {name}; at most {MAX_STEPS} are kept", list.len()));
        }
    }
    let steps = plan.steps.iter().flat_map(|step| [&step.id, &step.title]);
    let texts = steps.chain(&plan.assumptions).chain(&plan.constraints).chain([&plan.goal]);
    for text in texts {
        let chars = text.chars().count();
        if chars > MAX_CHARS {
            let start = quoted(text, 40);
            return Err(format!(
                "a text of the plan has {chars} characters, at most {MAX_CHARS} are kept: {start}"
            ));
        }
    }
    Ok(())
}

/// A list of texts; an object, as some models write constraints, becomes `key: value` lines.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Value::deserialize(deserializer).map(words_of)
}

/// The same for a value.
pub(crate) fn words_of(value: Value) -> Vec<String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.into_iter().map(text).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| format!("{key}: {}", text(value))).collect()
        }
        other => vec![text(other)],
    }
}
