//! The verdict of a run: passed, failed, too little to say, or nothing that could be believed.
//!
//! A gate is passed when the whole 95 % interval lies at or above its bound and failed when the whole interval,
//! widened for the number of gates, lies below it. In between the data do not decide, and the report says how many more would. `builder` calls it.

use serde::{Deserialize, Serialize};

use super::eval_report::{ArmScore, SkillScore, UnitCounts};
use crate::plan::{Arm, ModelKind};
use crate::statistics::binomial::as_f64;
use crate::statistics::{CONFIDENCE, Rate, power, wilson};

/// What a report says in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalVerdict {
    /// Every gate is passed, beyond noise.
    Pass,
    /// Some gate is failed, beyond noise.
    Fail,
    /// Too few cases or trials to say.
    Inconclusive,
    /// The numbers mean nothing: a broken harness, errors, or nothing to score.
    Invalid,
}

impl EvalVerdict {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Invalid => "INVALID",
        }
    }
}

/// What a run must reach. A bound that is not set is not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gates {
    /// The least precision of every skill with positive cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// The least recall of every skill with positive cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// The least share of trials that pass, in the arm in which skills are listed as always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// The largest share of units that may be errors.
    pub errors: f64,
    /// Which model must have decided.
    pub model: RequiredModel,
}

impl Default for Gates {
    /// Better than a coin, beyond noise, and without an error.
    fn default() -> Self {
        Self {
            precision: Some(0.5),
            recall: Some(0.5),
            pass_rate: Some(0.5),
            errors: 0.0,
            model: RequiredModel::Any,
        }
    }
}

/// Which model a gate asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredModel {
    /// Any, the offline and the scripted ones too.
    #[default]
    Any,
    /// A language model.
    Real,
}

/// The verdict and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictReport {
    /// The verdict.
    pub verdict: EvalVerdict,
    /// Why, one sentence each. Empty when all is well.
    pub reasons: Vec<VerdictReason>,
    /// What was asked for.
    pub gates: Gates,
}

/// One reason of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictReason {
    /// The stable code.
    pub code: ReasonCode,
    /// What happened, and what to do next.
    pub message: String,
    /// How many cases like these would decide it, where that is the question and there is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_needed: Option<u64>,
}

/// The stable code of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// There is nothing to score.
    NothingScored,
    /// More errors than the gate allows.
    TooManyErrors,
    /// A gate asks for a language model, and none decided.
    NotARealModel,
    /// No positive case loaded its skill: the harness or the model is broken, or nothing was listed.
    NoPositiveFired,
    /// Some units have no result yet.
    Incomplete,
    /// A gate is failed beyond noise.
    BelowGate,
    /// The interval holds the gate's bound.
    TooFew,
}

impl ReasonCode {
    const fn verdict(self) -> EvalVerdict {
        match self {
            Self::NothingScored
            | Self::TooManyErrors
            | Self::NotARealModel
            | Self::NoPositiveFired => EvalVerdict::Invalid,
            Self::BelowGate => EvalVerdict::Fail,
            Self::TooFew | Self::Incomplete => EvalVerdict::Inconclusive,
        }
    }
}

/// What a verdict is made of.
pub(super) struct Evidence<'a> {
    pub(super) units: &'a UnitCounts,
    pub(super) model: ModelKind,
    pub(super) skills: &'a [SkillScore],
    pub(super) arms: &'a [ArmScore],
}

/// The verdict on a run.
pub(super) fn judge(evidence: &Evidence<'_>, gates: Gates) -> VerdictReport {
    let mut reasons = invalid(evidence, &gates);
    if reasons.is_empty() {
        reasons = failed_or_open(evidence, &gates);
    }
    let has = |verdict| reasons.iter().any(|reason| reason.code.verdict() == verdict);
    let verdict = [EvalVerdict::Invalid, EvalVerdict::Fail, EvalVerdict::Inconclusive]
        .into_iter()
        .find(|verdict| has(*verdict))
        .unwrap_or(EvalVerdict::Pass);
    VerdictReport { verdict, reasons, gates }
}

fn reason(code: ReasonCode, message: String) -> VerdictReason {
    VerdictReason { code, message, cases_needed: None }
}

fn invalid(evidence: &Evidence<'_>, gates: &Gates) -> Vec<VerdictReason> {
    let units = evidence.units;
    let mut reasons = Vec::new();
    if units.scored == 0 {
        let message = match (units.planned, units.errors) {
            (0, _) => "there is no case to run".to_owned(),
            (_, 0) => "no trial has a result yet; run the evals first".to_owned(),
            (_, errors) => format!("no trial could be scored: {}", errors_in_words(units, errors)),
        };
        reasons.push(reason(ReasonCode::NothingScored, message));
    } else if share(units.errors, units.errors + units.scored) > gates.errors {
        let message = format!(
            "{}, and the gate allows {}: resume the run to try them again, or allow more errors",
            errors_in_words(units, units.errors),
            if gates.errors > 0.0 { percent(gates.errors) } else { "none".to_owned() },
        );
        reasons.push(reason(ReasonCode::TooManyErrors, message));
    }
    if gates.model == RequiredModel::Real && evidence.model != ModelKind::Real {
        let which = match evidence.model {
            ModelKind::Router => "the offline model is no language model",
            ModelKind::Mock | ModelKind::Real => "scripted or replayed decisions are no model",
        };
        let message = format!("the gate asks for a language model: {which}");
        reasons.push(reason(ReasonCode::NotARealModel, message));
    }
    let positives =
        |skill: &SkillScore| skill.decisions.true_positives + skill.decisions.false_negatives;
    let expected: u64 = evidence.skills.iter().map(positives).sum();
    if expected > 0 && evidence.skills.iter().all(|skill| skill.decisions.true_positives == 0) {
        let message = format!(
            "none of {} loaded its skill: look at what was done instead before believing any number here",
            counted(expected, "positive trial", "positive trials")
        );
        reasons.push(reason(ReasonCode::NoPositiveFired, message));
    }
    reasons
}

fn failed_or_open(evidence: &Evidence<'_>, gates: &Gates) -> Vec<VerdictReason> {
    let mut reasons = Vec::new();
    if evidence.units.missing > 0 {
        let message = format!(
            "{} of {} have no result yet; resume the run",
            evidence.units.missing,
            counted(evidence.units.planned, "unit", "units")
        );
        reasons.push(reason(ReasonCode::Incomplete, message));
    }
    let asked = asked(evidence, gates);
    let count = u32::try_from(asked.len()).unwrap_or(u32::MAX);
    reasons.extend(asked.iter().filter_map(|gate| gate.open_or_failed(count)));
    reasons
}

/// One share and the bound that it is held against.
struct AskedShare {
    what: String,
    rate: Rate,
    bound: f64,
    cases: u64,
}

fn asked(evidence: &Evidence<'_>, gates: &Gates) -> Vec<AskedShare> {
    let mut asked = Vec::new();
    let mut ask = |what: String, rate: Option<Rate>, bound: Option<f64>, cases: Option<u64>| {
        if let (Some(rate), Some(bound)) = (rate, bound) {
            let cases = cases.unwrap_or_else(|| cases_worth(rate));
            asked.push(AskedShare { what, rate, bound, cases });
        }
    };
    for skill in evidence.skills.iter().filter(|skill| skill.positives > 0) {
        let name = metier::skill::text::quoted(&skill.skill, 64);
        ask(format!("recall of {name}"), skill.recall, gates.recall, Some(skill.positives));
        ask(format!("precision of {name}"), skill.precision, gates.precision, None);
    }
    let main = evidence.arms.iter().find(|arm| arm.arm == Arm::Listed).or(evidence.arms.last());
    if let Some(arm) = main {
        let what = format!("pass rate of the arm {}", arm.arm.as_str());
        ask(what, arm.passed, gates.pass_rate, None);
    }
    asked
}

impl AskedShare {
    /// Why the share is not at or above its bound, if it is not.
    ///
    /// All of the gates must be passed, so each is at 95 %. One that fails is enough to fail, so among many that chance
    /// is divided by their number.
    fn open_or_failed(&self, gates: u32) -> Option<VerdictReason> {
        let Self { what, rate, bound, cases } = self;
        if rate.interval.low >= *bound {
            return None;
        }
        let ends = rate.interval;
        let seen = format!(
            "{what} is {} ({} to {})",
            percent(rate.rate),
            percent(ends.low),
            percent(ends.high)
        );
        let confidence = 1.0 - (1.0 - CONFIDENCE) / f64::from(gates);
        if wilson(rate.rate, rate.effective_trials, confidence).high < *bound {
            let message = format!("{seen}, below the {} that is asked for", percent(*bound));
            return Some(reason(ReasonCode::BelowGate, message));
        }
        let needed = self.cases_needed(if rate.rate < *bound { confidence } else { CONFIDENCE });
        let advice = match needed {
            Some(needed) => format!(
                "about {needed} cases like these would decide it; there {} {cases}",
                if *cases == 1 { "is" } else { "are" }
            ),
            None => "they are too close for any number of cases to decide".to_owned(),
        };
        Some(VerdictReason {
            code: ReasonCode::TooFew,
            message: format!("{seen}, too wide to compare with {}: {advice}", percent(*bound)),
            cases_needed: needed,
        })
    }

    /// The effective trials that are needed, in cases: each case is worth as many as it is now.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of cases, bounded by `trials_for_bound`"
    )]
    fn cases_needed(&self, confidence: f64) -> Option<u64> {
        let trials = power::trials_for_bound(self.rate.rate, self.bound, confidence)?;
        let share = as_f64(trials) / self.rate.effective_trials;
        Some((share * as_f64(self.cases.max(1))).ceil() as u64)
    }
}

/// Where cases are not counted one by one: what the trials are worth.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn cases_worth(rate: Rate) -> u64 {
    rate.effective_trials.round() as u64
}

fn errors_in_words(units: &UnitCounts, errors: u64) -> String {
    let kinds: Vec<String> =
        units.errors_by_kind.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let of = counted(units.planned, "trial", "trials");
    let are = if errors == 1 { "is an error" } else { "are errors" };
    format!("{errors} of {of} {are} ({})", kinds.join(", "))
}

/// A count with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A share as a percentage with one digit, without one where that is zero.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn share(part: u64, whole: u64) -> f64 {
    as_f64(part) / as_f64(whole.max(1))
}
