//! The worker on files: it takes what is there, gives back what it must not finish, and ends as it was asked.
//! On a database it is tested in `postgres`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use metier::CancelToken;
use metier::skill::Digest;
use metier_evals::{
    EvalError, EvalPlan, EvalStore, EvalUnit, FileStore, Lease, StoreProgress, Stored,
    TrialErrorKind, TrialResult, WhenIdle, Worker, WorkerEnd, WorkerEvent, WorkerOptions,
};

use crate::fake;

pub(crate) fn options() -> WorkerOptions {
    WorkerOptions {
        name: "worker".to_owned(),
        harness: fake::HARNESS.to_owned(),
        plan: None,
        parallel: 3,
        max_batch: 16,
        when_idle: WhenIdle::EndWhenDone,
        max_units: None,
        poll: Duration::from_millis(10),
    }
}

#[test]
fn a_worker_carries_out_every_plan_and_a_panic_is_an_error_of_the_harness() {
    let dir = tempfile::tempdir().expect("dir");
    let store = FileStore::at(dir.path());
    let plans = [fake::plan(10), fake::named_plan("other", 5)];
    for plan in &plans {
        store.open_plan(plan).expect("opens");
    }
    let foreign = EvalPlan { harness: "older".to_owned(), ..fake::named_plan("old", 1) };
    store.open_plan(&foreign).expect("opens");
    let begun = AtomicU64::new(0);
    let listener = |event: &WorkerEvent<'_>| {
        begun.fetch_add(u64::from(matches!(event, WorkerEvent::Begun { .. })), Ordering::Relaxed);
    };
    let run = |plan: &EvalPlan, unit: &EvalUnit, cancel: &CancelToken| {
        assert!(plan.cases[unit.case].id != "other-2", "a case that breaks the harness");
        fake::run(plan, unit, cancel)
    };
    let worker = Worker::new(&store, options(), &run).on_event(&listener);
    let report = worker.work(&CancelToken::new()).expect("works");
    assert_eq!((report.end, report.completed, report.foreign_plans), (WorkerEnd::Done, 60, 1));
    assert_eq!(begun.into_inner(), 60);
    assert_eq!(fake::lines(&store, &plans[0]), fake::expected(&plans[0]));
    let mut broken = 0;
    store
        .results(&plans[1], &mut |result: TrialResult| {
            broken += u32::from(result.error_kind() == Some(TrialErrorKind::Harness));
            Ok(())
        })
        .expect("reads");
    assert_eq!(broken, 4);
    let one = WorkerOptions { plan: Some(foreign.id()), ..options() };
    let error =
        Worker::new(&store, one, &run).work(&CancelToken::new()).expect_err("another version");
    assert_eq!(
        error.to_string(),
        "the plan was made by version older of the program, and this is test"
    );
}

#[test]
fn a_worker_that_has_other_plans_does_not_wait_for_what_others_have_in_hand() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, plan) = (FileStore::at(dir.path()), fake::plan(2));
    store.open_plan(&plan).expect("opens");
    let held = store.lease(&plan.id(), "other", 3).expect("leases");
    let at_once = WorkerOptions { when_idle: WhenIdle::End, ..options() };
    let work = || {
        let worker = Worker::new(&store, at_once.clone(), &fake::run);
        let report = worker.work(&CancelToken::new()).expect("works");
        (report.end, report.completed)
    };
    assert_eq!(work(), (WorkerEnd::Idle, 5));
    for lease in &held {
        store.release(lease).expect("gives back");
    }
    assert_eq!(work(), (WorkerEnd::Done, 3));
}

#[test]
fn a_worker_does_as_many_units_as_it_may() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, plan) = (FileStore::at(dir.path()), fake::plan(10));
    store.open_plan(&plan).expect("opens");
    let some = WorkerOptions { max_units: Some(7), ..options() };
    let report = Worker::new(&store, some, &fake::run).work(&CancelToken::new()).expect("works");
    assert_eq!((report.end, report.completed), (WorkerEnd::MaxUnits, 7));
    let progress = store.progress(&plan.id()).expect("progress");
    assert_eq!((progress.done, progress.leased), (7, 0));
}

#[test]
fn a_worker_that_is_stopped_gives_back_what_it_has_in_hand() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, plan) = (FileStore::at(dir.path()), fake::plan(10));
    store.open_plan(&plan).expect("opens");
    let cancel = CancelToken::new();
    let done = AtomicU64::new(0);
    let run = |plan: &EvalPlan, unit: &EvalUnit, stop: &CancelToken| {
        if done.fetch_add(1, Ordering::SeqCst) < 6 {
            return fake::result(plan, unit);
        }
        cancel.cancel();
        assert!(stop.wait_timeout(Duration::from_mins(10)), "it is stopped with its worker");
        let case = &plan.cases[unit.case].id;
        TrialResult::of_error(case, unit, TrialErrorKind::Cancelled, "stopped")
    };
    let report = Worker::new(&store, options(), &run).work(&cancel).expect("works");
    assert_eq!((report.end, report.completed), (WorkerEnd::Cancelled, 6));
    assert!(report.released >= 1);
    let progress = store.progress(&plan.id()).expect("progress");
    assert_eq!((progress.done, progress.leased), (6, 0));
    let again =
        Worker::new(&store, options(), &fake::run).work(&CancelToken::new()).expect("works");
    assert_eq!(again.completed, 34);
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
}

/// A store whose answer to a result comes after the next heartbeat has found the unit done.
struct SlowStore {
    files: FileStore,
    beats: AtomicU64,
}

type Outcome<T> = Result<T, EvalError>;

impl EvalStore for SlowStore {
    fn open_plan(&self, plan: &EvalPlan) -> Outcome<()> {
        self.files.open_plan(plan)
    }

    fn plan(&self, id: &Digest) -> Outcome<EvalPlan> {
        self.files.plan(id)
    }

    fn open_plans(&self) -> Outcome<Vec<Digest>> {
        self.files.open_plans()
    }

    fn lease(&self, plan: &Digest, worker: &str, most: usize) -> Outcome<Vec<Lease>> {
        self.files.lease(plan, worker, most)
    }

    fn heartbeat(&self, leases: &[Lease]) -> Outcome<Vec<Lease>> {
        let lost = self.files.heartbeat(leases);
        self.beats.fetch_add(1, Ordering::SeqCst);
        lost
    }

    fn complete(&self, lease: &Lease, result: &TrialResult) -> Outcome<Stored> {
        let stored = self.files.complete(lease, result);
        // The second of these began after the unit was done, and what it found has been heard when the third begins.
        let (seen, begun) = (self.beats.load(Ordering::SeqCst), Instant::now());
        while self.beats.load(Ordering::SeqCst) < seen + 3 {
            assert!(begun.elapsed() < Duration::from_mins(5), "no heartbeat");
            std::thread::sleep(Duration::from_millis(1));
        }
        stored
    }

    fn release(&self, lease: &Lease) -> Outcome<()> {
        self.files.release(lease)
    }

    fn results(
        &self,
        plan: &EvalPlan,
        each: &mut dyn FnMut(TrialResult) -> Outcome<()>,
    ) -> Outcome<()> {
        self.files.results(plan, each)
    }

    fn retry_errors(&self, plan: &Digest) -> Outcome<u64> {
        self.files.retry_errors(plan)
    }

    fn progress(&self, plan: &Digest) -> Outcome<StoreProgress> {
        self.files.progress(plan)
    }

    fn lease_time(&self) -> Option<Duration> {
        Some(Duration::from_millis(6))
    }
}

#[test]
fn a_unit_whose_result_is_being_kept_is_not_taken_for_lost() {
    let dir = tempfile::tempdir().expect("dir");
    let (files, plan) = (FileStore::at(dir.path()), fake::plan(1));
    let store = SlowStore { files, beats: AtomicU64::new(0) };
    store.open_plan(&plan).expect("opens");
    let lost = AtomicU64::new(0);
    let listener = |event: &WorkerEvent<'_>| {
        lost.fetch_add(u64::from(matches!(event, WorkerEvent::Lost { .. })), Ordering::SeqCst);
    };
    let worker = Worker::new(&store, options(), &fake::run).on_event(&listener);
    let report = worker.work(&CancelToken::new()).expect("works");
    assert_eq!((report.completed, report.lost, lost.into_inner()), (4, 0, 0));
}
