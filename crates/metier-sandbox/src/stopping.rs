//! Why a run is to end before its own end: the caller cancelled it, or it printed more than it may.
//!
//! One token of the run's own, a child of the caller's, wakes whoever waits in both cases. The reader
//! of a stream cancels only this one: the caller's token may serve other runs as well.

use metier_cancel::CancelToken;

use crate::wire::Stop;

/// What asks a run to end.
#[derive(Debug, Clone)]
pub(crate) struct StopRequest {
    caller: CancelToken,
    own: CancelToken,
}

impl StopRequest {
    /// Nobody has asked yet, unless the caller has.
    pub(crate) fn new(caller: &CancelToken) -> Self {
        Self { caller: caller.clone(), own: caller.child() }
    }

    /// Ends a run that prints without end.
    pub(crate) fn flooded(&self) {
        self.own.cancel();
    }

    /// What wakes whoever waits for the run.
    pub(crate) const fn token(&self) -> &CancelToken {
        &self.own
    }

    /// Why it is to end. A caller who cancelled hears that it was cancelled, whatever else happened.
    pub(crate) fn reason(&self) -> Option<Stop> {
        if self.caller.is_cancelled() {
            Some(Stop::Cancelled)
        } else {
            self.own.is_cancelled().then_some(Stop::Output)
        }
    }
}
