//! The offline model: picks a skill by its description and follows the skill's own commands.
//!
//! It is no language model and never claims to reason. The same turn always gives the same decision.
//!
//! ```text
//! nothing loaded --ranker fires--> select_skills --> loaded --a command can be filled--> run_script
//!        |                                             |                                      |
//!        +--none fires--> final_answer                 +--none: load_resource (one)           |
//!                              ^-----------------------+--------------------------------------+
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `things` | what a request names: files, columns, numbers |
//! | `commands` | the commands that a body gives |
//! | `fill` | a request's things into a command's placeholders |
//! | `reading` | what a skill without a command says about a request |
//! | `answer` | the words, English and Chinese |
//! | `script` | the same about scripts: a result, or why there is none |
//!
//! Ranking comes in through [`Ranker`], because it belongs to the crate that owns the index. Nothing
//! is tried twice, except what was interrupted, once.

mod answer;
mod commands;
mod fill;
mod reading;
mod script;
mod things;

use std::sync::Arc;

use metier_cancel::CancelToken;

use crate::action::{Action, Decision, SkillRef};
use crate::model::{
    Finish, Model, ModelError, ModelErrorKind, ModelInfo, OutputMode, Reply, Sink, StreamEvent,
    Usage,
};
use crate::plan::{Plan, PlanStep, PlanUpdate, StepStatus};
use crate::turn::{LoadedText, OfferedSkill, Past, Turn, View};

use answer::{Ending, Voice};
use fill::Filled;
use things::Things;

/// The most skills that one request is given.
const MOST_SKILLS: usize = 2;
/// How many skills are named when none fits.
const NEAREST: usize = 3;
/// Characters of the request that a plan repeats.
const GOAL_CHARS: usize = 300;

/// Ranks skills for a request, by name and description alone.
pub trait Ranker: Send + Sync {
    /// The skills that have anything to do with the request, best first.
    fn rank(&self, request: &str, offered: &[OfferedSkill]) -> Vec<RankedSkill>;
}

/// A skill's place in a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedSkill {
    /// Its position among the offered ones.
    pub index: usize,
    /// How well it fits; comparable within one ranking.
    pub score: f32,
    /// How sure it is, from 0 to 1; comparable between rankings.
    pub confidence: f32,
    /// Whether it is what the request wants.
    pub fires: bool,
    /// Whether the request calls it by name.
    pub called: bool,
    /// The words of its name and description that the request shares.
    pub matched: Vec<String>,
}

/// The offline model.
pub struct Router {
    ranker: Arc<dyn Ranker>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}

impl Router {
    /// A router that ranks with `ranker`.
    pub fn new(ranker: Arc<dyn Ranker>) -> Self {
        Self { ranker }
    }

    /// What to do next. Pure: the same view gives the same decision.
    pub fn decide(&self, view: &View) -> Decision {
        let voice = Voice::of(&view.request);
        if view.loaded.is_empty() { self.choose(view, voice) } else { follow(view, voice) }
    }

    /// Nothing is loaded yet: a skill, or the answer that there is none.
    fn choose(&self, view: &View, voice: Voice) -> Decision {
        let selects = |past: &&Past| matches!(past.action, Some(Action::SelectSkills { .. }));
        let tried: Vec<&Past> = view.past.iter().filter(selects).collect();
        let again = may_try_again(&tried);
        if let Some(last) = tried.last().filter(|_| !again) {
            return finish(view, voice, Ending::GaveUp, voice.not_loaded(last));
        }
        let ranking = self.ranker.rank(&view.request, &view.offered);
        let chosen = chosen(&ranking, &view.offered);
        if chosen.is_empty() {
            let near: Vec<&OfferedSkill> =
                ranking.iter().filter_map(|ranked| view.offered.get(ranked.index)).collect();
            let near = &near[..near.len().min(NEAREST)];
            let close = ranking.first().is_some_and(|best| best.confidence > 0.0);
            return finish(view, voice, Ending::GaveUp, voice.nothing_fits(near, close));
        }
        let names: Vec<&str> = chosen.iter().map(|(skill, _)| skill.name.as_str()).collect();
        if view.last_turn {
            return finish(view, voice, Ending::GaveUp, voice.no_turn_left(&names));
        }
        let reason = chosen.iter().map(|(skill, ranked)| voice.reason(&skill.name, ranked));
        let reason = reason.collect::<Vec<_>>().join(" ");
        let skills = chosen.iter().map(|(skill, _)| reference(skill, &view.offered)).collect();
        let mut plan = plan(view, voice, &names.join(", "));
        mark(&mut plan, "s1", StepStatus::InProgress);
        with_plan(view, plan, Action::SelectSkills { skills, reason })
    }
}

impl Model for Router {
    fn info(&self) -> ModelInfo {
        ModelInfo { provider: "router".to_owned(), name: "offline".to_owned(), window: None }
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(ModelErrorKind::Cancelled, "stopped before it decided"));
        }
        let decision = self.decide(&turn.view);
        let text = serde_json::to_string(&decision).map_err(|error| {
            ModelError::new(ModelErrorKind::Protocol, format!("the decision is no JSON: {error}"))
        })?;
        sink(StreamEvent::Text(text.clone()));
        Ok(Reply {
            text,
            finish: Finish::Stop,
            parts: 1,
            usage: Usage::default(),
            mode: OutputMode::JsonSchema,
        })
    }
}

/// The skills that fire: all that are called by name, or else the best.
fn chosen<'a>(
    ranking: &'a [RankedSkill],
    offered: &'a [OfferedSkill],
) -> Vec<(&'a OfferedSkill, &'a RankedSkill)> {
    let firing = || ranking.iter().filter(|ranked| ranked.fires);
    let called = firing().filter(|ranked| ranked.called).take(MOST_SKILLS);
    let mut picked: Vec<&RankedSkill> = called.collect();
    if picked.is_empty() {
        picked.extend(firing().next());
    }
    let with_skill = picked.into_iter();
    with_skill.filter_map(|ranked| Some((offered.get(ranked.index)?, ranked))).collect()
}

/// The skill as a decision names it: with its source where the name has several.
fn reference(skill: &OfferedSkill, offered: &[OfferedSkill]) -> SkillRef {
    let namesakes = offered.iter().filter(|other| other.name == skill.name).count();
    let source = (namesakes > 1).then(|| skill.source.clone());
    SkillRef { name: skill.name.clone(), source }
}

/// Skills are loaded: one after the other is followed, then the answer.
fn follow(view: &View, voice: Voice) -> Decision {
    let mut parts = Vec::new();
    let mut ending = Ending::Done;
    for (at, skill) in view.loaded.iter().enumerate() {
        let done: Vec<&Past> = view.past.iter().filter(|past| is_about(past, skill)).collect();
        let again = may_try_again(&done);
        if let Some(last) = done.last().filter(|_| !again) {
            let (text, how) = came_of(view, voice, skill, last);
            parts.push(text);
            ending = ending.worse(how);
            continue;
        }
        match next_step(view, voice, skill, at) {
            Step::Act(action) if !view.last_turn => {
                let mut plan = plan(view, voice, &skill.name);
                mark(&mut plan, "s1", StepStatus::Completed);
                mark(&mut plan, "s2", StepStatus::InProgress);
                if again && let Some(step) = plan.steps.iter_mut().find(|step| step.id == "s2") {
                    step.title = voice.again(&skill.name);
                }
                return with_plan(view, plan, action);
            }
            Step::Act(_) => {
                parts.push(voice.no_turn_left(&[&skill.name]));
                ending = Ending::GaveUp;
            }
            Step::Say(text, how) => {
                parts.push(text);
                ending = ending.worse(how);
            }
        }
    }
    finish(view, voice, ending, parts.join("\n\n"))
}

/// What to do for a skill that nothing was done for yet.
enum Step {
    Act(Action),
    Say(String, Ending),
}

fn next_step(view: &View, voice: Voice, skill: &LoadedText, at: usize) -> Step {
    let commands = commands::commands(&skill.body, &skill.files);
    let filled = if commands.is_empty() { None } else { filled(view, skill, at, &commands) };
    match filled {
        Some(filled) if filled.missing.is_empty() => Step::Act(Action::RunScript {
            skill: loaded_reference(skill, view),
            relative_path: filled.script,
            args: filled.args,
        }),
        Some(filled) => Step::Say(voice.missing(skill, &filled), Ending::GaveUp),
        None => read_out(view, voice, skill),
    }
}

/// A skill without a command: one file that fits, or what its body says.
fn read_out(view: &View, voice: Voice, skill: &LoadedText) -> Step {
    if let Some(path) = reading::reference(&skill.body, &skill.files, &view.request) {
        return Step::Act(Action::LoadResource {
            skill: loaded_reference(skill, view),
            relative_path: path,
            section_hint: None,
        });
    }
    let says = reading::section(&skill.body, &view.request);
    Step::Say(voice.instructions(skill, &says, None), Ending::Read)
}

/// The best command for the part of the request that is about this skill, or for the whole of it.
fn filled(
    view: &View,
    skill: &LoadedText,
    at: usize,
    commands: &[commands::Command],
) -> Option<Filled> {
    let fill = |request: &str| {
        let request = without_call(request, &skill.name);
        fill::best(commands, &Things::of(&request, &view.files), &request)
    };
    let whole = || fill(&view.request);
    if view.loaded.len() < 2 {
        return whole();
    }
    let place = |skill: &LoadedText| view.request.find(&skill.name);
    let Some(start) = view.loaded.get(at).and_then(place) else {
        return whole();
    };
    let end = view.loaded.iter().filter_map(place).filter(|&other| other > start).min();
    let part = view.request.get(start..end.unwrap_or(view.request.len())).unwrap_or_default();
    fill(part).filter(|filled| filled.missing.is_empty()).or_else(whole)
}

/// The request without `/name`: a command's name is neither a folder nor a word of the task.
fn without_call(request: &str, name: &str) -> String {
    let is_call = |word: &&str| {
        word.strip_prefix(['/', '$', '@'])
            .is_some_and(|called| called.trim_end_matches([':', ',', '.']) == name)
    };
    let words: Vec<&str> = request.split_whitespace().filter(|word| !is_call(word)).collect();
    words.join(" ")
}

fn loaded_reference(skill: &LoadedText, view: &View) -> SkillRef {
    let namesakes = view.offered.iter().filter(|other| other.name == skill.name).count();
    let source = (namesakes > 1).then(|| skill.source.clone());
    SkillRef { name: skill.name.clone(), source }
}

/// Whether a past action ran or read something of a skill.
fn is_about(past: &Past, skill: &LoadedText) -> bool {
    let Some(Action::RunScript { skill: named, .. } | Action::LoadResource { skill: named, .. }) =
        &past.action
    else {
        return false;
    };
    let same_source = named.source.as_ref().is_none_or(|source| *source == skill.source);
    named.name == skill.name && same_source
}

/// Whether all that was tried is one attempt, and that was cut off by something outside.
fn may_try_again(tried: &[&Past]) -> bool {
    matches!(tried, [only] if !only.ok && only.code.as_deref() == Some("interrupted"))
}

/// What came of the one thing that was done for a skill.
fn came_of(view: &View, voice: Voice, skill: &LoadedText, last: &Past) -> (String, Ending) {
    let Some(Action::RunScript { relative_path, args, .. }) = &last.action else {
        let says = reading::section(&skill.body, &view.request);
        return (voice.instructions(skill, &says, Some(last)), Ending::Read);
    };
    if script::is_dry(last) {
        return (voice.script_dry(skill, relative_path, args), Ending::GaveUp);
    }
    let ended_well = last.data["exit_code"].as_i64().is_none_or(|code| code == 0)
        && last.data["timed_out"] != serde_json::Value::Bool(true);
    if last.ok && ended_well {
        (voice.script_done(skill, relative_path, last), Ending::Done)
    } else {
        (voice.script_failed(skill, relative_path, args, last), Ending::GaveUp)
    }
}

/// The plan so far, or a new one.
fn plan(view: &View, voice: Voice, names: &str) -> Plan {
    if let Some(plan) = view.plan.as_ref().filter(|plan| !plan.steps.is_empty()) {
        return plan.clone();
    }
    let goal: String = view.request.trim().chars().take(GOAL_CHARS).collect();
    let steps = voice.steps(names).into_iter().zip(["s1", "s2", "s3"]);
    let step = |(title, id): (String, &str)| PlanStep {
        id: id.to_owned(),
        title,
        status: StepStatus::Pending,
    };
    Plan { goal, steps: steps.map(step).collect(), ..Plan::default() }
}

fn mark(plan: &mut Plan, id: &str, status: StepStatus) {
    if let Some(step) = plan.steps.iter_mut().find(|step| step.id == id) {
        step.status = status;
    }
}

/// A decision that makes the plan, or replaces the one there is if it changed.
fn with_plan(view: &View, plan: Plan, action: Action) -> Decision {
    match &view.plan {
        None => Decision { plan: Some(plan), plan_update: None, action },
        Some(before) if *before == plan => Decision::to(action),
        Some(_) => Decision { plan: None, plan_update: Some(PlanUpdate::Replace(plan)), action },
    }
}

/// The answer, with the plan brought to its end.
fn finish(view: &View, voice: Voice, ending: Ending, text: String) -> Decision {
    let action = Action::FinalAnswer { text: voice.with_note(view, text), data: None };
    // Without a plan there was nothing to do, and an answer needs none.
    let Some(mut plan) = view.plan.clone() else {
        return Decision::to(action);
    };
    for step in &mut plan.steps {
        step.status = match step.status {
            StepStatus::Pending | StepStatus::InProgress if step.id == "s3" => {
                StepStatus::Completed
            }
            StepStatus::InProgress if ending != Ending::GaveUp => StepStatus::Completed,
            StepStatus::Pending | StepStatus::InProgress => StepStatus::Skipped,
            done => done,
        };
    }
    with_plan(view, plan, action)
}
