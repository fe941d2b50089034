//! Folds the stream of a run's results into a report, in memory for its cases, not for its trials.
//!
//! The order of the results does not matter: the same set gives the same report, to the byte once it is written.
//! It judges nothing itself; `triggers`, `arms` and `verdict` make the parts.

use std::collections::{BTreeMap, HashMap};

use metier::skill::text;

use super::arms;
use super::eval_report::{
    ArmTime, CaseArm, CaseOutcome, CaseScore, CaseTrigger, CheckFailure, ConfusionCell, EvalReport,
    REPORT_FORMAT, UnitCounts,
};
use super::tally::{ArmTally, Counted, confused};
use super::triggers;
use super::verdict::{Gates, VerdictReport};
use crate::case::Case;
use crate::plan::{Arm, EvalPlan};
use crate::statistics::{Correction, Rate};
use crate::trial::TrialResult;

/// Characters of a request that a report repeats.
const MAX_INPUT: usize = 400;

/// What a report is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReportOptions {
    /// What the run must reach.
    pub gates: Gates,
    /// How many comparisons at once are corrected.
    pub correction: Correction,
}

/// Folds results into a report.
#[derive(Debug)]
pub struct ReportBuilder<'a> {
    plan: &'a EvalPlan,
    options: ReportOptions,
    places: HashMap<&'a str, usize>,
    /// One a case and arm, the arms of a case together.
    tallies: Vec<ArmTally>,
    confusion: BTreeMap<(Option<String>, Option<String>), u64>,
    foreign: u64,
}

impl<'a> ReportBuilder<'a> {
    /// A report on this plan, without a result so far.
    pub fn new(plan: &'a EvalPlan, options: ReportOptions) -> Self {
        let places = plan.cases.iter().enumerate().map(|(at, case)| (case.id.as_str(), at));
        Self {
            plan,
            options,
            places: places.collect(),
            tallies: vec![ArmTally::default(); plan.cases.len() * plan.arms.len()],
            confusion: BTreeMap::new(),
            foreign: 0,
        }
    }

    /// Adds a result. One that belongs to no unit of the plan, or to one that has a result, is only counted.
    pub fn add(&mut self, result: &TrialResult) {
        let case = self.places.get(result.case.as_str()).copied();
        let arm = self.plan.arms.iter().position(|arm| *arm == result.arm);
        let (Some(case), Some(arm)) = (case, arm) else {
            self.foreign += 1;
            return;
        };
        let tally = &mut self.tallies[case * self.plan.arms.len() + arm];
        if result.trial >= self.plan.trials
            || tally.add(&self.plan.cases[case], result) == Counted::Already
        {
            self.foreign += 1;
            return;
        }
        if result.arm.measures_triggers() && result.error_kind().is_none() {
            for (expected, loaded) in confused(&self.plan.cases[case], result) {
                let cell = (expected.map(str::to_owned), loaded.map(str::to_owned));
                *self.confusion.entry(cell).or_default() += 1;
            }
        }
    }

    /// The report on what was added.
    pub fn finish(self) -> EvalReport {
        let plan = self.plan;
        let units = self.units();
        let scored = Scored { plan, tallies: &self.tallies };
        let skills = triggers::scores(&scored);
        let arms = arms::scores(&scored);
        let report = EvalReport {
            format: REPORT_FORMAT,
            plan: plan.id(),
            harness: plan.harness.clone(),
            subject: plan.subject.clone(),
            judge: plan.judge.clone(),
            tested: plan.skills.clone(),
            verdict: VerdictReport::open(self.options.gates),
            units,
            macro_f1: triggers::macro_f1(&skills),
            skills,
            abstention: triggers::abstention(&scored),
            confusion: self
                .confusion
                .into_iter()
                .map(|((expected, loaded), trials)| ConfusionCell { expected, loaded, trials })
                .collect(),
            correction: self.options.correction,
            comparisons: arms::comparisons(&scored, self.options.correction),
            arms,
            cases: scored.cases().map(|(case, tallies)| case_score(plan, case, tallies)).collect(),
            times: Some(times(&scored)),
        };
        report.judged_by(self.options.gates)
    }

    fn statements_not_judged(&self) -> u64 {
        let statements = self.plan.cases.iter().map(|case| case.expected.output.judge.len());
        if self.plan.judge.is_some() { 0 } else { statements.sum::<usize>() as u64 }
    }

    fn units(&self) -> UnitCounts {
        let mut units = UnitCounts {
            planned: self.plan.unit_count(),
            foreign: self.foreign,
            statements_not_judged: self.statements_not_judged(),
            ..UnitCounts::default()
        };
        for tally in &self.tallies {
            units.scored += tally.scored;
            for (kind, count) in &tally.errors {
                units.errors += count;
                *units.errors_by_kind.entry(kind.as_str().to_owned()).or_default() += count;
            }
        }
        units.missing = units.planned.saturating_sub(units.scored + units.errors);
        units
    }
}

/// The tallies of all cases, in the plan's order.
pub(super) struct Scored<'a> {
    pub(super) plan: &'a EvalPlan,
    tallies: &'a [ArmTally],
}

impl<'a> Scored<'a> {
    /// Each case with the tallies of its arms, in the plan's order.
    pub(super) fn cases(&self) -> impl Iterator<Item = (&'a Case, &'a [ArmTally])> {
        self.plan.cases.iter().zip(self.tallies.chunks(self.plan.arms.len().max(1)))
    }

    /// Each case with its tally in one arm.
    pub(super) fn in_arm(&self, arm: Arm) -> impl Iterator<Item = (&'a Case, &'a ArmTally)> {
        let at = self.plan.arms.iter().position(|one| *one == arm);
        self.cases().filter_map(move |(case, tallies)| Some((case, tallies.get(at?)?)))
    }
}

fn case_score(plan: &EvalPlan, case: &Case, tallies: &[ArmTally]) -> CaseScore {
    let arms = plan.arms.iter().zip(tallies);
    CaseScore {
        id: case.id.clone(),
        digest: case.digest(),
        skill: case.skill.clone(),
        closed: case.expected.skills.is_some(),
        input: text::clip(&case.input, MAX_INPUT).into_owned(),
        file: case.origin.file.clone(),
        line: case.origin.line,
        arms: arms.map(|(arm, tally)| case_arm(*arm, tally)).collect(),
    }
}

fn case_arm(arm: Arm, tally: &ArmTally) -> CaseArm {
    let passed = Rate::of_trials(tally.passed, tally.judged);
    let outcome = match (tally.scored, tally.errors.is_empty()) {
        (0, true) => CaseOutcome::Missing,
        (0, false) => CaseOutcome::Error,
        _ if tally.judged == 0 => CaseOutcome::NothingExpected,
        _ if 2 * tally.passed > tally.judged => CaseOutcome::Passed,
        _ => CaseOutcome::Failed,
    };
    let triggers = tally.triggers.iter().filter_map(|(skill, trigger)| {
        Some(CaseTrigger {
            skill: skill.clone(),
            expected: trigger.expected,
            loaded: Rate::of_trials(trigger.loaded, tally.scored)?,
            instead: trigger.instead.clone(),
        })
    });
    let failed = tally.checks.iter().filter(|(_, check)| check.failed > 0);
    let failures = failed.map(|((kind, name), check)| CheckFailure {
        kind: *kind,
        name: name.clone(),
        failed: check.failed,
        judged: check.judged,
        detail: check.first.text().unwrap_or_default().to_owned(),
    });
    CaseArm {
        arm,
        outcome,
        scored: tally.scored,
        passed,
        job: Rate::of_trials(tally.job, tally.checked),
        errors: tally
            .errors
            .iter()
            .map(|(kind, count)| (kind.as_str().to_owned(), *count))
            .collect(),
        first_error: tally.first_error.text().map(str::to_owned),
        triggers: triggers.collect(),
        called: tally.called.iter().cloned().collect(),
        failures: failures.collect(),
        cost: tally.cost,
    }
}

fn times(scored: &Scored<'_>) -> Vec<ArmTime> {
    let time = |arm: &Arm| {
        let mut time = ArmTime {
            arm: *arm,
            total_ms: 0,
            mean_ms: 0.0,
            slowest_ms: 0,
            slowest_case: String::new(),
        };
        let mut results = 0;
        for (case, tally) in scored.in_arm(*arm) {
            results += tally.results();
            time.total_ms += tally.elapsed_ms;
            if tally.slowest_ms > time.slowest_ms || time.slowest_case.is_empty() {
                time.slowest_ms = tally.slowest_ms;
                time.slowest_case.clone_from(&case.id);
            }
        }
        time.mean_ms = crate::statistics::binomial::as_f64(time.total_ms)
            / crate::statistics::binomial::as_f64(results.max(1));
        time
    };
    scored.plan.arms.iter().map(time).collect()
}
