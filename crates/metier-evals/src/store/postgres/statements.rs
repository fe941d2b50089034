//! Every statement that workers execute. Time is the database's alone: no statement takes a point in time
//! from a worker, whose clock may be wrong; what is passed is a number of seconds.
//!
//! | `$` | is always |
//! |---|---|
//! | plan | the digest of a plan, as 32 bytes |
//! | place | a unit's place in its plan, from 0 |
//! | token | what tells one lease from every other |

/// Takes units: $1 plan, $2 seconds until a lease ends, $3 worker, $4 the request, by which an answer that was
/// lost can be found again.
///
/// How many it takes at most is a number in the text. For a parameter there, the server takes every plan that it
/// could keep to be dear, and plans each call anew: one unit at a time then takes half as long again (`pgbench`,
/// 32 clients). Few numbers are asked for, so few statements are prepared.
///
/// The attempt is on record in the same transaction. It also records when the lease before it ended, which
/// is earlier than its own begin: so the record itself shows that no two workers had a unit at once.
pub(super) fn lease(most: i64) -> String {
    format!(
        "
WITH taken AS MATERIALIZED (
    SELECT place, token AS old_token, available_at AS old_end
    FROM metier_evals.units
    WHERE plan = $1 AND NOT done AND attempts_left > 0 AND available_at <= now()
    ORDER BY available_at, place
    LIMIT {most}
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE metier_evals.units AS unit
    SET token = nextval('metier_evals.tokens'), attempts = unit.attempts + 1,
        attempts_left = unit.attempts_left - 1, worker = $3, request = $4,
        available_at = clock_timestamp() + make_interval(secs => $2)
    FROM taken
    WHERE unit.plan = $1 AND unit.place = taken.place
    RETURNING unit.place, unit.case_place, unit.arm, unit.trial, unit.fingerprint, unit.attempts,
        unit.token, taken.old_token, taken.old_end
), noted AS (
    INSERT INTO metier_evals.attempts (token, plan, place, attempt, worker, started_at, after_token, after_end)
    SELECT token, $1, place, attempts, $3, clock_timestamp(), old_token, nullif(old_end, '-infinity')
    FROM leased
)
SELECT place, case_place, arm, trial, fingerprint, attempts, token FROM leased ORDER BY place"
    )
}

/// What a request took whose answer was lost: $1 plan, $2 the request, $3 seconds until the leases end. A lease
/// that has run out meanwhile is not handed back, and one that is lives from now on.
pub(super) const LEASED_BY_REQUEST: &str = "
WITH prolonged AS (
    UPDATE metier_evals.units SET available_at = clock_timestamp() + make_interval(secs => $3)
    WHERE plan = $1 AND request = $2 AND NOT done AND available_at > clock_timestamp()
    RETURNING place, case_place, arm, trial, fingerprint, attempts, token
)
SELECT place, case_place, arm, trial, fingerprint, attempts, token FROM prolonged ORDER BY place";

/// Keeps a result and ends its lease: $1 plan, $2 place, $3 token, $4 fingerprint, $5 whether it is an
/// error, $6 the result. True if it is the one that is on record now.
///
/// A result counts whenever it comes. An error is one attempt's: it counts only while its lease is the unit's, or it would
/// end the work of the worker that took over.
pub(super) const COMPLETE: &str = "
WITH ended AS (
    UPDATE metier_evals.units SET done = true, lost = lost AND $5
    WHERE plan = $1 AND place = $2 AND (NOT done OR lost) AND (token = $3 OR NOT $5)
    RETURNING 1
), kept AS (
    INSERT INTO metier_evals.results AS there (fingerprint, is_error, result, token)
    SELECT $4, $5, $6::text::json, $3 WHERE NOT $5 OR EXISTS (SELECT 1 FROM ended)
    ON CONFLICT (fingerprint) DO UPDATE
    SET is_error = excluded.is_error, result = excluded.result, token = excluded.token,
        stored_at = clock_timestamp()
    WHERE there.is_error
    RETURNING 1
), noted AS (
    UPDATE metier_evals.attempts SET ended_at = clock_timestamp(), outcome = 'completed'
    WHERE token = $3 AND ended_at IS NULL
)
SELECT EXISTS (SELECT 1 FROM kept)
    OR EXISTS (SELECT 1 FROM metier_evals.results WHERE fingerprint = $4 AND token = $3)";

/// Prolongs leases: $1 plan, $2 places, $3 tokens, $4 seconds. Gives the tokens that still count.
pub(super) const HEARTBEAT: &str = "
UPDATE metier_evals.units SET available_at = clock_timestamp() + make_interval(secs => $4)
WHERE plan = $1 AND place = ANY($2) AND token = ANY($3) AND NOT done
RETURNING token";

/// Gives a unit back: $1 plan, $2 place, $3 token. The attempt does not count.
pub(super) const RELEASE: &str = "
WITH freed AS (
    UPDATE metier_evals.units
    SET available_at = '-infinity', attempts_left = attempts_left + 1, token = NULL
    WHERE plan = $1 AND place = $2 AND token = $3 AND NOT done
    RETURNING 1
)
UPDATE metier_evals.attempts SET ended_at = clock_timestamp(), outcome = 'released'
WHERE token = $3 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM freed)";

/// Units whose attempts are spent: $1 plan.
pub(super) const SPENT: &str = "
SELECT place, case_place, arm, trial, fingerprint, attempts, coalesce(token, 0) FROM metier_evals.units
WHERE plan = $1 AND NOT done AND attempts_left <= 0 AND available_at <= now()
ORDER BY place LIMIT 100";

/// Gives one of them up: $1 plan, $2 place, $3 the error that is its result.
pub(super) const GIVE_UP: &str = "
WITH given_up AS (
    UPDATE metier_evals.units AS unit
    SET done = true, lost = NOT EXISTS (
        SELECT 1 FROM metier_evals.results AS there
        WHERE there.fingerprint = unit.fingerprint AND NOT there.is_error)
    WHERE plan = $1 AND place = $2 AND NOT done AND attempts_left <= 0 AND available_at <= now()
    RETURNING fingerprint
)
INSERT INTO metier_evals.results (fingerprint, is_error, result)
SELECT fingerprint, true, $3::text::json FROM given_up
ON CONFLICT (fingerprint) DO NOTHING";

/// Makes a plan known: $1 plan, $2 manifest, $3 program version, $4 how many units.
pub(super) const ADD_PLAN: &str = "
INSERT INTO metier_evals.plans (id, manifest, harness, units) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO NOTHING";

/// Adds units of a plan: $1 plan, $2 places, $3 places of cases, $4 arms, $5 trials, $6 fingerprints, $7
/// attempts of each. One whose fingerprint has a result is done.
pub(super) const ADD_UNITS: &str = "
INSERT INTO metier_evals.units (plan, place, case_place, arm, trial, fingerprint, attempts_left, done)
SELECT $1::bytea, place, case_place, arm, trial, fingerprint, $7::integer, EXISTS (
    SELECT 1 FROM metier_evals.results AS there
    WHERE there.fingerprint = unit.fingerprint AND NOT there.is_error)
FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[])
    AS unit (place, case_place, arm, trial, fingerprint)
ON CONFLICT DO NOTHING";

/// The manifest of a plan, unless it is too large: $1 plan, $2 bytes at most.
pub(super) const PLAN: &str = "
SELECT CASE WHEN octet_length(manifest) <= $2::bigint THEN manifest END
FROM metier_evals.plans WHERE id = $1";

/// All plans, the one that was submitted last first.
pub(super) const PLANS: &str = "
SELECT id FROM metier_evals.plans ORDER BY created_at DESC, id";

/// The plans that are not done, the oldest first.
pub(super) const OPEN_PLANS: &str = "
SELECT id FROM metier_evals.plans AS it
WHERE EXISTS (SELECT 1 FROM metier_evals.units WHERE plan = it.id AND NOT done)
ORDER BY created_at, id";

/// Results of a plan in the order of units: $1 plan, $2 after which place, $3 how many at most.
pub(super) const RESULTS: &str = "
SELECT unit.place, kept.result::text FROM metier_evals.units AS unit
JOIN metier_evals.results AS kept USING (fingerprint)
WHERE unit.plan = $1 AND unit.place > $2 AND unit.done
ORDER BY unit.place LIMIT $3";

/// Lets units whose result is an error be taken again: $1 plan, $2 attempts of each.
pub(super) const RETRY_ERRORS: &str = "
UPDATE metier_evals.units AS unit
SET done = false, lost = false, attempts_left = $2, available_at = '-infinity', token = NULL
FROM metier_evals.results AS kept
WHERE unit.plan = $1 AND unit.done AND kept.fingerprint = unit.fingerprint AND kept.is_error";

/// How far a plan is: $1 plan.
pub(super) const PROGRESS: &str = "
SELECT count(*), count(*) FILTER (WHERE done),
    count(*) FILTER (WHERE NOT done AND token IS NOT NULL AND available_at > now()),
    count(*) FILTER (WHERE lost)
FROM metier_evals.units WHERE plan = $1";
