//! Measures leasing and completing units in `PostgreSQL`, against `pgbench` with the same two statements.
//!
//! Called by `cargo xtask bench leases`; it prints one row of Markdown. Both sides have 32 clients, prepared
//! statements and the same server with fsync on, and take turns. The statements that pgbench runs are taken
//! from the server's log, so that they are the ones that were sent.
#![expect(
    clippy::cast_precision_loss,
    clippy::format_collect,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement is printed, and no rate has sixteen digits"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use metier::agent::Status;
use metier::skill::Digest;
use metier::{CancelToken, Environment};
use metier_evals::{
    Arm, Case, DatabaseUrl, EvalPlan, EvalStore, EvalUnit, ModelKind, PLAN_FORMAT, PostgresOptions,
    PostgresStore, SubjectInfo, TrialEnd, TrialErrorKind, TrialResult,
};
use metier_testkit::PostgresServer;

const CLIENTS: usize = 32;
const ROUNDS: u32 = 3;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let Some(server) = PostgresServer::start(&["shared_buffers=256MB", "synchronous_commit=on"])
    else {
        return Err("PostgreSQL is not installed".into());
    };
    let statements = sent_statements(&server)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        theirs.push(pgbench(&server, &statements, round, seconds)?);
        ours.push(metier(&server, round, Duration::from_secs(seconds))?);
        eprintln!(
            "bench: round {}: pgbench {:.0}/s, metier {:.0}/s",
            round + 1,
            last(&theirs),
            last(&ours)
        );
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let threads = std::thread::available_parallelism()?;
    println!("| clients | cores | `pgbench`, units/s | `metier`, units/s | share | target |");
    println!("|---|---|---|---|---|---|");
    let share = 100.0 * ours / theirs;
    println!("| {CLIENTS} | {threads} | {theirs:.0} | {ours:.0} | {share:.0} % | at least 70 % |");
    Ok(())
}

fn last(rates: &[f64]) -> f64 {
    rates.last().copied().unwrap_or_default()
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Units of one case each, more than can be done in the time.
fn plan(name: &str) -> EvalPlan {
    let case =
        |at: usize| Case { id: format!("{name}-{at}"), input: "x".to_owned(), ..Case::default() };
    EvalPlan {
        format: PLAN_FORMAT,
        harness: "bench".to_owned(),
        subject: SubjectInfo {
            kind: "bench".to_owned(),
            provider: "bench".to_owned(),
            model: "bench".to_owned(),
            model_kind: ModelKind::Mock,
            settings: Digest::of(b""),
        },
        judge: None,
        index_hash: Digest::of(b""),
        skills: std::collections::BTreeMap::new(),
        arms: vec![Arm::Listed],
        trials: 1,
        cases: (0..100_000).map(case).collect(),
    }
}

/// A result of about a kilobyte, as a short trial leaves it.
fn result(plan: &EvalPlan, unit: &EvalUnit) -> TrialResult {
    let case = &plan.cases[unit.case].id;
    let mut result = TrialResult::of_error(case, unit, TrialErrorKind::Harness, "");
    result.end = TrialEnd::Finished { status: Status::Completed };
    result.answer = Some("an answer of some length. ".repeat(24));
    result
}

fn connect(server: &PostgresServer, connections: usize) -> Fallible<PostgresStore> {
    let url = DatabaseUrl::parse(&server.url("postgres"), &Environment::empty())?;
    let options = PostgresOptions { connections, ..PostgresOptions::default() };
    Ok(PostgresStore::connect(url, &options, &CancelToken::new())?)
}

/// The texts of the two statements, as the server saw them.
fn sent_statements(server: &PostgresServer) -> Fallible<[String; 2]> {
    server.sql("postgres", "ALTER SYSTEM SET log_statement = 'all'; ");
    server.sql("postgres", "ALTER SYSTEM SET log_line_prefix = '@@'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let store = connect(server, 1)?;
    let plan = EvalPlan { cases: plan("log").cases[..1].to_vec(), ..plan("log") };
    store.open_plan(&plan)?;
    for lease in store.lease(&plan.id(), "bench", 1)? {
        store.complete(&lease, &result(&plan, &lease.unit))?;
    }
    server.sql("postgres", "ALTER SYSTEM SET log_statement = 'none'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let log = server.log();
    let find = |what: &str| {
        let sent = log.split("@@").filter_map(|entry| entry.strip_prefix("LOG:  execute "));
        let texts = sent.filter_map(|entry| Some(entry.split_once(": ")?.1.trim().to_owned()));
        texts.filter(|text| text.starts_with("WITH")).find(|text| text.contains(what))
    };
    let missing = "the statements are not in the server's log";
    Ok([
        find("SKIP LOCKED").ok_or(missing)?,
        find("ON CONFLICT (fingerprint) DO UPDATE").ok_or(missing)?,
    ])
}

/// Units a second by pgbench.
fn pgbench(
    server: &PostgresServer,
    statements: &[String; 2],
    round: u32,
    seconds: u64,
) -> Fallible<f64> {
    let plan = plan(&format!("pgbench-{round}"));
    connect(server, 1)?.open_plan(&plan)?;
    let id: String = plan.id().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let unit = plan.units().next().ok_or("no unit")?;
    let json = serde_json::to_string(&result(&plan, &unit))?;
    let [lease, complete] = statements;
    let lease = with_values(lease, &[":plan", "60", ":worker", ":request"]);
    let complete =
        with_values(complete, &[":plan", ":place", ":token", ":fingerprint", "false", ":result"]);
    let text = format!("{}\n\\gset\n{};\n", one_line(&lease), one_line(&complete));
    let script = server.put("leases.sql", text.as_bytes());
    let output = server
        .program("pgbench")
        .args(["-n", "-M", "prepared", "-j", "2", "-U", "postgres", "-h"])
        .arg(server.dir())
        .args(["-c", &CLIENTS.to_string(), "-T", &seconds.to_string(), "-f"])
        .arg(script)
        .args(["-D", &format!("plan=\\x{id}"), "-D", "worker=bench", "-D", "request=bench"])
        .args(["-D", &format!("result={json}"), "postgres"])
        .output()?;
    let (text, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let rate =
        text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.filter(|_| output.status.success()).ok_or_else(|| format!("pgbench: {text}{error}").into())
}

/// A statement with its `$1`, `$2`, ... replaced.
fn with_values(statement: &str, values: &[&str]) -> String {
    let numbered = values.iter().enumerate().rev();
    numbered.fold(statement.to_owned(), |text, (at, value)| {
        text.replace(&format!("${}", at + 1), value)
    })
}

/// pgbench ends a statement for `\gset` at the line.
fn one_line(statement: &str) -> String {
    statement.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Units a second by the store.
fn metier(server: &PostgresServer, round: u32, time: Duration) -> Fallible<f64> {
    let (store, plan) = (connect(server, CLIENTS)?, plan(&format!("metier-{round}")));
    store.open_plan(&plan)?;
    let (id, done) = (plan.id(), AtomicU64::new(0));
    // Connections are made before the clock runs, as pgbench's are.
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| store.progress(&id));
        }
    });
    let begun = Instant::now();
    let failed = std::thread::scope(|scope| {
        let work = || -> Result<(), metier_evals::EvalError> {
            while begun.elapsed() < time {
                for lease in store.lease(&id, "bench", 1)? {
                    store.complete(&lease, &result(&plan, &lease.unit))?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(work)).collect();
        clients.into_iter().find_map(|client| client.join().ok()?.err())
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(done.into_inner() as f64 / begun.elapsed().as_secs_f64()),
    }
}
