//! The binary `metier`: one file a command, one place where output and exit codes are decided.
//!
//! `args` is what was typed, `context` the runtime for it, `commands` what is done, `agent` showing and
//! answering a run, `complete` what a shell offers, `prompt` what a person is asked, `output`, `progress` and `render` how it is shown.
//! Everything that decides or runs something is in the crate `metier`.

mod agent;
mod args;
mod commands;
mod complete;
mod context;
mod error;
mod help;
mod output;
mod password;
mod progress;
mod prompt;
mod render;
mod scope;
mod source_arg;

/// The system's allocator grows the heap of a second thread page by page, which at a hundred
/// thousand skills costs a tenth of the whole run; this one does not. It is version 2 of it: for a
/// listing of a thousand skills version 3 asks for 12 MB of fresh memory instead of 8, and clearing
/// that is a twentieth of the listing.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // Before anything else: the helper of the sandbox must have one thread and nothing open.
    metier::init();
    if complete::answer() {
        return;
    }
    let exit = match args::parse() {
        Ok((cli, wants_json)) => {
            cli.global.color.write_global();
            output::finish(commands::run(&cli), wants_json)
        }
        Err(early) => early.finish(),
    };
    output::end_process(exit)
}
