//! Calling tools for a run: the toolbox of what is loaded, the policy's word, the call.
//! A planned call is judged, and that very call is made.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_fs::WorkRoot;
use metier_policy::{
    CeilingReach, Effect, Invoker, LoadedSkill, Permission, Request, RequestContext, Risk, Subject,
};
use metier_registry::Entry;
use metier_skill::own_tools::{DELETE_FILE, GREP, LIST_DIR, READ_FILE, WRITE_FILE};
use metier_skill::{Digest, SkillId};
use metier_tools::policy_facts::{absolute, acting_skill, loaded_skill};
use metier_tools::{
    BoxedTool, CallResult, DeleteFile, FailureCode, Grep, HostList, ListDir, NetworkRequest,
    NetworkSettings, ReadFile, RunCommand, ToolFailure, ToolGate, ToolWorkspace, Toolbox,
    TouchFilter, Trash, WriteFile,
};
use serde_json::{Map, Value};

use super::{LocalExecutor, asked, calling, failed, kept, now};
use crate::executor::{DecidedAction, Judgement, PreparedAction, RunSkills};
use crate::op::{Outcome, Text};
use crate::setup::ToolCard;

/// A tool.
pub(super) fn call(
    executor: &Arc<LocalExecutor>,
    tool: &str,
    args: &Map<String, Value>,
    skill: Option<&SkillId>,
    skills: &RunSkills,
) -> Judgement {
    let judged = judge(executor, tool, args, skill, skills);
    judged.unwrap_or_else(|failure| Judgement::impossible(failed(&failure)))
}

fn judge(
    executor: &Arc<LocalExecutor>,
    tool: &str,
    args: &Map<String, Value>,
    skill: Option<&SkillId>,
    skills: &RunSkills,
) -> Result<Judgement, ToolFailure> {
    let not_allowed = |message: &str| ToolFailure::new(FailureCode::NotAllowed, message);
    let entry = skill.map(|id| executor.entry(id)).transpose()?;
    let planned = executor
        .toolbox(&skills.loaded, tool)?
        .plan(tool, Value::Object(below(executor, tool, args)))?;
    let acting = entry.map(|entry| acting_skill(&entry, &executor.trusted)).transpose();
    let acting = acting.map_err(|error| {
        let message =
            format!("the content of the skill that it is for cannot be verified: {error}");
        ToolFailure::new(error.code(), message).with_help(error.help())
    })?;
    let known = executor.skills_with_a_say(skills)?;
    if let Some(why) = planned.touches().iter().find_map(|touch| executor.unreadable(touch)) {
        return Err(not_allowed(why));
    }
    let gate = ToolGate {
        policy: Arc::clone(&executor.policy),
        answers: Arc::new(executor.answers().clone()),
        loaded: known.into(),
        now: now(),
        invoker: Invoker::Model,
        skill: acting,
    };
    let request = gate.request(&planned)?;
    let situation = RequestContext { loaded: &gate.loaded, memory: &gate.answers, now: gate.now };
    let decision = gate.policy.decide(&request, &situation);
    // What is approved beforehand is this call: a rule is about a file, an approval about what is
    // written into it.
    let digest = Digest::of_parts([
        request.digest().as_bytes().as_slice(),
        planned.arguments().to_string().as_bytes(),
    ]);
    let asked = asked(&decision, &request);
    let is_command = planned.tool().name() == RunCommand::NAME;
    let executor = Arc::clone(executor);
    let prepared: PreparedAction = Box::new(move |context| {
        executor.remember(&request, context.answer);
        let (filter, records) = (gate.touch_filter(planned.tool()), Arc::clone(&executor));
        let filter: TouchFilter =
            Arc::new(move |touch| records.unreadable(touch).is_none() && filter(touch));
        let permit = planned.decided(Effect::Allow, "", filter);
        let answer = permit.and_then(|it| calling::call(it, &executor.made.live, context));
        if is_command {
            return program_outcome(&executor, answer, context.cancel);
        }
        let mut outcome = outcome(answer);
        if outcome.storage_ref.is_none() {
            outcome.storage_ref = executor.stored_text(outcome.text.as_str());
        }
        outcome
    });
    Ok(Judgement::Decided(DecidedAction {
        effect: decision.effect,
        layers: decision.layer_sentences(),
        reason: decision.reason,
        request: Some(digest),
        asked,
        liftable: decision.liftable,
        prepared,
    }))
}

/// The arguments of a call, with a `path` from the home directory as one from the workspace, where the
/// workspace holds it: our tools take no others, and refuse an absolute one by its name. What `path` is to a tool of
/// someone else is theirs to say.
fn below(executor: &LocalExecutor, tool: &str, args: &Map<String, Value>) -> Map<String, Value> {
    let mut args = args.clone();
    if !matches!(tool, READ_FILE | LIST_DIR | GREP | WRITE_FILE | DELETE_FILE) {
        return args;
    }
    let inside = |path: &str| {
        let path = executor.home.as_ref()?.join(path.strip_prefix("~/")?);
        match path.strip_prefix(&executor.workspace) {
            Ok(below) if below.as_os_str().is_empty() => Some(".".to_owned()),
            Ok(below) => below.to_str().map(str::to_owned),
            Err(_) => path.to_str().map(str::to_owned),
        }
    };
    if let Some(path) = args.get("path").and_then(Value::as_str).and_then(inside) {
        args.insert("path".to_owned(), path.into());
    }
    args
}

/// What came of a script or a command. What the sandbox kept goes to the run. One that fails was run,
/// but what it was run for was not done.
pub(super) fn program_outcome(
    executor: &LocalExecutor,
    answer: CallResult,
    cancel: &CancelToken,
) -> Outcome {
    let mut outcome = outcome(answer.map(|result| kept::with_run(executor, result, cancel)));
    let has_failed = outcome.data.get("exit_code").is_some_and(|code| code.as_i64() != Some(0));
    let has_fault = outcome.data.get("outputs_fault").is_some_and(|fault| !fault.is_null());
    if has_failed || has_fault {
        outcome.ok = false;
        outcome.code = Some(FailureCode::ScriptFailed);
    }
    outcome
}

/// What came of a call, as the loop takes it.
fn outcome(answer: CallResult) -> Outcome {
    let result = match answer {
        Ok(result) => result,
        Err(failure) => return failed(&failure),
    };
    Outcome {
        ok: true,
        code: None,
        text: Text::Inline(result.text.into()),
        truncated: result.truncated,
        storage_ref: result.storage_ref,
        data: result.data,
        skill: None,
    }
}

/// The skills that the run has loaded. One that changed meanwhile stands in the context with a ceiling
/// that is not known any more: then nothing is done.
pub(super) fn entries(
    executor: &LocalExecutor,
    loaded: &[SkillId],
) -> Result<Vec<Arc<Entry>>, ToolFailure> {
    loaded.iter().map(|id| executor.entry(id)).collect()
}

impl LocalExecutor {
    /// The skills as the policy takes them: those of the run, and those of the run outside whose
    /// ceilings hold here.
    pub(super) fn skills_with_a_say(
        &self,
        skills: &RunSkills,
    ) -> Result<Vec<LoadedSkill>, ToolFailure> {
        let is_lifted = |skill: &LoadedSkill| skills.lifted.contains(&skill.id);
        let known = |entry: &Arc<Entry>| loaded_skill(entry, &self.policy, &self.trusted);
        let mut all: Vec<LoadedSkill> = entries(self, &skills.loaded)?.iter().map(known).collect();
        for skill in all.iter_mut().filter(|skill| is_lifted(skill)) {
            skill.reach = CeilingReach::Skill;
        }
        let outer = entries(self, &skills.outer)?;
        let outer = outer.iter().map(known).filter(|skill| !is_lifted(skill));
        all.extend(outer.map(|skill| LoadedSkill {
            reach: CeilingReach::Outer,
            dir: None,
            ..skill
        }));
        Ok(all)
    }

    /// The tools that a model is offered: those that look, and those that the policy does not refuse
    /// as such.
    pub fn offers(&self) -> Result<Vec<ToolCard>, ToolFailure> {
        let looks = ["read_file", "list_dir", "grep"];
        let changes = ["write_file", "delete_file", "run_command", "network_request"];
        let wanted = looks
            .into_iter()
            .chain(changes.into_iter().filter(|tool| self.may_be_asked_for(tool, None)));
        let mut cards = Vec::new();
        for name in wanted {
            let toolbox = self.toolbox(&[], name)?;
            cards.extend(toolbox.find(name).ok().map(card));
        }
        let foreign = self.tools.tools().iter();
        let foreign =
            foreign.filter(|tool| self.may_be_asked_for(tool.name(), tool.declared_risk()));
        cards.extend(foreign.map(card));
        Ok(cards)
    }

    /// Whether the policy does not refuse the tool as such.
    pub(super) fn may_be_asked_for(&self, tool: &str, declared_risk: Option<Risk>) -> bool {
        let Ok(permission) = Permission::named(tool) else { return false };
        let subjects = match permission {
            Permission::WriteFile | Permission::DeleteFile => {
                // A plain file of the workspace, which no floor is about.
                absolute(&self.workspace.join("file")).map(Subject::Path).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let mut request = Request::new(permission, subjects).by(Invoker::Model);
        request.declared_risk = declared_risk;
        let answers = self.answers().clone();
        let situation = RequestContext { loaded: &[], memory: &answers, now: now() };
        self.policy.decide(&request, &situation).effect != Effect::Deny
    }

    /// The tools over the workspace and the loaded skills; the host is made only for a tool that
    /// needs it.
    fn toolbox(&self, loaded: &[SkillId], tool: &str) -> Result<Toolbox, ToolFailure> {
        let root = WorkRoot::open(&self.workspace).map_err(|error| {
            ToolFailure::new(FailureCode::IoError, format!("the workspace: {error}"))
        })?;
        let mut place = ToolWorkspace::new(root);
        let known = entries(self, loaded)?;
        for entry in known {
            if entry.memory.is_none() {
                place = place.with_skill(entry.name().as_str(), &entry.path)?;
            }
        }
        let place = Arc::new(place);
        let mut toolbox = Toolbox::new()
            .with_results(self.results())
            .with(ReadFile::new(Arc::clone(&place)))
            .with(ListDir::new(Arc::clone(&place)))
            .with(Grep::new(Arc::clone(&place)))
            .with(WriteFile::new(Arc::clone(&place)))
            .with(DeleteFile::new(Arc::clone(&place), Arc::new(Trash::new(self.trash.clone()))))
            .with(NetworkRequest::new(NetworkSettings::new(HostList::new(&self.hosts))));
        if tool == RunCommand::NAME {
            toolbox = toolbox.with(RunCommand::new(Arc::clone(self.host()?)));
        }
        // Last: a name that is ours is never taken by another.
        Ok(toolbox.with_all(&self.tools))
    }
}

/// What a model is offered.
fn card(tool: &BoxedTool) -> ToolCard {
    ToolCard {
        offer: metier_model::ToolOffer {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            schema: tool.schema(),
        },
        changes: tool.risk() != Risk::Low,
    }
}
