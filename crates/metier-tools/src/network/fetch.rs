//! Sends requests until a response is not a redirect.
//!
//! For each of them the URL is checked, its host resolved, every address checked, and the connection
//! made to one of these addresses and no other: a second lookup could give another address (DNS
//! rebinding). There are no cookies, no proxies, no decompression (bombs), and the HTTP client follows
//! no redirect by itself.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use metier_skill::text::short_line;
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, redirect};

use super::hosts::Target;
use super::request::NetworkSettings;
use crate::failure::{ToolFailure, shown};
use metier_skill::FailureCode;

/// Finds the addresses of a name.
pub trait Resolver: Send + Sync {
    /// The addresses of `host`.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}

/// What is sent.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
}

/// What came back.
pub(crate) struct Incoming {
    pub(crate) status: StatusCode,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    pub(crate) redirects: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// Whether the body continued after the limit.
    pub(crate) cut: bool,
}

/// Sends a request and follows redirects within the same host.
pub(crate) async fn fetch(
    settings: &NetworkSettings,
    resolver: Arc<dyn Resolver>,
    mut sent: Outgoing,
) -> Result<Incoming, ToolFailure> {
    let decided = sent.target.host.clone();
    let mut redirects = Vec::new();
    loop {
        let response = send(settings, Arc::clone(&resolver), &sent).await?;
        let status = response.status();
        let Some(location) = redirect_of(&response) else {
            return receive(settings, response, redirects).await;
        };
        let next = sent.target.url.join(&location).map_err(|error| {
            let message =
                format!("it redirects to {}, which is not a valid URL: {error}", shown(&location));
            ToolFailure::new(FailureCode::UrlNotAllowed, message)
        })?;
        if redirects.len() >= settings.redirects {
            let message = format!(
                "it was redirected {} times; the next address is {}",
                redirects.len(),
                short(&next)
            );
            return Err(ToolFailure::new(FailureCode::TooManyRedirects, message));
        }
        let next = check_redirect(settings, &sent.target, next, &decided)?;
        redirects.push(next.url.to_string());
        // As every browser does: after these three statuses a POST becomes a GET without a body.
        let becomes_get = matches!(
            status,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER
        );
        if becomes_get && sent.method == Method::POST {
            sent.method = Method::GET;
            sent.body = None;
            sent.headers.remove(CONTENT_TYPE);
        }
        sent.target = next;
    }
}

/// Checks a redirect like a new request; it must stay on the host that was decided about.
fn check_redirect(
    settings: &NetworkSettings,
    from: &Target,
    next: reqwest::Url,
    decided: &str,
) -> Result<Target, ToolFailure> {
    let next = Target::check(next, settings.plain_http)?;
    if from.url.scheme() == "https" && next.url.scheme() != "https" {
        let message = "it redirects from https to plain http";
        return Err(ToolFailure::new(FailureCode::UrlNotAllowed, message));
    }
    if let Some(address) = next.literal() {
        settings.check_address(address, next.port())?;
    }
    if !settings.hosts.contains(&next.host) {
        let message =
            format!("it redirects to {}, which is not an allowed host", shown(&next.host));
        return Err(ToolFailure::new(FailureCode::HostNotAllowed, message));
    }
    if next.host != decided {
        let message = format!("it redirects to another host: {}", short(&next.url));
        return Err(ToolFailure::new(FailureCode::RedirectElsewhere, message));
    }
    Ok(next)
}

fn redirect_of(response: &Response) -> Option<String> {
    let code = response.status().as_u16();
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    matches!(code, 301 | 302 | 303 | 307 | 308).then(|| location.to_owned())
}

async fn send(
    settings: &NetworkSettings,
    resolver: Arc<dyn Resolver>,
    sent: &Outgoing,
) -> Result<Response, ToolFailure> {
    let target = &sent.target;
    let addresses = match target.literal() {
        Some(address) => vec![address],
        None => resolve(resolver, target.name()).await?,
    };
    // One bad address among good ones is an attack or a mistake: either way nothing is sent.
    for address in &addresses {
        settings.check_address(*address, target.port())?;
    }
    let pinned: Vec<SocketAddr> = addresses.iter().map(|ip| (*ip, target.port()).into()).collect();
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .http1_only()
        .pool_max_idle_per_host(0)
        .user_agent(concat!("metier/", env!("CARGO_PKG_VERSION")))
        .resolve_to_addrs(target.name(), &pinned)
        .build()
        .map_err(|error| failed(&error))?;
    let mut request = client.request(sent.method.clone(), target.url.clone());
    request = request.headers(sent.headers.clone());
    if let Some(body) = &sent.body {
        request = request.body(body.clone());
    }
    let response = request.send().await.map_err(|error| failed(&error))?;
    // The pinned addresses guarantee this; checked all the same.
    if response.remote_addr().is_some_and(|peer| !pinned.contains(&peer)) {
        let message = "the connection went to an address that was not checked";
        return Err(ToolFailure::new(FailureCode::AddressNotAllowed, message));
    }
    Ok(response)
}

async fn resolve(resolver: Arc<dyn Resolver>, name: &str) -> Result<Vec<IpAddr>, ToolFailure> {
    let host = name.to_owned();
    let lookup = tokio::task::spawn_blocking(move || resolver.resolve(&host)).await;
    let found = match lookup {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(unknown_host(name, &error.to_string())),
        Err(_) => return Err(unknown_host(name, "the lookup failed")),
    };
    if found.is_empty() { Err(unknown_host(name, "it has no address")) } else { Ok(found) }
}

async fn receive(
    settings: &NetworkSettings,
    mut response: Response,
    redirects: Vec<String>,
) -> Result<Incoming, ToolFailure> {
    let header = |name: HeaderName| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(short_line(value, 200).into_owned())
    };
    let mut incoming = Incoming {
        status: response.status(),
        url: response.url().to_string(),
        content_type: header(CONTENT_TYPE),
        etag: header(ETAG),
        last_modified: header(LAST_MODIFIED),
        redirects,
        body: Vec::new(),
        cut: false,
    };
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        let room = settings.response_bytes - incoming.body.len();
        incoming.body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            incoming.cut = true;
            break;
        }
    }
    Ok(incoming)
}

fn short(url: &reqwest::Url) -> String {
    shown(url.as_str())
}

fn unknown_host(name: &str, why: &str) -> ToolFailure {
    let message = format!("{} could not be found: {why}", shown(name));
    ToolFailure::new(FailureCode::NetworkError, message)
}

/// A failed request, with the chain of causes.
fn failed(error: &reqwest::Error) -> ToolFailure {
    let mut message = String::from("the request failed");
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    ToolFailure::new(FailureCode::NetworkError, short_line(&message, 400))
}
