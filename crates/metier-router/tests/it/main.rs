//! The offline model, tested turn by turn over views made by hand, with the compiled-in skills and
//! their scripts, and measured on real requests.
#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build files, fail by panicking and print what they measured"
)]

mod accounted;
mod builtin;
mod figures;
mod refused;
mod router;
mod support;
