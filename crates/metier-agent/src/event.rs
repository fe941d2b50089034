//! Everything that happens in a run, as data. The log is the run: state, display, resume and replay
//! are made from it.
//!
//! *Inputs* come from outside (a reply, a decision of the policy, an outcome) and drive the step.
//! *Outputs* follow from them: replaying the inputs gives the same outputs, or something changed.

use metier_model::{Decision, FaultCode, ModelError, ModelInfo, Plan, Reply, Usage};
use metier_policy::{Answer, Effect};
use metier_skill::{Digest, FailureCode, SkillId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::op::{Op, Outcome, Text};
use crate::run_id::RunId;
use crate::setup::BudgetSetting;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Event {
    /// Input: the run begins.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The run.
        run_id: RunId,
        /// The format of the record: [`crate::log::FORMAT`].
        format: u32,
        /// The version of the program.
        version: String,
        /// The request.
        request: String,
        /// Who decides.
        model: ModelInfo,
        /// What the project's file set about the model, with its lines.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        model_by_project: Vec<String>,
        /// The agent that it was started as.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The hash of the pinned index.
        index_hash: Digest,
        /// The digest of `setup.json`.
        setup_sha256: Digest,
        /// The digest of `index.json`.
        index_sha256: Digest,
    },
    /// Input: the run continues in another process.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// The version of the program.
        version: String,
        /// Whether an operation that was to begin next had not been written down, and so had not
        /// begun.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_begun: bool,
    },
    /// Input: the run is to stop.
    #[serde(rename = "run.cancel_requested")]
    CancelRequested {},
    /// Output: a model is asked.
    #[serde(rename = "model.requested")]
    ModelRequested {
        /// The turn.
        turn: u32,
        /// Bytes of the prompt.
        bytes: u64,
        /// Tokens of it, as an estimate.
        tokens: u64,
        /// The digest of the stable part.
        prefix_sha256: Digest,
        /// The digest of the whole prompt.
        prompt_sha256: Digest,
    },
    /// Information: an attempt failed and another follows.
    #[serde(rename = "model.retrying")]
    ModelRetrying {
        /// The turn.
        turn: u32,
        /// Which attempt failed.
        attempt: u32,
        /// Why.
        error: ModelError,
        /// Milliseconds until the next.
        delay_ms: u64,
    },
    /// Input: the model's reply.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// The turn.
        turn: u32,
        /// The reply.
        reply: Reply,
    },
    /// Input: there is no reply.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// The turn.
        turn: u32,
        /// Why.
        error: ModelError,
    },
    /// Output: the reply is a decision.
    #[serde(rename = "decision.made")]
    DecisionMade {
        /// The turn.
        turn: u32,
        /// The decision.
        decision: Decision,
    },
    /// Output: the reply is none.
    #[serde(rename = "decision.invalid")]
    DecisionInvalid {
        /// The turn.
        turn: u32,
        /// Why, as a stable code.
        code: FaultCode,
        /// Why.
        message: String,
    },
    /// Output: there is a new plan.
    #[serde(rename = "plan.changed")]
    PlanChanged {
        /// The plan.
        plan: Plan,
        /// Whose it is.
        by: PlanAuthor,
    },
    /// Input: what the policy says about an operation. Information, where it is about a body that the
    /// prompt shows from the start: there is no operation then.
    #[serde(rename = "policy.decided")]
    PolicyDecided {
        /// The operation; 0 where there is none.
        op_id: u32,
        /// What it is.
        #[serde(flatten)]
        op: Op,
        /// What it says.
        effect: Effect,
        /// Why, in a sentence.
        reason: String,
        /// What each layer of the policy says.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        layers: Vec<String>,
        /// The digest of the request, for `--approve`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Digest>,
        /// The skills whose ceilings alone refuse it: a person may lift them for the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        liftable: Vec<SkillId>,
    },
    /// Output: the operation needs an answer.
    #[serde(rename = "ask.opened")]
    AskOpened {
        /// The operation.
        op_id: u32,
        /// What it is.
        #[serde(flatten)]
        op: Op,
        /// Why it is a question.
        reason: String,
        /// The digest of the request, for `--approve`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Digest>,
        /// Where there are any, the question is whether a person lifts the ceilings of these skills
        /// for the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        liftable: Vec<SkillId>,
    },
    /// Input: the answer.
    #[serde(rename = "ask.answered")]
    AskAnswered {
        /// The operation.
        op_id: u32,
        /// The answer.
        answer: Answer,
        /// How it was given: `user`, `yes`, `approve`, `program`, ...
        by: String,
    },
    /// Input: no one answered. The run waits, or the ceiling stays.
    #[serde(rename = "ask.unanswered")]
    AskUnanswered {
        /// The operation.
        op_id: u32,
    },
    /// Output: an operation begins. Written before anything is done.
    #[serde(rename = "action.started")]
    ActionStarted {
        /// The operation.
        op_id: u32,
        /// What it is.
        #[serde(flatten)]
        op: Op,
    },
    /// Input: it ended.
    #[serde(rename = "action.finished")]
    ActionFinished {
        /// The operation.
        op_id: u32,
        /// What came of it.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// Output: a skill is not what it was when the run began.
    #[serde(rename = "skill.changed")]
    SkillChanged {
        /// The operation.
        op_id: u32,
        /// The skill.
        skill: SkillId,
        /// Whether it was loaded all the same: only while its frontmatter is as it was.
        loaded: bool,
    },
    /// Output: what the model is shown.
    #[serde(rename = "observation.made")]
    ObservationMade {
        /// The turn.
        turn: u32,
        /// Whether the action was done.
        ok: bool,
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FailureCode>,
        /// Bytes of it.
        bytes: u64,
        /// Its digest.
        sha256: Digest,
    },
    /// Output: old observations were shortened.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// How many.
        shortened: u32,
        /// Tokens of the prompt before.
        tokens_before: u64,
        /// Tokens of the prompt after.
        tokens_after: u64,
    },
    /// Output: a budget is spent; one last turn follows, unless it is the time.
    #[serde(rename = "budget.spent")]
    BudgetSpent {
        /// Which: `turns`, `tool_calls`, `script_runs`, `wall_ms`, `tokens`.
        budget: String,
        /// Its limit.
        limit: u64,
        /// What was used of it.
        #[serde(default)]
        used: u64,
        /// The setting that it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<BudgetSetting>,
    },
    /// Output: the same action had the same result too often; one last turn follows.
    #[serde(rename = "loop.detected")]
    LoopDetected {
        /// The kind of the action.
        action: String,
        /// What it is about.
        target: String,
        /// How often.
        times: u32,
    },
    /// Information: a file that the run deleted is about to be restored. From here on it may be gone
    /// from the trash.
    #[serde(rename = "file.restoring")]
    FileRestoring {
        /// Its reference in the trash.
        reference: String,
        /// Where it was, below the workspace.
        path: String,
    },
    /// Information: it is back.
    #[serde(rename = "file.restored")]
    FileRestored {
        /// Its reference in the trash.
        reference: String,
        /// Where it is, below the workspace.
        path: String,
    },
    /// Output: the run has ended, or waits to be resumed.
    #[serde(rename = "run.finished")]
    RunFinished {
        /// How.
        status: Status,
        /// Why, where it is not completed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Text>,
        /// The answer for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        /// What was spent.
        spent: Spent,
    },
}

/// Whose a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAuthor {
    /// The model gave it.
    Model,
    /// The model gave none: the runtime has one for every run, and moves its steps by what happened.
    Runtime,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is an answer.
    Completed,
    /// Everything was decided about, and nothing done.
    DryRun,
    /// Nothing could be used for the request.
    Abstained,
    /// What was wanted was refused, by a rule or a person.
    Denied,
    /// A budget was spent.
    BudgetExhausted,
    /// It went round in circles.
    Stuck,
    /// What was tried did not work. Without an answer: the model, or something of ours, failed, and it
    /// can be resumed.
    Failed,
    /// It was cancelled. It can be resumed.
    Cancelled,
    /// A question is open. It can be resumed.
    NeedsApproval,
}

impl Status {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::DryRun => "dry_run",
            Self::Abstained => "abstained",
            Self::Denied => "denied",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Stuck => "stuck",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NeedsApproval => "needs_approval",
        }
    }

    /// Whether a run that stopped so without an answer can be resumed.
    pub(crate) const fn can_resume(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::NeedsApproval)
    }
}

/// What a run has spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Decisions of the model.
    pub turns: u32,
    /// Calls of tools, scripts included.
    pub tool_calls: u32,
    /// Runs of scripts.
    pub script_runs: u32,
    /// What the model took.
    pub usage: Usage,
}

impl Event {
    /// Its type, as it is written in a record: `action.started`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run.started",
            Self::RunResumed { .. } => "run.resumed",
            Self::CancelRequested {} => "run.cancel_requested",
            Self::ModelRequested { .. } => "model.requested",
            Self::ModelRetrying { .. } => "model.retrying",
            Self::ModelReplied { .. } => "model.replied",
            Self::ModelFailed { .. } => "model.failed",
            Self::DecisionMade { .. } => "decision.made",
            Self::DecisionInvalid { .. } => "decision.invalid",
            Self::PlanChanged { .. } => "plan.changed",
            Self::PolicyDecided { .. } => "policy.decided",
            Self::AskOpened { .. } => "ask.opened",
            Self::AskAnswered { .. } => "ask.answered",
            Self::AskUnanswered { .. } => "ask.unanswered",
            Self::ActionStarted { .. } => "action.started",
            Self::ActionFinished { .. } => "action.finished",
            Self::SkillChanged { .. } => "skill.changed",
            Self::ObservationMade { .. } => "observation.made",
            Self::ContextCompacted { .. } => "context.compacted",
            Self::BudgetSpent { .. } => "budget.spent",
            Self::LoopDetected { .. } => "loop.detected",
            Self::FileRestoring { .. } => "file.restoring",
            Self::FileRestored { .. } => "file.restored",
            Self::RunFinished { .. } => "run.finished",
        }
    }

    /// Whether it drives the step.
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::RunStarted { .. }
                | Self::RunResumed { .. }
                | Self::CancelRequested {}
                | Self::ModelReplied { .. }
                | Self::ModelFailed { .. }
                | Self::PolicyDecided { op_id: 1.., .. }
                | Self::AskAnswered { .. }
                | Self::AskUnanswered { .. }
                | Self::ActionFinished { .. }
        )
    }

    /// Whether it only informs: it neither drives the step nor follows from it.
    pub const fn is_information(&self) -> bool {
        matches!(
            self,
            Self::ModelRetrying { .. } | Self::FileRestoring { .. } | Self::FileRestored { .. }
        ) || self.is_about_prompt()
    }

    /// Whether it is the decision by which the prompt shows a body from the start.
    pub(crate) const fn is_about_prompt(&self) -> bool {
        matches!(self, Self::PolicyDecided { op_id: 0, .. })
    }

    /// The texts that may be long.
    pub(crate) fn texts(&mut self) -> Vec<&mut Text> {
        match self {
            Self::ActionFinished { outcome, .. } => {
                let mut texts = vec![&mut outcome.text];
                if let Some(skill) = &mut outcome.skill {
                    texts.extend([&mut skill.block, &mut skill.body]);
                }
                texts
            }
            Self::RunFinished { answer: Some(answer), .. } => vec![answer],
            _ => Vec::new(),
        }
    }
}
