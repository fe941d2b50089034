//! The commands, one file each: what is typed, what is done, and both forms of the result.
//!
//! A command reads its world through `Context` and never prints: it gives an `Output`.

mod asking;
pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod content;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod disable;
pub(crate) mod doctor;
pub(crate) mod enable;
pub(crate) mod eval;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod install;
mod installed_target;
pub(crate) mod inventory;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod open;
pub(crate) mod outdated;
pub(crate) mod pack;
pub(crate) mod permissions;
mod plan_consent;
pub(crate) mod read;
pub(crate) mod refresh;
pub(crate) mod replay;
pub(crate) mod requests;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod roots;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod stats;
pub(crate) mod switch;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod uninstall;
pub(crate) mod untrust;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod verify_pack;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// Does what was asked. A configuration that cannot be read stops every command that would act on
/// it, and none of those that only describe the program.
pub(crate) fn run(cli: &Cli) -> Result<Box<dyn Output>> {
    let context = || Context::new(&cli.global);
    match &cli.command {
        Command::List(args) => list::run(args, &context()?, cli.global.json),
        Command::Inspect(args) => inspect::run(args, &context()?),
        Command::Read(args) => read::run(args, &context()?, cli.global.json),
        Command::Files(args) => files::run(args, &context()?),
        Command::Search(args) => search::run(args, &context()?),
        Command::Catalog(args) => catalog::run(args, &context()?),
        Command::Check(args) => check::run(args, &context()?),
        Command::New(args) => new::run(args, &context()?, cli.global.json),
        Command::Open(args) => open::run(args, &context()?, cli.global.json),
        Command::Enable(args) => enable::run(args, &cli.global),
        Command::Disable(args) => disable::run(args, &cli.global),
        Command::Delete(args) => delete::run(args, &context()?, cli.global.json),
        Command::Install(args) => install::run(args, &context()?, cli.global.json),
        Command::Lock(args) => lock::run(args, &context()?, cli.global.json),
        Command::Import(args) => import::run(args, &context()?, cli.global.json),
        Command::Inventory(args) => inventory::run(args, &context()?),
        Command::Update(args) => update::run(args, &context()?, cli.global.json),
        Command::Outdated(args) => outdated::run(args, &context()?, cli.global.json),
        Command::Diff(args) => diff::run(args, &context()?, cli.global.json),
        Command::Requests(args) => requests::run(args, &context()?, cli.global.json),
        Command::Uninstall(args) => uninstall::run(args, &context()?, cli.global.json),
        Command::Verify(args) => verify::run(args, &context()?, cli.global.json),
        Command::Scan(args) => scan::run(args, &context()?),
        Command::Pack(args) => pack::run(args, &context()?),
        Command::Sign(args) => sign::run(args, &context()?, cli.global.json),
        Command::Keys(args) => keys::run(args, &context()?, cli.global.json),
        Command::Restore(args) => restore::run(args, &context()?, cli.global.json),
        Command::Run(args) => run::run(args, &context()?, cli.global.json),
        Command::Chat(args) => chat::run(args, &context()?, cli.global.json),
        Command::Resume(args) => resume::run(args, &context()?, cli.global.json),
        Command::Runs(args) => runs::run(args, &context()?),
        Command::Stats(args) => stats::run(args, &context()?),
        Command::Show(args) => show::run(args, &context()?),
        Command::Replay(args) => replay::run(args, &context()?),
        Command::Audit(args) => audit::run(args, &context()?),
        Command::Export(args) => export::run(args, &context()?),
        Command::Models(args) if args.is_schema() => Ok(models::script_schema()),
        Command::Models(args) => models::run(args, &context()?),
        Command::Eval(args) => eval::run(args, &context()?, cli.global.json),
        Command::Exec(args) => exec::run(args, &context()?, cli.global.json),
        Command::Tools(args) => tools::run(args, &context()?),
        Command::Doctor(args) => Ok(doctor::run(args, &context()?)),
        Command::Explain(args) => explain::run(args, &context()?),
        Command::Permissions(args) => permissions::run(args, &context()?),
        Command::Trust(args) => trust::run(args, &cli.global),
        Command::Untrust(args) => untrust::run(args, &context()?),
        Command::Roots(args) => Ok(roots::run(args, &context()?)),
        Command::Refresh(args) => refresh::run(args, &context()?),
        Command::Config(args) if args.is_schema() => Ok(config::schema()),
        Command::Config(args) => config::run(args, &context()?),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, cli.global.directory.as_deref()),
        Command::Generate(args) => Ok(generate::run(args)),
    }
}
