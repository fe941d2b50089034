//! `metier audit verify`: whether the record of a run is what was written.
//!
//! Checking is `metier-agent`'s; this also goes through the records of subagents.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::agent::audit::{AuditReport, Finding, RecordVerdict};
use metier::audit_run;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
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

/// Check that a record is what was written: no byte changed, no line missing, nothing cut off or replaced.
///
/// Each event holds the hash of the one before it, and your state folder remembers the first and last hash
/// and the number of events of every run that you began here. The summary, stored texts, outputs and deleted files
/// are compared with the events. A run that was copied from elsewhere can only be checked against itself: that is a
/// warning, and an error with `--strict`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier audit verify
  metier audit verify 20261116-070842-k3f9a --json")]
struct VerifyArgs {
    /// The run: its id, the beginning or end of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// Fail also if nothing on this machine remembers the record.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Verified {
    run_id: String,
    /// Whether a record that nothing remembers is an error.
    #[serde(skip)]
    strict: bool,
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
        strict: args.strict,
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

    fn any(&self, verdict: RecordVerdict) -> bool {
        self.all().any(|one| one.audited.verdict == verdict)
    }
}

impl Output for Verified {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for one in self.all() {
            let AuditReport { verdict, events, last_hash, finished, findings } = &one.audited;
            let events = count(usize::try_from(*events).unwrap_or(usize::MAX), "event");
            let word = match verdict {
                RecordVerdict::Holds => format!("{}, {events}", paint(GREEN, "holds")),
                RecordVerdict::Unanchored => format!("{}, {events}", paint(YELLOW, "consistent")),
                RecordVerdict::Broken => format!("{}, {events} read", paint(RED, "broken")),
            };
            let end = if *finished { "the run has ended" } else { "the run has not ended" };
            writeln!(out, "{}  {word}; {end}", paint(BOLD, safe(&one.run_id)))?;
            if let Some(hash) = last_hash {
                writeln!(out, "  {}", paint(DIM, format!("last hash {hash}")))?;
            }
            for finding in findings {
                writeln!(out, "  {}", finding_line(finding))?;
            }
        }
        out.flush()?;
        if self.any(RecordVerdict::Broken) {
            print_note(&paint(DIM, "metier show RUN still shows the intact part"));
        } else if self.any(RecordVerdict::Unanchored) {
            let text = "the record agrees with itself, but nothing on this machine remembers it: the run \
                        was begun elsewhere, or its anchor is gone";
            print_note(&format!("{}: {text}", paint(YELLOW, "warning")));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let fails =
            self.any(RecordVerdict::Broken) || (self.strict && self.any(RecordVerdict::Unanchored));
        if fails { Exit::Findings } else { Exit::Done }
    }
}
