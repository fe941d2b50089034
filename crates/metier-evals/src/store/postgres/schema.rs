//! The tables, by version. Whatever was once released stays as it is here; a change is a new entry.
//!
//! Any number of programs may begin at once: one of them changes the tables and the others wait. A program
//! that is older than the tables says so and touches nothing.

use deadpool_postgres::Object;
use tokio_postgres::Error;

/// What brings the tables from one version to the next.
const MIGRATIONS: &[&str] = &["
CREATE TABLE metier_evals.plans (
    id bytea PRIMARY KEY,
    -- Text: its digest is the id, and JSONB would reorder its keys.
    manifest text NOT NULL,
    harness text NOT NULL,
    units bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE SEQUENCE metier_evals.tokens;
CREATE TABLE metier_evals.units (
    plan bytea NOT NULL REFERENCES metier_evals.plans (id) ON DELETE CASCADE,
    place bigint NOT NULL,
    case_place bigint NOT NULL,
    arm text NOT NULL,
    trial bigint NOT NULL,
    fingerprint bytea NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    attempts_left integer NOT NULL,
    done boolean NOT NULL DEFAULT false,
    lost boolean NOT NULL DEFAULT false,
    -- From when on it can be taken: the end of its lease, or always.
    available_at timestamptz NOT NULL DEFAULT '-infinity',
    token bigint,
    worker text,
    request text,
    PRIMARY KEY (plan, place)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX units_to_take ON metier_evals.units (plan, available_at, place) WHERE NOT done;
-- Every attempt, for good.
CREATE TABLE metier_evals.attempts (
    token bigint PRIMARY KEY,
    plan bytea NOT NULL,
    place bigint NOT NULL,
    attempt integer NOT NULL,
    worker text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    outcome text,
    -- The lease of the unit before this one that was never ended, and when it ran out.
    after_token bigint,
    after_end timestamptz
) WITH (fillfactor = 80);
CREATE TABLE metier_evals.results (
    fingerprint bytea PRIMARY KEY,
    is_error boolean NOT NULL,
    -- JSON, not JSONB: the bytes are kept as they are, and a text may hold a zero character.
    result json NOT NULL,
    -- The attempt that it came of.
    token bigint,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"];

/// Any number that no other program takes; the letters of `metier`.
const LOCK: i64 = 0x006d_6574_6965_7200;

/// What this program needs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a handful of migrations"
)]
pub(super) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Brings the tables to this program's version, and says which version they have. One that is newer is left
/// as it is.
pub(super) async fn migrate(client: &mut Object) -> Result<i32, Error> {
    // Without the right to create anything a worker can use tables that are there.
    let there = version(client).await?;
    if there >= VERSION {
        return Ok(there);
    }
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS metier_evals;
             CREATE TABLE IF NOT EXISTS metier_evals.migrations (
                 version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())",
        )
        .await?;
    let row = transaction
        .query_one("SELECT coalesce(max(version), 0) FROM metier_evals.migrations", &[])
        .await?;
    let there: i32 = row.get(0);
    for (version, migration) in (1..).zip(MIGRATIONS).skip(usize::try_from(there).unwrap_or(0)) {
        transaction.batch_execute(migration).await?;
        let record = "INSERT INTO metier_evals.migrations (version) VALUES ($1)";
        transaction.execute(record, &[&version]).await?;
    }
    transaction.commit().await?;
    Ok(there.max(VERSION))
}

/// The version of the tables; 0 where there are none.
async fn version(client: &Object) -> Result<i32, Error> {
    let there = "SELECT to_regclass('metier_evals.migrations') IS NOT NULL";
    if !client.query_one(there, &[]).await?.get::<_, bool>(0) {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM metier_evals.migrations";
    Ok(client.query_one(newest, &[]).await?.get(0))
}
