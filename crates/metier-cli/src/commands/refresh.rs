//! `metier refresh`: what changed in the skills here since the last refresh.
//!
//! What the last refresh saw is remembered in the state folder, one small file a directory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier::registry::{Change, ChangeKind, ScanReport};
use metier::skill::Digest;
use serde::Serialize;

use crate::commands::list::change_line;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::count;
use crate::render::style::{DIM, paint};

/// Show what changed in the skills here since the last refresh.
///
/// No command depends on this: a changed skill is always seen. It only compares the skills of this
/// directory with those of your last refresh.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier refresh
  metier refresh --json")]
pub(crate) struct RefreshArgs {
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Refreshed {
    changes: Vec<Change>,
    first: bool,
    report: ScanReport,
    #[serde(skip)]
    skills: usize,
}

/// The last refresh of a directory: each skill's id, where it was, and its digest and time.
type Remembered = BTreeMap<String, (String, String)>;

pub(crate) fn run(args: &RefreshArgs, context: &Context) -> Result<Box<dyn Output>> {
    let scan = context.finding(&args.find).skills();
    let now: Remembered = scan
        .index
        .entries()
        .iter()
        .map(|entry| {
            let seen = format!("{} {} {}", entry.digest, entry.modified, entry.enabled);
            (entry.id().to_string(), (entry.path.to_string_lossy().into_owned(), seen))
        })
        .collect();
    let (before, first) = remember(context, &args.find, &now)?;
    let changes = if first { Vec::new() } else { difference(&before, &now) };
    let skills = scan.index.entries().len();
    Ok(Box::new(Refreshed { changes, first, report: scan.report.clone(), skills }))
}

/// The file that remembers the last refresh of this directory.
fn memory(context: &Context, find: &FindArgs) -> Option<PathBuf> {
    // Other roots are another question, with an answer of its own to compare with.
    let places = std::iter::once(context.metier.working_dir())
        .chain(find.roots.iter().map(PathBuf::as_path));
    let key = Digest::of_parts(places.map(|path| path.as_os_str().as_encoded_bytes())).to_string();
    Some(context.metier.user_folders()?.state.join(format!("refresh-{}.json", &key[7..23])))
}

fn remember(context: &Context, find: &FindArgs, now: &Remembered) -> Result<(Remembered, bool)> {
    let Some(file) = memory(context, find) else {
        return Ok((Remembered::new(), true));
    };
    let before: Option<Remembered> = metier::fs::read_bounded(&file, 1 << 30)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let bytes = serde_json::to_vec(now)
        .map_err(|error| CommandError::failed("internal", error.to_string()))?;
    metier::fs::write_private(&file, &bytes).map_err(|error| {
        let message = format!("cannot save the list of skills in {}: {error}", file.display());
        CommandError::failed("state-unwritable", message)
            .help("check the permissions of the folder, or set METIER_HOME to another")
    })?;
    let first = before.is_none();
    Ok((before.unwrap_or_default(), first))
}

fn difference(before: &Remembered, now: &Remembered) -> Vec<Change> {
    let change = |change, id: &String, path: &String| Change {
        change,
        id: id.clone(),
        name: id.split_once(':').map_or(id.as_str(), |(_, name)| name).to_owned(),
        path: path.clone(),
    };
    let mut changes = Vec::new();
    for (id, (path, seen)) in now {
        match before.get(id) {
            None => changes.push(change(ChangeKind::Added, id, path)),
            Some((old_path, old)) if old != seen || old_path != path => {
                changes.push(change(ChangeKind::Changed, id, path));
            }
            Some(_) => {}
        }
    }
    for (id, (path, _)) in before {
        if !now.contains_key(id) {
            changes.push(change(ChangeKind::Removed, id, path));
        }
    }
    changes
}

impl Output for Refreshed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for change in &self.changes {
            writeln!(out, "{}", change_line(change))?;
        }
        out.flush()?;
        let what = match (self.first, self.changes.len()) {
            (true, _) => "first refresh here".to_owned(),
            (false, 0) => "nothing changed since the last refresh".to_owned(),
            (false, number) => count(number, "change"),
        };
        let text = format!(
            "{} read in {} ms; {what}",
            count(self.skills, "skill"),
            self.report.elapsed_ms
        );
        print_note(&paint(DIM, text));
        Ok(())
    }
}
