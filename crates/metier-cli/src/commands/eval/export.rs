//! `metier eval export`: a run in the public shapes, for tools that read those.
//!
//! What is written is the library's; this file puts it on disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use metier_evals::{ExportOptions, ExportedFile, PublicShape, RunExport};
use serde::Serialize;

use super::saved::{SavedRun, saved_plan};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, write_json};
use crate::render::{count, safe};

/// Write a run as `grading.json` and `benchmark.json`, the shapes that other tools read.
///
/// The arm `none` is `without_skill`; `listed`, or the last arm where that was not run, is `with_skill`. A trial that is an
/// error has no grading and is in the notes of the benchmark.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval export --out benchmark
  metier eval export 3f2a --out benchmark --shape skill-creator")]
pub(crate) struct EvalExportArgs {
    /// The run: `last`, the beginning of a plan's id, or its folder.
    #[arg(default_value = "last")]
    run: String,
    /// The folder to write to; it must not be there yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Whose description is followed where the two published ones disagree.
    #[arg(long, value_name = "SHAPE", default_value = "agent-skills")]
    shape: Shape,
    #[command(flatten)]
    find: FindArgs,
}

/// Whose description is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// The documentation of Agent Skills: differences are numbers.
    AgentSkills,
    /// The skill `skill-creator`: differences are signed texts, each trial has a folder.
    SkillCreator,
}

#[derive(Serialize)]
struct Exported {
    out: PathBuf,
    files: usize,
}

pub(super) fn run(args: &EvalExportArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let SavedRun::Plan(plan, store) = saved_plan(&metier, &args.run, None)? else {
        return Err(CommandError::usage("a saved report has no trials to export")
            .help("name a run of .agent/evals/results"));
    };
    let out = metier.working_dir().join(&args.out);
    if metier::fs::exists(&out) {
        let message = format!("{} is there already", out.display());
        return Err(CommandError::usage(message).help("name a folder that is not there yet"));
    }
    let shape = match args.shape {
        Shape::AgentSkills => PublicShape::AgentSkills,
        Shape::SkillCreator => PublicShape::SkillCreator,
    };
    let mut export = RunExport::new(&plan, ExportOptions { shape, ..ExportOptions::default() });
    let mut written = 0;
    // The store's callback has errors of its own kind; the first of ours ends the writing.
    let mut failed = None;
    store.results(&plan, &mut |result| {
        for file in export.add(&result) {
            if failed.is_none() {
                failed = write(&out, &file).err();
                written += 1;
            }
        }
        Ok(())
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    for file in export.finish() {
        write(&out, &file)?;
        written += 1;
    }
    Ok(Box::new(Exported { out: args.out.clone(), files: written }))
}

fn write(out: &Path, file: &ExportedFile) -> Result<()> {
    let path = out.join(&file.path);
    metier::fs::write_atomic(&path, file.text.as_bytes()).map(drop).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        CommandError::failed("eval-export", message)
    })
}

impl Output for Exported {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let folder = self.out.to_string_lossy();
        writeln!(out, "wrote {} to {}", count(self.files, "file"), safe(&folder))
    }
}
