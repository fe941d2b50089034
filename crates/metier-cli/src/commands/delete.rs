//! `metier delete`: one of the user's skills goes, and a backup stays.
//!
//! What may be deleted is decided by `metier`; this file asks, and says how to restore it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use metier::DeletePlan;
use metier::registry::manage::Backup;
use serde::Serialize;

use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{bytes, count, safe};

/// How many files of a skill are named before it is deleted.
const MAX_NAMED_FILES: usize = 10;

/// Delete one of your own skills; a backup is kept, and `metier restore` restores it.
///
/// Only skills in your user folders can be deleted. If the folder is a link, only the link is
/// deleted; a skill that a link leads to outside your folder is left alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier delete pdf
  metier delete user:pdf      your own skill, although the project has one of that name
  metier delete --yes pdf     without being asked")]
pub(crate) struct DeleteArgs {
    /// The skill: its name, or `user:name`.
    name: String,
    /// Do not ask.
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Deleted {
    backup: Backup,
    /// Where the folder really stood, when a link above it led elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    real_path: Option<String>,
    /// Where the folder is kept.
    kept: String,
    /// Other places where the same skill still stands, or where links to it are left.
    remaining: Vec<String>,
    /// What could not be removed of the original.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
}

pub(crate) fn run(args: &DeleteArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let DeletePlan { deletion, remaining, .. } =
        metier.plan_delete(&args.name).map_err(|error| with_our_words(error, context))?;
    let real_path = deletion.real_path().map(|real| real.to_string_lossy().into_owned());
    if !args.yes {
        approve(deletion.preview(), real_path.as_deref(), json)?;
    }
    let backups = metier.backups()?;
    let kept = backups.keep(deletion, SystemTime::now());
    let (backup, left) = kept.map_err(metier::Error::from)?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Ok(Box::new(Deleted {
        kept: text(backups.folder_of(&backup)),
        remaining: remaining.into_iter().map(text).collect(),
        left: left.map(text),
        real_path,
        backup,
    }))
}

/// The command that an error names, with the directory of this one.
fn with_our_words(error: metier::Error, context: &Context) -> CommandError {
    let mut error = CommandError::from(error);
    let command = error.help.as_deref().and_then(|help| help.strip_prefix("metier "));
    if let Some(command) = command {
        error.help = Some(format!("{} {command}", context.command_words().join(" ")));
    }
    error
}

/// The path, and what it really is where a link leads elsewhere.
fn place(path: &str, real: Option<&str>) -> String {
    let which = real.map_or_else(String::new, |real| format!(", which is {}", safe(real)));
    format!("{}{which}", safe(path))
}

fn approve(preview: &Backup, real: Option<&str>, json: bool) -> Result<()> {
    let id = safe(&preview.skill.to_string()).into_owned();
    let what = match &preview.link {
        Some(target) => format!("a link to {}; only the link is deleted", safe(target)),
        None => format!("{}, {}", count(preview.files.len(), "file"), bytes(preview.bytes)),
    };
    let path = place(&preview.path, real);
    if !prompt::can_ask(json) {
        let message = format!("deleting {id} needs your confirmation: {path} ({what})");
        return Err(CommandError::needs_approval(message)
            .help(format!("to delete it: metier delete --yes {id} (a backup is kept)")));
    }
    print_note(&format!("{}  {path} ({what})", paint(BOLD, &id)));
    for file in preview.files.iter().take(MAX_NAMED_FILES) {
        print_note(&format!("  {}  {}", safe(&file.path), paint(DIM, bytes(file.bytes))));
    }
    if preview.files.len() > MAX_NAMED_FILES {
        print_note(&format!("  and {} more", preview.files.len() - MAX_NAMED_FILES));
    }
    if prompt::confirm("Delete it? A backup is kept.") {
        return Ok(());
    }
    Err(CommandError { code: "Rejected", ..CommandError::needs_approval("nothing deleted") })
}

impl Output for Deleted {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let backup = &self.backup;
        let id = safe(&backup.skill.to_string()).into_owned();
        let what = if backup.link.is_some() { "deleted the link of" } else { "deleted" };
        let path = place(&backup.path, self.real_path.as_deref());
        writeln!(out, "{what} {}  {}", paint(BOLD, id), paint(DIM, path))?;
        out.flush()?;
        let warning = paint(YELLOW, "warning");
        for other in &self.remaining {
            print_note(&format!("{warning}: the same skill is still at {}", safe(other)));
        }
        if let Some(left) = &self.left {
            print_note(&format!("{warning}: {} could not be removed", safe(left)));
        }
        print_note(&paint(DIM, format!("to restore it: metier restore {}", backup.id)));
        Ok(())
    }
}
