//! `metier inventory`: every skill in every agent's folder, and how it stands.
//! Looking and comparing are the runtime's; this file shows the rows.

use std::io::{self, Write};

use clap::Args;
use metier::{InventorySkill, InventoryState};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::render::table::terminal_width;
use crate::render::{count, safe};

/// List every skill in every agent's folder: managed, unmanaged or modified, its origin, digest and signer.
///
/// Managed skills were installed by Metier and are compared with the lock beside their folder. Nothing is asked of
/// the network, and nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier inventory
  metier inventory --json
  metier inventory --agent claude     only what Claude Code sees
  metier inventory --unmanaged        only what Metier did not install")]
pub(crate) struct InventoryArgs {
    /// Only skills in the folders of this agent (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    agent: Vec<String>,
    /// Only skills that Metier did not install.
    #[arg(long)]
    unmanaged: bool,
}

#[derive(Serialize)]
struct Inventory {
    skills: Vec<InventorySkill>,
    summary: Summary,
}

#[derive(Default, Serialize)]
struct Summary {
    managed: usize,
    modified: usize,
    missing: usize,
    unmanaged: usize,
    unreadable: usize,
    denied: usize,
}

pub(crate) fn run(args: &InventoryArgs, context: &Context) -> Result<Box<dyn Output>> {
    let mut skills = context.metier.inventory()?;
    skills.retain(|skill| {
        let of_agent = args.agent.is_empty()
            || skill.agents.iter().any(|it| args.agent.iter().any(|a| a == it));
        of_agent && (!args.unmanaged || skill.state == InventoryState::Unmanaged)
    });
    let mut summary = Summary::default();
    for skill in &skills {
        summary.denied += usize::from(skill.denied.is_some());
        match skill.state {
            InventoryState::Managed => summary.managed += 1,
            InventoryState::Modified => summary.modified += 1,
            InventoryState::Missing => summary.missing += 1,
            InventoryState::Unmanaged => summary.unmanaged += 1,
            _ => summary.unreadable += 1,
        }
    }
    Ok(Box::new(Inventory { skills, summary }))
}

impl Output for Inventory {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for skill in &self.skills {
            let (style, word) = match skill.state {
                InventoryState::Managed => (GREEN, "managed"),
                InventoryState::Modified => (RED, "modified"),
                InventoryState::Missing => (RED, "missing"),
                InventoryState::Unmanaged => (YELLOW, "unmanaged"),
                _ => (RED, "unreadable"),
            };
            let mut words = vec![paint(style, word)];
            if skill.denied.is_some() {
                words.push(paint(RED, "denied"));
            }
            if !skill.enabled {
                words.push(paint(YELLOW, "off"));
            }
            let version =
                skill.version.as_ref().map_or_else(String::new, |it| format!(" {}", safe(it)));
            let agents =
                if skill.agents.is_empty() { "-".to_owned() } else { skill.agents.join(",") };
            let path = paint(DIM, path_text(skill.path.as_ref()));
            let name = paint(BOLD, safe(&skill.name));
            let line = format!("{name}{version}  {}  {agents}", words.join(" "));
            let whole = anstream::adapter::strip_str(&format!("{line}  {path}")).to_string();
            // A path is pasted: it goes to a line of its own before it is torn.
            if terminal_width().is_some_and(|width| whole.width() > width) {
                writeln!(out, "{line}\n  {path}")?;
            } else {
                writeln!(out, "{line}  {path}")?;
            }
            if let Some(origin) = &skill.origin {
                let signer = skill.signer.as_ref();
                let signer =
                    signer.map_or_else(String::new, |it| format!(", signed by {}", safe(it)));
                let link = skill.link_to.as_ref();
                let link = link.map_or_else(String::new, |it| format!(", a link to {}", safe(it)));
                writeln!(out, "  from {}{signer}{link}", safe(origin))?;
            }
            for reason in skill.problem.iter().chain(&skill.denied) {
                writeln!(out, "  {}", safe(reason))?;
            }
        }
        out.flush()?;
        let Summary { managed, modified, missing, unmanaged, unreadable, denied } = self.summary;
        let parts = [
            (managed, "managed"),
            (modified, "modified"),
            (missing, "missing"),
            (unmanaged, "unmanaged"),
            (unreadable, "unreadable"),
            (denied, "denied"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let all = count(self.skills.len(), "skill");
        let note = if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) };
        print_note(&paint(DIM, note));
        Ok(())
    }
}
