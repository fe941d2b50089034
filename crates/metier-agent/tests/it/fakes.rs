//! Skills in memory, executor that write down what they did, and a run over them.
//! No disk, no process, no network.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use metier_agent::executor::{ActionContext, Asked, DecidedAction, Judgement};
use metier_agent::op::{SkillText, Text};
use metier_agent::recorder::MemoryRecorder;
use metier_agent::{
    Agent, Approver, AutoApprove, Event, Executor, KnownParts, Mode, NoApprover, Op, Outcome,
    OuterCeilings, PinnedSkill, Record, RunId, RunLimits, RunSkills, Setup, SilentObserver,
    SkillCard, State, ToolCard,
};
use metier_cancel::CancelToken;
use metier_model::{Model, PlanMode, Scripted, ToolOffer};
use metier_policy::{
    AbsolutePath, AnswerMemory, Effect, Permission, Policy, PolicyPlaces, Request, RequestContext,
    Subject, UnixTime,
};
use metier_skill::{Digest, FailureCode, RelPath, SkillId};
use serde_json::{Value, json};

/// Executor that write down what they did.
#[derive(Default)]
pub(crate) struct FakeExecutor {
    /// What was done, in order.
    pub(crate) done: Arc<Mutex<Vec<String>>>,
    /// Operations (by the start of their description) that need an answer.
    pub(crate) ask: Vec<&'static str>,
    /// Operations that are denied.
    pub(crate) deny: Vec<&'static str>,
    /// Operations that the ceiling of `user:pdf` denies while it is loaded and not lifted.
    pub(crate) limit: Vec<&'static str>,
}

impl FakeExecutor {
    pub(crate) fn log(&self) -> Vec<String> {
        self.done.lock().expect("whole").clone()
    }
}

impl Executor for FakeExecutor {
    fn judge(&self, op: &Op, skills: &RunSkills) -> Judgement {
        let described = op.describe();
        let matches = |list: &[&str]| list.iter().any(|start| described.starts_with(start));
        let pdf: SkillId = "user:pdf".parse().expect("an id");
        let holds = skills.loaded.contains(&pdf) || skills.outer.contains(&pdf);
        let limited = matches(&self.limit) && holds && !skills.lifted.contains(&pdf);
        let liftable = if limited { vec![pdf] } else { Vec::new() };
        let effect = if matches(&self.deny) || limited {
            Effect::Deny
        } else if matches(&self.ask) {
            Effect::Ask
        } else {
            Effect::Allow
        };
        if let Op::Tool { tool, .. } = op
            && !["write_file", "read_file"].contains(&tool.as_str())
        {
            let text = format!("there is no tool `{tool}`");
            return Judgement::impossible(Outcome::failed(FailureCode::UnknownTool, text));
        }
        let (op, done) = (op.clone(), Arc::clone(&self.done));
        Judgement::Decided(DecidedAction {
            effect,
            reason: format!("a rule about {described}"),
            layers: vec!["user: a rule".to_owned()],
            request: Some(Digest::of(described.as_bytes())),
            asked: (effect == Effect::Ask).then(|| Box::new(asked(&described))),
            liftable,
            prepared: Box::new(move |context| perform(&op, &done, context)),
        })
    }
}

/// What a listener is described: a policy without rules asks about scripts.
fn asked(described: &str) -> Asked {
    let skill: SkillId = "user:pdf".parse().expect("an id");
    let path = RelPath::new("scripts/do.sh").expect("a path");
    let script =
        Subject::script(skill.clone(), path, vec![described.to_owned()]).expect("a script");
    let request = Request::new(Permission::RunScript, vec![script]);
    let places = PolicyPlaces::new(AbsolutePath::new("/w").expect("a path"));
    let (memory, loaded) = (AnswerMemory::default(), []);
    let situation = RequestContext { loaded: &loaded, memory: &memory, now: UnixTime(0) };
    let decision = Policy::new(places).decide(&request, &situation);
    Asked::new(request, decision)
}

fn perform(op: &Op, done: &Mutex<Vec<String>>, doing: &ActionContext<'_>) -> Outcome {
    done.lock().expect("whole").push(op.describe());
    match op {
        Op::Load { skill, .. } => {
            let (body, files): (String, &[&str]) = match skill.name.as_str() {
                "notes" => (format!("# {skill}\nMonday: Ada.\n"), &[]),
                "lead-plan" => (
                    format!(
                        "# {skill}\nFind the zone in references/zones.md, then run `scripts/do.sh ZONE`, such as `scripts/do.sh B 3`.\n"
                    ),
                    &["references/zones.md", "scripts/do.sh"],
                ),
                _ => (format!("# {skill}\nRun scripts/do.sh.\n"), &["scripts/do.sh"]),
            };
            let text = SkillText {
                id: skill.clone(),
                sha256: Digest::of(body.as_bytes()),
                block: Text::Inline(metier_loader::fenced("Skill Text", &body).into()),
                path: None,
                description: String::new(),
                body: Text::Inline(body.into()),
                files: files.iter().map(|file| (*file).to_owned()).collect(),
                changed: false,
            };
            Outcome { skill: Some(text), ..Outcome::done("loaded", Value::Null) }
        }
        Op::Script { path, args, .. } => {
            (doing.output)("stdout", "working\n");
            if args.iter().any(|arg| arg.starts_with("--fail")) {
                // As one that prints the time does.
                let message = if args.iter().any(|arg| arg == "--fail-anew") {
                    format!("try {} failed", done.lock().expect("whole").len())
                } else {
                    "it wants other arguments".to_owned()
                };
                return Outcome {
                    ok: false,
                    code: Some(FailureCode::ScriptFailed),
                    ..Outcome::done(message, json!({"exit_code": 2}))
                };
            }
            let text = format!("ran {path} {}", args.join(" "));
            Outcome::done(text.clone(), json!({"exit_code": 0, "stdout": text}))
        }
        Op::Resource { path, .. } if path == "long.md" => {
            Outcome::done("long text. ".repeat(2000), json!({"path": path}))
        }
        other => Outcome::done(format!("did {}", other.describe()), json!({"ok": true})),
    }
}

fn card(id: &str) -> SkillCard {
    let (source, name) = id.split_once(':').expect("an id");
    SkillCard {
        id: id.parse().expect("an id"),
        name: name.into(),
        source: source.into(),
        description: format!("About {name}.").into(),
        pinned: PinnedSkill { digest: Digest::of(id.as_bytes()), mark: None },
        offered: true,
        shadowed: false,
        coordinator: name.starts_with("lead"),
        subagent: name.starts_with("sub"),
    }
}

pub(crate) fn tool(name: &str, changes: bool) -> ToolCard {
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let offer =
        ToolOffer { name: name.to_owned(), description: format!("The tool {name}."), schema };
    ToolCard { offer, changes }
}

/// A setup with a few skills and tools.
pub(crate) fn setup(model: &dyn Model) -> Setup {
    let ids = [
        "user:pdf",
        "user:csv",
        "project:csv",
        "user:lead-plan",
        "user:sub-research",
        "user:notes",
    ];
    Setup {
        request: "do it".to_owned(),
        files: Vec::new(),
        system: "Rules and skills.".into(),
        system_for_call: "Rules and skills.".into(),
        opening: "# Request\n\ndo it\n".to_owned(),
        model: model.info(),
        plan: PlanMode::On,
        names_no_files: false,
        model_by_project: Vec::new(),
        agent: None,
        shown: Vec::new(),
        tools: [tool("write_file", true), tool("read_file", false)].into(),
        chosen: Vec::new(),
        limits: RunLimits::default(),
        budget_settings: BTreeMap::new(),
        denied: Vec::new(),
        mode: Mode::Real,
        is_inner: false,
        outer: OuterCeilings::default(),
        index_hash: Digest::of(b"index"),
        skills: ids.iter().map(|id| card(id)).collect(),
        parts: KnownParts::default(),
    }
}

/// A scripted model from JSON replies.
pub(crate) fn scripted(replies: Value) -> Scripted {
    Scripted::parse(&json!({"name": "test", "replies": replies}).to_string()).expect("a script")
}

pub(crate) fn select(names: &[&str]) -> Value {
    let skills: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"action": {"type": "select_skills", "skills": skills, "reason": "fits"}})
}

pub(crate) fn script(skill: &str, args: &[&str]) -> Value {
    json!({"action": {"type": "run_script", "skill": {"name": skill},
        "relative_path": "scripts/do.sh", "args": args}})
}

pub(crate) fn answer(text: &str) -> Value {
    json!({"action": {"type": "final_answer", "text": text}})
}

pub(crate) fn call(tool: &str, args: Value) -> Value {
    json!({"action": {"type": "call_tool", "tool": tool, "args": args}})
}

pub(crate) struct Ran {
    pub(crate) state: State,
    pub(crate) records: Vec<Record>,
    pub(crate) executor: FakeExecutor,
}

impl Ran {
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.records.iter().map(|record| kind(&record.event)).collect()
    }

    pub(crate) fn answer(&self) -> &str {
        self.state.finished().and_then(|end| end.answer.as_deref()).unwrap_or_default()
    }

    /// The codes of the observations, in order; `ok` where there is none.
    pub(crate) fn observations(&self) -> Vec<String> {
        let code = |record: &Record| match &record.event {
            Event::ObservationMade { code, .. } => {
                Some(code.map_or("ok", FailureCode::as_str).to_owned())
            }
            _ => None,
        };
        self.records.iter().filter_map(code).collect()
    }
}

pub(crate) fn kind(event: &Event) -> String {
    let value = serde_json::to_value(event).expect("JSON");
    value["type"].as_str().expect("a type").to_owned()
}

/// An agent whose questions are answered with yes, and that no one watches or cancels.
pub(crate) fn agent<'a>(model: &'a dyn Model, executor: &'a FakeExecutor) -> Agent<'a> {
    static NEVER: LazyLock<CancelToken> = LazyLock::new(CancelToken::new);
    Agent { model, executor, approver: &AutoApprove, observer: &SilentObserver, cancel: &NEVER }
}

/// Runs in memory with the usual setup, changed by `amend`.
pub(crate) fn run(
    model: &dyn Model,
    executor: FakeExecutor,
    approver: &dyn Approver,
    amend: impl FnOnce(&mut Setup),
) -> Ran {
    let mut setup = setup(model);
    amend(&mut setup);
    let mut recorder = MemoryRecorder::new(RunId::new("run-1").expect("an id"));
    let first = recorder.first_event(&setup);
    let agent = Agent { approver, ..agent(model, &executor) };
    let state = agent.run_with(&mut recorder, &first, Arc::new(setup)).expect("runs");
    Ran { state, records: recorder.records, executor }
}

/// A run in which every question is answered with yes.
pub(crate) fn run_yes(replies: Value) -> Ran {
    run(&scripted(replies), FakeExecutor::default(), &AutoApprove, |_| {})
}

/// A run in which no one answers.
pub(crate) fn run_alone(replies: Value, executor: FakeExecutor) -> Ran {
    run(&scripted(replies), executor, &NoApprover, |_| {})
}
