//! The help of the whole program: the commands in groups, on one screen where nothing was typed; and what to do
//! where a command was typed that other tools have.
//!
//! Made only when it is shown: building it at every start would cost more than some commands do.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args;
use crate::error::{CommandError, Exit};
use crate::output;

/// Every command stands in one group; a test compares.
const GROUPS: &[(&str, &[&str])] = &[
    ("Skills", &["list", "search", "inspect", "read", "files", "catalog", "enable", "disable"]),
    ("Authoring", &["new", "check", "eval", "open", "delete", "restore"]),
    (
        "Shipping",
        &[
            "install",
            "update",
            "outdated",
            "diff",
            "uninstall",
            "verify",
            "import",
            "inventory",
            "lock",
            "requests",
            "pack",
            "sign",
            "keys",
        ],
    ),
    (
        "Running",
        &[
            "run", "chat", "exec", "runs", "show", "resume", "replay", "audit", "export", "models",
            "tools", "stats",
        ],
    ),
    ("Security", &["scan", "trust", "untrust", "permissions", "explain"]),
    ("Setup", &["doctor", "roots", "refresh", "config", "completions", "man"]),
];

const SCREEN_END: &str = "\
Start here:
  metier list                                       the skills an agent would see here
  metier run \"summarise examples/sales.csv\"         a request, to an answer
  metier doctor                                     what is wrong here, and how to fix it

`metier --help` says what each command does, `metier help COMMAND` everything about one.
";

/// Shows what this file owns, if `error` asks for it.
pub(crate) fn finish(error: &clap::Error, wants_json: bool) -> Option<Exit> {
    match error.kind() {
        ErrorKind::DisplayHelp if is_about_the_program(error) => {
            let _ = write!(anstream::stdout(), "{}", long().ansi());
            Some(Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if is_about_the_program(error) && !wants_json =>
        {
            let _ = io::stderr().write_all(screen().as_bytes());
            Some(Exit::Usage)
        }
        ErrorKind::InvalidSubcommand => {
            let typed = match error.get(ContextKind::InvalidSubcommand) {
                Some(ContextValue::String(typed)) => typed.as_str(),
                _ => return None,
            };
            let advice = if typed == "get" && is_about(error, "config") {
                "`metier config` shows every setting, its value and where it comes from"
            } else {
                advice(typed)?
            };
            let error = CommandError::usage(format!("unknown command `{typed}`")).help(advice);
            Some(output::finish(Err(error), wants_json))
        }
        ErrorKind::UnknownArgument if is_about(error, "run") || is_about(error, "chat") => {
            let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
                return None;
            };
            let error = (typed == "--approve").then(|| {
                CommandError::usage("`--approve` is not an option of a new run").help(
                    "`metier resume RUN --approve DIGEST` approves what a run waits for, `metier exec --approve \
                     DIGEST ...` a script",
                )
            })?;
            Some(output::finish(Err(error), wants_json))
        }
        _ => None,
    }
}

/// What does here what a command of other tools does there.
fn advice(typed: &str) -> Option<&'static str> {
    match typed {
        "get" | "cat" | "view" => {
            Some("`metier read NAME` prints a skill, `metier inspect NAME` its fields")
        }
        "info" => Some("`metier inspect NAME` says everything about a skill"),
        "skills" => Some("`metier list` lists the skills"),
        "version" => Some("`metier --version` prints it"),
        "history" => Some("`metier runs` lists the runs, `metier show RUN` one of them"),
        "find" => Some("`metier search WORDS` finds skills for a task"),
        "edit" => Some("`metier open NAME` opens a skill in your editor"),
        "test" | "evals" => {
            Some("`metier eval` runs the evals of skills, `metier check` reads a skill")
        }
        _ => None,
    }
}

/// Whether an error is about this command.
fn is_about(error: &clap::Error, command: &str) -> bool {
    let usage = format!("Usage: metier {command} ");
    error.render().to_string().contains(&usage)
}

fn is_about_the_program(error: &clap::Error) -> bool {
    error.render().to_string().contains("Usage: metier [OPTIONS] <COMMAND>")
}

/// Without a command: the groups with the names of their commands.
fn screen() -> String {
    let command = args::command();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}\n\nUsage: metier [OPTIONS] <COMMAND>\n\n");
    for (group, names) in GROUPS {
        let mut line = format!("{:<11}", format!("{group}:"));
        for (at, name) in names.iter().enumerate() {
            let end = if at + 1 == names.len() { "" } else { ", " };
            if line.len() + name.len() + end.len() > 79 {
                let _ = writeln!(text, "{}", line.trim_end());
                line = " ".repeat(11);
            }
            line.push_str(name);
            line.push_str(end);
        }
        let _ = writeln!(text, "{line}");
    }
    text.push('\n');
    text.push_str(SCREEN_END);
    text
}

/// The whole help, with a line for each command.
fn long() -> clap::builder::StyledStr {
    let mut command = args::command();
    let mut groups = String::new();
    let header = command.get_styles().get_header().to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(groups, "{header}{group}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(|it| it.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:<13}{about}");
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Global options:{header:#}\n{{options}}{{after-help}}"
    );
    command = command.help_template(template);
    command.render_help()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = args::command();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut names: Vec<&str> =
            shown.map(|it| it.get_name()).filter(|it| *it != "help").collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
    }

    #[test]
    fn the_screen_fits_a_small_terminal() {
        let screen = screen();
        assert!(screen.lines().count() <= 23, "{screen}");
        assert!(screen.lines().all(|line| line.len() <= 90), "{screen}");
    }
}
