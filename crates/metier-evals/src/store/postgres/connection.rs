//! Connections to the database for callers that block, and trying again when it is gone for a while.
//!
//! Whatever is executed here may be executed twice: the answer can be lost after the database did what it
//! was asked for. Every operation is written so that this changes nothing.

use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime as PoolRuntime,
};
use metier::CancelToken;
use tokio::runtime::Runtime;
use tokio_postgres::Error;

use super::PostgresOptions;
use super::tls::connector;
use super::url::DatabaseUrl;
use crate::error::{EvalError, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A statement that takes longer has lost its connection without noticing.
const STATEMENT_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a database is waited for that has never answered: its address may be wrong.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Connections to one database.
pub(super) struct Database {
    runtime: Runtime,
    pool: Pool,
    url: DatabaseUrl,
    reconnect_timeout: Duration,
    cancel: CancelToken,
    has_answered: AtomicBool,
}

/// Why an operation did not come to its end.
enum Fault {
    Pool(PoolError),
    Statement(Error),
    TimedOut,
}

impl Database {
    pub(super) fn new(
        url: DatabaseUrl,
        options: &PostgresOptions,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let unusable = |error: &dyn std::fmt::Display| {
            EvalError::store(
                format!("no connection can be set up: {error}"),
                "check the limits of this process",
            )
        };
        // Two threads carry the connections; statements wait on the caller's own.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("metier-postgres")
            .enable_all()
            .build()
            .map_err(|error| unusable(&error))?;
        let tls = connector(url.root_certificates.as_deref())?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let mut config = url.config.clone();
        config.connect_timeout(CONNECT_TIMEOUT).keepalives_idle(Duration::from_secs(30));
        let pool = Pool::builder(Manager::from_config(config, tls, recycling))
            .max_size(options.connections.max(1))
            .runtime(PoolRuntime::Tokio1)
            .create_timeout(Some(CONNECT_TIMEOUT))
            .build()
            .map_err(|error| unusable(&error))?;
        let (reconnect_timeout, cancel) = (options.reconnect_timeout, cancel.clone());
        let has_answered = AtomicBool::new(false);
        Ok(Self { runtime, pool, url, reconnect_timeout, cancel, has_answered })
    }

    /// Carries out an operation, again where the database went away meanwhile, until the timeout has passed. It is
    /// given which try it is, from 0. After a cancellation nothing is tried a second time.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
    pub(super) fn run<T>(
        &self,
        operation: impl AsyncFn(&mut Object, u32) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let started = Instant::now();
        let (mut pause, mut tries) = (FIRST_PAUSE, 0);
        loop {
            let fault = match self.runtime.block_on(self.attempt(&operation, tries)) {
                Ok(value) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    return Ok(value);
                }
                Err(fault) => fault,
            };
            let has_answered = self.has_answered.load(Ordering::Relaxed);
            let timeout = if has_answered {
                self.reconnect_timeout
            } else {
                self.reconnect_timeout.min(FIRST_TIMEOUT)
            };
            let gives_up = !fault.may_pass() || started.elapsed() + pause > timeout;
            if gives_up || self.cancel.wait_timeout(pause) {
                return Err(self.explain(&fault, started.elapsed()));
            }
            pause = (pause * 2).min(MAX_PAUSE);
            tries += 1;
        }
    }

    async fn attempt<T>(
        &self,
        operation: &impl AsyncFn(&mut Object, u32) -> std::result::Result<T, Error>,
        tries: u32,
    ) -> std::result::Result<T, Fault> {
        let mut client = self.pool.get().await.map_err(Fault::Pool)?;
        let answer = tokio::time::timeout(STATEMENT_TIMEOUT, operation(&mut client, tries)).await;
        if let Ok(result) = answer {
            return result.map_err(Fault::Statement);
        }
        // Its answer may still come, and must not be taken for that of another statement.
        drop(Object::take(client));
        Err(Fault::TimedOut)
    }

    fn explain(&self, fault: &Fault, tried: Duration) -> EvalError {
        let mut text = fault.text();
        if fault.may_pass() && tried >= Duration::from_secs(1) {
            text.push_str(&format!("; tried for {} s", tried.as_secs()));
        }
        let message = format!("the database {} failed: {text}", self.url);
        EvalError::store(self.url.masked(&message), fault.help())
    }

    /// The address, to be shown.
    pub(super) fn name(&self) -> String {
        self.url.to_string()
    }
}

impl Fault {
    fn error(&self) -> Option<&Error> {
        match self {
            Self::Statement(error) | Self::Pool(PoolError::Backend(error)) => Some(error),
            Self::Pool(_) | Self::TimedOut => None,
        }
    }

    /// Whether trying again can help: the connection is gone, or the database is starting, stopping or full.
    fn may_pass(&self) -> bool {
        let Some(error) = self.error() else {
            return matches!(self, Self::TimedOut | Self::Pool(PoolError::Timeout(_)));
        };
        if let Some(code) = error.code() {
            let code = code.code();
            return code.starts_with("08")
                || matches!(code, "57P01" | "57P02" | "57P03" | "53300" | "40001" | "40P01");
        }
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        // TLS reports a certificate that it does not accept as invalid data.
        let is_refusal = |cause: &io::Error| {
            matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        };
        error.is_closed() || cause.is_some_and(|cause| !is_refusal(cause))
    }

    fn text(&self) -> String {
        let Some(error) = self.error() else {
            return match self {
                Self::Pool(error) => error.to_string(),
                _ => format!("a statement took longer than {} s", STATEMENT_TIMEOUT.as_secs()),
            };
        };
        if let Some(refusal) = error.as_db_error() {
            return refusal.message().to_owned();
        }
        let (mut text, mut cause) = (error.to_string(), error.source());
        while let Some(next) = cause {
            let next_text = next.to_string();
            if !text.contains(&next_text) {
                text.push_str(": ");
                text.push_str(&next_text);
            }
            cause = next.source();
        }
        text
    }

    fn help(&self) -> &'static str {
        let code = self.error().and_then(Error::code).map(|code| code.code().to_owned());
        match code.as_deref() {
            Some("28P01" | "28000") => {
                "check the user, and the password in PGPASSWORD, in `~/.pgpass` or in the URL"
            }
            Some("3D000") => "make the database first: `createdb NAME`",
            Some("42501") => "the user needs `GRANT CREATE ON DATABASE` once, to make the tables",
            Some(_) => "see the log of the database",
            None if self.text().contains("certificate") => {
                "name the certificate of the one who signed it with `sslrootcert=FILE` in the URL; on this machine, or where \
                 the network is trusted, `sslmode=disable` does without TLS"
            }
            None => {
                "check that the database runs and can be reached; `sslmode` in the URL says how"
            }
        }
    }
}
