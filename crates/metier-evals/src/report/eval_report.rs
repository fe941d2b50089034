//! The report as a value: what a run came to, in numbers that say how far they hold.
//!
//! `builder` makes it and every writer reads it; it is also what is saved as JSON and compared later. All of it
//! follows from the results alone, except `times`, so that two offline runs give the same report.

use std::collections::BTreeMap;

use metier::skill::Digest;
use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::verdict::{self, Gates, VerdictReport};
use crate::plan::{Arm, SubjectInfo};
use crate::statistics::binomial::as_f64;
use crate::statistics::{Correction, Decisions, Interval, Rate};
use crate::trial::CheckKind;

/// The version of a report's format.
pub const REPORT_FORMAT: u32 = 1;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// The version of this format.
    #[serde(deserialize_with = "crate::format_version::known::<_, REPORT_FORMAT>")]
    pub format: u32,
    /// The plan's id.
    pub plan: Digest,
    /// The version of the program that made the plan.
    pub harness: String,
    /// What was tested.
    pub subject: SubjectInfo,
    /// The model that judged answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// The skills under test, with the digests of their trees.
    pub tested: BTreeMap<String, Digest>,
    /// The verdict, with its reasons.
    pub verdict: VerdictReport,
    /// How many units there are, and what became of them.
    pub units: UnitCounts,
    /// How well each skill is triggered, by name.
    pub skills: Vec<SkillScore>,
    /// The mean of the skills' F1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macro_f1: Option<f64>,
    /// The share of requests without a skill for them in which none was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abstention: Option<Rate>,
    /// Which skill was expected, and which was loaded.
    pub confusion: Vec<ConfusionCell>,
    /// What each arm came to, in the plan's order.
    pub arms: Vec<ArmScore>,
    /// How the comparisons were corrected for being many.
    #[serde(default)]
    pub correction: Correction,
    /// Arms side by side, over the same cases.
    pub comparisons: Vec<Comparison>,
    /// Each case, in the plan's order.
    pub cases: Vec<CaseScore>,
    /// How long it took: the only part that differs between two runs with the same results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<ArmTime>>,
}

impl EvalReport {
    /// The arm that a run is about: the one in which skills are listed as always, or else the last. The others are
    /// there to be compared with it, and may fail.
    pub fn main_arm(&self) -> Option<Arm> {
        let listed = self.arms.iter().find(|arm| arm.arm.measures_triggers());
        listed.or(self.arms.last()).map(|arm| arm.arm)
    }

    /// The score of the arm that a run is about.
    pub(super) fn main_score(&self) -> Option<&ArmScore> {
        let main = self.main_arm();
        self.arms.iter().find(|arm| Some(arm.arm) == main)
    }

    /// The same run held against other gates.
    #[must_use]
    pub fn judged_by(mut self, gates: Gates) -> Self {
        self.verdict = verdict::judge(&self, gates);
        self
    }

    /// Each case in each arm, with whether that is the one that the run is about.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (&CaseScore, &CaseArm, bool)> {
        let main = self.main_arm();
        self.cases.iter().flat_map(move |case| {
            case.arms.iter().map(move |arm| (case, arm, Some(arm.arm) == main))
        })
    }
}

/// How many units there are, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCounts {
    /// Units in the plan.
    pub planned: u64,
    /// Units with an answer that was scored.
    pub scored: u64,
    /// Units that could not be carried out or judged. They count neither as passed nor as failed.
    pub errors: u64,
    /// The same by kind.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Units without a result.
    pub missing: u64,
    /// Results that belong to no unit of the plan, or to one that had a result already.
    pub foreign: u64,
    /// Statements of cases that no judge was named for: nothing says whether they are true.
    #[serde(default)]
    pub statements_not_judged: u64,
}

impl UnitCounts {
    /// The share of errors among the units with a result.
    pub fn error_share(&self) -> f64 {
        as_f64(self.errors) / as_f64((self.errors + self.scored).max(1))
    }
}

impl SkillScore {
    /// Whether it should be loaded, and all of the trials that could show it are errors.
    pub const fn is_unscored(&self) -> bool {
        self.positives == 0 && self.unscored_positives > 0
    }
}

/// A number with its 95 % interval, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// How well one skill is triggered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillScore {
    /// Its name.
    pub skill: String,
    /// Cases in which it should be loaded.
    pub positives: u64,
    /// Cases in which it should not.
    pub negatives: u64,
    /// Cases in which it should be loaded and of which no trial could be scored: all are errors. They are in no
    /// other number.
    #[serde(default)]
    pub unscored_positives: u64,
    /// Trials by what was expected and what happened.
    pub decisions: Decisions,
    /// The share of its loads that were expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Rate>,
    /// The share of what should load it that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Rate>,
    /// The share of what should not load it that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specificity: Option<Rate>,
    /// The harmonic mean of precision and recall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<Estimate>,
    /// The mean of recall and specificity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// Matthews' correlation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matthews: Option<f64>,
    /// Where it should be loaded and was not: what was done first instead, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instead: BTreeMap<String, u64>,
    /// The share of its instructions' steps that were followed after it was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_followed: Option<Rate>,
}

/// How often one skill was expected and another was loaded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConfusionCell {
    /// The skill that was expected; null for no skill.
    pub expected: Option<String>,
    /// The skill that was loaded; null for none, or for one that may be loaded.
    pub loaded: Option<String>,
    /// In how many trials.
    pub trials: u64,
}

/// What one arm came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmScore {
    /// The arm.
    pub arm: Arm,
    /// Trials that are errors.
    pub errors: u64,
    /// The share of trials in which everything judged is as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Rate>,
    /// The same for the job alone: all checks passed, whatever was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Rate>,
    /// The share of checks that passed, by kind.
    pub checks: BTreeMap<CheckKind, Rate>,
    /// The chance that some, and that all, of k trials of a case pass.
    pub pass_at: Vec<PassAt>,
    /// What a trial cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<ArmCost>,
}

/// The chance that some, and that all, of `k` trials of a case pass: means over cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassAt {
    /// How many trials.
    pub k: u64,
    /// Cases with so many scored trials.
    pub cases: u64,
    /// pass@k: at least one of them passes.
    pub any: Estimate,
    /// pass^k: all of them pass.
    pub all: Estimate,
}

/// What a trial of an arm cost: means over scored trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmCost {
    /// Tokens sent.
    pub tokens_in: Estimate,
    /// Tokens received.
    pub tokens_out: Estimate,
    /// Calls of the model.
    pub model_calls: Estimate,
    /// Calls of tools and scripts.
    pub tool_calls: Estimate,
    /// All tokens of the arm, those of errors and of the judge too.
    pub total_tokens: u64,
    /// Tokens of the judge. No mean has them: they say nothing about a skill.
    #[serde(default)]
    pub judge_tokens: u64,
    /// Calls of the judge.
    #[serde(default)]
    pub judge_calls: u64,
    /// Whether tokens were estimated in some trial.
    pub estimated: bool,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseScore {
    /// Its id.
    pub id: String,
    /// The digest of all that it asks and expects: a changed case is another one.
    pub digest: Digest,
    /// The skill that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Whether a skill that it does not expect must not be loaded.
    pub closed: bool,
    /// The request, cut to a few lines.
    pub input: String,
    /// The file that it was written in.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// What became of it in each arm, in the plan's order.
    pub arms: Vec<CaseArm>,
}

/// How a case came out in an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOutcome {
    /// More than half of its judged trials passed.
    Passed,
    /// Half of them or fewer did.
    Failed,
    /// None of its trials could be scored, and some are errors.
    Error,
    /// It has no result.
    Missing,
    /// It expects nothing of this arm.
    NothingExpected,
}

impl CaseOutcome {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Missing => "missing",
            Self::NothingExpected => "nothing expected",
        }
    }
}

/// What became of a case in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseArm {
    /// The arm.
    pub arm: Arm,
    /// How it came out.
    pub outcome: CaseOutcome,
    /// Trials that were scored.
    pub scored: u64,
    /// The share of them in which everything judged is as it should be; absent where nothing is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Rate>,
    /// The same for the job alone; absent where nothing checks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Rate>,
    /// Errors by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// What the first of them said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Which skills were loaded, beside what was expected, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<CaseTrigger>,
    /// The skills that the request calls by name: no model chose them, and they are no triggers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// Checks that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
    /// What its scored trials cost together.
    pub cost: CaseCost,
}

/// How often a case loaded a skill, beside whether it should.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseTrigger {
    /// The skill.
    pub skill: String,
    /// Whether it should be loaded.
    pub expected: bool,
    /// The share of scored trials in which it was.
    pub loaded: Rate,
    /// What was done first instead, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instead: BTreeMap<String, u64>,
}

impl CaseTrigger {
    /// Whether it was loaded whenever it should be, or never when it should not.
    pub const fn is_right(&self) -> bool {
        let wanted = if self.expected { self.loaded.trials } else { 0 };
        self.loaded.successes == wanted
    }
}

/// A check of a case that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFailure {
    /// What was checked.
    pub kind: CheckKind,
    /// What was wanted.
    pub name: String,
    /// In how many scored trials it failed.
    pub failed: u64,
    /// In how many it was judged.
    pub judged: u64,
    /// What the first of them found instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What the scored trials of a case cost together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCost {
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// Calls of the model.
    pub model_calls: u64,
    /// Calls of tools and scripts.
    pub tool_calls: u64,
}

/// How long the trials of an arm took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmTime {
    /// The arm.
    pub arm: Arm,
    /// Milliseconds of all trials together.
    pub total_ms: u64,
    /// The mean of a trial.
    pub mean_ms: f64,
    /// The slowest trial.
    pub slowest_ms: u64,
    /// The case that it belongs to.
    pub slowest_case: String,
}
