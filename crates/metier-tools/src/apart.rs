//! Work on a thread of its own, as a future that any runtime can wait for.
//!
//! Files block and resolving names blocks; a thread a call keeps that away from whoever waits,
//! without asking for a runtime. Dropping the future stops the work at its next look at the token.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::failure::{FailureCode, ToolFailure};
use crate::output::ToolResult;
use metier_cancel::CancelToken;

/// What a call gives.
pub type Answer = Result<ToolResult, ToolFailure>;

/// A call on its way.
pub type CallFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Does `work` on a thread of its own. The token it gets stops with `cancel`, or when the future is
/// dropped.
pub(crate) fn apart(
    cancel: &CancelToken,
    work: impl FnOnce(&CancelToken) -> Answer + Send + 'static,
) -> CallFuture {
    let own = cancel.child();
    let shared = Arc::new(Mutex::new(Shared { answer: None, waker: None }));
    let waiting = Apart { shared: Arc::clone(&shared), cancel: own.clone() };
    let started = std::thread::Builder::new().name("metier-tool".to_owned()).spawn(move || {
        // A panic is a fault of ours; it must not leave the caller waiting.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            ToolFailure::if_cancelled(&own).and_then(|()| work(&own))
        }));
        finish(&shared, answer.unwrap_or_else(|_| Err(broken("the tool broke off"))));
    });
    if let Err(error) = started {
        finish(&waiting.shared, Err(broken(&format!("no thread could be started: {error}"))));
    }
    Box::pin(waiting)
}

fn broken(message: &str) -> ToolFailure {
    ToolFailure::new(FailureCode::Failed, message)
}

struct Shared {
    answer: Option<Answer>,
    waker: Option<Waker>,
}

fn finish(shared: &Mutex<Shared>, answer: Answer) {
    let waker = {
        let mut held = lock(shared);
        held.answer = Some(answer);
        held.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Apart {
    shared: Arc<Mutex<Shared>>,
    cancel: CancelToken,
}

impl Future for Apart {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let mut shared = lock(&self.shared);
        if let Some(answer) = shared.answer.take() {
            return Poll::Ready(answer);
        }
        shared.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Waits for a future on this thread: for callers without a runtime.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_call_is_stopped_and_a_panic_is_an_answer() {
        let (tell, told) = std::sync::mpsc::channel();
        let future = apart(&CancelToken::new(), move |cancel| {
            tell.send(()).expect("somebody listens");
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            tell.send(()).expect("somebody listens");
            Ok(ToolResult::default())
        });
        told.recv_timeout(std::time::Duration::from_secs(10)).expect("it started");
        drop(future);
        told.recv_timeout(std::time::Duration::from_secs(10)).expect("it stopped");
        let broken = wait(apart(&CancelToken::new(), |_| panic!("on purpose")));
        assert_eq!(broken.expect_err("a failure").code, FailureCode::Failed);
    }
}
