//! The commands, one file each: what is typed, what is done, and both forms of the result.
//!
//! A command reads its world through `Context` and never prints: it gives an `Output`.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod content;
pub(crate) mod files;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod read;
pub(crate) mod refresh;
pub(crate) mod roots;
pub(crate) mod search;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// Does what was asked. A configuration that cannot be read stops every command that would act on
/// it, and none of those that only tell about the program.
pub(crate) fn run(cli: &Cli) -> Result<Box<dyn Output>> {
    let context = || Context::new(&cli.global);
    match &cli.command {
        Command::List(args) => Ok(list::run(args, &context()?, cli.global.json)),
        Command::Inspect(args) => inspect::run(args, &context()?),
        Command::Read(args) => read::run(args, &context()?),
        Command::Files(args) => files::run(args, &context()?),
        Command::Search(args) => Ok(search::run(args, &context()?)),
        Command::Check(args) => check::run(args, &context()?),
        Command::Roots(args) => Ok(roots::run(args, &context()?)),
        Command::Refresh(args) => refresh::run(args, &context()?),
        Command::Config(args) if args.is_schema() => Ok(config::schema()),
        Command::Config(_) => Ok(config::run(&context()?)),
        Command::Completions(args) => Ok(completions::run(args)),
        Command::Man(args) => man::run(args, cli.global.directory.as_deref()),
        Command::Generate(args) => Ok(generate::run(args)),
    }
}
