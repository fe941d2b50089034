//! Open questions between threads: the first answer wins, and nothing hangs.
//! A test that hangs is the failure it looks for: every wait here has a timeout.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_policy::{Answer, AskEvent, AskOutcome, AskWaiter, Asks, RuleSource};

use crate::support::{decide, decide_with, loaded, policy, request};

const SOON: Duration = Duration::from_secs(10);

fn open(asks: &Asks, text: &str) -> AskWaiter {
    let request = request(text);
    let decision = decide(&policy(&[]), &request);
    asks.open(request, decision, "what is wanted".to_owned())
}

fn answered(answer: Answer) -> AskOutcome {
    AskOutcome::Answered { answer, by: "terminal".to_owned() }
}

#[test]
fn every_listener_hears_and_the_first_answer_wins() {
    let asks = Asks::new();
    let listeners: Vec<_> = (0..8).map(|_| asks.subscribe()).collect();
    let waiter = open(&asks, "run_script user:pdf/a.py");
    let winners = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = listeners
        .into_iter()
        .map(|listener| {
            let (asks, winners) = (asks.clone(), Arc::clone(&winners));
            thread::spawn(move || {
                let Some(AskEvent::Opened { ask }) = listener.next_within(SOON) else {
                    panic!("heard nothing")
                };
                if asks.answer(ask.id, &Answer::Once, "terminal").is_ok() {
                    winners.fetch_add(1, Ordering::SeqCst);
                }
                let event = listener.next_within(SOON);
                assert!(matches!(event, Some(AskEvent::Answered { answer: Answer::Once, .. })));
            })
        })
        .collect();
    let outcome = waiter.wait(&CancelToken::new());
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(outcome, answered(Answer::Once));
    assert!(outcome.permits());
    assert_eq!(winners.load(Ordering::SeqCst), 1);
    assert!(asks.pending().is_empty());
}

#[test]
fn an_ask_without_a_listener_ends_at_once() {
    let asks = Asks::new();
    assert_eq!(open(&asks, "grep src").wait(&CancelToken::new()), AskOutcome::NoListener);
    let (first, second) = (asks.subscribe(), asks.subscribe());
    let waiter = open(&asks, "grep src");
    let waiting = thread::spawn(move || waiter.wait(&CancelToken::new()));
    drop(first);
    thread::sleep(Duration::from_millis(20));
    assert!(!waiting.is_finished(), "one is still there");
    drop(second);
    assert_eq!(waiting.join().unwrap(), AskOutcome::NoListener);
}

#[test]
fn a_listener_that_panics_does_not_hang_a_run() {
    let asks = Asks::new();
    let listener = asks.subscribe();
    let waiter = open(&asks, "grep src");
    let broken = thread::spawn(move || {
        let _held = listener;
        std::panic::resume_unwind(Box::new("a front end that fails"));
    });
    assert_eq!(waiter.wait(&CancelToken::new()), AskOutcome::NoListener);
    assert!(broken.join().is_err());
}

#[test]
fn who_comes_late_hears_what_is_open() {
    let asks = Asks::new();
    let _first = asks.subscribe();
    let waiter = open(&asks, "grep src");
    let late = asks.subscribe();
    let Some(AskEvent::Opened { ask }) = late.try_next() else { panic!("heard nothing") };
    assert_eq!(ask.id, waiter.id());
    assert_eq!(ask.id.to_string().parse(), Ok(ask.id));
    assert_eq!(late.try_next(), None);
}

#[test]
fn time_and_withdrawal_end_a_question() {
    let asks = Asks::new();
    let listener = asks.subscribe();
    let waiter = open(&asks, "grep src");
    let id = waiter.id();
    assert_eq!(waiter.wait_within(Duration::from_millis(10)), AskOutcome::TimedOut);
    let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).collect();
    assert!(
        matches!(events[..], [AskEvent::Opened { .. }, AskEvent::Withdrawn { id: withdrawn }] if withdrawn == id)
    );
    assert_eq!(
        asks.answer(id, &Answer::Always, "late").map_err(|error| error.code()),
        Err("not-pending")
    );

    let waiter = open(&asks, "grep src");
    let id = waiter.id();
    let waiting = thread::spawn(move || waiter.wait(&CancelToken::new()));
    asks.withdraw(id);
    assert_eq!(waiting.join().unwrap(), AskOutcome::Withdrawn);

    let waiter = open(&asks, "grep src");
    asks.close();
    assert_eq!(waiter.wait(&CancelToken::new()), AskOutcome::Withdrawn);
    assert_eq!(
        open(&asks, "grep src").wait(&CancelToken::new()),
        AskOutcome::Withdrawn,
        "it is closed"
    );
}

#[test]
fn a_cancelled_token_withdraws_the_ask_and_wakes_the_front_end() {
    let asks = Asks::new();
    let listener = asks.subscribe();
    let (waiter, cancel) = (open(&asks, "grep src"), CancelToken::new());
    let (id, over) = (waiter.id(), asks.over(waiter.id()));
    assert!(!over.is_cancelled());
    let own = cancel.clone();
    let waiting = thread::spawn(move || waiter.wait(&own));
    let typing = thread::spawn(move || over.wait_timeout(SOON));
    cancel.cancel();
    assert_eq!(waiting.join().unwrap(), AskOutcome::Withdrawn);
    assert!(typing.join().unwrap(), "the front end was woken");
    let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).collect();
    assert!(matches!(events[..], [_, AskEvent::Withdrawn { id: withdrawn }] if withdrawn == id));
    assert!(asks.over(id).is_cancelled(), "also when it is long gone");
    let late = open(&asks, "grep src");
    assert_eq!(late.wait(&cancel), AskOutcome::Withdrawn, "a token that was used before");
}

#[test]
fn a_no_carries_words_and_is_no_permit() {
    let asks = Asks::new();
    let _listener = asks.subscribe();
    let waiter = open(&asks, "grep src");
    let no = Answer::Reject("look in docs instead".to_owned());
    asks.answer(waiter.id(), &no, "terminal").unwrap();
    let outcome = waiter.wait_within(SOON);
    assert_eq!(outcome, answered(no.clone()));
    assert!(!outcome.permits());
    assert_eq!(serde_json::to_string(&no).unwrap(), r#"{"reject":"look in docs instead"}"#);
    assert_eq!(serde_json::from_str::<Answer>(r#""once""#).unwrap(), Answer::Once);
}

#[test]
fn always_lets_the_same_question_pass_elsewhere() {
    let asks = Asks::new();
    let _listener = asks.subscribe();
    let (one, same, other) =
        (open(&asks, "grep src"), open(&asks, "grep src"), open(&asks, "grep docs"));
    asks.answer(one.id(), &Answer::Always, "terminal").unwrap();
    assert_eq!(one.wait(&CancelToken::new()), answered(Answer::Always));
    assert_eq!(same.wait(&CancelToken::new()), answered(Answer::Once));
    assert_eq!(other.outcome(), None);
    assert_eq!(asks.pending().len(), 1);
}

#[test]
fn a_waiter_is_a_future_of_any_runtime() {
    struct Counted(AtomicUsize);
    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let asks = Asks::new();
    let _listener = asks.subscribe();
    let mut waiter = std::pin::pin!(open(&asks, "grep src"));
    let counted = Arc::new(Counted(AtomicUsize::new(0)));
    let waker = Arc::clone(&counted).into();
    let mut context = Context::from_waker(&waker);
    assert_eq!(waiter.as_mut().poll(&mut context), Poll::Pending);
    asks.answer(waiter.id(), &Answer::Once, "terminal").unwrap();
    assert_eq!(counted.0.load(Ordering::SeqCst), 1);
    assert_eq!(waiter.as_mut().poll(&mut context), Poll::Ready(answered(Answer::Once)));
}

#[test]
fn events_are_documents() {
    let asks = Asks::new();
    let listener = asks.subscribe();
    let waiter = open(&asks, "run_script user:pdf/a.py");
    let opened = serde_json::to_value(listener.try_next().unwrap()).unwrap();
    assert_eq!(opened["type"], "opened");
    assert_eq!(opened["ask"]["id"], serde_json::json!(waiter.id().to_string()));
    assert_eq!(opened["ask"]["decision"]["effect"], "ask");
    assert_eq!(opened["ask"]["request"]["permission"], "run_script");
}

#[test]
fn many_threads_ask_and_answer_without_losing_one() {
    let asks = Asks::new();
    let listener = asks.subscribe();
    let askers: Vec<_> = (0..16)
        .map(|number| {
            let asks = asks.clone();
            thread::spawn(move || {
                (0..25).all(|turn| {
                    open(&asks, &format!("grep {number}-{turn}"))
                        .wait(&CancelToken::new())
                        .permits()
                })
            })
        })
        .collect();
    let mut answered = 0;
    while answered < 16 * 25 {
        match listener.next_within(SOON).expect("an event in time") {
            AskEvent::Opened { ask } => asks.answer(ask.id, &Answer::Once, "terminal").unwrap(),
            AskEvent::Answered { .. } => answered += 1,
            AskEvent::Withdrawn { .. } => {}
        }
    }
    assert!(askers.into_iter().all(|asker| asker.join().unwrap()));
}

#[test]
fn only_lift_lifts_and_it_approves_nothing() {
    let open = policy(&[(RuleSource::User, &["allow *"])]);
    let write = request("write_file a.txt");
    let limited = decide_with(&open, &write, &[loaded("user:pdf", Some(&["Read"]))]);
    assert!(limited.asks_to_lift());
    let asks = Asks::new();
    let _listener = asks.subscribe();
    let waiter = asks.open(write.clone(), limited, String::new());
    let [ask] = &asks.pending()[..] else { panic!("one ask") };
    for answer in [Answer::Once, Answer::Always, Answer::AlwaysFor(9)] {
        let refused = asks.answer(ask.id, &answer, "x").map_err(|error| error.code());
        assert_eq!(refused, Err("other-question"), "{answer:?}");
    }
    // An "always" to the ordinary question about the same call covers no question about ceilings.
    let ordinary = decide(&policy(&[(RuleSource::User, &["ask write_file"])]), &write);
    let other = asks.open(write, ordinary, String::new());
    let refused = asks.answer(other.id(), &Answer::Lift, "x").map_err(|error| error.code());
    assert_eq!(refused, Err("other-question"));
    asks.answer(other.id(), &Answer::Always, "x").unwrap();
    assert!(asks.is_open(ask.id));
    asks.answer(ask.id, &Answer::Lift, "x").unwrap();
    let outcome = waiter.outcome().unwrap();
    assert_eq!(outcome, AskOutcome::Answered { answer: Answer::Lift, by: "x".into() });
    assert!(!outcome.permits(), "it lifts; the request is decided again");
}
