//! [`Router`]: from a turn to the next decision. Pure: the same turn gives the same decision.
//! tidy:allow-cjk
//!
//! Nothing is tried twice, except what was interrupted, once. A skill is chosen by the registry's
//! search over names and descriptions, the one that `search` and the catalog use too. Its index is that of the
//! catalog, where that ranks the same skills, else built when it is needed; it is kept as long as they are offered.

use std::sync::{Arc, Mutex, PoisonError};

use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{
    Action, Decision, LoadedText, Model, ModelError, ModelErrorKind, ModelInfo, OfferedSkill,
    PastAction, Reply, SkillRef, StepStatus, StreamEvent, Turn,
};
use metier_registry::catalog::SharedIndex;
use metier_registry::search::{Document, Hit, SearchIndex};
use metier_skill::FailureCode;
use metier_skill::own_tools::LIST_DIR;
use serde_json::json;

use crate::answer::{Ending, Voice};
use crate::chinese::with_plain_digits;
use crate::commands::{self, Command};
use crate::entities::RequestEntities;
use crate::fill::{self, Filled};
use crate::planning::{finish, mark, plan, with_plan};
use crate::tool_requests::{ToolRequest, tool_request};
use crate::unmet::ScriptRun;
use crate::{formats, looks, reading, refusals, script, tables, unmet};

/// The most skills that one request is given.
const MAX_SKILLS: usize = 2;
/// How many skills are ranked.
const MAX_RANKED: usize = 8;
/// How many skills are named when none fits.
const MAX_NEAR: usize = 3;

/// The offline model.
#[derive(Debug, Default)]
pub struct Router {
    /// What others rank by.
    shared: SharedIndex,
    /// The index of the skills that were offered last.
    ranking: Mutex<Option<Ranking>>,
}

/// Skills and their index.
#[derive(Debug, Clone)]
struct Ranking {
    offered: Arc<[OfferedSkill]>,
    index: Arc<SearchIndex>,
}

impl Router {
    /// One that ranks by the index of others, where they rank the same skills.
    pub fn sharing(index: &SharedIndex) -> Self {
        Self { shared: index.clone(), ranking: Mutex::default() }
    }

    /// What to do next. Pure: the same view gives the same decision.
    pub fn decide(&self, turn: &Turn) -> Decision {
        if let Some(request) = with_plain_digits(&turn.view.request, &turn.view.files) {
            let mut turn = turn.clone();
            Arc::make_mut(&mut turn.view).request = request;
            return self.decide(&turn);
        }
        let voice = Voice::of(&turn.view.request);
        if turn.view.loaded.is_empty() { self.choose(turn, voice) } else { follow(turn, voice) }
    }

    /// Nothing is loaded yet: a skill, or the answer that there is none.
    fn choose(&self, turn: &Turn, voice: Voice) -> Decision {
        if let Some(left) = refusals::without_refused(&turn.view.request) {
            if left.is_empty() {
                return finish(turn, voice, Ending::GaveUp, voice.nothing_fits(&[], false));
            }
            let mut turn = turn.clone();
            Arc::make_mut(&mut turn.view).request = left;
            return self.choose(&turn, voice);
        }
        let selects = |past: &&PastAction| matches!(past.action, Some(Action::SelectSkills { .. }));
        let tried: Vec<&PastAction> = turn.past().filter(selects).collect();
        let again = may_try_again(&tried);
        if let Some(last) = tried.last().filter(|_| !again) {
            return finish(turn, voice, Ending::GaveUp, voice.not_loaded(last));
        }
        if let Some(kind) = looks::kind(&turn.view.request, &turn.view.files) {
            let words = looks::words_to_rank(&turn.view.request, &kind);
            let ranking = self.index(&turn.view.offered).rank(&words, MAX_RANKED);
            let names = |skill: &OfferedSkill| formats::names(&skill.description, &kind);
            let about = chosen(&ranking, turn, &[]).into_iter().filter(|(skill, _)| names(skill));
            let about: Vec<_> = about.collect();
            if !about.is_empty() {
                return select(turn, voice, &about);
            }
        }
        if let Some(decision) = answered_by_a_tool(turn, voice).filter(|_| tried.is_empty()) {
            return decision;
        }
        if let Some(decision) = tables::look(turn).filter(|_| tried.is_empty()) {
            return decision;
        }
        let files = tables::files(turn);
        let ranking = self.rank(turn, &files);
        let chosen = chosen(&ranking, turn, &files);
        if chosen.is_empty() {
            let near: Vec<&OfferedSkill> = ranking
                .iter()
                .filter_map(|ranked| turn.view.offered.get(ranked.document))
                .collect();
            let near = &near[..near.len().min(MAX_NEAR)];
            let close = ranking.first().is_some_and(|best| best.confidence > 0.0);
            return finish(turn, voice, Ending::GaveUp, voice.nothing_fits(near, close));
        }
        select(turn, voice, &chosen)
    }

    /// The offered skills that have anything to do with the request, best first.
    fn rank(&self, turn: &Turn, files: &[String]) -> Vec<Hit> {
        let request = tables::with_grammar(&turn.view.request, files);
        self.index(&turn.view.offered).rank(&request, MAX_RANKED)
    }

    /// The index of these skills: the one that is there, if it is theirs.
    fn index(&self, offered: &Arc<[OfferedSkill]>) -> Arc<SearchIndex> {
        let kept = || self.ranking.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().clone();
        let is_theirs =
            |known: &Ranking| Arc::ptr_eq(&known.offered, offered) || known.offered == *offered;
        if let Some(known) = known.filter(is_theirs) {
            return known.index;
        }
        let documents = offered
            .iter()
            .map(|skill| Document { name: &skill.name, description: &skill.description });
        let index = self.shared.of_documents(documents);
        *kept() = Some(Ranking { offered: Arc::clone(offered), index: Arc::clone(&index) });
        index
    }
}

impl Model for Router {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("router", "offline")
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(ModelErrorKind::Cancelled, "cancelled before it decided"));
        }
        let reply = Reply::of(&self.decide(turn));
        sink(StreamEvent::Text(reply.text.clone()));
        Ok(reply)
    }
}

/// The call of a tool that answers the request, or the answer that it gave. A project without a README
/// is left to the skills.
fn answered_by_a_tool(turn: &Turn, voice: Voice) -> Option<Decision> {
    let wanted = tool_request(&turn.view.request, &turn.view.files)?;
    if let ToolRequest::Skill(name) = &wanted {
        let skill = turn.view.offered.iter().find(|skill| skill.name == *name)?;
        return Some(finish(turn, voice, Ending::Done, voice.about_skill(skill)));
    }
    let Some((tool, args)) = wanted.call() else {
        return Some(finish(turn, voice, Ending::Done, voice.help(&turn.view.offered)));
    };
    match tables::call_of(turn, tool) {
        Some(past) if !past.ok && wanted == ToolRequest::Project => None,
        Some(past) => {
            // What is there instead, to name the nearest.
            let listed = tables::call_of(turn, LIST_DIR).filter(|_| tool != LIST_DIR);
            if let Some((folder, _)) = wanted.missing(past)
                && listed.is_none()
                && tool != LIST_DIR
                && tables::may_call(turn, LIST_DIR)
            {
                return Some(Decision::to(Action::call(LIST_DIR, json!({"path": folder}))));
            }
            let ending = if past.ok { Ending::Read } else { Ending::GaveUp };
            Some(finish(turn, voice, ending, voice.tool_result(&wanted, past, listed)))
        }
        None => tables::may_call(turn, tool).then(|| Decision::to(Action::call(tool, args))),
    }
}

/// The decision to use these skills.
fn select(turn: &Turn, voice: Voice, chosen: &[(&OfferedSkill, &Hit)]) -> Decision {
    let names: Vec<&str> = chosen.iter().map(|(skill, _)| skill.name.as_str()).collect();
    if turn.view.last_turn {
        return finish(turn, voice, Ending::GaveUp, voice.no_turn_left(&names));
    }
    let reason = chosen.iter().map(|(skill, ranked)| voice.reason(&skill.name, ranked));
    let reason = reason.collect::<Vec<_>>().join(" ");
    let skills = chosen.iter().map(|(skill, _)| reference(skill, &turn.view.offered)).collect();
    let mut plan = plan(turn, voice, &names.join(", "));
    mark(&mut plan, "s1", StepStatus::InProgress);
    with_plan(turn, plan, Action::SelectSkills { skills, reason })
}

/// The skills that fire: all that are called by name, or else the best.
fn chosen<'a>(
    ranking: &'a [Hit],
    turn: &'a Turn,
    files: &[String],
) -> Vec<(&'a OfferedSkill, &'a Hit)> {
    let offered = &turn.view.offered;
    let files = RequestEntities::of(&turn.view.request, files).files;
    let reads = |ranked: &&Hit| {
        let skill = offered.get(ranked.document);
        ranked.called || skill.is_none_or(|skill| formats::fits(&skill.description, &files))
    };
    let firing = || ranking.iter().filter(|ranked| ranked.fires()).filter(reads);
    let called = firing().filter(|ranked| ranked.called).take(MAX_SKILLS);
    let mut picked: Vec<&Hit> = called.collect();
    if picked.is_empty() {
        picked.extend(firing().next());
    }
    let with_skill = picked.into_iter();
    with_skill.filter_map(|ranked| Some((offered.get(ranked.document)?, ranked))).collect()
}

/// The skill as a decision names it: with its source where the name has several.
fn reference(skill: &OfferedSkill, offered: &[OfferedSkill]) -> SkillRef {
    let namesakes = offered.iter().filter(|other| other.name == skill.name).count();
    let source = (namesakes > 1).then(|| skill.source.clone());
    SkillRef { name: skill.name.clone(), source }
}

/// Skills are loaded: one after the other is followed, then the answer.
fn follow(turn: &Turn, voice: Voice) -> Decision {
    let mut parts = Vec::new();
    let mut ending = Ending::Done;
    for (at, skill) in turn.view.loaded.iter().enumerate() {
        let done: Vec<&PastAction> = turn.past().filter(|past| is_about(past, skill)).collect();
        let again = may_try_again(&done);
        if let Some(last) = done.last().filter(|_| !again) {
            let (text, how) = came_of(turn, voice, skill, last);
            parts.push(text);
            ending = ending.worse(how);
            continue;
        }
        match next_step(turn, voice, skill, at) {
            Step::Act(action) if !turn.view.last_turn => {
                let mut plan = plan(turn, voice, &skill.name);
                mark(&mut plan, "s1", StepStatus::Completed);
                mark(&mut plan, "s2", StepStatus::InProgress);
                if again && let Some(step) = plan.steps.iter_mut().find(|step| step.id == "s2") {
                    step.title = voice.again(&skill.name);
                }
                return with_plan(turn, plan, action);
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
    finish(turn, voice, ending, parts.join("\n\n"))
}

/// What to do for a skill that nothing was done for yet.
enum Step {
    Act(Action),
    Say(String, Ending),
}

fn next_step(turn: &Turn, voice: Voice, skill: &LoadedText, at: usize) -> Step {
    let commands = commands::commands(&skill.body, &skill.files);
    let filled = if commands.is_empty() { None } else { filled(turn, skill, at, &commands) };
    match filled {
        Some(mut filled) if filled.missing.is_empty() => {
            if voice == Voice::Chinese
                && let Some(option) = commands::language_option(&skill.body, "zh")
            {
                filled.args.splice(..0, option);
            }
            Step::Act(Action::RunScript {
                skill: loaded_reference(skill, turn),
                relative_path: filled.script,
                args: filled.args,
            })
        }
        Some(filled) => Step::Say(voice.missing(skill, &filled), Ending::GaveUp),
        None => read_out(turn, voice, skill),
    }
}

/// A skill without a command: one file that fits, or what its body says.
fn read_out(turn: &Turn, voice: Voice, skill: &LoadedText) -> Step {
    if let Some(path) = reading::reference(&skill.body, &skill.files, &turn.view.request) {
        return Step::Act(Action::LoadResource {
            skill: loaded_reference(skill, turn),
            relative_path: path,
            section_hint: None,
        });
    }
    let says = reading::section(&skill.body, &turn.view.request);
    Step::Say(voice.instructions(skill, &says, None), Ending::Read)
}

/// The best command for the part of the request that is about this skill, or for the whole of it.
fn filled(turn: &Turn, skill: &LoadedText, at: usize, commands: &[Command]) -> Option<Filled> {
    let fill = |request: &str| {
        let (rest, is_call) = without_call(request, &skill.name);
        let mut entities = RequestEntities::of(&rest, &tables::files(turn));
        if is_call {
            entities.add_arguments(&rest);
        }
        fill::best(commands, &entities, &rest)
    };
    let whole = || fill(&turn.view.request);
    if turn.view.loaded.len() < 2 {
        return whole();
    }
    let place = |skill: &LoadedText| turn.view.request.find(&skill.name);
    let Some(start) = turn.view.loaded.get(at).and_then(place) else {
        return whole();
    };
    let end = turn.view.loaded.iter().filter_map(place).filter(|&other| other > start).min();
    let part =
        turn.view.request.get(start..end.unwrap_or(turn.view.request.len())).unwrap_or_default();
    fill(part).filter(|filled| filled.missing.is_empty()).or_else(whole)
}

/// The request without `/name`, and whether it began with it: a command's name is neither a folder nor
/// a word of the task.
fn without_call(request: &str, name: &str) -> (String, bool) {
    let is_call = |word: &&str| {
        word.strip_prefix(['/', '$', '@'])
            .is_some_and(|called| called.trim_end_matches([':', ',', '.']) == name)
    };
    let begins = request.split_whitespace().next().is_some_and(|first| is_call(&first));
    let words: Vec<&str> = request.split_whitespace().filter(|word| !is_call(word)).collect();
    (words.join(" "), begins)
}

fn loaded_reference(skill: &LoadedText, turn: &Turn) -> SkillRef {
    let namesakes = turn.view.offered.iter().filter(|other| other.name == skill.name).count();
    let source = (namesakes > 1).then(|| skill.source.clone());
    SkillRef { name: skill.name.clone(), source }
}

/// Whether a past action ran or read something of a skill.
fn is_about(past: &PastAction, skill: &LoadedText) -> bool {
    let Some(Action::RunScript { skill: named, .. } | Action::LoadResource { skill: named, .. }) =
        &past.action
    else {
        return false;
    };
    let same_source = named.source.as_ref().is_none_or(|source| *source == skill.source);
    named.name == skill.name && same_source
}

/// Whether all that was tried is one attempt, and that was cut off by something outside.
fn may_try_again(tried: &[&PastAction]) -> bool {
    matches!(tried, [only] if !only.ok && only.code == Some(FailureCode::Interrupted))
}

/// What came of the one thing that was done for a skill.
fn came_of(turn: &Turn, voice: Voice, skill: &LoadedText, last: &PastAction) -> (String, Ending) {
    let Some(Action::RunScript { relative_path, args, .. }) = &last.action else {
        let says = reading::section(&skill.body, &turn.view.request);
        return (voice.instructions(skill, &says, Some(last)), Ending::Read);
    };
    if script::is_dry(last) {
        return (voice.script_dry(skill, relative_path, args), Ending::GaveUp);
    }
    let ended_well = last.data["exit_code"].as_i64().is_none_or(|code| code == 0)
        && last.data["timed_out"] != serde_json::Value::Bool(true);
    if last.ok && ended_well {
        let entities = RequestEntities::of(&turn.view.request, &tables::files(turn));
        // With several skills, what one does not do is the other's.
        let unmet = if turn.view.loaded.len() > 1 {
            Vec::new()
        } else {
            let output = last.data["stdout"].as_str().unwrap_or_default();
            let (about, body) = (about(turn, skill), unmet::own_text(skill));
            let run = ScriptRun { args, about: &about, body: &body, output };
            unmet::unmet(&turn.view.request, &entities, &run)
        };
        let notes = voice.notes(&unmet, tables::only_table(turn));
        (format!("{notes}{}", voice.script_done(skill, relative_path, last)), Ending::Done)
    } else {
        (voice.script_failed(skill, relative_path, args, last), Ending::GaveUp)
    }
}

/// What a skill says of itself in its description.
fn about(turn: &Turn, skill: &LoadedText) -> String {
    let is_it = |it: &&OfferedSkill| it.name == skill.name && it.source == skill.source;
    let offered = turn.view.offered.iter().find(is_it);
    let words = offered.map_or(&skill.description, |offered| &offered.description);
    format!("{}\n{words}", skill.name)
}
