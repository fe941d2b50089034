//! One GET after the other, bounded: what comes goes to the caller piece by piece.
//!
//! Redirects are followed by hand. Each is checked like a new request, the caller is asked about its host, and
//! what was sent to prove who one is stays with the host that it was meant for. Addresses that are not public
//! are reached only at the hosts that were named ([`WebClient::name_host`]): a server elsewhere must not send
//! us to the router, the database or the keeper of keys beside us.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use metier_cancel::CancelToken;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LAST_MODIFIED, LOCATION, WWW_AUTHENTICATE,
};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

use crate::address::{is_private_network, is_public, may_hand_out_keys};
use crate::causes::{causes, is_tls};
use crate::client::client_builder;
use crate::error::{WebError, WebFault};
use crate::exchange::{WebGet, WebReply, WebTimes};
use crate::resolve::{Resolver, SystemResolver, resolve};
use crate::url_parts::{authority, is_this_machine, literal, shown};

/// The longest URL.
const MAX_URL_CHARS: usize = 4000;
/// Bytes that are read of a reply that is no success.
const MAX_ERROR_BYTES: usize = 8 << 10;
/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Whether a host may be reached; else why not.
pub type HostJudge = dyn Fn(&Url) -> Result<(), String> + Send + Sync;

/// What takes the pieces of a body: the piece, and the declared length of the whole.
pub type WebSink<'a> = dyn FnMut(&[u8], Option<u64>) -> io::Result<()> + 'a;

/// A client for downloads. It keeps its connections, each to addresses that were judged.
pub struct WebClient {
    times: WebTimes,
    cancel: CancelToken,
    resolver: Arc<dyn Resolver>,
    judge: Box<HostJudge>,
    named: BTreeSet<String>,
    clients: Mutex<BTreeMap<String, Client>>,
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebClient").field("named", &self.named).finish_non_exhaustive()
    }
}

impl Drop for WebClient {
    fn drop(&mut self) {
        // A lookup that hangs in the system must not delay the caller.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl WebClient {
    /// A client that reaches every public host, until `cancel` is cancelled.
    pub fn new(cancel: CancelToken) -> Result<Self, WebError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| WebError::new(WebFault::Unreachable, error.to_string()))?;
        Ok(Self {
            times: WebTimes::default(),
            cancel,
            resolver: Arc::new(SystemResolver),
            judge: Box::new(|_| Ok(())),
            named: BTreeSet::new(),
            clients: Mutex::default(),
            runtime: Some(runtime),
        })
    }

    /// Asks `judge` about every host, before its name is resolved.
    #[must_use]
    pub fn with_judge(mut self, judge: Box<HostJudge>) -> Self {
        self.judge = judge;
        self
    }

    /// Sets how long may be waited.
    #[must_use]
    pub const fn with_times(mut self, times: WebTimes) -> Self {
        self.times = times;
        self
    }

    /// Sets the resolver of host names.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Says that the user named the host of `url`, so that it may be on a private network or on this machine.
    pub fn name_host(&mut self, url: &Url) {
        self.named.insert(authority(url));
    }

    /// Gets a URL. The body of a success goes to `sink`.
    pub fn get(&self, wanted: &WebGet<'_>, sink: &mut WebSink<'_>) -> Result<WebReply, WebError> {
        let cancelled = || WebError::new(WebFault::Cancelled, "the download was cancelled");
        let Some(runtime) = &self.runtime else { return Err(cancelled()) };
        let got = runtime
            .block_on(async { self.cancel.run_until_cancelled(self.follow(wanted, sink)).await });
        got.unwrap_or_else(|| Err(cancelled()))
    }

    /// Sends requests until a reply is no redirect.
    async fn follow(
        &self,
        wanted: &WebGet<'_>,
        sink: &mut WebSink<'_>,
    ) -> Result<WebReply, WebError> {
        let deadline = Instant::now() + self.times.whole;
        let home = authority(wanted.url);
        let mut url = wanted.url.clone();
        let mut redirects = 0;
        loop {
            self.check(&url)?;
            let is_home = url.scheme() == wanted.url.scheme() && authority(&url) == home;
            let headers = headers(wanted, is_home)?;
            let response = self.send(&url, headers, deadline).await?;
            let Some(location) = redirect_of(&response) else {
                return self.receive(wanted, response, deadline, sink).await;
            };
            redirects += 1;
            if redirects > MAX_REDIRECTS {
                let message =
                    format!("{} was redirected more than {MAX_REDIRECTS} times", shown(wanted.url));
                return Err(WebError::new(WebFault::Redirects, message));
            }
            let next = url.join(&location).map_err(|error| {
                let message = format!("{} redirects to an invalid URL: {error}", shown(&url));
                WebError::new(WebFault::BadUrl, message)
            })?;
            if url.scheme() == "https" && next.scheme() != "https" {
                let message =
                    format!("{} redirects to {}, which is not https", shown(&url), shown(&next));
                return Err(WebError::new(WebFault::RedirectToHttp, message));
            }
            url = next;
        }
    }

    /// What can be said about a URL before its host is resolved.
    fn check(&self, url: &Url) -> Result<(), WebError> {
        let bad =
            |why: &str| Err(WebError::new(WebFault::BadUrl, format!("{}: {why}", shown(url))));
        if url.as_str().chars().count() > MAX_URL_CHARS {
            return bad("the URL is too long");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return bad("a URL with a user name or password in it is not fetched");
        }
        // With a trailing dot it is another name to rules, but the same host to resolvers.
        let host = url.host_str().unwrap_or_default();
        if host.is_empty() || host.ends_with('.') {
            return bad("the URL has no host, or one that ends with a dot");
        }
        match url.scheme() {
            "https" => {}
            "http" if is_this_machine(url) => {}
            "http" => {
                let message = format!("{} is not encrypted", shown(url));
                return Err(WebError::new(WebFault::PlainHttp, message));
            }
            _ => return bad("only https is fetched"),
        }
        (self.judge)(url).map_err(|why| WebError::new(WebFault::HostRefused, why))
    }

    async fn send(
        &self,
        url: &Url,
        headers: HeaderMap,
        deadline: Instant,
    ) -> Result<Response, WebError> {
        let client = self.client_for(url, deadline).await?;
        let request = client.get(url.clone()).headers(headers);
        let until = (Instant::now() + self.times.idle).min(deadline);
        match timeout_at(until, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(unreached(&error, url)),
            Err(_) => Err(late(url)),
        }
    }

    /// The client of a host; its addresses are found and judged once.
    async fn client_for(&self, url: &Url, deadline: Instant) -> Result<Client, WebError> {
        let key = format!("{}://{}", url.scheme(), authority(url));
        let known = self.clients.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(client) = known {
            return Ok(client);
        }
        let name = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses = if let Some(address) = literal(url) {
            vec![address]
        } else {
            let lookup = resolve(Arc::clone(&self.resolver), name);
            let until = (Instant::now() + self.times.idle).min(deadline);
            let found = timeout_at(until, lookup).await.map_err(|_| late(url))?;
            found.map_err(|why| {
                let message = format!("the host {name} could not be found: {why}");
                WebError::new(WebFault::HostUnknown, message)
            })?
        };
        // One bad address among good ones is an attack or a mistake: either way nothing is sent.
        for address in &addresses {
            self.check_address(url, *address)?;
        }
        let pinned: Vec<SocketAddr> = addresses.iter().map(|ip| (*ip, port).into()).collect();
        let builder = client_builder()
            .connect_timeout(self.times.connect)
            .pool_max_idle_per_host(2)
            .resolve_to_addrs(name, &pinned);
        // Plain http needs no root certificates, and reading them takes a while.
        let builder = if url.scheme() == "https" { builder } else { builder.tls_certs_only([]) };
        let client = builder.build().map_err(|error| unreached(&error, url))?;
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(key, client.clone());
        Ok(client)
    }

    fn check_address(&self, url: &Url, address: IpAddr) -> Result<(), WebError> {
        let is_named = self.named.contains(&authority(url));
        let is_fine = match url.scheme() {
            "http" => is_named && address.is_loopback(),
            // An address in the place of a name can mean nothing but itself.
            _ if is_named && literal(url).is_some() => !may_hand_out_keys(address),
            _ => is_public(address) || is_named && is_private_network(address),
        };
        if is_fine {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let message = if literal(url).is_some() {
            format!("{host} is not a public address")
        } else {
            format!("{host} is at {address}, which is not a public address")
        };
        Err(WebError::new(WebFault::Address, message))
    }

    async fn receive(
        &self,
        wanted: &WebGet<'_>,
        mut response: Response,
        deadline: Instant,
        sink: &mut WebSink<'_>,
    ) -> Result<WebReply, WebError> {
        let url = response.url().clone();
        let header =
            |name: HeaderName| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let mut reply = WebReply {
            status: response.status().as_u16(),
            content_type: header(CONTENT_TYPE),
            last_modified: header(LAST_MODIFIED),
            challenges: challenges.filter_map(|it| it.to_str().ok()).map(str::to_owned).collect(),
            said: Vec::new(),
            url,
        };
        let is_success = response.status() == StatusCode::OK;
        let declared = response.content_length();
        let too_large = || {
            let message = format!("{} is larger than {} bytes", shown(wanted.url), wanted.limit);
            WebError::new(WebFault::TooLarge, message)
        };
        if is_success && declared.is_some_and(|bytes| bytes > wanted.limit) {
            return Err(too_large());
        }
        let mut done = 0u64;
        loop {
            let until = (Instant::now() + self.times.idle).min(deadline);
            let piece = match timeout_at(until, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => return Ok(reply),
                // The status says enough.
                _ if !is_success => return Ok(reply),
                Ok(Err(error)) => {
                    let why = causes(&error).join(": ");
                    let message = format!(
                        "{}: the connection broke off after {done} bytes: {why}",
                        shown(&reply.url)
                    );
                    return Err(WebError::new(WebFault::CutOff, message));
                }
                Err(_) => return Err(late(&reply.url)),
            };
            done += piece.len() as u64;
            if !is_success {
                let room = MAX_ERROR_BYTES.saturating_sub(reply.said.len());
                reply.said.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.len() >= room {
                    return Ok(reply);
                }
                continue;
            }
            if done > wanted.limit {
                return Err(too_large());
            }
            sink(&piece, declared)
                .map_err(|error| WebError::new(WebFault::Write, error.to_string()))?;
        }
    }
}

fn headers(wanted: &WebGet<'_>, is_home: bool) -> Result<HeaderMap, WebError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let bad = |what: &str| {
        WebError::new(WebFault::BadUrl, format!("{}: {what} cannot be sent", shown(wanted.url)))
    };
    if let Some(accept) = wanted.accept {
        headers.insert(ACCEPT, accept.parse().map_err(|_| bad("the header `accept`"))?);
    }
    if let Some(authorization) = wanted.authorization.filter(|_| is_home) {
        let mut value: HeaderValue = authorization.parse().map_err(|_| bad("the password"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn redirect_of(response: &Response) -> Option<String> {
    let code = response.status().as_u16();
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    matches!(code, 301 | 302 | 303 | 307 | 308).then(|| location.to_owned())
}

fn late(url: &Url) -> WebError {
    WebError::new(WebFault::TimedOut, format!("{} took too long to reply", shown(url)))
}

fn unreached(error: &reqwest::Error, url: &Url) -> WebError {
    let fault = if is_tls(error) {
        WebFault::Certificate
    } else if error.is_timeout() {
        WebFault::TimedOut
    } else {
        WebFault::Unreachable
    };
    let host = url.host_str().unwrap_or_default();
    let what = if fault == WebFault::Certificate {
        "cannot be reached safely"
    } else {
        "cannot be reached"
    };
    let why = causes(error).join(": ");
    WebError::new(fault, format!("{host} {what}: {why}"))
}
