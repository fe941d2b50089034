//! `cargo xtask fuzz`: libFuzzer on stable Rust, without cargo-fuzz.
//!
//! The coverage pass is asked for by the stable `-C passes` and `-C llvm-args`; there is no
//! address sanitizer, which safe Rust hardly needs. `fuzz/seeds/<target>` is tracked and small,
//! `fuzz/corpus/<target>` grows and is ignored by git, a crash lands in `fuzz/artifacts/<target>`.

mod log;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::flags::{Flags, UsageError};
use crate::workspace::{Outcome, Workspace, in_path, output, status};

/// What `cargo fuzz` passes, less the sanitizer.
const RUSTFLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
];

/// Builds and runs the named targets, or all of them.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<Outcome> {
    let flags = Flags::parse(args, &[], &["--seconds"])?;
    let seconds = flags.number("--seconds", 60)?;
    let targets = chosen_targets(workspace, &flags.words)?;
    need_cxx()?;
    let binaries = build(workspace)?;
    let mut crashed = Vec::new();
    for target in &targets {
        println!("fuzz: {target}, {seconds} s");
        let log = run_target(workspace, &binaries.join(target), target, seconds)?;
        let summary = log::read(&log);
        println!("fuzz: {target}: {summary}");
        if let Some(failure) = summary.failure {
            println!("{}", log::tail(&log, 60));
            crashed.push(format!("{target}: {failure}"));
        }
    }
    for crash in &crashed {
        println!("fuzz: CRASH in {crash}");
    }
    Ok(if crashed.is_empty() { Outcome::Passed } else { Outcome::Failed })
}

/// Type-checks the targets, so that they do not rot between two fuzz runs.
///
/// The path of a library that is not there keeps libfuzzer-sys from compiling its C++, which a
/// check does not link.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let target_dir = workspace.target_dir()?.join("fuzz-check");
    let mut command = workspace.cargo(&["clippy", "--manifest-path", "fuzz/Cargo.toml"]);
    command.arg("--target-dir").arg(target_dir).args(["--bins", "--", "--deny", "warnings"]);
    status(command.env("CUSTOM_LIBFUZZER_PATH", "/nonexistent/libfuzzer.a"))
}

fn chosen_targets(workspace: &Workspace, asked: &[String]) -> Result<Vec<String>> {
    let dir = workspace.root.join("fuzz/fuzz_targets");
    let mut known: Vec<String> = fs::read_dir(&dir)
        .with_context(|| format!("cannot list {}", dir.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    known.sort();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        return Err(UsageError(format!("no fuzz target `{unknown}`; there are: {known}")).into());
    }
    Ok(if asked.is_empty() { known } else { asked.to_vec() })
}

fn need_cxx() -> Result<()> {
    let known = ["c++", "g++", "clang++"];
    if env::var_os("CXX").is_some() || known.iter().any(|name| in_path(name).is_some()) {
        return Ok(());
    }
    bail!(
        "libFuzzer is written in C++ and there is no C++ compiler; install one \
         (Debian: apt install g++) or name it in CXX"
    )
}

/// Builds every target and gives the directory of the programs.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let host = host_triple()?;
    let target_dir = workspace.root.join("fuzz/target");
    let mut command = workspace.cargo(&["build", "--release", "--bins", "--target", &host]);
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir"]).arg(&target_dir);
    // With `--target` the flags reach the targets only, not build scripts and macros.
    let outcome = status(command.env("RUSTFLAGS", RUSTFLAGS.join(" ")))?;
    if outcome == Outcome::Failed {
        bail!("the fuzz targets do not build");
    }
    Ok(target_dir.join(host).join("release"))
}

fn host_triple() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = String::from_utf8(output(Command::new(rustc).arg("-vV"))?)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Runs one target and gives back its log.
fn run_target(
    workspace: &Workspace,
    binary: &Path,
    target: &str,
    seconds: u32,
) -> Result<log::Ended> {
    // Relative to the root, so that the names in the log can be pasted anywhere in the project.
    let dir = |kind: &str| Path::new("fuzz").join(kind).join(target);
    let (corpus, seeds, artifacts) = (dir("corpus"), dir("seeds"), dir("artifacts"));
    for made in [&corpus, &seeds, &artifacts] {
        fs::create_dir_all(workspace.root.join(made))
            .with_context(|| format!("cannot make {}", made.display()))?;
    }
    let log_path = workspace.root.join(&artifacts).join("last.log");
    let log_file = File::create(&log_path).context("cannot write the fuzz log")?;
    let mut command = Command::new(binary);
    command
        .arg(format!("-max_total_time={seconds}"))
        // The trailing slash makes it a directory to libFuzzer.
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048"])
        // What it finds goes to the first directory; the others are only read.
        .args([&corpus, &seeds])
        .current_dir(&workspace.root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file);
    // A target that builds trees is bound by the file system: memory is several times faster.
    if env::var_os("TMPDIR").is_none() && Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    let status = command.status().with_context(|| format!("cannot start {target}"))?;
    let text = fs::read(&log_path).context("cannot read the fuzz log")?;
    Ok(log::Ended { text: String::from_utf8_lossy(&text).into_owned(), success: status.success() })
}
