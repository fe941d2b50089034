//! Which hosts may be reached, and which URLs are accepted at all. Pure.
//!
//! A URL is checked before anything is resolved or sent, and again for each redirect. The policy is
//! asked about its host.

use std::net::IpAddr;

use metier_net::is_public;
use reqwest::Url;

use crate::failure::{ToolFailure, shown};
use metier_skill::FailureCode;

/// The longest URL.
const MAX_URL_CHARS: usize = 4000;

/// The hosts that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostList {
    entries: Vec<String>,
    any: bool,
}

impl HostList {
    /// These hosts: `api.example.com`, `*.example.com` (every name below it), each at its usual port
    /// or with `:port`.
    pub fn new<S: AsRef<str>>(entries: impl IntoIterator<Item = S>) -> Self {
        let entries = entries.into_iter().map(|entry| entry.as_ref().trim().to_lowercase());
        Self { entries: entries.filter(|entry| !entry.is_empty()).collect(), any: false }
    }

    /// Every host of the public network: where the policy alone decides.
    pub const fn any() -> Self {
        Self { entries: Vec::new(), any: true }
    }

    /// Whether `host` (or `host:port`) is on the list.
    pub fn contains(&self, host: &str) -> bool {
        let on = |entry: &String| match entry.strip_prefix("*.") {
            Some(parent) => {
                host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => entry == host,
        };
        self.any || self.entries.iter().any(on)
    }
}

/// Whether a connection may be unencrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainHttp {
    /// Only `https`.
    #[default]
    Refuse,
    /// `http` too.
    Allow,
}

/// A URL whose text passed the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// The host, with a port where it is not the usual one.
    pub(crate) host: String,
}

impl Target {
    /// Checks the URL in `text`.
    pub(crate) fn parse(text: &str, plain: PlainHttp) -> Result<Self, ToolFailure> {
        if text.len() > MAX_URL_CHARS {
            return Err(refused(format!("the URL is longer than {MAX_URL_CHARS} characters")));
        }
        let url = Url::parse(text)
            .map_err(|error| refused(format!("{} is not a valid URL: {error}", shown(text))))?;
        Self::check(url, plain)
    }

    /// Checks a URL.
    pub(crate) fn check(mut url: Url, plain: PlainHttp) -> Result<Self, ToolFailure> {
        match (url.scheme(), plain) {
            ("https", _) | ("http", PlainHttp::Allow) => {}
            ("http", PlainHttp::Refuse) => {
                return Err(refused("plain http is not allowed".to_owned()));
            }
            (other, _) => {
                return Err(refused(format!("the scheme {} is not supported", shown(other))));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("the URL has a user name or password in it".to_owned()));
        }
        url.set_fragment(None);
        let name = url.host_str().unwrap_or_default().to_owned();
        // With a trailing dot it is another name to rules, but the same host to resolvers.
        if name.is_empty() || name.ends_with('.') {
            return Err(refused("the URL has no host, or one that ends with a dot".to_owned()));
        }
        let host = url.port().map_or_else(|| name.clone(), |port| format!("{name}:{port}"));
        Ok(Self { url, host })
    }

    /// The name to resolve.
    pub(crate) fn name(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port to connect to.
    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// The address, when the URL has one in place of a name. The URL parser has already read every
    /// odd form of it (`0x7f.1`, `2130706433`).
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        let name = self.name();
        name.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }
}

/// Refuses an address that is not public.
pub(crate) fn check_address(address: IpAddr) -> Result<(), ToolFailure> {
    if is_public(address) {
        return Ok(());
    }
    let message = format!("{address} is not a public address");
    Err(ToolFailure::new(FailureCode::AddressNotAllowed, message))
}

fn refused(message: String) -> ToolFailure {
    ToolFailure::new(FailureCode::UrlNotAllowed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_on_the_list_by_its_whole_name() {
        let list = HostList::new(["Example.com", "*.api.dev", "local.test:8080", ""]);
        for on in ["example.com", "a.api.dev", "b.a.api.dev", "local.test:8080"] {
            assert!(list.contains(on), "{on}");
        }
        for off in
            ["www.example.com", "evil-example.com", "api.dev", ".api.dev", "xapi.dev", "local.test"]
        {
            assert!(!list.contains(off), "{off}");
        }
        assert!(!HostList::default().contains("example.com"));
        assert!(HostList::any().contains("example.com"));
    }

    #[test]
    fn only_plain_web_addresses_are_fetched() {
        let code = |text: &str| Target::parse(text, PlainHttp::Refuse).map_err(|e| e.code.as_str());
        assert_eq!(code("https://Example.com/a?b#c").map(|t| t.host), Ok("example.com".into()));
        assert_eq!(code("https://x.dev:8443/").map(|t| t.host), Ok("x.dev:8443".into()));
        for bad in [
            "http://example.com/",
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://x/",
            "data:text/plain,x",
            "https://user@example.com/",
            "https://user:pass@example.com/",
            "https://:pass@example.com/",
            "https://example.com./",
            "example.com",
            "https://",
            "",
        ] {
            assert_eq!(code(bad).map(|t| t.host), Err("UrlNotAllowed"), "{bad}");
        }
        assert!(Target::parse("http://example.com/", PlainHttp::Allow).is_ok());
    }

    #[test]
    fn odd_forms_of_addresses_are_seen_through() {
        for odd in
            ["https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://[::1]/"]
        {
            let target = Target::parse(odd, PlainHttp::Refuse).expect("a URL");
            let address = target.literal().expect("an address");
            let refused = check_address(address).expect_err("loopback");
            assert_eq!(refused.code, FailureCode::AddressNotAllowed, "{odd}");
        }
    }
}
