//! The examples of the crate `metier`: each is built and run by `cargo xtask ci`.
//!
//! An example runs in a temporary directory of its own with an empty home, without standard input and
//! with no variable but `PATH`: it must not need a key, a network or anything of the machine. It is
//! built first, as cargo itself needs the real home.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::{Outcome, Workspace, output, status};

const PACKAGE: &str = "metier";

/// Builds and runs every example, and says which ones failed.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let names = names(&workspace.metadata()?);
    output(&mut workspace.cargo(&["build", "--quiet", "--package", PACKAGE, "--examples"]))?;
    let built = workspace.target_dir()?.join("debug").join("examples");
    let mut failed = Vec::new();
    for name in &names {
        println!("example {name}");
        let program = built.join(format!("{name}{EXE_SUFFIX}"));
        if run(name, Command::new(program))? == Outcome::Failed {
            failed.push(name.as_str());
        }
    }
    if failed.is_empty() {
        println!("examples: {} ran", names.len());
        return Ok(Outcome::Passed);
    }
    println!("examples: failed: {}", failed.join(", "));
    Ok(Outcome::Failed)
}

/// The names of the examples in the output of `cargo metadata --no-deps`.
fn names(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let ours = packages.filter(|package| package["name"] == PACKAGE);
    let targets = ours.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let is_example = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"))
    };
    let mut names: Vec<String> = targets
        .filter(is_example)
        .filter_map(|target| target["name"].as_str())
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

/// Runs one example with nothing of the machine but `PATH`.
fn run(name: &str, mut command: Command) -> Result<Outcome> {
    let dir = std::env::temp_dir().join(format!("metier-example-{name}-{}", std::process::id()));
    let (home, work) = (dir.join("home"), dir.join("work"));
    for dir in [&home, &work] {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    command.env_clear().env("HOME", &home).current_dir(&work).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let outcome = status(&mut command);
    let _ = fs::remove_dir_all(&dir);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_library_are_found_in_the_metadata() {
        let target = |kind: &str, name: &str| serde_json::json!({"kind": [kind], "name": name});
        let metadata = serde_json::json!({"packages": [
            {"name": "metier-fs", "targets": [target("example", "other")]},
            {"name": "metier", "targets": [
                target("lib", "metier"),
                target("example", "tool"),
                target("example", "agent"),
            ]},
        ]});
        assert_eq!(names(&metadata), ["agent", "tool"]);
    }

    #[cfg(unix)]
    #[test]
    fn an_example_sees_an_empty_home_and_its_exit_code_counts() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let is_bare = "test -z \"$(ls -A \"$HOME\")$(ls -A .)$CARGO\"";
        assert_eq!(run("bare", shell(is_bare)).unwrap(), Outcome::Passed);
        assert_eq!(run("fails", shell("exit 3")).unwrap(), Outcome::Failed);
    }
}
