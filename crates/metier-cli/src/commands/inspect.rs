//! `metier inspect`: everything about one skill, without running anything of it.
//!
//! The only discovery command that reads a body, to say what loading it would cost.

use std::io::{self, Write};

use clap::Args;
use metier::policy::TrustStatus;
use metier::registry::{Conflict, Entry};
use metier::skill::{Diagnostic, ParseOptions, estimate_tokens, parse};
use metier::{find, trust_status};
use serde::Serialize;
use serde_json::Value;

use crate::commands::content::{Content, FileKind, FileRow, judge, listed_tokens, skill_file};
use crate::commands::list::{path_text, shadowed_ids};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, heading, write_json};
use crate::render::diagnostic::draw;
use crate::render::style::{BOLD, CYAN, DIM, YELLOW, paint};
use crate::render::{bytes, count, fold_line, safe};
use crate::source_arg::SourceArg;

/// Show everything about one skill: fields, controls, files, cost, location, problems.
///
/// Problems in the body are left out where a rule denies loading the skill.
/// NAME is a skill's name, or `source:name` (also `name@source`) for one that another shadows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier inspect pdf
  metier inspect user:pdf     the user's skill, although the project has one of that name
  metier inspect pdf --json")]
pub(crate) struct InspectArgs {
    /// The skill.
    name: String,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Inspection {
    #[serde(flatten)]
    entry: Value,
    files: Vec<FileRow>,
    files_truncated: bool,
    tokens: Tokens,
    body_lines: usize,
    root: Option<String>,
    trust: TrustStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<Conflict>,
    #[serde(skip)]
    shown: Entry,
    #[serde(skip)]
    diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    source: Vec<u8>,
}

/// What the skill costs a model, as an estimate.
#[derive(Serialize)]
struct Tokens {
    catalog: usize,
    body: usize,
}

pub(crate) fn run(args: &InspectArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.finding(&args.find);
    let scan = metier.skills();
    let entry = find(&args.source.of(&args.name)?, &scan)?;
    let content = Content::read(entry)?;
    let options = ParseOptions {
        profile: metier.profile(),
        limits: metier.limits(),
        directory: entry
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .map(|name| name.trim_start_matches("builtin:")),
    };
    let parsed = parse(&content.skill_md.bytes, &options);
    let names = content.files.names();
    let mut diagnostics = judge(&content.skill_md, &skill_file(&entry.path), &options, &names);
    if metier.reader().approved().check(entry).is_err() {
        // A problem is drawn under its line, and a line of the body is the text of the skill.
        let end = parsed.body.unwrap_or(0);
        diagnostics.retain(|diagnostic| (diagnostic.span.start as usize) < end);
    }
    let body =
        String::from_utf8_lossy(&content.skill_md.bytes[parsed.body.unwrap_or(0)..]).into_owned();
    let mut entry_json = serde_json::to_value(entry)
        .map_err(|error| CommandError::failed("internal", error.to_string()))?;
    entry_json["diagnostics"] = serde_json::to_value(&diagnostics).unwrap_or_default();
    let conflict = scan.report.conflicts.iter().find(|conflict| {
        conflict.winner == entry.path
            || conflict.shadowed.iter().any(|loser| loser.path == entry.path)
    });
    let root = scan.report.roots.iter().find(|root| root.priority == entry.priority);
    Ok(Box::new(Inspection {
        entry: entry_json,
        files: content.files.rows,
        files_truncated: content.files.truncated,
        tokens: Tokens { catalog: listed_tokens(entry), body: estimate_tokens(&body) },
        body_lines: body.lines().count(),
        root: root.map(|root| root.path.to_string_lossy().into_owned()),
        trust: trust_status(entry, &metier.trusted_folders().unwrap_or_default()),
        conflict: conflict.cloned(),
        shown: entry.clone(),
        diagnostics,
        source: content.skill_md.bytes,
    }))
}

impl Output for Inspection {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let entry = &self.shown;
        writeln!(
            out,
            "{}  {}",
            paint(BOLD, safe(entry.name().as_str())),
            paint(DIM, safe(&entry.id().to_string()))
        )?;
        writeln!(out, "{}\n", fold_line(&entry.skill.description))?;
        for (key, value) in self.facts() {
            writeln!(
                out,
                "  {}{} {value}",
                paint(CYAN, key),
                " ".repeat(15usize.saturating_sub(key.len()))
            )?;
        }
        self.write_files(out)?;
        self.write_conflict(out)?;
        if !self.diagnostics.is_empty() {
            writeln!(out)?;
            heading(out, "Diagnostics")?;
            let file = skill_file(&entry.path).to_string_lossy().into_owned();
            for diagnostic in &self.diagnostics {
                writeln!(out, "{}\n", draw(diagnostic, &file, &self.source))?;
            }
        }
        Ok(())
    }
}

impl Inspection {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let entry = &self.shown;
        let skill = &entry.skill;
        let controls = &skill.controls;
        let mut facts = vec![("path", path_text(&entry.path))];
        facts.extend(self.root.as_ref().map(|root| ("root", safe(root).into_owned())));
        facts.extend(entry.copies.iter().map(|copy| ("also at", path_text(&copy.path))));
        if let Some(mark) = self.trust.mark() {
            let help = match self.trust {
                TrustStatus::Followed => "its scripts ask; `metier trust`",
                _ => "loading it asks, its scripts do not run; `metier trust`",
            };
            facts.push(("trust", format!("{} ({help})", paint(YELLOW, mark))));
        }
        facts.push(("enabled", if entry.enabled { "yes".to_owned() } else { "no".to_owned() }));
        let who = match (controls.disable_model_invocation, controls.user_invocable) {
            (false, true) => "a model or a person",
            (false, false) => "a model",
            (true, true) => "a person",
            (true, false) => "no one",
        };
        facts.push(("started by", who.to_owned()));
        facts.push(("run mode", controls.run_mode.to_string()));
        facts.push((
            "allowed tools",
            controls.allowed_tools.as_ref().map_or_else(
                || "not restricted".to_owned(),
                |tools| {
                    if tools.is_empty() {
                        "none".to_owned()
                    } else {
                        safe(&tools.join(", ")).into_owned()
                    }
                },
            ),
        ));
        let details = skill.details();
        for (key, value) in details.texts() {
            let key = if key == "argument_hint" { "arguments" } else { key };
            facts.extend(value.map(|text| (key, fold_line(text).into_owned())));
        }
        if !details.paths.is_empty() {
            facts.push(("for files", safe(&details.paths.join(", ")).into_owned()));
        }
        for (title, fields) in
            [("metadata", &details.metadata), ("unknown fields", &details.unknown)]
        {
            if !fields.is_empty() {
                let names: Vec<&str> = fields.iter().map(|(key, _)| &**key).collect();
                facts.push((title, safe(&names.join(", ")).into_owned()));
            }
        }
        facts.push((
            "cost",
            format!(
                "about {} tokens listed, {} loaded ({})",
                self.tokens.catalog,
                self.tokens.body,
                count(self.body_lines, "line")
            ),
        ));
        facts.push(("digest", entry.digest.to_string()));
        facts
    }

    fn write_files(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        let total: u64 = self.files.iter().map(|file| file.bytes).sum();
        heading(out, &format!("Files ({}, {})", count(self.files.len(), "file"), bytes(total)))?;
        for kind in [FileKind::Markdown, FileKind::Script, FileKind::Template, FileKind::Other] {
            let rows: Vec<&FileRow> = self.files.iter().filter(|file| file.kind == kind).collect();
            if rows.is_empty() {
                continue;
            }
            writeln!(out, "  {}", paint(CYAN, kind.as_str()))?;
            for file in rows.iter().take(50) {
                let link = if file.link { " (link)" } else { "" };
                writeln!(out, "    {}{link}  {}", safe(&file.path), paint(DIM, bytes(file.bytes)))?;
            }
            if rows.len() > 50 {
                writeln!(out, "    and {} more", rows.len() - 50)?;
            }
        }
        if self.files_truncated {
            writeln!(out, "  {}", paint(YELLOW, "there are more files than are listed"))?;
        }
        Ok(())
    }

    fn write_conflict(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(conflict) = &self.conflict else {
            return Ok(());
        };
        writeln!(out)?;
        if conflict.winner == self.shown.path {
            heading(out, "Shadows")?;
            for (id, loser) in shadowed_ids(conflict).iter().zip(&conflict.shadowed) {
                writeln!(out, "  {}  {}", safe(id), paint(DIM, path_text(&loser.path)))?;
            }
        } else {
            heading(out, "Shadowed by")?;
            writeln!(
                out,
                "  {}:{}  {}",
                conflict.source,
                safe(&conflict.name),
                paint(DIM, path_text(&conflict.winner))
            )?;
        }
        Ok(())
    }
}
