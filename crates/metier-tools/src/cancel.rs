//! Stopping a call: a small token that callers and tools share.
//!
//! It is asked, not told: a tool looks at it between two pieces of work, at least every few hundred
//! milliseconds. There is no way back: who wants to go on makes a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{FailureCode, ToolFailure};

/// Whether a call is to stop. Clones are one token.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// What also stops this one.
    outer: Option<Arc<Cancel>>,
}

impl Cancel {
    /// A token that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that stops with this one, and can be stopped alone.
    #[must_use]
    pub fn inner(&self) -> Self {
        Self { flag: Arc::default(), outer: Some(Arc::new(self.clone())) }
    }

    /// Stops what looks at it.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Acquire) || self.outer.as_ref().is_some_and(|o| o.is_cancelled())
    }

    /// An error once it was used.
    pub fn check(&self) -> Result<(), ToolFailure> {
        if self.is_cancelled() {
            return Err(ToolFailure::new(FailureCode::Cancelled, "the call was stopped"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_token_stops_with_the_outer_one_and_not_the_other_way() {
        let outer = Cancel::new();
        let (one, two) = (outer.inner(), outer.inner());
        one.cancel();
        assert!(one.is_cancelled() && !two.is_cancelled() && !outer.is_cancelled());
        outer.clone().cancel();
        assert_eq!(two.check().expect_err("stopped").code, FailureCode::Cancelled);
    }
}
