//! The integration tests of `metier-model`: one binary, a module for each subject.
//! What needs a server runs one on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "these are tests, which wait for servers of their own"
)]

mod any;
mod early;
#[cfg(feature = "http")]
mod faults;
mod parse;
mod plan;
#[cfg(feature = "http")]
mod readers;
#[cfg(feature = "http")]
mod recordings;
#[cfg(feature = "http")]
mod request_styles;
mod schema;
mod scripted;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod talk;
#[cfg(feature = "http")]
mod waits;
#[cfg(feature = "http")]
mod wire;
