//! Ctrl-C: once cancels the request that is being worked on, twice ends the program at once.
//! A run that was stopped can be resumed; one that was ended, too.
//!
//! The handler itself only wakes a thread (a signal handler may do little else), and that thread
//! cancels the token. From there on everything is woken, nothing looks.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use metier::CancelToken;

use crate::error::CommandError;

/// The one of a command that reads sources: its questions are asked in many places, and all end with it.
static OF_SOURCES: OnceLock<Interrupt> = OnceLock::new();

/// The token of the request that is being worked on, which the first signal cancels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<CancelToken>>);

impl Interrupt {
    /// Listens from now on, for a command that reads sources and may install from them.
    pub(crate) fn listen_for_sources() -> CancelToken {
        OF_SOURCES.get_or_init(Self::listen).token()
    }

    /// The token of a command that reads sources.
    pub(crate) fn of_sources() -> Option<CancelToken> {
        OF_SOURCES.get().map(Self::token)
    }

    /// The error of a command that reads sources, once it is cancelled: no answer of a person is a no.
    pub(crate) fn check_sources() -> Result<(), CommandError> {
        match Self::of_sources() {
            Some(token) if token.is_cancelled() => {
                Err(metier::Error::from(metier::pack::PackError::Cancelled).into())
            }
            _ => Ok(()),
        }
    }

    /// Listens from now on. Where signals cannot be listened to, the system's own way counts.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        #[cfg(unix)]
        interrupt.on_signals();
        interrupt
    }

    #[cfg(unix)]
    fn on_signals(&self) {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::iterator::Signals;
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
        let interrupt = self.clone();
        let listen = move || {
            for _ in signals.forever() {
                let token = interrupt.token();
                if token.is_cancelled() {
                    // A second Ctrl-C means "now": no destructors, no buffers.
                    let code = crate::error::Exit::Interrupted.code();
                    signal_hook::low_level::exit(i32::from(code));
                }
                token.cancel();
            }
        };
        // Without the thread the handlers go with `signals`, and a signal ends the program.
        let _ = std::thread::Builder::new().name("metier-signals".to_owned()).spawn(listen);
    }

    /// The token of the request that is being worked on.
    pub(crate) fn token(&self) -> CancelToken {
        self.current().clone()
    }

    /// A new token, for the request that follows a cancelled one.
    pub(crate) fn renew(&self) {
        *self.current() = CancelToken::new();
    }

    fn current(&self) -> MutexGuard<'_, CancelToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
