//! What a skill is, tested from outside: the corpus of real skills, the reference validator's
//! recorded verdicts, and laws that hold for any bytes.
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

mod corpus;
mod laws;
mod nearest;
mod oracle;
mod rejections;
