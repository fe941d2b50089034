//! Which skills `metier check` and `metier scan` look at: what a path means, and what is meant without one.
//!
//! Looking is `metier-registry`'s; this file turns what a scan found into files to judge, each once.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use metier::fs::is_dir;
use metier::registry::roots::project_roots;
use metier::registry::{Root, ScanOptions, scan};
use metier::skill::{Code, Diagnostic, Profile, Severity, Source, nearest};

use crate::commands::content::skill_file;
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// A `SKILL.md` to check, or something in its place that cannot be one.
pub(in crate::commands) struct Target {
    pub(in crate::commands) file: PathBuf,
    pub(in crate::commands) problem: Option<Diagnostic>,
}

impl Target {
    fn skill(directory: &Path) -> Self {
        Self { file: skill_file(directory), problem: None }
    }

    fn problem(
        file: PathBuf,
        code: Code,
        severity: Severity,
        message: impl Into<Box<str>>,
    ) -> Self {
        Self { file, problem: Some(Diagnostic::about_file(code, severity, message)) }
    }

    pub(in crate::commands) fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// Which skills are checked.
pub(in crate::commands) enum CheckScope<'p> {
    /// Those that were named.
    Named(&'p [PathBuf]),
    /// Those in the current directory, else the project's.
    Here,
    /// The user's.
    User,
    /// Those of every root.
    All,
}

/// What is checked, and which folders were looked at to find it.
pub(in crate::commands) struct Targets {
    pub(in crate::commands) targets: Vec<Target>,
    pub(in crate::commands) looked_at: Vec<PathBuf>,
}

/// The files of a scope.
pub(in crate::commands) fn targets(scope: &CheckScope<'_>, context: &Context) -> Result<Targets> {
    match scope {
        CheckScope::Named(paths) => {
            Ok(Targets { targets: named(paths, context)?, looked_at: Vec::new() })
        }
        CheckScope::Here => default_targets(context),
        CheckScope::User => in_roots(context, |source| source == Source::User),
        CheckScope::All => in_roots(context, |_| true),
    }
}

fn named(paths: &[PathBuf], context: &Context) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for typed in paths {
        let path = without_dots(&context.metier.working_dir().join(typed));
        let shown = path_text(&path);
        if !metier::fs::exists(&path) {
            targets.push(installed(typed, &shown, context)?);
            continue;
        }
        let names_file = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        if is_dir(&path) && (!names_file || metier::fs::exists(&path.join("SKILL.md"))) {
            let found = with_agents_folders(below(explicit(&path), context), &path, context);
            targets.extend(or_missing(found, &path));
        } else if names_file {
            targets.push(Target { file: path, problem: None });
        } else {
            return Err(CommandError::usage(format!(
                "{shown} is not a skill: it is neither a directory nor a file called SKILL.md"
            )));
        }
    }
    Ok(each_once(targets))
}

/// What was found at or below `path`; where none of it is a skill, that too.
fn or_missing(mut found: Vec<Target>, path: &Path) -> Vec<Target> {
    if only_remarks(&found) {
        let message = "there is no `SKILL.md` in this directory or below it";
        let file = path.join("SKILL.md");
        found.push(Target::problem(file, Code::FileMissing, Severity::Error, message));
    }
    found
}

/// Whether there is neither a skill nor an error among them.
fn only_remarks(found: &[Target]) -> bool {
    let print_note = |problem: &Diagnostic| problem.severity < Severity::Error;
    found.iter().all(|target| target.problem.as_ref().is_some_and(print_note))
}

/// The path without `.` and `..`, so that what is shown leads there from anywhere.
fn without_dots(path: &Path) -> PathBuf {
    let parent = path.components().any(|part| part == std::path::Component::ParentDir);
    let plain = || path.components().collect();
    if parent { metier::fs::canonical(path).unwrap_or_else(|_| plain()) } else { plain() }
}

/// A skill by its name, where no path is meant: one that is listed, or that was left out.
fn installed(typed: &Path, shown: &str, context: &Context) -> Result<Target> {
    let missing = || {
        CommandError::usage(format!("{shown} does not exist"))
            .help("name a skill's folder, its SKILL.md, a folder of skills, or a skill by its name")
    };
    let name = typed.to_str().filter(|name| !name.contains(['/', '\\'])).ok_or_else(missing)?;
    let scan = context.metier.skills();
    if let Some(entry) = scan.index.find(name) {
        if entry.source == Source::Builtin {
            let message = format!("{} is built in: there is no file to check", entry.id());
            return Err(CommandError::usage(message).help("`metier inspect` shows it"));
        }
        return Ok(Target::skill(&entry.path));
    }
    let left_out = scan.report.ignored.iter();
    let mut left_out = left_out.filter(|line| line.path.file_name().is_some_and(|it| it == name));
    left_out.next().map(|line| Target::skill(&line.path)).ok_or_else(|| {
        let names = scan.index.entries().iter().map(|entry| entry.name().as_str());
        match nearest(name, names) {
            Some(near) => missing().help(format!("did you mean the skill `{near}`?")),
            None => missing(),
        }
    })
}

fn default_targets(context: &Context) -> Result<Targets> {
    let working_dir = context.metier.working_dir();
    let here = below(explicit(working_dir), context);
    if !only_remarks(&here) {
        let targets = each_once(with_agents_folders(here, working_dir, context));
        return Ok(Targets { targets, looked_at: vec![working_dir.to_owned()] });
    }
    let (mut found, looked_at) = found_in(context, |source| source == Source::Project);
    found.extend(here);
    if found.is_empty() {
        return Err(CommandError::usage(
            "there is no skill in this directory or in the project's skill folders",
        )
        .help(
            "name one: `metier check PATH` or `metier check NAME`; --user checks your own skills, \
             --all those of every root",
        ));
    }
    Ok(Targets { targets: each_once(or_missing(found, working_dir)), looked_at })
}

/// What is in the roots of some sources.
fn in_roots(context: &Context, wanted: impl Fn(Source) -> bool) -> Result<Targets> {
    let (found, looked_at) = found_in(context, wanted);
    if found.is_empty() {
        return Err(CommandError::usage("there is no skill in these folders")
            .help("`metier roots` shows the folders that are searched"));
    }
    Ok(Targets { targets: each_once(found), looked_at })
}

/// What is in the roots of some sources, and those roots that are there.
fn found_in(context: &Context, wanted: impl Fn(Source) -> bool) -> (Vec<Target>, Vec<PathBuf>) {
    let roots = context.metier.roots().into_iter();
    let roots: Vec<Root> = roots.filter(|root| wanted(root.source) && !root.absent).collect();
    let there = roots.iter().map(|root| root.path.clone()).filter(|path| is_dir(path)).collect();
    (roots.into_iter().flat_map(|root| below(root, context)).collect(), there)
}

/// What was found at or below `path`, and in a directory that is no skill itself what agents would
/// find there: a walk passes hidden folders by, and theirs are hidden.
fn with_agents_folders(mut found: Vec<Target>, path: &Path, context: &Context) -> Vec<Target> {
    // Of one that cannot be read, nothing inside can be.
    let closed = |target: &Target| {
        target.problem.as_ref().is_some_and(|problem| problem.code == Code::RootUnreadable)
    };
    if !found.iter().any(closed) && !metier::fs::exists(&skill_file(path)) {
        found.extend(project_roots(path).flat_map(|root| below(root, context)));
    }
    found
}

/// One skill under several paths is checked once, where it really is if that is among them. It is
/// its directory: two may have their `SKILL.md` linked to one file.
fn each_once(targets: Vec<Target>) -> Vec<Target> {
    let real = |target: &Target| {
        let directory = metier::fs::canonical(target.directory()).ok()?;
        Some(directory.join(target.file.file_name()?))
    };
    let mut found: Vec<(PathBuf, Target)> = targets
        .into_iter()
        .map(|target| (real(&target).unwrap_or_else(|| target.file.clone()), target))
        .collect();
    found.sort_by(|(real_a, a), (real_b, b)| {
        (*real_a != a.file, &a.file).cmp(&(*real_b != b.file, &b.file))
    });
    let mut seen = HashSet::new();
    found.retain(|(real, target)| {
        let code = target.problem.as_ref().map(|problem| problem.code.as_str());
        seen.insert((real.clone(), code))
    });
    let mut targets: Vec<Target> = found.into_iter().map(|(_, target)| target).collect();
    targets.sort_by(|a, b| a.file.cmp(&b.file));
    targets
}

fn explicit(path: &Path) -> Root {
    Root {
        source: Source::Explicit,
        path: path.to_owned(),
        plugin: None,
        required: false,
        absent: false,
        foreign: None,
    }
}

/// Every `SKILL.md` in a root, valid or not, and what could not be looked at.
fn below(root: Root, context: &Context) -> Vec<Target> {
    let options = ScanOptions { builtin: false, ..context.metier.scan_options() };
    let scan = scan(&[root], &options);
    let mut targets = Vec::new();
    for line in &scan.report.ignored {
        let odd =
            matches!(line.code, Code::FileNotRegular | Code::FileUnreadable | Code::FileChanging);
        targets.push(if odd {
            Target::problem(
                line.path.join("SKILL.md"),
                line.code,
                Severity::Error,
                line.message.clone(),
            )
        } else {
            Target::skill(&line.path)
        });
    }
    for line in &scan.report.notes {
        // A directory that was only walked once is no fault of its skills.
        if let Some(severity) =
            line.code.severity(Profile::Strict).filter(|it| *it > Severity::Note)
        {
            // A `SKILL.md` that is a dead link is a skill that cannot be read.
            let in_place = line.path.file_name().is_some_and(|name| name == "SKILL.md");
            let severity = if in_place { Severity::Error } else { severity };
            targets.push(Target::problem(
                line.path.clone(),
                line.code,
                severity,
                line.message.clone(),
            ));
        }
    }
    // A skill that links lead to is checked once, where it really is.
    let entries = scan.index.entries().iter().chain(scan.index.shadowed());
    targets.extend(entries.map(|entry| Target::skill(&entry.path)));
    targets
}
