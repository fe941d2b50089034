//! Ctrl-C: once asks the run to stop cleanly, twice ends the program at once.
//! A run that was stopped can be resumed; one that was ended, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::error::Exit;

/// Whether somebody wants the run to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where signals cannot be listened to, the system's own way counts.
    pub(crate) fn listen() -> Self {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal sets the flag after the shutdown has looked at it.
            let _ = register_conditional_shutdown(
                signal,
                i32::from(Exit::Interrupted.code()),
                Arc::clone(&wanted),
            );
            let _ = register(signal, Arc::clone(&wanted));
        }
        Self(wanted)
    }

    pub(crate) fn wanted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Forgets it: the run has stopped, the program goes on.
    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }
}
