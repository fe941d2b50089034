//! The tools on real files and real sockets, called the way an agent calls them: plan, decide,
//! call. Each module is about one tool, or about what all of them share.
#![expect(clippy::disallowed_methods, reason = "tests make files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod bench;
mod calling;
mod changing;
mod foreign;
#[cfg(target_os = "linux")]
mod full_disk;
mod looking;
#[cfg(feature = "network")]
mod network;
mod policy;
mod searching;
#[cfg(feature = "network")]
mod server;
#[cfg(target_os = "linux")]
mod swapping;
#[cfg(unix)]
mod sweeping;
