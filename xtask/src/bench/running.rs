//! `cargo xtask bench running`: what the agent adds to a model, as whole processes and in one.
//!
//! Four things: the cost of a turn with a model that takes no time (twenty turns less two, over
//! eighteen), the time from the start of `metier run` to the first request on the wire, with no skills
//! and with a large real collection, what a large workspace adds to the start of a script, and a thousand
//! runs at once in one process.

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::corpus;
use super::discovery::{build, environment, run_in_turns};
use super::key_search::{self, KeySearch};
use super::machine;
use super::process::{Program, Stat};
use super::scratch::Scratch;
use super::tree;
use crate::workspace::{Workspace, output};

/// Milliseconds that a turn may cost, the durable record included.
const MAX_TURN: f64 = 2.0;
/// Milliseconds to the first request, with the real skills and with none.
const MAX_START_REAL: f64 = 25.0;
const MAX_START_NONE: f64 = 8.0;
/// Bytes that a run may take beside a thousand others.
const MAX_BYTES: f64 = 1e6;
const LONG: u32 = 20;
const SHORT: u32 = 2;

/// What was measured.
pub(crate) struct Report {
    machine: String,
    repeats: u32,
    turn: (f64, f64),
    starts: Vec<Start>,
    key_search: KeySearch,
    parallel: Parallel,
}

/// The time to the first request with some skills, beside a listing of them.
struct Start {
    skills: u32,
    most: f64,
    run: (f64, f64),
    list: (f64, f64),
}

struct Parallel {
    runs: u64,
    well: u64,
    bytes: f64,
    ms: u64,
}

/// Builds and measures.
pub(crate) fn measure(workspace: &Workspace, scratch: &Scratch, repeats: u32) -> Result<Report> {
    let binaries = build(workspace)?;
    let metier = &binaries.metier;
    let cwd = scratch.fresh("cwd")?;
    let machine = machine::describe(&cwd);
    eprintln!("bench: turns");
    let turn = turns(metier, scratch, &cwd, repeats)?;
    eprintln!("bench: the first request");
    let mut starts = Vec::new();
    let none = scratch.fresh("none")?;
    starts.push(first_request(metier, scratch, (&cwd, &none), (0, MAX_START_NONE), repeats)?);
    if let Some(skills) = corpus::unpack(&scratch.fresh("real")?)? {
        let wanted = (corpus::count(&skills)?, MAX_START_REAL);
        starts.push(first_request(metier, scratch, (&cwd, &skills), wanted, repeats)?);
    }
    eprintln!("bench: a script in a large workspace");
    let key_search = key_search::measure(metier, scratch, repeats)?;
    eprintln!("bench: a thousand runs at once");
    let parallel = parallel(workspace)?;
    Ok(Report { machine, repeats, turn, starts, key_search, parallel })
}

/// Milliseconds of a turn, minimum and median.
fn turns(metier: &Path, scratch: &Scratch, cwd: &Path, repeats: u32) -> Result<(f64, f64)> {
    let skills = scratch.fresh("ten")?;
    tree::write(&skills, 10)?;
    let home = scratch.fresh("home")?;
    let first = fs::read_dir(&skills)?.next().context("a skill")??;
    let name = first.file_name().to_string_lossy().into_owned();
    let program = |turns: u32| -> Result<Program> {
        let file = cwd.join(format!("script-{turns}.json"));
        fs::write(&file, script(&name, turns).to_string())?;
        let model = format!("scripted:{}", file.display());
        let root = skills.to_string_lossy().into_owned();
        let args = ["run", "--model", &model, "--root", &root, "do it"];
        let config = json!({"budgets": {"turns": 40, "tool_calls": 60}});
        fs::create_dir_all(home.join("metier"))?;
        fs::write(home.join("metier/config.json"), config.to_string())?;
        Ok(in_dir(metier, &args, &home, cwd))
    };
    let [long, short] = run_in_turns(&[program(LONG)?, program(SHORT)?], repeats)?;
    let (long, short) = (long.stat(), short.stat());
    let each = |of: fn(&Stat) -> f64| (of(&long) - of(&short)) / f64::from(LONG - SHORT);
    Ok((each(|stat| stat.min), each(|stat| stat.median)))
}

/// A script of so many turns: select, read, answer.
fn script(skill: &str, turns: u32) -> Value {
    let select = json!({"action": {"type": "select_skills", "skills": [{"name": skill}], "reason": "bench"}});
    let read = |at: u32| {
        json!({"action": {"type": "load_resource", "skill": {"name": skill},
            "relative_path": "references/ref.md", "section_hint": format!("lines {}-{}", at + 1, at + 1)}})
    };
    let answer = json!({"action": {"type": "final_answer", "text": "done"}});
    let mut replies = vec![select];
    replies.extend((0..turns - 2).map(read));
    replies.push(answer);
    json!({"name": "bench", "replies": replies})
}

/// Milliseconds to the first request, and of a listing; minimum and median.
fn first_request(
    metier: &Path,
    scratch: &Scratch,
    (cwd, root): (&Path, &Path),
    (skills, most): (u32, f64),
    repeats: u32,
) -> Result<Start> {
    let home = scratch.fresh("home")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/v1", listener.local_addr()?);
    let config = json!({"model": {"provider": "openai", "name": "bench", "base_url": address}});
    fs::create_dir_all(home.join("metier"))?;
    fs::write(home.join("metier/config.json"), config.to_string())?;
    let root = root.to_string_lossy().into_owned();
    let run = in_dir(metier, &["run", "--root", &root, "summarise the report"], &home, cwd);
    let list = in_dir(metier, &["list", "--json", "--root", &root], &home, cwd);
    let (mut starts, mut scans) = (Vec::new(), Vec::new());
    for round in 0..=repeats {
        let start = until_request(&run, &listener)?;
        let begun = Instant::now();
        list.run()?;
        let scan = begun.elapsed();
        // The first round warms the page cache.
        if round > 0 {
            starts.push(start);
            scans.push(scan);
        }
    }
    Ok(Start { skills, most, run: ends(&mut starts), list: ends(&mut scans) })
}

/// The time from the start of a process to the first bytes of its request.
fn until_request(program: &Program, listener: &TcpListener) -> Result<Duration> {
    let begun = Instant::now();
    let mut child = program.command().stderr(Stdio::null()).spawn()?;
    let (mut stream, _) = listener.accept()?;
    let mut byte = [0];
    let got = stream.read(&mut byte)?;
    let took = begun.elapsed();
    child.kill()?;
    child.wait()?;
    if got == 0 {
        bail!("`metier run` closed the connection without a request");
    }
    Ok(took)
}

fn ends(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    (ms(times.first()), ms(times.get(times.len() / 2)))
}

fn in_dir(path: &Path, args: &[&str], home: &Path, dir: &Path) -> Program {
    Program {
        path: path.to_owned(),
        args: args.iter().map(Into::into).collect(),
        env: environment(home),
        dir: PathBuf::from(dir),
    }
}

fn parallel(workspace: &Workspace) -> Result<Parallel> {
    let mut command = workspace.cargo(&["bench", "--quiet", "--package", "metier-agent"]);
    command.args(["--bench", "parallel", "--profile", "release", "--", "1000"]);
    let printed = String::from_utf8(output(&mut command)?).context("the bench printed no text")?;
    let line = printed.trim();
    let fields: Vec<&str> = line.split('\t').collect();
    let [runs, well, bytes, ms] = fields[..] else { bail!("the bench printed `{line}`") };
    Ok(Parallel {
        runs: runs.parse()?,
        well: well.parse()?,
        bytes: bytes.parse()?,
        ms: ms.parse()?,
    })
}

impl Report {
    /// The table.
    pub(crate) fn to_markdown(&self) -> String {
        let verdict = |passes: bool| if passes { "PASS" } else { "**MISS**" };
        let Parallel { runs, well, bytes, ms } = &self.parallel;
        let mut out = format!(
            "Machine: {}. {} rounds in turns, whole processes.\n\n| what | measured | target | |\n|---|---|---|---|\n",
            self.machine, self.repeats
        );
        let _ = writeln!(
            out,
            "| a turn with a model that takes no time (10 skills, {LONG} turns, durable record) | {:.2} / {:.2} ms | {MAX_TURN} ms | {} |",
            self.turn.0,
            self.turn.1,
            verdict(self.turn.0 <= MAX_TURN),
        );
        for Start { skills, most, run, list } in &self.starts {
            let _ = writeln!(
                out,
                "| start of `metier run` to the first request, {skills} real skills | {:.1} / {:.1} ms; `list` {:.1} / {:.1} ms | {most} ms | {} |",
                run.0,
                run.1,
                list.0,
                list.1,
                verdict(run.0 <= *most),
            );
        }
        let KeySearch { empty, full } = &self.key_search;
        let _ = writeln!(
            out,
            "| `metier exec` of an idle script in a workspace of {} files with a key | {:.1} / {:.1} ms; in an empty one {:.1} / {:.1} ms | {} ms more | {} |",
            key_search::FILES,
            full.0,
            full.1,
            empty.0,
            empty.1,
            key_search::MAX_ADDED_MS,
            verdict(full.0 - empty.0 <= key_search::MAX_ADDED_MS),
        );
        let _ = writeln!(
            out,
            "| {runs} runs of {LONG} turns at once in one process, each with its record on disk | {well} ended well, {:.2} MB each, {ms} ms in all | all, 1 MB each | {} |",
            bytes / 1e6,
            verdict(well == runs && *bytes <= MAX_BYTES),
        );
        out.push_str("\nMinimum / median.\n");
        out
    }
}
