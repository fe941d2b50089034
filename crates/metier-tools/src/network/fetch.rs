//! Sends requests until a response is not a redirect.
//!
//! For each of them the URL is checked, its host resolved, every address checked, and the connection
//! made to one of these addresses and no other: a second lookup could give another address (DNS
//! rebinding). There are no cookies, no proxies, no decompression (bombs), and the HTTP client follows
//! no redirect by itself.

use std::net::SocketAddr;
use std::sync::Arc;

use metier_net::{Resolver, causes, pinned_client, resolve};
use metier_skill::text::short_line;
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LOCATION};
use reqwest::{Method, Response, StatusCode};

use super::hosts::Target;
use super::request::NetworkSettings;
use crate::failure::{ToolFailure, shown};
use metier_skill::FailureCode;

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
        None => resolve(resolver, target.name())
            .await
            .map_err(|why| unknown_host(target.name(), &why))?,
    };
    // One bad address among good ones is an attack or a mistake: either way nothing is sent.
    for address in &addresses {
        settings.check_address(*address, target.port())?;
    }
    let pinned: Vec<SocketAddr> = addresses.iter().map(|ip| (*ip, target.port()).into()).collect();
    let client =
        pinned_client(target.name(), &pinned, settings.time).map_err(|error| failed(&error))?;
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
    for cause in causes(error) {
        message.push_str(&format!(": {cause}"));
    }
    ToolFailure::new(FailureCode::NetworkError, short_line(&message, 400))
}
