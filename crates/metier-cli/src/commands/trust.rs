//! `metier trust`: a project's skills are trusted as they are now.
//!
//! What trust changes is `metier-policy`'s; this file looks which skills there are, hashes them and
//! keeps the record in the user's state, outside the project.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier_policy::{TrustedFolder, UnixTime};
use metier_skill::{Digest, Source};
use metier_tools::ground::{absolute, content_digest, path_below, real_path};
use serde::Serialize;

use crate::args::GlobalArgs;
use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::guard::{not_kept, now, time_text, unusable};
use crate::output::{Output, remark, write_json};
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe};

/// Trust the skills of a project, as they are now.
///
/// Without trust, loading a skill that came with a project asks, and its scripts do not run. A skill
/// that changes or is added later has to be trusted again. Without DIR the whole project is meant.
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
struct Trusted {
    folder: String,
    /// One digest over all of them.
    digest: Digest,
    skills: Vec<TrustedSkill>,
    /// Skills that are there and cannot be trusted, with the reason.
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct TrustedSkill {
    id: String,
    path: String,
    digest: Digest,
    was: Was,
}

#[derive(Serialize)]
struct LeftOut {
    path: String,
    reason: String,
}

/// What a skill was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Was {
    Untrusted,
    Changed,
    Trusted,
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
    let folder = match &args.dir {
        Some(_) => real_path(&context.working_dir),
        None => real_path(&context.project_top()?),
    };
    let key = absolute(&folder).map_err(|error| unusable(&error))?;
    let kept = context.kept()?;
    let known = kept.trusted().map_err(|error| not_kept(&error))?;
    let before = known.get(&key).map(|known| known.skills.clone()).unwrap_or_default();
    let scan = context.scan(&FindArgs::default());
    let (mut skills, mut left_out) = (Vec::new(), Vec::new());
    let entries = scan.index.entries().iter().chain(scan.index.shadowed());
    for entry in entries.filter(|entry| entry.source == Source::Project) {
        let Some(path) = path_below(&folder, &entry.path) else { continue };
        match content_digest(entry) {
            Ok(digest) => {
                let was = match before.get(&path) {
                    None => Was::Untrusted,
                    Some(known) if *known == digest => Was::Trusted,
                    Some(_) => Was::Changed,
                };
                skills.push(TrustedSkill { id: entry.id().to_string(), path, digest, was });
            }
            Err(error) => left_out.push(LeftOut { path, reason: error.to_string() }),
        }
    }
    if skills.is_empty() && left_out.is_empty() {
        let message = format!("there are no skills of a project below {}", path_text(&folder));
        return Err(CommandError::failed("nothing-to-trust", message)
            .help("`metier list` shows where skills come from; only a project's need trust"));
    }
    let record = TrustedFolder {
        folder: key,
        skills: skills.iter().map(|skill| (skill.path.clone(), skill.digest)).collect(),
        granted_at: now(),
    };
    let digest = record.digest();
    kept.change_trusted(|all| all.trust(record)).map_err(|error| not_kept(&error))?;
    let folder = folder.to_string_lossy().into_owned();
    Ok(Box::new(Trusted { folder, digest, skills, left_out }))
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
    let trusted = context.kept()?.trusted().map_err(|error| not_kept(&error))?;
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
                Was::Untrusted => "new",
                Was::Changed => "changed",
                Was::Trusted => "as before",
            };
            writeln!(out, "  {}  {}", safe(&skill.id), paint(DIM, format!("({was})")))?;
        }
        out.flush()?;
        for LeftOut { path, reason } in &self.left_out {
            let warning = paint(YELLOW, "warning");
            remark(&format!("{warning}: {} is not trusted: {}", safe(path), safe(reason)));
        }
        remark(&paint(DIM, "`metier untrust` takes it back"));
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
        remark(&paint(DIM, what));
        Ok(())
    }
}
