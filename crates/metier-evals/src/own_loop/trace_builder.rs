//! What was seen of a run of our own loop, made from its events as they happen.
//!
//! A step is a turn of the model, from 1; what a subagent does belongs to the turn that started it. An action
//! that never became an operation (a skill that is not there, a script of a skill that was not loaded) is
//! here too, as one that did not work.

use std::path::PathBuf;
use std::sync::Arc;

use metier::Event;
use metier::agent::{Op, Outcome, Spent, Status};
use metier::model::{Action, ModelErrorKind};
use metier::policy::Effect;
use metier::registry::Scan;
use metier::skill::{FailureCode, SkillId};
use serde_json::{Value, json};

use crate::subject::{Trace, TraceError};
use crate::trial::{FiredSkill, TrialAction, TrialCost, TrialErrorKind};

/// Makes a trace.
#[derive(Debug, Default)]
pub(crate) struct TraceBuilder {
    /// What is offered; nothing: every skill is what its name says.
    scan: Option<Arc<Scan>>,
    step: u32,
    fired: Vec<FiredSkill>,
    actions: Vec<TrialAction>,
    levels: [Level; 2],
    end: Option<RunEnd>,
    spent: Spent,
    /// Turns of loops inside ours, which our own budget does not count. Their tokens it does.
    inner_model_calls: u32,
    /// Why the model gave no reply, or that its replies were none: in our loop, and in one inside it.
    failures: [Option<(TrialErrorKind, String)>; 2],
    /// A skill that should have been loaded and could not be.
    unloadable: Option<String>,
}

/// How a run ended: its message, its answer, and the answer for programs.
type RunEnd = (Status, Option<String>, Option<String>, Option<Value>);

/// What one loop is at: ours, or one inside it.
#[derive(Debug, Default)]
struct Level {
    /// The action that was decided on, until it became an operation.
    decided: Option<Action>,
    /// Operations that were judged and have not come to an end.
    open: Vec<(u32, Op, Effect)>,
}

impl TraceBuilder {
    /// For a run over these skills.
    pub(crate) fn over(scan: Arc<Scan>) -> Self {
        Self { scan: Some(scan), ..Self::default() }
    }

    /// How a skill is called: by its name, where that means this very skill, else by its source and name.
    fn called(&self, skill: &SkillId) -> String {
        let named = self.scan.as_ref().map(|scan| scan.index.find(skill.name.as_str()));
        let is_another = named.flatten().is_some_and(|entry| entry.id() != *skill);
        if is_another { skill.to_string() } else { skill.name.to_string() }
    }

    /// Which turn it is.
    pub(crate) const fn step(&self) -> u32 {
        self.step
    }

    pub(crate) fn event(&mut self, depth: u32, event: &Event) {
        let inner = depth > 0;
        let level = usize::from(inner);
        match event {
            Event::ModelRequested { turn, .. } if !inner => self.step = *turn,
            Event::ModelReplied { .. } if inner => self.inner_model_calls += 1,
            Event::ModelFailed { error, .. } => {
                self.failures[level] = Some((kind_of(error.kind), error.to_string()));
            }
            Event::DecisionInvalid { message, .. } => {
                let kind = TrialErrorKind::InvalidReplies;
                self.failures[level] =
                    Some((kind, format!("the reply is not a decision: {message}")));
            }
            Event::DecisionMade { decision, .. } => {
                self.failures[level] = None;
                match &decision.action {
                    // What a subagent answers is the outcome of the action that started it.
                    Action::FinalAnswer { .. } if inner => {}
                    Action::FinalAnswer { .. } => {
                        self.add_decided(&decision.action, true, None, inner);
                    }
                    action => self.levels[level].decided = Some(action.clone()),
                }
            }
            Event::PolicyDecided { op_id: op_id @ 1.., op, effect, .. } => {
                self.levels[level].decided = None;
                self.levels[level].open.retain(|(id, _, _)| id != op_id);
                self.levels[level].open.push((*op_id, op.clone(), *effect));
            }
            Event::ActionFinished { op_id, outcome } => self.finished(*op_id, outcome, inner),
            Event::ObservationMade { ok, code, .. } => self.observed(*ok, *code, inner),
            Event::RunFinished { status, message, answer, data, spent } if !inner => {
                self.flush(inner, None);
                let answer = answer.as_ref().map(|text| text.as_str().to_owned());
                self.end = Some((*status, message.clone(), answer, data.clone()));
                self.spent = *spent;
            }
            _ => {}
        }
    }

    fn finished(&mut self, op_id: u32, outcome: &Outcome, inner: bool) {
        let level = &mut self.levels[usize::from(inner)];
        let at = level.open.iter().position(|(id, _, _)| *id == op_id);
        let Some((_, op, _)) = at.map(|at| level.open.remove(at)) else {
            // It could not even be judged: what was decided on is all that is known of it.
            if let Some(action) = level.decided.take() {
                self.add_decided(&action, outcome.ok, outcome.code, inner);
            }
            return;
        };
        if let Op::Load { skill, .. } | Op::Delegate { skill, .. } = &op {
            self.loaded(skill, outcome, matches!(op, Op::Delegate { .. }), inner);
        }
        if inner && self.is_being_delegated(&op) {
            return;
        }
        self.actions.push(action_of(&op, self.step, outcome.ok, outcome.code, inner));
    }

    /// Whether the load is how a subagent begins: it was chosen once, by the one that started it.
    fn is_being_delegated(&self, op: &Op) -> bool {
        let Op::Load { skill: loaded, .. } = op else { return false };
        let mut open = self.levels[0].open.iter();
        open.any(|(_, op, _)| matches!(op, Op::Delegate { skill, .. } if skill == loaded))
    }

    fn loaded(&mut self, skill: &SkillId, outcome: &Outcome, delegated: bool, inner: bool) {
        let name = self.called(skill);
        if outcome.ok || delegated {
            let is_known = self.fired.iter().any(|fired| fired.skill == name);
            if !is_known && outcome.ok {
                self.fired.push(FiredSkill { skill: name, step: self.step, inner });
            }
            return;
        }
        let is_no_fault = matches!(
            outcome.code,
            Some(FailureCode::AlreadyLoaded | FailureCode::SkillNotFound | FailureCode::Cancelled)
        );
        if !is_no_fault {
            let message =
                format!("the skill {name} could not be loaded: {}", outcome.text.as_str());
            self.unloadable.get_or_insert(message);
        }
    }

    /// An action came to its observation: what of it has not come to an end never will.
    fn observed(&mut self, ok: bool, code: Option<FailureCode>, inner: bool) {
        if let Some(action) = self.levels[usize::from(inner)].decided.take() {
            self.add_decided(&action, ok, code, inner);
        }
        for (op, effect) in self.flush(inner, code) {
            // The approver of trials lets no question about a load pass; a dry run does not even ask.
            let was_refused =
                effect == Effect::Ask && code.is_none_or(|it| it == FailureCode::Rejected);
            if let (true, Op::Load { skill, .. } | Op::Delegate { skill, .. }) = (was_refused, &op)
            {
                let name = self.called(skill);
                self.unloadable.get_or_insert(format!(
                    "the skill {name} could not be loaded: a rule asks about it, and an eval has no one to ask; \
                     --allow load_skill:{name} lets it pass"
                ));
            }
        }
    }

    /// Ends what has been judged and has not come to an end; gives the operations with what was decided.
    fn flush(&mut self, inner: bool, code: Option<FailureCode>) -> Vec<(Op, Effect)> {
        let open = std::mem::take(&mut self.levels[usize::from(inner)].open);
        for (_, op, effect) in &open {
            let effect = *effect;
            let denied = (effect == Effect::Deny).then_some(FailureCode::NotAllowed);
            self.actions.push(action_of(op, self.step, false, denied.or(code), inner));
        }
        open.into_iter().map(|(_, op, effect)| (op, effect)).collect()
    }

    fn add_decided(&mut self, action: &Action, ok: bool, code: Option<FailureCode>, inner: bool) {
        let blank = TrialAction {
            step: self.step,
            action: action.kind().to_owned(),
            target: String::new(),
            skill: None,
            path: None,
            tool: None,
            args: Value::Null,
            ok,
            code,
            inner,
        };
        let made = match action {
            Action::SelectSkills { skills, .. } => {
                let each = skills.iter().map(|skill| TrialAction {
                    target: skill.text(),
                    skill: Some(skill.name.clone()),
                    ..blank.clone()
                });
                self.actions.extend(each);
                return;
            }
            Action::LoadResource { skill, relative_path: path, .. } => TrialAction {
                target: format!("{}/{path}", skill.name),
                skill: Some(skill.name.clone()),
                path: Some(path.clone()),
                ..blank
            },
            Action::RunScript { skill, relative_path: path, args } => TrialAction {
                target: format!("{}/{path}", skill.name),
                skill: Some(skill.name.clone()),
                path: Some(path.clone()),
                args: json!(args),
                ..blank
            },
            Action::SearchSkills { query } => TrialAction { target: query.clone(), ..blank },
            Action::CallTool { tool, args, skill } => TrialAction {
                target: tool.clone(),
                tool: Some(tool.clone()),
                skill: skill.as_ref().map(|skill| skill.name.clone()),
                args: Value::Object(args.clone()),
                ..blank
            },
            Action::FinalAnswer { .. } => blank,
        };
        self.actions.push(made);
    }

    /// What was seen. `outputs` is where scripts left files; `is_enough` says that the run was stopped
    /// because nothing after could count.
    pub(crate) fn finish(mut self, outputs: PathBuf, is_enough: bool) -> Result<Trace, TraceError> {
        self.flush(false, None);
        let (status, message, answer, data) =
            self.end.take().unwrap_or((Status::Failed, None, None, None));
        let status = if is_enough { Status::DryRun } else { status };
        let usage = self.spent.usage;
        let is_call = |it: &&TrialAction| matches!(it.action.as_str(), "call_tool" | "run_script");
        let tool_calls = self.actions.iter().filter(is_call).count();
        // The turn at which it was stopped had only begun.
        let turns = self.spent.turns.saturating_sub(u32::from(is_enough));
        let trace = Trace {
            status,
            fired: self.fired,
            actions: self.actions,
            answer,
            data,
            outputs: vec![outputs],
            cost: TrialCost {
                tokens_in: usage.input,
                tokens_out: usage.output,
                estimated: usage.estimated,
                model_calls: turns + self.inner_model_calls,
                tool_calls: u32::try_from(tool_calls).unwrap_or(u32::MAX),
                ..TrialCost::default()
            },
            run: None,
        };
        if let Some(message) = self.unloadable {
            return Err(failed(TrialErrorKind::SkillNotLoadable, message, trace));
        }
        let [outer, inner] = self.failures;
        if is_enough {
            return match outer.or(inner) {
                // It spent the steps that count on replies that decide nothing: that is no abstention.
                Some((kind, message)) => Err(failed(kind, message, trace)),
                None => Ok(trace),
            };
        }
        match (outer, inner, status) {
            (_, _, Status::Cancelled) => {
                Err(failed(TrialErrorKind::Cancelled, "it was cancelled", trace))
            }
            // A subagent without a model did not do its part, whatever was made of that.
            (_, Some((kind, message)), _) => Err(failed(kind, message, trace)),
            // The model's fault, and not its answer.
            (Some((kind, message)), _, _) if trace.answer.is_none() => {
                Err(failed(kind, message, trace))
            }
            (None, _, Status::Failed) if trace.answer.is_none() => {
                let message = message.unwrap_or_else(|| "the run failed".to_owned());
                Err(failed(TrialErrorKind::Harness, message, trace))
            }
            _ => Ok(trace),
        }
    }
}

fn failed(kind: TrialErrorKind, message: impl Into<String>, seen: Trace) -> TraceError {
    TraceError { kind, message: message.into(), seen: Some(Box::new(seen)) }
}

fn kind_of(kind: ModelErrorKind) -> TrialErrorKind {
    match kind {
        ModelErrorKind::Network | ModelErrorKind::Tls => TrialErrorKind::Network,
        ModelErrorKind::TimedOut => TrialErrorKind::TimedOut,
        ModelErrorKind::ContextOverflow => TrialErrorKind::ContextOverflow,
        ModelErrorKind::Cancelled => TrialErrorKind::Cancelled,
        _ => TrialErrorKind::Provider,
    }
}

fn action_of(op: &Op, step: u32, ok: bool, code: Option<FailureCode>, inner: bool) -> TrialAction {
    let kind = match op {
        Op::Load { .. } | Op::Delegate { .. } => "select_skills",
        Op::Resource { .. } => "load_resource",
        Op::Script { .. } => "run_script",
        Op::Tool { .. } => "call_tool",
        Op::Search { .. } => "search_skills",
    };
    let (skill, path, tool, target, args) = match op {
        Op::Load { skill, .. } | Op::Delegate { skill, .. } => {
            (Some(skill), None, None, skill.name.to_string(), Value::Null)
        }
        Op::Resource { skill, path, .. } => {
            (Some(skill), Some(path), None, format!("{}/{path}", skill.name), Value::Null)
        }
        Op::Script { skill, path, args } => {
            (Some(skill), Some(path), None, format!("{}/{path}", skill.name), json!(args))
        }
        Op::Tool { tool, args, skill } => {
            (skill.as_ref(), None, Some(tool), op.describe(), Value::Object(args.clone()))
        }
        Op::Search { query } => (None, None, None, query.clone(), Value::Null),
    };
    TrialAction {
        step,
        action: kind.to_owned(),
        target: metier::skill::text::clip(&target, 200).into_owned(),
        skill: skill.map(|id| id.name.to_string()),
        path: path.cloned(),
        tool: tool.cloned(),
        args,
        ok,
        code,
        inner,
    }
}
