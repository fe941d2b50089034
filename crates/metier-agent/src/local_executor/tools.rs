//! Calling tools for a run: the toolbox of what is loaded, the policy's word, the call.
//! A planned call is judged, and that very call is made.

use std::sync::Arc;

use metier_fs::WorkRoot;
use metier_policy::{
    Decision, Effect, Invoker, LoadedSkill, Permission, Request, Risk, Situation, Subject,
};
use metier_registry::Entry;
use metier_sandbox::Network;
use metier_skill::{Digest, RelPath};
use metier_tools::ground::{absolute, acting_skill, loaded_skill};
use metier_tools::script::as_path;
use metier_tools::{
    BoxedTool, DeleteFile, FailureCode, FolderStore, Grep, HostList, ListDir, NetworkRequest,
    NetworkSettings, Planned, ReadFile, ResultFilter, RunCommand, RunScript, Screen, ScriptLeave,
    ToolFailure, ToolGate, Toolbox, Trash, Workplace, WriteFile,
};
use serde_json::{Map, Value, json};

use super::{LocalExecutor, calling, failed, kept, now};
use crate::executor::{ActionContext, Asked, DecidedAction, Judgement, PreparedAction};
use crate::op::{Outcome, Text};
use crate::setup::ToolCard;

/// A script of a loaded skill.
pub(super) fn script(
    executor: &Arc<LocalExecutor>,
    id: &str,
    path: &str,
    args: &[String],
    loaded: &[String],
) -> Judgement {
    // Nobody is asked about what cannot run.
    let machine = match executor.machine() {
        Ok(machine) => Arc::clone(machine),
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    let entry = match executor.entry(id) {
        Ok(entry) => entry,
        Err(outcome) => return Judgement::impossible(outcome),
    };
    let known = match entries(executor, loaded) {
        Ok(known) => known,
        Err(outcome) => return Judgement::impossible(outcome),
    };
    let is_blind = machine.workspace.is_none();
    let passed: Vec<String> =
        args.iter().map(|word| as_path(word, &executor.working_dir)).collect();
    let toolbox = Toolbox::new().with(RunScript::new(machine, known));
    let arguments = json!({"skill": id, "relative_path": path, "args": passed});
    let judgement = plan_and_judge(
        executor,
        &toolbox,
        RunScript::NAME,
        arguments,
        Some(&entry),
        loaded,
        |request| {
            // A rule about the arguments holds as they were written and as they are passed.
            let typed = RelPath::new(path).ok();
            let typed =
                typed.and_then(|path| Subject::script(entry.id(), path, args.to_vec()).ok());
            if let Some(typed) = typed.filter(|typed| !request.subjects.contains(typed)) {
                request.subjects.push(typed);
            }
        },
    );
    match judgement {
        // Otherwise a script that finds no file would be blamed for it.
        Judgement::Decided(action) if is_blind => {
            let prepared = told_blind(action.prepared);
            Judgement::Decided(DecidedAction { prepared, ..action })
        }
        judgement => judgement,
    }
}

/// Says after the output that the script did not see the workspace.
fn told_blind(prepared: PreparedAction) -> PreparedAction {
    Box::new(move |context| {
        let mut outcome = prepared(context);
        let note = "(The script does not see the workspace: it holds what no rule opens, such as the \
                    home directory.)";
        outcome.text = Text::Inline(format!("{}\n{note}\n", outcome.text.as_str()).into());
        if let Some(Value::String(stderr)) = outcome.data.get_mut("stderr") {
            stderr.push_str(note);
        }
        outcome
    })
}

/// A tool.
pub(super) fn call(
    executor: &Arc<LocalExecutor>,
    tool: &str,
    args: &Map<String, Value>,
    skill: Option<&str>,
    loaded: &[String],
) -> Judgement {
    let entry = match skill.map(|id| executor.entry(id)).transpose() {
        Ok(entry) => entry,
        Err(outcome) => return Judgement::impossible(outcome),
    };
    let toolbox = match executor.toolbox(loaded, tool) {
        Ok(toolbox) => toolbox,
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    let arguments = Value::Object(args.clone());
    plan_and_judge(executor, &toolbox, tool, arguments, entry.as_ref(), loaded, |_| {})
}

fn plan_and_judge(
    executor: &Arc<LocalExecutor>,
    toolbox: &Toolbox,
    tool: &str,
    arguments: Value,
    skill: Option<&Arc<Entry>>,
    loaded: &[String],
    amend: impl FnOnce(&mut Request),
) -> Judgement {
    let planned = match toolbox.plan(tool, arguments) {
        Ok(planned) => planned,
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    let Ok(acting) = skill.map(|entry| acting_skill(entry, &executor.trusted)).transpose() else {
        let text = "The content of the skill cannot be told, so nothing is done for it.";
        return Judgement::impossible(Outcome::failed("NotAllowed", text));
    };
    let known: Vec<LoadedSkill> = match entries(executor, loaded) {
        Ok(known) => known
            .iter()
            .map(|entry| loaded_skill(entry, &executor.policy, &executor.trusted))
            .collect(),
        Err(outcome) => return Judgement::impossible(outcome),
    };
    if planned.touches().iter().any(|touch| executor.is_foreign_record(touch)) {
        let text = "The records of other runs are not read in a run.";
        return Judgement::impossible(Outcome::failed("NotAllowed", text));
    }
    let gate = ToolGate {
        policy: Arc::clone(&executor.policy),
        answers: Arc::new(executor.answers().clone()),
        loaded: known.into(),
        now: now(),
        invoker: Invoker::Model,
        skill: acting,
    };
    let mut request = match gate.request(&planned) {
        Ok(request) => request,
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    amend(&mut request);
    let situation = Situation { loaded: &gate.loaded, memory: &gate.answers, now: gate.now };
    let leave = ScriptLeave::judge(&gate.policy, request, &situation);
    let asked: Vec<(Request, Decision)> = leave.asked().cloned().collect();
    let executor = Arc::clone(executor);
    // What is approved beforehand is this call: a rule is about a file, an approval about what is
    // written into it.
    let call = Digest::of_parts([
        leave.digest().as_bytes().as_slice(),
        planned.arguments().to_string().as_bytes(),
    ]);
    let last = asked.last().map(|(request, decision)| {
        Box::new(Asked { request: request.clone(), decision: decision.clone() })
    });
    let network = leave.network();
    let prepared: PreparedAction = Box::new(move |context| {
        for (request, _) in &asked {
            executor.remember(request, context.answer);
        }
        let (screen, executor_too) = (gate.screen(planned.tool()), Arc::clone(&executor));
        let screen: Screen =
            Arc::new(move |touch| !executor_too.is_foreign_record(touch) && screen(touch));
        done(&executor, planned, screen, network, context)
    });
    Judgement::Decided(DecidedAction {
        effect: leave.effect(),
        reason: leave.sentences().join("; "),
        request: Some(call),
        asked: last,
        prepared,
    })
}

fn done(
    executor: &LocalExecutor,
    planned: Planned,
    screen: Screen,
    network: Network,
    context: &ActionContext<'_>,
) -> Outcome {
    let answer = planned.decided(Effect::Allow, "", screen).and_then(|permit| {
        calling::call(permit.with_network(network), &executor.made.live, context)
    });
    match answer {
        Err(failure) => failed(&failure),
        Ok(result) => {
            let result = kept::with_run(executor, result);
            // A script that fails was run, but what it was run for was not done.
            let code = result.data.get("exit_code").and_then(Value::as_i64);
            let ran_badly = result.data.get("exit_code").is_some() && code != Some(0);
            Outcome {
                ok: !ran_badly,
                code: ran_badly.then(|| "ScriptFailed".to_owned()),
                text: Text::Inline(result.text.into()),
                truncated: result.truncated,
                storage_ref: result.storage_ref,
                data: result.data,
                skill: None,
            }
        }
    }
}

/// The skills that the run has loaded. One that changed meanwhile stands in the context with a ceiling
/// that nobody knows any more: then nothing is done.
fn entries(executor: &LocalExecutor, loaded: &[String]) -> Result<Vec<Arc<Entry>>, Box<Outcome>> {
    loaded.iter().map(|id| executor.entry(id)).collect()
}

impl LocalExecutor {
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
    fn may_be_asked_for(&self, tool: &str, declared_risk: Option<Risk>) -> bool {
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
        let situation = Situation { loaded: &[], memory: &answers, now: now() };
        self.policy.decide(&request, &situation).effect != Effect::Deny
    }

    /// The tools over the workspace and the loaded skills; the machine is made only for a tool that
    /// needs it.
    fn toolbox(&self, loaded: &[String], tool: &str) -> Result<Toolbox, ToolFailure> {
        let root = WorkRoot::open(&self.workspace).map_err(|error| {
            ToolFailure::new(FailureCode::IoError, format!("the workspace: {error}"))
        })?;
        let prefix = format!("{}/", self.shown_observations());
        let store = FolderStore::new(self.observations.clone(), &prefix);
        let results = ResultFilter {
            secrets: Arc::clone(&self.secrets),
            cap: self.cap,
            store: Arc::new(store),
        };
        let mut place = Workplace::new(root);
        let known = entries(self, loaded).map_err(|outcome| {
            ToolFailure::new(FailureCode::Changed, outcome.text.as_str().to_owned())
        })?;
        for entry in known {
            if entry.memory.is_none() {
                place = place.with_skill(entry.name().as_str(), &entry.path)?;
            }
        }
        let place = Arc::new(place);
        let mut toolbox = Toolbox::new()
            .with_results(results)
            .with(ReadFile::new(Arc::clone(&place)))
            .with(ListDir::new(Arc::clone(&place)))
            .with(Grep::new(Arc::clone(&place)))
            .with(WriteFile::new(Arc::clone(&place)))
            .with(DeleteFile::new(Arc::clone(&place), Arc::new(Trash::new(self.trash.clone()))))
            .with(NetworkRequest::new(NetworkSettings::new(HostList::new(&self.hosts))));
        if tool == RunCommand::NAME {
            toolbox = toolbox.with(RunCommand::new(Arc::clone(self.machine()?)));
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
