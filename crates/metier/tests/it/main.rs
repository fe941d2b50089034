//! The runtime from outside, as a program uses it: opened with an environment of the test's own, run
//! without the binary `metier`, judged by what it returns and what is in the record. That the binary does
//! the same is tested there.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "these tests build files and say what they could not test"
)]

mod held_tier;
mod identity;
mod managed;
mod opening;
mod own_source;
mod own_tools;
mod prompt_size;
mod script_network;
mod support;
