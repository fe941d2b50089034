//! Why a run is stopped early: the caller cancelled it, or it printed more than it may.
//!
//! The run has its own token, a child of the caller's, which wakes the waiting thread in both cases.
//! The reader of a stream cancels only this one: other runs may share the caller's token.

use metier_cancel::CancelToken;

use crate::wire::StopReason;

/// What asks a run to end.
#[derive(Debug, Clone)]
pub(crate) struct StopRequest {
    caller: CancelToken,
    own: CancelToken,
}

impl StopRequest {
    /// Not stopped yet, unless the caller has already cancelled.
    pub(crate) fn new(caller: &CancelToken) -> Self {
        Self { caller: caller.clone(), own: caller.child() }
    }

    /// Ends a run that prints without end.
    pub(crate) fn flooded(&self) {
        self.own.cancel();
    }

    /// The token that wakes the thread that waits for the run.
    pub(crate) const fn token(&self) -> &CancelToken {
        &self.own
    }

    /// Why it is to end. A cancellation by the caller takes precedence.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        if self.caller.is_cancelled() {
            Some(StopReason::Cancelled)
        } else {
            self.own.is_cancelled().then_some(StopReason::Output)
        }
    }
}
