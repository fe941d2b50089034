//! How a run that is answered ended: what was tried counts more than what the model says of it. Pure.
//!
//! A model that was refused, or whose script failed, tends to end with a friendly answer; a program that
//! called `metier run` has to know that nothing was done.

use metier_model::AnswerStatus;
use metier_skill::FailureCode;

use super::answering;
use super::spend::changes;
use crate::event::Status;
use crate::op::{Op, Outcome};
use crate::setup::{Mode, Setup};
use crate::state::{Attempts, State};

/// The status of a run with this answer, and why where it is not completed.
pub(super) fn of_answer(state: &State, said: AnswerStatus) -> (Status, Option<String>) {
    let Attempts { any, succeeded, last_denied, load_denied } = state.attempts;
    let because = |status, words: &str| (status, Some(words.to_owned()));
    match said {
        _ if any && !succeeded && last_denied => {
            because(Status::Denied, "what was wanted was not allowed, and nothing was done")
        }
        _ if any && !succeeded => because(Status::Failed, "nothing that was tried succeeded"),
        AnswerStatus::Failed if load_denied => {
            because(Status::Denied, "what was wanted was not allowed")
        }
        AnswerStatus::Failed => because(Status::Failed, "it did not work; the answer says why"),
        AnswerStatus::Abstained => {
            because(Status::Abstained, "nothing here could be used for the request")
        }
        AnswerStatus::Done if state.setup.mode == Mode::DryRun => {
            because(Status::DryRun, "nothing was run or changed")
        }
        // The answer may say otherwise.
        AnswerStatus::Done if answering::changed_nothing(state) => {
            because(Status::Completed, "nothing was changed in this run")
        }
        AnswerStatus::Done => (Status::Completed, None),
    }
}

/// Counts what came of an operation.
pub(super) fn count(attempts: &mut Attempts, setup: &Setup, op: &Op, outcome: &Outcome) {
    let is_attempt = match op {
        // A loop inside that only read something, and found nothing to do, tried nothing.
        Op::Delegate { .. } => outcome.ok || matches!(inner(outcome), Some("failed" | "denied")),
        op => changes(setup, op) && outcome.code != Some(FailureCode::UnknownTool),
    };
    if is_attempt {
        add(attempts, outcome);
    }
    if let Op::Load { .. } | Op::Delegate { .. } = op {
        attempts.load_denied = is_denied(outcome);
    }
}

/// Counts an attempt.
pub(super) fn add(attempts: &mut Attempts, outcome: &Outcome) {
    if outcome.data.get("dry_run").is_some() {
        return;
    }
    attempts.any = true;
    attempts.succeeded |= outcome.ok;
    attempts.last_denied = is_denied(outcome);
}

/// How a loop inside ended.
fn inner(outcome: &Outcome) -> Option<&str> {
    outcome.data.get("status").and_then(serde_json::Value::as_str)
}

fn is_denied(outcome: &Outcome) -> bool {
    use FailureCode::{HostNotAllowed, NotAllowed, Rejected};
    let refused = matches!(outcome.code, Some(NotAllowed | HostNotAllowed | Rejected));
    refused || (!outcome.ok && inner(outcome) == Some("denied"))
}
