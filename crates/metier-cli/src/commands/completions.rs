//! `metier completions`: a completion script for a shell.
//!
//! Made from the same definitions as the help, so it cannot fall behind.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::args;
use crate::output::{Output, write_json};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier completions bash > ~/.local/share/bash-completion/completions/metier
  metier completions zsh > ~/.zfunc/_metier
  metier completions fish > ~/.config/fish/completions/metier.fish")]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    shell: Shell,
}

struct Script(Vec<u8>);

pub(crate) fn run(args: &CompletionsArgs) -> Box<dyn Output> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(&args::command()), "metier", &mut script);
    Box::new(Script(script))
}

/// The program without the commands that are not for people: a shell would offer them too.
fn visible(whole: &Command) -> Command {
    let mut shown = Command::new("metier").args(whole.get_arguments().cloned());
    if let Some(version) = whole.get_version() {
        shown = shown.version(version.to_owned());
    }
    for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
        shown = shown.subcommand(command.clone());
    }
    shown
}

impl Output for Script {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({ "script": String::from_utf8_lossy(&self.0) }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }
}
