//! `metier new`: a skill to start from, in the project or in the user's folder.
//!
//! Making it is `metier-registry`'s; this file asks for what is missing and reports the result.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier::registry::manage::{Created, SkillDraft, TemplateScript, check_new_name, create};
use metier::registry::{Entry, Scan};
use metier::skill::{Diagnostic, Severity, Source};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::safe;
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::scope::ScopeArgs;

/// Create a new skill: a folder with a SKILL.md that has the recommended sections.
///
/// Inside a repository it goes into the project's .agent/skills, elsewhere into ~/.agent/skills.
/// Existing files are never replaced. On a terminal you are asked for a description if you do not
/// give one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier new release-notes
  metier new release-notes --user -d 'Write release notes. Use when a version is tagged.'
  metier new csv-report --with-script --allowed-tools 'Read Bash(python3:*)'
  metier new pdf --root .claude/skills -d 'Fill in PDF forms.'")]
pub(crate) struct NewArgs {
    /// Its name: lower-case letters, digits and single hyphens.
    name: String,
    /// What it does and when to use it: all that a model sees before it loads the skill.
    #[arg(long, short = 'd', value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Create it in this folder of skills.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["user", "project"])]
    root: Option<PathBuf>,
    /// Limit it to these tools, separated by spaces or commas.
    #[arg(long, value_name = "TOOLS")]
    allowed_tools: Option<String>,
    /// Its licence.
    #[arg(long, value_name = "TEXT")]
    license: Option<String>,
    /// Include a script to start from.
    #[arg(long)]
    with_script: bool,
}

#[derive(Serialize)]
struct New {
    id: Option<String>,
    name: String,
    path: String,
    files: Vec<&'static str>,
    diagnostics: Vec<Diagnostic>,
    shadowed_by: Option<Rival>,
    shadows: Vec<Rival>,
}

/// Another skill of the same name.
#[derive(Serialize)]
struct Rival {
    source: Source,
    path: String,
}

impl Rival {
    fn new(source: Source, path: &Path) -> Self {
        Self { source, path: path.to_string_lossy().into_owned() }
    }
}

pub(crate) fn run(args: &NewArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    // Before a person is asked for a description that would be thrown away.
    check_new_name(&args.name).map_err(metier::Error::from)?;
    let folder = match &args.root {
        Some(root) => context.metier.working_dir().join(root),
        None => context.metier.skills_target(args.scope.chosen())?,
    };
    let description = description(args, json)?;
    let draft = SkillDraft {
        name: &args.name,
        description: &description,
        allowed_tools: args.allowed_tools.as_deref(),
        license: args.license.as_deref(),
        script: if args.with_script { TemplateScript::Example } else { TemplateScript::None },
    };
    let created = create(&folder, &draft, &context.metier.limits()).map_err(metier::Error::from)?;
    let scan = context.finding(&FindArgs::default()).skills();
    Ok(Box::new(New::report(created, &args.name, &scan)))
}

fn description(args: &NewArgs, json: bool) -> Result<String> {
    if let Some(description) = &args.description {
        return Ok(description.clone());
    }
    let missing = || {
        CommandError::usage("a skill needs a description: what it does and when to use it")
            .help("give it with --description TEXT")
    };
    if !prompt::can_ask(json) {
        return Err(missing());
    }
    prompt::ask("What does it do, and when should it be used?").ok_or_else(missing)
}

impl New {
    /// What a scan from here makes of the new skill.
    fn report(created: Created, name: &str, scan: &Scan) -> Self {
        let Created { path, files, diagnostics, .. } = created;
        let real = metier::fs::canonical(&path).unwrap_or_else(|_| path.clone());
        let is_new = |other: &Path| metier::fs::canonical(other).is_ok_and(|other| other == real);
        let index = &scan.index;
        let mut all = index.entries().iter().chain(index.shadowed());
        let entry: Option<&Entry> = all
            .find(|entry| entry.name().as_str() == name && is_new(&entry.path))
            .map(|entry| &**entry);
        let conflict = scan.report.conflicts.iter().find(|conflict| &*conflict.name == name);
        let mut new = Self {
            id: entry.map(|entry| entry.id().to_string()),
            name: name.to_owned(),
            path: path.to_string_lossy().into_owned(),
            files,
            diagnostics,
            shadowed_by: None,
            shadows: Vec::new(),
        };
        if let (Some(conflict), Some(_)) = (conflict, entry) {
            if is_new(&conflict.winner) {
                let others = conflict.shadowed.iter();
                new.shadows = others.map(|other| Rival::new(other.source, &other.path)).collect();
            } else {
                new.shadowed_by = Some(Rival::new(conflict.source, &conflict.winner));
            }
        }
        new
    }

    /// How the new skill is named where its name alone means another, or nothing.
    fn to_open(&self) -> String {
        let folder = Path::new(&self.path).parent().unwrap_or(Path::new("."));
        match &self.id {
            Some(id) if self.shadowed_by.is_some() => safe(id).into_owned(),
            Some(_) => self.name.clone(),
            None => format!("--root {} {}", path_text(folder), self.name),
        }
    }

    fn warn(&self) {
        let warning = paint(YELLOW, "warning");
        for found in self.diagnostics.iter().filter(|found| found.severity != Severity::Note) {
            print_note(&format!("{warning}: {} [{}]", safe(&found.message), found.code));
        }
        if let Some(rival) = &self.shadowed_by {
            print_note(&format!(
                "{warning}: it is shadowed by the {} skill {}; name it `{}` to reach it",
                rival.source,
                safe(&rival.path),
                safe(self.id.as_deref().unwrap_or_default()),
            ));
        }
        for rival in &self.shadows {
            print_note(&format!(
                "{warning}: it shadows the {} skill {}",
                rival.source,
                safe(&rival.path)
            ));
        }
        if self.id.is_none() {
            print_note(&format!(
                "{warning}: this folder is not searched for skills; pass it with --root, or add it to \
                 `skill_roots`"
            ));
        }
    }
}

impl Output for New {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let path = Path::new(&self.path);
        writeln!(out, "{} {}", paint(GREEN, "created"), paint(BOLD, &self.name))?;
        for file in &self.files {
            writeln!(out, "  {}", path_text(&path.join(file)))?;
        }
        out.flush()?;
        self.warn();
        let (open, check) = (self.to_open(), path_text(path));
        print_note(&paint(
            DIM,
            format!("next: `metier open {open}` to edit it, `metier check {check}` to check it"),
        ));
        Ok(())
    }
}
