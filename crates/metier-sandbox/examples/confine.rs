//! Runs a program confined, with this very binary as the helper: `confine TIER DIR PROGRAM ARGS...`.
//!
//! What it shows: who embeds Metier calls `helper_main` first of all when the first argument says so,
//! and names its own binary as the helper. The tests of this crate use it as theirs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::process::ExitCode;

use metier_sandbox::{HELPER_ARGUMENT, RunOptions, RunPlan, Runner, helper_main};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == HELPER_ARGUMENT) {
        return ExitCode::from(u8::try_from(helper_main()).unwrap_or(u8::MAX));
    }
    match confine(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn confine(args: &[String]) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let [tier, dir, program, rest @ ..] = args else {
        return Err("usage: confine TIER DIR PROGRAM ARGS...".into());
    };
    let mut plan = RunPlan::new(program, dir);
    plan.args = rest.to_vec();
    plan.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    let runner = Runner::new(std::env::current_exe()?, tier.parse()?);
    let report = runner.run(&plan, &RunOptions::default(), &|_| {})?;
    print!("{}", report.stdout.text);
    eprint!("{}", report.stderr.text);
    let code = report.exit_code.and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(u8::MAX)))
}
