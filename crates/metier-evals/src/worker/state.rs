//! What the threads of a worker share: units that were taken, units that run, and how it comes to its end. It
//! carries nothing out and asks no store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metier::CancelToken;
use metier::skill::Digest;

use super::{WorkerEnd, WorkerOptions, WorkerReport};
use crate::error::EvalError;
use crate::plan::EvalPlan;
use crate::store::Lease;

/// What the threads share, and how they wake each other.
pub(super) struct SharedState {
    state: Mutex<WorkerState>,
    pub(super) changed: Condvar,
    /// Ends the heartbeats.
    pub(super) ended: CancelToken,
}

/// What a worker has in hand, and what it did.
pub(super) struct WorkerState {
    pub(super) ready: VecDeque<Lease>,
    /// What is being worked on, by its token.
    pub(super) running: BTreeMap<i64, RunningUnit>,
    pub(super) plans: BTreeMap<Digest, KnownPlan>,
    pub(super) is_leasing: bool,
    pub(super) taken: u64,
    /// How many are taken at once; it follows how quickly they are done.
    batch: usize,
    batch_taken: Instant,
    pub(super) report: WorkerReport,
    pub(super) end: Option<WorkerEnd>,
    pub(super) error: Option<EvalError>,
}

/// A unit that is being worked on.
pub(super) struct RunningUnit {
    pub(super) lease: Lease,
    /// Stops it.
    pub(super) stop: CancelToken,
    /// Its result is there, and is being put on record: the lease may be over at any moment, and nothing is lost.
    pub(super) has_ended: bool,
}

/// A plan that was met.
#[derive(Clone)]
pub(super) enum KnownPlan {
    Ours(Arc<EvalPlan>),
    /// It is of another version of the program, or cannot be read.
    LeftToOthers,
}

/// A thread's next step.
pub(super) enum Next {
    Run(Lease, Arc<EvalPlan>, CancelToken),
    Lease(usize),
    End,
}

impl SharedState {
    pub(super) fn new(parallel: usize) -> Self {
        let report = WorkerReport {
            end: WorkerEnd::Done,
            completed: 0,
            already_there: 0,
            released: 0,
            lost: 0,
            foreign_plans: 0,
        };
        let state = WorkerState {
            ready: VecDeque::new(),
            running: BTreeMap::new(),
            plans: BTreeMap::new(),
            is_leasing: false,
            taken: 0,
            batch: parallel,
            batch_taken: Instant::now(),
            report,
            end: None,
            error: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), ended: CancelToken::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_state(self) -> WorkerState {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread that has nothing to do does next; waits while another one asks the store.
    pub(super) fn next(&self, options: &WorkerOptions, cancel: &CancelToken) -> Next {
        let mut state = self.lock();
        loop {
            if cancel.is_cancelled() || state.error.is_some() {
                return Next::End;
            }
            if let Some(lease) = state.ready.pop_front() {
                let Some(KnownPlan::Ours(plan)) = state.plans.get(&lease.plan).cloned() else {
                    continue;
                };
                let stop = cancel.child();
                let (unit, stops) = (lease.clone(), stop.clone());
                let running = RunningUnit { lease: unit, stop: stops, has_ended: false };
                state.running.insert(lease.token, running);
                return Next::Run(lease, plan, stop);
            }
            if state.end.is_some() {
                return Next::End;
            }
            let left = options.max_units.map(|most| most.saturating_sub(state.taken));
            if left == Some(0) {
                state.end = Some(WorkerEnd::MaxUnits);
                return Next::End;
            }
            if !state.is_leasing {
                state.is_leasing = true;
                let left =
                    left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
                return Next::Lease(state.batch.min(left));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl WorkerState {
    /// Takes more at once where a batch was gone at once, and less where others could have helped: a unit
    /// that waits here for its turn is one that no other worker carries out.
    pub(super) fn follow_speed(&mut self, parallel: usize, max_batch: usize) {
        let took = self.batch_taken.elapsed();
        if took < Duration::from_millis(500) {
            self.batch = (self.batch * 2).min(max_batch.max(parallel));
        } else if took > Duration::from_secs(4) {
            self.batch = (self.batch / 2).max(parallel);
        }
        self.batch_taken = Instant::now();
    }

    /// Ends the worker with an error, of which the first counts.
    pub(super) fn fail(&mut self, error: EvalError) {
        self.error = self.error.take().or(Some(error));
        self.end = self.end.or(Some(WorkerEnd::Done));
    }
}
