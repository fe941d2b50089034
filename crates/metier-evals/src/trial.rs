//! What came of one trial: what was done, what it cost, and how it was judged.
//!
//! This is the only thing that is stored, as one line of JSON; every report is a fold over these. A
//! trial that could not be carried out or judged is an error of its own kind, never an answer.

use metier::FailureCode;
use metier::agent::Status;
use metier::skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Case;
use crate::plan::{Arm, EvalUnit};

/// The version of a result's format.
pub const RESULT_FORMAT: u32 = 1;

/// What came of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// The version of this format.
    #[serde(deserialize_with = "crate::format_version::known::<_, RESULT_FORMAT>")]
    pub format: u32,
    /// The unit's fingerprint.
    pub fingerprint: Digest,
    /// The case's id.
    pub case: String,
    /// How the skill was offered.
    pub arm: Arm,
    /// Which trial, from 0.
    pub trial: u32,
    /// How it ended.
    pub end: TrialEnd,
    /// The skills that were loaded, in order.
    pub fired: Vec<FiredSkill>,
    /// What was done, in order.
    pub actions: Vec<TrialAction>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether skills were loaded that should be, and those not that should not. Empty where the arm
    /// leaves no choice.
    pub triggers: Vec<TriggerScore>,
    /// What else was judged.
    pub checks: Vec<CheckResult>,
    /// What it cost.
    pub cost: TrialCost,
    /// The id of the run's record, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TrialEnd {
    /// The run came to an end, whatever that was.
    Finished {
        /// How it ended.
        status: Status,
    },
    /// It could not be carried out.
    Error {
        /// What kind of error.
        kind: TrialErrorKind,
        /// What happened.
        message: String,
    },
}

/// Why a trial could not be carried out or judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialErrorKind {
    /// The provider refused, was overloaded, or sent what is no reply.
    Provider,
    /// The provider could not be reached.
    Network,
    /// The prompt does not fit the model.
    ContextOverflow,
    /// The replies were never decisions.
    InvalidReplies,
    /// The skill could not be loaded.
    SkillNotLoadable,
    /// It took longer than a trial may.
    TimedOut,
    /// The sandbox could not run scripts.
    Sandbox,
    /// A judge or another check gave no usable answer.
    Grader,
    /// It was cancelled.
    Cancelled,
    /// The harness itself failed.
    Harness,
    /// It was begun as often as a unit may be, and the worker died each time.
    Lost,
}

impl TrialErrorKind {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Network => "network",
            Self::ContextOverflow => "context_overflow",
            Self::InvalidReplies => "invalid_replies",
            Self::SkillNotLoadable => "skill_not_loadable",
            Self::TimedOut => "timed_out",
            Self::Sandbox => "sandbox",
            Self::Grader => "grader",
            Self::Cancelled => "cancelled",
            Self::Harness => "harness",
            Self::Lost => "lost",
        }
    }
}

/// A skill that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiredSkill {
    /// Its name.
    pub skill: String,
    /// The step at which, from 1; 0 is before the first.
    pub step: u32,
    /// Whether a subagent loaded it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialAction {
    /// The step, from 1.
    pub step: u32,
    /// The kind of action, as `Action::KINDS` spells it.
    pub action: String,
    /// What it was about, for people.
    pub target: String,
    /// The skill's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The file or script in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments: a tool's object, a script's list.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub args: Value,
    /// Whether it worked.
    pub ok: bool,
    /// The stable code of why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// Whether a subagent did it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
}

/// Whether one skill was loaded, beside whether it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerScore {
    /// The skill's name.
    pub skill: String,
    /// Whether it should be loaded.
    pub expected: bool,
    /// Whether it was, within the steps that count.
    pub fired: bool,
    /// Where it should be and was not: the first thing that was done instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl TriggerScore {
    /// Whether it is as it should be.
    pub const fn is_right(&self) -> bool {
        self.expected == self.fired
    }
}

/// What was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// A skill that the request calls by its name: no model chose it.
    Called,
    /// An action that must be done, or not, how often, or in which order.
    Actions,
    /// A step of the skill's instructions, after it was loaded.
    Steps,
    /// What the answer says.
    Output,
    /// A file.
    File,
    /// A program's exit status.
    Command,
    /// A model's judgement.
    Judge,
    /// What may be used.
    Constraint,
}

impl CheckKind {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Called => "called",
            Self::Actions => "actions",
            Self::Steps => "steps",
            Self::Output => "output",
            Self::File => "file",
            Self::Command => "command",
            Self::Judge => "judge",
            Self::Constraint => "constraint",
        }
    }
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// As it should be.
    Passed,
    /// Not as it should be.
    Failed,
    /// It could not be judged: an error, and neither of the two.
    NotGraded,
}

/// One check and how it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was checked.
    pub kind: CheckKind,
    /// What was wanted, for people.
    pub name: String,
    /// How it came out.
    pub outcome: CheckOutcome,
    /// What was found instead; of a judge its question and its answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The first step that decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// What a trial cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCost {
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// Whether tokens were estimated.
    pub estimated: bool,
    /// Calls of the model.
    pub model_calls: u32,
    /// Calls of tools and scripts.
    pub tool_calls: u32,
    /// Tokens sent to the judge and received from it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub judge_tokens: u64,
    /// Calls of the judge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub judge_calls: u64,
    /// Milliseconds of wall time. No other number in a result depends on the clock.
    pub elapsed_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TrialCost {
    /// All tokens, those of the judge too.
    pub const fn all_tokens(&self) -> u64 {
        self.tokens_in + self.tokens_out + self.judge_tokens
    }

    /// All calls of models, those of the judge too.
    pub fn all_calls(&self) -> u64 {
        u64::from(self.model_calls) + self.judge_calls
    }
}

impl TrialResult {
    /// The result of a unit that could not be carried out.
    pub fn of_error(
        case: &str,
        unit: &EvalUnit,
        kind: TrialErrorKind,
        message: impl Into<String>,
    ) -> Self {
        Self {
            format: RESULT_FORMAT,
            fingerprint: unit.fingerprint,
            case: case.to_owned(),
            arm: unit.arm,
            trial: unit.trial,
            end: TrialEnd::Error { kind, message: message.into() },
            fired: Vec::new(),
            actions: Vec::new(),
            answer: None,
            triggers: Vec::new(),
            checks: Vec::new(),
            cost: TrialCost::default(),
            run: None,
        }
    }

    /// Whether everything that was judged is as it should be; nothing where the trial is an error or nothing
    /// was judged. `case` is the one that was tried.
    pub fn passed(&self, case: &Case) -> Option<bool> {
        if self.error_kind().is_some() || !self.is_judged(case) {
            return None;
        }
        let triggers = self.triggers.iter().all(TriggerScore::is_right);
        let checks = self.checks.iter().all(|check| check.outcome == CheckOutcome::Passed);
        Some(triggers && checks)
    }

    /// Whether anything is judged: which skills are loaded, also where none should be, or a check.
    fn is_judged(&self, case: &Case) -> bool {
        let judges_triggers = self.arm.measures_triggers() && case.expected.is_about_skills();
        judges_triggers || !self.triggers.is_empty() || !self.checks.is_empty()
    }

    /// What kind of error it is, if it is one.
    pub fn error_kind(&self) -> Option<TrialErrorKind> {
        match &self.end {
            TrialEnd::Error { kind, .. } => Some(*kind),
            TrialEnd::Finished { .. } => {
                let ungraded = |check: &CheckResult| check.outcome == CheckOutcome::NotGraded;
                self.checks.iter().any(ungraded).then_some(TrialErrorKind::Grader)
            }
        }
    }
}
