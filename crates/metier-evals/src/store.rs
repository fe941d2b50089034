//! Where units are taken from and results are kept.
//!
//! One trait with two homes: append-only files (`files`) for one machine, and a database (`postgres`) for
//! many workers. An attempt is on record before its unit is handed out, a result is kept once under its
//! fingerprint, and a unit is never in two hands at once. A result that is no error replaces one that is; of
//! two results the first stays, and of two errors one.

use std::time::Duration;

use metier::skill::Digest;
use serde::Serialize;

use crate::error::{EvalError, Result};
use crate::plan::{EvalPlan, EvalUnit};
use crate::trial::{TrialErrorKind, TrialResult};

mod files;
#[cfg(feature = "postgres")]
mod postgres;

pub use files::{FileStore, SavedPlan};
pub(crate) use files::{
    PlanFile, PlanFolder, ResultAt, ResultLog, ResultSeal, Units, unit_name, unsealed,
};
#[cfg(feature = "postgres")]
pub use postgres::{DatabaseUrl, PostgresOptions, PostgresStore};

/// How often a unit is begun before it is given up as lost.
pub const MAX_ATTEMPTS: u32 = 3;

/// A unit in a worker's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The plan.
    pub plan: Digest,
    /// The unit.
    pub unit: EvalUnit,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// What tells this lease from another of the same unit.
    pub token: i64,
}

/// Whether a result was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It is on record now.
    New,
    /// Another one was there before it, and stays.
    AlreadyThere,
}

/// How far a plan is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreProgress {
    /// Units of the plan.
    pub units: u64,
    /// Units with a result, which may be an error.
    pub done: u64,
    /// Units in a worker's hands.
    pub leased: u64,
    /// Of those that are done: units that were given up, because each attempt ended without a result.
    pub lost: u64,
}

/// Where units are taken from and results are kept.
pub trait EvalStore: Send + Sync {
    /// Makes a plan known. The same plan twice is one.
    fn open_plan(&self, plan: &EvalPlan) -> Result<()>;

    /// A plan that was made known.
    fn plan(&self, id: &Digest) -> Result<EvalPlan>;

    /// The plans that are not done, in the order in which they were made known.
    fn open_plans(&self) -> Result<Vec<Digest>>;

    /// Takes up to `most` units of a plan that have no result and are in no worker's hands. Each attempt
    /// is on record before this returns. A unit whose attempts are spent gets an error for a result. An
    /// empty list says that there is nothing to take now.
    fn lease(&self, plan: &Digest, worker: &str, most: usize) -> Result<Vec<Lease>>;

    /// Says that the worker still works on these. Those that are no longer its own are returned.
    fn heartbeat(&self, leases: &[Lease]) -> Result<Vec<Lease>>;

    /// Keeps a result and ends its lease.
    fn complete(&self, lease: &Lease, result: &TrialResult) -> Result<Stored>;

    /// Gives a unit back without a result. The attempt does not count.
    fn release(&self, lease: &Lease) -> Result<()>;

    /// Gives each result of a plan to `each`, in the plan's order of units where that is cheap, in any
    /// order otherwise.
    fn results(
        &self,
        plan: &EvalPlan,
        each: &mut dyn FnMut(TrialResult) -> Result<()>,
    ) -> Result<()>;

    /// Lets the units of a plan whose result is an error be taken again, and says how many those are. The
    /// errors stay until something better is there.
    fn retry_errors(&self, plan: &Digest) -> Result<u64>;

    /// How far a plan is.
    fn progress(&self, plan: &Digest) -> Result<StoreProgress>;

    /// How long a lease lives without a heartbeat. Nothing where it lives as long as its process.
    fn lease_time(&self) -> Option<Duration>;

    /// What was found and not believed, such as the rest of a line that a crash cut off.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The result of a unit that was begun `attempts` times.
pub(crate) fn lost(case: &str, unit: &EvalUnit, attempts: u32) -> TrialResult {
    let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
    let message = format!("it was begun {times}, and no worker finished it");
    TrialResult::of_error(case, unit, TrialErrorKind::Lost, message)
}

/// A plan that comes from a caller, before anything is written.
pub(crate) fn check_plan(plan: &EvalPlan) -> Result<()> {
    match plan.fault() {
        None => Ok(()),
        Some(fault) => Err(EvalError::plan(format!("the plan {fault}"), "make another plan")),
    }
}

/// A result is kept under the fingerprint of its unit and no other.
pub(crate) fn check_fits(lease: &Lease, result: &TrialResult) -> Result<()> {
    if lease.unit.fingerprint == result.fingerprint {
        return Ok(());
    }
    let message =
        format!("the result of case `{}` has the fingerprint of another unit", result.case);
    Err(EvalError::store(message, "report this as a fault of the program"))
}
