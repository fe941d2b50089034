//! The binary `metier`: one file a command, one place where output and exit codes are decided.
//!
//! `args` is what was typed, `context` what was read from the environment, `commands` what is done,
//! `output` and `render` how it is shown. The libraries below never touch terminal, home or
//! environment.

mod args;
mod commands;
mod context;
mod error;
mod output;
mod render;

use std::process::ExitCode;

/// The system's allocator grows the heap of a second thread page by page, which at a hundred
/// thousand skills costs a tenth of the whole run; this one does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (cli, wants_json) = match args::parse() {
        Ok(parsed) => parsed,
        Err(early) => return early.finish(),
    };
    cli.global.color.write_global();
    output::finish(commands::run(&cli), wants_json)
}
