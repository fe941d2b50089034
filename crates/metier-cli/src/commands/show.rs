//! `metier show`: what happened in a run, as a timeline, as its events, or as a page.
//!
//! Reads the record and nothing else; nothing is run again.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier::agent::Record;
use metier::{RunRecord, RunState};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{DIM, YELLOW, paint};
use crate::render::timeline::timeline;
use crate::render::timeline_text::{self, Texts};
use crate::render::{page, safe};

/// Show what happened in a run: turn by turn what was decided, allowed, asked and done.
///
/// RUN is a run's id, the beginning or end of it, or `last`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier show
  metier show 20261116-070842-k3f9a --full
  metier show last --html -o run.html
  metier show last --json")]
pub(crate) struct ShowArgs {
    /// The run.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// Show long texts in full.
    #[arg(long)]
    full: bool,
    /// Print a self-contained HTML page.
    #[arg(long, conflicts_with = "full")]
    html: bool,
    /// Write the page to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE", requires = "html")]
    output: Option<PathBuf>,
}

struct Shown {
    known: RunState,
    record: RunRecord,
    texts: Texts,
}

struct Page(String);

struct Written(PathBuf);

pub(crate) fn run(args: &ShowArgs, context: &Context) -> Result<Box<dyn Output>> {
    let folder = context.metier.find_run(&args.run)?;
    let record = RunRecord::read(&folder)?;
    let known = RunState::of(&folder);
    if !args.html {
        let texts = if args.full { Texts::Full } else { Texts::Folded };
        return Ok(Box::new(Shown { known, record, texts }));
    }
    let page = page::page(&timeline(&record.recorded), known.status, &record.faults);
    match &args.output {
        None => Ok(Box::new(Page(page))),
        Some(file) => write_file(context, file, page.as_bytes()),
    }
}

/// Writes a result to a file of the user's instead of standard output.
pub(crate) fn write_file(
    context: &Context,
    file: &std::path::Path,
    bytes: &[u8],
) -> Result<Box<dyn Output>> {
    let path = context.metier.working_dir().join(file);
    metier::fs::write_atomic(&path, bytes).map_err(|error| {
        let shown = path.to_string_lossy();
        CommandError::failed("not-written", format!("cannot write {}: {error}", safe(&shown)))
    })?;
    Ok(Box::new(Written(path)))
}

/// A record as a line of the log has it, with long texts in place.
fn event_json(record: &Record) -> Value {
    let mut value = json!(record.event);
    value["seq"] = json!(record.seq);
    value["time"] = json!(record.time);
    value["elapsed_ms"] = json!(record.elapsed_ms);
    value["hash"] = json!(record.hash);
    value
}

impl Output for Shown {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let events = |records: &[Record]| records.iter().map(event_json).collect::<Vec<_>>();
        let RunRecord { recorded, faults, .. } = &self.record;
        let mut document = json!({
            "summary": self.known.json(),
            "setup": recorded.setup,
            "events": events(&recorded.records),
        });
        if !recorded.inner.is_empty() {
            let inner = recorded.inner.iter().map(|inner| {
                json!({"run_id": inner.id, "setup": inner.setup, "events": events(&inner.records)})
            });
            document["inner"] = inner.collect();
        }
        if !faults.is_empty() {
            document["faults"] = json!(faults);
        }
        write_json(&document, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let timeline = timeline(&self.record.recorded);
        timeline_text::write(out, &timeline, self.known.status, self.texts)?;
        out.flush()?;
        for fault in &self.record.faults {
            print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(fault)));
        }
        if self.known.can_resume() {
            print_note(&paint(
                DIM,
                format!("to continue it: metier resume {}", safe(&self.known.id)),
            ));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.record.faults.is_empty() { Exit::Done } else { Exit::Findings }
    }
}

impl Output for Page {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&json!({ "page": self.0 }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.as_bytes())
    }

    fn is_raw(&self) -> bool {
        true
    }
}

impl Output for Written {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&json!({ "file": self.0.to_string_lossy() }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", safe(&self.0.to_string_lossy()))
    }
}
