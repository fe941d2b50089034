//! One request over HTTP: the bytes go out, the reply's bytes go to a `ReplyReader` as they come.
//!
//! There are no proxies, no redirects (a key must not travel), no compression and no connection that
//! is kept. Every wait has a limit. Whether to try again is `adapter`'s business.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use metier_net::{client_builder, is_tls};
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::endpoint::{Timeouts, config, place};
use crate::failure::{Failure, shown};
use crate::model::{ModelError, ModelErrorKind};
use crate::reader::{Progress, ReplyReader};
use crate::reply_builder::{Out, RawReply};

/// Bytes of a failed request's reply that are read.
const ERROR_BYTES: usize = 64 << 10;
/// Bytes of a list of models that are read.
const LIST_BYTES: usize = 4 << 20;
/// How long a failed request's reply is waited for; the status is known already.
const ERROR_TIME: Duration = Duration::from_secs(5);
/// How long a count of tokens is waited for when all words are there.
const COUNT_TIME: Duration = Duration::from_secs(5);

/// The client of an adapter, made while its caller prepares the first request: reading and checking
/// the system's certificates takes longer than finding a thousand skills.
#[derive(Debug)]
pub(crate) struct LazyClient {
    /// How long a connection may take.
    connect: Duration,
    /// Whether connections are encrypted.
    https: bool,
    making: Mutex<Option<JoinHandle<Result<Client, ModelError>>>>,
    made: OnceLock<Result<Client, ModelError>>,
}

impl LazyClient {
    /// Begins to make a client for `url`.
    pub(crate) fn start(connect: Duration, url: &Url) -> Self {
        let https = url.scheme() != "http";
        let make = move || client(connect, https);
        // Without a thread it is made when it is needed.
        let making = if https { thread::Builder::new().spawn(make).ok() } else { None };
        Self { connect, https, making: Mutex::new(making), made: OnceLock::new() }
    }

    /// The client, waited for where it is not ready.
    pub(crate) fn get(&self) -> Result<&Client, ModelError> {
        let made = self.made.get_or_init(|| {
            let making = self.making.lock().unwrap_or_else(PoisonError::into_inner).take();
            let joined = making.and_then(|making| making.join().ok());
            joined.unwrap_or_else(|| client(self.connect, self.https))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn client(connect: Duration, https: bool) -> Result<Client, ModelError> {
    let builder = client_builder();
    // Plain http needs no root certificates.
    let builder = if https { builder } else { builder.tls_certs_only([]) };
    builder
        .connect_timeout(connect)
        .build()
        .map_err(|error| config(format!("no HTTP client can be made{}", causes(&error))))
}

/// What is sent.
pub(crate) struct Outgoing<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) timeouts: &'a Timeouts,
    /// Whether a stream was asked for.
    pub(crate) stream: bool,
    /// When all time is over.
    pub(crate) deadline: Instant,
}

/// Sends the request and reads the reply.
pub(crate) async fn exchange(
    sent: Outgoing<'_>,
    mut reader: ReplyReader,
    out: Out<'_>,
) -> Result<RawReply, Failure> {
    let started = Instant::now();
    let first = sent.timeouts.first_byte.filter(|_| sent.stream).unwrap_or(sent.timeouts.whole);
    let first_by = (started + first).min(sent.deadline);
    let request = sent.client.post(sent.url.clone()).headers(sent.headers.clone()).body(sent.body);
    let mut response = match timeout_at(first_by, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unreached(&error, sent.url)),
        Err(_) => return Err(late("there was no reply", started)),
    };
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    let mut wait_until = first_by;
    loop {
        let piece = match timeout_at(wait_until, response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => return reader.end(out),
            // All words are there and the provider said why it ended: only the count is missing.
            _ if reader.builder().is_finished() => return reader.end(out),
            Ok(Err(error)) => {
                let message = format!("the connection broke off{}", causes(&error));
                return Err(Failure::new(ModelErrorKind::Network, message));
            }
            Err(_) if wait_until == first_by => return Err(late("there was no reply", started)),
            Err(_) if wait_until == sent.deadline => {
                return Err(late("the reply was not complete", started));
            }
            Err(_) => {
                let idle = sent.timeouts.idle.as_secs_f32();
                let message = format!("nothing more of the reply came for {idle} seconds");
                return Err(Failure::new(ModelErrorKind::TimedOut, message));
            }
        };
        let idle = match reader.feed(&piece, out)? {
            Progress::More => sent.timeouts.idle,
            Progress::Finished => sent.timeouts.idle.min(COUNT_TIME),
            Progress::Done => return reader.end(out),
        };
        wait_until = (Instant::now() + idle).min(sent.deadline);
    }
}

/// A small JSON document, if the server has it and gives it soon.
pub(crate) async fn get_json(client: &Client, url: Url, headers: &HeaderMap) -> Option<Value> {
    let until = Instant::now() + ERROR_TIME;
    let request = client.get(url).headers(headers.clone());
    let mut response = timeout_at(until, request.send()).await.ok()?.ok()?;
    let mut body = Vec::new();
    while response.status().is_success() && body.len() <= LIST_BYTES {
        match timeout_at(until, response.chunk()).await.ok()?.ok()? {
            Some(piece) => body.extend_from_slice(&piece),
            None => return serde_json::from_slice(&body).ok(),
        }
    }
    None
}

/// The failure that a status tells of, with as much of the words as come soon.
async fn refused(mut response: Response) -> Failure {
    let until = Instant::now() + ERROR_TIME;
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES {
        match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            _ => break,
        }
    }
    body.truncate(ERROR_BYTES);
    let headers = response.headers();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    Failure::of_status(response.status().as_u16(), header, &body, SystemTime::now())
}

fn late(what: &str, started: Instant) -> Failure {
    let seconds = started.elapsed().as_secs_f32();
    Failure::new(ModelErrorKind::TimedOut, format!("{what} after {seconds:.1} seconds"))
}

fn unreached(error: &reqwest::Error, url: &Url) -> Failure {
    let kind = if is_tls(error) {
        ModelErrorKind::Tls
    } else if error.is_timeout() {
        ModelErrorKind::TimedOut
    } else {
        ModelErrorKind::Network
    };
    let what = if error.is_connect() { "cannot be reached" } else { "did not reply" };
    Failure::new(kind, format!("{} {what}{}", place(url), causes(error)))
}

/// The causes of an error, each after a colon.
fn causes(error: &reqwest::Error) -> String {
    let shown = metier_net::causes(error).into_iter().map(|cause| shown(&cause));
    std::iter::once(String::new()).chain(shown).collect::<Vec<_>>().join(": ")
}
