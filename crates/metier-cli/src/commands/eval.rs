//! `metier eval`: testing skills. One file a subcommand; without one, all evals of the project are run.
//!
//! What is tested, judged and counted is `metier-evals`'; here are flags, progress and what is printed.

mod aa;
mod check;
mod compare;
mod export;
mod init;
mod merge;
mod overlap;
mod plan;
mod progress;
mod report;
mod run;
mod run_unit;
mod saved;
mod scoring;
#[cfg(feature = "postgres")]
mod worker;
mod worker_name;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::Output;

/// Test skills: do they trigger when they should, stay quiet when they should not, and do the job?
///
/// Cases are read from `.agent/evals` and from the folder `evals` of the project's skills. Without a configured
/// model the built-in one decides, offline, in seconds. `metier eval init SKILL` writes a first file.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  metier eval init pdf                   a first file of cases, to edit
  metier eval check                      what is wrong with the cases
  metier eval                            run all of them, offline
  metier eval run --model openai:gpt-5-mini --trials 5 --skill pdf
  metier eval run --arms none,listed     with the skill and without it
  metier eval compare BASELINE           what got better or worse
  metier eval overlap                    skills that are easily taken for each other
  metier eval run --shard 2/8            a part, and `merge` for all of them; see also `plan`, `run-unit`, `worker`

Exit codes: 0 passed, 1 failed, inconclusive, invalid or an error, 2 usage, 3 a skill is not trusted, 4 a limit is spent, 130 interrupted."
)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    command: Option<EvalCommand>,
    #[command(flatten)]
    run: run::EvalRunArgs,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    Run(run::EvalRunArgs),
    Init(init::EvalInitArgs),
    Check(check::EvalCheckArgs),
    Report(report::EvalReportArgs),
    Compare(compare::EvalCompareArgs),
    Export(export::EvalExportArgs),
    Aa(aa::EvalAaArgs),
    Overlap(overlap::EvalOverlapArgs),
    Plan(plan::EvalPlanArgs),
    Merge(merge::EvalMergeArgs),
    RunUnit(run_unit::EvalRunUnitArgs),
    #[cfg(feature = "postgres")]
    Worker(worker::EvalWorkerArgs),
}

pub(crate) fn run(args: &EvalArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    match &args.command {
        None => run::run(&args.run, context, json),
        Some(EvalCommand::Run(args)) => run::run(args, context, json),
        Some(EvalCommand::Init(args)) => init::run(args, context),
        Some(EvalCommand::Check(args)) => check::run(args, context),
        Some(EvalCommand::Report(args)) => report::run(args, context),
        Some(EvalCommand::Compare(args)) => compare::run(args, context),
        Some(EvalCommand::Export(args)) => export::run(args, context),
        Some(EvalCommand::Aa(args)) => aa::run(args, context, json),
        Some(EvalCommand::Overlap(args)) => overlap::run(args, context),
        Some(EvalCommand::Plan(args)) => plan::run(args, context),
        Some(EvalCommand::Merge(args)) => merge::run(args, context),
        Some(EvalCommand::RunUnit(args)) => run_unit::run(args, context),
        #[cfg(feature = "postgres")]
        Some(EvalCommand::Worker(args)) => worker::run(args, context),
    }
}

/// What went wrong with evals, as every command shows it.
impl From<metier_evals::EvalError> for CommandError {
    fn from(error: metier_evals::EvalError) -> Self {
        use metier_evals::EvalError;

        use crate::error::{Exit, Fault};

        let safe = |text: &str| crate::render::safe(text).into_owned();
        let (code, kind) = (error.code(), error.kind());
        let help = error.help().map(safe);
        match error {
            EvalError::Runtime(error) => error.into(),
            EvalError::CaseFiles { faults } => {
                let fault = |fault: metier_evals::CaseFault| Fault {
                    code,
                    file: safe(&fault.file),
                    line: fault.line,
                    column: fault.column,
                    message: safe(&fault.message),
                    help: fault.help.as_deref().map(safe),
                };
                let faults: Vec<Fault> = faults.into_iter().map(fault).collect();
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                Self { help, faults, ..Self::failed(code, first) }
            }
            error => {
                let exit = match kind {
                    metier::ErrorKind::Usage => Exit::Usage,
                    metier::ErrorKind::Denied | metier::ErrorKind::NeedsApproval => Exit::Denied,
                    metier::ErrorKind::Cancelled => Exit::Interrupted,
                    _ => Exit::Findings,
                };
                Self { help, exit, ..Self::failed(code, safe(&error.to_string())) }
            }
        }
    }
}
