//! Testing skills: cases, trials, scores, comparisons and reports.
//!
//! An eval answers an author's question: does my skill trigger when it should, stay quiet when it should
//! not, and do the job? It runs the same loop as everything else, with any model, and says how far its
//! numbers can be trusted.
//!
//! ```text
//! case files --read--> cases --plan--> EvalPlan --units--> EvalStore --lease--> EvalSubject --trace--> score --> TrialResult
//!                                                              ^                                               |
//!                                                              +----------------- complete --------------------+
//! EvalStore --results--> report --> JSON, JUnit, Markdown, HTML
//! ```
//!
//! # The map
//!
//! | file | owns |
//! |---|---|
//! | `case` | one case: what is asked, what is expected, what is allowed |
//! | `read` | case files, in our format and in others', to cases |
//! | `check`, `wrong_names` | what is doubtful about cases |
//! | `first_file`, `phrases` | a first file of cases, from what a description says |
//! | `overlap` | skills that are easily taken for each other |
//! | `plan` | the immutable manifest of a run and the units that it consists of |
//! | `planning` | cases and what is here, to a plan |
//! | `own_loop` | our own loop as what is tested |
//! | `trial_runner`, `trial_folder` | carrying out one unit, in a folder of its own |
//! | `grade` | files, programs and a judge |
//! | `trial` | what came of one unit: the only thing that is stored |
//! | `subject` | what is tested, behind a trait |
//! | `score` | a trace judged by its case (pure) |
//! | `store` | where units are taken from and results are kept, behind a trait; append-only files, `PostgreSQL` |
//! | `worker` | taking units from a store and carrying them out, until there are none |
//! | `shard`, `merge` | a part of a plan for one of several machines, and putting their results together |
//! | `same_setup` | whether this machine can carry out a plan that another one made |
//! | `unit_request` | one unit by itself, for a scheduler that is not ours |
//! | `report` | what a run came to, as a value and in every form that it is read in |
//! | `compare`, `noise` | a run beside a baseline, and beside itself |
//! | `choice`, `limits` | which cases are run, and when a run stops before its end |
//! | `export` | the public shapes of gradings and benchmarks |
//! | `statistics` | shares, intervals, tests, and the data that they need: numbers only |
//! | `format_version` | the versions of what is written, checked as it is read |
//! | `error` | the one error of this crate |
//!
//! # From a program
//!
//! ```
//! use std::time::Duration;
//!
//! use metier::{CancelToken, Metier};
//! use metier_evals::report::{ReportBuilder, ReportOptions, plain_text};
//! use metier_evals::*;
//!
//! # let dir = tempfile::tempdir()?;
//! # let text = "input: total of sales.csv by region\nexpected: {skills: [csv-summary]}\n";
//! # let project = dir.path().join("project");
//! # std::fs::create_dir(&project)?;
//! # std::fs::write(project.join("cases.yaml"), text)?;
//! # let environment = metier::Environment::empty().with_home(dir.path());
//! let metier = Metier::builder(&project).environment(environment).open()?;
//! let cases = read_cases(&find_case_files(&metier, &["cases.yaml".into()])?, None)?;
//! let subject = LoopSubject::new(&metier, LoopOptions::default(), skills_under_test(&cases))?;
//! let plan =
//!     make_plan(&metier, subject.info(), subject.scan(), cases, PlanOptions::default())?;
//!
//! let temporary = TemporaryStore::new()?; // or a `FileStore`, or a `PostgresStore`
//! let store = temporary.store();
//! store.open_plan(&plan)?;
//! let runner = TrialRunner::new(&metier, &plan, &subject, None, CaseCommands::Refuse)?;
//! let carry_out =
//!     |plan: &EvalPlan, unit: &EvalUnit, cancel: &CancelToken| runner.run(plan, unit, cancel);
//! let options = WorkerOptions {
//!     name: "my program".to_owned(),
//!     harness: plan.harness.clone(),
//!     plan: Some(plan.id()),
//!     parallel: 2,
//!     max_batch: 64,
//!     when_idle: WhenIdle::EndWhenDone,
//!     max_units: None,
//!     poll: Duration::from_millis(200),
//! };
//! Worker::new(store, options, &carry_out).work(&CancelToken::new())?;
//!
//! let mut report = ReportBuilder::new(&plan, ReportOptions::default());
//! store.results(&plan, &mut |result| {
//!     report.add(&result);
//!     Ok(())
//! })?;
//! let report = report.finish();
//! println!("{}", plain_text(&report));
//! assert_eq!((report.units.scored, report.units.errors), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An error of the harness, the model or a grader is never an answer: it is counted apart, and neither
//! "not triggered" nor "passed". This crate prints nothing.

mod case;
mod check;
mod choice;
mod compare;
mod error;
mod export;
mod first_file;
mod format_version;
mod grade;
mod limits;
mod merge;
mod noise;
mod overlap;
mod own_loop;
mod phrases;
mod plan;
mod planning;
mod read;
pub mod report;
mod same_setup;
mod score;
mod shard;
pub mod statistics;
mod store;
mod subject;
mod trial;
mod trial_folder;
mod trial_runner;
mod unit_request;
mod worker;
mod wrong_names;

pub use case::{
    ActionChecks, ActionCount, ActionPattern, ActionSequence, ArgumentPattern, Case, CaseOrigin,
    CommandCheck, Constraints, Expected, FileCheck, InstructionStep, JudgeCheck, OutputChecks,
    SequenceMode,
};
pub use check::{CaseFinding, check_cases};
pub use choice::CaseChoice;
pub use compare::{
    ChangedCase, ComparedRun, RunChange, RunComparison, compare, comparison_markdown,
    comparison_text,
};
pub use error::{CaseFault, EvalError};
pub use export::{ExportOptions, ExportedFile, PublicShape, RunExport};
pub use first_file::first_case_file;
pub use grade::Judge;
pub use limits::{EvalLimits, FailFast, RunStop};
pub use merge::{MergeReport, MergedSource, MissingUnit, merge};
pub use noise::{RunNoise, run_noise};
pub use overlap::{Competitor, MissedRequest, OverlappingPair, SkillRanking};
pub use own_loop::{LoopOptions, LoopSubject};
pub use plan::{
    Arm, EvalPlan, EvalUnit, MAX_TRIALS, MAX_UNITS, ModelKind, PLAN_FORMAT, SubjectInfo,
};
pub use planning::{PlanOptions, make_plan, skills_under_test};
pub use read::{CaseSource, case_file_schema, find_case_files, parse_cases, read_cases};
pub use same_setup::check_same_setup;
pub use score::{Score, score};
pub use shard::Shard;
#[cfg(feature = "postgres")]
pub use store::{DatabaseUrl, PostgresOptions, PostgresStore};
pub use store::{EvalStore, FileStore, Lease, MAX_ATTEMPTS, SavedPlan, StoreProgress, Stored};
pub use subject::{EvalSubject, Trace, TraceError};
pub use trial::{
    CheckKind, CheckOutcome, CheckResult, FiredSkill, RESULT_FORMAT, TrialAction, TrialCost,
    TrialEnd, TrialErrorKind, TrialResult, TriggerScore,
};
pub use trial_folder::TemporaryStore;
pub use trial_runner::{CaseCommands, TrialRunner};
pub use unit_request::{MAX_REQUEST_BYTES, UNIT_REQUEST_FORMAT, UnitRequest};
pub use worker::{RunUnit, WhenIdle, Worker, WorkerEnd, WorkerEvent, WorkerOptions, WorkerReport};
