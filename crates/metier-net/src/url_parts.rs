//! Questions about a URL: its host with its port, the address in it, and how it is shown. Pure.
//! The URL parser has already read every odd form of an address (`0x7f.1`, `2130706433`).

use std::net::IpAddr;

use reqwest::Url;

/// The host of a URL with its port.
pub fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{host}:{}", url.port_or_known_default().unwrap_or(0))
}

/// The address, when the URL has one in place of a name. The URL parser has already read every odd form of it
/// (`0x7f.1`, `2130706433`).
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether it is of this machine: `localhost`, `127.0.0.1`, `[::1]`.
pub fn is_this_machine(url: &Url) -> bool {
    literal(url)
        .map_or_else(|| url.host_str() == Some("localhost"), |address| address.is_loopback())
}

/// A URL without what may be a secret in it.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}
