//! `metier completions`: what a shell needs to complete the words of a command line.
//!
//! The script only asks the program, which knows its commands, skills and runs (`complete.rs`).

use std::io::{self, Write};

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::complete::VARIABLE;
use crate::error::{CommandError, Result};
use crate::output::{Output, write_json};

/// Print a completion script for a shell.
///
/// At the press of Tab the shell then asks metier, which offers commands, options, skills with their files and
/// scripts, runs, agents and diagnostic codes. Load the script at the start of the shell, rather than keeping
/// a copy: it belongs to this version.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier completions bash       in ~/.bashrc: source <(metier completions bash)
  metier completions zsh        in ~/.zshrc: source <(metier completions zsh)
  metier completions fish       in ~/.config/fish/config.fish: metier completions fish | source")]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    shell: Shell,
}

struct Script(Vec<u8>);

pub(crate) fn run(args: &CompletionsArgs) -> Result<Box<dyn Output>> {
    let mut script = Vec::new();
    let name = args.shell.to_string();
    let shell = Shells::builtins();
    let written = shell
        .completer(&name)
        .map(|shell| shell.write_registration(VARIABLE, "metier", "metier", "metier", &mut script));
    match written {
        Some(Ok(())) => Ok(Box::new(Script(script))),
        _ => Err(CommandError::usage(format!("there are no completions for {name}"))),
    }
}

impl Output for Script {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({ "script": String::from_utf8_lossy(&self.0) }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }
}
