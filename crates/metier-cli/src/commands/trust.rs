//! `metier trust`: a project's skills are trusted as they are now.
//!
//! What trust changes is `metier-policy`'s, finding and hashing the skills the runtime's. This file shows
//! what would be trusted, asks, and lists what is.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier::policy::UnixTime;
use metier::skill::Digest;
use metier::{TrustBefore, Trusted, TrustedSkill, Untrusted, changed_since_trusted};
use serde::Serialize;

use crate::args::GlobalArgs;
use crate::commands::content::is_script;
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::diff;
use crate::render::style::{BOLD, CYAN, DIM, GREEN, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe, time_text};

/// Trust the skills of a project, as they are now.
///
/// Without trust, loading a skill that came with a project asks, and its scripts do not run. A skill
/// that changes or is added later has to be trusted again. Without DIR, the whole project is trusted.
/// What would be trusted is shown first: scripts, tools, and what has changed, line by line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier trust              the project that this directory belongs to
  metier trust ~/src/shop
  metier trust --follow     a folder of your own: after an edit, its skills still load
  metier trust --list")]
pub(crate) struct TrustArgs {
    /// The folder whose skills are trusted.
    dir: Option<PathBuf>,
    /// List the folders that are trusted, and what has changed in them since.
    #[arg(long, conflicts_with = "dir")]
    list: bool,
    /// Trust without asking.
    #[arg(long, conflicts_with = "list")]
    yes: bool,
    /// Let these skills be loaded after they change, too; their scripts ask then. Only for skills that no
    /// other account can change, and only at a terminal.
    #[arg(long, conflicts_with_all = ["list", "yes"])]
    follow: bool,
}

#[derive(Serialize)]
struct Folders {
    folders: Vec<Folder>,
}

#[derive(Serialize)]
struct Folder {
    folder: String,
    digest: Digest,
    skills: BTreeMap<String, Digest>,
    /// Those that are not what they were, or are gone.
    changed: Vec<String>,
    followed: bool,
    granted_at: UnixTime,
}

/// What was trusted.
struct Granted {
    trusted: Trusted,
    /// Whether it was shown before, with a question.
    is_shown: bool,
}

pub(crate) fn run(args: &TrustArgs, global: &GlobalArgs) -> Result<Box<dyn Output>> {
    let context = Context::new(&inside(global, args.dir.as_deref()))?;
    if args.list {
        return list(&context);
    }
    let here = args.dir.as_ref().map(|_| Path::new(""));
    let plan = context.metier.trust_plan(here)?;
    let can_ask = prompt::can_ask(global.json);
    if args.follow {
        if !can_ask {
            return Err(CommandError::usage("`--follow` is a person's decision, at a terminal")
                .help("without it, `metier trust` trusts the skills as they are now"));
        }
        review(plan.trusted());
        print_note(
            "Edits of these skills will not be asked about when they are loaded; their scripts ask after an \
             edit.\nAnyone who can change these files can change what a model reads, and so can a `git pull`.",
        );
        prompt::forget_typed();
        let typed = prompt::ask("type `follow` to trust them so:");
        if typed.as_deref() != Some("follow") {
            return Err(not_trusted());
        }
        let trusted = plan.grant_following()?;
        return Ok(Box::new(Granted { trusted, is_shown: true }));
    }
    let skills = plan.trusted().skills.len();
    if !can_ask && !args.yes && skills > 0 {
        let skills = count(skills, "skill");
        return Err(CommandError::needs_approval(format!(
            "trusting {skills} needs your confirmation"
        ))
        .help("read them, then: metier trust --yes; at a terminal they are shown first"));
    }
    let asks = can_ask && !args.yes;
    if asks {
        review(plan.trusted());
        if !prompt::confirm("Trust them as they are now?") {
            return Err(not_trusted());
        }
    }
    Ok(Box::new(Granted { trusted: plan.grant()?, is_shown: asks }))
}

fn not_trusted() -> CommandError {
    CommandError::failed("not-trusted", "Nothing was trusted.")
}

/// Shows what would be trusted, before the question.
fn review(trusted: &Trusted) {
    print_note(&paint(BOLD, path_text(trusted.folder.as_ref())));
    for skill in &trusted.skills {
        for line in skill_lines(skill) {
            print_note(&line);
        }
    }
}

/// A skill with what its trust lets happen: its scripts, its tools, and what is different.
fn skill_lines(skill: &TrustedSkill) -> Vec<String> {
    const NAMED: usize = 20;
    let was = match skill.was {
        TrustBefore::Untrusted => "new",
        TrustBefore::Changed => "changed",
        TrustBefore::Trusted => "as before",
    };
    let mut lines = vec![format!("  {}  {}", safe(&skill.id), paint(DIM, format!("({was})")))];
    let mut fact = |name: &str, values: &[String]| {
        if !values.is_empty() {
            let more = values.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let shown: Vec<_> = values.iter().take(NAMED).map(|value| safe(value)).collect();
            lines.push(format!("    {}: {}{more}", paint(CYAN, name), shown.join(", ")));
        }
    };
    let scripts: Vec<String> = skill.files.iter().filter(|file| is_script(file)).cloned().collect();
    fact("scripts", &scripts);
    fact(
        "tools",
        &skill.allowed_tools.clone().unwrap_or_else(|| vec!["not restricted".to_owned()]),
    );
    fact("changed", &skill.changes.changed);
    fact("added", &skill.changes.added);
    fact("removed", &skill.changes.removed);
    for text in &skill.texts {
        lines.extend(changed_lines(&text.path, &text.before, &text.after));
    }
    let shown = |file: &&String| !skill.texts.iter().any(|text| text.path == **file);
    let unknown = skill.changes.changed.iter().filter(shown).count();
    if unknown > 0 {
        let what = count(unknown, "changed file");
        lines.push(paint(
            DIM,
            format!("    {what} cannot be shown by line: `metier read` shows it"),
        ));
    }
    lines
}

/// The change of a file, line by line.
fn changed_lines(path: &str, before: &str, after: &str) -> Vec<String> {
    const MAX_LINES: usize = 60;
    let text = diff::unified(path, before.as_bytes(), after.as_bytes());
    let mut lines: Vec<String> =
        text.lines().take(MAX_LINES).map(|line| format!("    {line}")).collect();
    let more = text.lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.push(paint(DIM, format!("    ... {}", count(more, "more line"))));
    }
    lines
}

/// The global options for a command that works in `dir`.
fn inside(global: &GlobalArgs, dir: Option<&Path>) -> GlobalArgs {
    let base = global.directory.clone();
    let directory = match dir {
        Some(dir) => Some(base.map_or_else(|| dir.to_owned(), |base| base.join(dir))),
        None => base,
    };
    GlobalArgs { directory, json: global.json, color: global.color }
}

fn list(context: &Context) -> Result<Box<dyn Output>> {
    let trusted = context.metier.trusted_folders()?;
    let folders = trusted.iter().map(|known| Folder {
        folder: known.folder.as_str().to_owned(),
        digest: known.digest(),
        skills: known.skills.clone(),
        changed: changed_since_trusted(known),
        followed: known.followed.is_some(),
        granted_at: known.granted_at,
    });
    Ok(Box::new(Folders { folders: folders.collect() }))
}

impl Output for Granted {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.trusted, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let trusted = &self.trusted;
        let folder = paint(BOLD, path_text(trusted.folder.as_ref()));
        let number = count(trusted.skills.len(), "skill");
        let follows = if trusted.followed { ", edits are followed" } else { "" };
        writeln!(out, "{} {folder}: {number}{follows}", paint(GREEN, "trusted"))?;
        for skill in trusted.skills.iter().filter(|_| !self.is_shown) {
            for line in skill_lines(skill) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        for Untrusted { path, reason, .. } in &trusted.left_out {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: {} is not trusted: {}", safe(path), safe(reason)));
        }
        print_note(&paint(DIM, "to undo this: metier untrust"));
        Ok(())
    }
}

impl Output for Folders {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.folders.is_empty() {
            let plain = anstyle::Style::new();
            let columns =
                [("SKILLS", plain), ("CHANGED", YELLOW), ("SINCE", DIM), ("FOLDER", BOLD)];
            let mut table = Table::new(&columns);
            for folder in &self.folders {
                let follows = if folder.followed { "  (edits are followed)" } else { "" };
                let changed = match folder.changed.len() {
                    0 => "-".to_owned(),
                    number => number.to_string(),
                };
                table.row(vec![
                    folder.skills.len().to_string(),
                    changed,
                    time_text(folder.granted_at),
                    format!("{}{follows}", path_text(folder.folder.as_ref())),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        let what = match self.folders.len() {
            0 => "no folder is trusted".to_owned(),
            number => count(number, "trusted folder"),
        };
        print_note(&paint(DIM, what));
        Ok(())
    }
}
