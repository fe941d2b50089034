//! `cargo xtask bench doctor`: `metier doctor` against `metier list` on sixty thousand real texts.
//!
//! Doctor reads every body, so it costs more than a listing; the target bounds how much. The folders are
//! made from the collection's loose texts, each used as often as it takes under a name of its own.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::corpus;
use super::discovery::{build, environment, run_in_turns};
use super::machine;
use super::process::{Program, Stat};
use super::scratch::Scratch;
use crate::workspace::Workspace;

/// Folders of the tree.
pub(super) const FOLDERS: u32 = 60_000;
/// How often the time of a listing it may take.
const MAX_RATIO: f64 = 4.0;

/// Measures both on a tree of `folders`, and gives the table.
pub(super) fn measure(
    workspace: &Workspace,
    scratch: &Scratch,
    folders: u32,
    repeats: u32,
) -> Result<String> {
    let binaries = build(workspace)?;
    let (tree, home, cwd) =
        (scratch.fresh("texts")?, scratch.fresh("home")?, scratch.fresh("cwd")?);
    eprintln!("bench: {folders} folders: making the tree");
    if !corpus::write_texts(&tree, folders)? {
        bail!("there are no texts to measure on");
    }
    let machine = machine::describe(&cwd);
    let program = |command: &str| -> Result<Program> {
        let root = tree.to_str().context("the temporary directory is not UTF-8")?;
        Ok(program(&binaries.metier, &[command, "--json", "--root", root], &home, &cwd))
    };
    let [list, doctor] = run_in_turns(&[program("list")?, program("doctor")?], repeats)?;
    Ok(table(&machine, folders, repeats, &list.stat(), &doctor.stat()))
}

fn program(path: &Path, args: &[&str], home: &Path, cwd: &Path) -> Program {
    Program {
        path: path.to_owned(),
        args: args.iter().map(Into::into).collect(),
        env: environment(home),
        dir: cwd.to_owned(),
    }
}

fn table(machine: &str, folders: u32, repeats: u32, list: &Stat, doctor: &Stat) -> String {
    let mut out = format!("Machine: {machine}. {repeats} rounds in turns, {folders} folders.\n\n");
    out.push_str("| what | ms | CPU ms | peak MB |\n|---|--:|--:|--:|\n");
    for (what, stat) in [("list", list), ("doctor", doctor)] {
        let _ = writeln!(
            out,
            "| `{what} --json` | {:.0} / {:.0} | {:.0} | {:.0} |",
            stat.min, stat.median, stat.cpu, stat.peak_mb
        );
    }
    let (wall, cpu) = (doctor.min / list.min, doctor.cpu / list.cpu);
    let word = if wall <= MAX_RATIO { "PASS" } else { "**MISSED**" };
    let _ = writeln!(
        out,
        "\nMinimum / median. Target: at most {MAX_RATIO}x a listing; measured {wall:.2}x \
         ({cpu:.2}x of the processor time): {word}."
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_said() {
        let stat = |min| Stat { min, median: min, cpu: min, peak_mb: 1.0 };
        assert!(table("2 cores", 10, 1, &stat(1.0), &stat(3.9)).contains("3.90x"));
        assert!(table("2 cores", 10, 1, &stat(1.0), &stat(3.9)).contains("PASS"));
        assert!(table("2 cores", 10, 1, &stat(1.0), &stat(4.1)).contains("MISSED"));
    }
}
