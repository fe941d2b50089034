//! Showing a run while it goes on: live on a terminal, plain lines elsewhere, or JSON lines.
//!
//! What goes on is told on standard error, the answer on standard output. Everything that a model, a
//! skill or a script says is made safe for a terminal first.

mod json;
mod lines;

use metier::agent::Observer;

pub(crate) use json::JsonLines;
pub(crate) use lines::Lines;

/// Somebody who watches a run and gives way to a question.
pub(crate) trait Watcher: Observer + Send {
    /// Clears what stands on the line that is being written over.
    fn pause(&self);
    /// The answer has been shown already.
    fn has_answered(&self) -> bool;
}
