//! The verdict of a run: passed, failed, too little to say, or nothing that could be believed.
//!
//! A gate is passed when the whole 95 % interval lies at or above its bound and failed when the whole interval,
//! widened for the number of gates, lies below it. In between the data do not decide, and the report says how many more would. `builder` calls it.

use serde::{Deserialize, Serialize};

use super::eval_report::{CaseScore, EvalReport, SkillScore, UnitCounts};
use crate::error::{EvalError, Result};
use crate::plan::ModelKind;
use crate::statistics::binomial::as_f64;
use crate::statistics::{CONFIDENCE, Rate, normal, power, wilson};

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

impl Gates {
    /// The same with one gate as it is typed: `recall=0.9`, `errors=none` or `model=real`.
    pub fn with(mut self, text: &str) -> Result<Self> {
        let wrong = || {
            EvalError::usage(
                format!("unknown gate `{text}`"),
                "write recall=0.9, precision=0.9, pass_rate=0.8, errors=0.01 or model=real; \
                 `none` in place of a number asks for nothing",
            )
        };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let number = || match value {
            "none" => Ok(None),
            value => {
                let number = value.parse().ok().filter(|number| (0.0..=1.0).contains(number));
                number.map(Some).ok_or_else(wrong)
            }
        };
        match (key, value) {
            ("model", "real") => self.model = RequiredModel::Real,
            ("model", "any") => self.model = RequiredModel::Any,
            ("recall", _) => self.recall = number()?,
            ("precision", _) => self.precision = number()?,
            ("pass_rate", _) => self.pass_rate = number()?,
            ("errors", _) => self.errors = number()?.unwrap_or(1.0),
            _ => return Err(wrong()),
        }
        Ok(self)
    }
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

impl VerdictReport {
    /// No verdict yet.
    pub(super) const fn open(gates: Gates) -> Self {
        Self { verdict: EvalVerdict::Inconclusive, reasons: Vec::new(), gates }
    }
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

/// The verdict on a run that was scored. All that it says follows from the report, so that a saved one can be judged
/// by other gates.
pub(super) fn judge(report: &EvalReport, gates: Gates) -> VerdictReport {
    let mut reasons = invalid(report, &gates);
    if reasons.is_empty() {
        reasons = failed_or_open(report, &gates);
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

fn invalid(report: &EvalReport, gates: &Gates) -> Vec<VerdictReason> {
    let units = &report.units;
    let mut reasons: Vec<VerdictReason> = nothing_scored(report).into_iter().collect();
    if units.scored > 0 && units.error_share() > gates.errors {
        let message = format!(
            "{}, and the gate allows {}: resume the run to try them again, or allow more errors",
            errors_in_words(units),
            if gates.errors > 0.0 { percent(gates.errors) } else { "none".to_owned() },
        );
        reasons.push(reason(ReasonCode::TooManyErrors, message));
    }
    let model = report.subject.model_kind;
    if gates.model == RequiredModel::Real && model != ModelKind::Real {
        let which = match model {
            ModelKind::Router => "the offline model is not a language model",
            ModelKind::Mock | ModelKind::Real => "scripted or replayed decisions are not a model",
        };
        let message = format!("the gate asks for a language model: {which}");
        reasons.push(reason(ReasonCode::NotARealModel, message));
    }
    let of_skills = |of: fn(&SkillScore) -> u64| report.skills.iter().map(of).sum::<u64>();
    let loaded = of_skills(|skill| skill.decisions.true_positives);
    let expected = loaded + of_skills(|skill| skill.decisions.false_negatives);
    // Of a run that was stopped, the positives may be among those that are missing.
    if expected > 0 && loaded == 0 && units.missing == 0 {
        let message = format!(
            "none of {} loaded its skill: look at what was done instead before believing any number here",
            counted(expected, "positive trial", "positive trials")
        );
        reasons.push(reason(ReasonCode::NoPositiveFired, message));
    }
    reasons
}

/// Why a run, what it is about, or a skill of it has no number at all.
fn nothing_scored(report: &EvalReport) -> Option<VerdictReason> {
    let units = &report.units;
    let message = if units.scored == 0 {
        match (units.planned, units.errors) {
            (0, _) => "there is no case to run".to_owned(),
            (_, 0) => {
                "no trial has a result yet: run the evals, or wait for those that run".to_owned()
            }
            _ => format!("no trial could be scored: {}", errors_in_words(units)),
        }
    } else if let Some(skill) = report.skills.iter().find(|skill| skill.is_unscored()) {
        let name = metier::skill::text::quoted(&skill.skill, 64);
        let cases = counted(skill.unscored_positives, "case", "cases");
        format!("no case that should load {name} could be scored: all trials of {cases} are errors")
    } else if let Some(arm) = report.main_score().filter(|arm| arm.passed.is_none()) {
        let arm_word = arm.arm.as_str();
        match (units.missing, arm.errors, units.statements_not_judged) {
            // The rest may be judged.
            (1.., _, _) => return None,
            (0, 1.., _) => format!("no trial of the arm {arm_word} could be scored and judged"),
            (0, 0, 0) => format!("nothing is expected in the arm {arm_word}: nothing was judged"),
            (0, 0, statements) => {
                let statements = counted(statements, "statement", "statements");
                format!("nothing was judged: name a model for {statements} with --judge")
            }
        }
    } else {
        return None;
    };
    Some(reason(ReasonCode::NothingScored, message))
}

fn failed_or_open(report: &EvalReport, gates: &Gates) -> Vec<VerdictReason> {
    let units = &report.units;
    if units.missing > 0 {
        let message = format!(
            "{} of {} have no result yet; resume the run",
            units.missing,
            counted(units.planned, "unit", "units")
        );
        // A run that may be stopped when a result is liked, or is not, proves nothing by what it has so far.
        return vec![reason(ReasonCode::Incomplete, message)];
    }
    let asked = asked(report, gates);
    let count = u32::try_from(asked.len()).unwrap_or(u32::MAX);
    let mut reasons: Vec<VerdictReason> =
        asked.iter().filter_map(|gate| gate.open_or_failed(count)).collect();
    reasons.extend(one_sided(report, gates));
    reasons
}

/// Skills of which something is asked that their cases cannot show: a model that never loads anything passes all negative
/// cases, and one that always does all positive ones.
fn one_sided(report: &EvalReport, gates: &Gates) -> Vec<VerdictReason> {
    let is_about = |skill: &SkillScore| {
        report.cases.iter().any(|case| case.skill.as_deref() == Some(&skill.skill))
    };
    let has_positive = report.skills.iter().any(|skill| skill.positives > 0);
    let message = |skill: &SkillScore| {
        let name = metier::skill::text::quoted(&skill.skill, 64);
        if skill.positives == 0 {
            let is_asked = gates.recall.is_some() && (is_about(skill) || !has_positive);
            return (is_asked && skill.unscored_positives == 0).then(|| {
                format!(
                    "no case should load {name}, so its recall is not known: add cases that should"
                )
            });
        }
        if gates.precision.is_none() || skill.precision.is_some() {
            return None;
        }
        Some(if skill.negatives == 0 {
            format!(
                "every case should load {name}, so its precision is not known: add cases that should not, or \
                 --gate precision=none"
            )
        } else {
            format!("{name} was never loaded, so it has no precision")
        })
    };
    let mut messages: Vec<String> = report.skills.iter().filter_map(message).collect();
    let checks_jobs = report.cases.iter().flat_map(|case| &case.arms).any(|arm| arm.job.is_some());
    let only_abstains = report.abstention.is_some() && !has_positive && !checks_jobs;
    if messages.is_empty() && only_abstains && gates.recall.is_some() {
        messages.push(
            "no case should load a skill, so a model that never loads one passes them all: add cases that should, or \
             --gate recall=none"
                .to_owned(),
        );
    }
    messages.into_iter().map(|message| reason(ReasonCode::TooFew, message)).collect()
}

/// One share and the bound that it is held against.
struct AskedShare {
    what: String,
    rate: Rate,
    bound: f64,
    cases: u64,
}

fn asked(report: &EvalReport, gates: &Gates) -> Vec<AskedShare> {
    let mut asked = Vec::new();
    let mut ask = |what: String, rate: Option<Rate>, bound: Option<f64>, cases: u64| {
        if let (Some(rate), Some(bound)) = (rate, bound) {
            asked.push(AskedShare { what, rate, bound, cases });
        }
    };
    for skill in report.skills.iter().filter(|skill| skill.positives > 0) {
        let name = metier::skill::text::quoted(&skill.skill, 64);
        ask(format!("recall of {name}"), skill.recall, gates.recall, skill.positives);
        let cases = cases_that_load(&report.cases, &skill.skill);
        ask(format!("precision of {name}"), skill.precision, gates.precision, cases);
    }
    if let Some(main) = report.main_score() {
        let arm = main.arm;
        let is_judged =
            |case: &&CaseScore| case.arms.iter().any(|one| one.arm == arm && one.passed.is_some());
        let cases = report.cases.iter().filter(is_judged).count() as u64;
        let what = format!("pass rate of the arm {}", arm.as_str());
        ask(what, main.passed, gates.pass_rate, cases);
    }
    asked
}

/// The cases in which a skill was loaded: those that its precision comes from.
fn cases_that_load(cases: &[CaseScore], skill: &str) -> u64 {
    let loads = |case: &&CaseScore| {
        let measured = case.arms.iter().filter(|arm| arm.arm.measures_triggers());
        let mut triggers = measured.flat_map(|arm| &arm.triggers);
        triggers.any(|trigger| trigger.skill == skill && trigger.loaded.successes > 0)
    };
    cases.iter().filter(loads).count() as u64
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
        let high = wilson(rate.rate, rate.effective_trials, confidence).high;
        if high.max(ends.high) < *bound {
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

    /// The effective trials that are needed, in cases: each case is worth as many as it is now, by the end of the interval
    /// that is in the way.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of cases, bounded by `trials_for_bound`"
    )]
    fn cases_needed(&self, confidence: f64) -> Option<u64> {
        let trials = power::trials_for_bound(self.rate.rate, self.bound, confidence)?;
        let Rate { rate, interval, effective_trials, .. } = self.rate;
        let end = if rate < self.bound { interval.high } else { interval.low };
        let z = normal::quantile(0.5 + CONFIDENCE / 2.0);
        // Wilson's interval ends where the distance is z standard errors of the end itself.
        let worth = z * z * end * (1.0 - end) / (rate - end).powi(2);
        let worth = if worth > 0.0 { worth.min(effective_trials) } else { effective_trials };
        let share = as_f64(trials) / worth;
        // Rounding is no case.
        Some((share * as_f64(self.cases.max(1)) - 1e-6).ceil() as u64)
    }
}

fn errors_in_words(units: &UnitCounts) -> String {
    let errors = units.errors;
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
