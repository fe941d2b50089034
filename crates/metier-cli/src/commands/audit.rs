//! `metier audit verify`: whether the record of a run is what was written.
//!
//! Checking is `metier-agent`'s; this goes through the loops inside the run, too.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::agent::audit::{AuditReport, Finding};
use metier::audit_run;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, remark, write_json};
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
/// The events are chained by hashes: whoever changes one has to write all that follow anew. A chain
/// is no signature: keep the last hash elsewhere if you must know that nobody did.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier audit verify
  metier audit verify 20261116-070842-k3f9a --json")]
struct VerifyArgs {
    /// The run: its name, the beginning or the end of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
}

#[derive(Serialize)]
struct Verified {
    run_id: String,
    #[serde(flatten)]
    audited: AuditReport,
    /// The same for the loops inside the run.
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
                format!("{} {events}", paint(GREEN, "holds"))
            } else {
                format!("{} {events} as they were written", paint(RED, "broken"))
            };
            let end = if *finished { "the run came to an end" } else { "the run has no end" };
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
            remark(&paint(DIM, "what holds can still be read: metier show RUN"));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.holds() { Exit::Done } else { Exit::Findings }
    }
}
