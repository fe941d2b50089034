//! The sentences of a report that several forms share: a rate with its interval, and why a case failed.
//!
//! Texts from cases and results are still raw here: each form escapes them its own way.

use std::collections::BTreeMap;
use std::time::Duration;

use super::comparison::{Comparison, ComparisonResult};
use super::eval_report::{
    ArmCost, ArmScore, CaseArm, CaseScore, ConfusionCell, Estimate, EvalReport,
};
use super::verdict::{counted, percent};
use crate::plan::{Arm, ModelKind};
use crate::statistics::Rate;
use crate::statistics::bootstrap::LEAST_CASES;
use crate::statistics::power::ALPHA;

/// Reasons of a verdict that are listed.
const MAX_REASONS: usize = 20;
/// Comparisons that are listed without showing anything.
const MAX_COMPARISONS: usize = 40;

/// `83.3 % (55.2 % to 95.3 %), 10 of 12`.
pub(super) fn rate(rate: &Rate) -> String {
    let Rate { successes, trials, interval, .. } = rate;
    format!(
        "{} ({} to {}), {successes} of {trials}",
        percent(rate.rate),
        percent(interval.low),
        percent(interval.high)
    )
}

/// The same in a table's cell, or a dash.
pub(super) fn rate_cell(rate: Option<&Rate>) -> String {
    rate.map_or_else(
        || "-".to_owned(),
        |rate| {
            let interval = rate.interval;
            format!(
                "{} ({} to {})",
                percent(rate.rate),
                percent(interval.low),
                percent(interval.high)
            )
        },
    )
}

/// A share with its interval, or a dash.
pub(super) fn share_cell(estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return "-".to_owned() };
    match estimate.interval {
        Some(interval) => format!(
            "{} ({} to {})",
            percent(estimate.value),
            percent(interval.low),
            percent(interval.high)
        ),
        None => percent(estimate.value),
    }
}

/// A mean with its interval.
pub(super) fn mean_cell(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => {
            format!(
                "{} ({} to {})",
                amount(estimate.value),
                amount(interval.low),
                amount(interval.high)
            )
        }
        None => amount(estimate.value),
    }
}

/// Why means or differences of a report stand without an interval, where some do for that reason.
pub(super) fn too_few_cases(report: &EvalReport) -> Option<String> {
    let scored = |arm: Arm| {
        let arms = report.cases.iter().flat_map(|case| &case.arms);
        arms.filter(|one| one.arm == arm && one.scored > 0).count()
    };
    let is_few = |arm: &ArmScore| arm.cost.is_some() && scored(arm.arm) < LEAST_CASES;
    let is_short = |one: &Comparison| {
        let paired = &one.paired;
        paired.interval.is_none()
            && paired.cases < LEAST_CASES as u64
            && paired.up + paired.down > 0
    };
    let is_said = report.arms.iter().any(is_few) || report.comparisons.iter().any(is_short);
    is_said.then(|| {
        format!(
            "costs and differences have no interval over fewer than {LEAST_CASES} cases: so few do not show how far \
             others would be off"
        )
    })
}

/// A number with one digit below ten, and none above.
pub(super) fn amount(number: f64) -> String {
    if number.abs() < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

/// What became of the units, with the errors by kind.
pub(super) fn units(report: &EvalReport) -> String {
    let units = &report.units;
    let mut words =
        format!("{} of {} scored", units.scored, counted(units.planned, "trial", "trials"));
    if units.errors > 0 {
        let kinds = kinds(&units.errors_by_kind);
        words.push_str(&format!(", {} ({kinds})", counted(units.errors, "error", "errors")));
    }
    if units.missing > 0 {
        words.push_str(&format!(", {} without a result", units.missing));
    }
    if units.statements_not_judged > 0 {
        let statements = counted(units.statements_not_judged, "statement", "statements");
        words.push_str(&format!(", {statements} not judged (no judge was named)"));
    }
    if units.foreign > 0 {
        let results = counted(units.foreign, "result", "results");
        words.push_str(&format!(", {results} ignored that do not belong to the plan"));
    }
    words
}

/// What the judge took, all trials together.
pub(super) fn judge(cost: &ArmCost) -> String {
    let calls = counted(cost.judge_calls, "call", "calls");
    format!("{calls}, {} in all", counted(cost.judge_tokens, "token", "tokens"))
}

/// `provider 2, timed_out 1`.
pub(super) fn kinds(errors: &BTreeMap<String, u64>) -> String {
    errors.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

/// Why a case is not as it should be in an arm: one sentence each, triggers first, then checks, then errors.
pub(super) fn problems(arm: &CaseArm) -> Vec<String> {
    let mut problems = Vec::new();
    for trigger in &arm.triggers {
        let (loaded, trials) = (trigger.loaded.successes, trigger.loaded.trials);
        let skill = &trigger.skill;
        if trigger.expected && loaded < trials {
            let missed = counted(trials, "trial", "trials");
            let mut words = format!("{skill} was not loaded in {} of {missed}", trials - loaded);
            if !trigger.instead.is_empty() {
                words.push_str(&format!("; done first instead: {}", kinds(&trigger.instead)));
            }
            problems.push(words);
        } else if !trigger.expected && loaded > 0 {
            let of = counted(trials, "trial", "trials");
            problems.push(format!("{skill} was loaded in {loaded} of {of}, and should not be"));
        }
    }
    for failure in &arm.failures {
        let of = counted(failure.judged, "trial", "trials");
        let mut words = format!(
            "{}: {}: failed in {} of {of}",
            failure.kind.as_str(),
            failure.name,
            failure.failed
        );
        if !failure.detail.is_empty() {
            words.push_str(&format!(": {}", failure.detail));
        }
        problems.push(words);
    }
    problems
}

/// The cases that pass in some trials and fail in others, in the arm that the verdict is about.
pub(super) fn unstable(
    report: &EvalReport,
) -> impl Iterator<Item = (&CaseScore, Arm, String)> + '_ {
    report.outcomes().filter(|(_, _, is_main)| *is_main).filter_map(|(case, arm, _)| {
        let passed = arm.passed?;
        let trials = counted(passed.trials, "trial", "trials");
        let words = format!("passed in {} of {trials}", passed.successes);
        (passed.successes > 0 && passed.successes < passed.trials).then_some((case, arm.arm, words))
    })
}

/// What went wrong before a case could be scored in an arm, if something did.
pub(super) fn errors(arm: &CaseArm) -> Option<String> {
    let count: u64 = arm.errors.values().sum();
    (count > 0).then(|| {
        let said = arm.first_error.as_deref().unwrap_or("no message");
        format!("{} ({}): {said}", counted(count, "error", "errors"), kinds(&arm.errors))
    })
}

/// The reasons of the verdict that a reader gets through, and how many more there are.
pub(super) fn reasons(report: &EvalReport) -> (Vec<&str>, usize) {
    let reasons = report.verdict.reasons.iter().map(|reason| reason.message.as_str());
    let left_out = report.verdict.reasons.len().saturating_sub(MAX_REASONS);
    (reasons.take(MAX_REASONS).collect(), left_out)
}

/// What a reader of comparisons needs: those that show something, those over all cases, and some of the others; and
/// how many more there are.
pub(super) fn notable(comparisons: &[Comparison]) -> (Vec<&Comparison>, usize) {
    let is_notable =
        |one: &Comparison| one.result != ComparisonResult::NoDifference || one.skill.is_none();
    let mut room = MAX_COMPARISONS;
    let shown: Vec<&Comparison> = comparisons
        .iter()
        .filter(|one| {
            let is_shown = is_notable(one) || room > 0;
            room = room.saturating_sub(1);
            is_shown
        })
        .take(2 * MAX_COMPARISONS)
        .collect();
    let left_out = comparisons.len() - shown.len();
    (shown, left_out)
}

/// What a comparison came to, in one sentence.
pub(super) fn comparison(comparison: &Comparison) -> String {
    let paired = &comparison.paired;
    let show = |number: f64| {
        if comparison.metric.is_quality() { percent(number) } else { amount(number) }
    };
    let cases = counted(paired.cases, "case", "cases");
    if paired.up + paired.down == 0 {
        let mut words =
            format!("{}: {}, the same in {cases}", comparison.metric.as_str(), show(paired.before));
        match comparison.detectable {
            Some(detectable) => {
                words.push_str(&format!(
                    "; the smallest detectable difference is {}",
                    show(detectable)
                ));
            }
            None if comparison.metric.is_quality() => words.push_str("; too few cases to see any"),
            None => words.push_str("; nothing varied"),
        }
        return words;
    }
    // Zero has no sign.
    let signed =
        |number: f64| format!("{}{}", if number > 0.0 { "+" } else { "" }, show(number + 0.0));
    let interval = paired.interval.map_or_else(String::new, |ends| {
        format!(" ({} to {})", signed(ends.low), signed(ends.high))
    });
    // Without noise any difference is one, whatever a test would say.
    let is_certain =
        comparison.result != ComparisonResult::NoDifference && comparison.corrected_p > ALPHA;
    let test = if is_certain {
        "no noise".to_owned()
    } else {
        format!("p {:.3} corrected", comparison.corrected_p)
    };
    let mut words = format!(
        "{}: {} to {}, {}{interval}; {} up, {} down of {}; {test}: {}",
        comparison.metric.as_str(),
        show(paired.before),
        show(paired.after),
        signed(paired.difference),
        paired.up,
        paired.down,
        cases,
        comparison.result.as_str(),
    );
    if comparison.result == ComparisonResult::NoDifference {
        match comparison.detectable {
            Some(detectable) => {
                words.push_str(&format!(
                    "; the smallest detectable difference is {}",
                    show(detectable)
                ));
            }
            None => words.push_str("; too few cases to see any"),
        }
        if let Some(needed) = comparison.cases_needed.filter(|needed| *needed > paired.cases) {
            words.push_str(&format!(", to see this one takes {needed} cases"));
        }
    }
    words
}

/// The pairs of skills that were taken for each other, the most frequent first.
pub(super) fn confused(report: &EvalReport) -> Vec<&ConfusionCell> {
    let differ = report.confusion.iter().filter(|cell| cell.expected != cell.loaded);
    let mut confused: Vec<_> = differ.collect();
    confused.sort_by_key(|cell| std::cmp::Reverse(cell.trials));
    confused
}

/// How long the trials of an arm took, where a language model made them wait; of offline models the time says
/// something about this machine alone, and their reports are the same each time.
pub(super) fn latency(report: &EvalReport, arm: Arm) -> Option<String> {
    if report.subject.model_kind != ModelKind::Real {
        return None;
    }
    let time = report.times.iter().flatten().find(|time| time.arm == arm)?;
    let slowest = Duration::from_millis(time.slowest_ms).as_secs_f64();
    Some(format!("{:.1} s a trial, {slowest:.1} s the slowest", time.mean_ms / 1e3))
}
