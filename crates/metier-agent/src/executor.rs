//! What the driver needs of the world: judging an operation, asking for approval, doing it.
//!
//! The loop sees skills and tools only through [`Executor`], people only through [`Approver`] and
//! models only through [`metier_model::Model`], so that its tests need no disk, no process and no
//! network. The real one is [`crate::LocalExecutor`].

use std::path::PathBuf;
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_policy::{Answer, Effect, PolicyDecision, Request};
use metier_sandbox::{NetworkAccess, Secrets, Tier};
use metier_skill::{Digest, SkillId, Source};
use serde::{Deserialize, Serialize};

use crate::op::{Op, Outcome};

/// Judges operations and does them.
pub trait Executor: Send + Sync {
    /// What the policy says about an operation, and what would do it. Nothing is done yet.
    fn judge(&self, op: &Op, skills: &RunSkills) -> Judgement;

    /// Values that are never sent to the model, shown or recorded; nothing where there are none.
    fn secrets(&self) -> Option<&Arc<Secrets>> {
        None
    }
}

/// The skills that have a say in a run, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSkills {
    /// Those that it has loaded, in the order of loading.
    pub loaded: Vec<SkillId>,
    /// Those that the run outside had loaded when it started this one as a subagent.
    pub outer: Vec<SkillId>,
    /// Those of both whose ceilings a person lifted for the run.
    pub lifted: Vec<SkillId>,
}

/// What is said about an operation.
#[derive(Debug)]
pub enum Judgement {
    /// The policy has decided.
    Decided(DecidedAction),
    /// It cannot even be judged: there is no such tool, the arguments are wrong. This says why.
    Impossible(Box<Outcome>),
}

/// What the policy says, and the very thing that was judged, prepared to be done.
pub struct DecidedAction {
    /// What it says.
    pub effect: Effect,
    /// Why, in a sentence.
    pub reason: String,
    /// What each layer of the policy says, for the record.
    pub layers: Vec<String>,
    /// The digest of the request.
    pub request: Option<Digest>,
    /// The request and the decision about it, for the approver; nothing where no question is
    /// asked.
    pub asked: Option<Box<Asked>>,
    /// The skills whose ceilings alone refuse it: a person may lift them for the run.
    pub liftable: Vec<SkillId>,
    /// Does what was judged, and nothing else.
    pub prepared: PreparedAction,
}

/// What has to be approved, in the policy's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What is wanted.
    pub request: Request,
    /// Why it is a question.
    pub decision: PolicyDecision,
    /// Where it is about a script: what that is and may touch.
    pub script: Option<ScriptTerms>,
}

impl Asked {
    /// A question about something other than a script.
    pub const fn new(request: Request, decision: PolicyDecision) -> Self {
        Self { request, decision, script: None }
    }
}

/// What a person should know about a script before they let it run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptTerms {
    /// Where its skill comes from.
    pub source: Source,
    /// The folder of its skill; nothing where it is built in.
    pub folder: Option<PathBuf>,
    /// The project, which it may read; nothing where it does not see it.
    pub workspace: Option<PathBuf>,
    /// Files that it is given as copies.
    pub given: Vec<PathBuf>,
    /// Whether it has the network.
    pub network: NetworkAccess,
    /// Seconds until it is stopped.
    pub seconds: u64,
    /// What confines it.
    pub tier: Tier,
    /// Its text, or the start of it.
    pub text: String,
}

/// What does an operation that was judged.
pub type PreparedAction = Box<dyn FnOnce(&ActionContext<'_>) -> Outcome + Send>;

/// What an operation gets while it is done.
pub struct ActionContext<'d> {
    /// Ends it.
    pub cancel: &'d CancelToken,
    /// Hears output as it comes: the stream's name and the text.
    pub output: &'d (dyn Fn(&str, &str) + Sync),
    /// The answer that let it pass, where one was needed.
    pub answer: Option<&'d Answer>,
}

impl Judgement {
    /// An operation that cannot be judged, for this reason.
    pub fn impossible(outcome: impl Into<Box<Outcome>>) -> Self {
        Self::Impossible(outcome.into())
    }

    /// An operation that needs no permission.
    pub fn free(prepared: PreparedAction) -> Self {
        Self::Decided(DecidedAction {
            effect: Effect::Allow,
            reason: String::new(),
            layers: Vec::new(),
            request: None,
            asked: None,
            liftable: Vec::new(),
            prepared,
        })
    }
}

impl std::fmt::Debug for DecidedAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DecidedAction")
            .field("effect", &self.effect)
            .field("reason", &self.reason)
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

/// A question to an approver.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// What is wanted.
    pub op: &'q Op,
    /// Why it is a question.
    pub reason: &'q str,
    /// The digest of the request.
    pub request: Option<Digest>,
    /// The request itself, where the policy was asked about one.
    pub asked: Option<&'q Asked>,
    /// Where there are any, the question is whether the ceilings of these skills are lifted for the
    /// run, and [`Answer::Lift`] is the only yes. Only a person may give it.
    pub liftable: &'q [SkillId],
}

/// Answers questions.
pub trait Approver: Send + Sync {
    /// The answer; nothing when there is none, or when `cancel` is cancelled first. Then the run
    /// waits, and can be resumed; a question about ceilings without an answer is a refusal.
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> Option<Approval>;
}

/// An answer, and how it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The answer.
    pub answer: Answer,
    /// How it was given, as the record says: `user`, `yes`, `approve`, `program`, ...
    pub by: String,
}

impl Approval {
    /// This answer, given in this way.
    pub fn new(answer: Answer, by: impl Into<String>) -> Self {
        Self { answer, by: by.into() }
    }
}

/// No one answers: a run stops at the first question.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn answer(&self, _: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        None
    }
}

/// Yes to every question, this once; a denial stays a denial, and a ceiling is not lifted.
#[derive(Debug, Clone, Copy, Default)]
pub struct AutoApprove;

impl Approver for AutoApprove {
    fn answer(&self, question: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        question.liftable.is_empty().then(|| Approval::new(Answer::Once, "yes"))
    }
}
