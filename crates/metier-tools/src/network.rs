//! Reaching the network: the tool `network_request` and its guards.
//!
//! `hosts` and `address` judge texts and addresses and are pure; `fetch` sends; `request` is the
//! tool. Nothing else in this crate knows of HTTP.

mod address;
mod fetch;
mod hosts;
mod request;

pub use fetch::{Resolver, SystemResolver};
pub use hosts::{HostList, PlainHttp};
pub use request::{NetworkRequest, NetworkSettings};
