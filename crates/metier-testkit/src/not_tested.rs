//! What a test says where the machine has not what it needs. It passes then, on a developer's machine; where `.ci/run`
//! prepared the machine, a program that it installed is never missing.

use std::fmt::Display;
use std::io::Write;

/// Set by `.ci/run` to the programs that it could not install, with spaces between.
const PREPARED: &str = "METIER_CI_PREPARED";

/// Says that something was not tested. Not by `eprintln!`: `cargo test` keeps that of a test that passes to itself.
pub fn not_tested(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}");
}

/// The same for the lack of a program, by its name in `.ci/run`.
///
/// # Panics
/// Where `.ci/run` installed it.
pub fn not_tested_without(program: &str, what: impl Display) {
    if let Some(missing) = std::env::var_os(PREPARED) {
        let missing = missing.to_string_lossy();
        let is_known = missing.split_whitespace().any(|name| name == program);
        assert!(is_known, "NOT TESTED, though .ci/run has installed {program}: {what}");
    }
    not_tested(what);
}
