//! Which files `metier check` checks: what a path means, and what is meant without one.
//!
//! Looking is `metier-registry`'s; this file turns what a scan found into files to judge, each once.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use metier::fs::is_dir;
use metier::registry::roots::project_roots;
use metier::registry::{Root, ScanOptions, scan};
use metier::skill::{Code, Diagnostic, Profile, Severity, Source};

use crate::commands::content::skill_file;
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// A `SKILL.md` to check, or something in its place that cannot be one.
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) problem: Option<Diagnostic>,
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

    pub(super) fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// What `paths` mean; without any, what is meant here.
pub(super) fn targets(paths: &[PathBuf], context: &Context) -> Result<Vec<Target>> {
    if paths.is_empty() {
        return default_targets(context);
    }
    let mut targets = Vec::new();
    for path in paths {
        let path = without_dots(&context.metier.working_dir().join(path));
        let shown = path_text(&path);
        if !metier::fs::exists(&path) {
            return Err(CommandError::usage(format!("{shown} does not exist"))
                .help("name a skill's folder, its SKILL.md, or a folder of skills"));
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

fn default_targets(context: &Context) -> Result<Vec<Target>> {
    let here = below(explicit(context.metier.working_dir()), context);
    if !only_remarks(&here) {
        return Ok(each_once(with_agents_folders(here, context.metier.working_dir(), context)));
    }
    let roots = context.metier.roots();
    let project = roots.into_iter().filter(|root| root.source == Source::Project);
    let mut found: Vec<Target> = project.flat_map(|root| below(root, context)).collect();
    found.extend(here);
    if found.is_empty() {
        return Err(CommandError::usage(
            "there is no skill in this directory or in the project's skill folders",
        )
        .help("name a skill's folder: metier check PATH"));
    }
    Ok(each_once(or_missing(found, context.metier.working_dir())))
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
