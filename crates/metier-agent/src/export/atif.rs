//! A run as a trajectory: the Agent Trajectory Interchange Format (ATIF) of Harbor, version 1.8.
//!
//! A reply of the model is a step with the action as its tool call; what came of it is the step's
//! observation. What the user and the program did stands in steps of their own. The format forbids
//! keys that it does not know, so everything of ours is in `extra`. A step that no language model
//! took says so with `llm_call_count: 0`, and then must have no metrics.

use metier_model::{Action, Decision, Usage};
use metier_policy::{Answer, Effect};
use metier_skill::FailureCode;
use serde_json::{Map, Value, json};

use super::{RecordedRun, is_language_model};
use crate::event::Event;
use crate::log::Record;
use crate::op::{Op, Outcome};

/// The version of the format.
const VERSION: &str = "ATIF-v1.8";

/// The trajectory of a run, with those of the loops inside it.
pub fn atif(run: &RecordedRun) -> Value {
    let mut writer = Writer::new(run);
    for record in &run.records {
        writer.take(record);
    }
    let totals = writer.totals();
    let mut steps = writer.steps;
    for (at, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(at + 1);
    }
    let definitions = run.setup.tools.iter().map(|card| {
        let offer = &card.offer;
        let (name, description) = (&offer.name, &offer.description);
        json!({"type": "function", "function": {
            "name": name, "description": description, "parameters": offer.schema,
        }})
    });
    let model = &run.setup.model;
    let mut trajectory = json!({
        "schema_version": VERSION,
        "session_id": run.id,
        "trajectory_id": run.id,
        "agent": {
            "name": "metier",
            "version": run.version(),
            "model_name": model.name,
            "tool_definitions": definitions.collect::<Vec<_>>(),
            "extra": {"provider": model.provider},
        },
        "steps": steps,
        "final_metrics": totals,
        "extra": {
            "status": writer.status,
            "message": writer.message,
            "index_hash": run.setup.index_hash,
            "mode": run.setup.mode,
            "limits": run.setup.limits,
        },
    });
    if !run.inner.is_empty() {
        trajectory["subagent_trajectories"] = run.inner.iter().map(atif).collect();
    }
    trajectory
}

struct Writer<'r> {
    run: &'r RecordedRun,
    steps: Vec<Value>,
    /// The step that outcomes belong to, and the id of its call.
    current: Option<(usize, Option<String>)>,
    /// What is known of the operation that is on its way.
    op: Map<String, Value>,
    /// Its denial, until it is known whether a person lifts it.
    denial: Option<String>,
    retries: u32,
    usage: Usage,
    status: Value,
    message: Value,
    spent: Value,
    elapsed_ms: u64,
}

impl<'r> Writer<'r> {
    fn new(run: &'r RecordedRun) -> Self {
        Self {
            run,
            steps: Vec::new(),
            current: None,
            op: Map::new(),
            denial: None,
            retries: 0,
            usage: Usage::default(),
            status: Value::Null,
            message: Value::Null,
            spent: Value::Null,
            elapsed_ms: 0,
        }
    }

    fn take(&mut self, record: &Record) {
        self.elapsed_ms = record.elapsed_ms;
        let time = &record.time;
        match &record.event {
            Event::RunStarted { request, .. } => self.begin(time, request),
            Event::RunResumed { version, .. } => {
                self.aside(
                    time,
                    "The run continued in another process.",
                    json!({"version": version}),
                );
            }
            Event::CancelRequested {} => {
                self.aside(time, "The run was cancelled.", json!({}));
            }
            Event::ModelRetrying { .. } => self.retries += 1,
            Event::ModelReplied { turn, reply } => {
                let mut step = json!({
                    "timestamp": time,
                    "source": "agent",
                    "message": reply.text,
                    "extra": {"turn": turn, "finish": reply.finish, "mode": reply.mode},
                });
                if self.retries > 0 {
                    step["extra"]["retries"] = json!(self.retries);
                }
                self.retries = 0;
                if is_language_model(&self.run.setup.model) {
                    step["llm_call_count"] = json!(1);
                    step["metrics"] = metrics(&reply.usage);
                    add(&mut self.usage, &reply.usage);
                } else {
                    step["llm_call_count"] = json!(0);
                }
                self.steps.push(step);
                self.current = Some((self.steps.len() - 1, None));
            }
            Event::ModelFailed { error, .. } => {
                let extra = json!({"error": error, "retries": self.retries});
                self.retries = 0;
                self.aside(time, &format!("The model gave no reply: {}", error.message), extra);
            }
            Event::DecisionMade { decision, .. } => self.decided(record.seq, decision),
            Event::DecisionInvalid { code, message, .. } => {
                self.result(json!({"content": message, "extra": {"ok": false, "code": code}}));
            }
            Event::PlanChanged { plan, .. } => self.note("plan", json!(plan)),
            Event::PolicyDecided { op_id: 0, op, effect, reason, .. } => {
                let policy = json!({"effect": effect, "reason": reason});
                let extra = json!({"op": op, "policy": policy});
                self.aside(time, "The prompt shows the opening of a skill.", extra);
            }
            Event::PolicyDecided { op_id, op, effect, reason, liftable, .. } => {
                self.judged(*op_id, op, *effect, reason);
                if liftable.is_empty() {
                    self.denied();
                }
            }
            Event::AskAnswered { op_id, answer, by } => self.answered(*op_id, answer, by),
            Event::AskUnanswered { .. } => self.denied(),
            Event::ActionFinished { op_id, outcome } => self.finished(*op_id, outcome),
            Event::ObservationMade { ok, code, bytes, sha256, .. } => {
                self.denied();
                self.observed(
                    *ok,
                    code.map(FailureCode::as_str),
                    json!({"bytes": bytes, "sha256": sha256}),
                );
            }
            Event::ContextCompacted { .. }
            | Event::SkillChanged { .. }
            | Event::BudgetSpent { .. }
            | Event::LoopDetected { .. }
            | Event::FileRestored { .. } => self.record_information(time, &record.event),
            Event::RunFinished { status, message, spent, .. } => {
                (self.status, self.message) = (json!(status), json!(message));
                self.spent = json!(spent);
            }
            Event::ModelRequested { .. }
            | Event::FileRestoring { .. }
            | Event::AskOpened { .. }
            | Event::ActionStarted { .. } => {}
        }
    }

    /// What the model is given, and what the user asked for.
    fn begin(&mut self, time: &str, request: &str) {
        let setup = &self.run.setup;
        self.steps.push(json!({"timestamp": time, "source": "system", "message": setup.system}));
        let mut asked = json!({"timestamp": time, "source": "user", "message": request});
        if setup.opening != request {
            asked["extra"] = json!({"opening": setup.opening});
        }
        self.steps.push(asked);
        if !setup.chosen.is_empty() {
            let message = "Skills that the user chose are loaded.";
            self.steps.push(json!({"timestamp": time, "source": "system", "message": message}));
            self.current = Some((self.steps.len() - 1, None));
        }
    }

    /// A step of the program's own. Outcomes still belong to the step before.
    fn aside(&mut self, time: &str, message: &str, extra: Value) {
        let mut step = json!({"timestamp": time, "source": "system", "message": message});
        if extra.as_object().is_some_and(|extra| !extra.is_empty()) {
            step["extra"] = extra;
        }
        self.steps.push(step);
    }

    fn record_information(&mut self, time: &str, event: &Event) {
        let message = match event {
            Event::ContextCompacted { .. } => "Old observations were shortened.",
            Event::BudgetSpent { budget, .. } if budget == "wall_ms" => "The time is up.",
            Event::BudgetSpent { .. } => "A budget is spent: one last turn follows.",
            Event::FileRestored { .. } => "A deleted file was restored.",
            _ => "The same action had the same result too often: one last turn follows.",
        };
        let mut extra = json!(event);
        if let Some(extra) = extra.as_object_mut() {
            extra.remove("type");
        }
        self.aside(time, message, extra);
    }

    fn decided(&mut self, seq: u64, decision: &Decision) {
        let Some((at, call)) = &mut self.current else { return };
        let step = &mut self.steps[*at];
        let (name, arguments, words) = match &decision.action {
            Action::FinalAnswer { text, .. } => {
                step["message"] = json!(text);
                if let Action::FinalAnswer { data: Some(data), .. } = &decision.action {
                    step["extra"]["data"] = data.clone();
                }
                return;
            }
            Action::CallTool { tool, args, skill } => {
                if let Some(skill) = skill {
                    step["extra"]["skill"] = json!(skill);
                }
                (tool.as_str(), Value::Object(args.clone()), "")
            }
            action => {
                let mut arguments = json!(action);
                if let Some(fields) = arguments.as_object_mut() {
                    fields.remove("type");
                }
                let words = match action {
                    Action::SelectSkills { reason, .. } => reason.as_str(),
                    _ => "",
                };
                (action.kind(), arguments, words)
            }
        };
        let id = format!("call-{seq}");
        step["message"] = json!(words);
        step["tool_calls"] =
            json!([{"tool_call_id": id, "function_name": name, "arguments": arguments}]);
        *call = Some(id);
    }

    fn judged(&mut self, op_id: u32, op: &Op, effect: Effect, reason: &str) {
        self.op = Map::new();
        self.op.insert("op_id".to_owned(), json!(op_id));
        self.op.insert("op".to_owned(), json!(op));
        self.op.insert("policy".to_owned(), json!({"effect": effect, "reason": reason}));
        self.denial = (effect == Effect::Deny).then(|| format!("Not allowed: {reason}"));
    }

    /// The denial stands: it was not lifted.
    fn denied(&mut self) {
        if let Some(words) = self.denial.take() {
            self.refused(&words, FailureCode::NotAllowed);
        }
    }

    fn answered(&mut self, op_id: u32, answer: &Answer, by: &str) {
        self.op.insert("op_id".to_owned(), json!(op_id));
        self.op.insert("answer".to_owned(), json!({"answer": answer, "by": by}));
        match answer {
            Answer::Lift => self.denial = None,
            Answer::Reject(words) => {
                self.denial = None;
                self.refused(&format!("The user said no: {words}"), FailureCode::Rejected);
            }
            Answer::Once | Answer::Always | Answer::AlwaysFor(_) | Answer::AlwaysScript(_) => {
                self.denied();
            }
        }
    }

    fn refused(&mut self, content: &str, code: FailureCode) {
        let mut extra = std::mem::take(&mut self.op);
        extra.insert("ok".to_owned(), json!(false));
        extra.insert("code".to_owned(), json!(code));
        self.result(json!({"content": content, "extra": extra}));
    }

    fn finished(&mut self, op_id: u32, outcome: &Outcome) {
        let mut extra = std::mem::take(&mut self.op);
        extra.insert("op_id".to_owned(), json!(op_id));
        extra.insert("ok".to_owned(), json!(outcome.ok));
        let known = [
            ("code", json!(outcome.code)),
            ("storage_ref", json!(outcome.storage_ref)),
            ("data", outcome.data.clone()),
        ];
        let known = known.into_iter().filter(|(_, value)| !value.is_null());
        extra.extend(known.map(|(key, value)| (key.to_owned(), value)));
        if outcome.truncated {
            extra.insert("truncated".to_owned(), json!(true));
        }
        let content = match &outcome.skill {
            Some(skill) => skill.block.as_str(),
            None => outcome.text.as_str(),
        };
        let mut result = json!({"content": content, "extra": extra});
        if let Some(inner) = self.run.inner_of(op_id) {
            result["subagent_trajectory_ref"] =
                json!([{"trajectory_id": inner.id, "session_id": inner.id}]);
        }
        self.result(result);
    }

    /// An action without an outcome of its own: it was impossible, or cut off. The record has only the
    /// code of what the model was shown.
    fn observed(&mut self, ok: bool, code: Option<&str>, mut extra: Value) {
        let Some((at, _)) = &self.current else { return };
        if !self.steps[*at]["observation"].is_null() {
            return;
        }
        extra["ok"] = json!(ok);
        extra["code"] = json!(code);
        let content = code.map(|code| format!("The model was shown: {code}"));
        self.result(json!({"content": content, "extra": extra}));
    }

    /// Adds what came of the current step.
    fn result(&mut self, mut result: Value) {
        let Some((at, call)) = &self.current else { return };
        if let Some(call) = call {
            result["source_call_id"] = json!(call);
        }
        let step = &mut self.steps[*at];
        match step["observation"]["results"].as_array_mut() {
            Some(results) => results.push(result),
            None => step["observation"] = json!({"results": [result]}),
        }
    }

    fn note(&mut self, key: &str, value: Value) {
        if let Some((at, _)) = &self.current {
            self.steps[*at]["extra"][key] = value;
        }
    }

    fn totals(&self) -> Value {
        json!({
            "total_prompt_tokens": self.usage.input,
            "total_completion_tokens": self.usage.output,
            "total_cached_tokens": self.usage.cache_read,
            "total_steps": self.steps.len(),
            "extra": {"spent": self.spent, "elapsed_ms": self.elapsed_ms},
        })
    }
}

fn metrics(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "extra": {
            "cache_write_tokens": usage.cache_write,
            "reasoning_tokens": usage.reasoning,
            "estimated": usage.estimated,
            "attempts": usage.attempts,
            "first_ms": usage.first_ms,
            "total_ms": usage.total_ms,
        },
    })
}

fn add(total: &mut Usage, more: &Usage) {
    total.input += more.input;
    total.output += more.output;
    total.cache_read += more.cache_read;
}
