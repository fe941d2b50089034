//! The question whether a person lifts the ceilings of loaded skills for the run.
//!
//! It comes before the question about the operation itself, and only [`Answer::Lift`] is a yes: what
//! answers everything with "once" (`--yes`, an approval given beforehand, a program) lifts nothing.
//! Lifted are the ceilings that the question named, not those of skills that are loaded later. A no
//! stands for the whole run, so that the text of a skill cannot have the question asked until it is
//! answered otherwise.

use metier_policy::Answer;
use metier_skill::SkillId;

use super::acting::rejected;
use super::{Step, StepEffect};
use crate::event::Event;
use crate::state::{Phase, Stage};

impl Step<'_> {
    /// Whether it is a question at all: there is something to lift, and no one said no to it.
    pub(super) fn may_ask_to_lift(&self, liftable: &[SkillId]) -> bool {
        !liftable.is_empty() && liftable.iter().all(|id| !self.state.kept.contains(id))
    }

    pub(super) fn ask_to_lift(&mut self, id: u32, reason: &str, ids: &[SkillId]) -> StepEffect {
        let Some(current) = self.current(id, &Stage::Judging) else { return StepEffect::Stop };
        let (reason, liftable) = (reason.to_owned(), ids.to_vec());
        current.stage = Stage::AskingToLift { liftable: liftable.clone(), denied: reason.clone() };
        let op = current.op.clone();
        let effect = StepEffect::Ask(id, op.clone());
        self.events.push(Event::AskOpened { op_id: id, op, reason, request: None, liftable });
        effect
    }

    /// The skills and the denial that are asked about, if that is what is asked.
    pub(super) fn lifting(&self, id: u32) -> Option<(Vec<SkillId>, String)> {
        let Phase::Acting(acting) = &self.state.phase else { return None };
        let current = acting.current.as_ref().filter(|current| current.id == id)?;
        match &current.stage {
            Stage::AskingToLift { liftable, denied } => Some((liftable.clone(), denied.clone())),
            _ => None,
        }
    }

    pub(super) fn answered_to_lift(
        &mut self,
        id: u32,
        liftable: Vec<SkillId>,
        reason: &str,
        answer: &Answer,
    ) -> StepEffect {
        match answer {
            Answer::Lift => {
                self.state.lifted.extend(liftable);
                let Phase::Acting(acting) = &mut self.state.phase else { return StepEffect::Stop };
                let Some(current) = &mut acting.current else { return StepEffect::Stop };
                // The other layers have their say about it.
                current.stage = Stage::Judging;
                StepEffect::Judge(id, current.op.clone())
            }
            Answer::Reject(words) => {
                self.state.kept.extend(liftable);
                self.performed(id, &rejected(words))
            }
            Answer::Once | Answer::Always | Answer::AlwaysFor(_) | Answer::AlwaysScript(_) => {
                self.refuse(id, reason)
            }
        }
    }
}
