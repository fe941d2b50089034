//! The offline model, tested turn by turn over views made by hand,
//! and with the compiled-in skills and their scripts.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests build files and fail by panicking"
)]

mod builtin;
mod figures;
mod refused;
mod router;
mod support;
