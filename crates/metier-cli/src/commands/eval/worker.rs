//! `metier eval worker`: takes units from a database and carries them out.
//! Leasing is `metier-evals`; this file connects it to a database and to Ctrl-C.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use metier::CancelToken;
use metier::skill::Digest;
use metier_evals::{
    DatabaseUrl, EvalPlan, EvalStore, EvalUnit, PostgresOptions, PostgresStore, WhenIdle, Worker,
    WorkerEnd, WorkerEvent, WorkerOptions,
};
use serde::Serialize;

use super::run_unit::PlanSubjectArgs;
use super::worker_name::worker_name;
use crate::agent::signal::Interrupt;
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};

/// The codes of errors that say that a plan cannot be carried out here: it does not fit, or runs programs that this worker
/// was not allowed to run. Any other is this machine's own.
const NOT_FOR_HERE: [&str; 2] = ["eval-plan", "eval-commands"];
/// How often the database is asked for new plans.
const POLL: Duration = Duration::from_secs(2);

/// Carry out the units of plans in a `PostgreSQL` database, beside any number of other workers.
///
/// `metier eval plan --database URL` hands a plan to the workers. A worker that dies loses nothing that was stored; Ctrl-C
/// and SIGTERM give back what it has in hand.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval worker --database postgres://evals@db.example.com/evals
  metier eval worker --database 'postgres:///evals?host=/run/postgresql' --exit-when-done

The password is taken from PGPASSWORD or ~/.pgpass where the URL has none.")]
pub(crate) struct EvalWorkerArgs {
    /// The database: `postgres://USER@HOST/DATABASE`.
    #[arg(long, value_name = "URL")]
    database: String,
    /// Only this plan; otherwise each that this machine can carry out, the oldest first.
    #[arg(long, value_name = "ID")]
    plan: Option<Digest>,
    /// End when no unit is left, also in the hands of others, instead of waiting for new plans. Exit code 1 where plans
    /// are left that cannot be carried out here.
    #[arg(long)]
    exit_when_done: bool,
    /// End after so many units.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_units: Option<u64>,
    /// Trials at a time.
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    #[command(flatten)]
    subject: PlanSubjectArgs,
}

/// What a worker did.
#[derive(Debug, Default, Serialize)]
struct Worked {
    completed: u64,
    already_there: u64,
    released: u64,
    lost: u64,
    /// Plans with units to take that cannot be carried out here.
    left_to_others: usize,
    #[serde(skip)]
    is_interrupted: bool,
}

/// The store in a database.
pub(super) fn store(
    url: &str,
    context: &Context,
    options: &PostgresOptions,
    cancel: &CancelToken,
) -> Result<PostgresStore> {
    let url = DatabaseUrl::parse(url, context.metier.environment())?;
    Ok(PostgresStore::connect(url, options, cancel)?)
}

pub(super) fn run(args: &EvalWorkerArgs, context: &Context) -> Result<Box<dyn Output>> {
    let interrupt = Interrupt::listen();
    let cancel = interrupt.token();
    let connections = usize::from(args.jobs) + 1;
    let options = PostgresOptions { connections, ..PostgresOptions::default() };
    let store = store(&args.database, context, &options, &cancel)?;
    let fleet = FleetWorker { args, context, store, cancel, name: worker_name() };
    let mut worked = Worked::default();
    // Plans that are not for this machine.
    let mut refused: BTreeSet<Digest> = BTreeSet::new();
    loop {
        match fleet.work_on_one(&mut refused, &mut worked)? {
            Step::Worked => {}
            Step::End => break,
            Step::NothingNow => {
                if fleet.cancel.wait_timeout(POLL) {
                    break;
                }
            }
        }
    }
    worked.is_interrupted = fleet.cancel.is_cancelled();
    Ok(Box::new(worked))
}

/// What a worker does next.
enum Step {
    /// It looks for the next plan, the oldest first.
    Worked,
    /// It looks again later.
    NothingNow,
    End,
}

/// A worker on the plans of a database.
struct FleetWorker<'a> {
    args: &'a EvalWorkerArgs,
    context: &'a Context,
    store: PostgresStore,
    cancel: CancelToken,
    name: String,
}

impl FleetWorker<'_> {
    /// Works on the oldest plan that has units to take. One whose units are all in the hands of others is passed
    /// over: they may come back later.
    fn work_on_one(&self, refused: &mut BTreeSet<Digest>, worked: &mut Worked) -> Result<Step> {
        let open = match self.args.plan {
            // It is an error to name one that is not there.
            Some(plan) => vec![self.store.plan(&plan)?.id()],
            None => self.store.open_plans()?,
        };
        let mut is_done = true;
        worked.left_to_others = open.iter().filter(|id| refused.contains(id)).count();
        for id in open.into_iter().filter(|id| !refused.contains(id)) {
            let progress = self.store.progress(&id)?;
            is_done &= progress.done >= progress.units;
            if progress.done + progress.leased >= progress.units {
                continue;
            }
            let before = worked.completed + worked.already_there;
            match self.work_on(&id, worked) {
                Ok(WorkerEnd::MaxUnits | WorkerEnd::Cancelled) => return Ok(Step::End),
                Ok(_) if worked.completed + worked.already_there > before => {
                    return Ok(Step::Worked);
                }
                Ok(_) => {}
                Err(error) if self.args.plan.is_none() && NOT_FOR_HERE.contains(&error.code) => {
                    print_note(&format!("left to others: {id}: {}", error.message));
                    refused.insert(id);
                    return Ok(Step::Worked);
                }
                Err(error) => return Err(error),
            }
        }
        let may_end = self.args.exit_when_done || self.args.plan.is_some();
        Ok(if is_done && may_end { Step::End } else { Step::NothingNow })
    }

    fn work_on(&self, id: &Digest, worked: &mut Worked) -> Result<WorkerEnd> {
        let plan = self.store.plan(id)?;
        let jobs = usize::from(self.args.jobs);
        let left = self.args.max_units.map(|most| most.saturating_sub(worked.completed));
        self.args.subject.with_runner(self.context, &plan, |runner| {
            let options = WorkerOptions {
                name: self.name.clone(),
                harness: plan.harness.clone(),
                plan: Some(*id),
                parallel: jobs,
                max_batch: 256,
                when_idle: WhenIdle::End,
                max_units: left,
                poll: POLL,
            };
            let carry_out = |plan: &EvalPlan, unit: &EvalUnit, cancel: &CancelToken| {
                runner.run(plan, unit, cancel)
            };
            let heard = |event: &WorkerEvent<'_>| {
                if let WorkerEvent::Lost { lease } = event {
                    print_note(&format!("unit {} was taken by another worker", lease.unit.index));
                }
            };
            let worker = Worker::new(&self.store, options, &carry_out).on_event(&heard);
            let report = worker.work(&self.cancel)?;
            worked.completed += report.completed;
            worked.already_there += report.already_there;
            worked.released += report.released;
            worked.lost += report.lost;
            Ok::<WorkerEnd, CommandError>(report.end)
        })
    }
}

impl Output for Worked {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let units =
            crate::render::count(usize::try_from(self.completed).unwrap_or(usize::MAX), "unit");
        writeln!(out, "{units} carried out, {} given back", self.released)?;
        if self.left_to_others > 0 {
            let plans = crate::render::count(self.left_to_others, "plan");
            writeln!(out, "{plans} left to other machines")?;
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        match self.left_to_others {
            _ if self.is_interrupted => Exit::Interrupted,
            0 => Exit::Done,
            _ => Exit::Findings,
        }
    }
}
