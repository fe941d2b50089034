//! Where a run stands: a fold of its events, and nothing else.
//! Only `step` changes it; everything else reads it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use metier_model::{Action, PastAction, Plan};
use metier_skill::{Digest, FailureCode, SkillId, estimate_tokens};
use serde_json::Value;

use crate::event::{Spent, Status};
use crate::executor::RunSkills;
use crate::op::{Op, Outcome, SkillText};
use crate::prompt_parts::PromptParts;
use crate::setup::{BudgetSetting, OuterCeilings, Setup};
use crate::step::SpentBudget;

/// Where a run stands.
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) setup: Arc<Setup>,
    pub(crate) phase: Phase,
    /// Tokens of the prompt's fixed part.
    pub(crate) fixed_tokens: u64,
    /// The digest of that part.
    pub(crate) prefix: Digest,
    /// What of the prompts is the same for every request.
    pub(crate) parts: Arc<PromptParts>,
    pub(crate) plan: Option<Plan>,
    /// Whether the plan is the model's own; else the runtime moves its steps.
    pub(crate) plan_is_own: bool,
    pub(crate) loaded: Vec<LoadedSkill>,
    /// Skills whose ceilings a person lifted for the run.
    pub(crate) lifted: Vec<SkillId>,
    /// Skills whose ceilings a person refused to lift: the question is not asked again.
    pub(crate) kept: Vec<SkillId>,
    pub(crate) trail: Vec<TrailItem>,
    pub(crate) attempts: Attempts,
    pub(crate) spent: Spent,
    /// Time since the run began, as the record of the last input has it.
    pub(crate) elapsed_ms: u64,
    /// Why only one turn is left, and whether it has begun.
    pub(crate) ending: Option<Ending>,
    /// How often each action had each result.
    pub(crate) seen: BTreeMap<Digest, u32>,
    pub(crate) invalid_in_row: u32,
    /// Whether an answer was handed back to the model; that is done once.
    pub(crate) answer_handed_back: bool,
    /// Whether the context was shortened because the model said so, since its last reply.
    pub(crate) squeezed: bool,
    pub(crate) next_op: u32,
    /// The budget that is spent, where one is.
    pub(crate) exhausted: Option<SpentBudget>,
    pub(crate) finished: Option<Finished>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// The start.
    New,
    /// A reply.
    Model,
    /// An operation.
    Acting(Box<Acting>),
    /// Nothing: it is over.
    Over,
}

/// An action on its way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acting {
    /// The model's words; nothing for what the user chose.
    pub(crate) decision: Option<Arc<str>>,
    pub(crate) action: Option<Action>,
    pub(crate) current: Option<Current>,
    pub(crate) queue: VecDeque<Op>,
    pub(crate) done: Vec<(Op, Outcome)>,
    /// Notes for the model.
    pub(crate) notes: Vec<String>,
}

/// The operation that is being judged, asked about or done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Current {
    pub(crate) id: u32,
    pub(crate) op: Op,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    Judging,
    Asking,
    /// Denied by the ceilings of these skills, which a person may lift; else this is the reason.
    AskingToLift {
        liftable: Vec<SkillId>,
        denied: String,
    },
    Performing,
}

/// Why only one turn is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) message: String,
    /// Whether the last turn has begun.
    pub(crate) begun: bool,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How.
    pub status: Status,
    /// Why, where it is not completed.
    pub message: Option<String>,
    /// The answer.
    pub answer: Option<Arc<str>>,
    /// The answer for programs.
    pub data: Option<Value>,
}

impl Finished {
    /// Whether it can be resumed: it only stopped, and has no answer.
    pub const fn can_resume(&self) -> bool {
        self.status.can_resume() && self.answer.is_none()
    }
}

/// What came of what could do something: scripts, commands, and tools that change something. A read that
/// found nothing is no failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Whether any was made.
    pub(crate) any: bool,
    /// Whether one succeeded.
    pub(crate) succeeded: bool,
    /// Whether the last one was refused.
    pub(crate) last_denied: bool,
    /// Whether the skill that was wanted last was refused.
    pub(crate) load_denied: bool,
}

/// A loaded skill.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedSkill {
    pub(crate) text: SkillText,
    pub(crate) by_user: bool,
}

/// One decision and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrailItem {
    pub(crate) decision: Option<Arc<str>>,
    /// What was done, as data; every turn that is made from here on shares it.
    pub(crate) past: Arc<PastAction>,
    /// What the model is shown, as it stands in the prompt.
    pub(crate) observation: Arc<str>,
    /// The same in one line, for a context that has become too long.
    pub(crate) line: Arc<str>,
    /// Whether only the line is shown.
    pub(crate) shortened: bool,
    /// Whether it holds a skill, which is never shortened.
    pub(crate) protected: bool,
    pub(crate) tokens: u64,
    /// Whether it is about a reply that the limit of tokens cut off.
    pub(crate) cut_off: bool,
    /// How often this action had this result, this time included.
    pub(crate) times: u32,
}

impl TrailItem {
    /// Whether this was a reply that the limit of tokens cut off.
    pub(crate) fn was_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Whether another action has to come next: this one gave nothing new.
    pub(crate) fn is_futile(&self) -> bool {
        self.times > 1
            || self.past.code == Some(FailureCode::AlreadyLoaded)
            || self.is_unknown_skill()
    }

    /// Whether a skill was selected that is not there, nor any of a name like it: to select another guess
    /// is no way on.
    pub(crate) fn is_unknown_skill(&self) -> bool {
        let is_selected = matches!(self.past.action, Some(Action::SelectSkills { .. }));
        let is_unknown = self.past.code == Some(FailureCode::SkillNotFound);
        is_selected && is_unknown && self.past.data.get("near") == Some(&Value::Bool(false))
    }

    pub(crate) fn shown(&self) -> &Arc<str> {
        if self.shortened { &self.line } else { &self.observation }
    }

    pub(crate) fn count_tokens(&mut self) {
        let decision = self.decision.as_deref().map_or(0, estimate_tokens);
        self.tokens = (decision + estimate_tokens(self.shown())) as u64;
    }
}

impl State {
    /// The state before the first event.
    pub fn new(setup: Arc<Setup>) -> Self {
        let parts = setup.prompt_parts();
        let fixed_tokens = parts.tokens + estimate_tokens(&setup.opening) as u64;
        let prefix = parts.prefix.clone().with(setup.opening.as_bytes()).finish();
        let (lifted, kept) = (setup.outer.lifted.clone(), setup.outer.kept.clone());
        Self {
            setup,
            phase: Phase::New,
            fixed_tokens,
            prefix,
            parts,
            plan: None,
            plan_is_own: false,
            loaded: Vec::new(),
            lifted,
            kept,
            trail: Vec::new(),
            attempts: Attempts::default(),
            spent: Spent::default(),
            elapsed_ms: 0,
            ending: None,
            seen: BTreeMap::new(),
            invalid_in_row: 0,
            answer_handed_back: false,
            squeezed: false,
            next_op: 1,
            exhausted: None,
            finished: None,
        }
    }

    /// What it was given.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// How it ended, if it has.
    pub const fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
    }

    /// The setting that ended it, with its limit, where a budget did.
    pub fn exhausted_budget(&self) -> Option<(&BudgetSetting, u64)> {
        let budget = self.exhausted?;
        Some((self.setup.budget_settings.get(budget.name)?, budget.limit))
    }

    /// The plan, if there is one.
    pub const fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// What it has spent.
    pub const fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The ids of the skills that are loaded, in the order of loading.
    pub fn loaded(&self) -> Vec<SkillId> {
        self.loaded.iter().map(|skill| skill.text.id.clone()).collect()
    }

    /// The skills that have a say in what is done.
    pub fn skills(&self) -> RunSkills {
        RunSkills {
            loaded: self.loaded(),
            outer: self.setup.outer.loaded.clone(),
            lifted: self.lifted.clone(),
        }
    }

    /// What a loop inside takes over.
    pub(crate) fn ceilings(&self) -> OuterCeilings {
        let RunSkills { mut loaded, outer, lifted } = self.skills();
        loaded.extend(outer);
        OuterCeilings { loaded, lifted, kept: self.kept.clone() }
    }

    pub(crate) fn is_loaded(&self, id: &SkillId) -> bool {
        self.loaded.iter().any(|skill| skill.text.id == *id)
    }
}
