//! What the sandbox costs: a plain spawn, and the same program in each tier, taken in turns:
//! `cargo run -p metier-sandbox --release --example overhead [HELPER]`. Without a helper it is its own.
#![allow(clippy::print_stdout, reason = "an example prints")]
#![allow(clippy::disallowed_methods, reason = "the plain spawn is what is compared with")]

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use metier_sandbox::{HELPER_ARGUMENT, RunOptions, RunPlan, Runner, Tier, helper_main};

const ROUNDS: usize = 200;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_some_and(|word| word == HELPER_ARGUMENT) {
        return Ok(ExitCode::from(u8::try_from(helper_main()).unwrap_or(u8::MAX)));
    }
    let helper =
        std::env::args().nth(1).map_or_else(std::env::current_exe, |path| Ok(path.into()))?;
    let dir = tempfile::tempdir_in(std::env::temp_dir().canonicalize()?)?;
    let plan = RunPlan::new("/bin/true", dir.path());
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let mut command = Command::new("/bin/true");
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.output()?;
        times[0].push(started.elapsed());
        for (slot, tier) in [(1, Tier::None), (2, Tier::Medium), (3, Tier::Strong)] {
            let started = Instant::now();
            let report = Runner::new(&helper, tier).run(&plan, &RunOptions::default(), &|_| {})?;
            times[slot].push(started.elapsed());
            if !report.succeeded() {
                return Err(format!("{tier}: {report:?}").into());
            }
        }
    }
    let mut plain = Duration::ZERO;
    for (name, mut times) in ["plain", "none", "medium", "strong"].into_iter().zip(times) {
        times.sort_unstable();
        let (least, median) = (times[0], times[ROUNDS / 2]);
        if name == "plain" {
            plain = median;
        }
        let over = median.saturating_sub(plain);
        let ratio = median.as_secs_f64() / plain.as_secs_f64();
        println!(
            "{name:<8} min {least:>10.2?}  median {median:>10.2?}  over plain {over:>10.2?}  ratio {ratio:.1}"
        );
    }
    Ok(ExitCode::SUCCESS)
}
