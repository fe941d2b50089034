//! `metier read`: the body of a skill, or one part of one of its files, as a model would get it.
//!
//! Reading is `metier-loader`'s, with its limits and its checks; `--raw` shows a file as it is.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use metier::loader::{LineRange, Loaded, NextPart, Part, ResourceQuery};

use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::style::{DIM, YELLOW, paint};
use crate::render::{count, safe};
use crate::source_arg::SourceArg;

/// Print a skill's body, or one part of one of its files, within the limits a model gets.
///
/// Without PATH: the body of its SKILL.md. PATH is relative to the skill's directory; links, hidden
/// files and anything outside are refused. What was left out, and how to read it, is printed on
/// standard error. Reading is loading: what a rule denies is refused (exit code 3), and what would be
/// asked about, such as a skill of a project that you do not trust, is shown to a person at a terminal
/// and needs `--yes` elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier read write-skill
  metier read write-skill references/descriptions.md
  metier read write-skill SKILL.md --section Steps
  metier read pdf references/api.md --lines 200-400
  metier read fix-issue --arguments '123 high'     # what `/fix-issue 123 high` gives
  metier read write-skill --block                  # as it is injected")]
pub(crate) struct ReadArgs {
    /// The skill.
    name: String,
    /// A file of the skill.
    path: Option<String>,
    /// Only the section below this heading.
    #[arg(long, value_name = "HEADING")]
    section: Option<String>,
    /// Only these lines: A-B, A- or A.
    #[arg(long, value_name = "A-B")]
    lines: Option<LineRange>,
    /// Skip the first N characters of the selection (for lines longer than an excerpt).
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip_chars: usize,
    /// As if a person had typed `/NAME TEXT`: the body with its placeholders filled.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["path", "section", "lines", "skip_chars", "raw"])]
    arguments: Option<String>,
    /// Print the block that a model gets, with the names of the skill's files.
    #[arg(long, conflicts_with = "raw")]
    block: bool,
    /// The file as it is: whole, with its frontmatter, not normalised.
    #[arg(long, conflicts_with_all = ["section", "lines", "skip_chars"])]
    raw: bool,
    /// Answer a question about loading the skill with yes, this once. A denial stays a denial.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    find: FindArgs,
}

struct Text(Loaded);

struct Raw(Vec<u8>);

pub(crate) fn run(args: &ReadArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let skill = args.source.of(&args.name)?;
    let mut reader = context.finding(&args.find).reader();
    // Who types this at a terminal has answered: a skill is reviewed before it is trusted.
    if args.yes || prompt::can_ask(json) {
        reader = reader.approved();
    }
    let path = args.path.as_deref().unwrap_or("SKILL.md");
    if args.raw {
        return Ok(Box::new(Raw(reader.read_raw(&skill, path)?)));
    }
    let asks_part = args.section.is_some() || args.lines.is_some() || args.skip_chars > 0;
    let mut loaded = match (&args.arguments, &args.path) {
        (Some(arguments), _) => reader.invoke(&skill, arguments)?,
        (None, None) if !asks_part => reader.load(&skill)?,
        _ => {
            let query = ResourceQuery {
                section: args.section.as_deref(),
                lines: args.lines,
                skip_chars: args.skip_chars,
            };
            reader.read(&skill, path, &query)?
        }
    };
    if args.block {
        loaded.text = reader.block(&skill, &loaded)?;
    }
    Ok(Box::new(Text(loaded)))
}

impl Output for Text {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let Loaded { text, report } = &self.0;
        out.write_all(text.as_bytes())?;
        // For the prompt that follows. Into a pipe go the bytes alone, so that pages put together
        // give the file.
        if !text.is_empty() && !text.ends_with('\n') && io::stdout().is_terminal() {
            writeln!(out)?;
        }
        out.flush()?;
        if let Some(wanted) = &report.section_not_found {
            print_note(&format!(
                "{}: there is no section `{}`; this is the start of the file",
                paint(YELLOW, "warning"),
                safe(wanted)
            ));
            print_note(&paint(DIM, format!("sections: {}", safe(&report.headings.join(", ")))));
        }
        if text.is_empty() && report.total_lines > 0 {
            let size = count(report.total_lines, "line");
            print_note(&paint(DIM, format!("nothing to show: {} has {size}", safe(&report.path))));
        }
        for omitted in &report.omitted {
            print_note(&paint(
                DIM,
                format!(
                    "left out: {} ({}): {}",
                    safe(&omitted.heading),
                    count(omitted.lines, "line"),
                    option(&omitted.load)
                ),
            ));
        }
        match &report.next {
            Some(NextPart::Lines(lines)) => {
                print_note(&paint(DIM, format!("there is more: --lines {lines}")));
            }
            Some(NextPart::SkipChars(chars)) => {
                print_note(&paint(DIM, format!("there is more: --skip-chars {chars}")));
            }
            None => {}
        }
        Ok(())
    }
}

/// The option that reads a part, ready for a shell.
fn option(part: &Part) -> String {
    match part {
        Part::Section(heading) => {
            format!("--section '{}'", safe(heading).replace('\'', "'\\''"))
        }
        Part::Lines(lines) => format!("--lines {lines}"),
    }
}

impl Output for Raw {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(
            &serde_json::json!({ "text": String::from_utf8_lossy(&self.0), "bytes": self.0.len() }),
            out,
        )
    }

    /// Raw means raw: what the file holds reaches the terminal as it is.
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }

    fn is_raw(&self) -> bool {
        true
    }
}
