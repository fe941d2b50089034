//! `metier diff`: what an update would change in installed skills, or what was changed here, line by line.
//! Comparing is `metier-pack`'s; this file makes patches of it.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use metier::pack::{DiffAgainst, FileChange, FileDiff, SkillDiff};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::commands::asking::SourceTalk;
use crate::commands::installed_target::installed_target;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{count, safe};
use crate::scope::ScopeArgs;

/// Show what an update would change in installed skills, or what was changed here.
///
/// Compares what is installed with what its source gives now; with --local with what was installed. The lock holds
/// digests and no texts, so the lines of a local change are shown while the source still has the file as it was.
/// Nothing is changed. Exits with 1 if a skill could not be compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier diff pdf             what `metier update pdf` would change
  metier diff pdf --local     what was changed here since it was installed
  metier diff --stat          how much, file by file, in all skills
  metier diff pdf --patch > pdf.patch")]
pub(crate) struct DiffArgs {
    /// The skills, by name; all of them without one.
    names: Vec<String>,
    /// Compare with what was installed, not with the source.
    #[arg(long)]
    local: bool,
    /// Show only how many lines change in which files.
    #[arg(long, conflicts_with = "patch")]
    stat: bool,
    /// Show the lines; with --json too.
    #[arg(long)]
    patch: bool,
    /// Compare what is installed in the folder of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Differences {
    against: &'static str,
    skills: Vec<ComparedSkill>,
    #[serde(skip)]
    stat: bool,
    /// Whether the lines are for another program: as they are in the files, without styles.
    #[serde(skip)]
    is_patch: bool,
}

#[derive(Serialize)]
struct ComparedSkill {
    #[serde(flatten)]
    diff: SkillDiff,
    /// What the files' lines come to, in the order of the files.
    lines: Vec<LineCounts>,
}

#[derive(Serialize)]
struct LineCounts {
    path: String,
    /// Lines that come and go; absent for what is not text, or not at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
}

pub(crate) fn run(args: &DiffArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let (scope, names) = args.scope.of_names(&args.names)?;
    let talk = SourceTalk::new(json, false, false);
    let target = talk.join(installed_target(args.agent.as_deref(), &names, scope, context)?);
    let request = context.metier.update_request(names);
    let against = if args.local { DiffAgainst::Installed } else { DiffAgainst::Source };
    let found = context.metier.diff_installed(&target, &request, against);
    talk.end(&context.metier)?;
    let found = found?;
    let compared = |diff: SkillDiff| {
        let lines = diff.files.iter().map(|file| line_counts(&diff.name, file, args.patch));
        ComparedSkill { lines: lines.collect(), diff }
    };
    Ok(Box::new(Differences {
        against: if args.local { "installed" } else { "source" },
        skills: found.into_iter().map(compared).collect(),
        stat: args.stat,
        is_patch: !args.stat && !io::stdout().is_terminal() && !is_colour_wanted(),
    }))
}

/// Whether colour was asked for, wherever it goes.
fn is_colour_wanted() -> bool {
    use anstream::ColorChoice::{Always, AlwaysAnsi};
    matches!(anstream::ColorChoice::global(), Always | AlwaysAnsi)
}

/// The lines of a text. A carriage return ends none: a patch has it within its line.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn line_counts(skill: &str, file: &FileDiff, patch: bool) -> LineCounts {
    let mut counts =
        LineCounts { path: file.path.clone(), added: None, removed: None, patch: None };
    if let Some((before, after)) = &file.texts {
        let diff = TextDiff::configure()
            .newline_terminated(true)
            .diff_slices(&lines_of(before), &lines_of(after));
        let number = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        counts.added = Some(number(ChangeTag::Insert));
        counts.removed = Some(number(ChangeTag::Delete));
        if patch {
            let (old, new) = file_names(skill, file);
            let text = diff.unified_diff().context_radius(3).header(&old, &new).to_string();
            counts.patch = Some(text);
        }
    }
    counts
}

/// What a patch calls the two sides of a file.
fn file_names(skill: &str, file: &FileDiff) -> (String, String) {
    let path = format!("{skill}/{}", file.path);
    match file.change {
        FileChange::Added => ("/dev/null".to_owned(), format!("b/{path}")),
        FileChange::Removed => (format!("a/{path}"), "/dev/null".to_owned()),
        _ => (format!("a/{path}"), format!("b/{path}")),
    }
}

fn change_word(file: &FileDiff) -> String {
    let (word, style) = match file.change {
        FileChange::Added => ("added", GREEN),
        FileChange::Removed => ("removed", RED),
        FileChange::Changed => ("changed", YELLOW),
        _ => ("execute bit", YELLOW),
    };
    paint(style, word)
}

/// What the execute bit of a file becomes, where that is something else.
fn mode_text(file: &FileDiff) -> Option<&'static str> {
    match (file.executable_before, file.executable_after) {
        (Some(false) | None, Some(true)) => Some("can be executed"),
        (Some(true), Some(false)) => Some("can no longer be executed"),
        _ => None,
    }
}

fn write_patch(
    skill: &str,
    file: &FileDiff,
    is_patch: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (old, new) = file_names(skill, file);
    let safe = |text: &str| if is_patch { text.to_owned() } else { safe(text).into_owned() };
    let paint = |style, text: String| if is_patch { text } else { paint(style, text) };
    if let Some(mode) = mode_text(file) {
        writeln!(
            out,
            "{}",
            paint(YELLOW, format!("{} {mode}", safe(&format!("{skill}/{}", file.path))))
        )?;
    }
    if file.before == file.after {
        return Ok(());
    }
    let Some((before, after)) = &file.texts else {
        return writeln!(
            out,
            "{} and {} differ, and are not shown as text",
            safe(&old),
            safe(&new)
        );
    };
    let (before, after) = (lines_of(before), lines_of(after));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&before, &after);
    let mut hunks = diff.unified_diff();
    let mut hunks = hunks.context_radius(3).iter_hunks().peekable();
    if hunks.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "{}", paint(BOLD, format!("--- {}", safe(&old))))?;
    writeln!(out, "{}", paint(BOLD, format!("+++ {}", safe(&new))))?;
    for hunk in hunks {
        writeln!(out, "{}", paint(CYAN, hunk.header().to_string()))?;
        for change in hunk.iter_changes() {
            let value = change.value();
            let line = safe(value.strip_suffix('\n').unwrap_or(value));
            let line = match change.tag() {
                ChangeTag::Delete => paint(RED, format!("-{line}")),
                ChangeTag::Insert => paint(GREEN, format!("+{line}")),
                ChangeTag::Equal => format!(" {line}"),
            };
            writeln!(out, "{line}")?;
            if !value.ends_with('\n') {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}

impl Output for Differences {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn is_raw(&self) -> bool {
        self.is_patch
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for ComparedSkill { diff, lines } in &self.skills {
            if let Some(problem) = &diff.problem {
                let name = paint(BOLD, safe(&diff.name));
                out.flush()?;
                print_note(&format!("{name}: {}", safe(&problem.message)));
            }
            if self.stat && !diff.files.is_empty() {
                writeln!(out, "{}", paint(BOLD, safe(&diff.name)))?;
            }
            for (file, lines) in diff.files.iter().zip(lines) {
                if !self.stat {
                    write_patch(&diff.name, file, self.is_patch, out)?;
                    continue;
                }
                let number = match (lines.added, lines.removed) {
                    _ if file.before == file.after => None,
                    (Some(added), Some(removed)) => Some(format!("+{added} -{removed}")),
                    _ => Some("not text".to_owned()),
                };
                let mode = mode_text(file).map(ToOwned::to_owned);
                let what = number.into_iter().chain(mode).collect::<Vec<_>>().join(", ");
                writeln!(out, "  {} {}  {what}", change_word(file), safe(&file.path))?;
            }
            if let Some(tools) = &diff.tools {
                let text = |tools: &Option<Vec<String>>| match tools {
                    None => "any".to_owned(),
                    Some(tools) => safe(&tools.join(", ")).into_owned(),
                };
                let name = safe(&diff.name);
                let (before, after) = (text(&tools.before), text(&tools.after));
                out.flush()?;
                print_note(&paint(YELLOW, format!("tools of {name}: {before} -> {after}")));
            }
        }
        out.flush()?;
        let differing = self.skills.iter().filter(|it| !it.diff.files.is_empty()).count();
        let unknown = self.skills.iter().filter(|it| it.diff.problem.is_some()).count();
        let note = match (differing, self.against) {
            (0, _) if unknown > 0 => format!("{} could not be compared", count(unknown, "skill")),
            (0, "source") => "nothing would change".to_owned(),
            (0, _) => "nothing was changed here".to_owned(),
            (number, "source") => format!("{} would change", count(number, "skill")),
            (number, _) => format!("{} changed here", count(number, "skill")),
        };
        print_note(&paint(DIM, note));
        Ok(())
    }

    fn exit(&self) -> Exit {
        let is_unknown = |it: &ComparedSkill| it.diff.problem.is_some();
        if self.skills.iter().any(is_unknown) { Exit::Findings } else { Exit::Done }
    }
}
