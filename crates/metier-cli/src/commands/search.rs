//! `metier search`: skills for a task, best first.
//!
//! Ranking is `metier-registry`'s, the same that a catalog uses.

use std::io::{self, Write};

use clap::Args;
use metier::SearchHit;
use serde::Serialize;

use crate::context::{AgentArgs, Context, FindArgs};
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::Table;
use crate::render::{fold_line, safe};

/// Find skills for a task by name and description, best first.
///
/// Words may be misspelt, in English or Chinese; a whole request works too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier search pdf form
  metier search 'make a spreadsheet from this csv'
  metier search --limit 3 --json review")]
pub(crate) struct SearchArgs {
    /// What to look for.
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Show at most N skills.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Hit>,
}

#[derive(Serialize)]
struct Hit {
    id: String,
    name: String,
    description: String,
    source: metier::skill::Source,
    path: String,
    score: f32,
    matched: Vec<String>,
}

pub(crate) fn run(args: &SearchArgs, context: &Context) -> Result<Box<dyn Output>> {
    let found =
        context.acting(&args.find, &args.agent)?.search(&args.words.join(" "), args.limit)?;
    let hit = |hit: SearchHit| Hit {
        id: hit.entry.id().to_string(),
        name: hit.entry.name().as_str().to_owned(),
        description: hit.entry.skill.description.to_string(),
        source: hit.entry.source,
        path: hit.entry.path.to_string_lossy().into_owned(),
        score: hit.score,
        matched: hit.matched,
    };
    Ok(Box::new(Results { results: found.into_iter().map(hit).collect() }))
}

impl Output for Results {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.results.is_empty() {
            print_note("no skill matches; `metier list` shows all of them");
            return Ok(());
        }
        let mut table =
            Table::new(&[("NAME", BOLD), ("SOURCE", CYAN), ("DESCRIPTION", anstyle::Style::new())]);
        for hit in &self.results {
            table.row(vec![
                safe(&hit.name).into_owned(),
                hit.source.to_string(),
                fold_line(&hit.description).into_owned(),
            ]);
        }
        table.write(out)?;
        out.flush()?;
        print_note(&paint(DIM, "metier inspect NAME shows more about one of them"));
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.results.is_empty() { Exit::Findings } else { Exit::Done }
    }
}
