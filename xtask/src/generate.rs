//! `cargo xtask gen`: files that are written from the code, so that they cannot disagree with it.
//!
//! Each file is what one call of the built `metier` prints, one line in [`FILES`]; the list of public
//! items is made from the source. `--check` compares instead of writing; CI does that.

use std::env::consts::EXE_SUFFIX;
use std::process::Command;

use anyhow::Result;

use crate::flags::Flags;
use crate::public_api;
use crate::workspace::{Outcome, Workspace, output};

/// A generated file and the arguments of `metier` that print it.
const FILES: &[(&str, &[&str])] = &[
    ("docs/cli.md", &["__gen", "cli-reference"]),
    ("docs/diagnostics.md", &["__gen", "diagnostics"]),
    ("docs/config.schema.json", &["config", "schema"]),
    ("docs/script.schema.json", &["models", "script-schema"]),
    ("docs/eval.schema.json", &["eval", "check", "--schema"]),
];

/// The snapshot of the library's public items.
const PUBLIC_API: &str = "docs/public-api.txt";

/// Writes every generated file, or says which ones are stale.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    let check_only = Flags::parse(args, &["--check"], &[])?.has("--check");
    let files = fresh_files(workspace)?;
    let mut stale = 0;
    for (path, fresh) in &files {
        let written = workspace.read(path).unwrap_or_default();
        let Some(difference) = first_difference(&written, fresh) else {
            continue;
        };
        if check_only {
            println!("{path}: stale: {difference}");
            stale += 1;
        } else {
            workspace.write(path, fresh)?;
            println!("{path}: written");
        }
    }
    if stale > 0 {
        println!("gen: {stale} of {} files are stale; run `cargo xtask gen`", files.len());
        return Ok(Outcome::Failed);
    }
    println!("gen: {} files are fresh", files.len());
    Ok(Outcome::Passed)
}

/// Every generated file with the text it should have.
fn fresh_files(workspace: &Workspace) -> Result<Vec<(&'static str, String)>> {
    let mut files = vec![(PUBLIC_API, public_api::snapshot(workspace)?)];
    output(&mut workspace.cargo(&["build", "--quiet", "--package", "metier-cli"]))?;
    let metier = workspace.target_dir()?.join("debug").join(format!("metier{EXE_SUFFIX}"));
    for (path, args) in FILES {
        let mut command = Command::new(&metier);
        // Nothing of the terminal it runs in may reach the file.
        command.args(*args).current_dir(&workspace.root).env("NO_COLOR", "1").env("COLUMNS", "100");
        files.push((*path, String::from_utf8(output(&mut command)?)?));
    }
    Ok(files)
}

/// Where two texts begin to differ, in a form that fits a log.
fn first_difference(written: &str, fresh: &str) -> Option<String> {
    if written == fresh {
        return None;
    }
    let old: Vec<&str> = written.lines().collect();
    let new: Vec<&str> = fresh.lines().collect();
    let at = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let show = |lines: &[&str]| match lines.get(at) {
        Some(line) => format!("`{}`", line.chars().take(80).collect::<String>()),
        None => "the end".to_owned(),
    };
    Some(format!(
        "{} lines written, {} expected; line {}: has {}, expected {}",
        old.len(),
        new.len(),
        at + 1,
        show(&old),
        show(&new)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn the_first_different_line_is_shown() {
        assert_eq!(
            first_difference("a\nb\n", "a\nc\nd\n").unwrap(),
            "2 lines written, 3 expected; line 2: has `b`, expected `c`"
        );
        assert_eq!(
            first_difference("", "a\n").unwrap(),
            "0 lines written, 1 expected; line 1: has the end, expected `a`"
        );
    }
}
