//! `metier runs`: the runs of this project, newest first.
//!
//! Reads the summaries; a record only where a summary is behind it.

use std::io::{self, Write};

use clap::Args;
use metier::RunState;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::{Table, cut};
use crate::render::{count, fold_line, safe};

/// List the runs of this project, newest first.
///
/// An unfinished run is `running` while a process works on it, and `interrupted` when that process
/// is gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier runs
  metier runs --status needs_approval
  metier runs --limit 100 --json")]
pub(crate) struct RunsArgs {
    /// List at most N runs.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// List only runs with this status.
    #[arg(long, value_name = "STATUS", value_parser = STATUSES)]
    status: Option<String>,
}

const STATUSES: [&str; 14] = [
    "completed",
    "dry_run",
    "abstained",
    "denied",
    "budget_exhausted",
    "stuck",
    "failed",
    "cancelled",
    "needs_approval",
    RunState::INTERRUPTED,
    RunState::RUNNING,
    RunState::BROKEN,
    RunState::OTHER_FORMAT,
    RunState::UNREADABLE,
];

struct Listed {
    runs: Vec<RunState>,
    /// Runs that `--limit` leaves out.
    more: bool,
}

pub(crate) fn run(args: &RunsArgs, context: &Context) -> Result<Box<dyn Output>> {
    let wanted =
        |known: &RunState| args.status.as_ref().is_none_or(|status| known.status == status);
    // Each folder is held open while it is looked at, and no longer: there may be thousands.
    let folders = context.metier.runs()?.into_iter();
    let mut found = folders.map(|folder| RunState::of(&folder)).filter(wanted);
    let runs = found.by_ref().take(args.limit).collect();
    Ok(Box::new(Listed { runs, more: found.next().is_some() }))
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let runs: Vec<_> = self.runs.iter().map(RunState::json).collect();
        write_json(&json!({ "runs": runs }), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.runs.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[
                ("RUN", CYAN),
                ("WHEN", DIM),
                ("STATUS", BOLD),
                ("TURNS", plain),
                ("TOKENS", plain),
                ("MODEL", plain),
                ("REQUEST", plain),
            ])
            .expendable(&["MODEL", "TOKENS", "TURNS"]);
            for known in &self.runs {
                table.row(row(known));
            }
            table.write(out)?;
        }
        out.flush()?;
        print_note(&paint(DIM, self.advice()));
        Ok(())
    }
}

impl Listed {
    fn advice(&self) -> String {
        if self.runs.is_empty() {
            return "no runs here; to start one: metier run \"REQUEST\"".to_owned();
        }
        let more = if self.more { " and more (--limit)" } else { "" };
        let mut words = vec![
            format!("{}{more}", count(self.runs.len(), "run")),
            "metier show RUN shows one".to_owned(),
        ];
        if let Some(open) = self.runs.iter().find(|known| known.can_resume()) {
            words.push(format!("metier resume {} continues one", safe(&open.id)));
        }
        words.join("; ")
    }
}

fn row(known: &RunState) -> Vec<String> {
    let id = safe(&known.id).into_owned();
    let Some(summary) = &known.summary else {
        let nothing = || "-".to_owned();
        let status = known.status.to_owned();
        return vec![id, nothing(), status, nothing(), nothing(), nothing(), nothing()];
    };
    let when: String = summary.started.chars().take(16).collect();
    let usage = &summary.spent.usage;
    let about = if usage.estimated { "~" } else { "" };
    vec![
        id,
        safe(&when.replace('T', " ")).into_owned(),
        known.status.to_owned(),
        summary.spent.turns.to_string(),
        format!("{about}{}", usage.input + usage.output),
        cut(&fold_line(&format!("{}:{}", summary.model.provider, summary.model.name)), 30),
        cut(&fold_line(&summary.request), 100),
    ]
}
