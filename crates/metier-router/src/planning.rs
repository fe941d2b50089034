//! The plan of the offline model: three steps, marked as they are done, and brought to its end with the answer.
//! Called by `router`.

use metier_model::{Action, AnswerStatus, Decision, Plan, PlanStep, PlanUpdate, StepStatus, Turn};
use metier_skill::text;

use crate::answer::{Ending, Voice};
use crate::script;

/// Characters of the request that a plan repeats.
const GOAL_CHARS: usize = 300;

/// The plan so far, or a new one.
pub(crate) fn plan(turn: &Turn, voice: Voice, names: &str) -> Plan {
    if let Some(plan) = turn.view.plan.as_ref().filter(|plan| !plan.steps.is_empty()) {
        return plan.clone();
    }
    let goal = text::clip(turn.view.request.trim(), GOAL_CHARS).into_owned();
    let steps = voice.steps(names).into_iter().zip(["s1", "s2", "s3"]);
    let step = |(title, id): (String, &str)| PlanStep {
        id: id.to_owned(),
        title,
        status: StepStatus::Pending,
    };
    Plan { goal, steps: steps.map(step).collect(), ..Plan::default() }
}

pub(crate) fn mark(plan: &mut Plan, id: &str, status: StepStatus) {
    if let Some(step) = plan.steps.iter_mut().find(|step| step.id == id) {
        step.status = status;
    }
}

/// A decision that makes the plan, or replaces the one there is if it changed.
pub(crate) fn with_plan(turn: &Turn, plan: Plan, action: Action) -> Decision {
    match &turn.view.plan {
        None => Decision { plan: Some(plan), plan_update: None, action },
        Some(before) if *before == plan => Decision::to(action),
        Some(_) => Decision { plan: None, plan_update: Some(PlanUpdate::Replace(plan)), action },
    }
}

/// The answer, with the plan brought to its end.
pub(crate) fn finish(turn: &Turn, voice: Voice, ending: Ending, text: String) -> Decision {
    let status = match ending {
        // What was not done because nothing should be is no failure.
        Ending::GaveUp if turn.past().any(script::is_dry) => AnswerStatus::Done,
        Ending::GaveUp if turn.past().any(|past| !past.ok) => AnswerStatus::Failed,
        Ending::GaveUp => AnswerStatus::Abstained,
        Ending::Done | Ending::Read => AnswerStatus::Done,
    };
    let action = Action::FinalAnswer { text: voice.with_note(turn, text), data: None, status };
    // Without a plan there was nothing to do, and an answer needs none.
    let Some(mut plan) = turn.view.plan.clone() else {
        return Decision::to(action);
    };
    for step in &mut plan.steps {
        step.status = match step.status {
            StepStatus::Pending | StepStatus::InProgress if step.id == "s3" => {
                StepStatus::Completed
            }
            StepStatus::InProgress if ending != Ending::GaveUp => StepStatus::Completed,
            StepStatus::Pending | StepStatus::InProgress => StepStatus::Skipped,
            done => done,
        };
    }
    with_plan(turn, plan, action)
}
