//! The tests of this crate, as one binary.
//! What needs the binary, a terminal or `strace` is tested in `metier-cli`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests build files, start other programs, and fail by panicking"
)]

mod archive_cases;
mod differential;
mod install;
mod packing;
mod quine;
mod sandbox_home;
mod tar_cases;
mod zip_builder;
