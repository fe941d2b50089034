//! `cargo xtask bench loading`: what loading costs beside reading, hashing and parsing alone, and
//! what a ranked catalog costs beside the unranked list.
//!
//! The measuring is done by benches of `metier-loader` and `metier-registry`, each in one process, in
//! turns; this file runs them and judges what they printed. Ratios are of minima: what a neighbour adds is not the loader's.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use super::machine;
use crate::workspace::{Workspace, output};

/// Loading a body, as a multiple of reading and hashing its file.
const MAX_BODY: f64 = 2.0;
/// Loading a section, as a multiple of one pass of the Markdown parser over its file.
const MAX_SECTION: f64 = 3.0;

/// A ranked catalog, as a multiple of the unranked list.
const MAX_CATALOG: f64 = 10.0;

/// One case: nanoseconds of each round.
#[derive(Debug, PartialEq)]
struct Case {
    name: String,
    bytes: u64,
    rounds: Vec<(f64, f64)>,
}

/// What was measured.
pub(crate) struct Report {
    machine: String,
    profile: String,
    cases: Vec<Case>,
}

/// Builds and runs the bench.
pub(crate) fn measure(workspace: &Workspace, repeats: u32, profile: &str) -> Result<Report> {
    let machine = machine::describe(&std::env::temp_dir());
    let mut all = Vec::new();
    for (package, bench) in [("metier-loader", "loading"), ("metier-registry", "catalog")] {
        let mut command = workspace.cargo(&["bench", "--quiet", "--package", package]);
        command.args(["--bench", bench, "--profile", profile, "--", &repeats.to_string()]);
        let printed =
            String::from_utf8(output(&mut command)?).context("the bench printed no text")?;
        all.extend(cases(&printed)?);
    }
    Ok(Report { machine, profile: profile.to_owned(), cases: all })
}

/// The cases of the lines `case<TAB>bytes<TAB>loaded ns<TAB>floor ns`.
fn cases(printed: &str) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = Vec::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, bytes, loaded, floor] = fields[..] else { bail!("the bench printed `{line}`") };
        let round = (loaded.parse()?, floor.parse()?);
        if let Some(case) = cases.iter_mut().find(|case| case.name == name) {
            case.rounds.push(round);
        } else {
            let (name, bytes) = (name.to_owned(), bytes.parse()?);
            cases.push(Case { name, bytes, rounds: vec![round] });
        }
    }
    if cases.is_empty() {
        bail!("the bench measured nothing");
    }
    Ok(cases)
}

impl Case {
    fn of(&self, pick: fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let mut all: Vec<f64> = self.rounds.iter().map(pick).collect();
        all.sort_by(f64::total_cmp);
        (
            all.first().copied().unwrap_or_default(),
            all.get(all.len() / 2).copied().unwrap_or_default(),
        )
    }

    /// The most that the ratio may be, and what the floor is.
    fn target(&self) -> (f64, &'static str) {
        match self.name.as_str() {
            name if name.starts_with("section") => (MAX_SECTION, "one pass of the parser"),
            name if name.starts_with("catalog") => (MAX_CATALOG, "the unranked list"),
            name if name.ends_with("trimmed") => {
                (MAX_BODY, "read, hash and one pass of the parser")
            }
            _ => (MAX_BODY, "read and hash"),
        }
    }
}

impl Report {
    /// The table.
    pub(crate) fn to_markdown(&self) -> String {
        let rounds = self.cases.iter().map(|case| case.rounds.len()).max().unwrap_or_default();
        let mut out = format!(
            "Machine: {}. {rounds} rounds in turns, profile `{}`.\n\n\
             | what | bytes | µs | floor | floor µs | x floor | target | |\n\
             |---|--:|--:|---|--:|--:|--:|---|\n",
            self.machine, self.profile
        );
        for case in &self.cases {
            let (loaded, floor) = (case.of(|round| round.0), case.of(|round| round.1));
            let ratio = loaded.0 / floor.0;
            let (most, what) = case.target();
            let _ = writeln!(
                out,
                "| {} | {} | {:.1} / {:.1} | {what} | {:.1} / {:.1} | **{ratio:.2}** / {:.2} | {most} | {} |",
                case.name,
                case.bytes,
                loaded.0 / 1e3,
                loaded.1 / 1e3,
                floor.0 / 1e3,
                floor.1 / 1e3,
                loaded.1 / floor.1,
                if ratio <= most { "PASS" } else { "**MISS**" },
            );
        }
        out.push_str("\nMinimum / median. A body includes opening its skill's directory.\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(printed: &str) -> String {
        let cases = cases(printed).unwrap();
        Report { machine: "2 cores".to_owned(), profile: "release".to_owned(), cases }.to_markdown()
    }

    #[test]
    fn each_case_is_judged_by_its_own_target() {
        let table = report(
            "body of 5 KB\t5000\t21000\t10000\nbody of 5 KB\t5000\t19000\t11000\n\
             section at the end\t2000\t2900\t1000\nbody, trimmed\t9\t2100\t1000\n",
        );
        let verdicts: Vec<bool> = table
            .lines()
            .filter(|line| line.ends_with(" |"))
            .map(|line| line.ends_with("PASS |"))
            .skip(1)
            .collect();
        assert_eq!(verdicts, [true, true, false], "{table}");
        assert!(
            table.contains(
                "| 19.0 / 21.0 | read and hash | 10.0 / 11.0 | **1.90** / 1.91 | 2 | PASS |"
            ),
            "{table}"
        );
    }

    #[test]
    fn output_that_is_no_measurement_is_an_error() {
        assert!(cases("").is_err());
        assert!(cases("warning: something\n").is_err());
        assert!(cases("a\t1\tx\t2\n").is_err());
    }
}
