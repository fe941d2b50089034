//! `metier stats`: how often each skill was used, from the records of this project.
//!
//! Counting is the runtime's; nothing is sent anywhere.

use std::io::{self, Write};

use clap::Args;
use metier::SkillStats;

use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, paint};
use crate::render::table::{Table, cut};
use crate::render::{count, safe};

/// Show how often each skill was used in the runs of this project, and what its text cost.
///
/// A miss is a skill that was wanted and not loaded: refused by a rule or a person, changed, or not there. The
/// figures come from the records in `.agent/runs`; nothing is sent anywhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier stats
  metier stats --json")]
pub(crate) struct StatsArgs {}

struct Shown(SkillStats);

pub(crate) fn run(_: &StatsArgs, context: &Context) -> Result<Box<dyn Output>> {
    Ok(Box::new(Shown(context.metier.skill_stats()?)))
}

impl Output for Shown {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.0.skills.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[
                ("SKILL", BOLD),
                ("USES", plain),
                ("TOKENS", plain),
                ("MISSES", plain),
                ("LAST USE", DIM),
            ]);
            for skill in &self.0.skills {
                let last = skill.last_use.as_deref().unwrap_or("-");
                let last: String = last.chars().take(16).collect();
                table.row(vec![
                    cut(&safe(&skill.skill), 60),
                    skill.uses.to_string(),
                    format!("~{}", skill.tokens),
                    skill.misses.to_string(),
                    safe(&last.replace('T', " ")).into_owned(),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        let mut words = format!("from {} of this project", count(self.0.runs, "run"));
        if self.0.skipped > 0 {
            words.push_str(&format!("; {} left out, see metier runs", self.0.skipped));
        }
        print_note(&paint(DIM, words));
        Ok(())
    }
}
