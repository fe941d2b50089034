//! The tests of this crate, as one binary.
