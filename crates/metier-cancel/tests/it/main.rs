//! The laws of a token: heard once, by all, in time.
//! They hold however threads and drops fall together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use metier_cancel::CancelToken;
use proptest::prelude::*;

/// Longer than any machine needs: a test that waits for it fails by it.
const PLENTY: Duration = Duration::from_secs(30);

fn counter() -> (Arc<AtomicUsize>, impl Fn() -> usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    (count, move || seen.load(Ordering::SeqCst))
}

fn counts(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let count = Arc::clone(count);
    move || {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn clones_are_one_token_and_it_is_cancelled_once() {
    let token = CancelToken::new();
    let (count, seen) = counter();
    let _guard = token.on_cancel(counts(&count));
    assert!(!token.is_cancelled() && !token.wait_timeout(Duration::ZERO));
    token.clone().cancel();
    token.cancel();
    assert!(token.is_cancelled() && token.wait_timeout(Duration::ZERO));
    assert_eq!(seen(), 1);
    token.wait();
}

#[test]
fn a_child_ends_with_its_parent_and_not_the_other_way() {
    let parent = CancelToken::new();
    let (one, two) = (parent.child(), parent.child());
    let grandchild = two.child();
    one.cancel();
    assert!(one.is_cancelled() && !two.is_cancelled() && !parent.is_cancelled());
    parent.cancel();
    assert!(two.is_cancelled() && grandchild.is_cancelled());
    assert!(parent.child().is_cancelled(), "also one that is made afterwards");
}

#[test]
fn a_deadline_cancels_its_token_alone_and_wakes_who_waits_for_it() {
    let request = CancelToken::new();
    let deadline = request.deadline(Duration::from_millis(20)).expect("a thread");
    assert!(deadline.token().wait_timeout(PLENTY), "it was woken, not timed out");
    assert!(!request.is_cancelled());
    let never = request.deadline(Duration::MAX).expect("a thread");
    request.cancel();
    assert!(never.token().is_cancelled(), "it ends with its parent");
}

#[test]
fn a_deadline_that_is_dropped_cancels_nothing() {
    let request = CancelToken::new();
    let deadline = request.deadline(Duration::from_millis(50)).expect("a thread");
    let token = deadline.token().clone();
    drop(deadline);
    assert!(!token.wait_timeout(Duration::from_millis(300)));
}

#[test]
fn a_child_hears_of_its_parent_before_the_parents_own_callbacks_are_through() {
    let parent = CancelToken::new();
    let seen = Arc::new(AtomicBool::new(false));
    // Registered before the child, so it runs before the child is cancelled.
    let child_slot: Arc<std::sync::OnceLock<CancelToken>> = Arc::default();
    let (slot, noted) = (Arc::clone(&child_slot), Arc::clone(&seen));
    let _guard = parent.on_cancel(move || {
        noted.store(slot.get().is_some_and(CancelToken::is_cancelled), Ordering::SeqCst);
    });
    child_slot.set(parent.child()).expect("empty");
    parent.cancel();
    assert!(seen.load(Ordering::SeqCst));
}

#[test]
fn a_callback_on_a_cancelled_token_runs_at_once() {
    let token = CancelToken::new();
    token.cancel();
    let (count, seen) = counter();
    let _guard = token.on_cancel(counts(&count));
    assert_eq!(seen(), 1);
}

#[test]
fn a_dropped_guard_takes_its_callback_along_and_frees_what_it_owned() {
    let token = CancelToken::new();
    let (count, seen) = counter();
    drop(token.on_cancel(counts(&count)));
    assert_eq!(Arc::strong_count(&count), 2, "the callback is gone, the two of the test stay");
    token.cancel();
    assert_eq!(seen(), 0);
}

#[test]
fn a_callback_may_use_the_token_that_calls_it() {
    let token = CancelToken::new();
    let (sender, receiver) = mpsc::channel();
    let own = token.clone();
    let _guard = token.on_cancel(move || {
        own.cancel();
        let (count, seen) = counter();
        drop(own.on_cancel(counts(&count)));
        sender.send((own.is_cancelled(), own.child().is_cancelled(), seen())).expect("heard");
    });
    token.cancel();
    assert_eq!(receiver.try_recv(), Ok((true, true, 1)));
}

#[test]
fn a_callback_that_owns_a_guard_of_its_own_token_can_be_dropped() {
    let token = CancelToken::new();
    let inner = token.on_cancel(|| {});
    drop(token.on_cancel(move || drop(inner)));
    token.cancel();
}

#[test]
fn a_callback_that_panics_does_not_silence_the_others() {
    let token = CancelToken::new();
    let (count, seen) = counter();
    let _first = token.on_cancel(|| std::panic::resume_unwind(Box::new("on purpose")));
    let _second = token.on_cancel(counts(&count));
    let child = token.child();
    let cancelled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| token.cancel()));
    assert!(cancelled.is_err(), "it is not hidden either");
    assert!(seen() == 1 && child.is_cancelled() && token.is_cancelled());
}

#[test]
fn many_threads_wait_and_all_are_woken() {
    let token = CancelToken::new();
    let threads: Vec<_> = (0..16)
        .map(|number| {
            let token = if number % 2 == 0 { token.clone() } else { token.child() };
            std::thread::spawn(move || token.wait_timeout(PLENTY))
        })
        .collect();
    token.cancel();
    assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
}

#[test]
fn a_callback_runs_once_or_was_dropped_before_however_the_two_race() {
    for _ in 0..500 {
        let (token, together) = (CancelToken::new(), Arc::new(Barrier::new(3)));
        let (count, seen) = counter();
        let (guard, child) = (token.on_cancel(counts(&count)), token.child());
        let (other, barrier) = (token.clone(), Arc::clone(&together));
        let cancels = std::thread::spawn(move || {
            barrier.wait();
            other.cancel();
        });
        let barrier = Arc::clone(&together);
        let drops = std::thread::spawn(move || {
            barrier.wait();
            drop(guard);
            drop(child);
        });
        together.wait();
        let late = token.on_cancel(counts(&count));
        cancels.join().expect("no panic");
        drops.join().expect("no panic");
        let ran = seen();
        assert!(ran == 1 || ran == 2, "the one that stays always runs, the other may: {ran}");
        drop(late);
        assert_eq!(seen(), ran);
    }
}

#[test]
fn threads_that_register_while_another_cancels_are_all_heard() {
    for _ in 0..100 {
        let token = CancelToken::new();
        let (count, seen) = counter();
        std::thread::scope(|scope| {
            let guards: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..20).map(|_| token.on_cancel(counts(&count))).collect::<Vec<_>>()
                    })
                })
                .collect();
            scope.spawn(|| token.cancel());
            let kept: Vec<_> =
                guards.into_iter().map(|guards| guards.join().expect("no panic")).collect();
            token.cancel();
            drop(kept);
        });
        // A second `cancel` may return while the first still calls; the scope has joined both.
        assert_eq!(seen(), 80);
    }
}

struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_is_woken_once_and_work_that_is_done_first_counts() {
    let token = CancelToken::new();
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Arc::clone(&woken).into();
    let mut context = Context::from_waker(&waker);
    {
        let mut done = std::pin::pin!(token.run_until_cancelled(std::future::ready(7)));
        assert_eq!(done.as_mut().poll(&mut context), Poll::Ready(Some(7)));
    }
    let mut pending = std::pin::pin!(token.run_until_cancelled(std::future::pending::<()>()));
    for _ in 0..3 {
        assert_eq!(pending.as_mut().poll(&mut context), Poll::Pending);
    }
    token.cancel();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1, "registered once, however often it is polled");
    assert_eq!(pending.as_mut().poll(&mut context), Poll::Ready(None));
    let mut ready = std::pin::pin!(token.run_until_cancelled(std::future::ready(7)));
    assert_eq!(ready.as_mut().poll(&mut context), Poll::Ready(None), "the token comes first");
}

/// One act on a family of tokens.
#[derive(Debug, Clone)]
enum Act {
    Child(usize),
    Cancel(usize),
    Register(usize),
    DropGuard(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = (0..4_u8, 0..8_usize).prop_map(|(kind, which)| match kind {
        0 => Act::Child(which),
        1 => Act::Cancel(which),
        2 => Act::Register(which),
        _ => Act::DropGuard(which),
    });
    prop::collection::vec(act, 0..40)
}

proptest! {
    /// Against a model: a list of parents and flags.
    #[test]
    fn a_family_of_tokens_does_what_its_parents_say(acts in acts()) {
        let mut tokens = vec![(CancelToken::new(), None::<usize>)];
        let mut flags = vec![false];
        let mut guards = Vec::new();
        let is_cancelled = |flags: &[bool], tokens: &[(CancelToken, Option<usize>)], at: usize| {
            let mut at = Some(at);
            while let Some(own) = at {
                if flags[own] {
                    return true;
                }
                at = tokens[own].1;
            }
            false
        };
        for act in acts {
            match act {
                Act::Child(which) => {
                    let parent = which % tokens.len();
                    tokens.push((tokens[parent].0.child(), Some(parent)));
                    flags.push(false);
                }
                Act::Cancel(which) => {
                    let which = which % tokens.len();
                    tokens[which].0.cancel();
                    flags[which] = true;
                }
                Act::Register(which) => {
                    let which = which % tokens.len();
                    let (count, seen) = counter();
                    guards.push((which, tokens[which].0.on_cancel(counts(&count)), seen));
                }
                Act::DropGuard(which) if !guards.is_empty() => {
                    let (at, guard, seen) = guards.swap_remove(which % guards.len());
                    drop(guard);
                    prop_assert_eq!(seen(), usize::from(is_cancelled(&flags, &tokens, at)));
                }
                Act::DropGuard(_) => {}
            }
            for (at, (token, _)) in tokens.iter().enumerate() {
                prop_assert_eq!(token.is_cancelled(), is_cancelled(&flags, &tokens, at));
            }
        }
        for (at, _guard, seen) in &guards {
            prop_assert_eq!(seen(), usize::from(is_cancelled(&flags, &tokens, *at)));
        }
    }
}
