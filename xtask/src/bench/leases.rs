//! `cargo xtask bench leases`: how fast workers take units from `PostgreSQL` and complete them, against `pgbench`
//! with the same two statements in the same run.
//!
//! The measuring itself is an example of `metier-evals`, so that this program does not stand on the library.

use std::process::Stdio;

use anyhow::{Context, Result};

use crate::workspace::{Workspace, output};

/// Where the table stands.
pub(super) const DOCUMENT: &str = "docs/scaling.md";

/// Measures with `seconds` a round, with the build of this profile, and gives the table.
pub(super) fn measure(workspace: &Workspace, seconds: u32, profile: &str) -> Result<String> {
    let seconds = seconds.to_string();
    let mut example = workspace.cargo(&["run", "--quiet", "--package", "metier-evals"]);
    example.args(["--example", "leases", "--profile", profile, "--", &seconds]);
    let table = output(example.stderr(Stdio::inherit()))?;
    let table = String::from_utf8(table).context("the table is not text")?;
    let how =
        format!("Built with the profile `{profile}`; {seconds} s a round, the median of three.");
    Ok(format!("{}\n\n{how}", table.trim_end()))
}
