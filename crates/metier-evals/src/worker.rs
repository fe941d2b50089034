//! Taking units from a store and carrying them out, until there are none, the caller stops it, or it has
//! done as many as it may.
//!
//! It knows nothing of models and scores: a function carries out a unit. Any number of workers, in any
//! number of processes, may work on one store; one that dies loses the units it had in hand, which others
//! take when the store says so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use metier::CancelToken;
use metier::skill::Digest;

mod state;

use self::state::{KnownPlan, Next, SharedState};
use crate::error::{EvalError, Result};
use crate::plan::{EvalPlan, EvalUnit};
use crate::store::{EvalStore, Lease, Stored};
use crate::trial::{TrialEnd, TrialErrorKind, TrialResult};

/// Carries out one unit of a plan: one result, whatever happens.
pub type RunUnit<'a> = dyn Fn(&EvalPlan, &EvalUnit, &CancelToken) -> TrialResult + Sync + 'a;

/// What a worker does, and for how long.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Its name in the records.
    pub name: String,
    /// The version of this program: plans of another one are left to others.
    pub harness: String,
    /// The one plan to work on. Otherwise every plan that the store gives, the oldest first.
    pub plan: Option<Digest>,
    /// Units at a time.
    pub parallel: usize,
    /// The most units that are taken at once, however quickly they are done.
    pub max_batch: usize,
    /// What it does when the store has nothing to give.
    pub when_idle: WhenIdle,
    /// The most units that it carries out.
    pub max_units: Option<u64>,
    /// How often a store is asked again that had nothing to give.
    pub poll: Duration,
}

/// What a worker does when there is no unit to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenIdle {
    /// It waits for new units, until it is stopped.
    Wait,
    /// It waits while others have units in hand, which may come back, and ends when none is left.
    EndWhenDone,
    /// It ends at once: the caller has other plans.
    End,
}

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// No unit is left.
    Done,
    /// There was no unit to take; others have some in hand.
    Idle,
    /// It has carried out as many as it may.
    MaxUnits,
    /// The caller stopped it. What it had in hand was given back.
    Cancelled,
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerReport {
    /// How it came to its end.
    pub end: WorkerEnd,
    /// Results that are on record by it.
    pub completed: u64,
    /// Results that another worker had put on record before it.
    pub already_there: u64,
    /// Units that it gave back.
    pub released: u64,
    /// Units that were taken from it, because its heartbeats did not arrive.
    pub lost: u64,
    /// Plans that it left to others: of another version of the program, or not to be read.
    pub foreign_plans: u64,
}

/// What happens, for those who watch.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// A unit was begun.
    Begun {
        /// What it has in hand.
        lease: &'a Lease,
    },
    /// A unit came to its end.
    Finished {
        /// What it had in hand.
        lease: &'a Lease,
        /// What came of it.
        result: &'a TrialResult,
        /// Whether it was kept.
        stored: Stored,
    },
    /// A unit was taken from this worker.
    Lost {
        /// What it had in hand.
        lease: &'a Lease,
    },
    /// A plan is of another version of the program and is left to others.
    ForeignPlan {
        /// The plan.
        plan: &'a EvalPlan,
    },
    /// A plan cannot be read and is left to others, who may have a newer program.
    UnreadablePlan {
        /// Its id.
        plan: &'a Digest,
        /// Why.
        error: &'a EvalError,
    },
    /// There is nothing to take now; it asks again.
    Waiting,
}

/// A worker on a store.
pub struct Worker<'a> {
    store: &'a dyn EvalStore,
    options: WorkerOptions,
    run: &'a RunUnit<'a>,
    on_event: &'a (dyn Fn(&WorkerEvent<'_>) + Sync),
}

impl<'a> Worker<'a> {
    /// A worker that carries out units by `run`.
    pub fn new(store: &'a dyn EvalStore, options: WorkerOptions, run: &'a RunUnit<'a>) -> Self {
        Self { store, options, run, on_event: &|_| {} }
    }

    /// Is called for what happens, from any of the worker's threads.
    #[must_use]
    pub fn on_event(mut self, listener: &'a (dyn Fn(&WorkerEvent<'_>) + Sync)) -> Self {
        self.on_event = listener;
        self
    }

    /// Works until there is an end. What it then still has in hand is given back.
    pub fn work(&self, cancel: &CancelToken) -> Result<WorkerReport> {
        let shared = SharedState::new(self.options.parallel.max(1));
        std::thread::scope(|scope| {
            let heart = self.store.lease_time().map(|lease_time| {
                let shared = &shared;
                scope.spawn(move || self.keep_alive(shared, lease_time / 3))
            });
            let threads: Vec<_> = (0..self.options.parallel.max(1))
                .map(|_| scope.spawn(|| self.work_one_by_one(&shared, cancel)))
                .collect();
            for thread in threads {
                // Units are run guarded; there is nothing else in these threads that panics.
                let _ = thread.join();
            }
            // Not before: what is being stopped is still this worker's.
            shared.ended.cancel();
            heart.map(std::thread::ScopedJoinHandle::join)
        });
        self.finish(shared, cancel)
    }

    fn finish(&self, shared: SharedState, cancel: &CancelToken) -> Result<WorkerReport> {
        // One thread may have found nothing to take while another still worked on the last unit.
        let was_idle = shared.lock().end == Some(WorkerEnd::Idle);
        let is_done = was_idle && self.is_done(&shared).unwrap_or(false);
        let mut state = shared.into_state();
        if is_done {
            state.end = Some(WorkerEnd::Done);
        }
        for lease in std::mem::take(&mut state.ready) {
            match self.store.release(&lease) {
                Ok(()) => state.report.released += 1,
                Err(error) => state.error = state.error.or(Some(error)),
            }
        }
        match state.error {
            Some(error) if !cancel.is_cancelled() => Err(error),
            _ if cancel.is_cancelled() => {
                Ok(WorkerReport { end: WorkerEnd::Cancelled, ..state.report })
            }
            _ => Ok(WorkerReport { end: state.end.unwrap_or(WorkerEnd::Done), ..state.report }),
        }
    }

    fn work_one_by_one(&self, shared: &SharedState, cancel: &CancelToken) {
        loop {
            match shared.next(&self.options, cancel) {
                Next::End => return,
                Next::Run(lease, plan, stop) => {
                    self.carry_out(shared, &lease, &plan, &stop, cancel);
                }
                Next::Lease(most) => {
                    let leased = self.lease(shared, most);
                    self.take_in(shared, leased, cancel);
                }
            }
        }
    }

    /// What the store gave, or that it gave nothing.
    fn take_in(&self, shared: &SharedState, leased: Result<Leased>, cancel: &CancelToken) {
        let mut state = shared.lock();
        state.is_leasing = false;
        match leased {
            Ok(Leased::Units(leases)) => {
                state.taken += leases.len() as u64;
                state.follow_speed(self.options.parallel.max(1), self.options.max_batch.max(1));
                state.ready.extend(leases);
            }
            Ok(Leased::Nothing(end)) => state.end = state.end.or(Some(end)),
            Ok(Leased::NothingNow) => {
                // This thread asks again later; it keeps the others from asking meanwhile.
                state.is_leasing = true;
                drop(state);
                (self.on_event)(&WorkerEvent::Waiting);
                cancel.wait_timeout(self.options.poll);
                state = shared.lock();
                state.is_leasing = false;
            }
            Err(error) => state.fail(error),
        }
        drop(state);
        shared.changed.notify_all();
    }

    /// The plans that this worker may take units of.
    fn plans(&self) -> Result<Vec<Digest>> {
        match self.options.plan {
            Some(plan) => Ok(vec![plan]),
            None => self.store.open_plans(),
        }
    }

    /// Whether every unit of them is done.
    fn is_done(&self, shared: &SharedState) -> Result<bool> {
        for id in self.plans()? {
            if matches!(self.plan(shared, &id)?, KnownPlan::Ours(_)) {
                let progress = self.store.progress(&id)?;
                if progress.done < progress.units {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn lease(&self, shared: &SharedState, most: usize) -> Result<Leased> {
        let mut is_done = true;
        for id in self.plans()? {
            let KnownPlan::Ours(_) = self.plan(shared, &id)? else { continue };
            let leases = self.store.lease(&id, &self.options.name, most)?;
            if !leases.is_empty() {
                return Ok(Leased::Units(leases));
            }
            let progress = self.store.progress(&id)?;
            is_done &= progress.done >= progress.units;
        }
        Ok(match self.options.when_idle {
            WhenIdle::EndWhenDone | WhenIdle::End if is_done => Leased::Nothing(WorkerEnd::Done),
            WhenIdle::End => Leased::Nothing(WorkerEnd::Idle),
            WhenIdle::EndWhenDone | WhenIdle::Wait => Leased::NothingNow,
        })
    }

    /// A plan, which is read once.
    fn plan(&self, shared: &SharedState, id: &Digest) -> Result<KnownPlan> {
        if let Some(known) = shared.lock().plans.get(id) {
            return Ok(known.clone());
        }
        let is_chosen = self.options.plan.is_some();
        let found = match self.store.plan(id) {
            Ok(plan) if plan.harness == self.options.harness => KnownPlan::Ours(Arc::new(plan)),
            Ok(plan) if is_chosen => {
                let message = format!(
                    "the plan was made by version {} of the program, and this is {}",
                    plan.harness, self.options.harness
                );
                return Err(EvalError::plan(message, "use one version for all of a plan"));
            }
            Ok(plan) => {
                (self.on_event)(&WorkerEvent::ForeignPlan { plan: &plan });
                KnownPlan::LeftToOthers
            }
            Err(error @ EvalError::PlanRefused { .. }) if !is_chosen => {
                (self.on_event)(&WorkerEvent::UnreadablePlan { plan: id, error: &error });
                KnownPlan::LeftToOthers
            }
            Err(error) => return Err(error),
        };
        let mut state = shared.lock();
        state.report.foreign_plans += u64::from(matches!(found, KnownPlan::LeftToOthers));
        state.plans.insert(*id, found.clone());
        Ok(found)
    }

    fn carry_out(
        &self,
        shared: &SharedState,
        lease: &Lease,
        plan: &EvalPlan,
        stop: &CancelToken,
        cancel: &CancelToken,
    ) {
        (self.on_event)(&WorkerEvent::Begun { lease });
        let result = run_guarded(plan, &lease.unit, stop, self.run);
        let is_cut = matches!(result.end, TrialEnd::Error { kind: TrialErrorKind::Cancelled, .. });
        let was_stopped = is_cut && stop.is_cancelled();
        if let Some(running) = shared.lock().running.get_mut(&lease.token) {
            running.has_ended = true;
        }
        let outcome = if !was_stopped {
            self.store.complete(lease, &result).map(Some)
        } else if cancel.is_cancelled() {
            self.store.release(lease).map(|()| None)
        } else {
            // It was taken from this worker, and is in another's hands.
            Ok(None)
        };
        if let Ok(Some(stored)) = outcome {
            (self.on_event)(&WorkerEvent::Finished { lease, result: &result, stored });
        }
        let mut state = shared.lock();
        state.running.remove(&lease.token);
        match outcome {
            Ok(Some(Stored::New)) => state.report.completed += 1,
            Ok(Some(Stored::AlreadyThere)) => state.report.already_there += 1,
            Ok(None) if cancel.is_cancelled() => state.report.released += 1,
            Ok(None) => {}
            Err(error) => state.fail(error),
        }
        drop(state);
        shared.changed.notify_all();
    }

    /// Says in time that this worker is alive, and stops what was taken from it.
    fn keep_alive(&self, shared: &SharedState, interval: Duration) {
        while !shared.ended.wait_timeout(interval) {
            let held: Vec<Lease> = {
                let state = shared.lock();
                let running = state.running.values().map(|it| &it.lease);
                state.ready.iter().chain(running).cloned().collect()
            };
            if held.is_empty() {
                continue;
            }
            // A store that does not answer has tried again for a while; the next round does too.
            let Ok(lost) = self.store.heartbeat(&held) else { continue };
            let mut state = shared.lock();
            for lease in lost {
                if let Some(running) = state.running.get(&lease.token) {
                    if running.has_ended {
                        continue;
                    }
                    running.stop.cancel();
                    (self.on_event)(&WorkerEvent::Lost { lease: &running.lease });
                    state.report.lost += 1;
                } else if state.ready.iter().any(|it| it.token == lease.token) {
                    state.ready.retain(|it| it.token != lease.token);
                    state.report.lost += 1;
                    (self.on_event)(&WorkerEvent::Lost { lease: &lease });
                }
            }
        }
    }
}

/// What a store gave.
enum Leased {
    Units(Vec<Lease>),
    /// It is asked again later.
    NothingNow,
    /// It is not asked again.
    Nothing(WorkerEnd),
}

/// Carries out a unit; a panic is an error of the harness, and no end of the worker.
pub(crate) fn run_guarded(
    plan: &EvalPlan,
    unit: &EvalUnit,
    cancel: &CancelToken,
    run: &dyn Fn(&EvalPlan, &EvalUnit, &CancelToken) -> TrialResult,
) -> TrialResult {
    catch_unwind(AssertUnwindSafe(|| run(plan, unit, cancel))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message =
            format!("the trial panicked: {}", text.unwrap_or_else(|| "no message".to_owned()));
        let case = plan.cases.get(unit.case).map_or("", |case| case.id.as_str());
        TrialResult::of_error(case, unit, TrialErrorKind::Harness, message)
    })
}
