//! `metier man`: the manual pages.
//!
//! Made from the same definitions as the help, so it cannot fall behind.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::args;
use crate::error::{CommandError, Result};
use crate::output::{Output, write_json};

/// Print the manual page, or write all pages into a directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier man | man -l -
  metier man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page for each command into DIR.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

struct Page(Vec<u8>);

struct Written(Vec<String>);

pub(crate) fn run(args: &ManArgs, working_dir: Option<&Path>) -> Result<Box<dyn Output>> {
    let command = args::command();
    match &args.dir {
        None => Ok(Box::new(Page(page(command, "metier")?))),
        Some(dir) => write_all(&command, &working_dir.unwrap_or(Path::new("")).join(dir)),
    }
}

fn page(command: clap::Command, title: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command)
        .title(title.to_uppercase())
        .render(&mut bytes)
        .map_err(|error| CommandError::failed("internal", error.to_string()))?;
    Ok(bytes)
}

fn write_all(command: &clap::Command, dir: &Path) -> Result<Box<dyn Output>> {
    let visible =
        command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    let mut pages = vec![("metier".to_owned(), command.clone())];
    for sub in visible {
        let name = format!("metier-{}", sub.get_name());
        // clap keeps static names; the few leaked bytes live as long as the command line itself.
        let leaked: &'static str = name.clone().leak();
        pages.push((name, sub.clone().name(leaked)));
    }
    let mut written = Vec::new();
    for (name, command) in pages {
        let file = dir.join(format!("{name}.1"));
        metier::fs::write_atomic(&file, &page(command, &name)?).map_err(|error| {
            CommandError::failed("not-written", format!("cannot write {}: {error}", file.display()))
        })?;
        written.push(file.to_string_lossy().into_owned());
    }
    Ok(Box::new(Written(written)))
}

impl Output for Page {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({ "page": String::from_utf8_lossy(&self.0) }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }
}

impl Output for Written {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({ "files": self.0 }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for file in &self.0 {
            writeln!(out, "{file}")?;
        }
        Ok(())
    }
}
