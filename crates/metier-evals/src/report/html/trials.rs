//! What was done in each trial, as data for the page's script, which shows it when a case is opened.
//!
//! Bounded twice: each text, and the whole. Past the whole, trials that passed are left out first, then the later
//! ones, whatever order they arrived in. In the page no text can end the element that holds it.

use std::collections::BTreeMap;

use metier::skill::text::{escape_lines, short_line};
use serde_json::{Value, json};

use crate::case::Case;
use crate::report::EvalReport;
use crate::trial::{TrialEnd, TrialResult};

/// Bytes of all trials together.
const MAX_BYTES: usize = 24 << 20;
/// Actions of a trial that are shown.
const MAX_ACTIONS: usize = 200;
/// Characters of an answer.
const MAX_ANSWER: usize = 4000;
/// Characters of a target, of arguments, or of what a check found.
const MAX_LINE: usize = 400;

/// Where a trial stands: those that did not pass come first.
type Place = (bool, usize, usize, u32);

/// The trials of a page.
#[derive(Debug, Default)]
pub(super) struct Trials {
    kept: BTreeMap<Place, String>,
    bytes: usize,
    /// The first place that was left out; nothing at or behind it is kept.
    cut: Option<Place>,
    dropped: u64,
}

impl Trials {
    pub(super) fn add(&mut self, (at, case): (usize, &Case), arm: usize, result: &TrialResult) {
        let outcome = outcome(case, result);
        let is_dispensable = matches!(outcome, "passed" | "nothing judged");
        let place = (is_dispensable, at, arm, result.trial);
        if self.cut.is_some_and(|cut| place >= cut) {
            self.dropped += 1;
            return;
        }
        let text = data(at, outcome, result).to_string();
        self.bytes += text.len();
        if let Some(before) = self.kept.insert(place, text) {
            self.bytes -= before.len();
        }
        while self.bytes > MAX_BYTES {
            let Some((last, text)) = self.kept.pop_last() else { return };
            self.bytes -= text.len();
            self.cut = Some(last);
            self.dropped += 1;
        }
    }

    /// How many trials the page leaves out.
    pub(super) fn left_out(&self) -> u64 {
        self.dropped
    }

    /// Writes them as one JSON array.
    pub(super) fn write(&self, report: &EvalReport, out: &mut String) {
        let shows_times = report.times.is_some();
        out.push('[');
        for (at, text) in self.kept.values().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let text = if shows_times { text.clone() } else { without_times(text) };
            // In JSON `<` stands only inside strings: escaped, no text can close the element or open a comment.
            out.push_str(&text.replace('<', "\\u003c"));
        }
        out.push(']');
    }
}

/// What differs between two runs with the same results is taken out.
fn without_times(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(trial) = value.as_object_mut() {
        trial.remove("elapsed_ms");
        trial.remove("run");
    }
    value.to_string()
}

/// How a trial came out, as the page says it.
fn outcome(case: &Case, result: &TrialResult) -> &'static str {
    match (result.error_kind(), result.passed(case)) {
        (Some(_), _) => "error",
        (None, None) => "nothing judged",
        (None, Some(true)) => "passed",
        (None, Some(false)) => "failed",
    }
}

fn data(case: usize, outcome: &str, result: &TrialResult) -> Value {
    let line = |text: &str| short_line(text, MAX_LINE).into_owned();
    let end = match &result.end {
        TrialEnd::Finished { status } => json!({"status": status}),
        TrialEnd::Error { kind, message } => json!({"error": kind, "message": line(message)}),
    };
    let actions: Vec<Value> = result
        .actions
        .iter()
        .take(MAX_ACTIONS)
        .map(|action| {
            let args = if action.args.is_null() { String::new() } else { action.args.to_string() };
            json!({
                "step": action.step,
                "action": line(&action.action),
                "target": line(&action.target),
                "args": line(&args),
                "ok": action.ok,
                "code": action.code,
                "inner": action.inner,
            })
        })
        .collect();
    let loaded: Vec<Value> = result
        .fired
        .iter()
        .map(|fired| json!({"skill": line(&fired.skill), "step": fired.step, "inner": fired.inner}))
        .collect();
    let triggers: Vec<Value> = result
        .triggers
        .iter()
        .map(|trigger| {
            json!({
                "skill": line(&trigger.skill),
                "expected": trigger.expected,
                "loaded": trigger.fired,
                "instead": trigger.instead.as_deref().map(line),
            })
        })
        .collect();
    let checks: Vec<Value> = result
        .checks
        .iter()
        .map(|check| {
            json!({
                "kind": check.kind,
                "name": line(&check.name),
                "outcome": check.outcome,
                "detail": line(&check.detail),
                "step": check.step,
            })
        })
        .collect();
    let answer = result.answer.as_deref().map(|answer| {
        let cut = metier::skill::text::clip(answer, MAX_ANSWER);
        escape_lines(&cut).into_owned()
    });
    json!({
        "case": case,
        "arm": result.arm,
        "trial": result.trial,
        "outcome": outcome,
        "end": end,
        "loaded": loaded,
        "actions": actions,
        "more_actions": result.actions.len().saturating_sub(MAX_ACTIONS),
        "triggers": triggers,
        "checks": checks,
        "answer": answer,
        "tokens_in": result.cost.tokens_in,
        "tokens_out": result.cost.tokens_out,
        "model_calls": result.cost.model_calls,
        "tool_calls": result.cost.tool_calls,
        "elapsed_ms": result.cost.elapsed_ms,
        "run": result.run.as_deref().map(line),
    })
}
