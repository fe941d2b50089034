//! `metier eval overlap`: skills that are easily taken for each other, and who competes for what was missed.
//! Ranking is `metier-evals`; this file prints the pairs.

use std::io::{self, Write};

use clap::Args;
use metier_evals::{MissedRequest, OverlappingPair, SkillRanking};
use serde::Serialize;

use super::saved::{LAST, RUN_NOT_FOUND, saved_plan};
use super::scoring::Scoring;
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::Table;
use crate::render::{count, safe};

/// Show skills that are easily taken for each other, and the words that both answer to.
///
/// Each skill's description is split into what it says it is for, and ranked as a request would be: offline, without
/// cases. NEAR is the share of these phrases for which the other skill comes close, LOSES the share that it wins. For
/// what the last run missed or loaded wrongly, the skills that compete for the request are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval overlap
  metier eval overlap pdf          one skill
  metier eval overlap --run 3f2a   with what that run missed")]
pub(crate) struct EvalOverlapArgs {
    /// Only pairs with this skill.
    #[arg(value_name = "SKILL")]
    skill: Option<String>,
    /// Show at most N pairs.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// The run whose misses are explained; the last one where there is one.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Overlaps {
    pairs: Vec<OverlappingPair>,
    /// Pairs that are not shown.
    more: usize,
    misses: Vec<MissedRequest>,
    /// Misses that are not shown.
    more_misses: usize,
}

pub(super) fn run(args: &EvalOverlapArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let usable = metier.usable_skills()?;
    if let Some(skill) = &args.skill {
        metier.skill(skill)?;
    }
    let ranking = SkillRanking::new(usable.iter().map(|entry| &**entry));
    let is_meant = |name: &str| args.skill.as_ref().is_none_or(|skill| skill == name);
    let mut pairs = ranking.overlaps();
    pairs.retain(|pair| is_meant(&pair.skill) || is_meant(&pair.other));
    let more = pairs.len().saturating_sub(args.limit);
    pairs.truncate(args.limit);
    let run = saved_plan(&metier, args.run.as_deref().unwrap_or(LAST), None);
    let report = match run.and_then(|run| run.report(Scoring::default())) {
        Ok(report) => Some(report),
        Err(error) if args.run.is_some() => return Err(error),
        Err(error) if error.code == RUN_NOT_FOUND => None,
        // The pairs need no run.
        Err(error) => {
            print_note(&format!("note: the last run is left out: {}", safe(&error.message)));
            None
        }
    };
    let mut misses = report.map_or_else(Vec::new, |report| ranking.misses(&report));
    misses.retain(|miss| is_meant(&miss.skill));
    let more_misses = misses.len().saturating_sub(args.limit);
    misses.truncate(args.limit);
    Ok(Box::new(Overlaps { pairs, more, misses, more_misses }))
}

impl Output for Overlaps {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.pairs.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[
                ("SKILL", BOLD),
                ("COMPETES WITH", BOLD),
                ("NEAR", plain),
                ("LOSES", plain),
                ("WORDS", CYAN),
            ]);
            let percent = |share: f64| format!("{:.0} %", share * 100.0);
            for pair in &self.pairs {
                table.row(vec![
                    safe(&pair.skill).into_owned(),
                    safe(&pair.other).into_owned(),
                    percent(pair.share),
                    percent(pair.loses),
                    safe(&pair.words.join(", ")).into_owned(),
                ]);
            }
            table.write(out)?;
        }
        for miss in &self.misses {
            let what = if miss.expected { "missed" } else { "loaded wrongly" };
            writeln!(out, "\n{} {what}: {}", paint(BOLD, safe(&miss.skill)), safe(&miss.input))?;
            let why = match (miss.expected, miss.place) {
                (true, Some(1)) => "it fits best, and was not loaded all the same",
                (true, Some(_)) => "others fit better",
                (false, Some(1)) => "it fits better than any other",
                (false, Some(_)) => "others fit better, and it was loaded all the same",
                (_, None) => "no word of the request is in its description",
            };
            writeln!(out, "    {}", paint(DIM, why))?;
            for rival in &miss.competitors {
                let words = rival.words.join(", ");
                writeln!(out, "    {} {:.1}: {}", safe(&rival.skill), rival.score, safe(&words))?;
            }
        }
        out.flush()?;
        let mut note = count(self.pairs.len() + self.more, "pair");
        if self.more > 0 {
            note.push_str(&format!(", {} more with --limit", self.more));
        }
        if self.more_misses > 0 {
            note.push_str(&format!("; {} more misses with --limit", self.more_misses));
        }
        print_note(&note);
        Ok(())
    }
}
