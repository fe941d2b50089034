//! `metier eval run-unit`: one unit on the standard input, one result on the standard output.
//! It keeps nothing, so that any scheduler may call it again.

use std::io::{self, Read, Write};

use clap::Args;
use metier_evals::{
    EvalPlan, Judge, LoopSubject, MAX_REQUEST_BYTES, TrialResult, TrialRunner, UnitRequest,
    check_same_setup, skills_under_test,
};

use super::run::SubjectArgs;
use crate::agent::signal::Interrupt;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::Output;

/// Carry out one unit of a plan: a request on the standard input, its result on the standard output.
///
/// For schedulers of any kind: nothing else is read and nothing is kept, so that it may be done again. What could not
/// be carried out is a result too, with the exit code 0; where nothing is printed, the machine is not the one that the
/// plan asks for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval plan --units | head -1 | metier eval run-unit")]
pub(crate) struct EvalRunUnitArgs {
    #[command(flatten)]
    subject: PlanSubjectArgs,
}

/// What carries out the units of a plan that was made elsewhere.
#[derive(Debug, Args)]
pub(crate) struct PlanSubjectArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    find: FindArgs,
}

impl PlanSubjectArgs {
    /// Gives `work` what carries out units of this plan, which must be what the plan was made with.
    pub(super) fn with_runner<T>(
        &self,
        context: &Context,
        plan: &EvalPlan,
        work: impl FnOnce(&TrialRunner<'_>) -> Result<T>,
    ) -> Result<T> {
        let metier = context.acting(&self.find, &self.subject.agent)?;
        let names = skills_under_test(&plan.cases);
        let subject = LoopSubject::new(&metier, self.subject.options(), names)?;
        check_same_setup(plan, &metier, &subject)?;
        let judge = self.subject.judge.clone().map(|model| Judge { model });
        work(&TrialRunner::new(&metier, plan, &subject, judge, self.subject.commands())?)
    }
}

struct UnitOutput(TrialResult);

pub(super) fn run(args: &EvalRunUnitArgs, context: &Context) -> Result<Box<dyn Output>> {
    let interrupt = Interrupt::listen();
    let mut json = Vec::new();
    // One byte more than may be: a request that is cut off would be called broken.
    io::stdin().take(MAX_REQUEST_BYTES as u64 + 1).read_to_end(&mut json).map_err(|error| {
        CommandError::failed("eval-unit", format!("the request cannot be read: {error}"))
    })?;
    let request = UnitRequest::parse(&json)?;
    let result = args.subject.with_runner(context, &request.plan, |runner| {
        let carry_out = |plan: &EvalPlan, unit: &_, cancel: &_| runner.run(plan, unit, cancel);
        Ok(request.run(&carry_out, &interrupt.token()))
    })?;
    if interrupt.token().is_cancelled() {
        return Err(metier_evals::EvalError::Cancelled.into());
    }
    Ok(Box::new(UnitOutput(result)))
}

impl Output for UnitOutput {
    /// One line in both forms: the line that a file of results has.
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(out, &self.0).map_err(io::Error::from)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.json(out)?;
        writeln!(out)
    }

    fn is_raw(&self) -> bool {
        true
    }
}
