//! Cancelling: one [`CancelToken`] from Ctrl-C to the process group.
//!
//! The caller that starts work makes a token, hands clones of it down, and cancels it. The work is
//! woken at once, in the way that suits it; there is no flag to poll:
//!
//! | the work | uses |
//! |---|---|
//! | computes | [`CancelToken::is_cancelled`] between two pieces |
//! | sleeps | [`CancelToken::wait_timeout`] |
//! | blocks in a system call | [`CancelToken::on_cancel`], with a callback that ends the call |
//! | is a future | [`CancelToken::run_until_cancelled`] |
//! | is a part of other work | [`CancelToken::child`] |
//! | may take only so long | [`CancelToken::deadline`] |
//!
//! There is no way back: a request that follows a cancelled one gets a new token. This crate knows
//! nothing of signals, processes and models, and depends on nothing.
//!
//! ```
//! use metier_cancel::CancelToken;
//! use std::time::Duration;
//!
//! let request = CancelToken::new();
//! let script = request.child();
//! let waits = std::thread::spawn(move || script.wait_timeout(Duration::from_secs(60)));
//! request.cancel();
//! assert!(waits.join().unwrap(), "it was woken, not timed out");
//! ```

mod deadline;
mod future;
mod token;

pub use deadline::Deadline;
pub use future::Cancelled;
pub use token::{CancelToken, OnCancel};
