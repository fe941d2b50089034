//! What the driver needs of the world: judging an operation, asking somebody, doing it.
//!
//! The loop sees skills and tools only through [`Hands`], people only through [`Approver`] and
//! models only through [`metier_model::Model`], so that its tests need no disk, no process and no
//! network. The real hands are [`crate::Workshop`].

use metier_cancel::CancelToken;
use metier_policy::{Decision, Effect, Request};
use metier_skill::Digest;

use crate::event::Answer;
use crate::op::{Op, Outcome};

/// Judges operations and does them.
pub trait Hands: Send + Sync {
    /// What the policy says about an operation, and what would do it. Nothing is done yet. `loaded`
    /// are the ids of the skills that the run has loaded.
    fn judge(&self, op: &Op, loaded: &[String]) -> Judged;
}

/// What the policy says, and the very thing that was judged, ready to be done.
pub struct Judged {
    /// What it says.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The digest of the request.
    pub request: Option<Digest>,
    /// The request and the decision about it, for whoever has to answer; nothing where nobody is
    /// asked.
    pub asked: Option<Box<Asked>>,
    /// Does what was judged, and nothing else.
    pub ready: Ready,
}

/// What somebody has to answer, for those who know the policy's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What is wanted.
    pub request: Request,
    /// Why it is a question.
    pub decision: Decision,
}

/// What the policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// Somebody has to answer first.
    Ask,
    /// It may not be done.
    Deny,
    /// It cannot even be judged: there is no such tool, the arguments are wrong. What `ready` gives
    /// says why.
    Impossible,
}

impl From<Effect> for Verdict {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

impl Verdict {
    /// The word in the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny | Self::Impossible => "deny",
        }
    }
}

/// What does an operation that was judged.
pub type Ready = Box<dyn FnOnce(&Doing<'_>) -> Outcome + Send>;

/// What an operation gets while it is done.
pub struct Doing<'d> {
    /// Ends it.
    pub cancel: &'d CancelToken,
    /// Hears output as it comes: the stream's name and the text.
    pub output: &'d (dyn Fn(&str, &str) + Sync),
    /// The answer that let it pass, where one was needed.
    pub answer: Option<&'d Answer>,
}

impl Judged {
    /// An operation that cannot be judged, for this reason.
    pub fn impossible(outcome: Outcome) -> Self {
        Self {
            verdict: Verdict::Impossible,
            reason: outcome.text.as_str().to_owned(),
            request: None,
            asked: None,
            ready: Box::new(move |_| outcome),
        }
    }

    /// An operation that needs nobody's leave.
    pub fn free(ready: Ready) -> Self {
        Self { verdict: Verdict::Allow, reason: String::new(), request: None, asked: None, ready }
    }
}

impl std::fmt::Debug for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judged")
            .field("verdict", &self.verdict)
            .field("reason", &self.reason)
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

/// A question to somebody.
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
}

/// Somebody who answers.
pub trait Approver: Send + Sync {
    /// The answer, and who gave it. Ends as [`Answer::Nobody`] when `cancel` is cancelled, or when
    /// there is nobody.
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> (Answer, String);
}

/// Nobody answers: a run stops at the first question.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn answer(&self, _: &Question<'_>, _: &CancelToken) -> (Answer, String) {
        (Answer::Nobody, "nobody".to_owned())
    }
}

/// Yes to every question, this once; a denial stays a denial.
#[derive(Debug, Clone, Copy, Default)]
pub struct Yes;

impl Approver for Yes {
    fn answer(&self, _: &Question<'_>, _: &CancelToken) -> (Answer, String) {
        (Answer::Once, "yes".to_owned())
    }
}
