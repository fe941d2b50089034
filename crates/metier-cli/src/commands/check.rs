//! `metier check`: what is wrong with skills, line by line; and the safe fixes.
//!
//! The judgement is `metier-skill`'s, the choice of files `targets`'; this file draws and writes
//! fixes.

mod code_page;
mod statistics;
pub(super) mod targets;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use metier::fs::{ReadError, write_atomic};
use metier::skill::{
    Code, Diagnostic, DiagnosticAt, ParseOptions, Profile, Severity, TextEdit, apply_edits,
};
use serde::Serialize;

use crate::commands::content::{Files, SkillMd, judge};
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::diagnostic::draw;
use crate::render::style::{DIM, GREEN, RED, YELLOW, paint};
use crate::render::{count, diff, safe, sarif};
use statistics::CodeCount;
use targets::{CheckScope, Target, Targets, targets};

/// Check skills and show each problem under its source line.
///
/// PATH is a skill's folder, its SKILL.md, a folder of skills, or a project, in which the folders of
/// all known agents are checked too; or the name of a skill that `metier list` shows. Without PATH: the
/// skill or the skills in the current directory, else the project's skills.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier check my-skill
  metier check --all --statistics  every skill of every root, counted by code
  metier check --explain yaml-unquoted-colon
  metier check skills --format sarif > skills.sarif
  metier check --diff my-skill     show what --fix would write
  metier check --spec my-skill     by the public specification alone

docs/diagnostics.md explains every code. Exit code 1 means that a skill has an error.")]
pub(crate) struct CheckArgs {
    /// Skills, by path or name, or folders of skills.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check your own skills, in all your folders.
    #[arg(long, conflicts_with = "paths")]
    user: bool,
    /// Check the skills of every root: the project's, yours, and those of plugins.
    #[arg(long, conflicts_with_all = ["paths", "user"])]
    all: bool,
    /// Explain a diagnostic: the code that is shown in brackets.
    #[arg(long, value_name = "CODE",
        conflicts_with_all = ["paths", "user", "all", "fix", "diff", "statistics"])]
    explain: Option<String>,
    /// Count the diagnostics by code instead of showing each.
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    statistics: bool,
    /// Apply the safe fixes, and show what was changed.
    #[arg(long)]
    fix: bool,
    /// Show the safe fixes without applying them.
    #[arg(long, conflicts_with = "fix")]
    diff: bool,
    /// Judge by the public specification alone, as its reference validator does.
    #[arg(long, conflicts_with = "profile")]
    spec: bool,
    /// How strictly to judge: strict, lenient or spec.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,
    /// How to print: human, json or sarif.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Count warnings as errors.
    #[arg(long)]
    deny_warnings: bool,
    /// Leave notes out.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Sarif,
}

impl CheckArgs {
    pub(crate) fn wants_json(&self) -> bool {
        self.format != Format::Human
    }
}

struct Checked {
    skills: Vec<CheckedSkill>,
    format: Format,
    deny_warnings: bool,
    statistics: bool,
    /// The folders that were looked at, where none was named.
    looked_at: Vec<String>,
    fixed: usize,
}

struct CheckedSkill {
    /// As shown: relative to the working directory where it lies below.
    file: String,
    source: Vec<u8>,
    diagnostics: Vec<Diagnostic>,
    diff: Option<String>,
    /// Whether there was a `SKILL.md`, or only something worth saying about a directory.
    is_skill: bool,
}

#[derive(Serialize)]
struct Summary {
    skills: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    fixable: usize,
    fixed: usize,
}

pub(crate) fn run(args: &CheckArgs, context: &Context) -> Result<Box<dyn Output>> {
    if let Some(code) = &args.explain {
        return Ok(Box::new(code_page::find(code)?));
    }
    let profile = if args.spec {
        Profile::Spec
    } else {
        args.profile.unwrap_or_else(|| context.metier.profile())
    };
    let mut checked = Checked {
        skills: Vec::new(),
        format: args.format,
        deny_warnings: args.deny_warnings,
        statistics: args.statistics,
        looked_at: Vec::new(),
        fixed: 0,
    };
    let scope = match args {
        CheckArgs { all: true, .. } => CheckScope::All,
        CheckArgs { user: true, .. } => CheckScope::User,
        CheckArgs { paths, .. } if paths.is_empty() => CheckScope::Here,
        CheckArgs { paths, .. } => CheckScope::Named(paths),
    };
    let Targets { targets, looked_at } = targets(&scope, context)?;
    checked.looked_at = looked_at.iter().map(|folder| path_text(folder)).collect();
    for target in targets {
        checked.add(&target, profile, args, context);
    }
    Ok(Box::new(checked))
}

impl Checked {
    fn add(&mut self, target: &Target, profile: Profile, args: &CheckArgs, context: &Context) {
        let path = target.file.clone();
        let file = shown(&path, context);
        let (mut skill_md, problem) = match (&target.problem, SkillMd::read(&path)) {
            (Some(problem), _) => (SkillMd::default(), Some(problem.clone())),
            (None, Ok(skill_md)) => (skill_md, None),
            (None, Err(error)) => (SkillMd::default(), Some(unreadable(&error))),
        };
        if let Some(problem) = problem {
            let is_skill =
                path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
            let (source, diagnostics) = (skill_md.bytes, vec![problem]);
            self.skills.push(CheckedSkill { file, source, diagnostics, diff: None, is_skill });
            return;
        }
        let directory = target.directory();
        let real = metier::fs::canonical(directory).unwrap_or_else(|_| directory.to_owned());
        let options = ParseOptions {
            profile,
            limits: context.metier.limits(),
            directory: name_of(directory).or_else(|| name_of(&real)),
        };
        // Where the folder cannot be listed, nothing is said about its files.
        let unknown = Files { rows: Vec::new(), truncated: true };
        let files = Files::below(directory).unwrap_or(unknown).names();
        let mut diagnostics = judge(&skill_md, &path, &options, &files);
        let mut shown_diff = None;
        let edits: Vec<TextEdit> =
            diagnostics.iter().filter_map(|d| d.fix.as_deref().cloned()).collect();
        if (args.fix || args.diff) && !edits.is_empty() {
            let fixed_text = apply_edits(&skill_md.bytes, &edits);
            let written = match (skill_md.is_whole(), args.fix) {
                // What was not read would be lost.
                (false, _) => Err("the file is too large to be fixed".to_owned()),
                (true, true) => write_fixed(&path, &fixed_text),
                (true, false) => Ok(()),
            };
            match written {
                Ok(()) => shown_diff = Some(diff::unified(&file, &skill_md.bytes, &fixed_text)),
                Err(message) => {
                    let code = Code::FileUnwritable;
                    diagnostics.insert(0, Diagnostic::about_file(code, Severity::Error, message));
                }
            }
            if args.fix && shown_diff.is_some() {
                self.fixed += edits.len();
                skill_md = SkillMd::whole(fixed_text);
                diagnostics = judge(&skill_md, &path, &options, &files);
            }
        }
        if !skill_md.is_whole() {
            for diagnostic in &mut diagnostics {
                diagnostic.fix = None;
            }
        }
        if args.quiet {
            diagnostics.retain(|diagnostic| diagnostic.severity > Severity::Note);
        }
        let (source, diff) = (skill_md.bytes, shown_diff);
        self.skills.push(CheckedSkill { file, source, diagnostics, diff, is_skill: true });
    }

    fn counted(&self) -> Vec<CodeCount> {
        statistics::count(self.skills.iter().flat_map(|skill| &skill.diagnostics))
    }

    fn summary(&self) -> Summary {
        let all = || self.skills.iter().flat_map(|skill| &skill.diagnostics);
        let number = |severity| all().filter(|diagnostic| diagnostic.severity == severity).count();
        Summary {
            skills: self.skills.iter().filter(|skill| skill.is_skill).count(),
            errors: number(Severity::Error),
            warnings: number(Severity::Warning),
            notes: number(Severity::Note),
            fixable: all().filter(|diagnostic| diagnostic.fix.is_some()).count(),
            fixed: self.fixed,
        }
    }
}

/// Writes a fixed file in place; a link is left alone, because it may lead anywhere.
fn write_fixed(path: &Path, fixed: &[u8]) -> std::result::Result<(), String> {
    if metier::fs::is_link(path) {
        return Err("the file is a link and was not changed".to_owned());
    }
    write_atomic(path, fixed).map_err(|error| format!("the file cannot be written: {error}"))
}

fn unreadable(error: &ReadError) -> Diagnostic {
    let (code, message) = match error {
        ReadError::NotRegular => {
            (Code::FileNotRegular, "`SKILL.md` is not a regular file".to_owned())
        }
        ReadError::TooLarge(limit) => {
            (Code::FrontmatterTooLarge, format!("the file is larger than {limit} bytes"))
        }
        ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            (Code::FileMissing, "there is no `SKILL.md` in this directory".to_owned())
        }
        other => (Code::FileUnreadable, format!("the file cannot be read: {other}")),
    };
    Diagnostic::about_file(code, Severity::Error, message)
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}

fn shown(path: &Path, context: &Context) -> String {
    let relative = path.strip_prefix(context.metier.working_dir()).unwrap_or(path);
    relative.to_string_lossy().into_owned()
}

#[derive(Serialize)]
struct Document<'a> {
    diagnostics: Vec<DiagnosticAt<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diffs: Vec<FileDiff<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Vec<CodeCount>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    looked_at: &'a [String],
    summary: Summary,
}

/// What `--fix` wrote to a file, or `--diff` would.
#[derive(Serialize)]
struct FileDiff<'a> {
    file: &'a str,
    diff: String,
}

impl Output for Checked {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let pairs = || {
            self.skills
                .iter()
                .flat_map(|skill| skill.diagnostics.iter().map(|d| (skill.file.as_str(), d)))
        };
        if self.format == Format::Sarif {
            return write_json(&sarif::document(pairs()), out);
        }
        let diagnostics = pairs().map(|(file, diagnostic)| diagnostic.in_file(file)).collect();
        let diffs = self.skills.iter().filter_map(|skill| {
            let diff = anstream::adapter::strip_str(skill.diff.as_deref()?).to_string();
            Some(FileDiff { file: &skill.file, diff })
        });
        let summary = self.summary();
        let diffs = diffs.collect();
        let statistics = self.statistics.then(|| self.counted());
        let looked_at = &self.looked_at;
        write_json(&Document { diagnostics, diffs, statistics, looked_at, summary }, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.statistics {
            statistics::write(&self.counted(), out)?;
        }
        for skill in self.skills.iter().filter(|_| !self.statistics) {
            for diagnostic in &skill.diagnostics {
                writeln!(out, "{}\n", draw(diagnostic, &skill.file, &skill.source))?;
            }
            if let Some(diff) = &skill.diff {
                writeln!(out, "{diff}")?;
            }
        }
        let summary = self.summary();
        let mut parts = Vec::new();
        for (number, word, style) in [
            (summary.errors, "error", RED),
            (summary.warnings, "warning", YELLOW),
            (summary.notes, "note", DIM),
        ] {
            if number > 0 {
                parts.push(paint(style, count(number, word)));
            }
        }
        let verdict = if parts.is_empty() { paint(GREEN, "no problems") } else { parts.join(", ") };
        write!(out, "{} checked: {verdict}", count(summary.skills, "skill"))?;
        if summary.fixed > 0 {
            write!(out, "; {} fixed", summary.fixed)?;
        }
        if summary.fixable > 0 {
            let command = safe("metier check --fix");
            write!(out, "; {} fixable with `{command}`", summary.fixable)?;
        }
        writeln!(out)?;
        out.flush()?;
        if !self.looked_at.is_empty() {
            print_note(&paint(DIM, format!("looked in: {}", self.looked_at.join(", "))));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let summary = self.summary();
        let bad = summary.errors > 0 || (self.deny_warnings && summary.warnings > 0);
        if bad { Exit::Findings } else { Exit::Done }
    }
}
