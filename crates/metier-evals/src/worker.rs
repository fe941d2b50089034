//! Taking units from a store and carrying them out, until there are none, the caller stops it, or it has
//! done as many as it may.
//!
//! It knows nothing of models and scores: a function carries out a unit. Any number of workers, in any
//! number of processes, may work on one store; one that dies loses the units it had in hand, which others
//! take when the store says so.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metier::CancelToken;
use metier::skill::Digest;

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
    /// Whether it ends when no unit is left, also in the hands of others; it waits for new ones otherwise.
    pub exit_when_done: bool,
    /// The most units that it carries out.
    pub max_units: Option<u64>,
    /// How often a store is asked again that had nothing to give.
    pub poll: Duration,
}

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// No unit is left.
    Done,
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
    /// Plans that it left to another version of the program.
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

/// What the threads of a worker share.
struct Shared {
    ready: VecDeque<Lease>,
    /// What is being worked on, and what stops it.
    running: BTreeMap<i64, (Lease, CancelToken)>,
    plans: BTreeMap<Digest, PlanOf>,
    is_leasing: bool,
    taken: u64,
    /// How many are taken at once; it follows how quickly they are done.
    batch: usize,
    batch_taken: Instant,
    report: WorkerReport,
    end: Option<WorkerEnd>,
    error: Option<EvalError>,
}

/// A plan that was met.
#[derive(Clone)]
enum PlanOf {
    Ours(std::sync::Arc<EvalPlan>),
    AnotherVersion,
}

/// A thread's next step.
enum Next {
    Run(Lease, std::sync::Arc<EvalPlan>, CancelToken),
    Lease(usize),
    End,
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
        let report = WorkerReport {
            end: WorkerEnd::Done,
            completed: 0,
            already_there: 0,
            released: 0,
            lost: 0,
            foreign_plans: 0,
        };
        let shared = Mutex::new(Shared {
            ready: VecDeque::new(),
            running: BTreeMap::new(),
            plans: BTreeMap::new(),
            is_leasing: false,
            taken: 0,
            batch: self.options.parallel.max(1),
            batch_taken: Instant::now(),
            report,
            end: None,
            error: None,
        });
        let board = Board { shared, changed: Condvar::new(), ended: CancelToken::new() };
        std::thread::scope(|scope| {
            let heart = self.store.lease_time().map(|lease_time| {
                let board = &board;
                scope.spawn(move || self.keep_alive(board, lease_time / 3))
            });
            let threads: Vec<_> = (0..self.options.parallel.max(1))
                .map(|_| scope.spawn(|| self.work_one_by_one(&board, cancel)))
                .collect();
            for thread in threads {
                // Units are run guarded; there is nothing else in these threads that panics.
                let _ = thread.join();
            }
            // Not before: what is being stopped is still this worker's.
            board.ended.cancel();
            heart.map(std::thread::ScopedJoinHandle::join)
        });
        self.finish(board, cancel)
    }

    fn finish(&self, board: Board, cancel: &CancelToken) -> Result<WorkerReport> {
        let mut shared = board.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        for lease in std::mem::take(&mut shared.ready) {
            match self.store.release(&lease) {
                Ok(()) => shared.report.released += 1,
                Err(error) => shared.error = shared.error.or(Some(error)),
            }
        }
        match shared.error {
            Some(error) if !cancel.is_cancelled() => Err(error),
            _ if cancel.is_cancelled() => {
                Ok(WorkerReport { end: WorkerEnd::Cancelled, ..shared.report })
            }
            _ => Ok(WorkerReport { end: shared.end.unwrap_or(WorkerEnd::Done), ..shared.report }),
        }
    }

    fn work_one_by_one(&self, board: &Board, cancel: &CancelToken) {
        loop {
            match board.next(&self.options, cancel) {
                Next::End => return,
                Next::Run(lease, plan, stop) => self.carry_out(board, &lease, &plan, &stop, cancel),
                Next::Lease(most) => {
                    let leased = self.lease(board, most);
                    self.take_in(board, leased, cancel);
                }
            }
        }
    }

    /// What the store gave, or that it gave nothing.
    fn take_in(&self, board: &Board, leased: Result<Leased>, cancel: &CancelToken) {
        let mut shared = board.lock();
        shared.is_leasing = false;
        match leased {
            Ok(Leased::Units(leases)) => {
                shared.taken += leases.len() as u64;
                shared.follow_speed(self.options.parallel.max(1), self.options.max_batch.max(1));
                shared.ready.extend(leases);
            }
            Ok(Leased::NothingLeft) => shared.end = shared.end.or(Some(WorkerEnd::Done)),
            Ok(Leased::NothingNow) => {
                // This thread asks again later; it keeps the others from asking meanwhile.
                shared.is_leasing = true;
                drop(shared);
                (self.on_event)(&WorkerEvent::Waiting);
                cancel.wait_timeout(self.options.poll);
                shared = board.lock();
                shared.is_leasing = false;
            }
            Err(error) => {
                shared.error = shared.error.take().or(Some(error));
                shared.end = shared.end.or(Some(WorkerEnd::Done));
            }
        }
        drop(shared);
        board.changed.notify_all();
    }

    fn lease(&self, board: &Board, most: usize) -> Result<Leased> {
        let plans = match self.options.plan {
            Some(plan) => vec![plan],
            None => self.store.open_plans()?,
        };
        let mut is_done = true;
        for id in plans {
            let PlanOf::Ours(_) = self.plan(board, &id)? else { continue };
            let leases = self.store.lease(&id, &self.options.name, most)?;
            if !leases.is_empty() {
                return Ok(Leased::Units(leases));
            }
            let progress = self.store.progress(&id)?;
            is_done &= progress.done >= progress.units;
        }
        let may_end = is_done && self.options.exit_when_done;
        Ok(if may_end { Leased::NothingLeft } else { Leased::NothingNow })
    }

    /// A plan, which is read once.
    fn plan(&self, board: &Board, id: &Digest) -> Result<PlanOf> {
        if let Some(known) = board.lock().plans.get(id) {
            return Ok(known.clone());
        }
        let plan = self.store.plan(id)?;
        let found = if plan.harness == self.options.harness {
            PlanOf::Ours(std::sync::Arc::new(plan))
        } else if self.options.plan.is_some() {
            let message = format!(
                "the plan was made by version {} of the program, and this is {}",
                plan.harness, self.options.harness
            );
            return Err(EvalError::store(message, "use one version for all of a plan"));
        } else {
            (self.on_event)(&WorkerEvent::ForeignPlan { plan: &plan });
            board.lock().report.foreign_plans += 1;
            PlanOf::AnotherVersion
        };
        board.lock().plans.insert(*id, found.clone());
        Ok(found)
    }

    fn carry_out(
        &self,
        board: &Board,
        lease: &Lease,
        plan: &EvalPlan,
        stop: &CancelToken,
        cancel: &CancelToken,
    ) {
        (self.on_event)(&WorkerEvent::Begun { lease });
        let result = run_guarded(plan, &lease.unit, stop, self.run);
        let is_cut = matches!(result.end, TrialEnd::Error { kind: TrialErrorKind::Cancelled, .. });
        let was_stopped = is_cut && stop.is_cancelled();
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
        let mut shared = board.lock();
        shared.running.remove(&lease.token);
        match outcome {
            Ok(Some(Stored::New)) => shared.report.completed += 1,
            Ok(Some(Stored::AlreadyThere)) => shared.report.already_there += 1,
            Ok(None) if cancel.is_cancelled() => shared.report.released += 1,
            Ok(None) => {}
            Err(error) => {
                shared.error = shared.error.take().or(Some(error));
                shared.end = shared.end.or(Some(WorkerEnd::Done));
            }
        }
        drop(shared);
        board.changed.notify_all();
    }

    /// Says in time that this worker is alive, and stops what was taken from it.
    fn keep_alive(&self, board: &Board, interval: Duration) {
        while !board.ended.wait_timeout(interval) {
            let held: Vec<Lease> = {
                let shared = board.lock();
                let running = shared.running.values().map(|(lease, _)| lease);
                shared.ready.iter().chain(running).cloned().collect()
            };
            if held.is_empty() {
                continue;
            }
            // A store that does not answer has tried again for a while; the next round does too.
            let Ok(lost) = self.store.heartbeat(&held) else { continue };
            let mut shared = board.lock();
            for lease in lost {
                if let Some((lease, stop)) = shared.running.get(&lease.token) {
                    stop.cancel();
                    (self.on_event)(&WorkerEvent::Lost { lease });
                    shared.report.lost += 1;
                } else if shared.ready.iter().any(|it| it.token == lease.token) {
                    shared.ready.retain(|it| it.token != lease.token);
                    shared.report.lost += 1;
                    (self.on_event)(&WorkerEvent::Lost { lease: &lease });
                }
            }
        }
    }
}

/// What a store gave.
enum Leased {
    Units(Vec<Lease>),
    NothingNow,
    NothingLeft,
}

/// What the threads share, and how they wake each other.
struct Board {
    shared: Mutex<Shared>,
    changed: Condvar,
    /// Ends the heartbeats.
    ended: CancelToken,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread that has nothing to do does next; waits while another one asks the store.
    fn next(&self, options: &WorkerOptions, cancel: &CancelToken) -> Next {
        let mut shared = self.lock();
        loop {
            if cancel.is_cancelled() || shared.error.is_some() {
                return Next::End;
            }
            if let Some(lease) = shared.ready.pop_front() {
                let Some(PlanOf::Ours(plan)) = shared.plans.get(&lease.plan).cloned() else {
                    continue;
                };
                let stop = cancel.child();
                shared.running.insert(lease.token, (lease.clone(), stop.clone()));
                return Next::Run(lease, plan, stop);
            }
            if shared.end.is_some() {
                return Next::End;
            }
            let left = options.max_units.map(|most| most.saturating_sub(shared.taken));
            if left == Some(0) {
                shared.end = Some(WorkerEnd::MaxUnits);
                return Next::End;
            }
            if !shared.is_leasing {
                shared.is_leasing = true;
                let left =
                    left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
                return Next::Lease(shared.batch.min(left));
            }
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    /// Takes more at once where a batch was gone at once, and less where others could have helped: a unit
    /// that waits here for its turn is one that no other worker carries out.
    fn follow_speed(&mut self, parallel: usize, max_batch: usize) {
        let took = self.batch_taken.elapsed();
        if took < Duration::from_millis(500) {
            self.batch = (self.batch * 2).min(max_batch.max(parallel));
        } else if took > Duration::from_secs(4) {
            self.batch = (self.batch / 2).max(parallel);
        }
        self.batch_taken = Instant::now();
    }
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
