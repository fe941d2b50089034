//! The store of a fleet: units, attempts and results as rows in `PostgreSQL`.
//!
//! The rows are the record, nothing is deleted. Workers take units with `FOR UPDATE SKIP LOCKED`, so they
//! never wait for each other; a lease ends by the database's clock. The trait blocks, so this does too: the
//! connections are driven by two threads of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metier::CancelToken;
use metier::skill::Digest;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

mod connection;
mod schema;
mod statements;
mod tls;
mod url;

use self::connection::Database;
use crate::error::{EvalError, Result};
use crate::plan::{Arm, EvalPlan, EvalUnit, MAX_PLAN_BYTES};
use crate::store::{
    EvalStore, Lease, MAX_ATTEMPTS, StoreProgress, Stored, check_fits, check_plan, lost,
};
use crate::trial::TrialResult;

pub use self::url::DatabaseUrl;

/// Units that are added by one statement.
const ADDED_AT_ONCE: usize = 5_000;
/// Results that are held at once while they are read.
const READ_AT_ONCE: i64 = 500;

/// How a store uses its database.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// Connections at most; one is used for each call that runs at the same time.
    pub connections: usize,
    /// How long a lease lives without a heartbeat.
    pub lease: Duration,
    /// How long a database that went away is waited for.
    pub reconnect_timeout: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        let (lease, reconnect_timeout) = (Duration::from_mins(1), Duration::from_mins(2));
        Self { connections: 4, lease, reconnect_timeout }
    }
}

/// The store of a fleet.
pub struct PostgresStore {
    database: Database,
    lease: Duration,
    /// What tells the requests of this store from those of every other.
    session: String,
    requests: AtomicU64,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.database.name()).finish()
    }
}

impl PostgresStore {
    /// Connects, and makes or updates the tables. A cancellation ends the waiting for a database that is gone.
    pub fn connect(
        url: DatabaseUrl,
        options: &PostgresOptions,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let database = Database::new(url, options, cancel)?;
        let version = database.run(async |client, _| schema::migrate(client).await)?;
        if version > schema::VERSION {
            let message = format!(
                "the tables in {} have version {version}, and this program knows {}",
                database.name(),
                schema::VERSION
            );
            return Err(EvalError::store(
                message,
                "update the program; the tables are as they were",
            ));
        }
        let session = database.run(async |client, _| {
            let row = client.query_one("SELECT gen_random_uuid()::text", &[]).await?;
            Ok(row.get::<_, String>(0))
        })?;
        Ok(Self { database, lease: options.lease, session, requests: AtomicU64::new(0) })
    }

    fn give_up_spent(&self, plan: &Digest) -> Result<()> {
        let id: &[u8] = plan.as_bytes();
        let spent = self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::SPENT).await?;
            client.query(&statement, &[&id]).await
        })?;
        if spent.is_empty() {
            return Ok(());
        }
        let manifest = self.plan(plan)?;
        for row in &spent {
            let lease = self.lease_of(plan, row)?;
            let case = manifest.cases.get(lease.unit.case).map_or("", |case| case.id.as_str());
            let json = json_of(&lost(case, &lease.unit, lease.attempt))?;
            let place = i64::try_from(lease.unit.index).unwrap_or(i64::MAX);
            self.database.run(async |client, _| {
                let statement = client.prepare_cached(statements::GIVE_UP).await?;
                client.execute(&statement, &[&id, &place, &json]).await
            })?;
        }
        Ok(())
    }

    /// What a row of a unit says.
    fn lease_of(&self, plan: &Digest, row: &Row) -> Result<Lease> {
        let read = || -> Option<Lease> {
            let arm: String = row.get(2);
            let fingerprint: [u8; 32] = row.get::<_, Vec<u8>>(4).try_into().ok()?;
            let unit = EvalUnit {
                index: u64::try_from(row.get::<_, i64>(0)).ok()?,
                case: usize::try_from(row.get::<_, i64>(1)).ok()?,
                arm: Arm::ALL.into_iter().find(|it| it.as_str() == arm)?,
                trial: u32::try_from(row.get::<_, i64>(3)).ok()?,
                fingerprint: Digest::from_bytes(fingerprint),
            };
            let attempt = u32::try_from(row.get::<_, i32>(5)).ok()?;
            Some(Lease { plan: *plan, unit, attempt, token: row.get(6) })
        };
        read().ok_or_else(|| {
            let message = format!("a unit in {} cannot be read", self.database.name());
            EvalError::store(
                message,
                "was a row changed by hand? Remove the plan, and run the evals again",
            )
        })
    }
}

/// A number as the database has it. No plan has more units than it can hold.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn most_attempts() -> i32 {
    i32::try_from(MAX_ATTEMPTS).unwrap_or(i32::MAX)
}

impl PostgresStore {
    /// The ids of all plans, the one that was submitted last first.
    pub fn plans(&self) -> Result<Vec<Digest>> {
        self.plan_ids(statements::PLANS)
    }

    fn plan_ids(&self, statement: &'static str) -> Result<Vec<Digest>> {
        let rows = self.database.run(async |client, _| {
            let statement = client.prepare_cached(statement).await?;
            client.query(&statement, &[]).await
        })?;
        let id = |row: &Row| row.get::<_, Vec<u8>>(0).try_into().ok().map(Digest::from_bytes);
        Ok(rows.iter().filter_map(id).collect())
    }
}

impl EvalStore for PostgresStore {
    fn open_plan(&self, plan: &EvalPlan) -> Result<()> {
        check_plan(plan)?;
        let digest = plan.id();
        let (id, manifest) = (digest.as_bytes().as_slice(), json_of(plan)?);
        let (count, attempts) = (signed(plan.unit_count()), most_attempts());
        let units: Vec<EvalUnit> = plan.units().collect();
        self.database.run(async |client, _| {
            let transaction = client.transaction().await?;
            let values: [&(dyn ToSql + Sync); 4] = [&id, &manifest, &plan.harness, &count];
            // The first process adds the units too; the same plan again waits here for the end of that.
            if transaction.execute(statements::ADD_PLAN, &values).await? == 1 {
                for some in units.chunks(ADDED_AT_ONCE) {
                    let places: Vec<i64> = some.iter().map(|it| signed(it.index)).collect();
                    let cases: Vec<i64> = some.iter().map(|it| signed(it.case as u64)).collect();
                    let arms: Vec<&str> = some.iter().map(|it| it.arm.as_str()).collect();
                    let trials: Vec<i64> = some.iter().map(|it| i64::from(it.trial)).collect();
                    let prints: Vec<&[u8]> =
                        some.iter().map(|it| it.fingerprint.as_bytes().as_slice()).collect();
                    let values: [&(dyn ToSql + Sync); 7] =
                        [&id, &places, &cases, &arms, &trials, &prints, &attempts];
                    transaction.execute(statements::ADD_UNITS, &values).await?;
                }
                // The statements are planned by what is known of the table, once for a long time.
                transaction.batch_execute("ANALYZE metier_evals.units").await?;
            }
            transaction.commit().await
        })
    }

    fn plan(&self, id: &Digest) -> Result<EvalPlan> {
        let (bytes, most) = (id.as_bytes().as_slice(), MAX_PLAN_BYTES.cast_signed());
        let row = self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::PLAN).await?;
            client.query_opt(&statement, &[&bytes, &most]).await
        })?;
        let unusable = |what: &str| {
            let message = format!("the plan {id} in {} {what}", self.database.name());
            EvalError::plan(
                message,
                "name a plan that was submitted by this version of the program",
            )
        };
        let manifest: Option<String> = row.ok_or_else(|| unusable("is not known"))?.get(0);
        let manifest = manifest.ok_or_else(|| unusable("is too large"))?;
        let plan: EvalPlan = serde_json::from_str(&manifest)
            .map_err(|error| unusable(&format!("cannot be read: {error}")))?;
        if plan.id() != *id {
            return Err(unusable("was changed after it was submitted"));
        }
        plan.fault().map_or(Ok(plan), |fault| Err(unusable(&fault)))
    }

    fn open_plans(&self) -> Result<Vec<Digest>> {
        self.plan_ids(statements::OPEN_PLANS)
    }

    fn lease(&self, plan: &Digest, worker: &str, most: usize) -> Result<Vec<Lease>> {
        let statement = statements::lease(i64::try_from(most).unwrap_or(i64::MAX));
        let (id, seconds) = (plan.as_bytes().as_slice(), self.lease.as_secs_f64());
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let request = format!("{}-{number}", self.session);
        let rows = self.database.run(async |client, tries| {
            if tries > 0 {
                // The database may have done it, and only its answer was lost.
                let found = client.prepare_cached(statements::LEASED_BY_REQUEST).await?;
                let rows = client.query(&found, &[&id, &request, &seconds]).await?;
                if !rows.is_empty() {
                    return Ok(rows);
                }
            }
            let statement = client.prepare_cached(&statement).await?;
            client.query(&statement, &[&id, &seconds, &worker, &request]).await
        })?;
        if rows.is_empty() {
            self.give_up_spent(plan)?;
        }
        rows.iter().map(|row| self.lease_of(plan, row)).collect()
    }

    fn heartbeat(&self, leases: &[Lease]) -> Result<Vec<Lease>> {
        let seconds = self.lease.as_secs_f64();
        let mut plans: Vec<Digest> = leases.iter().map(|lease| lease.plan).collect();
        plans.sort_unstable();
        plans.dedup();
        let mut alive: Vec<i64> = Vec::new();
        for plan in plans {
            let of_plan = leases.iter().filter(|lease| lease.plan == plan);
            let (places, tokens): (Vec<i64>, Vec<i64>) =
                of_plan.map(|lease| (signed(lease.unit.index), lease.token)).unzip();
            let id = plan.as_bytes().as_slice();
            let rows = self.database.run(async |client, _| {
                let statement = client.prepare_cached(statements::HEARTBEAT).await?;
                client.query(&statement, &[&id, &places, &tokens, &seconds]).await
            })?;
            alive.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
        }
        alive.sort_unstable();
        let is_lost = |lease: &&Lease| alive.binary_search(&lease.token).is_err();
        Ok(leases.iter().filter(is_lost).cloned().collect())
    }

    fn complete(&self, lease: &Lease, result: &TrialResult) -> Result<Stored> {
        check_fits(lease, result)?;
        let (id, print) = (lease.plan.as_bytes().as_slice(), result.fingerprint);
        let (place, print) = (signed(lease.unit.index), print.as_bytes().as_slice());
        let (is_error, json) = (result.error_kind().is_some(), json_of(result)?);
        let row = self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::COMPLETE).await?;
            let values: [&(dyn ToSql + Sync); 6] =
                [&id, &place, &lease.token, &print, &is_error, &json];
            client.query_one(&statement, &values).await
        })?;
        Ok(if row.get(0) { Stored::New } else { Stored::AlreadyThere })
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let (id, place) = (lease.plan.as_bytes().as_slice(), signed(lease.unit.index));
        self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::RELEASE).await?;
            client.execute(&statement, &[&id, &place, &lease.token]).await.map(|_| ())
        })
    }

    fn results(
        &self,
        plan: &EvalPlan,
        each: &mut dyn FnMut(TrialResult) -> Result<()>,
    ) -> Result<()> {
        let digest = plan.id();
        let (id, mut after) = (digest.as_bytes().as_slice(), -1i64);
        loop {
            let rows = self.database.run(async |client, _| {
                let statement = client.prepare_cached(statements::RESULTS).await?;
                client.query(&statement, &[&id, &after, &READ_AT_ONCE]).await
            })?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.get(0);
            for row in &rows {
                let result = serde_json::from_str(row.get::<_, &str>(1)).map_err(|error| {
                    let message =
                        format!("a result in {} cannot be read: {error}", self.database.name());
                    EvalError::store(message, "use the version of the program that made the plan")
                })?;
                each(result)?;
            }
        }
    }

    fn retry_errors(&self, plan: &Digest) -> Result<u64> {
        let (id, attempts) = (plan.as_bytes().as_slice(), most_attempts());
        self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::RETRY_ERRORS).await?;
            client.execute(&statement, &[&id, &attempts]).await
        })
    }

    fn progress(&self, plan: &Digest) -> Result<StoreProgress> {
        let id = plan.as_bytes().as_slice();
        let row = self.database.run(async |client, _| {
            let statement = client.prepare_cached(statements::PROGRESS).await?;
            client.query_one(&statement, &[&id]).await
        })?;
        let count = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or(0);
        Ok(StoreProgress { units: count(0), done: count(1), leased: count(2), lost: count(3) })
    }

    fn lease_time(&self) -> Option<Duration> {
        Some(self.lease)
    }
}

fn json_of(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| {
        EvalError::store(format!("it cannot be written as JSON: {error}"), "report this as a fault")
    })
}
