//! The addresses of a name, found once.
//! Whether they may be reached is `address`' and the caller's.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

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

/// The addresses of `name`, at least one; else why there is none. The lookup has a thread of its own: the
/// system's resolver cannot be interrupted.
pub async fn resolve(resolver: Arc<dyn Resolver>, name: &str) -> Result<Vec<IpAddr>, String> {
    let host = name.to_owned();
    match tokio::task::spawn_blocking(move || resolver.resolve(&host)).await {
        Ok(Ok(found)) if found.is_empty() => Err("it has no address".to_owned()),
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the lookup failed".to_owned()),
    }
}
