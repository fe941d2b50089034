//! The binary `metier`: one file a command, one place where output and exit codes are decided.
//!
//! `args` is what was typed, `context` what was read from the environment, `commands` what is done,
//! `targets` where something is written, `guard` what may be done, `prompt` what a person is asked, `output`, `progress` and
//! `render` how it is shown. The libraries below never touch terminal, home or
//! environment.

mod agent;
mod args;
mod commands;
mod context;
mod error;
mod guard;
mod output;
mod progress;
mod prompt;
mod render;
mod run_folders;
mod targets;

use std::process::ExitCode;

/// The system's allocator grows the heap of a second thread page by page, which at a hundred
/// thousand skills costs a tenth of the whole run; this one does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the helper of the sandbox must have one thread and nothing open.
    if std::env::args_os().nth(1).is_some_and(|word| word == metier_sandbox::HELPER_ARGUMENT) {
        return ExitCode::from(u8::try_from(metier_sandbox::helper_main()).unwrap_or(u8::MAX));
    }
    let (cli, wants_json) = match args::parse() {
        Ok(parsed) => parsed,
        Err(early) => return early.finish(),
    };
    cli.global.color.write_global();
    output::finish(commands::run(&cli), wants_json)
}
