//! `metier audit verify`: whether the record of a run is what was written.
//!
//! Checking is `metier-agent`'s; this also goes through the records of subagents.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::agent::audit::{AuditReport, Finding};
use metier::audit_run;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, RED, paint};
use crate::render::{count, safe};

/// Check the record of a run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier audit verify
  metier audit verify 20261116-070842-k3f9a --json")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Verify(VerifyArgs),
}

/// Check that no byte of a record was changed, no line is missing, and nothing was cut off.
///
/// Each event holds the hash of the one before it, so changing one means rewriting all that follow.
/// The chain is not a signature: to rule out a rewritten record, keep the last hash elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier audit verify
  metier audit verify 20261116-070842-k3f9a --json")]
struct VerifyArgs {
    /// The run: its id, the beginning or end of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
}

#[derive(Serialize)]
struct Verified {
    run_id: String,
    #[serde(flatten)]
    audited: AuditReport,
    /// The same for the subagents of the run.
    inner: Vec<Self>,
}

pub(crate) fn run(args: &AuditArgs, context: &Context) -> Result<Box<dyn Output>> {
    let Action::Verify(args) = &args.action;
    let folder = context.metier.find_run(&args.run)?;
    let mut runs = audit_run(&folder)?.into_iter().map(|(run_id, audited)| Verified {
        run_id,
        audited,
        inner: Vec::new(),
    });
    let Some(mut verified) = runs.next() else {
        return Err(CommandError::failed("internal", "the run was not checked"));
    };
    verified.inner = runs.collect();
    Ok(Box::new(verified))
}

/// A finding, for people.
pub(crate) fn finding_line(finding: &Finding) -> String {
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    let place = format!("{}{line}", safe(&finding.file));
    format!("{} {} [{}]", paint(BOLD, place), safe(&finding.message), finding.code)
}

impl Verified {
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.inner)
    }

    fn holds(&self) -> bool {
        self.all().all(|one| one.audited.findings.is_empty())
    }
}

impl Output for Verified {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for one in self.all() {
            let AuditReport { events, last_hash, finished, findings } = &one.audited;
            let events = count(usize::try_from(*events).unwrap_or(usize::MAX), "event");
            let word = if findings.is_empty() {
                format!("{}, {events}", paint(GREEN, "intact"))
            } else {
                format!("{}, {events} before the damage", paint(RED, "broken"))
            };
            let end = if *finished { "the run is finished" } else { "the run is not finished" };
            writeln!(out, "{}  {word}; {end}", paint(BOLD, safe(&one.run_id)))?;
            if let Some(hash) = last_hash {
                writeln!(out, "  {}", paint(DIM, format!("last hash {hash}")))?;
            }
            for finding in findings {
                writeln!(out, "  {}", finding_line(finding))?;
            }
        }
        out.flush()?;
        if !self.holds() {
            print_note(&paint(DIM, "metier show RUN still shows the intact part"));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.holds() { Exit::Done } else { Exit::Findings }
    }
}
