//! `cargo xtask e2e-models --tasks`: whole tasks with checkable answers, given to a model of your own.
//!
//! A project with its own skills, and real skills of others as distractors; every request goes through the
//! program `metier`, and its answer is judged against the project's data. Arms (two builds, two settings) get the same
//! requests and are compared pair by pair. Every result is a JSON line on disk at once, so that a run that was
//! interrupted continues. It needs a model, so it is no part of CI.

mod arm;
mod compare;
mod distractors;
mod facts;
mod figures;
mod judge;
mod project;
mod requests;
mod results;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use self::arm::Arm;
use self::facts::Facts;
use self::project::Project;
use self::requests::TaskRequest;
use self::results::{ResultStore, TaskResult};
use super::environment::Environment;
use super::server::Server;
use super::{client, small_model};
use crate::flags::{Flags, UsageError};
use crate::workspace::{Outcome, Workspace};

/// What `--tasks` takes besides itself.
pub(crate) const VALUES: &[&str] = &[
    "--model-file",
    "--base-url",
    "--model-name",
    "--metier",
    "--against",
    "--output",
    "--plan",
    "--distractors",
    "--only",
    "--max-tokens",
];

/// A run that takes longer than this is ended: even one thread has answered by then.
const RUN_TIMEOUT: Duration = Duration::from_mins(20);

/// Runs every request with every arm, and prints the table.
pub(crate) fn run(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let dir = workspace.target_dir()?.join("e2e-models").join("tasks");
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/harbour");
    let requests = chosen(&Facts::read(&template)?, &flags.all("--only"))?;
    let programs = programs(workspace, flags)?;
    let arms = Arm::all(&programs, flags)?;
    let mut results = ResultStore::open(&dir.join("results.jsonl"))?;
    if !flags.has("--table") {
        let project = Project::make(&dir, &template, flags.number("--distractors", 28)?)?;
        let (server, base_url) = endpoint(&dir, flags)?;
        for arm in &arms {
            project.configure(arm, &base_url)?;
            run_arm(arm, &project, &requests, &mut results)?;
        }
        drop(server);
    }
    println!("{}", table::of(&arms, &requests, &results));
    Ok(Outcome::Passed)
}

fn run_arm(
    arm: &Arm,
    project: &Project,
    requests: &[TaskRequest],
    results: &mut ResultStore,
) -> Result<()> {
    for (at, request) in requests.iter().enumerate() {
        if results.get(arm, request).is_some() {
            continue;
        }
        project.restore()?;
        let ended = project.run(arm, request.text, RUN_TIMEOUT)?;
        let measured = figures::read(&ended.stdout, ended.took);
        let line = TaskResult::new(arm, request, project.dir(), measured);
        let text = line.to_text(line.score(request));
        println!("e2e-models: {}/{} {text}", at + 1, requests.len());
        project.keep_record(&line)?;
        results.add(line)?;
    }
    Ok(())
}

/// The programs to compare: those that were named, else this workspace's own.
fn programs(workspace: &Workspace, flags: &Flags) -> Result<Vec<PathBuf>> {
    let named = [flags.all("--metier"), flags.all("--against")].concat();
    if named.is_empty() {
        let profile = if flags.has("--release") { "release" } else { "dev" };
        return Ok(vec![client::build_program(workspace, profile)?]);
    }
    let whole = |name: &&str| {
        Path::new(name).canonicalize().with_context(|| format!("cannot find the program {name}"))
    };
    named.iter().map(whole).collect()
}

/// The requests whose id or kind was named, else all of them.
fn chosen(facts: &Facts, only: &[&str]) -> Result<Vec<TaskRequest>> {
    let mut requests = requests::all(facts);
    let known = |name: &&str| requests.iter().any(|one| one.id == *name || one.kind == *name);
    if let Some(unknown) = only.iter().find(|name| !known(name)) {
        return Err(UsageError(format!("no request and no kind of requests `{unknown}`")).into());
    }
    requests.retain(|one| only.is_empty() || only.contains(&one.id) || only.contains(&one.kind));
    Ok(requests)
}

/// Where the model is: at the address that was given, or in a server of ours, which ends with its value.
fn endpoint(dir: &Path, flags: &Flags) -> Result<(Option<Server>, String)> {
    match (flags.all("--base-url").last(), flags.all("--model-file").last()) {
        (Some(url), None) => Ok((None, (*url).to_owned())),
        (None, Some(file)) => {
            let weights = Path::new(file).canonicalize().context("cannot find the model file")?;
            let parent = dir.parent().context("no folder for the environment")?;
            let environment = Environment::for_server(parent)?;
            let server = small_model::start_own(&environment, &weights)?;
            let url = server.base_url();
            Ok((Some(server), url))
        }
        _ => {
            Err(UsageError("--tasks needs --model-file FILE.gguf or --base-url URL".into()).into())
        }
    }
}
