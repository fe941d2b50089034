//! The tests of this crate, as one binary.

mod archive_cases;
mod differential;
mod install;
mod packing;
mod sandbox_home;
mod tar_cases;
mod zip_builder;
