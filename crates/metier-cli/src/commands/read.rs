//! `metier read`: the body of a skill, or one part of one of its files, as a model would get it.
//!
//! Reading is `metier-loader`'s, with its limits and its checks; `--raw` shows a file as it is.

use std::io::{self, Write};

use clap::Args;
use metier_loader::{
    BodyLimits, Lines, LoadError, Loaded, Next, ResourceLimits, ResourceQuery, load_body,
    load_resource,
};
use metier_skill::RelPath;

use crate::commands::content::{files_of, find};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, remark, write_json};
use crate::render::style::{DIM, YELLOW, paint};

/// Print a skill's body, or one part of one of its files, within the limits a model gets.
///
/// Without PATH: the body of its SKILL.md. PATH is relative to the skill's directory; links, hidden
/// files and anything outside are refused. What was left out, and how to read on, is said on
/// standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier read write-skill
  metier read write-skill references/descriptions.md
  metier read write-skill SKILL.md --section Steps
  metier read pdf references/api.md --lines 200-400")]
pub(crate) struct ReadArgs {
    /// The skill.
    name: String,
    /// A file of it.
    path: Option<String>,
    /// Only the section below this heading.
    #[arg(long, value_name = "HEADING")]
    section: Option<String>,
    /// Only these lines: A-B, A- or A.
    #[arg(long, value_name = "A-B")]
    lines: Option<Lines>,
    /// Leave out the first N characters of what is chosen (for lines longer than an excerpt).
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip_chars: usize,
    /// The file as it is: whole, with its frontmatter, not normalised.
    #[arg(long, conflicts_with_all = ["section", "lines", "skip_chars"])]
    raw: bool,
    #[command(flatten)]
    find: FindArgs,
}

struct Text(Loaded);

struct Raw(Vec<u8>);

pub(crate) fn run(args: &ReadArgs, context: &Context) -> Result<Box<dyn Output>> {
    let scan = context.scan(&args.find);
    let entry = find(&args.name, &scan)?;
    let files = files_of(entry)?;
    let security = &context.settings.security;
    let path = args.path.as_deref();
    if args.raw {
        let path = RelPath::new(path.unwrap_or("SKILL.md"))
            .map_err(|fault| CommandError::failed("PathTraversalBlocked", fault.to_string()))?;
        let limit = ResourceLimits::default().file_bytes;
        let bytes = files.read(&path, limit).map_err(|error| {
            CommandError::failed("IoError", format!("{path}: {error}"))
                .help("`metier files NAME` lists the skill's files")
        })?;
        return Ok(Box::new(Raw(bytes)));
    }
    let asks_part = args.section.is_some() || args.lines.is_some() || args.skip_chars > 0;
    let loaded = match path {
        None if !asks_part => {
            let limits = BodyLimits {
                lines: security.max_skill_body_lines,
                chars: security.max_skill_body_chars,
                ..BodyLimits::default()
            };
            load_body(&*files, &limits)
        }
        path => {
            let query = ResourceQuery {
                section: args.section.as_deref(),
                lines: args.lines,
                skip_chars: args.skip_chars,
            };
            load_resource(&*files, path.unwrap_or("SKILL.md"), &query, &ResourceLimits::default())
        }
    };
    Ok(Box::new(Text(loaded.map_err(|error| refused(&error))?)))
}

fn refused(error: &LoadError) -> CommandError {
    CommandError::failed(error.code(), error.to_string()).help(error.help())
}

impl Output for Text {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let Loaded { text, report } = &self.0;
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(out)?;
        }
        out.flush()?;
        if let Some(wanted) = &report.section_not_found {
            remark(&format!(
                "{}: there is no section `{}`; this is the start of the file",
                paint(YELLOW, "warning"),
                crate::render::safe(wanted)
            ));
            remark(&paint(
                DIM,
                format!("sections: {}", crate::render::safe(&report.headings.join(", "))),
            ));
        }
        for omitted in &report.omitted {
            remark(&paint(
                DIM,
                format!(
                    "left out: {} ({} lines); --section reads it",
                    crate::render::safe(&omitted.heading),
                    omitted.lines
                ),
            ));
        }
        match &report.next {
            Some(Next::Lines(lines)) => {
                remark(&paint(DIM, format!("there is more: --lines {lines}")));
            }
            Some(Next::SkipChars(chars)) => {
                remark(&paint(DIM, format!("there is more: --skip-chars {chars}")));
            }
            None => {}
        }
        Ok(())
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
}
