//! `metier trust`: a project's skills are trusted as they are now.
//!
//! What trust changes is `metier-policy`'s; this file finds the skills, hashes them and
//! keeps the record in the user's state, outside the project.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier::policy::UnixTime;
use metier::skill::Digest;
use metier::{TrustBefore, Trusted, Untrusted};
use serde::Serialize;

use crate::args::GlobalArgs;
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe, time_text};

/// Trust the skills of a project, as they are now.
///
/// Without trust, loading a skill that came with a project asks, and its scripts do not run. A skill
/// that changes or is added later has to be trusted again. Without DIR, the whole project is trusted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier trust              the project that this directory belongs to
  metier trust ~/src/shop
  metier trust --list")]
pub(crate) struct TrustArgs {
    /// The folder whose skills are trusted.
    dir: Option<PathBuf>,
    /// List the folders that are trusted.
    #[arg(long, conflicts_with = "dir")]
    list: bool,
}

#[derive(Serialize)]
struct Folders {
    folders: Vec<Folder>,
}

#[derive(Serialize)]
struct Folder {
    folder: String,
    digest: Digest,
    skills: BTreeMap<String, Digest>,
    granted_at: UnixTime,
}

pub(crate) fn run(args: &TrustArgs, global: &GlobalArgs) -> Result<Box<dyn Output>> {
    let context = Context::new(&inside(global, args.dir.as_deref()))?;
    if args.list {
        return list(&context);
    }
    let here = args.dir.as_ref().map(|_| Path::new(""));
    Ok(Box::new(context.metier.trust(here)?))
}

/// The global options for a command that works in `dir`.
fn inside(global: &GlobalArgs, dir: Option<&Path>) -> GlobalArgs {
    let base = global.directory.clone();
    let directory = match dir {
        Some(dir) => Some(base.map_or_else(|| dir.to_owned(), |base| base.join(dir))),
        None => base,
    };
    GlobalArgs { directory, json: global.json, color: global.color }
}

fn list(context: &Context) -> Result<Box<dyn Output>> {
    let trusted = context.metier.trusted_folders()?;
    let folders = trusted.iter().map(|known| Folder {
        folder: known.folder.as_str().to_owned(),
        digest: known.digest(),
        skills: known.skills.clone(),
        granted_at: known.granted_at,
    });
    Ok(Box::new(Folders { folders: folders.collect() }))
}

impl Output for Trusted {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let folder = paint(BOLD, path_text(self.folder.as_ref()));
        let number = count(self.skills.len(), "skill");
        writeln!(out, "{} {folder}: {number}", paint(GREEN, "trusted"))?;
        for skill in &self.skills {
            let was = match skill.was {
                TrustBefore::Untrusted => "new",
                TrustBefore::Changed => "changed",
                TrustBefore::Trusted => "as before",
            };
            writeln!(out, "  {}  {}", safe(&skill.id), paint(DIM, format!("({was})")))?;
        }
        out.flush()?;
        for Untrusted { path, reason, .. } in &self.left_out {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: {} is not trusted: {}", safe(path), safe(reason)));
        }
        print_note(&paint(DIM, "to undo this: metier untrust"));
        Ok(())
    }
}

impl Output for Folders {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.folders.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[("SKILLS", plain), ("SINCE", DIM), ("FOLDER", BOLD)]);
            for folder in &self.folders {
                table.row(vec![
                    folder.skills.len().to_string(),
                    time_text(folder.granted_at),
                    path_text(folder.folder.as_ref()),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        let what = match self.folders.len() {
            0 => "no folder is trusted".to_owned(),
            number => count(number, "trusted folder"),
        };
        print_note(&paint(DIM, what));
        Ok(())
    }
}
