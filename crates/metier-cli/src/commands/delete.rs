//! `metier delete`: one of the user's skills goes, and a backup stays.
//!
//! Moving is `metier-registry`'s; this file decides what may be deleted, asks, and says how to
//! restore it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use metier::find;
use metier::registry::manage::{Backup, Deletion};
use metier::registry::{Entry, Scan};
use metier::skill::{SkillId, Source};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{bytes, count, safe, shell};
use crate::scope::ScopeArgs;

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
    let scan = metier.skills();
    let entry = find(&args.name, &scan)?;
    let path = users_path(&args.name, entry, &scan)?;
    if let Some(place) = metier.installed_at(path)? {
        let name = safe(entry.name().as_str()).into_owned();
        let message =
            format!("`{name}` was installed: to delete only its folder leaves its records behind");
        let mut words = context.command_words();
        words.push("uninstall".to_owned());
        words.extend(ScopeArgs::of(place.scope).words());
        words.extend(place.agent.map(|agent| format!("--agent {agent}")));
        words.push(shell::quoted(entry.name().as_str()));
        return Err(CommandError::failed("installed", message).help(words.join(" ")));
    }
    let id = SkillId { source: Source::User, name: entry.name().clone() };
    let root = metier.user_root_of(path);
    let deletion = Deletion::of(id, path, &root).map_err(metier::Error::from)?;
    let real_path = deletion.real_path().map(|real| real.to_string_lossy().into_owned());
    if !args.yes {
        approve(deletion.preview(), real_path.as_deref(), json)?;
    }
    let backups = metier.backups()?;
    let kept = backups.keep(deletion, SystemTime::now());
    let (backup, left) = kept.map_err(metier::Error::from)?;
    let places = std::iter::once(&entry.path).chain(entry.copies.iter().map(|copy| &copy.path));
    let others = places.filter(|other| other.as_path() != path);
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Ok(Box::new(Deleted {
        kept: text(backups.folder_of(&backup)),
        remaining: others.map(|other| text(other.clone())).collect(),
        left: left.map(text),
        real_path,
        backup,
    }))
}

/// The directory of the user's own skill that `name` means.
fn users_path<'s>(name: &str, entry: &'s Entry, scan: &'s Scan) -> Result<&'s Path> {
    if entry.source == Source::User {
        return Ok(&entry.path);
    }
    // A byte-identical copy that another source's skill stands for, asked for as the user's.
    let asked = name.split('#').next().unwrap_or(name).parse::<SkillId>();
    let mut copies = entry.copies.iter().filter(|copy| copy.source == Source::User);
    if asked.is_ok_and(|id| id.source == Source::User)
        && let Some(copy) = copies.next()
    {
        return Ok(&copy.path);
    }
    let shown = safe(entry.name().as_str()).into_owned();
    let message = format!(
        "`{shown}` is {} skill, {}: only skills in your own folders can be deleted",
        match entry.source {
            Source::Project => "the project's",
            Source::Plugin => "a plugin's",
            Source::Builtin => "a built-in",
            Source::Explicit | Source::User => "an explicit root's",
        },
        path_text(&entry.path)
    );
    let help = match entry.source {
        _ if scan.index.find(&format!("user:{}", entry.name())).is_some() => {
            format!("to delete your own skill of that name: metier delete user:{shown}")
        }
        Source::Plugin => format!(
            "remove the plugin with the agent that installed it, or `metier disable {shown}`"
        ),
        Source::Builtin => format!("`metier disable {shown}` switches it off"),
        _ => format!("remove its folder there, or switch it off: `metier disable {shown}`"),
    };
    Err(CommandError::failed("not-a-user-skill", message).help(help))
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
