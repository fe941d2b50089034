//! Finding skills, tested on real trees: bad input, determinism, the watcher, and how
//! much of each file is read.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build files and fail by panicking"
)]

mod bad_input;
mod catalog;
mod churn;
mod corpus;
mod globs;
mod identity;
mod requests;
mod routing;
mod support;
mod watching;
