//! `metier completions`: a completion script for a shell.
//!
//! Made from the same definitions as the help, so it cannot fall behind.

use std::io::{self, Write};

use clap::Args;
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
    clap_complete::generate(args.shell, &mut args::command(), "metier", &mut script);
    Box::new(Script(script))
}

impl Output for Script {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({ "script": String::from_utf8_lossy(&self.0) }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }
}
