//! A deadline: a token that is cancelled when its time is up.
//!
//! A thread sleeps until then; it is woken when the deadline is dropped, so that none is left behind. There
//! is nothing to poll: whatever waits for the token is woken as by any other cancellation.

use std::io;
use std::time::Duration;

use crate::token::CancelToken;

/// Cancels a token when its time is up; from [`CancelToken::deadline`]. Dropping it stops the clock.
#[derive(Debug)]
pub struct Deadline {
    token: CancelToken,
    /// Ends the thread that waits.
    dropped: CancelToken,
}

impl CancelToken {
    /// A child of this token that is also cancelled when `time` has passed.
    pub fn deadline(&self, time: Duration) -> io::Result<Deadline> {
        let (token, dropped) = (self.child(), Self::new());
        let (cancels, wakes) = (token.clone(), dropped.clone());
        let wait = move || {
            if !wakes.wait_timeout(time) {
                cancels.cancel();
            }
        };
        std::thread::Builder::new().name("metier-deadline".to_owned()).spawn(wait)?;
        Ok(Deadline { token, dropped })
    }
}

impl Deadline {
    /// The token: cancelled with its parent, or when the time is up.
    pub const fn token(&self) -> &CancelToken {
        &self.token
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.dropped.cancel();
    }
}
