//! Real programs, really confined. Everything is bounded in processes, memory and time, and what a
//! machine cannot show is printed as NOT TRIED.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests start processes and make files; a failure here is a failed test"
)]

mod calls;
mod endings;
mod escape;
mod hiding;
mod honest;
mod memory;
mod probing;
mod scripts;
mod support;
mod world;
