//! A set against itself: how many outcomes flip between two runs under the same conditions.
//! A difference that is no larger says nothing about a skill.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::{RunComparison, compare};
use crate::error::Result;
use crate::plan::{Arm, EvalPlan};
use crate::report::{EvalReport, ReportBuilder, ReportOptions};
use crate::statistics::binomial::as_f64;
use crate::store::EvalStore;

/// The noise of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunNoise {
    /// Pairs of trials: the same case, arm and trial in both halves, both scored.
    pub pairs: u64,
    /// Pairs of which one or both are errors: they say nothing about noise.
    #[serde(default)]
    pub errors: u64,
    /// Pairs that came out differently.
    pub flips: u64,
    /// Their share.
    pub flip_rate: f64,
    /// The second half beside the first.
    pub comparison: RunComparison,
}

/// How a trial came out, by its case, arm and number.
type Outcomes = BTreeMap<(String, Arm, u32), Option<bool>>;

/// The noise between two runs of one plan, each in a store of its own.
pub fn run_noise(
    plan: &EvalPlan,
    first: &dyn EvalStore,
    second: &dyn EvalStore,
    options: ReportOptions,
) -> Result<RunNoise> {
    let (before, earlier) = half(plan, first, options)?;
    let (after, later) = half(plan, second, options)?;
    let both = || earlier.iter().filter_map(|(unit, outcome)| Some((outcome, later.get(unit)?)));
    let scored = || both().filter(|(one, two)| one.is_some() && two.is_some());
    let (pairs, flips) =
        (scored().count() as u64, scored().filter(|(one, two)| one != two).count() as u64);
    let errors = both().count() as u64 - pairs;
    let flip_rate = as_f64(flips) / as_f64(pairs.max(1));
    let comparison = compare(&before, &after, options.correction);
    Ok(RunNoise { pairs, errors, flips, flip_rate, comparison })
}

fn half(
    plan: &EvalPlan,
    store: &dyn EvalStore,
    options: ReportOptions,
) -> Result<(EvalReport, Outcomes)> {
    let cases: BTreeMap<&str, _> = plan.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut builder = ReportBuilder::new(plan, options);
    let mut outcomes = Outcomes::new();
    store.results(plan, &mut |result| {
        builder.add(&result);
        let passed = cases.get(result.case.as_str()).and_then(|case| result.passed(case));
        outcomes.insert((result.case, result.arm, result.trial), passed);
        Ok(())
    })?;
    Ok((builder.finish(), outcomes))
}
