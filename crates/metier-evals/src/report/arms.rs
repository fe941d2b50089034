//! What each arm came to, and the arms side by side over the same cases.
//!
//! Arms are compared by the job alone: in most of them loading is not the model's choice. The arm without the
//! skill is what the others are compared with, or else the first. `builder` calls it.

use std::collections::{BTreeMap, BTreeSet};

use super::builder::Scored;
use super::comparison::{Compared, ComparedMetric, Comparison, Noise, Pairs, compare_all};
use super::eval_report::{ArmCost, ArmScore, CaseCost, Estimate, PassAt};
use super::tally::ArmTally;
use crate::case::Case;
use crate::plan::Arm;
use crate::statistics::binomial::as_f64;
use crate::statistics::bootstrap::{self, Ends, WeightedValue};
use crate::statistics::{CONFIDENCE, Correction, Rate, Tally, passes, wilson};
use crate::trial::CheckKind;

/// The score of each arm.
pub(super) fn scores(scored: &Scored<'_>) -> Vec<ArmScore> {
    scored.plan.arms.iter().map(|arm| score(scored, *arm)).collect()
}

fn score(scored: &Scored<'_>, arm: Arm) -> ArmScore {
    let tallies: Vec<&ArmTally> = scored.in_arm(arm).map(|(_, tally)| tally).collect();
    let rate = |of: &dyn Fn(&ArmTally) -> Tally| {
        Rate::of_cases(&tallies.iter().map(|tally| of(tally)).collect::<Vec<_>>())
    };
    ArmScore {
        arm,
        errors: tallies.iter().flat_map(|tally| tally.errors.values()).sum(),
        passed: rate(&|tally| Tally { successes: tally.passed, trials: tally.judged }),
        job: rate(&|tally| Tally { successes: tally.job, trials: tally.checked }),
        checks: checks(&tallies),
        pass_at: (1..=u64::from(scored.plan.trials)).filter_map(|k| pass_at(&tallies, k)).collect(),
        cost: cost(&tallies),
    }
}

fn checks(tallies: &[&ArmTally]) -> BTreeMap<CheckKind, Rate> {
    let mut by_kind: BTreeMap<CheckKind, Vec<Tally>> = BTreeMap::new();
    for tally in tallies {
        let mut of_case: BTreeMap<CheckKind, Tally> = BTreeMap::new();
        for ((kind, _), check) in &tally.checks {
            let sum = of_case.entry(*kind).or_default();
            sum.successes += check.judged - check.failed;
            sum.trials += check.judged;
        }
        for (kind, sum) in of_case {
            by_kind.entry(kind).or_default().push(sum);
        }
    }
    by_kind.into_iter().filter_map(|(kind, cases)| Some((kind, Rate::of_cases(&cases)?))).collect()
}

fn pass_at(tallies: &[&ArmTally], k: u64) -> Option<PassAt> {
    let of_cases = |chance: fn(u64, u64, u64) -> Option<f64>| -> Vec<f64> {
        tallies.iter().filter_map(|tally| chance(tally.passed, tally.judged, k)).collect()
    };
    let (any, all) = (of_cases(passes::any_of), of_cases(passes::all_of));
    if any.is_empty() {
        return None;
    }
    let cases = any.len() as u64;
    Some(PassAt { k, cases, any: mean_share(&any), all: mean_share(&all) })
}

/// The mean of one share a case. Where all cases agree, the interval is that of as many single trials.
fn mean_share(shares: &[f64]) -> Estimate {
    let parts: Vec<WeightedValue> =
        shares.iter().map(|value| WeightedValue { value: *value, weight: 1.0 }).collect();
    let cases = as_f64(shares.len() as u64);
    let value = shares.iter().sum::<f64>() / cases;
    let interval =
        bootstrap::interval(&parts, CONFIDENCE, Ends::Widened, bootstrap::resamples(parts.len()))
            .unwrap_or_else(|| wilson(value, cases, CONFIDENCE));
    Estimate { value, interval: Some(interval) }
}

fn cost(tallies: &[&ArmTally]) -> Option<ArmCost> {
    let mean = |of: &dyn Fn(&CaseCost) -> u64| {
        let part = |tally: &&&ArmTally| WeightedValue {
            value: as_f64(of(&tally.cost)),
            weight: as_f64(tally.scored),
        };
        let parts: Vec<WeightedValue> =
            tallies.iter().filter(|tally| tally.scored > 0).map(|tally| part(&tally)).collect();
        let sum = |of: fn(&WeightedValue) -> f64| parts.iter().map(of).sum::<f64>();
        let trials = sum(|part| part.weight);
        (trials > 0.0).then(|| Estimate {
            value: sum(|part| part.value) / trials,
            interval: bootstrap::interval(
                &parts,
                CONFIDENCE,
                Ends::Widened,
                bootstrap::resamples(parts.len()),
            ),
        })
    };
    Some(ArmCost {
        tokens_in: mean(&|cost| cost.tokens_in)?,
        tokens_out: mean(&|cost| cost.tokens_out)?,
        model_calls: mean(&|cost| cost.model_calls)?,
        tool_calls: mean(&|cost| cost.tool_calls)?,
        total_tokens: tallies.iter().map(|tally| tally.all_tokens).sum(),
        judge_tokens: tallies.iter().map(|tally| tally.judge_tokens).sum(),
        judge_calls: tallies.iter().map(|tally| tally.judge_calls).sum(),
        estimated: tallies.iter().any(|tally| tally.estimated),
    })
}

/// Every other arm beside the one without the skill: over all cases, and for each skill where there are several.
pub(super) fn comparisons(scored: &Scored<'_>, correction: Correction) -> Vec<Comparison> {
    let arms = &scored.plan.arms;
    let Some(from) = arms.iter().find(|arm| **arm == Arm::None).or(arms.first()).copied() else {
        return Vec::new();
    };
    let skills: BTreeSet<&str> =
        scored.plan.cases.iter().filter_map(|case| case.skill.as_deref()).collect();
    let mut scopes = vec![None];
    if skills.len() > 1 {
        scopes.extend(skills.into_iter().map(Some));
    }
    let mut compared = Vec::new();
    for to in arms.iter().copied().filter(|arm| *arm != from) {
        for skill in &scopes {
            for metric in [
                ComparedMetric::Job,
                ComparedMetric::Tokens,
                ComparedMetric::ModelCalls,
                ComparedMetric::ToolCalls,
            ] {
                compared.push(Compared {
                    skill: skill.map(str::to_owned),
                    metric,
                    from: from.as_str().to_owned(),
                    to: to.as_str().to_owned(),
                    pairs: pairs(scored, from, to, *skill, metric),
                });
            }
        }
    }
    compare_all(compared, correction, Noise::Present)
}

fn pairs(
    scored: &Scored<'_>,
    from: Arm,
    to: Arm,
    skill: Option<&str>,
    metric: ComparedMetric,
) -> Pairs {
    let is_about = |case: &Case| skill.is_none() || case.skill.as_deref() == skill;
    let both = scored.in_arm(from).zip(scored.in_arm(to));
    both.filter(|((case, _), _)| is_about(case))
        .filter_map(|((_, from), (_, to))| Some((value(from, metric)?, value(to, metric)?)))
        .collect()
}

fn value(tally: &ArmTally, metric: ComparedMetric) -> Option<f64> {
    let of = |part: u64, whole: u64| (whole > 0).then(|| as_f64(part) / as_f64(whole));
    match metric {
        ComparedMetric::Job => of(tally.job, tally.checked),
        ComparedMetric::Tokens => of(tally.cost.tokens_in + tally.cost.tokens_out, tally.scored),
        ComparedMetric::ModelCalls => of(tally.cost.model_calls, tally.scored),
        ComparedMetric::ToolCalls => of(tally.cost.tool_calls, tally.scored),
        ComparedMetric::Passed => of(tally.passed, tally.judged),
        // Only where loading is a choice, so never between arms.
        ComparedMetric::Recall | ComparedMetric::Specificity => None,
    }
}
