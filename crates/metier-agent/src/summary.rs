//! The summary of a run (`run.json`): how it ended, what it used, what it cost. Pure.
//!
//! It follows from the events alone, without folding them: any version of the program can make it again
//! from a record, and compare. So nothing stands in it that the record does not have.

use metier_model::ModelInfo;
use metier_skill::text::{clip, fold_line};
use metier_skill::{Digest, FailureCode, SkillId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, Spent, Status};
use crate::log::Record;
use crate::op::{Op, Outcome};
use crate::run_id::RunId;
use crate::step::add_usage;

/// Characters of what a call is about, and of what it printed.
const MAX_TARGET_CHARS: usize = 200;
const MAX_OUTPUT_CHARS: usize = 200;

/// The summary of a run, for lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run.
    pub run_id: RunId,
    /// How it ended; nothing while it works, or when it was killed.
    pub status: Option<Status>,
    /// Why, where it is not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The request.
    pub request: String,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answer for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Who decided.
    pub model: ModelInfo,
    /// What was used on the way, subagents included.
    #[serde(flatten)]
    pub used: Used,
    /// When it began, in UTC.
    pub started: String,
    /// When it ended, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// Milliseconds that it took.
    pub elapsed_ms: u64,
    /// What it spent.
    pub spent: Spent,
    /// How many events its record has.
    pub events: u64,
    /// The hash of the last one.
    pub last_hash: Digest,
}

/// What a run used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// The skills that were loaded.
    #[serde(default)]
    pub skills: Vec<SkillId>,
    /// The files of skills that were read.
    #[serde(default)]
    pub resources: Vec<UsedResource>,
    /// The tools, scripts and commands that were called.
    #[serde(default)]
    pub calls: Vec<CallSummary>,
}

/// A file of a skill that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedResource {
    /// The skill.
    pub skill: SkillId,
    /// The file.
    pub path: String,
    /// The section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
}

/// One call of a tool, a script or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSummary {
    /// The tool: `run_script`, `read_file`, ...
    pub tool: String,
    /// What it was about, in one line.
    pub target: String,
    /// The skill that it belongs to, or was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// Whether it was done.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// The exit code of a script or command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The beginning of what came of it, in one line.
    pub output: String,
    /// Where the whole is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_ref: Option<String>,
}

/// Makes the summary of a run from its records, one after the other, with long texts in place.
#[derive(Debug, Clone, Default)]
pub struct SummaryBuilder {
    summary: Option<Summary>,
    /// The operation that began last.
    begun: Option<(u32, Op)>,
}

impl SummaryBuilder {
    /// The builder after these records.
    pub fn after<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut builder = Self::default();
        for record in records {
            builder.add(record);
        }
        builder
    }

    /// The summary so far; nothing before the first event.
    pub const fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        if let Event::RunStarted { run_id, request, model, .. } = &record.event {
            self.summary = Some(Summary {
                run_id: run_id.clone(),
                status: None,
                message: None,
                request: request.clone(),
                answer: None,
                data: None,
                model: model.clone(),
                used: Used::default(),
                started: record.time.clone(),
                finished: None,
                elapsed_ms: 0,
                spent: Spent::default(),
                events: 0,
                last_hash: record.hash,
            });
        }
        let Some(summary) = &mut self.summary else { return };
        summary.events = record.seq;
        summary.last_hash = record.hash;
        if record.event.is_information() {
            return;
        }
        summary.elapsed_ms = record.elapsed_ms;
        // What continues has not ended.
        (summary.status, summary.message, summary.finished) = (None, None, None);
        (summary.answer, summary.data) = (None, None);
        match &record.event {
            Event::ModelRequested { turn, .. } => summary.spent.turns = *turn,
            Event::ModelReplied { reply, .. } => {
                add_usage(&mut summary.spent.usage, &reply.usage);
            }
            Event::ActionStarted { op_id, op } => {
                let is_again = self.begun.as_ref().is_some_and(|(known, _)| known == op_id);
                summary.begin(op, is_again);
                self.begun = Some((*op_id, op.clone()));
            }
            Event::ActionFinished { op_id, outcome } => {
                let begun = self.begun.as_ref().filter(|(known, _)| known == op_id);
                if let Some((_, op)) = begun {
                    summary.end(op, outcome);
                }
            }
            Event::RunFinished { status, message, answer, data, spent } => {
                summary.status = Some(*status);
                summary.message.clone_from(message);
                summary.answer = answer.as_ref().map(|text| text.as_str().to_owned());
                summary.data.clone_from(data);
                summary.spent = *spent;
                summary.finished = Some(record.time.clone());
            }
            _ => {}
        }
    }
}

impl Summary {
    /// Whether a run that stands so can be resumed: it only stopped, or its process is gone.
    pub fn can_resume(&self) -> bool {
        self.status.is_none_or(|status| status.can_resume() && self.answer.is_none())
    }

    fn begin(&mut self, op: &Op, is_again: bool) {
        let (tool, target, skill) = match op {
            Op::Script { skill, path, args } => {
                self.spent.script_runs += 1;
                let words = std::iter::once(path).chain(args);
                let target = words.map(String::as_str).collect::<Vec<_>>().join(" ");
                ("run_script", target, Some(skill))
            }
            Op::Tool { tool, args, skill } => {
                let path = args.get("path").and_then(Value::as_str).map(str::to_owned);
                let target = path.unwrap_or_else(|| Value::Object(args.clone()).to_string());
                (tool.as_str(), target, skill.as_ref())
            }
            _ => return,
        };
        self.spent.tool_calls += 1;
        if is_again {
            return;
        }
        // Until its end is known it counts as interrupted.
        self.used.calls.push(CallSummary {
            tool: tool.to_owned(),
            target: clip(&fold_line(&target), MAX_TARGET_CHARS).into_owned(),
            skill: skill.cloned(),
            ok: false,
            code: Some(FailureCode::Interrupted),
            exit_code: None,
            output: String::new(),
            storage_ref: None,
        });
    }

    fn end(&mut self, op: &Op, outcome: &Outcome) {
        match op {
            Op::Load { .. } => self.used.skills.extend(
                outcome.skill.as_ref().filter(|_| outcome.ok).map(|skill| skill.id.clone()),
            ),
            Op::Resource { skill, path, section } if outcome.ok => {
                let (skill, path, section) = (skill.clone(), path.clone(), section.clone());
                self.used.resources.push(UsedResource { skill, path, section });
            }
            Op::Script { .. } | Op::Tool { .. } => {
                let Some(call) = self.used.calls.last_mut() else { return };
                (call.ok, call.code) = (outcome.ok, outcome.code);
                call.exit_code = outcome.data.get("exit_code").and_then(Value::as_i64);
                call.output = clip(&fold_line(outcome.text.as_str()), MAX_OUTPUT_CHARS).into();
                call.storage_ref.clone_from(&outcome.storage_ref);
            }
            Op::Delegate { .. } => {
                if let Ok(spent) = Spent::deserialize(&outcome.data["spent"]) {
                    self.spent.tool_calls += spent.tool_calls;
                    self.spent.script_runs += spent.script_runs;
                    add_usage(&mut self.spent.usage, &spent.usage);
                }
                if let Ok(Used { skills, resources, calls }) =
                    Used::deserialize(&outcome.data["used"])
                {
                    let skills = skills.into_iter().filter(|id| !self.used.skills.contains(id));
                    let skills: Vec<SkillId> = skills.collect();
                    self.used.skills.extend(skills);
                    self.used.resources.extend(resources);
                    self.used.calls.extend(calls);
                }
            }
            _ => {}
        }
    }
}
