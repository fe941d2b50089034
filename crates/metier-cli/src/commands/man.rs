//! `metier man`: the manual pages.
//!
//! Made from the same definitions as the help, so it cannot fall behind.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

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
    let mut command = args::command().disable_help_subcommand(true);
    // Names, usage lines and global options of the commands are those that a person types.
    command.build();
    match &args.dir {
        None => Ok(Box::new(Page(page(&command)?))),
        Some(dir) => write_all(&command, &working_dir.unwrap_or(Path::new("")).join(dir)),
    }
}

/// One page, with the sections that readers of manuals look for.
fn page(command: &Command) -> Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .title(page_name(command).to_uppercase())
        .source(concat!("metier ", env!("CARGO_PKG_VERSION")))
        .manual("Metier");
    let mut bytes = Vec::new();
    let mut write = || -> io::Result<()> {
        man.render_title(&mut bytes)?;
        man.render_name_section(&mut bytes)?;
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        section("SYNOPSIS", usage, &mut bytes)?;
        man.render_description_section(&mut bytes)?;
        man.render_options_section(&mut bytes)?;
        if shown(command).next().is_some() {
            man.render_subcommands_section(&mut bytes)?;
        }
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for part in after.split("\n\n") {
            let (title, text) = match part.split_once(':') {
                Some(("Examples", text)) => ("EXAMPLES", text),
                Some(("Exit codes", text)) => ("EXIT STATUS", text.trim()),
                _ => ("NOTES", part),
            };
            section(title, text, &mut bytes)?;
        }
        match page_name(command).rsplit_once('-') {
            Some((above, _)) => section("SEE ALSO", &format!("{above}(1)"), &mut bytes),
            None => Ok(()),
        }
    };
    write().map_err(|error| CommandError::failed("internal", error.to_string()))?;
    Ok(bytes)
}

/// A section whose lines stay as they are: a command that is copied from it works.
fn section(title: &str, text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        ".SH {}\n.nf",
        if title.contains(' ') { format!("\"{title}\"") } else { title.to_owned() }
    )?;
    let indent = text.lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    for line in text.lines() {
        let line =
            line.get(indent..).unwrap_or_default().replace('\\', "\\(rs").replace('-', "\\-");
        // A point or an apostrophe at the beginning would be a request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(out, "{guard}{line}")?;
    }
    writeln!(out, ".fi")
}

fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// The commands inside a command that are for people.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// The pages of a command and of those inside it, by name.
fn pages(command: &Command, found: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    found.push((page_name(command), page(command)?));
    shown(command).try_for_each(|sub| pages(sub, found))
}

fn write_all(command: &Command, dir: &Path) -> Result<Box<dyn Output>> {
    let mut found = Vec::new();
    pages(command, &mut found)?;
    let mut written = Vec::new();
    for (name, page) in found {
        let file = dir.join(format!("{name}.1"));
        metier::fs::write_atomic(&file, &page).map_err(|error| {
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
