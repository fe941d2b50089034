//! `cargo xtask`: the developer's commands of this workspace, one file a command.
//!
//! It only picks the command and turns its result into an exit code: 0 passed, 1 failed or
//! findings, 2 wrong usage. The help text is in `help.rs`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool reads the source tree, starts cargo and prints; no user runs it"
)]

mod bench;
mod ci;
mod deny;
mod e2e_models;
mod examples;
mod flags;
mod fuzz;
mod generate;
mod help;
mod public_api;
mod syntax;
mod tidy;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match help::run_command(&args) {
        Ok(workspace::Outcome::Passed) => ExitCode::SUCCESS,
        Ok(workspace::Outcome::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(if error.is::<flags::UsageError>() { 2 } else { 1 })
        }
    }
}
