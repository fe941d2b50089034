//! A question as a function answers it, and functions in the place of an approver or an observer.
//! A program that needs more implements the traits of `metier-agent`.

use metier_agent::{Answer, Approval, Approver, Event, Observer, Question, Record};
use metier_cancel::CancelToken;
use metier_skill::SkillId;

/// A question, as a function answers it.
#[derive(Debug)]
pub struct ApprovalQuestion<'q> {
    question: &'q Question<'q>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalReply(Option<Answer>);

impl ApprovalQuestion<'_> {
    /// What would be done, in words.
    pub fn action(&self) -> String {
        self.question.op.describe()
    }

    /// Why it is a question.
    pub fn reason(&self) -> &str {
        self.question.reason
    }

    /// The skills whose ceilings the question is about, if it is about that: may they be lifted for
    /// the run? Then [`Self::lift`] is the only yes.
    pub const fn liftable(&self) -> &[SkillId] {
        self.question.liftable
    }

    /// A person lifts the ceilings of [`Self::liftable`] for the run. Never answer so for one.
    pub fn lift(&self) -> ApprovalReply {
        ApprovalReply(Some(Answer::Lift))
    }

    /// Yes, this time.
    pub fn once(&self) -> ApprovalReply {
        ApprovalReply(Some(Answer::Once))
    }

    /// Yes, and it is remembered for this content of the skill: everywhere where the skill is not the
    /// project's, else in this workspace.
    pub fn always(&self) -> ApprovalReply {
        ApprovalReply(Some(Answer::Always))
    }

    /// Yes, and this script is not asked about again, whatever its arguments, while the skill has this
    /// content.
    pub fn always_this_script(&self) -> ApprovalReply {
        ApprovalReply(Some(Answer::AlwaysScript(None)))
    }

    /// No, with words for the model.
    pub fn reject(&self, words: impl Into<String>) -> ApprovalReply {
        ApprovalReply(Some(Answer::Reject(words.into())))
    }

    /// No answer: the run waits, and can be resumed with an approval.
    pub fn leave_open(&self) -> ApprovalReply {
        ApprovalReply(None)
    }
}

/// A function as an approver.
pub(crate) struct AnswerWith<F>(pub(crate) F);

impl<F: Fn(&ApprovalQuestion<'_>) -> ApprovalReply + Send + Sync> Approver for AnswerWith<F> {
    fn answer(&self, question: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        let ApprovalReply(answer) = (self.0)(&ApprovalQuestion { question });
        answer.map(|answer| Approval::new(answer, "program"))
    }
}

/// A function as an observer.
pub(crate) struct EventListener<F>(pub(crate) F);

impl<F: Fn(&Event) + Sync> Observer for EventListener<F> {
    fn event(&self, _: u32, record: &Record) {
        (self.0)(&record.event);
    }

    fn hears_notes(&self) -> bool {
        false
    }
}
