//! A record as a timeline: what was asked, and turn by turn what was decided, judged, asked and done.
//!
//! Pure, and without a look: the terminal (`timeline_text`) and the page (`page`) draw the same
//! timeline. Texts in it are as they were recorded, that is untrusted: what draws them makes them safe.

use std::collections::BTreeMap;

use metier::agent::event::{Spent, Status};
use metier::agent::export::RecordedRun;
use metier::agent::{Event, Mode, Op, Outcome, PlanAuthor, Record};
use metier::model::{Action, Plan, Reply, StepStatus, Usage};
use metier::policy::{Answer, Effect};
use metier::skill::{FailureCode, SkillId};

use crate::render::{budget_text, count};

/// A run, turn by turn.
pub(crate) struct Timeline {
    pub(crate) id: String,
    pub(crate) request: String,
    pub(crate) model: String,
    pub(crate) files: Vec<String>,
    pub(crate) skills: Vec<String>,
    pub(crate) dry: bool,
    pub(crate) started: String,
    pub(crate) elapsed_ms: u64,
    pub(crate) sections: Vec<Section>,
    pub(crate) end: Option<End>,
}

/// A turn of the model, or what went before the first.
pub(crate) struct Section {
    pub(crate) turn: Option<u32>,
    /// What asking the model took.
    pub(crate) cost: String,
    pub(crate) entries: Vec<Entry>,
}

/// One thing that happened.
pub(crate) struct Entry {
    pub(crate) label: &'static str,
    pub(crate) mark: Mark,
    pub(crate) title: String,
    /// Small facts beside it.
    pub(crate) notes: Vec<String>,
    /// Why.
    pub(crate) reason: String,
    pub(crate) steps: Vec<(StepStatus, String)>,
    /// What was said or printed; may be long.
    pub(crate) text: String,
    /// The loop that it started.
    pub(crate) inner: Option<Box<Timeline>>,
}

/// How an entry is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    Good,
    Warn,
    Bad,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) status: Status,
    pub(crate) message: String,
    pub(crate) answer: String,
    pub(crate) data: Option<serde_json::Value>,
    pub(crate) spent: Spent,
}

impl Entry {
    fn new(label: &'static str, mark: Mark, title: impl Into<String>) -> Self {
        Self {
            label,
            mark,
            title: title.into(),
            notes: Vec::new(),
            reason: String::new(),
            steps: Vec::new(),
            text: String::new(),
            inner: None,
        }
    }

    fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

/// The timeline of a run.
pub(crate) fn timeline(run: &RecordedRun) -> Timeline {
    let setup = &run.setup;
    let mut builder = TimelineBuilder {
        run,
        timeline: Timeline {
            id: run.id.to_string(),
            request: setup.request.clone(),
            model: format!("{}:{}", setup.model.provider, setup.model.name),
            files: setup.files.clone(),
            skills: Vec::new(),
            dry: setup.mode == Mode::DryRun,
            started: run.records.first().map_or_else(String::new, |first| first.time.clone()),
            elapsed_ms: 0,
            sections: vec![Section { turn: None, cost: String::new(), entries: Vec::new() }],
            end: None,
        },
        ops: BTreeMap::new(),
        begun: BTreeMap::new(),
        reply: String::new(),
        decision: String::new(),
        lifting: false,
    };
    for record in &run.records {
        builder.take(record);
    }
    let mut timeline = builder.timeline;
    timeline.sections.retain(|section| section.turn.is_some() || !section.entries.is_empty());
    timeline
}

struct TimelineBuilder<'r> {
    run: &'r RecordedRun,
    timeline: Timeline,
    /// What an operation is, by its number.
    ops: BTreeMap<u32, Op>,
    /// Where the entry of an operation is that has begun, and when it did.
    begun: BTreeMap<u32, (usize, usize, u64)>,
    reply: String,
    /// The last decision, in a line.
    decision: String,
    /// Whether the last question was about ceilings, which stay without an answer.
    lifting: bool,
}

impl TimelineBuilder<'_> {
    fn take(&mut self, record: &Record) {
        self.timeline.elapsed_ms = record.elapsed_ms;
        if let Some(end) = self.timeline.end.take() {
            let title = format!("{}, can be resumed", end.status.as_str());
            self.push(Entry::new("stopped", Mark::Warn, title).because(end.message));
        }
        match &record.event {
            Event::RunResumed { version, .. } => {
                let title = format!("in another process, by version {version}");
                self.push(Entry::new("resumed", Mark::Warn, title));
            }
            Event::CancelRequested {} => {
                self.push(Entry::new("stop", Mark::Warn, "a stop was requested"));
            }
            Event::ModelRequested { turn, tokens, .. } => self.asked_model(*turn, *tokens),
            Event::ModelRetrying { attempt, error, delay_ms, .. } => {
                let title = format!("attempt {attempt} failed: {}", error.kind.as_str());
                let mut entry = Entry::new("retry", Mark::Warn, title).because(&*error.message);
                entry.notes.push(format!("again after {}", time(*delay_ms)));
                self.push(entry);
            }
            Event::ModelReplied { reply, .. } => {
                self.reply.clone_from(&reply.text);
                self.section().cost = cost(reply);
            }
            Event::ModelFailed { error, .. } => {
                let title = format!("no reply: {}", error.kind.as_str());
                self.push(Entry::new("model", Mark::Bad, title).because(&*error.message));
            }
            Event::DecisionMade { decision, .. } => {
                let entry = decided(&decision.action);
                self.decision.clone_from(&entry.title);
                self.push(entry);
            }
            Event::DecisionInvalid { code, message, .. } => {
                let mut entry =
                    Entry::new("invalid", Mark::Bad, format!("no decision: {}", code.as_str()))
                        .because(&**message);
                entry.text = std::mem::take(&mut self.reply);
                self.push(entry);
            }
            Event::PlanChanged { plan, by: PlanAuthor::Model } => self.push(planned(plan)),
            Event::PolicyDecided { op_id, op, effect, reason, .. } => {
                self.ops.insert(*op_id, op.clone());
                let mark = match effect {
                    Effect::Allow => Mark::Good,
                    Effect::Ask => Mark::Warn,
                    Effect::Deny => Mark::Bad,
                };
                let title = format!("{effect}: {}", op.describe());
                self.push(Entry::new("policy", mark, title).because(&**reason));
            }
            Event::AskOpened { op_id, op, liftable, .. } => {
                self.ops.insert(*op_id, op.clone());
                self.lifting = !liftable.is_empty();
                let what = if liftable.is_empty() { op.describe() } else { lifting(liftable) };
                self.push(Entry::new("asks", Mark::Warn, what));
            }
            Event::AskAnswered { answer, by, .. } => self.push(answered(answer, by)),
            Event::AskUnanswered { .. } => {
                let title = if self.lifting { "no answer" } else { "no answer; the run waits" };
                self.push(Entry::new("answer", Mark::Warn, title));
            }
            Event::ActionStarted { op_id, op } => self.began(*op_id, op, record.elapsed_ms),
            Event::ActionFinished { op_id, outcome } => {
                self.finished(*op_id, outcome, record.elapsed_ms);
            }
            Event::ObservationMade { ok: false, code: Some(code), .. } => {
                self.add_observation(*code);
            }
            Event::SkillChanged { skill, loaded, .. } => self.push(changed(skill, *loaded)),
            Event::ContextCompacted { shortened, tokens_before, tokens_after } => {
                let what = count(*shortened as usize, "old observation");
                let title = format!("{what} shortened, {tokens_before} to {tokens_after} tokens");
                self.push(Entry::new("context", Mark::Plain, title));
            }
            Event::BudgetSpent { budget, setting, .. } => {
                self.push(Entry::new("budget", Mark::Warn, budget_text(budget, setting.as_ref())));
            }
            Event::LoopDetected { action, target, times } => {
                let title = format!("{action} {target} had the same result {times} times");
                self.push(Entry::new("loop", Mark::Warn, title));
            }
            Event::FileRestored { reference, path } => {
                let title = format!("{path} restored ({reference})");
                self.push(Entry::new("restore", Mark::Plain, title));
            }
            Event::RunFinished { status, message, answer, data, spent } => {
                self.timeline.end = Some(End {
                    status: *status,
                    message: self.end_words(message.as_deref()),
                    answer: answer.as_ref().map_or("", |text| text.as_str()).to_owned(),
                    data: data.clone(),
                    spent: *spent,
                });
            }
            // The head of the timeline has it, or it adds nothing.
            _ => {}
        }
    }

    /// What is said of the end, unless the entry above it has the same: the model's last words.
    fn end_words(&mut self, message: Option<&str>) -> String {
        let last =
            self.section().entries.last().filter(|it| it.label == "model" && !it.reason.is_empty());
        let is_said = |message: &&str| last.is_some_and(|last| message.starts_with(&last.reason));
        message.filter(|message| !is_said(message)).unwrap_or_default().to_owned()
    }

    fn section(&mut self) -> &mut Section {
        let last = self.timeline.sections.len() - 1;
        &mut self.timeline.sections[last]
    }

    fn push(&mut self, entry: Entry) {
        self.section().entries.push(entry);
    }

    /// A turn is asked for twice when the first asking came to nothing.
    fn asked_model(&mut self, turn: u32, tokens: u64) {
        if self.section().turn != Some(turn) {
            let (cost, entries) = (String::new(), Vec::new());
            self.timeline.sections.push(Section { turn: Some(turn), cost, entries });
        }
        self.section().cost = format!("about {tokens} tokens sent");
    }

    fn began(&mut self, op_id: u32, op: &Op, elapsed_ms: u64) {
        let mut entry = Entry::new("does", Mark::Warn, op.describe());
        entry.notes.push("no end is recorded".to_owned());
        let inner = self
            .run
            .inner
            .iter()
            .find(|inner| inner.id.as_str().ends_with(&format!("-sub{op_id}")));
        entry.inner = inner.map(|inner| Box::new(timeline(inner)));
        self.ops.insert(op_id, op.clone());
        self.push(entry);
        let section = self.timeline.sections.len() - 1;
        let at = self.timeline.sections[section].entries.len() - 1;
        self.begun.insert(op_id, (section, at, elapsed_ms));
    }

    fn finished(&mut self, op_id: u32, outcome: &Outcome, elapsed_ms: u64) {
        let begun = self.begun.remove(&op_id);
        let entry = if let Some((section, at, _)) = begun {
            &mut self.timeline.sections[section].entries[at]
        } else {
            // What could not even be judged has no operation in the record, only the decision.
            let what = self.ops.get(&op_id).map_or_else(|| self.decision.clone(), Op::describe);
            let entries = &mut self.section().entries;
            entries.push(Entry::new("does", Mark::Plain, what));
            let last = entries.len() - 1;
            &mut entries[last]
        };
        entry.mark = if outcome.ok { Mark::Good } else { Mark::Bad };
        entry.notes.clear();
        entry.notes.push(outcome.code.map_or("ok", FailureCode::as_str).to_owned());
        if let Some((_, _, since)) = begun {
            entry.notes.push(time(elapsed_ms.saturating_sub(since)));
        }
        if outcome.truncated {
            entry.notes.push("shortened".to_owned());
        }
        entry.notes.extend(outcome.storage_ref.as_ref().map(|at| format!("the whole is in {at}")));
        outcome.text.as_str().clone_into(&mut entry.text);
        if let Some(skill) = &outcome.skill {
            skill.body.as_str().clone_into(&mut entry.text);
            self.timeline.skills.push(skill.id.to_string());
        }
    }

    /// Adds a failure that the model observed and that no entry shows yet.
    fn add_observation(&mut self, code: FailureCode) {
        let shown = self.section().entries.last().is_some_and(|last| last.mark == Mark::Bad);
        if !shown {
            self.push(Entry::new("observed", Mark::Bad, format!("the model observes {code}")));
        }
    }
}

fn decided(action: &Action) -> Entry {
    let kind = action.kind();
    let title = match action {
        Action::FinalAnswer { .. } => kind.to_owned(),
        Action::CallTool { tool, args, .. } => {
            format!("{kind} {tool} {}", serde_json::Value::Object(args.clone()))
        }
        Action::RunScript { args, .. } => {
            let words = [kind.to_owned(), action.target()].into_iter().chain(args.clone());
            words.collect::<Vec<_>>().join(" ")
        }
        _ => format!("{kind} {}", action.target()),
    };
    let reason = match action {
        Action::SelectSkills { reason, .. } => reason.as_str(),
        _ => "",
    };
    Entry::new("decides", Mark::Plain, title).because(reason)
}

fn planned(plan: &Plan) -> Entry {
    let mut entry = Entry::new("plan", Mark::Plain, plan.goal.clone());
    entry.steps = plan.steps.iter().map(|step| (step.status, step.title.clone())).collect();
    entry
}

/// A skill that is not what it was when the run began.
fn changed(skill: &SkillId, loaded: bool) -> Entry {
    let what = if loaded { "the text of that time was loaded" } else { "not loaded" };
    let title = format!("{skill} has changed since the run began; {what}");
    Entry::new("skill", Mark::Warn, title)
}

/// The question about ceilings.
fn lifting(skills: &[SkillId]) -> String {
    let skills: Vec<String> = skills.iter().map(ToString::to_string).collect();
    format!("lift the limits of {} for this run?", skills.join(", "))
}

fn answered(answer: &Answer, by: &str) -> Entry {
    let (mark, title, words) = match answer {
        Answer::Once => (Mark::Good, "yes, this time".to_owned(), ""),
        Answer::Always => (Mark::Good, "yes, always".to_owned(), ""),
        Answer::AlwaysFor(seconds) => (Mark::Good, format!("yes, for {seconds} s"), ""),
        Answer::AlwaysScript(None) => (Mark::Good, "yes, always for this script".to_owned(), ""),
        Answer::AlwaysScript(Some(seconds)) => {
            (Mark::Good, format!("yes, for this script for {seconds} s"), "")
        }
        Answer::Lift => (Mark::Warn, "yes, for this run".to_owned(), ""),
        Answer::Reject(words) => (Mark::Bad, "no".to_owned(), words.as_str()),
    };
    let mut entry = Entry::new("answer", mark, title).because(words);
    entry.notes.push(format!("by {by}"));
    entry
}

/// What a reply took.
fn cost(reply: &Reply) -> String {
    let Usage { input, output, cache_read, attempts, total_ms, estimated, .. } = reply.usage;
    let about = if estimated { "about " } else { "" };
    let mut words = vec![format!("{about}{input} tokens in, {output} out"), time(total_ms)];
    if cache_read > 0 {
        words.push(format!("{cache_read} from a cache"));
    }
    if attempts > 1 {
        words.push(format!("{attempts} attempts"));
    }
    words.join(", ")
}

/// Milliseconds as people read them.
pub(crate) fn time(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// What a run took in all, in a line.
pub(crate) fn total(spent: &Spent, elapsed_ms: u64) -> String {
    let usage = &spent.usage;
    let about = if usage.estimated { "about " } else { "" };
    let mut words = vec![count(spent.turns as usize, "turn")];
    if spent.tool_calls > 0 {
        words.push(count(spent.tool_calls as usize, "tool call"));
    }
    if spent.script_runs > 0 {
        words.push(count(spent.script_runs as usize, "script run"));
    }
    words.push(format!("{about}{} tokens in, {} out", usage.input, usage.output));
    words.push(time(elapsed_ms));
    words.join(", ")
}
