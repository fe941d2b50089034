//! What all our HTTP clients have in common.
//! No other file builds one from nothing.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};

/// A client without proxies (a proxy would resolve names by itself), redirects (each is a decision),
/// cookies, compression (bombs) and connections that are kept. Certificates are checked by the system's own
/// means, so what a company added there counts; so does `SSL_CERT_FILE`.
pub fn client_builder() -> ClientBuilder {
    // The HTTP client takes its cryptography from here; who was first has chosen.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .http1_only()
        .pool_max_idle_per_host(0)
        .user_agent(concat!("metier/", env!("CARGO_PKG_VERSION")))
}

/// A client that reaches the host `name` at these addresses and no other.
pub fn pinned_client(
    name: &str,
    addresses: &[SocketAddr],
    connect: Duration,
) -> reqwest::Result<Client> {
    client_builder().connect_timeout(connect).resolve_to_addrs(name, addresses).build()
}
