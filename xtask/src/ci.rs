//! `cargo xtask ci`: what CI runs besides the tests, in the order in which it fails fastest.
//!
//! It stops at the first step that fails and ends with a table of what passed, how long it took
//! and what was not reached.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::flags::{Flags, UsageError};
use crate::workspace::{Outcome, Workspace, status};
use crate::{deny, examples, fuzz, generate, tidy};

struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<Outcome>,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", run: fmt },
    Step { name: "clippy", run: clippy },
    Step { name: "doc", run: doc },
    Step { name: "fuzz", run: fuzz::check },
    Step { name: "tidy", run: |workspace| tidy::run(workspace, &[]) },
    Step { name: "gen", run: |workspace| generate::run(workspace, &["--check".to_owned()]) },
    Step { name: "examples", run: examples::check },
    Step { name: "deny", run: |workspace| deny::run(workspace, &[]) },
];

/// Runs the steps that were not skipped.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    let flags = Flags::parse(args, &[], &["--skip"])?;
    let skipped = flags.all("--skip");
    if let Some(unknown) = skipped.iter().find(|name| STEPS.iter().all(|it| it.name != **name)) {
        return Err(UsageError(format!("no step `{unknown}`; see `cargo xtask help`")).into());
    }
    let mut results: Vec<(&str, String)> = Vec::new();
    let mut outcome = Outcome::Passed;
    for step in STEPS {
        let result = if outcome == Outcome::Failed {
            "not reached".to_owned()
        } else if skipped.contains(&step.name) {
            "skipped".to_owned()
        } else {
            let (step_outcome, took) = run_step(workspace, step);
            outcome = step_outcome;
            let word = if outcome == Outcome::Passed { "passed" } else { "FAILED" };
            format!("{word:<11} {:6.1} s", took.as_secs_f64())
        };
        results.push((step.name, result));
    }
    println!("\nci:");
    for (name, result) in results {
        println!("  {name:<8} {result}");
    }
    Ok(outcome)
}

fn run_step(workspace: &Workspace, step: &Step) -> (Outcome, Duration) {
    println!("\n== {}", step.name);
    let start = Instant::now();
    let outcome = (step.run)(workspace).unwrap_or_else(|error| {
        // The table still has to come, so the error is printed here and not by `main`.
        eprintln!("xtask: {error:#}");
        Outcome::Failed
    });
    (outcome, start.elapsed())
}

fn fmt(workspace: &Workspace) -> Result<Outcome> {
    let ours = status(&mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    let fuzz = status(&mut workspace.cargo(&fuzz))?;
    Ok(if ours == Outcome::Passed { fuzz } else { ours })
}

fn clippy(workspace: &Workspace) -> Result<Outcome> {
    let args = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    status(&mut workspace.cargo(&args))
}

fn doc(workspace: &Workspace) -> Result<Outcome> {
    let args = ["doc", "--no-deps", "--workspace", "--document-private-items"];
    status(workspace.cargo(&args).env("RUSTDOCFLAGS", "--deny=warnings"))
}
