//! Waiting for a token as a future.
//! It needs no runtime: the token's callback wakes the task.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::token::{CancelToken, OnCancel};

/// Ready once its token is cancelled; from [`CancelToken::cancelled`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct Cancelled {
    token: CancelToken,
    /// Who is woken, and what wakes them.
    waiting: Option<(Waker, OnCancel)>,
}

impl Cancelled {
    pub(crate) const fn new(token: CancelToken) -> Self {
        Self { token, waiting: None }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        let known =
            self.waiting.as_ref().is_some_and(|(waker, _)| waker.will_wake(context.waker()));
        if !known {
            let waker = context.waker().clone();
            // When it is cancelled meanwhile, the callback runs here and the task is polled again.
            let registered = self.token.on_cancel({
                let waker = waker.clone();
                move || waker.wake()
            });
            self.waiting = Some((waker, registered));
        }
        Poll::Pending
    }
}
