//! `cargo xtask tidy`: what the compiler and clippy do not check.
//!
//! Every check is a pure function over a path and its text in a file of its own; this file lists
//! the tracked files (and new ones that git does not ignore), runs the checks and prints what they
//! found as `path:line: message`. A warning is printed and does not fail.

mod banned_words;
mod changelog;
mod cjk;
mod finding;
mod front_ends;
mod headers;
mod leftovers;
mod levels;
mod lockfile;
mod maps;
mod names;
mod private;
mod sizes;
mod type_names;

use std::fs;
use std::process::Command;

use anyhow::Result;

use self::finding::Finding;
use crate::flags::Flags;
use crate::workspace::{Outcome, Workspace, output};

/// A check of one text file; it looks at the path first and returns nothing for foreign files.
type FileCheck = fn(path: &str, text: &str) -> Vec<Finding>;

const FILE_CHECKS: &[FileCheck] = &[
    changelog::check,
    cjk::check,
    headers::check,
    leftovers::check,
    lockfile::check,
    maps::check,
    names::check,
    private::check,
    sizes::check,
];

/// Runs every check over the workspace.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    Flags::parse(args, &[], &[])?;
    let paths = listed_files(workspace)?;
    let files = texts(workspace, &paths);
    let mut findings = missing_files(&paths);
    for (path, text) in &files {
        findings.extend(FILE_CHECKS.iter().flat_map(|check| check(path, text)));
    }
    findings.extend(banned_words::check(&files));
    findings.extend(type_names::check(&files));
    let members = levels::members(&workspace.metadata()?);
    findings.extend(levels::check(&members));
    findings.extend(front_ends::check(&members));
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} errors", paths.len(), findings.len());
    Ok(if findings.is_empty() { Outcome::Passed } else { Outcome::Failed })
}

fn listed_files(workspace: &Workspace) -> Result<Vec<String>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let printed = output(Command::new("git").args(list).current_dir(&workspace.root))?;
    let mut files: Vec<String> = printed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .filter(|name| workspace.root.join(name).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Each file with its text. A file that git still lists but that is gone, or that is not text, has
/// nothing to check.
fn texts(workspace: &Workspace, paths: &[String]) -> Vec<(String, String)> {
    let text = |path: &String| String::from_utf8(fs::read(workspace.root.join(path)).ok()?).ok();
    paths.iter().filter_map(|path| Some((path.clone(), text(path)?))).collect()
}

fn missing_files(files: &[String]) -> Vec<Finding> {
    let required = ["CHANGELOG.md", "Cargo.lock"];
    let missing = required.iter().filter(|name| !files.iter().any(|file| file == *name));
    missing.map(|name| Finding::new(name, 1, "the file is missing")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_without_a_changelog_is_reported() {
        let findings = missing_files(&["Cargo.lock".to_owned()]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].to_string(), "CHANGELOG.md:1: the file is missing");
    }
}
