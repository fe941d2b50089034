//! The command line as it was typed, before anything is asked of the system.
//!
//! Commands own their arguments; this file owns the global ones and what happens before a command.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::error::{CommandError, Exit};
use crate::{help, output};

/// Find, check, load and run Agent Skills.
///
/// A skill is a folder with a SKILL.md: an operating manual that an agent loads only when it needs
/// it. Metier finds the skills of every agent on this machine and says exactly what is wrong with
/// each.
#[derive(Debug, Parser)]
#[command(name = "metier", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  metier run \"summarise examples/sales.csv by region\"
                                    a request, to an answer
  metier list                       the skills an agent would see here
  metier check my-skill             what is wrong with a skill, line by line
  metier check --fix my-skill       fix what can be fixed safely
  metier doctor                     what is wrong with the skills here, and how to fix it
  metier search fill a pdf form     skills for a task
  metier catalog                    what a model is shown of them
  metier inspect pdf                everything about one skill
  metier read pdf references/a.md   one file of a skill, or one of its sections
  metier exec profile-csv scripts/profile_csv.py -- data.csv
                                    run a skill's script in the sandbox
  metier new my-skill               a skill to start from
  metier install ./pdf.zip          install skills from an archive, a directory or a git repository
  metier update --all               bring installed skills up to date
  metier scan pdf                   what a skill could do to you, with the lines
  metier verify                     whether installed skills are what was installed
  metier eval                       test skills: the cases in .agent/evals
  metier inventory                  every skill in every agent's folder
  metier disable pdf                stop a skill from being used

Exit codes: 0 done, 1 failed or findings, 2 usage, 3 not allowed or needs approval,
4 budget spent, 130 interrupted.";

#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Work in DIR instead of the current directory.
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Global options")]
    pub(crate) directory: Option<PathBuf>,
    /// Print one JSON document on standard output.
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// When to use colour.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        help_heading = "Global options"
    )]
    pub(crate) color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that supports it, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn write_global(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Defines the commands once: as what is parsed, and as what defines the arguments of each.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ty),)*) => {
        #[derive(Debug, Subcommand)]
        #[expect(clippy::large_enum_variant, reason = "one is made in a process")]
        pub(crate) enum Command {
            $($(#[$attribute])* $name($args),)*
        }

        /// The commands by their names in code, and what defines the arguments of each.
        const DEFINITIONS: &[(&str, fn(clap::Command) -> clap::Command)] =
            &[$((stringify!($name), <$args as Args>::augment_args),)*];
    };
}

commands! {
    #[command(alias = "ls")]
    List(commands::list::ListArgs),
    Inspect(commands::inspect::InspectArgs),
    Read(commands::read::ReadArgs),
    Files(commands::files::FilesArgs),
    Search(commands::search::SearchArgs),
    Catalog(commands::catalog::CatalogArgs),
    #[command(aliases = ["lint", "validate"])]
    Check(commands::check::CheckArgs),
    #[command(aliases = ["init", "create"])]
    New(commands::new::NewArgs),
    Open(commands::open::OpenArgs),
    Enable(commands::enable::EnableArgs),
    Disable(commands::disable::DisableArgs),
    #[command(aliases = ["rm", "remove"])]
    Delete(commands::delete::DeleteArgs),
    #[command(aliases = ["add", "i"])]
    Install(commands::install::InstallArgs),
    Lock(commands::lock::LockArgs),
    Import(commands::import::ImportArgs),
    Inventory(commands::inventory::InventoryArgs),
    #[command(alias = "upgrade")]
    Update(commands::update::UpdateArgs),
    Outdated(commands::outdated::OutdatedArgs),
    Diff(commands::diff::DiffArgs),
    Requests(commands::requests::RequestsArgs),
    Uninstall(commands::uninstall::UninstallArgs),
    Verify(commands::verify::VerifyArgs),
    Scan(commands::scan::ScanArgs),
    Pack(commands::pack::PackArgs),
    Sign(commands::sign::SignArgs),
    Keys(commands::keys::KeysArgs),
    Restore(commands::restore::RestoreArgs),
    Run(commands::run::RunArgs),
    Chat(commands::chat::ChatArgs),
    Resume(commands::resume::ResumeArgs),
    Runs(commands::runs::RunsArgs),
    Stats(commands::stats::StatsArgs),
    Show(commands::show::ShowArgs),
    Replay(commands::replay::ReplayArgs),
    Audit(commands::audit::AuditArgs),
    Export(commands::export::ExportArgs),
    Models(commands::models::ModelsArgs),
    Eval(commands::eval::EvalArgs),
    Exec(commands::exec::ExecArgs),
    Tools(commands::tools::ToolsArgs),
    Doctor(commands::doctor::DoctorArgs),
    Explain(commands::explain::ExplainArgs),
    Permissions(commands::permissions::PermissionsArgs),
    Trust(commands::trust::TrustArgs),
    Untrust(commands::untrust::UntrustArgs),
    Roots(commands::roots::RootsArgs),
    Refresh(commands::refresh::RefreshArgs),
    Config(commands::config::ConfigArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(name = "__gen", hide = true)]
    Generate(commands::generate::GenerateArgs),
}

/// The command line ended before a command.
pub(crate) enum Early {
    /// `metier --version`, for which the commands and their arguments need not be built.
    Version,
    /// Help, the version in another place, or a mistake.
    Clap { error: clap::Error, wants_json: bool },
}

impl Early {
    pub(crate) fn finish(self) -> Exit {
        let (error, wants_json) = match self {
            Self::Version => {
                // A closed pipe is not an error.
                let text = concat!("metier ", env!("CARGO_PKG_VERSION"), "\n");
                let _ = std::io::stdout().write_all(text.as_bytes());
                return Exit::Done;
            }
            Self::Clap { error, wants_json } => (error, wants_json),
        };
        if let Some(exit) = help::finish(&error, wants_json) {
            return exit;
        }
        let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if shown || !wants_json {
            let _ = error.print();
            return if shown { Exit::Done } else { Exit::Usage };
        }
        let text = error.render().to_string();
        // Everything before the usage and the tips, on one line.
        let first_part = text
            .split(
                "

",
            )
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let message = first_part.split_whitespace().collect::<Vec<_>>().join(" ");
        let error =
            CommandError::usage(message).help("run `metier --help` for the commands and options");
        output::finish(Err(error), true)
    }
}

/// Reads the command line; gives also whether JSON was asked for.
pub(crate) fn parse() -> Result<(Cli, bool), Early> {
    let typed: Vec<_> = std::env::args_os().collect();
    if matches!(&typed[..], [_, flag] if flag == "--version" || flag == "-V") {
        return Err(Early::Version);
    }
    let wants_json = typed.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    match parse_named(&typed).map_or_else(|| Cli::try_parse_from(&typed), Ok) {
        Ok(cli) => {
            let wants_json = cli.global.json || cli.command.prints_json();
            Ok((cli, wants_json))
        }
        Err(error) => Err(Early::Clap { error, wants_json }),
    }
}

/// The command line by a definition of the one command that it seems to name; `None` where it has to be
/// looked at as a whole: for help, for mistakes, for another name of a command. To define the arguments of all
/// commands takes as long as finding a hundred skills, and half of the memory of a small listing.
///
/// A word that only looks like a command (`metier -C list run`) makes the other one unknown, and so a mistake.
fn parse_named(typed: &[OsString]) -> Option<Cli> {
    let words = || typed.iter().skip(1).filter_map(|word| word.to_str());
    let named = |word: &str| {
        let is_its_name = |name: &str| {
            name.eq_ignore_ascii_case(word) && !word.bytes().any(|it| it.is_ascii_uppercase())
        };
        DEFINITIONS.iter().find(|(name, _)| is_its_name(name)).map(|(_, define)| define)
    };
    let (name, define) = words().find_map(|word| Some((word.to_owned(), named(word)?)))?;
    let whole = GlobalArgs::augment_args(clap::Command::new("metier"));
    let whole = whole.subcommand(define(clap::Command::new(name)));
    let mut matches = whole.try_get_matches_from(typed).ok()?;
    Cli::from_arg_matches_mut(&mut matches).ok()
}

impl Command {
    /// Whether this command line asks for JSON in another way than `--json`.
    fn prints_json(&self) -> bool {
        match self {
            Self::Check(args) => args.wants_json(),
            Self::Scan(args) => args.wants_json(),
            _ => false,
        }
    }
}

/// The whole command line, for help, manuals and completions.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Vec<OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn every_command_is_defined_alone_as_in_the_whole() {
        let whole = command();
        let arguments = |command: &clap::Command| -> Vec<String> {
            command.get_arguments().map(|it| format!("{it:?}")).collect()
        };
        let known = whole.get_subcommands().filter(|command| !command.is_hide_set());
        for (command, (name, define)) in known.zip(DEFINITIONS) {
            assert_eq!(command.get_name(), name.to_ascii_lowercase());
            let alone = define(clap::Command::new(command.get_name().to_owned()));
            assert_eq!(arguments(command), arguments(&alone), "{name}");
        }
        assert_eq!(whole.get_subcommands().count(), DEFINITIONS.len());
    }

    #[test]
    fn a_command_that_is_named_is_read_as_by_the_whole() {
        for line in [
            "metier list --json --root x",
            "metier --json -C list list",
            "metier -C list run",
            "metier run list the files --json",
            "metier config set model x",
            "metier exec pdf a.py -- list --json",
            "metier --color always check --fix list",
        ] {
            let named = parse_named(&typed(line)).map(|cli| format!("{cli:?}"));
            let whole = Cli::try_parse_from(typed(line)).ok().map(|cli| format!("{cli:?}"));
            assert!(named.is_none() || named == whole, "{line}: {named:?}");
        }
        assert!(parse_named(&typed("metier list --json --root x")).is_some());
        for line in [
            "metier ls",
            "metier List",
            "metier list --help",
            "metier help list",
            "metier -C list run",
        ] {
            assert!(parse_named(&typed(line)).is_none(), "{line}");
        }
    }
}
