//! Are skills loaded when they should be: precision, recall and their relatives for each skill.
//!
//! Measured in the arm in which loading is the model's own choice. A case that lists the skills it expects is a
//! negative for every other skill under test. `builder` calls it.

use std::collections::{BTreeMap, BTreeSet};

use super::builder::Scored;
use super::eval_report::{Estimate, SkillScore};
use super::tally::ArmTally;
use crate::case::Case;
use crate::plan::Arm;
use crate::statistics::binomial::as_f64;
use crate::statistics::{Decisions, Interval, Rate, Tally};

/// The score of each skill that is tested, expected or loaded, by name.
pub(super) fn scores(scored: &Scored<'_>) -> Vec<SkillScore> {
    let Some(arm) = scored.plan.arms.iter().copied().find(|arm| arm.measures_triggers()) else {
        return Vec::new();
    };
    let mut names: BTreeSet<&str> = scored.plan.skills.keys().map(String::as_str).collect();
    for (_, tally) in scored.in_arm(arm) {
        names.extend(tally.triggers.keys().map(String::as_str));
    }
    let scores = names.into_iter().map(|skill| score(scored, arm, skill));
    let is_measured = |score: &SkillScore| score.positives + score.negatives > 0;
    scores.filter(|score| is_measured(score) || score.unscored_positives > 0).collect()
}

/// The mean F1 of the skills with positive cases.
pub(super) fn macro_f1(skills: &[SkillScore]) -> Option<f64> {
    let with_positives = skills.iter().filter(|skill| skill.positives > 0);
    let values: Vec<f64> = with_positives.filter_map(|skill| skill.f1).map(|f1| f1.value).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / as_f64(values.len() as u64))
}

/// The share of trials without a skill for them in which none was loaded.
pub(super) fn abstention(scored: &Scored<'_>) -> Option<Rate> {
    let arm = scored.plan.arms.iter().copied().find(|arm| arm.measures_triggers())?;
    let expects_none = |case: &Case| case.expected.skills.as_ref().is_some_and(Vec::is_empty);
    let tallies: Vec<Tally> = scored
        .in_arm(arm)
        // Where the request calls a skill, no model could abstain.
        .filter(|(case, tally)| expects_none(case) && tally.called.is_empty())
        .map(|(_, tally)| Tally { successes: tally.abstained, trials: tally.scored })
        .collect();
    Rate::of_cases(&tallies)
}

/// How a case counts for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// It should be loaded.
    Positive,
    /// It should not.
    Negative,
}

/// How a case counts for a skill, and in how many scored trials that was loaded. `None` where nothing is said.
fn side(case: &Case, tally: &ArmTally, skill: &str) -> Option<(Side, u64)> {
    if let Some(trigger) = tally.triggers.get(skill) {
        let side = if trigger.expected { Side::Positive } else { Side::Negative };
        return Some((side, trigger.loaded));
    }
    if tally.called.contains(skill) {
        return None;
    }
    // No trial was scored, or the skill was neither expected nor loaded.
    let expected = case.expected.skills.as_ref()?;
    (!expected.iter().any(|name| name == skill)).then_some((Side::Negative, 0))
}

/// Whether all trials of the cases that name the skill are errors, and there are such: then it never had a chance,
/// and that it was not loaded elsewhere says nothing.
fn is_broken(scored: &Scored<'_>, arm: Arm, skill: &str) -> bool {
    let is_named = |case: &Case| {
        let expected = &case.expected;
        let mut names = expected.skills.iter().flatten().chain(&expected.not_skills);
        case.skill.as_deref() == Some(skill) || names.any(|name| name == skill)
    };
    let mut named =
        scored.in_arm(arm).filter(|(case, tally)| is_named(case) && tally.results() > 0).peekable();
    named.peek().is_some() && named.all(|(_, tally)| tally.scored == 0)
}

fn score(scored: &Scored<'_>, arm: Arm, skill: &str) -> SkillScore {
    let is_broken = is_broken(scored, arm, skill);
    let expects = |case: &Case| case.expected.skills.iter().flatten().any(|name| name == skill);
    let unscored_positives = scored
        .in_arm(arm)
        .filter(|(case, tally)| expects(case) && tally.scored == 0 && !tally.errors.is_empty())
        .count() as u64;
    let mut decisions = Decisions::default();
    let (mut recall, mut specificity) = (Vec::new(), Vec::new());
    let (mut precision, mut overlap) = (Vec::new(), Vec::new());
    let mut instead = BTreeMap::new();
    let mut steps = Vec::new();
    for (case, tally) in scored.in_arm(arm).filter(|(_, tally)| tally.scored > 0 && !is_broken) {
        if case.skill.as_deref() == Some(skill) {
            steps.push(tally.steps_when_loaded);
        }
        let Some((side, loaded)) = side(case, tally, skill) else { continue };
        let not_loaded = tally.scored - loaded;
        match side {
            Side::Positive => {
                decisions.true_positives += loaded;
                decisions.false_negatives += not_loaded;
                recall.push(Tally { successes: loaded, trials: tally.scored });
                precision.push(Tally { successes: loaded, trials: loaded });
                overlap.push(Tally { successes: loaded, trials: tally.scored });
            }
            Side::Negative => {
                decisions.false_positives += loaded;
                decisions.true_negatives += not_loaded;
                specificity.push(Tally { successes: not_loaded, trials: tally.scored });
                precision.push(Tally { successes: 0, trials: loaded });
                overlap.push(Tally { successes: 0, trials: loaded });
            }
        }
        let done = tally.triggers.get(skill).into_iter().flat_map(|trigger| &trigger.instead);
        for (what, count) in done {
            *instead.entry(what.clone()).or_default() += count;
        }
    }
    let has_negatives = !specificity.is_empty();
    SkillScore {
        skill: skill.to_owned(),
        positives: recall.len() as u64,
        negatives: specificity.len() as u64,
        unscored_positives,
        decisions,
        // Where nothing could be loaded wrongly, that nothing was says nothing.
        precision: has_negatives.then(|| Rate::of_cases(&precision)).flatten(),
        recall: Rate::of_cases(&recall),
        specificity: Rate::of_cases(&specificity),
        f1: has_negatives.then(|| Rate::of_cases(&overlap)).flatten().map(f1_of_overlap),
        balanced_accuracy: decisions.balanced_accuracy(),
        matthews: decisions.matthews(),
        instead,
        steps_followed: Rate::of_cases(&steps),
    }
}

/// F1 from the share of true positives among all trials in which the skill was expected or loaded.
///
/// With that share s, F1 is 2s / (1 + s), which rises with s: so the ends of the interval of s give those of F1,
/// and unlike a bootstrap they are never closer than the number of trials allows.
fn f1_of_overlap(overlap: Rate) -> Estimate {
    let f1 = |share: f64| 2.0 * share / (1.0 + share);
    let Interval { low, high } = overlap.interval;
    Estimate { value: f1(overlap.rate), interval: Some(Interval { low: f1(low), high: f1(high) }) }
}
