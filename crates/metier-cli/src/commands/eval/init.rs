//! `metier eval init`: a first file of cases for a skill.
//! The text is `metier-evals`; this file writes it where none is.

use std::io::{self, Write};

use clap::Args;
use metier::fs::{Durability, FolderAccess, HeldDir};
use metier_evals::first_case_file;
use serde::Serialize;

use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::safe;

/// Write a first file of cases for a skill, from its description and its neighbours', to edit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval init pdf
  metier eval init pdf --stdout")]
pub(crate) struct EvalInitArgs {
    /// The skill.
    #[arg(value_name = "SKILL")]
    skill: String,
    /// Print it instead of writing `.agent/evals/SKILL.yaml`.
    #[arg(long)]
    stdout: bool,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct FirstFile {
    skill: String,
    /// Where it was written.
    path: Option<String>,
    text: String,
}

pub(super) fn run(args: &EvalInitArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let entry = metier.skill(&args.skill)?;
    let text = first_case_file(&entry, &metier.skills());
    let skill = entry.name().to_string();
    if args.stdout {
        return Ok(Box::new(FirstFile { skill, path: None, text }));
    }
    let name = format!("{}.yaml", skill.replace(['/', ':'], "-"));
    // Not through a link: a clone may bring its folders as links to anywhere.
    let folder = [".agent", "evals"]
        .into_iter()
        .fold(HeldDir::at(&metier.workspace()), |dir, name| dir.below(name, FolderAccess::ByUmask));
    let path = folder.path().join(&name);
    if folder.kind(&name).is_some() {
        return Err(CommandError::failed(
            "already-exists",
            format!("{} is there already", path.display()),
        )
        .help("edit it, or print a new one with --stdout"));
    }
    folder.write(&name, text.as_bytes(), Durability::Synced).map_err(|error| {
        CommandError::failed(
            "not-written",
            format!("{} cannot be written: {error}", path.display()),
        )
    })?;
    let path = Some(path.to_string_lossy().into_owned());
    Ok(Box::new(FirstFile { skill, path, text }))
}

impl Output for FirstFile {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(path) = &self.path else { return out.write_all(self.text.as_bytes()) };
        writeln!(out, "{}", safe(path))?;
        out.flush()?;
        print_note("edit its requests, then: metier eval check; metier eval");
        Ok(())
    }
}
