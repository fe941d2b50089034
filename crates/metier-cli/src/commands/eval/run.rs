//! `metier eval run`: the cases of the project, tried and judged.
//!
//! Results are kept as they come; what is there already is not tried again, unless it was an error.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use metier::skill::Digest;
use metier::{CancelToken, Environment, Metier};
use metier_evals::report::{Gates, RequiredModel};
use metier_evals::{
    Arm, Case, EvalPlan, EvalStore, EvalSubject, FileStore, Judge, LoopOptions, LoopSubject,
    PlanOptions, Shard, TrialResult, TrialRunner, WhenIdle, Worker, WorkerEnd, WorkerEvent,
    WorkerOptions, check_commands, check_trust, find_case_files, make_plan, read_cases,
    skills_under_test,
};

use super::progress::LiveCounts;
use super::saved::{Form, RunOutput, fold, saved_plan};
use crate::agent::signal::Interrupt;
use crate::context::{AgentArgs, Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note};

/// Run the evals of the project, or those of the files and folders that are named.
///
/// A result that is there already is used again while nothing changed that could change it: the skill, the case,
/// the model, the settings. Errors are tried again. Ctrl-C stops; the next run continues.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  metier eval run
  metier eval run .agent/evals/pdf.yaml --trials 3
  metier eval run --model anthropic:claude-sonnet-5 --judge openai:gpt-5-mini --jobs 4
  metier eval run --gate recall=0.9 --gate model=real --format github
  metier eval run --baseline last            what got better or worse since the last run")]
pub(crate) struct EvalRunArgs {
    /// Files or folders of cases; all of the project and its skills otherwise.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) choice: ChoiceArgs,
    #[command(flatten)]
    pub(super) how: HowArgs,
    /// How skills are offered: none (it is not there), listed (as always), forced (loaded first), inlined (its
    /// text in every prompt).
    #[arg(long, value_name = "ARMS", value_delimiter = ',', default_value = "listed")]
    arms: Vec<EvalArm>,
    /// Only this part of the cases, such as 1/4; `metier eval merge` puts the parts together.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Also say what got better or worse since this run: `last`, the beginning of a plan's id, or a folder.
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// What the run must reach: recall, precision, `pass_rate` or errors, such as `recall=0.9`, or `model=real`
    /// (may be repeated).
    #[arg(long = "gate", value_name = "KEY=VALUE")]
    gates: Vec<String>,
    /// How the report is printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
    /// Also write the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) find: FindArgs,
}

/// Which cases are meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Only the cases about this skill; also the skill of lists that name none.
    #[arg(long, value_name = "NAME")]
    pub(super) skill: Option<String>,
    /// Only the cases whose id has this in it (may be repeated).
    #[arg(long = "case", value_name = "TEXT")]
    cases: Vec<String>,
    /// Only the cases with this tag (may be repeated).
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

/// How trials are done.
#[derive(Debug, Clone, Args)]
pub(crate) struct HowArgs {
    /// The model that decides (`metier models` lists them).
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The model that judges statements about answers; without one they are not judged.
    #[arg(long, value_name = "MODEL")]
    judge: Option<String>,
    /// Trials of each case in each arm.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Trials at a time; as many as there are processors for offline models, 4 for others.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Stop at the first error, or at the first failure too. Never the default: a run that stops on a result
    /// says less than it seems.
    #[arg(long, value_name = "WHEN", num_args = 0..=1, default_missing_value = "errors")]
    fail_fast: Option<FailFast>,
    /// Stop when so many tokens were sent and received.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Stop when the model was called so often.
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Allow this tool in trials: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Deny this tool in trials (may be repeated).
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Run the programs that cases judge answers by (`commands`), in the sandbox. Read the cases first.
    #[arg(long)]
    run_commands: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EvalArm {
    None,
    Listed,
    Forced,
    Inlined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailFast {
    Errors,
    Failures,
}

impl From<EvalArm> for Arm {
    fn from(arm: EvalArm) -> Self {
        match arm {
            EvalArm::None => Self::None,
            EvalArm::Listed => Self::Listed,
            EvalArm::Forced => Self::Forced,
            EvalArm::Inlined => Self::Inlined,
        }
    }
}

impl ChoiceArgs {
    /// The cases that are meant, of these files.
    pub(super) fn cases(&self, metier: &Metier, paths: &[PathBuf]) -> Result<Vec<Case>> {
        let sources = find_case_files(metier, paths)?;
        let mut cases = read_cases(&sources, self.skill.as_deref())?;
        let all = cases.len();
        cases.retain(|case| {
            let of_skill = self.skill.as_ref().is_none_or(|it| case.skill.as_ref() == Some(it));
            let is_named =
                self.cases.is_empty() || self.cases.iter().any(|it| case.id.contains(it));
            let is_tagged =
                self.tags.is_empty() || self.tags.iter().any(|it| case.tags.contains(it));
            of_skill && is_named && is_tagged
        });
        if cases.is_empty() {
            let message = format!("none of the {all} cases is meant by --skill, --case and --tag");
            return Err(CommandError::failed("eval-no-cases", message)
                .help("`metier eval check --json` lists their ids, skills and tags"));
        }
        Ok(cases)
    }
}

/// A run that is ready to begin.
pub(super) struct ReadyRun {
    pub(super) metier: Metier,
    pub(super) subject: LoopSubject,
    pub(super) plan: EvalPlan,
    judge: Option<Judge>,
}

impl HowArgs {
    /// Everything that is needed before the first trial.
    pub(super) fn ready(
        &self,
        context: &Context,
        find: &FindArgs,
        cases: Vec<Case>,
        arms: Vec<Arm>,
    ) -> Result<ReadyRun> {
        let metier = context.acting(find, &self.agent)?;
        check_trust(&metier)?;
        let options = LoopOptions {
            model: self.model.clone(),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            judge: self.judge.clone(),
        };
        let subject = LoopSubject::new(&metier, options, skills_under_test(&cases))?;
        let statements: usize = cases.iter().map(|it| it.expected.output.judge.len()).sum();
        if statements > 0 && self.judge.is_none() {
            print_note(&format!(
                "{} about answers not judged: name a model with --judge",
                crate::render::count(statements, "statement")
            ));
        }
        let judge = self.judge.clone().map(|model| Judge { model });
        let options = PlanOptions { arms, trials: self.trials, judge: self.judge.clone() };
        let plan = make_plan(&metier, subject.info(), subject.scan(), cases, options)?;
        Ok(ReadyRun { metier, subject, plan, judge })
    }

    fn jobs(&self, plan: &EvalPlan) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let usual = match plan.subject.model_kind {
            metier_evals::ModelKind::Real => 4,
            _ => processors(),
        };
        self.jobs.map_or(usual, usize::from)
    }

    /// Works on the plan until there is nothing left, or it has to stop.
    pub(super) fn work(
        &self,
        ready: &ReadyRun,
        store: &dyn EvalStore,
        interrupt: &CancelToken,
    ) -> Result<Option<StopReason>> {
        let ReadyRun { metier, subject, plan, judge } = ready;
        if !self.run_commands {
            check_commands(&plan.cases)?;
        }
        let id = plan.id();
        store.open_plan(plan)?;
        store.retry_errors(&id)?;
        // Without it no case has any.
        let runner = TrialRunner::new(metier, subject, judge.clone())?.running_commands();
        let stop = interrupt.child();
        let limits = Limits::of(self);
        let before = store.progress(&id)?;
        let counts = LiveCounts::new(before);
        let options = WorkerOptions {
            name: super::worker_name::worker_name(),
            harness: plan.harness.clone(),
            plan: Some(id),
            parallel: self.jobs(plan),
            max_batch: 256,
            when_idle: WhenIdle::EndWhenDone,
            max_units: None,
            poll: Duration::from_millis(200),
        };
        let carry_out = |plan: &EvalPlan, unit: &metier_evals::EvalUnit, cancel: &CancelToken| {
            runner.run(plan, unit, cancel)
        };
        let heard = |event: &WorkerEvent<'_>| {
            if let WorkerEvent::Finished { result, .. } = event {
                counts.add(result);
                if limits.add(result) {
                    stop.cancel();
                }
            }
        };
        let report = Worker::new(store, options, &carry_out).on_event(&heard).work(&stop)?;
        drop(counts);
        Ok(match report.end {
            WorkerEnd::Cancelled if interrupt.is_cancelled() => Some(StopReason::Interrupted),
            WorkerEnd::Cancelled => Some(limits.reason()),
            _ => None,
        })
    }
}

/// Why a run stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Interrupted,
    FailFast,
    Limit,
}

/// What may be spent, and what was.
struct Limits {
    fail_fast: Option<FailFast>,
    tokens: Option<u64>,
    calls: Option<u64>,
    used_tokens: AtomicU64,
    used_calls: AtomicU64,
}

impl Limits {
    fn of(args: &HowArgs) -> Self {
        Self {
            fail_fast: args.fail_fast,
            tokens: args.max_tokens,
            calls: args.max_calls,
            used_tokens: AtomicU64::new(0),
            used_calls: AtomicU64::new(0),
        }
    }

    /// Whether the run has to stop after this result.
    fn add(&self, result: &TrialResult) -> bool {
        let cost = &result.cost;
        self.used_tokens.fetch_add(cost.tokens_in + cost.tokens_out, Ordering::Relaxed);
        self.used_calls.fetch_add(cost.model_calls.into(), Ordering::Relaxed);
        let has_failed = match self.fail_fast {
            None => false,
            Some(FailFast::Errors) => result.error_kind().is_some(),
            Some(FailFast::Failures) => result.passed() != Some(true),
        };
        has_failed || self.is_spent()
    }

    fn is_spent(&self) -> bool {
        let is_over = |limit: Option<u64>, used: &AtomicU64| {
            limit.is_some_and(|limit| used.load(Ordering::Relaxed) >= limit)
        };
        is_over(self.tokens, &self.used_tokens) || is_over(self.calls, &self.used_calls)
    }

    fn reason(&self) -> StopReason {
        if self.is_spent() { StopReason::Limit } else { StopReason::FailFast }
    }
}

pub(super) fn run(args: &EvalRunArgs, context: &Context, _: bool) -> Result<Box<dyn Output>> {
    let gates = gates(&args.gates)?;
    let environment: &Environment = context.metier.environment();
    let shard = args.shard.as_deref().map(|text| Shard::parse(text, environment)).transpose()?;
    let interrupt = Interrupt::listen();
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier, &args.paths)?;
    let mut arms: Vec<Arm> = args.arms.iter().copied().map(Arm::from).collect();
    arms.sort_unstable();
    arms.dedup();
    let ready = args.how.ready(context, &args.find, cases, arms)?;
    let mut store = FileStore::in_workspace(&metier.workspace());
    // Before this run is the last.
    let id = ready.plan.id();
    let baseline = args.baseline.as_deref().map(|text| saved_plan(&metier, text, Some(&id)));
    let baseline = baseline.transpose()?;
    if let Some(shard) = shard {
        store = store.with_part(shard);
    }
    let stopped = args.how.work(&ready, &store, &interrupt.token())?;
    if stopped == Some(StopReason::Interrupted) {
        return Err(interrupted(&store, &id));
    }
    let folded = fold(&store, &ready.plan, gates, args.html.is_some())?;
    let compared = baseline.map(|before| before.compared_with(&folded, gates)).transpose()?;
    let output = RunOutput::new(folded, args.format, compared).with_folder(store.folder(&id));
    if let Some(path) = &args.html {
        output.write_html(&context.metier.working_dir().join(path))?;
    }
    Ok(Box::new(match stopped {
        Some(StopReason::Limit) => {
            print_note("stopped: a limit is spent; the next run continues from here");
            output.ending(Exit::BudgetSpent)
        }
        Some(_) => {
            print_note("stopped at the first; the next run continues from here");
            output.ending(Exit::Findings)
        }
        None => output,
    }))
}

fn interrupted(store: &FileStore, plan: &Digest) -> CommandError {
    let progress = store.progress(plan).unwrap_or_default();
    let message = format!("interrupted after {} of {} trials", progress.done, progress.units);
    CommandError { exit: Exit::Interrupted, ..CommandError::failed("Cancelled", message) }
        .help("the same command continues where it stopped")
}

/// What a run must reach, as it is typed.
pub(super) fn gates(texts: &[String]) -> Result<Gates> {
    let mut gates = Gates::default();
    for text in texts {
        let wrong = || {
            CommandError::usage(format!("unknown gate `{text}`")).help(
                "write recall=0.9, precision=0.9, pass_rate=0.8, errors=0.01 or model=real; \
                 `none` in place of a number asks for nothing",
            )
        };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let number = || match value {
            "none" => Ok(None),
            value => {
                let number: f64 = value.parse().map_err(|_| wrong())?;
                if (0.0..=1.0).contains(&number) { Ok(Some(number)) } else { Err(wrong()) }
            }
        };
        match (key, value) {
            ("model", "real") => gates.model = RequiredModel::Real,
            ("model", "any") => gates.model = RequiredModel::Any,
            ("recall", _) => gates.recall = number()?,
            ("precision", _) => gates.precision = number()?,
            ("pass_rate", _) => gates.pass_rate = number()?,
            ("errors", _) => gates.errors = number()?.unwrap_or(1.0),
            _ => return Err(wrong()),
        }
    }
    Ok(gates)
}
