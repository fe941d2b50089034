//! The command line from outside: the real binary in a clean home, judged by what it prints, what
//! it writes and how it ends.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "these tests build files, start the binary and say what they could not test"
)]

mod cache;
mod check;
mod check_fix;
mod check_formats;
mod check_repairs;
mod config;
mod inspect;
mod limits;
mod list;
mod list_json;
mod places;
mod program;
mod reads;
mod refresh;
mod roots;
mod search;
mod support;
mod terminal;
mod watch;
