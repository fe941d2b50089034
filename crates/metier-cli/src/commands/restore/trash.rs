//! `metier restore --run`: files that a run deleted, listed, and brought back to its workspace.
//!
//! Restoring is `metier`'s, which asks the record and the floor. A loop inside a run deletes into the
//! run's own trash, so there is one for each run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use metier::agent::RunFolder;
use metier::skill::{WorkPath, nearest};
use metier::tools::{Trash, TrashedFile};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{bytes, count, safe};

/// What is wanted of the files.
#[derive(Debug, Clone, Copy)]
pub(super) enum TrashSelection<'a> {
    /// A list of them, or of those that are called so.
    List(Option<&'a str>),
    /// One of them back.
    One(&'a str),
    /// All of them back.
    All,
}

/// The deleted files of one run.
struct Deleted {
    run: RunFolder,
    /// Where the run worked.
    workspace: PathBuf,
    files: Vec<TrashedFile>,
}

#[derive(Serialize)]
struct Listed {
    run_id: String,
    workspace: String,
    files: Vec<TrashedFile>,
}

#[derive(Serialize)]
struct RestoredFiles {
    run_id: String,
    workspace: String,
    restored: Vec<TrashedFile>,
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    #[serde(flatten)]
    file: TrashedFile,
    code: &'static str,
    message: String,
}

pub(super) fn run(
    run: &str,
    which: TrashSelection<'_>,
    context: &Context,
) -> Result<Box<dyn Output>> {
    let deleted = Deleted::of(context.metier.find_run(run)?, context)?;
    match which {
        TrashSelection::List(name) => Ok(Box::new(deleted.listed(name))),
        TrashSelection::One(name) => {
            let file = deleted.find(name)?.clone();
            context.metier.restore_file(&deleted.run, &file)?;
            Ok(Box::new(deleted.back(vec![file], Vec::new())))
        }
        TrashSelection::All => {
            let restore = |file: &TrashedFile| -> Result<()> {
                deleted.alone(file)?;
                Ok(context.metier.restore_file(&deleted.run, file)?)
            };
            let (mut restored, mut failed) = (Vec::new(), Vec::new());
            for file in deleted.files.iter().cloned() {
                match restore(&file) {
                    Ok(()) => restored.push(file),
                    Err(error) => {
                        failed.push(Failed { file, code: error.code, message: error.message });
                    }
                }
            }
            Ok(Box::new(deleted.back(restored, failed)))
        }
    }
}

impl Deleted {
    fn of(run: RunFolder, context: &Context) -> Result<Self> {
        let workspace = context.metier.workspace_of(&run);
        let files = Trash::new(run.trash()).list().map_err(metier::Error::from)?;
        Ok(Self { run, workspace, files })
    }

    fn named(&self, name: &str) -> Vec<&TrashedFile> {
        let by_reference: Vec<_> = self.files.iter().filter(|it| it.reference == name).collect();
        if !by_reference.is_empty() {
            return by_reference;
        }
        let Ok(path) = WorkPath::new(name) else { return Vec::new() };
        self.files.iter().filter(|file| file.path == path).collect()
    }

    fn find(&self, name: &str) -> Result<&TrashedFile> {
        match self.named(name).as_slice() {
            [one] => Ok(*one),
            [] => Err(self.unknown(name)),
            several => Err(ambiguous(several)),
        }
    }

    fn unknown(&self, name: &str) -> CommandError {
        let id = self.run.id();
        let message = format!("the run {id} has no deleted file `{}`", safe(name));
        let paths = self.files.iter().map(|file| file.path.as_str());
        let help = match nearest(name, paths) {
            Some(near) => format!("did you mean `{}`?", safe(near)),
            None if self.files.is_empty() => {
                "it deleted no files, or all of them were restored".to_owned()
            }
            None => format!(
                "`metier restore --run {id}` lists its deleted files; restored ones are no longer \
                 there"
            ),
        };
        CommandError::failed("no-deleted-file", message).help(help)
    }

    /// An error where several files were deleted from the place of `file`: only one fits there.
    fn alone(&self, file: &TrashedFile) -> Result<()> {
        let same: Vec<_> = self.files.iter().filter(|other| other.path == file.path).collect();
        if same.len() > 1 { Err(ambiguous(&same)) } else { Ok(()) }
    }

    fn listed(&self, name: Option<&str>) -> Listed {
        let files = match name {
            Some(name) => self.named(name).into_iter().cloned().collect(),
            None => self.files.clone(),
        };
        let workspace = self.workspace.to_string_lossy().into_owned();
        Listed { run_id: self.run.id().to_string(), workspace, files }
    }

    fn back(&self, restored: Vec<TrashedFile>, failed: Vec<Failed>) -> RestoredFiles {
        let workspace = self.workspace.to_string_lossy().into_owned();
        RestoredFiles { run_id: self.run.id().to_string(), workspace, restored, failed }
    }
}

fn ambiguous(files: &[&TrashedFile]) -> CommandError {
    let path = files.first().map_or("", |file| file.path.as_str());
    let references: Vec<&str> = files.iter().map(|file| &*file.reference).collect();
    let message = format!(
        "{} deleted files were at {}: {}",
        files.len(),
        safe(path),
        safe(&references.join(", "))
    );
    CommandError::failed("file-ambiguous", message).help("name one of them by its reference")
}

fn nothing(run: &str) -> String {
    format!("the run {} has nothing to restore", safe(run))
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.files.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[("REFERENCE", CYAN), ("SIZE", plain), ("PATH", BOLD)]);
            for file in &self.files {
                table.row(vec![
                    safe(&file.reference).into_owned(),
                    bytes(file.bytes),
                    safe(file.path.as_str()).into_owned(),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        let run = safe(&self.run_id);
        let what = match self.files.len() {
            0 => nothing(&self.run_id),
            number => format!(
                "{}; to restore one to {}: metier restore --run {run} REFERENCE",
                count(number, "deleted file"),
                safe(&self.workspace)
            ),
        };
        print_note(&paint(DIM, what));
        Ok(())
    }
}

impl Output for RestoredFiles {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for file in &self.restored {
            let place = Path::new(&self.workspace).join(file.path.as_str());
            let reference = paint(BOLD, safe(&file.reference));
            writeln!(out, "{} {reference}  {}", paint(GREEN, "restored"), path_text(&place))?;
        }
        out.flush()?;
        for Failed { file, message, .. } in &self.failed {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: {} was left: {message}", safe(&file.reference)));
        }
        if self.restored.is_empty() && self.failed.is_empty() {
            print_note(&paint(DIM, nothing(&self.run_id)));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.failed.is_empty() { Exit::Done } else { Exit::Findings }
    }
}
