//! The time of a run: one token for everything that it waits for, cancelled by who started the run or
//! when `wall_ms` is spent.
//!
//! A run that was cancelled can be resumed; one whose time is up has ended. So what was stopped is distinguished
//! here, once: what was cancelled is an input of its own, and what ran out of time is the ordinary
//! input (a reply that failed, an action that did not finish), from whose time the step sees the rest.

use std::time::Duration;

use metier_cancel::{CancelToken, Deadline};
use metier_model::{ModelError, ModelErrorKind};
use metier_skill::FailureCode;

use crate::error::AgentError;
use crate::event::Event;
use crate::op::Outcome;
use crate::state::State;

const TIME_UP: &str = "the time of the run is up";

/// The time of a run.
#[derive(Debug)]
pub(super) struct RunTime<'a> {
    /// Of who started it: a person, or the loop outside.
    asked: &'a CancelToken,
    deadline: Option<Deadline>,
}

impl<'a> RunTime<'a> {
    /// What is left of a run's time, from now on.
    pub(super) fn start(asked: &'a CancelToken, state: &State) -> Result<Self, AgentError> {
        let left = state.setup().limits.wall_ms.map(|limit| limit.saturating_sub(state.elapsed_ms));
        let deadline = left.map(|left| asked.deadline(Duration::from_millis(left)));
        let deadline = deadline.transpose().map_err(|error| AgentError::NoTimer(error.to_string()));
        Ok(Self { asked, deadline: deadline? })
    }

    /// What everything waits for.
    pub(super) fn token(&self) -> &CancelToken {
        self.deadline.as_ref().map_or(self.asked, Deadline::token)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.token().is_cancelled()
    }

    /// The input after something was stopped, given the one that follows when its time was up.
    pub(super) fn stopped(&self, out_of_time: Event) -> Event {
        if self.asked.is_cancelled() { Event::CancelRequested {} } else { out_of_time }
    }

    /// The model did not reply.
    pub(super) fn no_reply(&self, turn: u32) -> Event {
        let error = ModelError::new(ModelErrorKind::TimedOut, TIME_UP);
        self.stopped(Event::ModelFailed { turn, error })
    }

    /// An operation did not finish.
    pub(super) fn unfinished(&self, op_id: u32) -> Event {
        let text = format!("Stopped: {TIME_UP}.");
        let outcome = Outcome::failed(FailureCode::Cancelled, text);
        self.stopped(Event::ActionFinished { op_id, outcome })
    }

    /// A question was not answered.
    pub(super) fn unanswered(&self, op_id: u32) -> Event {
        self.stopped(Event::AskUnanswered { op_id })
    }
}
