//! Questions of a run as events that many can hear: the first answer counts.
//!
//! The list is `metier-policy`'s [`Asks`]. A terminal, a web
//! page or a program listens to it and answers. A run never hangs on a question that has no listener left.

use metier_cancel::CancelToken;
use metier_policy::{AskOutcome, Asks};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::executor::{Approval, Approver, Question, ScriptTerms};
use crate::op::Op;

/// Asks every listener.
#[derive(Debug, Clone, Default)]
pub struct AskApprover {
    /// The open questions. What an ask is `about` is [`AskDetails`], as JSON.
    pub asks: Asks,
}

/// What listeners get with a question, besides the request and the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDetails {
    /// What would be done.
    pub operation: Op,
    /// Why it is a question, and what else should be known.
    pub reason: String,
    /// The digest that an approval of it names.
    pub request: Option<Digest>,
    /// Where it is about a script: what that is and may touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptTerms>,
}

impl Approver for AskApprover {
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> Option<Approval> {
        let asked = question.asked?;
        let about = AskDetails {
            operation: question.op.clone(),
            reason: question.reason.to_owned(),
            request: question.request,
            script: asked.script.clone(),
        };
        let about = serde_json::to_string(&about).unwrap_or_default();
        let waiter = self.asks.open(asked.request.clone(), asked.decision.clone(), about);
        // A run that is cancelled withdraws its question everywhere.
        match waiter.wait(cancel) {
            AskOutcome::Answered { answer, by } => Some(Approval { answer, by }),
            AskOutcome::Withdrawn | AskOutcome::TimedOut | AskOutcome::NoListener => None,
        }
    }
}
