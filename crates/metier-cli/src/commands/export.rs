//! `metier export`: a run in the format of another tool.
//!
//! The formats are `metier-agent`'s; a record that is not what was written is not exported.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier::agent::export::{Content, atif, otel};
use metier::{RunRecord, damage};
use serde_json::Value;

use crate::commands::show::write_file;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, write_json};

/// Export a run as a trajectory (ATIF) or as a trace (OpenTelemetry).
///
/// RUN is a run's id, the beginning or end of it, or `last`. A trajectory holds everything that was
/// said and done. A trace holds what was done, when and at what cost; texts only with --content.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier export last --atif -o trajectory.json
  metier export last --otel | curl -d @- -H 'content-type: application/json' localhost:4318/v1/traces
  metier export 20261116-070842-k3f9a --otel --content")]
pub(crate) struct ExportArgs {
    /// The run.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    format: Format,
    /// Include prompts, replies, arguments and results in the trace.
    #[arg(long, conflicts_with = "atif")]
    content: bool,
    /// Write to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Format {
    /// An ATIF trajectory, version 1.8.
    #[arg(long)]
    atif: bool,
    /// An OpenTelemetry trace, as OTLP in JSON.
    #[arg(long)]
    otel: bool,
}

struct Exported(Value);

pub(crate) fn run(args: &ExportArgs, context: &Context) -> Result<Box<dyn Output>> {
    let folder = context.metier.find_run(&args.run)?;
    if let Some((run_id, finding)) = damage(&folder)?.first() {
        let message = format!("the record of {run_id} was changed: {}", finding.message);
        let help = format!("`metier audit verify {}` says what is wrong", folder.id());
        return Err(CommandError::failed("record-broken", message).help(help));
    }
    let record = RunRecord::read(&folder)?;
    let content = if args.content { Content::Included } else { Content::LeftOut };
    let exported =
        if args.format.atif { atif(&record.recorded) } else { otel(&record.recorded, content) };
    match &args.output {
        None => Ok(Box::new(Exported(exported))),
        Some(file) => {
            let mut bytes = serde_json::to_vec_pretty(&exported)
                .map_err(|error| CommandError::failed("internal", error.to_string()))?;
            bytes.push(b'\n');
            write_file(context, file, &bytes)
        }
    }
}

impl Output for Exported {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)?;
        writeln!(out)
    }

    /// It is for programs: an escape in a text must arrive as it is.
    fn is_raw(&self) -> bool {
        true
    }
}
