//! A loop inside a loop: a skill that runs as a subagent works on its own, with its own budget and
//! its own record, and gives back what it found.
//!
//! Its context starts fresh: the request, the skill, nothing of the trail outside; the ceilings of the
//! skills that are loaded outside hold inside. It cannot start another loop. When the process ends in the middle, its
//! record is continued.

use std::sync::Arc;

use metier_policy::Effect;
use metier_sandbox::Secrets;
use metier_skill::{FailureCode, SkillId};
use serde_json::json;

use crate::drive::{Agent, Resumed};
use crate::error::AgentError;
use crate::event::{Event, Status};
use crate::executor::{DecidedAction, Executor, Judgement, RunSkills};
use crate::op::{Op, Outcome};
use crate::prompt_parts::KnownParts;
use crate::recorder::{InnerRun, Recorder};
use crate::setup::{Chosen, RunLimits, Setup};
use crate::state::State;
use crate::summary::Summary;

/// Lets `skill` work in a loop of its own. Gives the input for the loop outside: what came of it, or
/// that it has to wait.
pub(crate) fn delegate(
    agent: &Agent<'_>,
    recorder: &mut dyn Recorder,
    outer: &State,
    op_id: u32,
    delegated: &Op,
    depth: u32,
) -> Result<Event, AgentError> {
    if depth > 0 {
        let text = "A loop inside a loop cannot start another.";
        return Ok(Event::ActionFinished {
            op_id,
            outcome: Outcome::failed(FailureCode::NotAllowed, text),
        });
    }
    let Op::Delegate { skill, arguments, .. } = delegated else {
        let text = "Nothing was delegated; this is a bug in metier.";
        return Ok(Event::ActionFinished {
            op_id,
            outcome: Outcome::failed(FailureCode::Failed, text),
        });
    };
    let setup = inner_setup(outer, skill, arguments.as_deref());
    let InnerRun { recorder: mut inner, setup, records } = recorder.inner(op_id, &setup)?;
    let executor = PreapprovedExecutor { executor: agent.executor, skill };
    let agent = &Agent { executor: &executor, ..*agent };
    let resumed = agent.resume_with(&mut *inner, Arc::new(setup), &records, depth + 1)?;
    let (Resumed::On(state) | Resumed::Ended(state)) = resumed;
    Ok(match state.finished().map(|end| end.status) {
        Some(Status::Cancelled) => Event::CancelRequested {},
        Some(Status::NeedsApproval) => Event::AskUnanswered { op_id },
        _ => Event::ActionFinished { op_id, outcome: outcome(skill, &state, inner.summary()) },
    })
}

/// The executor of the loop outside, to whom one question was answered already: that the skill may be
/// loaded. A denial stays one.
struct PreapprovedExecutor<'a> {
    executor: &'a dyn Executor,
    skill: &'a SkillId,
}

impl Executor for PreapprovedExecutor<'_> {
    fn judge(&self, op: &Op, skills: &RunSkills) -> Judgement {
        let judgement = self.executor.judge(op, skills);
        let is_its_own = matches!(op, Op::Load { skill, .. } if skill == self.skill);
        match judgement {
            Judgement::Decided(action) if is_its_own && action.effect == Effect::Ask => {
                Judgement::Decided(DecidedAction { effect: Effect::Allow, ..action })
            }
            judgement => judgement,
        }
    }

    fn secrets(&self) -> Option<&Arc<Secrets>> {
        self.executor.secrets()
    }
}

fn inner_setup(outer: &State, skill: &SkillId, arguments: Option<&str>) -> Setup {
    let setup = outer.setup();
    let (limits, spent) = (&setup.limits, outer.spent());
    // Half of what is left, and nothing of nothing.
    let left = |limit: u32, spent: u32| limit.saturating_sub(spent).div_ceil(2);
    let skills = setup.skills.clone().changed(|card| {
        card.offered &= !card.subagent;
        card.shadowed &= !card.subagent;
    });
    Setup {
        opening: format!(
            "{}\n\n[You work on this with the skill `{skill}` alone. Answer with what you found: \
             the agent that asked continues with it.]",
            setup.opening
        ),
        chosen: vec![Chosen { id: skill.clone(), arguments: arguments.map(str::to_owned) }],
        is_inner: true,
        // Its context starts fresh; what holds outside holds inside.
        outer: outer.ceilings(),
        limits: RunLimits {
            turns: left(limits.turns, spent.turns).max(1),
            tool_calls: left(limits.tool_calls, spent.tool_calls),
            script_runs: left(limits.script_runs, spent.script_runs),
            wall_ms: limits.wall_ms.map(|limit| limit.saturating_sub(outer.elapsed_ms)),
            tokens: limits
                .tokens
                .map(|limit| limit.saturating_sub(spent.usage.input + spent.usage.output).max(1)),
            ..*limits
        },
        skills,
        parts: KnownParts::default(),
        ..setup.clone()
    }
}

/// What the loop outside is given. Its record vouches for the one inside.
fn outcome(skill: &SkillId, state: &State, recorded: Option<&Summary>) -> Outcome {
    let Some(end) = state.finished() else {
        return Outcome::failed(FailureCode::Failed, "The loop of the skill gave no end.");
    };
    let spent = state.spent();
    let data = json!({
        "skill": skill,
        "status": end.status,
        "turns": spent.turns,
        "tool_calls": spent.tool_calls,
        "spent": spent,
        "data": end.data,
        "used": recorded.map(|summary| &summary.used),
        "record": recorded.map(|summary| {
            json!({"events": summary.events, "last_hash": summary.last_hash})
        }),
    });
    match (&end.answer, end.status) {
        (Some(answer), Status::Completed | Status::DryRun) => {
            Outcome::done(Arc::clone(answer), data)
        }
        (answer, _) => {
            let why = end.message.clone().unwrap_or_default();
            let text = match answer {
                Some(answer) => {
                    format!(
                        "{answer}\n(The loop of the skill ended as {}: {why}.)",
                        end.status.as_str()
                    )
                }
                None => format!("The loop of the skill ended without an answer: {why}."),
            };
            Outcome { data, ..Outcome::failed(FailureCode::SubagentFailed, text) }
        }
    }
}
