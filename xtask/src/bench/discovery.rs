//! `cargo xtask bench discovery`: `metier list` as a whole process against the floor.
//!
//! For each tree the programs run in turns, and the turn's first one changes from round to round,
//! so that no one of them always follows the same neighbour. This file measures; `report` judges.

use std::env::consts::EXE_SUFFIX;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::corpus;
use super::machine;
use super::process::{Program, Series, own_peak};
use super::report::{Report, Row, StartUp};
use super::scratch::Scratch;
use super::tree::{self, Shape};
use crate::workspace::{Outcome, Workspace, status};

/// Start-up is a millisecond or so: more rounds cost nothing and steady the minimum.
const START_UP_ROUNDS: u32 = 60;
/// Copies of the real collection.
const COPIES: u32 = 10;

/// The three programs, built with the release profile.
pub(super) struct Binaries {
    pub(super) metier: PathBuf,
    floor: PathBuf,
    empty: PathBuf,
}

/// What every measurement needs.
struct Bench<'a> {
    binaries: Binaries,
    scratch: &'a Scratch,
    /// An empty working directory, so that no skill of the developer's is found.
    cwd: PathBuf,
    repeats: u32,
    /// Skills that `metier list` shows without any root: those compiled in.
    builtin: usize,
}

/// Builds the programs and measures every tree, which are left in `scratch`.
pub(crate) fn measure(
    workspace: &Workspace,
    scratch: &Scratch,
    sizes: &[u32],
    repeats: u32,
) -> Result<Report> {
    let binaries = build(workspace)?;
    let cwd = scratch.fresh("cwd")?;
    let machine = machine::describe(&cwd);
    let mut bench = Bench { binaries, scratch, cwd, repeats, builtin: 0 };
    bench.builtin = bench.count_builtin()?;
    let start_up = bench.start_up()?;
    let mut rows = bench.real()?;
    for size in sizes {
        rows.extend(bench.size(*size)?);
    }
    rows.sort_by_key(|row| (row.shape, row.skills));
    Ok(Report { machine, repeats, own_peak_mb: own_peak(), start_up, rows })
}

/// Builds Metier and its rivals. Two calls: in one, Metier would be built with the features that xtask asks of
/// shared crates.
pub(super) fn build(workspace: &Workspace) -> Result<Binaries> {
    let metier = build_metier(workspace)?;
    let rivals = ["--package", "xtask", "--bin", "xtask-floor", "--bin", "xtask-empty"];
    build_release(workspace, &rivals)?;
    let dir = workspace.target_dir()?.join("release");
    let program = |name: &str| dir.join(format!("{name}{EXE_SUFFIX}"));
    Ok(Binaries { metier, floor: program("xtask-floor"), empty: program("xtask-empty") })
}

/// Builds Metier alone, and gives where it is.
pub(super) fn build_metier(workspace: &Workspace) -> Result<PathBuf> {
    build_release(workspace, &["--package", "metier-cli", "--bins"])?;
    Ok(workspace.target_dir()?.join("release").join(format!("metier{EXE_SUFFIX}")))
}

fn build_release(workspace: &Workspace, args: &[&str]) -> Result<()> {
    let mut command = workspace.cargo(&["build", "--release"]);
    if status(command.args(args))? == Outcome::Failed {
        bail!("`cargo build --release {}` failed", args.join(" "));
    }
    Ok(())
}

impl Bench<'_> {
    fn start_up(&self) -> Result<StartUp> {
        let home = self.scratch.fresh("home")?;
        let bare = self.program(Path::new("/bin/true"), &home, &[]);
        let empty = self.program(&self.binaries.empty, &home, &[]);
        let version = self.program(&self.binaries.metier, &home, &["--version"]);
        let list = self.program(&self.binaries.metier, &home, &["list", "--json"]);
        let [bare, empty, version, list] =
            run_in_turns(&[bare, empty, version, list], START_UP_ROUNDS)?.map(|it| it.stat());
        Ok(StartUp { bare, empty, version, list })
    }

    fn count_builtin(&self) -> Result<usize> {
        let (home, empty) = (self.scratch.fresh("home")?, self.scratch.fresh("empty")?);
        let empty = empty.to_str().context("the temporary directory is not UTF-8")?;
        let args = ["list", "--json", "--root", empty];
        self.program(&self.binaries.metier, &home, &args).probe(|output| found_skills(output))
    }

    /// The real collection and ten copies of it, where it is there.
    fn real(&self) -> Result<Vec<Row>> {
        let Some(skills) = corpus::unpack(&self.scratch.fresh("real")?)? else {
            return Ok(Vec::new());
        };
        let size = corpus::count(&skills)?;
        let first = self.tree(&skills, Shape::Real, size)?;
        let copies = self.scratch.fresh("copies")?;
        corpus::copy(&skills, &copies, COPIES)?;
        let second = self.tree(&copies, Shape::Copies, size * COPIES)?;
        Ok(vec![first, second])
    }

    /// Both shapes of one size.
    fn size(&self, size: u32) -> Result<[Row; 2]> {
        eprintln!("bench: {size} skills: making the tree");
        let flat = self.scratch.fresh(&format!("flat-{size}"))?;
        let grouped = self.scratch.fresh(&format!("grouped-{size}"))?;
        tree::write(&flat, size)?;
        let first = self.tree(&flat, Shape::Flat, size)?;
        tree::regroup(&flat, &grouped, size)?;
        let second = self.tree(&grouped, Shape::Grouped, size)?;
        Ok([first, second])
    }

    fn tree(&self, root: &Path, shape: Shape, size: u32) -> Result<Row> {
        // Writing back gigabytes of new files would run beside the measurement otherwise.
        let _ = Command::new("sync").status();
        eprintln!("bench: {size} skills: measuring, {}", shape.as_str());
        let home = self.scratch.fresh("home")?;
        let root = root.to_str().context("the temporary directory is not UTF-8")?;
        let depth = shape.depth().to_string();
        let program = |path: &Path, args: &[&str]| self.program(path, &home, args);
        let floor = program(&self.binaries.floor, &[root, &depth]);
        let list = program(&self.binaries.metier, &["list", "--json", "--root", root]);

        // The warm-up also proves that both see the same skills.
        expect_count("the floor", floor.probe(|output| printed_count(output))?, size)?;
        let found = list.probe(|output| found_skills(output))?;
        expect_count("`metier list`", found.saturating_sub(self.builtin), size)?;
        let [floor, list] = run_in_turns(&[floor, list], self.repeats)?;
        Ok(Row { shape, skills: size, floor: floor.stat(), list: list.stat() })
    }

    fn program(&self, path: &Path, home: &Path, args: &[&str]) -> Program {
        Program {
            path: path.to_owned(),
            args: args.iter().map(Into::into).collect(),
            env: environment(home),
            dir: self.cwd.clone(),
        }
    }
}

/// Runs the programs in turns, `rounds` times, after one round that is not counted.
pub(super) fn run_in_turns<const N: usize>(
    programs: &[Program; N],
    rounds: u32,
) -> Result<[Series; N]> {
    let mut series: [Series; N] = std::array::from_fn(|_| Series::default());
    for program in programs {
        program.run()?;
    }
    for round in 0..rounds as usize {
        for turn in 0..N {
            let at = (round + turn) % N;
            series[at].push(programs[at].run()?);
        }
    }
    Ok(series)
}

pub(super) fn environment(home: &Path) -> Vec<(&'static str, PathBuf)> {
    vec![
        ("HOME", home.to_owned()),
        ("METIER_HOME", home.join("metier")),
        ("XDG_CONFIG_HOME", home.join("config")),
        ("XDG_DATA_HOME", home.join("data")),
        ("XDG_STATE_HOME", home.join("state")),
    ]
}

fn expect_count(who: &str, seen: usize, size: u32) -> Result<()> {
    if seen != size as usize {
        bail!("{who} saw {seen} skills of {size}: the comparison would not be fair");
    }
    Ok(())
}

fn printed_count(output: &mut dyn Read) -> Result<usize> {
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    Ok(text.trim().parse()?)
}

/// How many `SKILL.md` files `metier list --json` read; of real ones some are no skills, and some
/// are shadowed.
///
/// Read as a stream into nothing: a large heap here would show up in the children's peak memory.
fn found_skills(output: &mut dyn Read) -> Result<usize> {
    #[derive(Deserialize)]
    struct Listing {
        report: Report,
    }
    #[derive(Deserialize)]
    struct Report {
        found: usize,
    }
    let listing: Listing = serde_json::from_reader(std::io::BufReader::new(output))?;
    Ok(listing.report.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_listing_are_counted() {
        let mut json = r#"{"skills": [{"id": "a"}], "report": {"found": 2, "x": []}}"#.as_bytes();
        assert_eq!(found_skills(&mut json).unwrap(), 2);
        assert_eq!(printed_count(&mut "12\n".as_bytes()).unwrap(), 12);
    }

    #[test]
    fn a_program_that_missed_skills_is_not_compared() {
        assert!(expect_count("x", 99, 100).is_err());
        assert!(expect_count("x", 100, 100).is_ok());
    }
}
