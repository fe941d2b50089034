//! `cargo xtask deny`: licences, banned crates and sources, by cargo-deny and `deny.toml`.
//!
//! A cargo-deny in `PATH` is used when it is new enough for our `deny.toml`. Else one is built
//! under `target/tools`, without optimisation: the check itself takes a second either way, and the
//! build takes about a minute instead of more than three.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::flags::Flags;
use crate::workspace::{Outcome, Workspace, in_path, output, status};

/// The version that is installed.
const VERSION: &str = "0.20.2";
/// The oldest minor version of 0.x that reads our `deny.toml`.
const OLDEST_MINOR: u32 = 18;

/// Runs the check, installing the checker first where it is missing.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    Flags::parse(args, &[], &[])?;
    let checker = checker(workspace)?;
    let check = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    status(Command::new(checker).args(check).current_dir(&workspace.root))
}

fn checker(workspace: &Workspace) -> Result<PathBuf> {
    let name = format!("cargo-deny{EXE_SUFFIX}");
    if let Some(found) = in_path(&name).filter(|path| is_new_enough(path)) {
        return Ok(found);
    }
    let tools = workspace.target_dir()?.join("tools");
    let installed = tools.join("bin").join(&name);
    if !is_new_enough(&installed) {
        install(workspace, &tools)?;
    }
    Ok(installed)
}

fn is_new_enough(path: &Path) -> bool {
    let printed = output(Command::new(path).arg("--version")).unwrap_or_default();
    minor_version(&String::from_utf8_lossy(&printed)).is_some_and(|minor| minor >= OLDEST_MINOR)
}

/// The second number of a line such as `cargo-deny 0.20.2`; a 1.x counts as newer than any 0.x.
fn minor_version(line: &str) -> Option<u32> {
    let mut numbers = line.split_whitespace().nth(1)?.split('.');
    let major: u32 = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some(if major == 0 { minor } else { u32::MAX })
}

fn install(workspace: &Workspace, tools: &Path) -> Result<()> {
    eprintln!("deny: building cargo-deny {VERSION} into {} (about a minute)", tools.display());
    let build = tools.join("build");
    let mut command = workspace.cargo(&["install", "cargo-deny", "--locked", "--debug", "--quiet"]);
    command.args(["--version", VERSION, "--root"]).arg(tools).arg("--target-dir").arg(&build);
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let outcome = status(&mut command)?;
    // Half a gigabyte that nothing needs again; if it stays, `cargo clean` takes it.
    let _ = fs::remove_dir_all(&build);
    if outcome == Outcome::Failed {
        bail!("cargo-deny could not be built; install it yourself and run this again");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_line_of_cargo_deny_is_read() {
        assert_eq!(minor_version("cargo-deny 0.20.2\n"), Some(20));
        assert_eq!(minor_version("cargo-deny 1.0.0"), Some(u32::MAX));
        assert_eq!(minor_version(""), None);
    }
}
