//! Carrying out one unit of a plan: a folder, the subject, the score, and one result, whatever happens.
//!
//! An error of a trial is a result of its own kind; nothing here counts it as an answer.

use std::path::Path;
use std::time::{Duration, Instant};

use metier::{CancelToken, Metier};

use crate::case::Case;
use crate::error::{EvalError, Result};
use crate::grade::{Grader, Judge};
use crate::plan::{EvalPlan, EvalUnit};
use crate::planning::check_commands;
use crate::score::score;
use crate::subject::{EvalSubject, Trace, TraceError};
use crate::trial::{RESULT_FORMAT, TrialEnd, TrialErrorKind, TrialResult};
use crate::trial_folder::TrialFolders;

/// How long programs and a judge may take for one trial, where its case does not say.
const GRADING_TIMEOUT: Duration = Duration::from_mins(10);

/// What becomes of the programs that cases judge by (`commands`). A case comes with a clone: only who has read it can
/// say that they may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseCommands {
    /// A plan that has any is refused.
    Refuse,
    /// They run, in the sandbox.
    Run,
}

/// Carries out units of plans.
pub struct TrialRunner<'s> {
    subject: &'s dyn EvalSubject,
    folders: TrialFolders,
    grader: Grader,
}

impl<'s> TrialRunner<'s> {
    /// Trials of `subject`, with the files of a project and the policy of its runtime. Statements about answers
    /// are judged where there is a judge.
    ///
    /// # Errors
    ///
    /// [`EvalError::CommandsNotAllowed`] where a case of `plan` judges by programs and `commands` refuses them, and where no
    /// temporary folder can be made.
    pub fn new(
        metier: &Metier,
        plan: &EvalPlan,
        subject: &'s dyn EvalSubject,
        judge: Option<Judge>,
        commands: CaseCommands,
    ) -> Result<Self> {
        if commands == CaseCommands::Refuse {
            check_commands(&plan.cases)?;
        }
        let folders = TrialFolders::new(metier).map_err(|error| {
            let help = "make the temporary directory writable";
            EvalError::store(format!("no folder for trials can be made: {error}"), help)
        })?;
        Ok(Self { subject, folders, grader: Grader::new(metier.clone(), judge, commands) })
    }

    /// Carries out a unit.
    pub fn run(&self, plan: &EvalPlan, unit: &EvalUnit, cancel: &CancelToken) -> TrialResult {
        let Some(case) = plan.cases.get(unit.case) else {
            let message = "the plan has no such case";
            return TrialResult::of_error("", unit, TrialErrorKind::Harness, message);
        };
        let begun = Instant::now();
        let folder = match self.folders.folder(case) {
            Ok(folder) => folder,
            Err(message) => {
                return TrialResult::of_error(&case.id, unit, TrialErrorKind::Harness, message);
            }
        };
        let traced = self.subject.run(case, unit.arm, folder.path(), cancel);
        let mut result = match traced {
            Ok(trace) if is_graded(case) => {
                // A program or a judge may take what the trial left of its time.
                let most = case.constraints.timeout_s.map_or(GRADING_TIMEOUT, Duration::from_secs);
                let left = match case.constraints.timeout_s {
                    Some(_) => most.saturating_sub(begun.elapsed()),
                    None => most,
                };
                match cancel.deadline(left) {
                    Ok(limit) => {
                        let token = limit.token();
                        let judged = self.judged(case, unit, trace, folder.path(), token);
                        if token.is_cancelled() && !cancel.is_cancelled() {
                            timed_out(judged, most)
                        } else {
                            judged
                        }
                    }
                    Err(error) => {
                        let (kind, message) = (TrialErrorKind::Harness, error.to_string());
                        TrialResult::of_error(&case.id, unit, kind, message)
                    }
                }
            }
            Ok(trace) => self.judged(case, unit, trace, folder.path(), cancel),
            Err(error) => of_trace_error(case, unit, error),
        };
        // A program or a judge that was stopped has judged nothing, whatever it left.
        if cancel.is_cancelled() && (result.error_kind().is_some() || is_graded(case)) {
            let message = "it was stopped";
            result = TrialResult::of_error(&case.id, unit, TrialErrorKind::Cancelled, message);
        }
        result.cost.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        result
    }

    fn judged(
        &self,
        case: &Case,
        unit: &EvalUnit,
        mut trace: Trace,
        folder: &Path,
        cancel: &CancelToken,
    ) -> TrialResult {
        let scored = score(case, unit.arm, &trace);
        let mut checks = scored.checks;
        checks.extend(self.grader.checks(case, &mut trace, folder, cancel));
        let end = TrialEnd::Finished { status: trace.status };
        TrialResult { triggers: scored.triggers, checks, ..seen(case, unit, end, trace) }
    }
}

fn timed_out(judged: TrialResult, most: Duration) -> TrialResult {
    let message = format!("judging it took longer than the {} seconds of a trial", most.as_secs());
    let end = TrialEnd::Error { kind: TrialErrorKind::TimedOut, message };
    TrialResult { end, triggers: Vec::new(), checks: Vec::new(), ..judged }
}

/// Whether programs or a judge look at what a case leaves.
fn is_graded(case: &Case) -> bool {
    let output = &case.expected.output;
    !output.commands.is_empty() || !output.judge.is_empty()
}

fn of_trace_error(case: &Case, unit: &EvalUnit, error: TraceError) -> TrialResult {
    match error.seen {
        Some(trace) => {
            let end = TrialEnd::Error { kind: error.kind, message: error.message };
            seen(case, unit, end, *trace)
        }
        None => TrialResult::of_error(&case.id, unit, error.kind, error.message),
    }
}

fn seen(case: &Case, unit: &EvalUnit, end: TrialEnd, trace: Trace) -> TrialResult {
    TrialResult {
        format: RESULT_FORMAT,
        fingerprint: unit.fingerprint,
        case: case.id.clone(),
        arm: unit.arm,
        trial: unit.trial,
        end,
        fired: trace.fired,
        actions: trace.actions,
        answer: trace.answer,
        triggers: Vec::new(),
        checks: Vec::new(),
        cost: trace.cost,
        run: trace.run,
    }
}
