//! `metier verify`: what is on the disk against `skills.lock.json`, with the digests.
//! Comparing is `metier-pack`'s; a difference is a finding, and gives the exit code 1.

use std::io::{self, Write};

use clap::Args;
use metier::pack::{FileState, VerifiedSkill, VerifyScan, VerifyState};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::findings::finding_line;
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{count, safe};
use crate::scope::ScopeArgs;

/// How many differences of a skill are shown.
const MAX_SHOWN: usize = 20;

/// Compare installed skills with skills.lock.json, file by file, and print their digests.
///
/// Exits with 1 if a skill differs from what was installed, or is missing. Files that differ are scanned, and what is
/// found in them is shown. Skills that Metier did not install are
/// listed with their digest. Nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier verify
  metier verify pdf --files     the digest of each file too
  metier verify --user --json")]
pub(crate) struct VerifyArgs {
    /// The skills, by name; all of them without one.
    names: Vec<String>,
    /// Print the digest of each file.
    #[arg(long)]
    files: bool,
    /// Scan every file, not only those that differ.
    #[arg(long)]
    findings: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Verified {
    target: String,
    skills: Vec<VerifiedSkill>,
    #[serde(skip)]
    files: bool,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context) -> Result<Box<dyn Output>> {
    let target = context.metier.install_target(args.scope.chosen())?;
    let scan = if args.findings { VerifyScan::All } else { VerifyScan::Differing };
    let skills = context.metier.verify_installed(&target, &args.names, scan)?;
    let target = target.root().to_string_lossy().into_owned();
    Ok(Box::new(Verified { target, skills, files: args.files }))
}

const fn is_fine(state: VerifyState) -> bool {
    matches!(state, VerifyState::Unchanged | VerifyState::Unmanaged)
}

const fn file_word(state: FileState) -> &'static str {
    match state {
        FileState::Changed => "changed",
        FileState::Missing => "missing",
        FileState::Extra => "extra",
        FileState::Mode => "execute bit",
        _ => "not a file",
    }
}

impl Output for Verified {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for skill in &self.skills {
            let (word, style) = match skill.state {
                VerifyState::Unchanged => ("unchanged", GREEN),
                VerifyState::Modified => ("modified", RED),
                VerifyState::Missing => ("missing", RED),
                VerifyState::Unmanaged => ("unmanaged", YELLOW),
                VerifyState::BadLock => ("lock is wrong", RED),
                _ => ("unreadable", RED),
            };
            let digest = skill.tree.map_or_else(|| "-".repeat(71), |tree| tree.to_string());
            let name = paint(BOLD, safe(&skill.name));
            writeln!(out, "{}  {name}  {}", paint(DIM, digest), paint(style, word))?;
            for difference in skill.differences.iter().take(MAX_SHOWN) {
                let what = file_word(difference.state);
                writeln!(out, "  {}: {}", paint(YELLOW, what), safe(&difference.path))?;
            }
            if skill.differences.len() > MAX_SHOWN {
                writeln!(out, "  and {} more", skill.differences.len() - MAX_SHOWN)?;
            }
            for finding in skill.findings.iter().take(MAX_SHOWN) {
                writeln!(out, "{}", finding_line(finding))?;
            }
            if let Some(reason) = &skill.reason {
                writeln!(out, "  {}", safe(reason))?;
            }
            if self.files {
                for (path, digest) in &skill.files {
                    writeln!(out, "  {}  {}", paint(DIM, digest), safe(path))?;
                }
            }
        }
        out.flush()?;
        let bad = self.skills.iter().filter(|skill| !is_fine(skill.state)).count();
        let note = match (self.skills.len(), bad) {
            (0, _) => format!("there are no skills in {}", safe(&self.target)),
            (all, 0) => format!("{}, none differs from the lock", count(all, "skill")),
            (_, bad) => format!(
                "{} not as locked; `metier install --force` brings back what was installed, and keeps a backup",
                count(bad, "skill")
            ),
        };
        print_note(&paint(DIM, note));
        Ok(())
    }

    fn exit(&self) -> Exit {
        let fine = self.skills.iter().all(|skill| is_fine(skill.state));
        if fine { Exit::Done } else { Exit::Findings }
    }
}
