//! Reading skills, tested on real files: paths that must not be read, races, sections, limits.
//!
//! Each path case of the table is one that another program fell for.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::print_stdout,
    reason = "tests build files and fail by panicking"
)]

mod paths;
mod reading;
