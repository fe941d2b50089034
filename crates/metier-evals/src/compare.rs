//! A run beside a baseline: what got better or worse beyond noise, for each skill and measure.
//!
//! Both are reports, so a saved one is as good as a new one. A case counts when it asks and expects the same in
//! both and was scored in both. Where no model decides, the same run gives the same results, and any difference is
//! one; otherwise it must be larger than chance explains, corrected for all comparisons made.

use std::collections::{BTreeMap, BTreeSet};

use metier::skill::Digest;
use metier::skill::text::{quoted, short_line};
use serde::{Deserialize, Serialize};

use crate::plan::{Arm, ModelKind, SubjectInfo};
use crate::report::comparison::{Compared, Noise, Pairs, compare_all};
use crate::report::{
    CaseArm, CaseOutcome, CaseScore, ComparedMetric, Comparison, ComparisonResult, EvalReport,
    EvalVerdict, ReasonCode,
};
use crate::statistics::Correction;
use crate::statistics::binomial::as_f64;

/// Changed cases that are shown one by one.
const MAX_SHOWN: usize = 20;

/// What a comparison of two runs says in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunChange {
    /// Some measure of quality is worse, beyond noise.
    Regression,
    /// Some measure of quality is better, beyond noise, and none is worse.
    Improvement,
    /// Nothing that chance does not explain.
    NoDifference,
    /// The two cannot be compared.
    Invalid,
}

impl RunChange {
    /// The words that are written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Regression => "REGRESSION",
            Self::Improvement => "IMPROVEMENT",
            Self::NoDifference => "NO DIFFERENCE SEEN",
            Self::Invalid => "INVALID",
        }
    }
}

/// One side of a comparison of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// The plan's id.
    pub plan: Digest,
    /// The version of the program that made it.
    pub harness: String,
    /// What was tested.
    pub subject: SubjectInfo,
    /// Its own verdict.
    pub verdict: EvalVerdict,
}

/// A case whose outcome changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCase {
    /// The case's id.
    pub case: String,
    /// The arm.
    pub arm: Arm,
    /// How it came out in the baseline.
    pub before: CaseOutcome,
    /// How it comes out now.
    pub after: CaseOutcome,
}

/// A run beside a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// What it comes to.
    pub change: RunChange,
    /// The baseline.
    pub baseline: ComparedRun,
    /// The run.
    pub current: ComparedRun,
    /// What a reader has to know: why the two cannot be compared, or what else differs.
    pub notes: Vec<String>,
    /// Cases that both have, and that ask and expect the same.
    pub cases: u64,
    /// Cases that both have, and that differ in what they ask or expect. They are not compared.
    pub edited: Vec<String>,
    /// Cases that only one of the two has.
    pub only_in_one: u64,
    /// How they were corrected for being many.
    #[serde(default)]
    pub correction: Correction,
    /// The measures.
    pub comparisons: Vec<Comparison>,
    /// Cases whose outcome changed.
    pub changed: Vec<ChangedCase>,
}

impl RunComparison {
    /// Whether a build should fail on it.
    pub fn fails(&self) -> bool {
        matches!(self.change, RunChange::Regression | RunChange::Invalid)
    }
}

/// Compares a run with a baseline.
pub fn compare(
    baseline: &EvalReport,
    current: &EvalReport,
    correction: Correction,
) -> RunComparison {
    let shared = Shared::of(baseline, current);
    let noise = if is_deterministic(baseline) && is_deterministic(current) {
        Noise::Absent
    } else {
        Noise::Present
    };
    let mut notes = obstacles(baseline, current, &shared);
    let change_if_valid = notes.is_empty();
    if only_nothing_fired(baseline) {
        notes.push(format!("the baseline is invalid: {}", reasons(baseline)));
    }
    notes.extend(differences(baseline, current));
    let comparisons = compare_all(measures(&shared), correction, noise);
    let has =
        |result| comparisons.iter().any(|one| one.metric.is_quality() && one.result == result);
    let change = if !change_if_valid {
        RunChange::Invalid
    } else if has(ComparisonResult::Worse) {
        RunChange::Regression
    } else if has(ComparisonResult::Better) {
        RunChange::Improvement
    } else {
        RunChange::NoDifference
    };
    RunComparison {
        change,
        baseline: side(baseline),
        current: side(current),
        notes,
        cases: shared.cases.len() as u64,
        edited: shared.edited.iter().map(|id| (*id).to_owned()).collect(),
        only_in_one: shared.only_in_one,
        correction,
        comparisons,
        changed: changed(&shared),
    }
}

fn side(report: &EvalReport) -> ComparedRun {
    ComparedRun {
        plan: report.plan,
        harness: report.harness.clone(),
        subject: report.subject.clone(),
        verdict: report.verdict.verdict,
    }
}

fn is_deterministic(report: &EvalReport) -> bool {
    report.subject.model_kind != ModelKind::Real && report.judge.is_none()
}

/// The cases of both runs.
struct Shared<'a> {
    cases: Vec<(&'a CaseScore, &'a CaseScore)>,
    edited: Vec<&'a str>,
    only_in_one: u64,
}

impl<'a> Shared<'a> {
    fn of(baseline: &'a EvalReport, current: &'a EvalReport) -> Self {
        let mut before: BTreeMap<&str, &CaseScore> =
            baseline.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let mut shared = Self { cases: Vec::new(), edited: Vec::new(), only_in_one: 0 };
        for case in &current.cases {
            match before.remove(case.id.as_str()) {
                Some(old) if old.digest == case.digest => shared.cases.push((old, case)),
                Some(_) => shared.edited.push(&case.id),
                None => shared.only_in_one += 1,
            }
        }
        shared.only_in_one += before.len() as u64;
        shared
    }

    /// Each case's results in an arm, on both sides, where both have scored trials.
    fn in_arm(&self, arm: Arm) -> impl Iterator<Item = (&'a CaseScore, &'a CaseArm, &'a CaseArm)> {
        let of = move |case: &'a CaseScore| {
            case.arms.iter().find(|one| one.arm == arm && one.scored > 0)
        };
        self.cases.iter().filter_map(move |(old, new)| Some((*new, of(old)?, of(new)?)))
    }
}

/// Why the two cannot be compared.
fn obstacles(baseline: &EvalReport, current: &EvalReport, shared: &Shared<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, report) in [("the baseline", baseline), ("this run", current)] {
        let units = &report.units;
        if units.missing > 0 {
            let planned = crate::report::counted(units.planned, "unit", "units");
            notes.push(format!(
                "{name} is not complete: {} of {planned} have no result",
                units.missing
            ));
        }
        let is_fixable = std::ptr::eq(report, baseline) && only_nothing_fired(report);
        if report.verdict.verdict == EvalVerdict::Invalid && !is_fixable {
            notes.push(format!("{name} is invalid: {}", reasons(report)));
        }
    }
    let is_scored = Arm::ALL.into_iter().any(|arm| shared.in_arm(arm).next().is_some());
    if notes.is_empty() && !is_scored {
        notes.push("the two runs have no scored case in common".to_owned());
    }
    notes
}

/// Whether nothing is wrong with a run but that no positive case loaded its skill: its results are what they are, and
/// what fixed them is seen beside them.
fn only_nothing_fired(report: &EvalReport) -> bool {
    let reasons = &report.verdict.reasons;
    !reasons.is_empty() && reasons.iter().all(|reason| reason.code == ReasonCode::NoPositiveFired)
}

fn reasons(report: &EvalReport) -> String {
    let reasons = report.verdict.reasons.iter().map(|reason| reason.message.as_str());
    reasons.collect::<Vec<_>>().join("; ")
}

/// What differs besides the results.
fn differences(baseline: &EvalReport, current: &EvalReport) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (&baseline.subject, &current.subject);
    let model = |subject: &SubjectInfo| {
        quoted(&format!("{} {} {}", subject.kind, subject.provider, subject.model), 120)
    };
    if (&old.kind, &old.provider, &old.model) != (&new.kind, &new.provider, &new.model) {
        notes.push(format!("what is tested changed from {} to {}", model(old), model(new)));
    } else if old.settings != new.settings {
        notes.push("the settings, the prompt or the parameters changed".to_owned());
    }
    if baseline.judge != current.judge {
        notes.push("the judge changed: its judgements are not comparable".to_owned());
    }
    if baseline.harness != current.harness {
        notes.push(format!(
            "the program changed from {} to {}",
            short_line(&baseline.harness, 40),
            short_line(&current.harness, 40)
        ));
    }
    let skills: Vec<String> = current
        .tested
        .iter()
        .filter(|(name, digest)| baseline.tested.get(*name).is_some_and(|old| old != *digest))
        .map(|(name, _)| quoted(name, 64))
        .collect();
    if !skills.is_empty() {
        notes.push(format!("changed: {}", skills.join(", ")));
    }
    notes
}

fn measures(shared: &Shared<'_>) -> Vec<Compared> {
    let skills: BTreeSet<&str> =
        shared.cases.iter().filter_map(|(_, case)| case.skill.as_deref()).collect();
    let mut compared = Vec::new();
    for arm in Arm::ALL {
        let mut add = |skill: Option<&str>, metric, pairs: Pairs| {
            let name = arm.as_str();
            compared.push(Compared {
                skill: skill.map(str::to_owned),
                metric,
                from: format!("{name} (baseline)"),
                to: name.to_owned(),
                pairs,
            });
        };
        for metric in [
            ComparedMetric::Passed,
            ComparedMetric::Tokens,
            ComparedMetric::ModelCalls,
            ComparedMetric::ToolCalls,
        ] {
            add(None, metric, pairs_of(shared, arm, None, metric));
        }
        for skill in skills.iter().copied().filter(|_| skills.len() > 1) {
            let metric = ComparedMetric::Passed;
            add(Some(skill), metric, pairs_of(shared, arm, Some(skill), metric));
        }
        for skill in triggered(shared, arm) {
            let (recall, specificity) = trigger_pairs(shared, arm, skill);
            add(Some(skill), ComparedMetric::Recall, recall);
            // Never loaded wrongly on either side: there is nothing to compare.
            if specificity.iter().any(|(before, after)| *before < 1.0 || *after < 1.0) {
                add(Some(skill), ComparedMetric::Specificity, specificity);
            }
        }
    }
    compared
}

fn pairs_of(shared: &Shared<'_>, arm: Arm, skill: Option<&str>, metric: ComparedMetric) -> Pairs {
    let is_about = |case: &CaseScore| skill.is_none() || case.skill.as_deref() == skill;
    let value = |arm: &CaseArm| {
        let mean = |sum: u64| as_f64(sum) / as_f64(arm.scored);
        Some(match metric {
            ComparedMetric::Tokens => mean(arm.cost.tokens_in + arm.cost.tokens_out),
            ComparedMetric::ModelCalls => mean(arm.cost.model_calls),
            ComparedMetric::ToolCalls => mean(arm.cost.tool_calls),
            ComparedMetric::Job => arm.job?.rate,
            ComparedMetric::Passed | ComparedMetric::Recall | ComparedMetric::Specificity => {
                arm.passed?.rate
            }
        })
    };
    let of_arm = shared.in_arm(arm).filter(|(case, _, _)| is_about(case));
    of_arm.filter_map(|(_, old, new)| Some((value(old)?, value(new)?))).collect()
}

/// The skills that were expected or loaded in an arm.
fn triggered<'a>(shared: &Shared<'a>, arm: Arm) -> BTreeSet<&'a str> {
    let both =
        shared.in_arm(arm).flat_map(|(_, old, new)| old.triggers.iter().chain(&new.triggers));
    both.map(|trigger| trigger.skill.as_str()).collect()
}

/// The pairs of recall and of specificity of a skill, one a case.
fn trigger_pairs(shared: &Shared<'_>, arm: Arm, skill: &str) -> (Pairs, Pairs) {
    let (mut recall, mut specificity) = (Vec::new(), Vec::new());
    for (case, old, new) in shared.in_arm(arm) {
        let find = |arm: &CaseArm| {
            let trigger = arm.triggers.iter().find(|trigger| trigger.skill == skill)?;
            Some((trigger.expected, trigger.loaded.rate))
        };
        // Neither run left the skill to its model: there is nothing to lose.
        let is_called = |arm: &CaseArm| arm.called.iter().any(|called| called == skill);
        match (find(old), find(new)) {
            (None, None) if is_called(old) || is_called(new) => {}
            (Some((true, before)), Some((true, after))) => recall.push((before, after)),
            (None, None) if case.closed => specificity.push((1.0, 1.0)),
            (None, None) => {}
            // A skill that was neither expected nor loaded has no entry.
            (before, after) => {
                let quiet = |found: Option<(bool, f64)>| 1.0 - found.map_or(0.0, |(_, rate)| rate);
                specificity.push((quiet(before), quiet(after)));
            }
        }
    }
    (recall, specificity)
}

fn changed(shared: &Shared<'_>) -> Vec<ChangedCase> {
    let mut changed = Vec::new();
    for (old, new) in &shared.cases {
        for after in &new.arms {
            let before = old.arms.iter().find(|arm| arm.arm == after.arm);
            let Some(before) = before.filter(|before| before.outcome != after.outcome) else {
                continue;
            };
            changed.push(ChangedCase {
                case: new.id.clone(),
                arm: after.arm,
                before: before.outcome,
                after: after.outcome,
            });
        }
    }
    changed
}

/// What a reader has to know beside the measures, one sentence each.
fn remarks(comparison: &RunComparison) -> Vec<String> {
    let cases = |count: u64| crate::report::counted(count, "case", "cases");
    let mut remarks = comparison.notes.clone();
    if !comparison.edited.is_empty() {
        remarks.push(format!("{} left out: edited since", cases(comparison.edited.len() as u64)));
    }
    if comparison.only_in_one > 0 {
        let cases = cases(comparison.only_in_one);
        remarks.push(format!("{cases} left out: only one of the two runs has them"));
    }
    remarks
}

/// The comparison as Markdown, for a pull request or a step summary.
pub fn comparison_markdown(comparison: &RunComparison) -> String {
    use crate::report::markdown::{comparisons, escape};

    let cases = crate::report::counted(comparison.cases, "case", "cases");
    let mut out = format!(
        "# Compared with a baseline: {}\n\n{cases} compared.\n",
        comparison.change.as_str()
    );
    let remarks = remarks(comparison);
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        out.push_str(&format!("- {}\n", escape(&remark)));
    }
    comparisons(&comparison.comparisons, &mut out);
    if !comparison.changed.is_empty() {
        out.push_str("\n## Cases that come out otherwise\n\n");
    }
    for case in comparison.changed.iter().take(MAX_SHOWN) {
        let (before, after) = (case.before.as_str(), case.after.as_str());
        let (id, arm) = (escape(&case.case), case.arm.as_str());
        out.push_str(&format!("- {id} ({arm}): {before}, now {after}\n"));
    }
    if comparison.changed.len() > MAX_SHOWN {
        out.push_str(&format!("- and {} more\n", comparison.changed.len() - MAX_SHOWN));
    }
    out
}

/// The comparison as plain text for a terminal.
pub fn comparison_text(comparison: &RunComparison) -> String {
    let mut out = format!(
        "{}: {} compared\n",
        comparison.change.as_str(),
        crate::report::counted(comparison.cases, "case", "cases")
    );
    for remark in remarks(comparison) {
        out.push_str(&format!("  - {}\n", short_line(&remark, 400)));
    }
    crate::report::text::comparisons(&comparison.comparisons, &mut out);
    if !comparison.changed.is_empty() {
        out.push_str("\ncases that come out otherwise\n");
    }
    for case in comparison.changed.iter().take(MAX_SHOWN) {
        let (before, after) = (case.before.as_str(), case.after.as_str());
        let arm = case.arm.as_str();
        out.push_str(&format!("  {} ({arm}): {before}, now {after}\n", quoted(&case.case, 80)));
    }
    if comparison.changed.len() > MAX_SHOWN {
        out.push_str(&format!("  and {} more\n", comparison.changed.len() - MAX_SHOWN));
    }
    out
}
