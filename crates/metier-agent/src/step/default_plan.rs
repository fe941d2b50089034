//! The plan of a run whose model gives none: choose skills, follow them, check and answer. Its steps
//! are moved by what happened, so that every run has a plan that is true.
//!
//! A model that gives a plan of its own has it from then on, and this one is gone. It is not shown to
//! the model: it would say what the model did.

use metier_model::{Plan, PlanStep, StepStatus};
use metier_skill::text::short_line;

use super::Step;
use crate::event::{Event, PlanAuthor};
use crate::state::State;

/// Characters of the request that the plan repeats as its goal.
const GOAL_CHARS: usize = 200;

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It works.
    Working,
    /// It is answered.
    Answered,
}

impl Step<'_> {
    /// Moves the plan to where the run is now.
    pub(super) fn move_default_plan(&mut self) {
        self.set_default_plan(Progress::Working);
    }

    /// Moves the plan to its end.
    pub(super) fn finish_default_plan(&mut self) {
        self.set_default_plan(Progress::Answered);
    }

    fn set_default_plan(&mut self, progress: Progress) {
        if self.state.plan_is_own {
            return;
        }
        let plan = plan(self.state, progress);
        if self.state.plan.as_ref() != Some(&plan) {
            self.events.push(Event::PlanChanged { plan: plan.clone(), by: PlanAuthor::Runtime });
            self.state.plan = Some(plan);
        }
    }
}

fn plan(state: &State, progress: Progress) -> Plan {
    use StepStatus::{Completed, InProgress, Pending, Skipped};
    let has_loaded = !state.loaded.is_empty();
    let has_worked = state.spent.tool_calls > 0;
    let answered = progress == Progress::Answered;
    let choose = match (has_loaded, has_worked || answered) {
        (true, _) => Completed,
        (false, true) => Skipped,
        (false, false) => InProgress,
    };
    let follow = match (answered, has_loaded || has_worked) {
        (true, true) => Completed,
        (true, false) => Skipped,
        (false, true) if state.ending.is_some() => Completed,
        (false, true) => InProgress,
        (false, false) => Pending,
    };
    let answer = match (answered, state.ending.is_some()) {
        (true, _) => Completed,
        (false, true) => InProgress,
        (false, false) => Pending,
    };
    let step = |id: &str, title: &str, status| PlanStep {
        id: id.to_owned(),
        title: title.to_owned(),
        status,
    };
    Plan {
        goal: short_line(&state.setup.request, GOAL_CHARS).into_owned(),
        steps: vec![
            step("s1", "Choose and load skills", choose),
            step("s2", "Follow them: read files, run scripts, call tools", follow),
            step("s3", "Check the result and answer", answer),
        ],
        ..Plan::default()
    }
}
