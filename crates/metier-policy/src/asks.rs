//! Open asks between the thread that waits and a front end that answers: terminal, web page, server.
//!
//! Every listener receives every ask, and the first answer wins. A run never hangs on an ask without
//! a listener: when the last listener is dropped, open asks end as [`AskOutcome::NoListener`], and so
//! do later ones. A front end that answers must therefore hold an [`AskListener`]. An [`AskWaiter`]
//! blocks a thread, or is a future on any runtime. Each ask has a token that is cancelled when it is
//! over ([`Asks::over`]): it wakes the waiter, and a front end that is waiting for its user to type.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use metier_cancel::{CancelToken, Cancelled};
use serde::{Serialize, Serializer};

use crate::answer::Answer;
use crate::decision::PolicyDecision;
use crate::error::PolicyError;
use crate::request::Request;

/// The id of an ask, unique in its [`Asks`]: `ask-7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(u64);

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingAsk {
    /// Its id.
    pub id: AskId,
    /// What is wanted.
    pub request: Request,
    /// Why it needs an answer.
    pub decision: PolicyDecision,
    /// What else listeners should show, in the words of the caller.
    pub about: String,
}

/// What listeners receive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AskEvent {
    /// A request waits for an answer. A new listener gets one of these for each open ask.
    Opened {
        /// The question.
        ask: Arc<PendingAsk>,
    },
    /// It was answered.
    Answered {
        /// Which ask.
        id: AskId,
        /// The answer.
        answer: Answer,
        /// Who answered.
        by: String,
    },
    /// The ask is gone: the run continued or ended, or the ask timed out.
    Withdrawn {
        /// Which ask.
        id: AskId,
    },
}

/// How waiting ended. Anything but a yes is a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskOutcome {
    /// A listener answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Who.
        by: String,
    },
    /// The ask was withdrawn.
    Withdrawn,
    /// The time was up.
    TimedOut,
    /// No listener could answer, or the last one is gone.
    NoListener,
}

impl AskOutcome {
    /// Whether it may be done.
    pub const fn permits(&self) -> bool {
        matches!(self, Self::Answered { answer, .. } if answer.permits())
    }
}

/// The open asks of a program. A clone is the same list.
#[derive(Clone, Default)]
pub struct Asks {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    made: u64,
    closed: bool,
    asks: BTreeMap<AskId, Entry>,
    listeners: BTreeMap<u64, Sender<AskEvent>>,
}

struct Entry {
    ask: Arc<PendingAsk>,
    outcome: Option<AskOutcome>,
    over: CancelToken,
}

impl Entry {
    /// Ends it. Cancel the token only after the list is unlocked: what it wakes may lock the list.
    #[must_use]
    fn end(&mut self, outcome: AskOutcome) -> CancelToken {
        self.outcome = Some(outcome);
        self.over.clone()
    }
}

impl State {
    fn notify(&self, event: &AskEvent) {
        for listener in self.listeners.values() {
            // A dropped listener is about to leave the list.
            let _ = listener.send(event.clone());
        }
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.asks.values_mut().filter(|entry| entry.outcome.is_none())
    }
}

impl Shared {
    /// Ignores poisoning: no code here panics half-way through a change.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asks {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens an ask about a request, and returns the waiter for its answer.
    pub fn open(&self, request: Request, decision: PolicyDecision, about: String) -> AskWaiter {
        let mut state = self.shared.lock();
        state.made += 1;
        let id = AskId(state.made);
        let ask = Arc::new(PendingAsk { id, request, decision, about });
        let outcome = if state.closed {
            Some(AskOutcome::Withdrawn)
        } else if state.listeners.is_empty() {
            Some(AskOutcome::NoListener)
        } else {
            state.notify(&AskEvent::Opened { ask: Arc::clone(&ask) });
            None
        };
        let over = CancelToken::new();
        if outcome.is_some() {
            over.cancel();
        }
        let waiting = over.cancelled();
        state.asks.insert(id, Entry { ask, outcome, over: over.clone() });
        AskWaiter { id, shared: Arc::clone(&self.shared), over, waiting }
    }

    /// Starts to listen. Open asks are received at once.
    pub fn subscribe(&self) -> AskListener {
        let (sender, receiver) = channel();
        let mut state = self.shared.lock();
        for entry in state.open() {
            let _ = sender.send(AskEvent::Opened { ask: Arc::clone(&entry.ask) });
        }
        state.made += 1;
        let key = state.made;
        if !state.closed {
            state.listeners.insert(key, sender);
        }
        AskListener { key, receiver, shared: Arc::clone(&self.shared) }
    }

    /// Answers an ask. The first answer wins; later ones get an error, and so does an answer to
    /// another kind of question ([`Answer::fits`]).
    ///
    /// "Always" also approves other open asks that the same remembered answer would cover.
    pub fn answer(&self, id: AskId, answer: &Answer, by: &str) -> Result<(), PolicyError> {
        let mut state = self.shared.lock();
        let open = state.asks.get(&id).filter(|entry| entry.outcome.is_none());
        let asked = Arc::clone(&open.ok_or_else(|| PolicyError::NotPending(id.to_string()))?.ask);
        if !answer.fits(&asked.decision) {
            return Err(PolicyError::OtherQuestion(id.to_string()));
        }
        let covered = |other: &PendingAsk| {
            answer.lifetime().is_some()
                && answer.fits(&other.decision)
                && other.request.permission == asked.request.permission
                && other.request.skill == asked.request.skill
                && other.request.remember == asked.request.remember
        };
        let (mut events, mut over) = (Vec::new(), Vec::new());
        for entry in state.open() {
            let answer = match &*entry.ask {
                ask if ask.id == id => answer.clone(),
                ask if covered(ask) => Answer::Once,
                _ => continue,
            };
            let by = by.to_owned();
            let event =
                AskEvent::Answered { id: entry.ask.id, answer: answer.clone(), by: by.clone() };
            over.push(entry.end(AskOutcome::Answered { answer, by }));
            events.push(event);
        }
        for event in &events {
            state.notify(event);
        }
        drop(state);
        over.iter().for_each(CancelToken::cancel);
        Ok(())
    }

    /// Whether an ask still waits for an answer.
    pub fn is_open(&self, id: AskId) -> bool {
        self.shared.lock().asks.get(&id).is_some_and(|entry| entry.outcome.is_none())
    }

    /// A token that is cancelled once the ask is over, however it ended: for a front end that is
    /// waiting for its user.
    pub fn over(&self, id: AskId) -> CancelToken {
        let state = self.shared.lock();
        let known = state.asks.get(&id).map(|entry| entry.over.clone());
        drop(state);
        known.unwrap_or_else(|| {
            let over = CancelToken::new();
            over.cancel();
            over
        })
    }

    /// Withdraws an ask, which wakes its waiter; for a run that is cancelled.
    pub fn withdraw(&self, id: AskId) {
        withdraw(&self.shared, id);
    }

    /// Withdraws all asks and accepts no more; listeners see the end. For a program that exits.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let open: Vec<AskId> = state.open().map(|entry| entry.ask.id).collect();
        drop(state);
        for id in open {
            self.withdraw(id);
        }
        self.shared.lock().listeners.clear();
    }

    /// The open asks, oldest first.
    pub fn pending(&self) -> Vec<Arc<PendingAsk>> {
        self.shared.lock().open().map(|entry| Arc::clone(&entry.ask)).collect()
    }
}

fn withdraw(shared: &Shared, id: AskId) {
    let mut state = shared.lock();
    let open = state.asks.get_mut(&id).filter(|entry| entry.outcome.is_none());
    let Some(over) = open.map(|entry| entry.end(AskOutcome::Withdrawn)) else { return };
    state.notify(&AskEvent::Withdrawn { id });
    drop(state);
    over.cancel();
}

/// Receives asks. Dropping it is always safe.
pub struct AskListener {
    key: u64,
    receiver: Receiver<AskEvent>,
    shared: Arc<Shared>,
}

impl AskListener {
    /// Waits for the next event; `None` when the list is closed and all events were received.
    pub fn wait(&self) -> Option<AskEvent> {
        self.receiver.recv().ok()
    }

    /// The next event, if there is one already.
    pub fn try_next(&self) -> Option<AskEvent> {
        self.receiver.try_recv().ok()
    }

    /// The next event within this time.
    pub fn next_within(&self, time: Duration) -> Option<AskEvent> {
        self.receiver.recv_timeout(time).ok()
    }
}

impl Drop for AskListener {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.listeners.remove(&self.key);
        let mut over = Vec::new();
        if state.listeners.is_empty() {
            over.extend(state.open().map(|entry| entry.end(AskOutcome::NoListener)));
        }
        drop(state);
        over.iter().for_each(CancelToken::cancel);
    }
}

/// Waits for the answer to one ask. Dropping it withdraws the ask.
pub struct AskWaiter {
    id: AskId,
    shared: Arc<Shared>,
    over: CancelToken,
    waiting: Cancelled,
}

impl AskWaiter {
    /// The ask it waits for.
    pub const fn id(&self) -> AskId {
        self.id
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<AskOutcome> {
        self.shared.lock().asks.get(&self.id).and_then(|entry| entry.outcome.clone())
    }

    /// Waits until it ends. When `cancel` is cancelled before, the ask is withdrawn.
    pub fn wait(self, cancel: &CancelToken) -> AskOutcome {
        let (shared, id) = (Arc::clone(&self.shared), self.id);
        let _withdraws = cancel.on_cancel(move || withdraw(&shared, id));
        self.over.wait();
        self.outcome().unwrap_or(AskOutcome::Withdrawn)
    }

    /// Waits no longer than this; then the ask is withdrawn.
    pub fn wait_within(self, time: Duration) -> AskOutcome {
        self.over.wait_timeout(time);
        self.outcome().unwrap_or(AskOutcome::TimedOut)
    }
}

impl Future for AskWaiter {
    type Output = AskOutcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<AskOutcome> {
        Pin::new(&mut self.waiting)
            .poll(context)
            .map(|()| self.outcome().unwrap_or(AskOutcome::Withdrawn))
    }
}

impl Drop for AskWaiter {
    fn drop(&mut self) {
        withdraw(&self.shared, self.id);
        self.shared.lock().asks.remove(&self.id);
    }
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asks").field("pending", &self.pending()).finish()
    }
}

impl fmt::Debug for AskListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("key", &self.key).finish_non_exhaustive()
    }
}

impl fmt::Debug for AskWaiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask-{}", self.0)
    }
}

impl FromStr for AskId {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let number = text.strip_prefix("ask-").and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| PolicyError::NotPending(text.to_owned()))
    }
}

impl Serialize for AskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
