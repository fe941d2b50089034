//! `cargo xtask bench`: measurements of whole processes, with the floor beside them in one run.
//!
//! Numbers of a shared machine say little by themselves; the ratio to a floor that ran in between
//! says much. A missed target is printed, not failed: only a measurement that could not be made is
//! an error.

pub(crate) mod corpus;
mod discovery;
mod doctor;
mod document;
mod evals;
mod key_search;
mod leases;
mod loading;
mod machine;
mod process;
mod report;
mod running;
mod scratch;
mod shipping;
mod tree;

use anyhow::Result;

use self::scratch::Scratch;
use crate::flags::{Flags, UsageError};
use crate::workspace::{Outcome, Workspace};

const SIZES: &[u32] = &[100, 1_000, 10_000, 100_000];
/// More would fill a disk; a skill of the bench takes about 30 KB there.
const MAX_SKILLS: u32 = 1_000_000;
const DOCUMENT: &str = "docs/performance.md";

/// Runs the bench that is named first. A new bench is one arm here, and one file.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    let flags = Flags::parse(args, &["--write", "--dev"], &["--sizes", "--repeats"])?;
    let words: Vec<&str> = flags.words.iter().map(String::as_str).collect();
    match words[..] {
        ["discovery"] => run_discovery(workspace, &flags),
        ["doctor"] => run_doctor(workspace, &flags),
        ["evals"] => run_evals(workspace, &flags),
        ["leases"] => run_leases(workspace, &flags),
        ["loading"] => run_loading(workspace, &flags),
        ["running"] => run_running(workspace, &flags),
        ["shipping"] => run_shipping(workspace, &flags),
        _ => {
            let known = "which bench? there are `discovery`, `doctor`, `evals`, `leases`, `loading`, `running` and \
                         `shipping`";
            Err(UsageError(known.to_owned()).into())
        }
    }
}

fn run_discovery(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let sizes = flags.numbers("--sizes", SIZES)?;
    if let Some(size) = sizes.iter().find(|size| **size > MAX_SKILLS) {
        return Err(UsageError(format!("{size} skills are too many; {MAX_SKILLS} at most")).into());
    }
    let repeats = flags.number("--repeats", 15)?;
    // Its hundreds of thousands of files go when the table has been printed, not before.
    let scratch = Scratch::new()?;
    let report = discovery::measure(workspace, &scratch, &sizes, repeats)?;
    publish(workspace, flags, &document::DISCOVERY, &report.to_markdown())
}

fn run_doctor(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let folders = flags.numbers("--sizes", &[doctor::FOLDERS])?.first().copied();
    let scratch = Scratch::new()?;
    let repeats = flags.number("--repeats", 5)?;
    let table = doctor::measure(workspace, &scratch, folders.unwrap_or(doctor::FOLDERS), repeats)?;
    publish(workspace, flags, &document::DOCTOR, &table)
}

fn run_evals(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let cases = flags.numbers("--sizes", &[evals::CASES])?.first().copied();
    let profile = profile(flags)?;
    let table = evals::measure(workspace, cases.unwrap_or(evals::CASES), profile)?;
    publish(workspace, flags, &document::EVALS, &table)
}

fn run_leases(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let profile = profile(flags)?;
    let table = leases::measure(workspace, flags.number("--repeats", 10)?, profile)?;
    publish_in(workspace, flags, (leases::DOCUMENT, &document::LEASES), &table)
}

fn run_loading(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let profile = profile(flags)?;
    let report = loading::measure(workspace, flags.number("--repeats", 30)?, profile)?;
    publish(workspace, flags, &document::LOADING, &report.to_markdown())
}

fn run_running(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let scratch = Scratch::new()?;
    let report = running::measure(workspace, &scratch, flags.number("--repeats", 20)?)?;
    publish(workspace, flags, &document::RUNNING, &report.to_markdown())
}

fn run_shipping(workspace: &Workspace, flags: &Flags) -> Result<Outcome> {
    let skills = flags.numbers("--sizes", &[shipping::SKILLS])?.first().copied();
    let skills = skills.unwrap_or(shipping::SKILLS).clamp(1, MAX_SKILLS);
    let scratch = Scratch::new()?;
    let repeats = flags.number("--repeats", 7)?;
    let table = shipping::measure(workspace, &scratch, skills, repeats)?;
    publish(workspace, flags, &document::SHIPPING, &table)
}

fn profile(flags: &Flags) -> Result<&'static str> {
    match (flags.has("--dev"), flags.has("--write")) {
        (true, true) => {
            let message = "--dev is for a quick look: its numbers are not written";
            Err(UsageError(message.to_owned()).into())
        }
        (true, false) => Ok("dev"),
        (false, _) => Ok("release"),
    }
}

/// Prints a table, and writes it where that was asked for.
fn publish(
    workspace: &Workspace,
    flags: &Flags,
    section: &document::Section,
    table: &str,
) -> Result<Outcome> {
    publish_in(workspace, flags, (DOCUMENT, section), table)
}

/// The same in a document of its own.
fn publish_in(
    workspace: &Workspace,
    flags: &Flags,
    (document, section): (&str, &document::Section),
    table: &str,
) -> Result<Outcome> {
    println!("{table}");
    if flags.has("--write") {
        let old = workspace.read(document).ok();
        workspace.write(document, section.with_table(old.as_deref(), table)?)?;
        eprintln!("bench: written to {document}");
    }
    Ok(Outcome::Passed)
}
