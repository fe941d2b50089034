//! Showing a run as it happens: live on a terminal, plain lines elsewhere, or JSON lines.
//!
//! Progress goes to standard error, the answer to standard output. Everything that a model, a
//! skill or a script says is made safe for a terminal first.

mod json;
mod lines;
mod progress;
mod region;

use metier::agent::Observer;

use crate::error::ApprovalAdvice;

pub(crate) use json::JsonLines;
pub(crate) use lines::Lines;

/// An observer that makes room on the screen for a question.
pub(crate) trait Watcher: Observer + Send {
    /// Clears what is written over: a question follows.
    fn pause(&self);
    /// Ends the line of a question that will not be answered here.
    fn unanswered(&self);
    /// The run has ended, and perhaps waits for an approval, which can be given in this way.
    fn ended(&self, _: Option<&ApprovalAdvice>) {}
}
