//! An action on its way: each of its operations is judged, asked about where it must be, and done.
//!
//! What comes of all of them is one observation, made by the step itself.

use std::collections::VecDeque;
use std::sync::Arc;

use metier_model::Action;
use metier_policy::{Answer, Effect, Invoker};
use metier_skill::text::label;
use metier_skill::{Digest, FailureCode, SkillId};
use serde::Deserialize;
use serde_json::json;

use super::spend::{SpentBudget, add_usage, changes, exceeded_by, spent_time};
use super::{Step, StepEffect, ending};
use crate::event::{Event, Spent, Status};
use crate::observe;
use crate::op::{Op, Outcome};
use crate::setup::{Mode, Setup};
use crate::state::{Acting, Current, LoadedSkill, Phase, Stage};

/// Characters of an operation in a sentence.
const LABEL_CHARS: usize = 200;

/// What the policy said about an operation.
#[derive(Clone, Copy)]
pub(super) struct Decided<'d> {
    pub(super) effect: Effect,
    pub(super) reason: &'d str,
    pub(super) request: Option<Digest>,
    pub(super) liftable: &'d [SkillId],
}

/// What is to be said of a skill that is not what it was when the run began.
fn skill_change(op_id: u32, op: &Op, outcome: &Outcome) -> Option<Event> {
    let (Op::Load { skill, .. } | Op::Delegate { skill, .. }) = op else { return None };
    let loaded = outcome.skill.as_ref().is_some_and(|text| text.changed);
    let refused = outcome.code == Some(FailureCode::Changed);
    (loaded || refused).then(|| Event::SkillChanged { op_id, skill: skill.clone(), loaded })
}

/// A denial, as the model is shown it: what is not allowed, that it stays so, and what to do. Which rule
/// it was is the record's and the person's; a model that reads of rules and files tries to change them.
pub(super) fn denied(op: &Op, reason: &str) -> Outcome {
    let text = format!("Not allowed here: {}. This stays so.", label(&op.describe(), LABEL_CHARS));
    Outcome { data: json!({"reason": reason}), ..Outcome::failed(FailureCode::NotAllowed, text) }
}

/// What is said of a path that is not there and is the name of a skill.
fn skill_taken_for_path(setup: &Setup, op: &Op, outcome: &Outcome) -> Option<String> {
    let Op::Tool { args, .. } = op else { return None };
    let path = args.get("path")?.as_str()?.trim_end_matches('/');
    let is_missing = outcome.code == Some(FailureCode::NotFound);
    let card =
        setup.skills.iter().find(|card| is_missing && card.offered && *card.name == *path)?;
    Some(format!("`{}` is a skill: load it with `select_skills`.", card.name))
}

/// What is said of a script that is a file of the user.
fn file_taken_for_script(setup: &Setup, op: &Op, outcome: &Outcome) -> Option<String> {
    let Op::Script { path, .. } = op else { return None };
    let is_missing = outcome.code == Some(FailureCode::NotFound);
    (is_missing && setup.request.contains(path.as_str()))
        .then(|| format!("`{path}` is a file of the request: give it to a script as an argument."))
}

/// A person's no, as the model is shown it.
pub(super) fn rejected(words: &str) -> Outcome {
    let text = match words {
        "" => "The user said no. Do not try it again.".to_owned(),
        words => format!("The user said no: {words}"),
    };
    Outcome::failed(FailureCode::Rejected, text)
}

impl Step<'_> {
    pub(super) fn act(
        &mut self,
        decision: Option<Arc<str>>,
        action: Option<Action>,
        queue: VecDeque<Op>,
        notes: Vec<String>,
    ) -> StepEffect {
        let acting = Acting { decision, action, current: None, queue, done: Vec::new(), notes };
        self.state.phase = Phase::Acting(Box::new(acting));
        self.next_op()
    }

    pub(super) fn next_op(&mut self) -> StepEffect {
        let is_late = spent_time(self.state).is_some();
        let Phase::Acting(acting) = &mut self.state.phase else { return StepEffect::Stop };
        if is_late {
            acting.queue.clear();
        }
        if let Some(op) = acting.queue.pop_front() {
            let id = self.state.next_op;
            self.state.next_op += 1;
            acting.current = Some(Current { id, op: op.clone(), stage: Stage::Judging });
            if let Some(budget) = exceeded_by(self.state, &op) {
                return self.refuse_for_budget(id, budget);
            }
            return StepEffect::Judge(id, op);
        }
        let acting = acting.clone();
        let observed = observe::observation(&acting);
        self.observed(&acting, observed)
    }

    /// The operation is not done, and the model is left one turn to answer.
    fn refuse_for_budget(&mut self, id: u32, budget: SpentBudget) -> StepEffect {
        self.spend(budget);
        let SpentBudget { name, limit, .. } = budget;
        let text = format!("The budget `{name}` of {limit} is spent, so this was not done.");
        self.performed(id, &Outcome::failed(FailureCode::BudgetSpent, text))
    }

    pub(super) fn current(&mut self, id: u32, stage: &Stage) -> Option<&mut Current> {
        let Phase::Acting(acting) = &mut self.state.phase else { return None };
        acting.current.as_mut().filter(|current| current.id == id && current.stage == *stage)
    }

    pub(super) fn judged(&mut self, id: u32, decided: &Decided<'_>) -> StepEffect {
        let Decided { effect, reason, request, liftable } = *decided;
        let dry = self.state.setup.mode == Mode::DryRun;
        let setup = Arc::clone(&self.state.setup);
        let may_lift = effect == Effect::Deny && !dry && self.may_ask_to_lift(liftable);
        let Some(current) = self.current(id, &Stage::Judging) else { return StepEffect::Stop };
        let op = current.op.clone();
        match effect {
            Effect::Allow if dry && changes(&setup, &op) => {
                self.performed(id, &observe::dry(&op, "it would be done"))
            }
            Effect::Ask if dry => {
                self.performed(id, &observe::dry(&op, &format!("it would be asked: {reason}")))
            }
            Effect::Allow => self.perform(id, op),
            Effect::Ask => {
                current.stage = Stage::Asking;
                let reason = reason.to_owned();
                let liftable = Vec::new();
                let op_too = op.clone();
                self.events.push(Event::AskOpened { op_id: id, op, reason, request, liftable });
                StepEffect::Ask(id, op_too)
            }
            Effect::Deny if may_lift => self.ask_to_lift(id, reason, liftable),
            Effect::Deny => self.performed(id, &denied(&op, reason)),
        }
    }

    pub(super) fn answered(&mut self, id: u32, answer: &Answer) -> StepEffect {
        if let Some((liftable, reason)) = self.lifting(id) {
            return self.answered_to_lift(id, liftable, &reason, answer);
        }
        let Some(current) = self.current(id, &Stage::Asking) else { return StepEffect::Stop };
        let op = current.op.clone();
        match answer {
            Answer::Once | Answer::Always | Answer::AlwaysFor(_) | Answer::AlwaysScript(_) => {
                self.perform(id, op)
            }
            Answer::Reject(words) => self.performed(id, &rejected(words)),
            // An answer to another question.
            Answer::Lift => self.performed(id, &rejected("")),
        }
    }

    /// No one answered: the run waits.
    pub(super) fn unanswered(&mut self, id: u32) -> StepEffect {
        // A loop inside this one can come to a question, too, while it is done.
        if let Some((_, reason)) = self.lifting(id) {
            return self.refuse(id, &reason);
        }
        if spent_time(self.state).is_some() {
            return self.out_of_time();
        }
        let is_inner = self.current(id, &Stage::Performing).is_some();
        let stage = if is_inner { Stage::Performing } else { Stage::Asking };
        let Some(current) = self.current(id, &stage) else { return StepEffect::Stop };
        let what = current.op.describe();
        let message = if is_inner {
            format!("a step of `{what}` needs approval")
        } else {
            format!("`{what}` needs approval")
        };
        self.pause(Status::NeedsApproval, message)
    }

    /// The operation stays denied.
    pub(super) fn refuse(&mut self, id: u32, reason: &str) -> StepEffect {
        let Phase::Acting(acting) = &self.state.phase else { return StepEffect::Stop };
        let Some(current) = &acting.current else { return StepEffect::Stop };
        let outcome = denied(&current.op, reason);
        self.performed(id, &outcome)
    }

    fn perform(&mut self, id: u32, op: Op) -> StepEffect {
        if let Phase::Acting(acting) = &mut self.state.phase
            && let Some(current) = &mut acting.current
        {
            current.stage = Stage::Performing;
        }
        match &op {
            Op::Script { .. } => {
                self.state.spent.script_runs += 1;
                self.state.spent.tool_calls += 1;
            }
            Op::Tool { .. } => self.state.spent.tool_calls += 1,
            _ => {}
        }
        self.events.push(Event::ActionStarted { op_id: id, op: op.clone() });
        StepEffect::Perform(id, op)
    }

    pub(super) fn performed(&mut self, id: u32, outcome: &Outcome) -> StepEffect {
        let Phase::Acting(acting) = &mut self.state.phase else { return StepEffect::Stop };
        let Some(current) = acting.current.take_if(|current| current.id == id) else {
            return StepEffect::Stop;
        };
        if let Some(event) = skill_change(id, &current.op, outcome) {
            self.events.push(event);
        }
        if let Some(text) = &outcome.skill
            && outcome.ok
        {
            let by_user = matches!(current.op, Op::Load { by: Invoker::User, .. });
            self.state.loaded.push(LoadedSkill { text: text.clone(), by_user });
        }
        if matches!(current.op, Op::Delegate { .. })
            && let Ok(spent) = Spent::deserialize(&outcome.data["spent"])
        {
            // What a loop inside spends is spent by the run; its turns are its own.
            self.state.spent.tool_calls += spent.tool_calls;
            self.state.spent.script_runs += spent.script_runs;
            add_usage(&mut self.state.spent.usage, &spent.usage);
        }
        ending::count(&mut self.state.attempts, &self.state.setup, &current.op, outcome);
        acting.notes.extend(skill_taken_for_path(&self.state.setup, &current.op, outcome));
        acting.notes.extend(file_taken_for_script(&self.state.setup, &current.op, outcome));
        acting.done.push((current.op, outcome.clone()));
        self.next_op()
    }
}
