//! The token: a flag, a condition variable for those who sleep, and callbacks for those who block.
//!
//! Callbacks run on the thread that cancels, after the flag is set and outside every lock, so that a
//! callback may use any token, this one included. That is also why dropping an [`OnCancel`] does not
//! wait for a callback that is already running: it could be the one that drops it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::future::Cancelled;

/// Whether work is to end. Clones are one token.
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The same as in the state, for a look without a lock.
    is_cancelled: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    /// What cancels this token with its parent; gone with it.
    parent: OnceLock<OnCancel>,
}

#[derive(Default)]
struct State {
    is_cancelled: bool,
    next_key: u64,
    callbacks: BTreeMap<u64, Callback>,
}

type Callback = Box<dyn FnOnce() + Send>;

impl Shared {
    /// No callback runs while it is held, so a panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        // Weak: otherwise parent and child would keep each other alive, and a session that lives for
        // days would gather the tokens of all its requests.
        let weak = Arc::downgrade(&child.shared);
        let registration = self.on_cancel(move || {
            if let Some(shared) = weak.upgrade() {
                Self { shared }.cancel();
            }
        });
        let _only_set_here = child.shared.parent.set(registration);
        child
    }

    /// Ends all work that has this token or a child of it. Wakes who waits and runs the callbacks,
    /// each of them once; later calls do nothing.
    pub fn cancel(&self) {
        let callbacks = {
            let mut state = self.shared.lock();
            if state.is_cancelled {
                return;
            }
            state.is_cancelled = true;
            self.shared.is_cancelled.store(true, Ordering::Release);
            std::mem::take(&mut state.callbacks)
        };
        self.shared.changed.notify_all();
        // One callback that panics must not keep the others from hearing of it.
        let mut panicked = None;
        for callback in callbacks.into_values() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
                panicked.get_or_insert(panic);
            }
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }

    /// Whether it was cancelled, or its parent was.
    pub fn is_cancelled(&self) -> bool {
        // The parent is asked too: between its flag and its callbacks is a moment in which the child
        // does not know yet, and the two must not be seen to disagree.
        self.shared.is_cancelled.load(Ordering::Acquire)
            || self.shared.parent.get().is_some_and(|parent| parent.token.is_cancelled())
    }

    /// Runs `callback` when the token is cancelled, on the thread that cancels it; at once, on this
    /// thread, if it is already. Dropping the guard removes a callback that has not begun.
    ///
    /// A callback wakes a thread (writes to a pipe, sends on a channel) and returns: all others, and
    /// the thread that cancels, wait for it.
    pub fn on_cancel(&self, callback: impl FnOnce() + Send + 'static) -> OnCancel {
        let mut state = self.shared.lock();
        let key = state.next_key;
        state.next_key += 1;
        if state.is_cancelled {
            drop(state);
            callback();
        } else {
            state.callbacks.insert(key, Box::new(callback));
        }
        OnCancel { token: self.clone(), key }
    }

    /// Waits until it is cancelled.
    pub fn wait(&self) {
        let state = self.shared.lock();
        let waited = self.shared.changed.wait_while(state, |state| !state.is_cancelled);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until it is cancelled, no longer than `time`. Gives whether it is.
    pub fn wait_timeout(&self, time: Duration) -> bool {
        let state = self.shared.lock();
        let waited =
            self.shared.changed.wait_timeout_while(state, time, |state| !state.is_cancelled);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_cancelled
    }

    /// A future that is ready once the token is cancelled, on any runtime.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(self.clone())
    }

    /// Waits for `work`; nothing if the token is cancelled before it is done. The token is looked at
    /// first, so that work which is always ready does not keep it from being heard.
    pub async fn run_until_cancelled<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut cancelled = self.cancelled();
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(move |context| {
            use std::task::Poll;
            if std::pin::Pin::new(&mut cancelled).poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

/// A callback that waits for a token. Dropping it removes the callback, unless that has begun.
#[must_use = "dropping it removes the callback"]
pub struct OnCancel {
    token: CancelToken,
    key: u64,
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        // What a callback owns is dropped after the lock is released: it may own a guard of this
        // very token.
        let removed = self.token.shared.lock().callbacks.remove(&self.key);
        drop(removed);
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel").field("token", &self.token).finish_non_exhaustive()
    }
}
