//! `cargo xtask bench shipping`: installing, verifying and listing a thousand skills, each against the plainest
//! program that does a part of it.
//!
//! `unzip -q` only unpacks; `metier install` also checks the archive, hashes and scans every file, asks the disk to
//! keep it (`syncfs`) and writes the lock. The cost of that one `syncfs` is what it adds to `unzip`, and is
//! reported apart. `verify` is compared with one `sha256sum` process over the same files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::corpus;
use super::discovery::{build_metier, environment, run_in_turns};
use super::machine;
use super::process::{Program, Series, Stat};
use super::scratch::Scratch;
use super::tree;
use crate::workspace::Workspace;

pub(super) const SKILLS: u32 = 1000;
/// Bytes of all files, unpacked.
const TOTAL_BYTES: u64 = 50 << 20;
/// The share of them that is not text.
const BINARY_SHARE: u64 = 5;
/// How often the time of its rival each may take.
const MAX_RATIO: f64 = 1.0;

/// What was measured.
struct Measured {
    unzip: Stat,
    unzip_sync: Stat,
    install: Stat,
    sha256sum: Stat,
    verify: Stat,
    list_plain: Stat,
    list_installed: Stat,
}

/// Where everything is.
struct Bench<'a> {
    scratch: &'a Scratch,
    metier: PathBuf,
    archive: PathBuf,
}

/// Measures all of it with an archive of `skills`, and gives the table.
pub(super) fn measure(
    workspace: &Workspace,
    scratch: &Scratch,
    skills: u32,
    repeats: u32,
) -> Result<String> {
    let metier = build_metier(workspace)?;
    let source = scratch.fresh("source")?;
    eprintln!("bench: {skills} skills: making the archive");
    let bytes = write_skills(scratch, &source, skills)?;
    let archive = scratch.fresh("archive")?.join("all.zip");
    let bench = Bench { scratch, metier, archive };
    bench.pack(&source)?;
    let machine = machine::describe(&source);
    let measured = bench.measure(&source, repeats)?;
    let packed = fs::metadata(&bench.archive)?.len();
    Ok(table(&machine, (skills, bytes, packed), repeats, &measured))
}

/// Skills with real texts beside them, and some bytes that are not text; gives how many bytes they have.
fn write_skills(scratch: &Scratch, into: &Path, skills: u32) -> Result<u64> {
    tree::write(into, skills)?;
    let texts = scratch.fresh("texts")?;
    let pages = if corpus::write_texts(&texts, skills)? { pages_in(&texts)? } else { Vec::new() };
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(into)? {
        folders.push(entry?.path());
    }
    folders.sort();
    let each = TOTAL_BYTES / u64::try_from(folders.len().max(1))?;
    let mut total = 0;
    let mut next = 0;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for folder in &folders {
        let mut bytes = size_of(folder)?;
        let noise = usize::try_from(each / BINARY_SHARE)?;
        fs::create_dir_all(folder.join("assets"))?;
        fs::write(folder.join("assets/data.bin"), random_bytes(noise, &mut state))?;
        bytes += each / BINARY_SHARE;
        fs::create_dir_all(folder.join("pages"))?;
        let mut too_large = 0;
        for number in 0.. {
            let Some(page) = pages.get(next % pages.len().max(1)) else { break };
            next += 1;
            // One that does not fit is no reason to leave out smaller ones.
            if bytes + u64::try_from(page.len())? > each {
                too_large += 1;
                if too_large > 8 {
                    break;
                }
                continue;
            }
            fs::write(folder.join(format!("pages/{number}.md")), page)?;
            bytes += u64::try_from(page.len())?;
        }
        total += bytes;
    }
    Ok(total)
}

fn pages_in(texts: &Path) -> Result<Vec<Vec<u8>>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(texts)? {
        paths.push(entry?.path().join("SKILL.md"));
    }
    paths.sort();
    paths.iter().map(|path| fs::read(path).context("a text of the collection")).collect()
}

fn size_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        bytes += if data.is_dir() { size_of(&entry.path())? } else { data.len() };
    }
    Ok(bytes)
}

/// Bytes that do not pack, the same in every run.
fn random_bytes(count: usize, state: &mut u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(count);
    // Never taken for text.
    bytes.iter_mut().take(1).for_each(|byte| *byte = 0);
    bytes
}

impl Bench<'_> {
    fn pack(&self, source: &Path) -> Result<()> {
        let home = self.scratch.fresh("home")?;
        let (source, archive) = (text(source)?, text(&self.archive)?);
        let pack = program(&self.metier, &["pack", source, "-o", archive], &home, &home);
        pack.run()?;
        if !self.archive.exists() {
            bail!("`metier pack` made no archive");
        }
        Ok(())
    }

    fn measure(&self, source: &Path, repeats: u32) -> Result<Measured> {
        let archive = text(&self.archive)?;
        let [mut unzip, mut unzip_sync, mut install] =
            [Series::default(), Series::default(), Series::default()];
        // The first round warms the cache and is not counted. Nothing is removed between the rounds: ext4 looks
        // past every number of a file that was removed within the last minute, which slows down all that come next.
        for round in 0..=repeats {
            eprintln!("bench: installing, round {round} of {repeats}");
            let out = self.scratch.fresh(&format!("unzip-{round}"))?;
            let sample = tool("unzip", &["-q", archive], &out)?.run()?;
            let out = self.scratch.fresh(&format!("unzip-sync-{round}"))?;
            let line = format!("unzip -q '{archive}' && sync -f .");
            let with_sync = tool("sh", &["-c", &line], &out)?.run()?;
            let home = self.scratch.fresh(&format!("home-{round}"))?;
            let project = self.scratch.fresh(&format!("project-{round}"))?;
            fs::create_dir(project.join(".git"))?;
            let args = ["install", archive, "--project", "--yes", "--accept-findings"];
            let installed = program(&self.metier, &args, &home, &project).run()?;
            if !project.join(".agent/skills.lock.json").exists() {
                bail!("`metier install` installed nothing");
            }
            if round > 0 {
                unzip.push(sample);
                unzip_sync.push(with_sync);
                install.push(installed);
            }
        }
        let (home, project) = (self.scratch.fresh("home")?, self.scratch.fresh("project")?);
        fs::create_dir(project.join(".git"))?;
        let args = ["install", archive, "--project", "--yes", "--accept-findings"];
        program(&self.metier, &args, &home, &project).run()?;
        let skills = project.join(".agent/skills");
        let files = files_below(&skills)?;
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let sums = tool("sha256sum", &files, &skills)?;
        let verify = program(&self.metier, &["verify", "--project", "--json"], &home, &project);
        let [sha256sum, verify] = run_in_turns(&[sums, verify], repeats)?;
        let list = program(&self.metier, &["list", "--json"], &home, &project);
        let plain = self.scratch.fresh("plain")?;
        fs::create_dir_all(plain.join(".git"))?;
        fs::create_dir_all(plain.join(".agent"))?;
        let status =
            Command::new("cp").arg("-a").arg(source).arg(plain.join(".agent/skills")).status()?;
        if !status.success() {
            bail!("the skills cannot be copied");
        }
        let list_plain =
            program(&self.metier, &["list", "--json"], &self.scratch.fresh("home2")?, &plain);
        let [list_plain, list_installed] = run_in_turns(&[list_plain, list], repeats)?;
        Ok(Measured {
            unzip: unzip.stat(),
            unzip_sync: unzip_sync.stat(),
            install: install.stat(),
            sha256sum: sha256sum.stat(),
            verify: verify.stat(),
            list_plain: list_plain.stat(),
            list_installed: list_installed.stat(),
        })
    }
}

fn tool(name: &str, args: &[&str], dir: &Path) -> Result<Program> {
    let path = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(name));
    let path = path.into_iter().find(|path| path.exists());
    let path = path.with_context(|| format!("there is no `{name}`"))?;
    Ok(Program {
        path,
        args: args.iter().map(Into::into).collect(),
        env: vec![("PATH", PathBuf::from("/usr/bin:/bin"))],
        dir: dir.to_owned(),
    })
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the temporary directory is not UTF-8")
}

fn files_below(top: &Path) -> Result<Vec<String>> {
    let output = Command::new("find").args([".", "-type", "f"]).current_dir(top).output()?;
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

fn program(path: &Path, args: &[&str], home: &Path, cwd: &Path) -> Program {
    Program {
        path: path.to_owned(),
        args: args.iter().map(Into::into).collect(),
        env: environment(home),
        dir: cwd.to_owned(),
    }
}

fn table(
    machine: &str,
    (skills, bytes, packed): (u32, u64, u64),
    repeats: u32,
    measured: &Measured,
) -> String {
    let mut out = format!(
        "Machine: {machine}. {repeats} rounds in turns; {skills} skills, {} MB unpacked, {} MB packed.\n\n",
        bytes >> 20,
        packed >> 20
    );
    out.push_str("| what | ms | CPU ms | peak MB |\n|---|--:|--:|--:|\n");
    for (what, stat) in [
        ("`unzip -q`", &measured.unzip),
        ("`unzip -q` and `sync -f`", &measured.unzip_sync),
        ("`metier install`", &measured.install),
        ("`sha256sum`, one process", &measured.sha256sum),
        ("`metier verify`", &measured.verify),
        ("`metier list`, skills without records", &measured.list_plain),
        ("`metier list`, installed skills", &measured.list_installed),
    ] {
        let _ = writeln!(
            out,
            "| {what} | {:.0} / {:.0} | {:.0} | {:.0} |",
            stat.min, stat.median, stat.cpu, stat.peak_mb
        );
    }
    let sync = (measured.unzip_sync.min - measured.unzip.min).max(0.0);
    let install = (measured.install.min - sync) / measured.unzip.min;
    out.push_str("\nMinimum / median. Targets:\n\n");
    let with_sync = measured.install.min / measured.unzip_sync.min;
    for (what, ratio) in [
        (format!("`install` without its `syncfs` (about {sync:.0} ms) against `unzip`"), install),
        ("`install` against `unzip` and `sync`".to_owned(), with_sync),
        ("`verify` against `sha256sum`".to_owned(), measured.verify.min / measured.sha256sum.min),
    ] {
        let word = if ratio <= MAX_RATIO { "PASS" } else { "**MISSED**" };
        let _ = writeln!(out, "- {what}: at most {MAX_RATIO:.1}x; measured {ratio:.2}x: {word}.");
    }
    let list = measured.list_installed.min / measured.list_plain.min;
    let _ =
        writeln!(out, "- `list` of installed skills against the same without records: {list:.2}x.");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_said_and_the_cost_of_the_disk_is_taken_out() {
        let stat = |min| Stat { min, median: min, cpu: min, peak_mb: 1.0 };
        let measured = |install| Measured {
            unzip: stat(100.0),
            unzip_sync: stat(150.0),
            install: stat(install),
            sha256sum: stat(100.0),
            verify: stat(90.0),
            list_plain: stat(10.0),
            list_installed: stat(10.0),
        };
        let fast = table("2 cores", (10, 1 << 20, 1 << 20), 1, &measured(149.0));
        assert!(fast.contains("measured 0.99x: PASS") && !fast.contains("MISSED"), "{fast}");
        let slow = table("2 cores", (10, 1 << 20, 1 << 20), 1, &measured(175.0));
        assert!(slow.contains("measured 1.25x: **MISSED**"), "{slow}");
    }

    #[test]
    fn the_bytes_are_the_same_in_every_run_and_not_text() {
        let (mut one, mut two) = (7, 7);
        let bytes = random_bytes(100, &mut one);
        assert_eq!((bytes.len(), bytes[0]), (100, 0));
        assert_eq!(bytes, random_bytes(100, &mut two));
    }
}
