//! Judging what was seen of a trial by what its case expects. Pure: a case and a trace in, scores out.
//!
//! What needs more than the trace (files, programs, a model) is `grade`'s. Whatever was not said by the case
//! is not judged.

mod actions;
mod output;
mod pattern;

use self::pattern::was_done;

pub(crate) use self::output::check_expected;
pub(crate) use self::pattern::{describe, is_tool_meant, matches_wildcard};
use crate::case::{ActionChecks, ActionPattern, Case, InstructionStep};
use crate::plan::Arm;
use crate::subject::Trace;
use crate::trial::{CheckKind, CheckOutcome, CheckResult, TrialAction, TriggerScore};

/// What a trace comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score {
    /// Whether skills were loaded that should be, and those not that should not. Empty where the arm leaves
    /// no choice.
    pub triggers: Vec<TriggerScore>,
    /// What else was judged.
    pub checks: Vec<CheckResult>,
}

/// Judges a trace.
pub fn score(case: &Case, arm: Arm, trace: &Trace) -> Score {
    let (triggers, mut checks) = if arm.measures_triggers() {
        (triggers(case, trace), loaded_by_name(case, trace))
    } else {
        (Vec::new(), Vec::new())
    };
    let (wanted, steps) = possible_in(case, arm);
    checks.extend(actions::checks(&wanted, &trace.actions));
    checks.extend(steps.map(|step| followed(case, arm, step, trace)));
    checks.extend(output::checks(&case.expected.output, trace));
    checks.extend(actions::constraints(&case.constraints, trace));
    Score { triggers, checks }
}

/// What a case wants done that can be done in an arm. Where the skill that it is about is not offered, because it is
/// not there or its text stands in every prompt, no model can load it: whether it was is not judged.
fn possible_in(case: &Case, arm: Arm) -> (ActionChecks, impl Iterator<Item = &InstructionStep>) {
    let skill = case.skill.as_deref().filter(|_| matches!(arm, Arm::None | Arm::Inlined));
    let is_possible = move |pattern: &ActionPattern| {
        !skill.is_some_and(|skill| pattern::is_load_of(skill, pattern))
    };
    let mut wanted = case.expected.actions.clone();
    if skill.is_some() {
        wanted.must.retain(is_possible);
        wanted.counts.retain(|count| is_possible(&count.action));
        if let Some(sequence) = &mut wanted.order {
            sequence.actions.retain(is_possible);
        }
        wanted.order = wanted.order.filter(|sequence| !sequence.actions.is_empty());
    }
    (wanted, case.expected.steps.iter().filter(move |step| is_possible(&step.action)))
}

/// Whether a skill was loaded before the first turn: then the request calls it by name, and no model chose it.
fn is_called(skill: &str, trace: &Trace) -> bool {
    trace.fired.iter().any(|fired| fired.skill == skill && fired.step == 0)
}

/// The skills that the request calls by name. Whether a description makes a model load them was not seen, so they are
/// checks and no triggers.
fn loaded_by_name(case: &Case, trace: &Trace) -> Vec<CheckResult> {
    let expected = &case.expected;
    let called = trace.fired.iter().filter(|fired| fired.step == 0 && expected.is_about_skills());
    let checks = called.filter_map(|fired| {
        let is_in = |names: &[String]| names.contains(&fired.skill);
        let outcome = match &expected.skills {
            Some(skills) if is_in(skills) => CheckOutcome::Passed,
            Some(_) => CheckOutcome::Failed,
            None if is_in(&expected.not_skills) => CheckOutcome::Failed,
            None => return None,
        };
        Some(CheckResult {
            kind: CheckKind::Called,
            name: format!("loads {} by its name in the request", fired.skill),
            outcome,
            detail: match outcome {
                CheckOutcome::Failed => {
                    "the request calls it, and it should not be loaded".to_owned()
                }
                _ => String::new(),
            },
            step: Some(0),
        })
    });
    checks.collect()
}

fn triggers(case: &Case, trace: &Trace) -> Vec<TriggerScore> {
    let within = case.constraints.trigger_within();
    let fired =
        |skill: &str| trace.fired.iter().any(|fired| fired.skill == skill && fired.step <= within);
    let mut scores: Vec<TriggerScore> = Vec::new();
    let mut add = |skill: &str, expected: bool| {
        if scores.iter().any(|known| known.skill == skill) || is_called(skill, trace) {
            return;
        }
        let has_fired = fired(skill);
        let instead = (expected && !has_fired).then(|| instead_of(skill, within, trace));
        let skill = skill.to_owned();
        scores.push(TriggerScore { skill, expected, fired: has_fired, instead });
    };
    let expected = &case.expected;
    for skill in expected.skills.iter().flatten() {
        add(skill, true);
    }
    for skill in &expected.not_skills {
        add(skill, false);
    }
    if expected.skills.is_some() {
        // No others: the one that the case is about, and whatever else came.
        if let Some(skill) = &case.skill {
            add(skill, false);
        }
        for other in trace.fired.iter().filter(|fired| fired.step <= within) {
            add(&other.skill, false);
        }
    }
    scores
}

/// The first thing that was done instead of loading a skill in time.
fn instead_of(skill: &str, within: u32, trace: &Trace) -> String {
    if let Some(late) = trace.fired.iter().find(|fired| fired.skill == skill) {
        return format!("loaded in step {}; only the first {within} count", late.step);
    }
    let other = |action: &&TrialAction| action.skill.as_deref() != Some(skill);
    match trace.actions.iter().find(other) {
        Some(action) if action.target.is_empty() => action.action.clone(),
        Some(action) => format!("{} {}", action.action, action.target),
        None => format!("nothing ({})", trace.status.as_str()),
    }
}

/// Whether a step of the instructions shows in what was done after they were loaded.
fn followed(case: &Case, arm: Arm, step: &InstructionStep, trace: &Trace) -> CheckResult {
    let failed = |detail: String, at: Option<u32>| CheckResult {
        kind: CheckKind::Steps,
        name: step.title.clone(),
        outcome: CheckOutcome::Failed,
        detail,
        step: at,
    };
    // Instructions that stand in every prompt are there from the start; without a skill none are.
    let from = match arm {
        Arm::Inlined | Arm::None => Some(0),
        Arm::Listed | Arm::Forced => {
            let loads = trace.fired.iter().filter(|fired| case.has_instructions_of(&fired.skill));
            loads.map(|fired| fired.step).min()
        }
    };
    let Some(from) = from else {
        return failed("the skill was never loaded".to_owned(), None);
    };
    let mut after = trace.actions.iter().filter(|action| action.step >= from);
    if !after.clone().any(|action| was_done(&step.action, action)) {
        let detail = format!("there was no {} after the load", describe(&step.action));
        return failed(detail, after.next_back().map(|action| action.step));
    }
    CheckResult { outcome: CheckOutcome::Passed, ..failed(String::new(), None) }
}
