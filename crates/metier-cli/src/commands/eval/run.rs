//! `metier eval run`: the cases of the project, tried and judged.
//!
//! Results are kept as they come; what is there already is not tried again, unless it was an error.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use metier::skill::{Digest, FailureCode};
use metier::{CancelToken, Environment, Metier};
use metier_evals::report::ReasonCode;
use metier_evals::{
    Arm, Case, CaseChoice, CaseCommands, EvalLimits, EvalPlan, EvalStore, EvalSubject, FailFast,
    FileStore, Judge, LoopOptions, LoopSubject, PlanOptions, RunStop, Shard, TrialRunner, WhenIdle,
    Worker, WorkerEnd, WorkerEvent, WorkerOptions, find_case_files, make_plan, read_cases,
    skills_under_test,
};

use super::progress::LiveCounts;
use super::saved::{Folded, Form, RunOutput, check_page_place, fold, saved_plan};
use super::scoring::ScoringArgs;
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
    #[command(flatten)]
    pub(super) choice: ChoiceArgs,
    #[command(flatten)]
    pub(super) how: HowArgs,
    #[command(flatten)]
    arms: ArmsArgs,
    /// Only this part of the cases, such as 1/4; `metier eval merge` puts the parts together.
    #[arg(long, value_name = "I/N", conflicts_with = "baseline")]
    shard: Option<String>,
    /// Also say what got better or worse since this run: `last`, the beginning of a plan's id, or a folder.
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    #[command(flatten)]
    scoring: ScoringArgs,
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
    /// Files or folders of cases; all of the project and its skills otherwise.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
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

/// Which arms are run.
#[derive(Debug, Clone, Args)]
pub(crate) struct ArmsArgs {
    /// How skills are offered: none (it is not there), listed (as always), forced (loaded first), inlined (its
    /// text in every prompt).
    #[arg(long, value_name = "ARMS", value_delimiter = ',', default_value = "listed")]
    arms: Vec<EvalArm>,
}

impl ArmsArgs {
    /// The arms, each once, in their order.
    pub(super) fn chosen(&self) -> Vec<Arm> {
        let mut arms: Vec<Arm> = self.arms.iter().copied().map(Arm::from).collect();
        arms.sort_unstable();
        arms.dedup();
        arms
    }
}

/// What is tested.
#[derive(Debug, Clone, Args)]
pub(crate) struct SubjectArgs {
    /// The model that decides (`metier models` lists them); that of a plan where there is one.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The model that judges statements about answers; without one they are not judged.
    #[arg(long, value_name = "MODEL")]
    pub(super) judge: Option<String>,
    /// Allow this tool in trials: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Deny this tool in trials (may be repeated).
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Run the programs that cases judge answers by (`commands`), in the sandbox. Read the cases first.
    #[arg(long)]
    pub(super) run_commands: bool,
    #[command(flatten)]
    pub(super) agent: AgentArgs,
}

impl SubjectArgs {
    pub(super) fn commands(&self) -> CaseCommands {
        if self.run_commands { CaseCommands::Run } else { CaseCommands::Refuse }
    }

    pub(super) fn options(&self) -> LoopOptions {
        let Self { model, judge, allow, deny, run_commands: _, agent: _ } = self.clone();
        LoopOptions { model, judge, allow, deny }
    }
}

/// How trials are done.
#[derive(Debug, Clone, Args)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Trials of each case in each arm.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Trials at a time; as many as there are processors for offline models, 4 for others.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Stop at the first error, or at the first failure too. A run that was stopped has no verdict until it was
    /// continued to its end.
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "errors")]
    fail_fast: Option<StopAt>,
    /// Stop when so many tokens were sent and received, those of the judge too.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Stop when the model and the judge were called so often.
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EvalArm {
    None,
    Listed,
    Forced,
    Inlined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StopAt {
    Errors,
    Failures,
}

impl From<StopAt> for FailFast {
    fn from(at: StopAt) -> Self {
        match at {
            StopAt::Errors => Self::Errors,
            StopAt::Failures => Self::Failures,
        }
    }
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
    pub(super) fn cases(&self, metier: &Metier) -> Result<Vec<Case>> {
        let sources = find_case_files(metier, &self.paths)?;
        let mut cases = read_cases(&sources, self.skill.as_deref())?;
        let all = cases.len();
        let choice = CaseChoice {
            skill: self.skill.clone(),
            ids: self.cases.clone(),
            tags: self.tags.clone(),
        };
        cases.retain(|case| choice.holds(case));
        if cases.is_empty() {
            let message = format!("none of the {all} cases matches --skill, --case and --tag");
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
        let metier = context.acting(find, &self.subject.agent)?;
        let options = self.subject.options();
        let subject = LoopSubject::new(&metier, options, skills_under_test(&cases))?;
        let statements: usize = cases.iter().map(|it| it.expected.output.judge.len()).sum();
        if statements > 0 && self.subject.judge.is_none() {
            print_note(&format!(
                "{} about answers not judged: name a model with --judge",
                crate::render::count(statements, "statement")
            ));
        }
        let judge = self.subject.judge.clone().map(|model| Judge { model });
        let options = PlanOptions { arms, trials: self.trials, judge: self.subject.judge.clone() };
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
        let commands = self.subject.commands();
        let runner = TrialRunner::new(metier, plan, subject, judge.clone(), commands)?;
        let id = plan.id();
        store.open_plan(plan)?;
        store.retry_errors(&id)?;
        let stop = interrupt.child();
        let fail_fast = self.fail_fast.map(FailFast::from);
        let limits = EvalLimits::new(fail_fast, self.max_tokens, self.max_calls);
        let stopped = Mutex::new(None);
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
            if let WorkerEvent::Finished { lease, result, .. } = event {
                let Some(case) = plan.cases.get(lease.unit.case) else { return };
                counts.add(case, result);
                if let Some(why) = limits.add(case, result) {
                    let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                    stopped.get_or_insert(why);
                    stop.cancel();
                }
            }
        };
        let report = Worker::new(store, options, &carry_out).on_event(&heard).work(&stop)?;
        drop(counts);
        if report.end != WorkerEnd::Cancelled {
            return Ok(None);
        }
        if interrupt.is_cancelled() {
            return Ok(Some(StopReason::Interrupted));
        }
        // What stopped it may have been the last result of all.
        let progress = store.progress(&id)?;
        let why = stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(why.filter(|_| progress.done < progress.units).map(StopReason::Early))
    }
}

/// Why a run stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Interrupted,
    Early(RunStop),
}

pub(super) fn run(args: &EvalRunArgs, context: &Context, _: bool) -> Result<Box<dyn Output>> {
    let scoring = args.scoring.scoring()?;
    let environment: &Environment = context.metier.environment();
    let shard = args.shard.as_deref().map(|text| Shard::parse(text, environment)).transpose()?;
    let page = args.html.as_ref().map(|path| context.metier.working_dir().join(path));
    page.as_deref().map(check_page_place).transpose()?;
    let interrupt = Interrupt::listen();
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier)?;
    let ready = args.how.ready(context, &args.find, cases, args.arms.chosen())?;
    let mut store = FileStore::in_project(&metier)?;
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
    let folded = fold(&store, &ready.plan, scoring.options(), args.html.is_some())?;
    let compared = baseline.map(|before| before.compared_with(&folded, scoring)).transpose()?;
    let part = shard.map(|shard| finished_part(shard, &store, &id, &folded)).transpose()?;
    let output = RunOutput::new(folded, args.format, compared).with_folder(store.folder(&id));
    if let Some(page) = &page {
        output.write_html(page)?;
    }
    output.write_summary(environment);
    Ok(Box::new(match (stopped, part.flatten()) {
        (Some(StopReason::Early(RunStop::Limit)), _) => {
            print_note("stopped: a limit is spent; the next run continues from here");
            output.ending(Exit::BudgetSpent)
        }
        (Some(_), _) => {
            print_note("stopped by --fail-fast; the next run continues from here");
            output.ending(Exit::Findings)
        }
        (None, Some(exit)) => output.ending(exit),
        (None, None) => output,
    }))
}

/// How a run of a part ends that is complete; nothing where it is not. The verdict is on the whole, so only what no
/// other part can make good is a failure: too many errors, and a model that the gates do not take.
fn finished_part(
    shard: Shard,
    store: &FileStore,
    plan: &Digest,
    folded: &Folded,
) -> Result<Option<Exit>> {
    let progress = store.progress(plan)?;
    if progress.done < progress.units {
        return Ok(None);
    }
    let report = &folded.report;
    let gates = &report.verdict.gates;
    let is_refused =
        report.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::NotARealModel);
    if is_refused || report.units.error_share() > gates.errors {
        return Ok(Some(Exit::Findings));
    }
    let trials =
        crate::render::count(usize::try_from(progress.units).unwrap_or(usize::MAX), "trial");
    print_note(&format!(
        "part {shard} is complete ({trials}): `metier eval merge` gives the verdict"
    ));
    Ok(Some(Exit::Done))
}

fn interrupted(store: &FileStore, plan: &Digest) -> CommandError {
    let progress = store.progress(plan).unwrap_or_default();
    let message = format!("interrupted after {} of {} trials", progress.done, progress.units);
    let code = FailureCode::Cancelled.as_str();
    CommandError { exit: Exit::Interrupted, ..CommandError::failed(code, message) }
        .help("the same command continues where it stopped")
}
