//! What is remembered of the trials of one case in one arm, while results stream past.
//!
//! Counts, and of texts only the first of each kind, cut short: a report over many trials needs memory for its
//! cases, never for what the trials said. "First" is by the trial's number, so that the order of arrival does not
//! show. `builder` fills these and reads them.

use std::collections::{BTreeMap, BTreeSet};

use metier::skill::text;

use super::eval_report::CaseCost;
use crate::case::Case;
use crate::statistics::Tally;
use crate::trial::{CheckKind, CheckOutcome, CheckResult, TrialEnd, TrialErrorKind, TrialResult};

/// Characters of a message or detail that are kept.
const MAX_TEXT: usize = 400;
/// Characters of what was done instead: it is counted by its text.
const MAX_INSTEAD: usize = 120;

/// What is remembered of the trials of one case in one arm.
#[derive(Debug, Clone, Default)]
pub(super) struct ArmTally {
    seen: Vec<bool>,
    pub(super) scored: u64,
    /// Scored trials in which anything was judged. Where a case expects nothing of an arm, nothing is.
    pub(super) judged: u64,
    /// Those in which everything is as it should be.
    pub(super) passed: u64,
    /// Scored trials with a check.
    pub(super) checked: u64,
    /// Those in which all checks passed.
    pub(super) job: u64,
    pub(super) errors: BTreeMap<TrialErrorKind, u64>,
    pub(super) first_error: First,
    pub(super) triggers: BTreeMap<String, TriggerTally>,
    /// The skills that the request calls by name: they were loaded before a model decided.
    pub(super) called: BTreeSet<String>,
    /// Steps of the instructions in trials in which these were loaded.
    pub(super) steps_when_loaded: Tally,
    /// Scored trials in which no skill was loaded that should not be.
    pub(super) abstained: u64,
    pub(super) checks: BTreeMap<(CheckKind, String), CheckTally>,
    pub(super) cost: CaseCost,
    pub(super) all_tokens: u64,
    pub(super) judge_tokens: u64,
    pub(super) judge_calls: u64,
    pub(super) estimated: bool,
    pub(super) elapsed_ms: u64,
    pub(super) slowest_ms: u64,
}

/// The text of the trial with the lowest number.
#[derive(Debug, Clone, Default)]
pub(super) struct First(Option<(u32, String)>);

/// How often a skill was loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct TriggerTally {
    pub(super) expected: bool,
    pub(super) loaded: u64,
    pub(super) instead: BTreeMap<String, u64>,
}

/// How often a check was judged, and failed.
#[derive(Debug, Clone, Default)]
pub(super) struct CheckTally {
    pub(super) judged: u64,
    pub(super) failed: u64,
    pub(super) first: First,
}

/// Whether a result was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    Already,
}

impl First {
    fn offer(&mut self, trial: u32, said: &str) {
        if self.0.as_ref().is_none_or(|(kept, _)| trial < *kept) {
            self.0 = Some((trial, text::clip(said, MAX_TEXT).into_owned()));
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, said)| said.as_str())
    }
}

impl ArmTally {
    /// Counts a result, unless the same trial was counted before.
    pub(super) fn add(&mut self, case: &Case, result: &TrialResult) -> Counted {
        let place = result.trial as usize;
        if self.seen.len() <= place {
            self.seen.resize(place + 1, false);
        }
        if std::mem::replace(&mut self.seen[place], true) {
            return Counted::Already;
        }
        self.all_tokens += result.cost.all_tokens();
        self.judge_tokens += result.cost.judge_tokens;
        self.judge_calls += result.cost.judge_calls;
        self.elapsed_ms += result.cost.elapsed_ms;
        self.slowest_ms = self.slowest_ms.max(result.cost.elapsed_ms);
        match result.error_kind() {
            Some(kind) => self.add_error(kind, result),
            None => self.add_scored(case, result),
        }
        Counted::Yes
    }

    /// The number of results, scored or not.
    pub(super) fn results(&self) -> u64 {
        self.scored + self.errors.values().sum::<u64>()
    }

    fn add_error(&mut self, kind: TrialErrorKind, result: &TrialResult) {
        *self.errors.entry(kind).or_default() += 1;
        match &result.end {
            TrialEnd::Error { message, .. } => self.first_error.offer(result.trial, message),
            TrialEnd::Finished { .. } => {
                let ungraded = |check: &&CheckResult| check.outcome == CheckOutcome::NotGraded;
                if let Some(check) = result.checks.iter().find(ungraded) {
                    let message = format!("not graded: {}: {}", check.name, check.detail);
                    self.first_error.offer(result.trial, &message);
                }
            }
        }
    }

    fn add_scored(&mut self, case: &Case, result: &TrialResult) {
        self.scored += 1;
        if let Some(passed) = result.passed(case) {
            self.judged += 1;
            self.passed += u64::from(passed);
        }
        let job = || result.checks.iter().filter(|check| check.kind != CheckKind::Called);
        if job().next().is_some() {
            self.checked += 1;
            let all = job().all(|check| check.outcome == CheckOutcome::Passed);
            self.job += u64::from(all);
        }
        if result.arm.measures_triggers() {
            self.called.extend(called(result).map(str::to_owned));
        }
        if result.fired.iter().any(|fired| case.has_instructions_of(&fired.skill)) {
            let steps = || result.checks.iter().filter(|check| check.kind == CheckKind::Steps);
            let passed = steps().filter(|check| check.outcome == CheckOutcome::Passed);
            self.steps_when_loaded.successes += passed.count() as u64;
            self.steps_when_loaded.trials += steps().count() as u64;
        }
        for trigger in &result.triggers {
            let tally = self.triggers.entry(trigger.skill.clone()).or_default();
            tally.expected = trigger.expected;
            tally.loaded += u64::from(trigger.fired);
            if let Some(instead) = &trigger.instead {
                let instead = text::clip(instead, MAX_INSTEAD).into_owned();
                *tally.instead.entry(instead).or_default() += 1;
            }
        }
        let intruded = result.triggers.iter().any(|trigger| trigger.fired && !trigger.expected);
        self.abstained += u64::from(!intruded);
        for check in &result.checks {
            let name = text::clip(&check.name, MAX_TEXT).into_owned();
            let tally = self.checks.entry((check.kind, name)).or_default();
            tally.judged += 1;
            if check.outcome == CheckOutcome::Failed {
                tally.failed += 1;
                tally.first.offer(result.trial, &check.detail);
            }
        }
        self.cost.tokens_in += result.cost.tokens_in;
        self.cost.tokens_out += result.cost.tokens_out;
        self.cost.model_calls += u64::from(result.cost.model_calls);
        self.cost.tool_calls += u64::from(result.cost.tool_calls);
        self.estimated |= result.cost.estimated;
    }
}

/// The skills that were loaded before the first turn: in the arm in which loading is a choice, no model chose them.
pub(crate) fn called(result: &TrialResult) -> impl Iterator<Item = &str> {
    result.fired.iter().filter(|fired| fired.step == 0).map(|fired| fired.skill.as_str())
}

/// Which skill was expected and which was loaded in a scored trial: one pair for each.
///
/// A skill that is missing is paired with what was loaded wrongly in its place, or with nothing.
pub(super) fn confused<'a>(
    case: &'a Case,
    result: &'a TrialResult,
) -> Vec<(Option<&'a str>, Option<&'a str>)> {
    let named = |expected: bool, fired: bool| {
        result
            .triggers
            .iter()
            .filter(move |trigger| trigger.expected == expected && trigger.fired == fired)
            .map(|trigger| trigger.skill.as_str())
    };
    let wrong: Vec<&str> = named(false, true).collect();
    let mut pairs: Vec<_> = named(true, true).map(|skill| (Some(skill), Some(skill))).collect();
    let mut is_explained = false;
    for missing in named(true, false) {
        is_explained = true;
        if wrong.is_empty() {
            pairs.push((Some(missing), None));
        }
        pairs.extend(wrong.iter().map(|loaded| (Some(missing), Some(*loaded))));
    }
    if !is_explained {
        pairs.extend(wrong.iter().map(|loaded| (None, Some(*loaded))));
    }
    if pairs.is_empty() && case.expected.is_about_skills() && called(result).next().is_none() {
        pairs.push((None, None));
    }
    pairs
}
