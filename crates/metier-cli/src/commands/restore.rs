//! `metier restore`: deleted skills, listed, and brought back to where they stood.
//!
//! What a backup is, and how it is moved, is `metier-registry`'s. This file lists; `skill` shows the plan for one backup
//! and asks; the files that a run deleted are in `trash`.

mod skill;
mod trash;

use std::io::{self, Write};

use clap::Args;
use metier::registry::manage::Backup;
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe};
use skill::RestoreRequest;
use trash::TrashSelection;

/// Restore a deleted skill or files that a run deleted, or list what can be restored.
///
/// NAME means the newest backup of that skill here, in this project or in your own folders; NAME@2 is the one before
/// it. The id that `--list` shows works for every backup, and restores it where it was. The plan is shown first. An
/// installed skill comes back with its records; the version that stands there goes to a backup. One that you changed, or
/// that Metier did not install, is replaced only with --force.
///
/// Inside a project, a backup of your own folder is restored without a question only if you name it as `user:NAME` or by
/// its id.
///
/// With `--run`, NAME is a file that the run deleted with the tool `delete_file`: its reference, or its path in the
/// run's workspace, where it is restored. Existing files are never replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier restore --list
  metier restore pdf
  metier restore pdf --dry-run               show what would be restored, and change nothing
  metier restore pdf@2 --yes
  metier restore user:pdf                    your own skill
  metier restore pdf --force                 although the one that is there was changed
  metier restore --run last                  the files that the last run deleted
  metier restore --run last trash-000001     one of them
  metier restore --run last docs/notes.txt   the same, by its path
  metier restore --run last --all")]
pub(crate) struct RestoreArgs {
    /// The skill or the backup; with --run, the file. Without NAME, everything is listed.
    name: Option<String>,
    /// Files that this run deleted: its id, the beginning or end of it, or `last`.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Restore every file that the run deleted.
    #[arg(long, requires = "run", conflicts_with_all = ["name", "list"])]
    all: bool,
    /// List the backups, newest first; with --run the files, oldest first.
    #[arg(long)]
    list: bool,
    /// Replace what stands there, although it was changed or not installed by Metier. A backup is kept.
    #[arg(long, requires = "name", conflicts_with_all = ["run", "list"])]
    force: bool,
    /// Restore it although someone else signed it than the one that skills.lock.json pins.
    #[arg(long, requires = "name", conflicts_with_all = ["run", "list"])]
    accept_signer: bool,
    /// Show the plan, and change nothing.
    #[arg(long, requires = "name", conflicts_with_all = ["run", "list"])]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short = 'y', requires = "name", conflicts_with_all = ["run", "list"])]
    yes: bool,
}

#[derive(Serialize)]
struct Listed {
    backups: Vec<Numbered>,
    damaged: Vec<String>,
}

#[derive(Serialize)]
struct Numbered {
    /// Which one it is of those of its name here, 1 the newest; absent for a skill of another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    #[serde(flatten)]
    backup: Backup,
}

pub(crate) fn run(args: &RestoreArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    if let Some(run) = &args.run {
        let which = match &args.name {
            _ if args.all => TrashSelection::All,
            Some(name) if !args.list => TrashSelection::One(name),
            name => TrashSelection::List(name.as_deref()),
        };
        return trash::run(run, which, context);
    }
    let backups = context.metier.backups()?;
    match &args.name {
        Some(name) if !args.list => {
            let is_here = |backup: &Backup| context.metier.is_backup_of_here(backup);
            let backup = backups.find(name, is_here).map_err(metier::Error::from)?;
            let asked = RestoreRequest {
                name,
                force: args.force,
                dry_run: args.dry_run,
                yes: args.yes,
                accept_signer: args.accept_signer,
                json,
            };
            Ok(Box::new(skill::run(&backups, &backup, &asked, context)?))
        }
        name => {
            let listing = backups.list().map_err(metier::Error::from)?;
            let mut listed = numbered(listing.backups, context);
            if let Some(name) = name {
                let bare = |it: &Numbered| {
                    it.backup.skill.name.as_str() == name || it.backup.skill.to_string() == *name
                };
                listed.retain(bare);
            }
            let damaged = listing.damaged.iter();
            let damaged = damaged.map(|path| path.to_string_lossy().into_owned()).collect();
            Ok(Box::new(Listed { backups: listed, damaged }))
        }
    }
}

/// The backups with the numbers that `NAME@N` means.
fn numbered(backups: Vec<Backup>, context: &Context) -> Vec<Numbered> {
    let mut out: Vec<Numbered> = Vec::new();
    for backup in backups {
        let name = &backup.skill.name;
        let same = out.iter().filter(|other| other.backup.skill.name == *name);
        let newer = same.filter(|other| other.number.is_some()).count();
        let number = context.metier.is_backup_of_here(&backup).then_some(newer + 1);
        out.push(Numbered { number, backup });
    }
    out
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.backups.is_empty() {
            let plain = anstyle::Style::new();
            let mut table =
                Table::new(&[("NAME", BOLD), ("DELETED", plain), ("ID", CYAN), ("PATH", DIM)]);
            for Numbered { number, backup } in &self.backups {
                let name = safe(backup.skill.name.as_str());
                table.row(vec![
                    match number {
                        Some(1) => name.into_owned(),
                        Some(number) => format!("{name}@{number}"),
                        None => format!("{name} (elsewhere)"),
                    },
                    backup.time.chars().take(19).collect::<String>().replace('T', " "),
                    safe(&backup.id).into_owned(),
                    path_text(backup.path.as_ref()),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        for path in &self.damaged {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: the backup {} cannot be read", safe(path)));
        }
        let what = match self.backups.len() {
            0 => "there is nothing to restore".to_owned(),
            number => {
                let is_here = self.backups.iter().any(|it| it.number.is_some());
                let how = if is_here { "NAME" } else { "ID" };
                format!("{}; to restore one: metier restore {how}", count(number, "backup"))
            }
        };
        print_note(&paint(DIM, what));
        Ok(())
    }
}
