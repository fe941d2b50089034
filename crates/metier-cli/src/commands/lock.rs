//! `metier lock`: the records of other installers, written and read.
//! Translating is `metier-pack`'s; importing is an installation like any other.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier::fs::read_bounded;
use metier::pack::{ExportedLock, NotExchanged};
use serde::Serialize;

use crate::commands::install::{HowArgs, InstallArgs, SeveralInstalled, install_all};
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::{count, safe};

const MAX_LOCK_BYTES: u64 = 16 << 20;

/// Exchange the lock with other installers.
///
/// --export writes skills-lock.json, from which `npx skills experimental_install` restores. --import installs what the
/// record of another installer names: skills-lock.json, .skill-lock.json, skills.lock (JSON), skills.lock.json of OCI
/// installers, apm.lock.yaml, toolhive.lock.yaml, origins.json of `SkillPort`, or the .openskills.json, .skillkit.json or
/// SKILL.md (as gh notes its source) in a skill's folder. Each source shows its plan. One that fails does not stop the others; exit code 1 says that something is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier lock --export skills-lock.json
  metier lock --import skills-lock.json --dry-run
  metier lock --import apm.lock.yaml --yes
  metier lock --import ~/.agents/.skill-lock.json --user --yes")]
pub(crate) struct LockArgs {
    /// Write the installed skills to FILE, as skills-lock.json. Other skills in it stay.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Install what FILE names.
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    import: Option<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Serialize)]
struct Exported {
    path: String,
    #[serde(flatten)]
    lock: ExportedLock,
}

#[derive(Serialize)]
struct Imported {
    #[serde(flatten)]
    installed: SeveralInstalled,
    left_out: Vec<NotExchanged>,
}

pub(crate) fn run(args: &LockArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    match (&args.import, &args.export) {
        (Some(file), _) => import(args, file, context, json),
        (None, Some(file)) => export(args, file, context),
        (None, None) => Err(CommandError::usage("give --export FILE or --import FILE")),
    }
}

fn export(args: &LockArgs, file: &Path, context: &Context) -> Result<Box<dyn Output>> {
    let target = context.metier.install_target(args.how.scope())?;
    let path = context.metier.working_dir().join(file);
    let lock = context.metier.export_skills_lock(&target, &path)?;
    Ok(Box::new(Exported { path: path.to_string_lossy().into_owned(), lock }))
}

fn import(args: &LockArgs, file: &Path, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let path = context.metier.working_dir().join(file);
    let unreadable = |error: String| {
        CommandError::failed("not-readable", format!("{} cannot be read: {error}", path.display()))
    };
    let bytes =
        read_bounded(&path, MAX_LOCK_BYTES).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not text".to_owned()))?;
    let lock = metier::pack::read_foreign_lock(&text, &path).map_err(metier::Error::from)?;
    // One plan for each source.
    let mut by_source: Vec<(String, Vec<String>)> = Vec::new();
    for skill in lock.skills.into_iter().filter(|skill| args.how.means(&skill.name)) {
        match by_source.iter_mut().find(|(source, _)| *source == skill.source) {
            Some((_, names)) => names.push(skill.name),
            None => by_source.push((skill.source, vec![skill.name])),
        }
    }
    let all: Vec<InstallArgs> = by_source
        .into_iter()
        .map(|(source, names)| InstallArgs::from_record(source, &args.how.of_skills(names)))
        .collect();
    let installed = install_all(&all, context, json)?;
    let left_out = lock.left_out.into_iter().filter(|it| args.how.means(&it.name));
    Ok(Box::new(Imported { installed, left_out: left_out.collect() }))
}

fn left_out_notes(left_out: &[NotExchanged]) {
    for it in left_out {
        let note = paint(YELLOW, "left out");
        print_note(&format!("{note}: {} ({})", safe(&it.name), safe(&it.reason)));
    }
}

impl Output for Exported {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let skills = paint(DIM, count(self.lock.skills.len(), "skill"));
        writeln!(out, "{} {}  {skills}", paint(GREEN, "wrote"), paint(BOLD, safe(&self.path)))?;
        out.flush()?;
        left_out_notes(&self.lock.left_out);
        Ok(())
    }
}

impl Output for Imported {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.installed.human(out)?;
        out.flush()?;
        left_out_notes(&self.left_out);
        Ok(())
    }

    fn exit(&self) -> Exit {
        match self.installed.exit() {
            // What was asked for and is not there is no success.
            Exit::Done if !self.left_out.is_empty() => Exit::Findings,
            exit => exit,
        }
    }
}
