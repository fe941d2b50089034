//! `metier roots`: which folders are searched, in which order, and what is in them.
//!
//! The table itself is data in `metier-registry`; this file shows it with what was found.

use std::io::{self, Write};

use clap::Args;
use metier::registry::{Root, RootReport, RootState};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{CYAN, DIM, paint};
use crate::render::table::Table;

/// Show the folders that are searched for skills, highest priority first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier roots          the folders that exist
  metier roots --all    every folder that would be searched")]
pub(crate) struct RootsArgs {
    /// Show folders that do not exist too.
    #[arg(long, short)]
    all: bool,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Roots {
    roots: Vec<RootReport>,
    #[serde(skip)]
    all: bool,
    #[serde(skip)]
    absent: usize,
}

pub(crate) fn run(args: &RootsArgs, context: &Context) -> Box<dyn Output> {
    let metier = context.finding(&args.find);
    let mut roots = metier.skills().report.roots.clone();
    let absent: Vec<RootReport> = metier
        .roots()
        .into_iter()
        .enumerate()
        .filter(|(_, root)| !roots.iter().any(|known| known.path == root.path))
        .map(|(priority, root)| missing(priority, root))
        .collect();
    let count = absent.len();
    if args.all {
        roots.extend(absent);
        roots.sort_by_key(|root| root.priority);
    }
    Box::new(Roots { roots, all: args.all, absent: count })
}

fn missing(priority: usize, root: Root) -> RootReport {
    let Root { source, path, plugin, .. } = root;
    RootReport { source, path, priority, state: RootState::Missing, found: 0, plugin }
}

impl Output for Roots {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = anstyle::Style::new();
        let mut table =
            Table::new(&[("SOURCE", CYAN), ("STATE", plain), ("SKILLS", plain), ("PATH", plain)]);
        for root in &self.roots {
            let found = if root.found == 0 { "-".to_owned() } else { root.found.to_string() };
            table.row(vec![
                root.source.to_string(),
                root.state.as_str().to_owned(),
                found,
                path_text(&root.path),
            ]);
        }
        table.write(out)?;
        out.flush()?;
        if !self.all && self.absent > 0 {
            print_note(&paint(
                DIM,
                format!(
                    "{} more folders would be searched if they existed (metier roots --all)",
                    self.absent
                ),
            ));
        }
        Ok(())
    }
}
