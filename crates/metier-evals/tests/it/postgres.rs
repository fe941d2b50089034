//! The store in `PostgreSQL`, against a real one: leases, kills, clocks, migrations, TLS.
//! The server is started for the test, as a user without rights.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metier::{CancelToken, Environment};
use metier_evals::{
    DatabaseUrl, EvalPlan, EvalStore, EvalUnit, MAX_ATTEMPTS, PostgresOptions, PostgresStore,
    Stored, TrialErrorKind, TrialResult, Worker, WorkerEnd, WorkerOptions,
};
use metier_testkit::PostgresServer;
use regex::Regex;

use crate::fake;
use crate::lossy_proxy::LossyProxy;
use crate::worker::options;

const LONG: Duration = Duration::from_mins(10);

fn connect(url: &str) -> PostgresStore {
    connect_with(url, LONG)
}

fn connect_with(url: &str, lease: Duration) -> PostgresStore {
    try_connect(url, lease).expect("connects")
}

fn try_connect(url: &str, lease: Duration) -> Result<PostgresStore, metier_evals::EvalError> {
    let options = PostgresOptions { connections: 8, lease, ..PostgresOptions::default() };
    let url = DatabaseUrl::parse(url, &Environment::empty())?;
    PostgresStore::connect(url, &options, &CancelToken::new())
}

/// Pairs of attempts of one unit that were in two hands at once, by the database's own record: an attempt
/// ends when it says so, or when its lease had run out before the next one began, whichever is earlier.
const OVERLAPS: &str = "
WITH spans AS (
    SELECT it.plan, it.place, it.token, it.started_at,
        least(it.ended_at, next.after_end, 'infinity') AS ended_at
    FROM metier_evals.attempts it
    LEFT JOIN metier_evals.attempts next ON next.after_token = it.token
)
SELECT count(*) FROM spans a JOIN spans b USING (plan, place)
WHERE a.token < b.token AND a.started_at < b.ended_at AND b.started_at < a.ended_at";

#[test]
fn units_are_leased_completed_given_back_and_reused() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database("basics");
    let (store, plan) = (connect(&url), fake::plan(10));
    let id = plan.id();
    store.open_plan(&plan).expect("opens");
    store.open_plan(&plan).expect("the same plan twice is one");
    assert_eq!(store.plan(&id).expect("reads"), plan);
    assert_eq!(store.open_plans().expect("lists"), [id]);
    let leases = store.lease(&id, "one", 3).expect("leases");
    assert_eq!(
        leases.iter().map(|it| (it.unit.index, it.attempt)).collect::<Vec<_>>(),
        [(0, 1), (1, 1), (2, 1)]
    );
    assert_eq!(leases[2].unit, plan.units().nth(2).expect("a unit"));
    let others = connect(&url).lease(&id, "two", 2).expect("leases");
    assert_eq!(others.iter().map(|it| it.unit.index).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(store.heartbeat(&leases).expect("beats"), []);
    store.release(&leases[0]).expect("gives back");
    assert_eq!(store.heartbeat(&leases).expect("beats"), leases[..1]);
    let result = fake::result(&plan, &leases[1].unit);
    assert_eq!(store.complete(&leases[1], &result).expect("keeps"), Stored::New);
    assert_eq!(
        store.complete(&leases[1], &result).expect("keeps"),
        Stored::New,
        "the same call again"
    );
    assert!(store.complete(&leases[2], &result).is_err(), "the result of another unit");
    let progress = store.progress(&id).expect("progress");
    assert_eq!((progress.units, progress.done, progress.leased, progress.lost), (40, 1, 3, 0));
    let again = store.lease(&id, "one", 1).expect("leases");
    assert_eq!(
        (again[0].unit.index, again[0].attempt),
        (0, 2),
        "numbered on, and none of its attempts spent"
    );
    for lease in again.iter().chain(&leases[2..]).chain(&others) {
        store.complete(lease, &fake::result(&plan, &lease.unit)).expect("keeps");
    }
    let report =
        Worker::new(&store, options(), &fake::run).work(&CancelToken::new()).expect("works");
    assert_eq!((report.end, report.completed), (WorkerEnd::Done, 35));
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    // Another plan with the same units, and two more: only errors and the new ones are left.
    let more = fake::plan(12);
    store.open_plan(&more).expect("opens");
    let errors = fake::expected(&plan).iter().filter(|it| it.contains("overloaded")).count() as u64;
    assert_eq!(store.progress(&more.id()).expect("progress").done, 40 - errors);
    assert_eq!(store.retry_errors(&id).expect("retries"), errors);
    let real = |plan: &EvalPlan, unit: &EvalUnit, _: &CancelToken| {
        let mut result = fake::result(plan, unit);
        result.end = metier_evals::TrialEnd::Finished { status: metier::agent::Status::Completed };
        result
    };
    let report = Worker::new(&store, options(), &real).work(&CancelToken::new()).expect("works");
    assert_eq!(report.end, WorkerEnd::Done);
    assert!(
        !fake::lines(&store, &plan).iter().any(|it| it.contains("overloaded")),
        "errors were replaced"
    );
    assert_eq!(server.sql("basics", OVERLAPS), "0");
}

#[test]
fn a_lease_that_ran_out_goes_to_another_and_a_unit_is_given_up_after_its_attempts() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database("lost");
    let (store, plan) = (connect(&url), fake::plan(1));
    let id = plan.id();
    store.open_plan(&plan).expect("opens");
    let run_out = || {
        server.sql(
            "lost",
            "UPDATE metier_evals.units SET available_at = clock_timestamp() WHERE NOT done",
        );
    };
    let first = store.lease(&id, "w", 10).expect("leases");
    run_out();
    assert_eq!(store.heartbeat(&first).expect("beats"), [], "late, but in no other hands");
    assert!(store.lease(&id, "w", 10).expect("leases").is_empty(), "it lives again");
    for attempt in 2..=MAX_ATTEMPTS {
        run_out();
        let leases = store.lease(&id, "w", 10).expect("leases");
        assert_eq!(leases.iter().map(|it| it.attempt).collect::<Vec<_>>(), [attempt; 4]);
        assert_eq!(store.heartbeat(&first).expect("beats").len(), 4, "they are in other hands");
    }
    assert_eq!(store.progress(&id).expect("progress").leased, 4);
    run_out();
    assert!(store.lease(&id, "w", 10).expect("leases").is_empty());
    let progress = store.progress(&id).expect("progress");
    assert_eq!((progress.done, progress.lost, progress.leased), (4, 4, 0));
    let mut lost = Vec::new();
    let each = &mut |result: TrialResult| {
        lost.push(result.error_kind());
        Ok(())
    };
    store.results(&plan, each).expect("reads");
    assert_eq!(lost, [Some(TrialErrorKind::Lost); 4]);
    assert_eq!(server.sql("lost", OVERLAPS), "0");
    // The first worker was only slow: what it brings at last is better than an error.
    let unit =
        first.iter().find(|it| fake::result(&plan, &it.unit).error_kind().is_none()).expect("one");
    assert_eq!(store.complete(unit, &fake::result(&plan, &unit.unit)).expect("keeps"), Stored::New);
    assert_eq!(store.progress(&id).expect("progress").lost, 3);
}

#[test]
fn a_late_error_ends_no_unit_that_another_worker_took_over_and_the_last_error_is_kept() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database("late_error");
    let (store, plan) = (connect(&url), fake::plan(1));
    let id = plan.id();
    store.open_plan(&plan).expect("opens");
    let error = |lease: &metier_evals::Lease, message: &str| {
        TrialResult::of_error("case-0", &lease.unit, TrialErrorKind::Provider, message)
    };
    let slow = store.lease(&id, "slow", 1).expect("leases").remove(0);
    let run_out =
        "UPDATE metier_evals.units SET available_at = '-infinity' WHERE token IS NOT NULL";
    server.sql("late_error", run_out);
    let good = store.lease(&id, "good", 1).expect("leases").remove(0);
    assert_eq!(good.unit, slow.unit, "taken over");
    let late = store.complete(&slow, &error(&slow, "too late")).expect("answers");
    assert_eq!(late, Stored::AlreadyThere);
    assert_eq!(store.progress(&id).expect("progress").done, 0, "the good worker is still at it");
    assert_eq!(store.heartbeat(std::slice::from_ref(&good)).expect("beats"), []);
    assert!(fake::lines(&store, &plan).is_empty());
    // Its own error counts, and so does the next one after a retry.
    for message in ["first", "second"] {
        let lease = if message == "first" {
            good.clone()
        } else {
            assert_eq!(store.retry_errors(&id).expect("retries"), 1);
            let leases = store.lease(&id, "good", 10).expect("leases");
            leases.into_iter().find(|it| it.unit == good.unit).expect("the same unit")
        };
        for _ in 0..2 {
            let kept = store.complete(&lease, &error(&lease, message)).expect("keeps");
            assert_eq!(kept, Stored::New, "{message}, also when it is sent again");
        }
        let lines = fake::lines(&store, &plan).join("\n");
        assert!(lines.contains(message), "{lines}");
    }
    // A result counts however late it is.
    let mut result = error(&slow, "");
    result.end = metier_evals::TrialEnd::Finished { status: metier::agent::Status::Completed };
    assert_eq!(store.complete(&slow, &result).expect("keeps"), Stored::New);
    assert!(fake::lines(&store, &plan).join("\n").contains("completed"));
}

#[test]
fn an_answer_that_was_lost_is_found_again_but_no_lease_that_has_run_out() {
    let Some(server) = PostgresServer::shared() else { return };
    let direct = server.database("answers");
    let proxy = LossyProxy::before(server.dir());
    let url =
        direct.replace(&server.dir().display().to_string(), &proxy.dir().display().to_string());
    let options = PostgresOptions { connections: 1, lease: LONG, ..PostgresOptions::default() };
    let url = DatabaseUrl::parse(&url, &Environment::empty()).expect("an address");
    let store = PostgresStore::connect(url, &options, &CancelToken::new()).expect("connects");
    let mut begun = 0;
    for (name, runs_out, attempt) in [("found", false, 1), ("late", true, 2)] {
        // What is sent before an answer is lost is the one statement that takes units.
        let (warm, plan) =
            (fake::named_plan(&format!("warm-{name}"), 1), fake::named_plan(name, 1));
        store.open_plan(&warm).expect("opens");
        store.open_plan(&plan).expect("opens");
        store.lease(&warm.id(), "w", 4).expect("leases");
        begun += 8;
        proxy.lose_answers();
        let leases = std::thread::scope(|scope| {
            let asked = scope.spawn(|| store.lease(&plan.id(), "w", 4).expect("leases"));
            wait_for(&server, "answers", &format!("count(*) = {begun} FROM metier_evals.attempts"));
            if runs_out {
                let end = "UPDATE metier_evals.units SET available_at = clock_timestamp()";
                server.sql("answers", end);
                begun += 4;
            }
            proxy.cut();
            asked.join().expect("ends")
        });
        let attempts: Vec<u32> = leases.iter().map(|it| it.attempt).collect();
        assert_eq!(attempts, [attempt; 4], "{name}");
    }
}

/// The units that are carried out at once; the others wait while a file is there, so that there is work to be cut off.
const UNHELD: u64 = 100;

fn wait_while_held(unit: &EvalUnit, file: &Path, stop: &CancelToken) {
    let is_held = || unit.index >= UNHELD && file.exists();
    while is_held() && !stop.wait_timeout(Duration::from_millis(10)) {}
}

/// A worker process of its own; ends when its plan is done, and no unit is held by the file.
fn worker_process(url: &str, milliseconds: u64, clock: Option<&str>, hold: &Path) -> Child {
    let own = std::env::current_exe().expect("a test binary");
    let mut command = match clock {
        None => Command::new(own),
        Some(clock) => {
            let mut command = Command::new("faketime");
            // What measures a span of time is left alone: a wrong clock does not stop a pause from ending.
            command.args(["-m", clock]).arg(own).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command
        }
    };
    command.args(["--exact", "postgres::a_worker_in_a_process_of_its_own", "--nocapture"]);
    command.env("METIER_TEST_DATABASE", url).env("METIER_TEST_PAUSE", milliseconds.to_string());
    command.env("METIER_TEST_HOLD", hold);
    command.stdout(Stdio::null()).spawn().expect("starts")
}

/// Not a test by itself: the process that other tests start and kill.
#[test]
fn a_worker_in_a_process_of_its_own() {
    let Ok(url) = std::env::var("METIER_TEST_DATABASE") else { return };
    let pause = std::env::var("METIER_TEST_PAUSE").expect("a number").parse().expect("a number");
    let hold = PathBuf::from(std::env::var_os("METIER_TEST_HOLD").expect("a path"));
    let store = connect_with(&url, Duration::from_secs(3));
    let run = |plan: &EvalPlan, unit: &EvalUnit, stop: &CancelToken| {
        wait_while_held(unit, &hold, stop);
        stop.wait_timeout(Duration::from_millis(pause));
        fake::result(plan, unit)
    };
    let name = format!("process {}", std::process::id());
    let options = WorkerOptions { name, ..options() };
    Worker::new(&store, options, &run).work(&CancelToken::new()).expect("works");
}

/// Waits until a database says so.
fn wait_for(server: &PostgresServer, database: &str, what: &str) {
    // Far more than a loaded machine needs: what never comes is a failure, and no endless wait.
    for _ in 0..20_000 {
        if server.sql(database, &format!("SELECT {what}")) == "t" {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never so: {what}");
}

#[test]
fn killing_workers_loses_nothing_and_leases_nothing_twice() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database("workers");
    let (store, plan) = (connect(&url), fake::plan(60));
    store.open_plan(&plan).expect("opens");
    let hold = tempfile::NamedTempFile::new().expect("a file");
    let mut workers: Vec<Child> =
        (0..4).map(|_| worker_process(&url, 20, None, hold.path())).collect();
    for worker in &mut workers[..2] {
        let held = format!(
            "count(*) > 0 FROM metier_evals.units WHERE NOT done AND place >= {UNHELD}
             AND worker = 'process {}' AND (SELECT count(*) >= 30 FROM metier_evals.results)",
            worker.id()
        );
        wait_for(&server, "workers", &held);
        worker.kill().expect("kills");
        worker.wait().expect("is gone");
    }
    drop(hold);
    for worker in &mut workers[2..] {
        assert!(worker.wait().expect("ends").success());
    }
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    assert_eq!(server.sql("workers", OVERLAPS), "0");
    let begun = "count(*) >= 240 AND count(*) FILTER (WHERE outcome IS NULL) > 0 FROM metier_evals.attempts";
    assert_eq!(server.sql("workers", &format!("SELECT {begun}")), "t", "units were cut off");
}

#[test]
fn killing_the_database_in_the_middle_changes_nothing_in_the_end() {
    // With fsync: what was answered must be there after the kill.
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let url = server.database("killed");
    let (store, plan) = (connect(&url), fake::plan(60));
    store.open_plan(&plan).expect("opens");
    let ended = AtomicBool::new(false);
    let hold = tempfile::NamedTempFile::new().expect("a file");
    let held = hold.path().to_owned();
    let run = |plan: &EvalPlan, unit: &EvalUnit, stop: &CancelToken| {
        wait_while_held(unit, &held, stop);
        stop.wait_timeout(Duration::from_millis(20));
        fake::result(plan, unit)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|number| {
                let (store, ended) = (connect_with(&url, Duration::from_secs(3)), &ended);
                let run = &run;
                scope.spawn(move || {
                    let options = WorkerOptions { name: format!("thread {number}"), ..options() };
                    let report = Worker::new(&store, options, run).work(&CancelToken::new());
                    ended.store(true, Ordering::SeqCst);
                    report.expect("works")
                })
            })
            .collect();
        // Gone with this scope, also where it fails: no thread waits for ever.
        let hold = hold;
        for done in [20, 80] {
            wait_for(&server, "killed", &format!("count(*) >= {done} FROM metier_evals.results"));
            server.kill();
            server.run();
            assert!(!ended.load(Ordering::SeqCst), "it was in the middle");
        }
        drop(hold);
        for worker in workers {
            assert_eq!(worker.join().expect("ends").end, WorkerEnd::Done);
        }
    });
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    assert_eq!(server.sql("killed", OVERLAPS), "0");
    assert_eq!(store.progress(&plan.id()).expect("progress").lost, 0);
}

#[test]
fn a_workers_wrong_clock_changes_nothing_because_no_time_of_its_own_is_sent() {
    let Some(server) = PostgresServer::start(&["fsync=off", "log_statement=all"]) else { return };
    let url = server.database("clocks");
    let (store, plan) = (connect(&url), fake::plan(30));
    store.open_plan(&plan).expect("opens");
    let mut clocks: Vec<Option<&str>> = vec![None];
    let has_faketime = Command::new("faketime")
        .args(["-m", "-1 day", "true"])
        .status()
        .is_ok_and(|it| it.success());
    if has_faketime {
        clocks.extend([Some("-400 days"), Some("+400 days")]);
    } else {
        metier_testkit::not_tested_without(
            "faketime",
            "workers with wrong clocks (Debian: apt install faketime)",
        );
    }
    let workers: Vec<Child> =
        clocks.iter().map(|clock| worker_process(&url, 10, *clock, Path::new(""))).collect();
    for mut worker in workers {
        assert!(worker.wait().expect("ends").success());
    }
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    assert_eq!(server.sql("clocks", OVERLAPS), "0");
    let strange = "SELECT count(*) FROM metier_evals.attempts
        WHERE started_at NOT BETWEEN now() - interval '1 day' AND now()
        OR ended_at NOT BETWEEN now() - interval '1 day' AND now()";
    assert_eq!(server.sql("clocks", strange), "0");
    assert_eq!(
        server.sql("clocks", "SELECT count(*) = count(ended_at) FROM metier_evals.attempts"),
        "t"
    );
    // Whatever a worker sent is in the log: statements, and their parameters.
    let log = server.log();
    let parameters = Regex::new(r"DETAIL:  (?i:parameters): (.*)").expect("an expression");
    let uuid = Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").expect("an expression");
    let time = Regex::new(r"\d{4}-\d\d-\d\d[ T]\d\d:").expect("an expression");
    assert!(time.is_match("$1 = '2031-02-03 04:05:06+00'"));
    let mut seen = 0;
    let lists = parameters.captures_iter(&log).map(|found| found.extract::<1>().1[0]);
    for list in lists.filter(|list| !list.contains("{\"format\"")) {
        seen += 1;
        assert!(!time.is_match(&uuid.replace_all(list, "")), "{list}");
        for value in list.split('\'').skip(1).step_by(2) {
            // Since 1970, in seconds, milliseconds, microseconds and nanoseconds, of these decades.
            let epochs = [1e0, 1e3, 1e6, 1e9].map(|unit| 1e9 * unit..4e9 * unit);
            let number = value.parse::<f64>().unwrap_or_default();
            assert!(
                !epochs.iter().any(|epoch| epoch.contains(&number)),
                "this may be a time: {list}"
            );
        }
    }
    assert!(seen > 10, "{seen} statements were seen");
}

#[test]
fn tables_are_made_once_by_the_first_of_several_and_newer_ones_are_left_alone() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database("tables");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| connect(&url))).collect();
        for thread in threads {
            thread.join().expect("connects");
        }
    });
    connect(&url);
    assert_eq!(server.sql("tables", "SELECT version FROM metier_evals.migrations"), "1");
    // A worker that may not create anything can use what is there.
    server.sql(
        "tables",
        "CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA metier_evals TO worker;
        GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA metier_evals TO worker;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA metier_evals TO worker;",
    );
    connect(&url).open_plan(&fake::plan(2)).expect("opens");
    let worker = connect(&url.replace("postgres@", "worker@"));
    let report =
        Worker::new(&worker, options(), &fake::run).work(&CancelToken::new()).expect("works");
    assert_eq!(report.completed, 8);
    server.sql("tables", "INSERT INTO metier_evals.migrations VALUES (7)");
    let error = try_connect(&url, LONG).expect_err("newer");
    assert!(error.to_string().ends_with("have version 7, and this program knows 1"), "{error}");
    assert_eq!(error.help(), Some("update the program; the tables are as they were"));
    assert_eq!(server.sql("tables", "SELECT count(*) FROM metier_evals.results"), "8");
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = data_encoding::BASE64.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

#[test]
fn tls_is_checked_against_the_certificates_that_are_named() {
    let authority_key = rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem =
        pem("CERTIFICATE", authority.self_signed(&authority_key).expect("signs").der());
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().expect("a key");
    let names = vec!["localhost".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).expect("parameters");
    let certificate =
        pem("CERTIFICATE", certificate.signed_by(&key, &issuer).expect("signs").der());
    let Some(mut server) = PostgresServer::start(&["fsync=off", "log_connections=on"]) else {
        return;
    };
    let (certificate, key) = (
        server.put("server.pem", certificate.as_bytes()),
        server.put("server.key", pem("PRIVATE KEY", &key.serialize_der()).as_bytes()),
    );
    let root = server.put("root.pem", authority_pem.as_bytes());
    server.sql("postgres", "CREATE ROLE runner LOGIN PASSWORD 'pass word' SUPERUSER");
    std::fs::write(
        server.dir().join("data/pg_hba.conf"),
        "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
    )
    .expect("writes");
    server.stop();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = free.local_addr().expect("an address").port();
    server.listen(port);
    server.set("ssl=on");
    server.set(&format!("ssl_cert_file={}", certificate.display()));
    server.set(&format!("ssl_key_file={}", key.display()));
    drop(free);
    server.run();
    let url = |host: &str, query: &str| {
        format!("postgres://runner:pass%20word@{host}:{port}/postgres{query}")
    };
    let trusted = format!("?sslmode=verify-full&sslrootcert={}", root.display());
    let store = try_connect(&url("localhost", &trusted), LONG).expect("connects");
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'runner'";
    assert_eq!(server.sql("postgres", encrypted), "t");
    store.open_plan(&fake::plan(1)).expect("opens");
    let tries = || server.log().matches("connection received: host=127.0.0.1").count();
    assert!(tries() > 0, "the log names connections");
    for (host, query) in [("localhost", "?sslmode=require"), ("127.0.0.1", trusted.as_str())] {
        let before = tries();
        let error = try_connect(&url(host, query), LONG).expect_err("not trusted").to_string();
        assert!(error.contains("certificate"), "{host}{query}: {error}");
        assert_eq!(tries(), before + 1, "it is not tried again");
    }
    let wrong = url("localhost", &trusted).replace("pass%20word", "secret%2Fword");
    let error = try_connect(&wrong, LONG).expect_err("a wrong password");
    assert!(
        error.to_string().ends_with("password authentication failed for user \"runner\""),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    // The password from the environment, and from a file that is closed to others.
    let bare = url("localhost", &trusted).replace(":pass%20word", "");
    let open = |environment: &Environment| {
        let url = DatabaseUrl::parse(&bare, environment)?;
        PostgresStore::connect(url, &PostgresOptions::default(), &CancelToken::new()).map(|_| ())
    };
    open(&Environment::empty().with("PGPASSWORD", "pass word")).expect("connects");
    let home = tempfile::tempdir().expect("dir");
    let file = home.path().join(".pgpass");
    std::fs::write(
        &file,
        format!("# passwords\nother:*:*:*:no\nlocalhost:{port}:postgres:runner:pass word\n"),
    )
    .expect("writes");
    let at_home = Environment::empty().with_home(home.path());
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .expect("chmod");
    let error = open(&at_home).expect_err("open to others").to_string();
    assert!(error.ends_with("can be read by other users and is not used"), "{error}");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("chmod");
    open(&at_home).expect("connects");
}

#[test]
fn an_address_is_checked_before_anything_is_sent_and_never_shown_with_its_password() {
    let parse = |url: &str| DatabaseUrl::parse(url, &Environment::empty());
    let url = parse("postgresql://me:s3cret@db.example.org/evals").expect("an address");
    assert_eq!(url.to_string(), "postgres://me@db.example.org:5432/evals");
    assert!(!format!("{url:?}").contains("s3cret"));
    let url = parse("postgres:///evals?host=/run/postgresql&user=me").expect("a socket");
    assert_eq!(url.to_string(), "postgres://me@/run/postgresql/evals");
    // The socket of this machine, where it has a folder for one.
    match parse("postgres:///evals") {
        Ok(url) => assert!(url.to_string().contains("/run/postgresql"), "{url}"),
        Err(error) => assert!(error.to_string().contains("names no host"), "{error}"),
    }
    for (wrong, why) in [
        ("mysql://me:s3cret@host/evals", "must begin with `postgres://`"),
        ("postgres://me:s3cret@host/evals?sslmode=verify-ca", "`verify-full` checks the name too"),
        ("postgres://me:s3cret@host/evals?sslmode=maybe", "`sslmode` is one of"),
        ("postgres://me:s3cret@host/evals?unknown=1", "unknown option"),
        ("postgres://me:s3cret@host:port/evals", "port"),
    ] {
        let error = parse(wrong).expect_err(wrong);
        assert!(error.to_string().contains(why), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
        assert_eq!(error.code(), "usage");
    }
    // A port where nothing listens, and nothing can: tried again for a while, and then said.
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let used = std::net::TcpStream::connect(other.local_addr().expect("an address"));
    let used = used.expect("connects");
    let port = used.local_addr().expect("an address").port();
    let url = parse(&format!("postgres://me:s3cret@127.0.0.1:{port}/evals")).expect("an address");
    let reconnect_timeout = Duration::from_millis(200);
    let options = PostgresOptions { reconnect_timeout, ..PostgresOptions::default() };
    let error =
        PostgresStore::connect(url, &options, &CancelToken::new()).expect_err("nothing there");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}
