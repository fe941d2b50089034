//! `cargo xtask bench evals`: what a trial of an eval costs beside calling the offline model alone.
//!
//! Both are measured in one process, one after the other, over the same skills and requests
//! (`crates/metier-evals/benches/trials.rs`); the ratio carries over to other machines.

use anyhow::{Context, Result, bail};

use super::machine;
use crate::workspace::{Workspace, output};

/// Trigger cases, over 200 skills.
pub(crate) const CASES: u32 = 10_000;
/// Cases a second on two cores, as guidance.
const MIN_RATE: f64 = 2_000.0;
/// A trial beside one call of the router.
const MAX_RATIO: f64 = 3.0;
/// Bytes that one more case may take: its place in the plan and its result's place in the files.
const MAX_BYTES: u64 = 4_000;

/// Builds and measures.
pub(crate) fn measure(workspace: &Workspace, cases: u32, profile: &str) -> Result<String> {
    let mut command = workspace.cargo(&["bench", "--quiet", "--package", "metier-evals"]);
    command.args(["--bench", "trials", "--profile", profile, "--", &cases.to_string()]);
    let printed = String::from_utf8(output(&mut command)?).context("the bench printed no text")?;
    let line = printed.trim();
    let fields: Vec<&str> = line.split('\t').collect();
    let [cases, threads, router, eval, bytes] = fields[..] else {
        bail!("the bench printed `{line}`")
    };
    let (cases, router, eval): (f64, f64, f64) = (cases.parse()?, router.parse()?, eval.parse()?);
    let bytes: u64 = bytes.parse()?;
    let verdict = |passes: bool| if passes { "PASS" } else { "**MISS**" };
    let (rate, ratio) = (cases / eval * 1e3, eval / router);
    Ok(format!(
        "Machine: {}. {cases} trigger cases over 200 skills, {threads} threads, one process.\n\n\
         | what | measured | target | |\n|---|---|---|---|\n\
         | trials a second, each through the whole loop, its result kept | {rate:.0} | {MIN_RATE:.0} | {} |\n\
         | a trial beside one call of the router on the same skills | {ratio:.2}x ({:.3} / {:.3} ms a case) | {MAX_RATIO}x | {} |\n\
         | memory for one more case | {bytes} bytes | {MAX_BYTES} bytes | {} |\n",
        machine::describe(&workspace.root),
        verdict(rate >= MIN_RATE),
        eval / cases,
        router / cases,
        verdict(ratio <= MAX_RATIO),
        verdict(bytes <= MAX_BYTES),
    ))
}
