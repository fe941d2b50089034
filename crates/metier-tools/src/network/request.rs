//! `network_request`: one request to an allowed host of the public network.
//!
//! A host must be both on the host list and allowed by the policy; `fetch` has the rest of the guard.
//! Each call has its own small async runtime.

use std::future::Future;
use std::net::IpAddr;
#[cfg(feature = "test-loopback")]
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use metier_net::{Resolver, SystemResolver};
use metier_policy::Risk;
use metier_skill::text::for_model;
use metier_skill::{Digest, FailureCode};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::fetch::{Incoming, Outgoing, fetch};
use super::hosts::{HostList, PlainHttp, Target, check_address};
use crate::failure::{ToolFailure, shown};
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};

/// Headers that a caller may set. None of them carries a credential.
const ALLOWED_HEADERS: &[&str] =
    &["accept", "accept-language", "content-type", "if-modified-since", "if-none-match"];
/// Bytes of a request body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// What may be reached, and how much comes back.
#[derive(Debug, Clone)]
pub struct NetworkSettings {
    /// The hosts that may be reached.
    pub hosts: HostList,
    /// Whether `http` is allowed.
    pub plain_http: PlainHttp,
    /// Bytes of a response; the rest is left out.
    pub response_bytes: usize,
    /// How long all of it takes, redirects included.
    pub time: Duration,
    /// Redirects that are followed.
    pub redirects: usize,
    /// See [`NetworkSettings::with_exception_for_tests`].
    #[cfg(feature = "test-loopback")]
    exceptions: Vec<SocketAddr>,
}

impl NetworkSettings {
    /// These hosts, by https, 2 MB, 30 seconds, 5 redirects.
    pub const fn new(hosts: HostList) -> Self {
        Self {
            hosts,
            plain_http: PlainHttp::Refuse,
            response_bytes: 2_000_000,
            time: Duration::from_secs(30),
            redirects: 5,
            #[cfg(feature = "test-loopback")]
            exceptions: Vec::new(),
        }
    }

    /// Lets one non-public address pass, so that a test can run a server on its own machine. Only our
    /// own tests are built with it: a shipped program has no such list that a bug could put an
    /// address on.
    #[cfg(feature = "test-loopback")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_exception_for_tests(mut self, address: SocketAddr) -> Self {
        self.exceptions.push(address);
        self
    }

    /// Refuses an address that is not public.
    #[cfg_attr(
        not(feature = "test-loopback"),
        expect(clippy::unused_self, reason = "only tests have settings that matter here")
    )]
    pub(crate) fn check_address(&self, address: IpAddr, port: u16) -> Result<(), ToolFailure> {
        #[cfg(feature = "test-loopback")]
        if self.exceptions.contains(&(address, port).into()) {
            return Ok(());
        }
        // Only the exception of a test is about a port.
        let _ = port;
        check_address(address)
    }
}

/// The tool `network_request`.
pub struct NetworkRequest {
    settings: NetworkSettings,
    resolver: Arc<dyn Resolver>,
}

impl NetworkRequest {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::NETWORK_REQUEST;

    /// A tool that may reach what `settings` allow.
    pub fn new(settings: NetworkSettings) -> Self {
        Self { settings, resolver: Arc::new(SystemResolver) }
    }

    /// Sets the resolver of host names.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    fn outgoing(&self, wanted: &NetworkRequestArgs) -> Result<Outgoing, ToolFailure> {
        let invalid = |message: String| ToolFailure::new(FailureCode::InvalidArguments, message);
        let target = Target::parse(&wanted.url, self.settings.plain_http)?;
        if let Some(address) = target.literal() {
            self.settings.check_address(address, target.port())?;
        }
        if !self.settings.hosts.contains(&target.host) {
            let message = format!("{} is not an allowed host", shown(&target.host));
            return Err(ToolFailure::new(FailureCode::HostNotAllowed, message));
        }
        let method = match wanted.method {
            None | Some(Verb::Get) => Method::GET,
            Some(Verb::Head) => Method::HEAD,
            Some(Verb::Post) => Method::POST,
        };
        if wanted.body.is_some() && method != Method::POST {
            return Err(invalid("only POST has a body".to_owned()));
        }
        if wanted.body.as_ref().is_some_and(|body| body.len() > MAX_BODY_BYTES) {
            return Err(invalid(format!("the body is larger than {MAX_BODY_BYTES} bytes")));
        }
        let mut headers = HeaderMap::new();
        for header in wanted.headers.iter().flatten() {
            let name = header.name.to_lowercase();
            if !ALLOWED_HEADERS.contains(&name.as_str()) {
                let message = format!("the header {} may not be set", shown(&header.name));
                let help = format!("these may be set: {}", ALLOWED_HEADERS.join(", "));
                return Err(ToolFailure::new(FailureCode::NotAllowed, message).with_help(help));
            }
            let name = HeaderName::try_from(name).map_err(|error| invalid(error.to_string()))?;
            let value = HeaderValue::from_str(&header.value)
                .map_err(|_| invalid(format!("the value of `{name}` cannot be sent")))?;
            headers.insert(name, value);
        }
        Ok(Outgoing { method, target, headers, body: wanted.body.clone() })
    }
}

impl std::fmt::Debug for NetworkRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkRequest").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The arguments of `network_request`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NetworkRequestArgs {
    /// An https URL, without a user name and password.
    url: String,
    /// Null: GET.
    method: Option<Verb>,
    /// Of these: accept, accept-language, content-type, if-modified-since, if-none-match. Null: none.
    headers: Option<Vec<Header>>,
    /// What a POST sends; null: nothing.
    body: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    Get,
    Head,
    Post,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Header {
    /// One of the headers that may be set.
    name: String,
    /// Its value.
    value: String,
}

impl Tool for NetworkRequest {
    type Args = NetworkRequestArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Send a request to an allowed host of the public network and get the text of the response."
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn touches(&self, args: &NetworkRequestArgs) -> Result<Vec<Touch>, ToolFailure> {
        Ok(vec![Touch::Host(self.outgoing(args)?.target.host)])
    }

    fn call(&self, args: NetworkRequestArgs, context: &CallContext) -> CallResult {
        let sent = self.outgoing(&args)?;
        let fetched = fetch(&self.settings, Arc::clone(&self.resolver), sent);
        let incoming = on_runtime(self.settings.time, context.cancel(), fetched)?;
        Ok(response_result(&incoming, context))
    }
}

/// Waits for `work` until the time is over or the caller stops it.
fn on_runtime<T>(
    time: Duration,
    cancel: &metier_cancel::CancelToken,
    work: impl Future<Output = Result<T, ToolFailure>>,
) -> Result<T, ToolFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        ToolFailure::new(FailureCode::Failed, format!("no runtime could be started: {error}"))
    })?;
    // The timer is made inside: it belongs to the runtime.
    let done = runtime
        .block_on(async { tokio::time::timeout(time, cancel.run_until_cancelled(work)).await });
    // A lookup that hangs in the system must not delay the result.
    runtime.shutdown_background();
    match done {
        Ok(Some(done)) => done,
        Ok(None) => Err(ToolFailure::new(FailureCode::Cancelled, "the call was stopped")),
        Err(_) => {
            let message = format!("no complete response after {} seconds", time.as_secs_f32());
            Err(ToolFailure::new(FailureCode::TimedOut, message))
        }
    }
}

fn response_result(incoming: &Incoming, context: &CallContext) -> ToolResult {
    let kind = incoming.content_type.as_deref().unwrap_or("no content type");
    let status = incoming.status.as_u16();
    let bytes = incoming.body.len();
    let mut text = format!("HTTP {status}, {kind}, {bytes} bytes");
    text.push_str(if incoming.cut { " of more\n\n" } else { "\n\n" });
    let shown = text_of(&incoming.body, incoming.cut);
    match shown {
        Some(body) => text.push_str(&for_model(body)),
        None => text.push_str("(the response is not text)\n"),
    }
    let data = json!({
        "status": status,
        "url": incoming.url,
        "content_type": incoming.content_type,
        "etag": incoming.etag,
        "last_modified": incoming.last_modified,
        "bytes": bytes,
        "sha256": Digest::of(&incoming.body),
        "complete": !incoming.cut,
        "redirects": incoming.redirects,
    });
    let mut result = ToolResult::text(text).with_data(data).truncated_if(incoming.cut);
    if shown.is_none() {
        result.storage_ref = context.keep(&incoming.body, NetworkRequest::NAME);
    }
    result
}

/// The body as text; the last character may have been cut.
fn text_of(body: &[u8], cut: bool) -> Option<&str> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if cut && body.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}
