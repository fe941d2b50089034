//! The binary `metier`: one file a command, one place where output and exit codes are decided.
//!
//! `args` is what was typed, `context` the runtime for it, `commands` what is done, `agent` showing and
//! answering a run, `prompt` what a person is asked, `output`, `progress` and `render` how it is shown.
//! Everything that decides or runs something is in the crate `metier`.

mod agent;
mod args;
mod commands;
mod context;
mod error;
mod output;
mod progress;
mod prompt;
mod render;
mod scope;

use std::process::ExitCode;

/// The system's allocator grows the heap of a second thread page by page, which at a hundred
/// thousand skills costs a tenth of the whole run; this one does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the helper of the sandbox must have one thread and nothing open.
    metier::init();
    let (cli, wants_json) = match args::parse() {
        Ok(parsed) => parsed,
        Err(early) => return early.finish(),
    };
    cli.global.color.write_global();
    output::finish(commands::run(&cli), wants_json)
}
