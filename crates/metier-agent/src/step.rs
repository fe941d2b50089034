//! The step: state and input to state, events and the one thing to do next. Pure.
//!
//! ```text
//! New --started--> (chosen skills) --> Model --replied--> Acting --all done--> Model ... --> Over
//!                                        Acting: judge -> [ask] -> do, for each operation
//! ```
//!
//! No clock, no disk, no randomness: the same inputs give the same events, which is what replay and
//! resume stand on. A mistake of the model becomes an observation and costs a turn; it ends nothing.

mod acting;
mod answering;
mod default_plan;
mod ending;
mod lifting;
mod spend;

use std::collections::VecDeque;
use std::sync::Arc;

use metier_model::{Action, Decision, FaultCode, ModelError, ModelErrorKind, Reply, parse, plan};
use metier_policy::Invoker;
use metier_skill::Digest;

use self::acting::Decided;
pub(crate) use self::spend::{SpentBudget, add_usage};
use self::spend::{changes, spent_budget, spent_time};
use crate::context;
use crate::event::{Event, PlanAuthor, Status};
use crate::observe::{self, Observed};
use crate::op::{Op, Outcome, Text};
use crate::resolve::{self, Resolved};
use crate::setup::Chosen;
use crate::state::{Acting, Ending, Finished, Phase, Stage, State, TrailItem};

/// The one thing to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum StepEffect {
    /// Ask the model; the turn is made by [`crate::context::Fixed::turn`].
    CallModel,
    /// Ask the policy about an operation.
    Judge(u32, Op),
    /// Wait for an answer.
    Ask(u32, Op),
    /// Do it.
    Perform(u32, Op),
    /// Nothing: the run is over, or waits to be resumed.
    Stop,
}

/// What follows from an input.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What to do.
    pub effect: StepEffect,
}

/// Takes one input. `elapsed_ms` is the time since the run began, as the input's record has it.
pub fn step(state: &mut State, input: &Event, elapsed_ms: u64) -> StepResult {
    state.elapsed_ms = elapsed_ms;
    let mut taken = Step { state, events: Vec::new() };
    let effect = taken.take(input);
    StepResult { events: taken.events, effect }
}

struct Step<'s> {
    state: &'s mut State,
    events: Vec<Event>,
}

impl Step<'_> {
    fn take(&mut self, input: &Event) -> StepEffect {
        match input {
            Event::RunStarted { .. } => self.start(),
            Event::RunResumed { not_begun, .. } => self.resume(*not_begun),
            Event::CancelRequested {} => self.pause(Status::Cancelled, "cancelled".to_owned()),
            Event::ModelReplied { reply, .. } => self.replied(reply),
            Event::ModelFailed { error, .. } => self.failed(error),
            Event::PolicyDecided { op_id, effect, reason, request, liftable, .. } => self
                .judged(*op_id, &Decided { effect: *effect, reason, request: *request, liftable }),
            Event::AskAnswered { op_id, answer, .. } => self.answered(*op_id, answer),
            Event::AskUnanswered { op_id } => self.unanswered(*op_id),
            Event::ActionFinished { op_id, outcome } => self.performed(*op_id, outcome),
            // Outputs follow from inputs; fed back, they change nothing.
            _ => StepEffect::Stop,
        }
    }

    fn start(&mut self) -> StepEffect {
        let chosen = self.state.setup.chosen.clone();
        let queue: VecDeque<Op> = chosen
            .into_iter()
            .map(|Chosen { id: skill, arguments }| {
                // What runs as a subagent does so for people too; inside its loop it is loaded.
                let is_subagent = self.state.setup.card(&skill).is_some_and(|card| card.subagent);
                if is_subagent && !self.state.setup.is_inner {
                    Op::Delegate { skill, by: Invoker::User, arguments }
                } else {
                    Op::Load { skill, by: Invoker::User, arguments }
                }
            })
            .collect();
        if queue.is_empty() {
            return self.next_turn();
        }
        self.act(None, None, queue, Vec::new())
    }

    /// Another process continues. What was begun and could have changed something is not done again:
    /// the model is shown.
    fn resume(&mut self, not_begun: bool) -> StepEffect {
        if self.state.finished.as_ref().is_some_and(|end| !end.can_resume()) {
            return StepEffect::Stop;
        }
        self.state.finished = None;
        if spent_time(self.state).is_some() {
            return self.out_of_time();
        }
        match &mut self.state.phase {
            Phase::New => self.start(),
            Phase::Over => StepEffect::Stop,
            Phase::Model => self.call_model(),
            Phase::Acting(acting) => match &mut acting.current {
                Some(current) if current.stage == Stage::Performing => {
                    let (id, op) = (current.id, current.op.clone());
                    if not_begun {
                        // It counts when it begins.
                        current.stage = Stage::Judging;
                        self.state.spent.script_runs -= u32::from(matches!(op, Op::Script { .. }));
                        self.state.spent.tool_calls -=
                            u32::from(matches!(op, Op::Script { .. } | Op::Tool { .. }));
                        StepEffect::Judge(id, op)
                    } else if matches!(op, Op::Delegate { .. }) {
                        // It was allowed when it began; its own record says how far it came.
                        StepEffect::Perform(id, op)
                    } else if changes(&self.state.setup, &op) {
                        self.performed(id, &observe::interrupted(&op))
                    } else {
                        current.stage = Stage::Judging;
                        StepEffect::Judge(id, op)
                    }
                }
                Some(current) => {
                    current.stage = Stage::Judging;
                    StepEffect::Judge(current.id, current.op.clone())
                }
                None => self.next_op(),
            },
        }
    }

    fn replied(&mut self, reply: &Reply) -> StepEffect {
        if self.state.phase != Phase::Model {
            return StepEffect::Stop;
        }
        let turn = self.state.spent.turns;
        self.state.squeezed = false;
        add_usage(&mut self.state.spent.usage, &reply.usage);
        let words: Arc<str> = reply.text.as_str().into();
        let decision = match parse::parse_reply(reply) {
            Ok(decision) => decision,
            Err(fault) => {
                let (code, message) = (fault.code, fault.without_code());
                self.events.push(Event::DecisionInvalid { turn, code, message: message.clone() });
                let chars = match fault.code {
                    FaultCode::Truncated => context::CUT_OFF_CHARS,
                    _ => context::INVALID_CHARS,
                };
                let quoted = context::head(&words, chars);
                return self.invalid(quoted, None, observe::invalid(code, &message, reply.mode));
            }
        };
        self.state.invalid_in_row = 0;
        self.events.push(Event::DecisionMade { turn, decision: decision.clone() });
        let mut notes = Vec::new();
        match plan::apply(self.state.plan.as_ref(), &decision) {
            Ok(Some(plan)) if self.state.plan.as_ref() != Some(&plan) => {
                let by = PlanAuthor::Model;
                self.events.push(Event::PlanChanged { plan: plan.clone(), by });
                self.state.plan = Some(plan);
                self.state.plan_is_own = true;
            }
            Ok(_) => {}
            Err(words) => notes.push(format!("The plan was not changed: {words}.")),
        }
        self.move_default_plan();
        // The plan stands in the tail. A reply that goes back whole is the strongest pattern in the
        // prompt, and a small model writes it once more.
        let words = Decision::to(decision.action.clone()).to_json().into();
        self.decided(words, decision, notes)
    }

    fn decided(&mut self, words: Arc<str>, decision: Decision, notes: Vec<String>) -> StepEffect {
        if let Action::FinalAnswer { text, data, status } = &decision.action {
            if let Some(outcome) = answering::handed_back(self.state, text) {
                self.state.answer_handed_back = true;
                return self.not_done(words, decision.action, notes, &outcome);
            }
            let (status, message) = match &self.state.ending {
                Some(ending) => (ending.status, Some(ending.message.clone())),
                None => ending::of_answer(self.state, *status),
            };
            return self.finish(Finished {
                status,
                message,
                answer: Some(text.as_str().into()),
                data: data.clone(),
            });
        }
        if let Some(end) = self.ended_without_answer() {
            return end;
        }
        if spent_time(self.state).is_some() {
            return self.out_of_time();
        }
        match resolve::operations(self.state, &decision.action) {
            Resolved::Operations { queue, notes: more } => {
                let notes = notes.into_iter().chain(more).collect();
                self.act(Some(words), Some(decision.action), queue, notes)
            }
            Resolved::Impossible(outcome) => {
                if let Action::RunScript { .. } = decision.action {
                    ending::add(&mut self.state.attempts, &outcome);
                }
                self.not_done(words, decision.action, notes, &outcome)
            }
        }
    }

    /// An action that comes to nothing: the model is shown why.
    fn not_done(
        &mut self,
        words: Arc<str>,
        action: Action,
        notes: Vec<String>,
        outcome: &Outcome,
    ) -> StepEffect {
        let acting = Acting {
            decision: Some(words),
            action: Some(action),
            current: None,
            queue: VecDeque::new(),
            done: Vec::new(),
            notes,
        };
        self.observed(&acting, observe::impossible(&acting, outcome))
    }

    /// The end, if this was the last turn.
    fn ended_without_answer(&mut self) -> Option<StepEffect> {
        let ending = self.state.ending.clone()?;
        let message = Some(format!("{}; the last turn gave no answer", ending.message));
        let status = ending.status;
        Some(self.finish(Finished { status, message, answer: None, data: None }))
    }

    /// A reply that is no decision: reported, counted, and bounded.
    fn invalid(
        &mut self,
        words: Arc<str>,
        action: Option<Action>,
        observed: Observed,
    ) -> StepEffect {
        self.state.invalid_in_row += 1;
        if self.state.invalid_in_row > self.state.setup.limits.invalid_in_row {
            let message =
                format!("{} replies in a row were no decision", self.state.invalid_in_row);
            return self.pause(Status::Failed, message);
        }
        if let Some(end) = self.ended_without_answer() {
            return end;
        }
        let acting = Acting {
            decision: Some(words),
            action,
            current: None,
            queue: VecDeque::new(),
            done: Vec::new(),
            notes: Vec::new(),
        };
        self.observed(&acting, observed)
    }

    fn failed(&mut self, error: &ModelError) -> StepEffect {
        if self.state.phase != Phase::Model {
            return StepEffect::Stop;
        }
        if spent_time(self.state).is_some() {
            return self.out_of_time();
        }
        if error.kind == ModelErrorKind::Cancelled {
            return self.pause(Status::Cancelled, "cancelled".to_owned());
        }
        if error.kind == ModelErrorKind::ContextOverflow && !self.state.squeezed {
            self.state.squeezed = true;
            let half = context::prompt_tokens(self.state) / 2;
            if let Some(event) = context::compact(self.state, half) {
                self.events.push(event);
                return self.call_model();
            }
        }
        self.pause(Status::Failed, error.to_string())
    }

    /// An action is over: the model is shown it, circles and budgets are looked at.
    fn observed(&mut self, acting: &Acting, observed: Observed) -> StepEffect {
        let mut item = observed.into_item(acting);
        item.count_tokens();
        let mut looped = None;
        if let Some(action) = &acting.action {
            let words = serde_json::to_vec(action).unwrap_or_default();
            let key = Digest::of_parts([words.as_slice(), item.past.text.as_bytes()]);
            let times = self.state.seen.entry(key).or_default();
            *times += 1;
            let times = (*times).max(self.failed_in_row(action, &item));
            item.times = times;
            if times > 1 && self.still_stands(action, &item) {
                observe::again(&mut item);
                item.count_tokens();
            }
            if times >= self.state.setup.limits.repeats && self.state.ending.is_none() {
                let (kind, target) = (action.kind().to_owned(), action.target());
                let message = format!("`{kind}` had the same result {times} times");
                looped = Some(Event::LoopDetected { action: kind, target, times });
                self.state.ending = Some(Ending { status: Status::Stuck, message, begun: false });
            }
        }
        self.push_observation(item);
        self.events.extend(looped);
        self.move_default_plan();
        self.next_turn()
    }

    /// How often this action has failed in a row, whatever its message was: a time or a number in it is no
    /// other result.
    fn failed_in_row(&self, action: &Action, item: &TrailItem) -> u32 {
        let failed = |item: &TrailItem| !item.past.ok && item.past.code.is_some();
        let is_same =
            |other: &&TrailItem| failed(other) && other.past.action.as_ref() == Some(action);
        if !failed(item) {
            return 0;
        }
        let before = self.state.trail.iter().rev().take_while(is_same).count();
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Whether the result of the same action stands in the prompt as it was shown.
    fn still_stands(&self, action: &Action, item: &TrailItem) -> bool {
        let is_same = |other: &&TrailItem| {
            other.past.action.as_ref() == Some(action) && other.past.text == item.past.text
        };
        let before = self.state.trail.iter().find(is_same);
        before.is_some_and(|before| !before.shortened)
    }

    fn push_observation(&mut self, item: TrailItem) {
        self.events.push(Event::ObservationMade {
            turn: self.state.spent.turns,
            ok: item.past.ok,
            code: item.past.code,
            bytes: item.observation.len() as u64,
            sha256: Digest::of(item.observation.as_bytes()),
        });
        self.state.trail.push(item);
    }

    /// The end of a run whose time is up: there is none left for a last turn.
    fn out_of_time(&mut self) -> StepEffect {
        let Some(budget) = spent_budget(self.state) else { return StepEffect::Stop };
        let message = budget.message(&self.state.setup);
        self.events.push(budget.event(&self.state.setup));
        self.state.exhausted = Some(budget);
        let (status, message) = (Status::BudgetExhausted, Some(message));
        self.finish(Finished { status, message, answer: None, data: None })
    }

    fn next_turn(&mut self) -> StepEffect {
        if spent_time(self.state).is_some() {
            return self.out_of_time();
        }
        if let Some(budget) = spent_budget(self.state) {
            self.spend(budget);
        }
        if let Some(ending) = &mut self.state.ending {
            if ending.begun {
                let (status, message) = (ending.status, Some(ending.message.clone()));
                return self.finish(Finished { status, message, answer: None, data: None });
            }
            ending.begun = true;
        }
        self.state.spent.turns += 1;
        self.state.phase = Phase::Model;
        let limit = self.state.setup.limits.prompt_tokens;
        if context::prompt_tokens(self.state) > limit
            && let Some(event) = context::compact(self.state, limit * 3 / 4)
        {
            self.events.push(event);
        }
        self.call_model()
    }

    /// A budget is spent: one turn is left to answer.
    fn spend(&mut self, budget: SpentBudget) {
        if self.state.ending.is_some() {
            return;
        }
        let message = budget.message(&self.state.setup);
        self.events.push(budget.event(&self.state.setup));
        self.state.exhausted = Some(budget);
        self.state.ending = Some(Ending { status: Status::BudgetExhausted, message, begun: false });
    }

    fn call_model(&mut self) -> StepEffect {
        self.state.phase = Phase::Model;
        self.events.push(context::requested(self.state));
        StepEffect::CallModel
    }

    fn finish(&mut self, finished: Finished) -> StepEffect {
        self.state.phase = Phase::Over;
        self.end(finished)
    }

    /// The run stops where it stands; it can be resumed from there.
    fn pause(&mut self, status: Status, message: String) -> StepEffect {
        self.end(Finished { status, message: Some(message), answer: None, data: None })
    }

    fn end(&mut self, finished: Finished) -> StepEffect {
        if finished.answer.is_some() {
            self.finish_default_plan();
        }
        self.events.push(Event::RunFinished {
            status: finished.status,
            message: finished.message.clone(),
            answer: finished.answer.clone().map(Text::Inline),
            data: finished.data.clone(),
            spent: self.state.spent,
        });
        self.state.finished = Some(finished);
        StepEffect::Stop
    }
}
