//! Reaching the network: the tool `network_request` and its guards.
//!
//! `hosts` judges URLs and is pure; `fetch` sends, over what `metier-net` has; `request` is the tool. Nothing
//! else in this crate knows of HTTP.

mod fetch;
mod hosts;
mod request;

pub use hosts::{HostList, PlainHttp};
pub use metier_net::{Resolver, SystemResolver};
pub use request::{NetworkRequest, NetworkSettings};
