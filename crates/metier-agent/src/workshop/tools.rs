//! Calling tools for a run: the toolbox of what is loaded, the policy's word, the call.
//! A planned call is judged, and that very call is made.

use std::sync::Arc;

use metier_fs::WorkRoot;
use metier_policy::{
    Decision, Effect, Invoker, LoadedSkill, Permission, Request, Situation, Subject,
};
use metier_registry::Entry;
use metier_sandbox::Network;
use metier_skill::{Digest, RelPath, Source};
use metier_tools::ground::{absolute, acting_skill, loaded_skill};
use metier_tools::script::as_path;
use metier_tools::{
    DeleteFile, FailureCode, FolderStore, Grep, HostList, ListDir, NetworkRequest, NetworkSettings,
    Planned, ReadFile, RunCommand, RunScript, Screen, ScriptLeave, ToolFailure, ToolGate, Toolbox,
    Trash, Verdict, Workplace, WriteFile,
};
use serde_json::{Map, Value, json};

use super::{Workshop, doing, failed, kept, now};
use crate::hands::{Asked, Judged, Ready};
use crate::op::{Outcome, Text};
use crate::setup::ToolCard;

/// A script of a loaded skill.
pub(super) fn script(
    shop: &Arc<Workshop>,
    id: &str,
    path: &str,
    args: &[String],
    loaded: &[String],
) -> Judged {
    // Nobody is asked about what cannot run.
    let machine = match shop.machine() {
        Ok(machine) => Arc::clone(machine),
        Err(failure) => return Judged::impossible(failed(&failure)),
    };
    let entry = match shop.entry(id) {
        Ok(entry) => entry,
        Err(outcome) => return Judged::impossible(*outcome),
    };
    let known = match entries(shop, loaded) {
        Ok(known) => known,
        Err(outcome) => return Judged::impossible(*outcome),
    };
    let is_blind = machine.workspace.is_none();
    let passed: Vec<String> = args.iter().map(|word| as_path(word, &shop.working_dir)).collect();
    let toolbox = Toolbox::new().with(RunScript::new(machine, known));
    let arguments = json!({"skill": id, "relative_path": path, "args": passed});
    let mut judgement = plan_and_judge(
        shop,
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
    if is_blind {
        // Otherwise a script that finds no file would be blamed for it.
        judgement.ready = told_blind(judgement.ready);
    }
    judgement
}

/// Says after the output that the script did not see the workspace.
fn told_blind(ready: Ready) -> Ready {
    Box::new(move |doing| {
        let mut outcome = ready(doing);
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
    shop: &Arc<Workshop>,
    tool: &str,
    args: &Map<String, Value>,
    skill: Option<&str>,
    loaded: &[String],
) -> Judged {
    let entry = match skill.map(|id| shop.entry(id)).transpose() {
        Ok(entry) => entry,
        Err(outcome) => return Judged::impossible(*outcome),
    };
    let toolbox = match shop.toolbox(loaded, tool) {
        Ok(toolbox) => toolbox,
        Err(failure) => return Judged::impossible(failed(&failure)),
    };
    let arguments = Value::Object(args.clone());
    plan_and_judge(shop, &toolbox, tool, arguments, entry.as_ref(), loaded, |_| {})
}

fn plan_and_judge(
    shop: &Arc<Workshop>,
    toolbox: &Toolbox,
    tool: &str,
    arguments: Value,
    skill: Option<&Arc<Entry>>,
    loaded: &[String],
    amend: impl FnOnce(&mut Request),
) -> Judged {
    let planned = match toolbox.plan(tool, arguments) {
        Ok(planned) => planned,
        Err(failure) => return Judged::impossible(failed(&failure)),
    };
    let Ok(acting) = skill.map(|entry| acting_skill(entry, &shop.trusted)).transpose() else {
        let text = "The content of the skill cannot be told, so nothing is done for it.";
        return Judged::impossible(Outcome::failed("NotAllowed", text));
    };
    let known: Vec<LoadedSkill> = match entries(shop, loaded) {
        Ok(known) => {
            known.iter().map(|entry| loaded_skill(entry, &shop.policy, &shop.trusted)).collect()
        }
        Err(outcome) => return Judged::impossible(*outcome),
    };
    if planned.touches().iter().any(|touch| shop.is_foreign_record(touch)) {
        let text = "The records of other runs are not read in a run.";
        return Judged::impossible(Outcome::failed("NotAllowed", text));
    }
    let gate = ToolGate {
        policy: Arc::clone(&shop.policy),
        answers: Arc::new(shop.answers().clone()),
        loaded: known.into(),
        now: now(),
        invoker: Invoker::Model,
        skill: acting,
    };
    let mut request = match gate.request(&planned) {
        Ok(request) => request,
        Err(failure) => return Judged::impossible(failed(&failure)),
    };
    amend(&mut request);
    let situation = Situation { loaded: &gate.loaded, memory: &gate.answers, now: gate.now };
    let leave = ScriptLeave::judge(&gate.policy, request, &situation);
    let asked: Vec<(Request, Decision)> = leave.asked().cloned().collect();
    let shop = Arc::clone(shop);
    let name = planned.tool().name();
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
    let ready: Ready = Box::new(move |doing| {
        for (request, _) in &asked {
            shop.remember(request, doing.answer);
        }
        let (screen, shop_too) = (gate.screen(name), Arc::clone(&shop));
        let screen: Screen =
            Arc::new(move |touch| !shop_too.is_foreign_record(touch) && screen(touch));
        done(&shop, planned, screen, network, doing)
    });
    Judged {
        verdict: leave.effect().into(),
        reason: leave.sentences().join("; "),
        request: Some(call),
        asked: last,
        ready,
    }
}

fn done(
    shop: &Workshop,
    planned: Planned,
    screen: Screen,
    network: Network,
    doing: &crate::hands::Doing<'_>,
) -> Outcome {
    let answer = planned
        .decided(Verdict::Allow, screen)
        .and_then(|permit| doing::call(permit.with_network(network), &shop.made.live, doing));
    match answer {
        Err(failure) => failed(&failure),
        Ok(result) => {
            let result = kept::with_run(shop, result);
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
fn entries(shop: &Workshop, loaded: &[String]) -> Result<Vec<Arc<Entry>>, Box<Outcome>> {
    loaded.iter().map(|id| shop.entry(id)).collect()
}

impl Workshop {
    /// The tools that a model is offered: those that look, and those that the policy does not refuse
    /// as such.
    pub fn offers(&self) -> Result<Vec<ToolCard>, ToolFailure> {
        let mut wanted = vec!["read_file", "list_dir", "grep"];
        for tool in ["write_file", "delete_file", "run_command", "network_request"] {
            if self.may_be_asked_for(tool) {
                wanted.push(tool);
            }
        }
        let mut cards = Vec::new();
        for name in wanted {
            let toolbox = self.toolbox(&[], name)?;
            let Ok(tool) = toolbox.find(name) else { continue };
            cards.push(ToolCard {
                offer: metier_model::ToolOffer {
                    name: name.to_owned(),
                    description: tool.description().to_owned(),
                    schema: tool.schema(),
                },
                changes: tool.risk() != metier_tools::Risk::Low,
            });
        }
        Ok(cards)
    }

    /// Whether the policy refuses the tool as such.
    fn may_be_asked_for(&self, tool: &str) -> bool {
        let Ok(permission) = Permission::named(tool) else { return false };
        let subjects = match permission {
            Permission::WriteFile | Permission::DeleteFile => {
                // A plain file of the workspace, which no floor is about.
                absolute(&self.workspace.join("file")).map(Subject::Path).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let request = Request::new(permission, subjects).by(Invoker::Model);
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
        let mut place = Workplace::new(root)
            .with_store(Arc::new(store))
            .with_cap(self.cap)
            .with_secrets(Arc::clone(&self.secrets));
        let known = entries(self, loaded).map_err(|outcome| {
            ToolFailure::new(FailureCode::Changed, outcome.text.as_str().to_owned())
        })?;
        for entry in known {
            if entry.source != Source::Builtin {
                place = place.with_skill(entry.name().as_str(), &entry.path)?;
            }
        }
        let place = Arc::new(place);
        let mut toolbox = Toolbox::new()
            .with(ReadFile::new(Arc::clone(&place)))
            .with(ListDir::new(Arc::clone(&place)))
            .with(Grep::new(Arc::clone(&place)))
            .with(WriteFile::new(Arc::clone(&place)))
            .with(DeleteFile::new(Arc::clone(&place), Arc::new(Trash::new(self.trash.clone()))))
            .with(NetworkRequest::new(
                Arc::clone(&place),
                NetworkSettings::new(HostList::new(&self.hosts)),
            ));
        if tool == RunCommand::NAME {
            toolbox = toolbox.with(RunCommand::new(Arc::clone(self.machine()?)));
        }
        Ok(toolbox)
    }
}
