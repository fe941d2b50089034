//! Real records for the tests of what reads them: the agent's own loop over a scripted model and executor
//! that touch nothing, in the project's folder of runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_agent::executor::{DecidedAction, Judgement};
use metier_agent::log;
use metier_agent::op::{SkillText, Text};
use metier_agent::{
    Agent, Anchors, Approver, AutoApprove, Event, Executor, KnownParts, Mode, NoApprover, Op,
    Outcome, OuterCeilings, PinnedSkill, RunFolder, RunId, RunLimits, RunSkills, Setup,
    SilentObserver, SkillCard, ToolCard,
};
use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{
    Model, ModelError, ModelErrorKind, ModelInfo, PlanMode, Reply, Scripted, StreamEvent,
    ToolOffer, Turn, Usage,
};
use metier_policy::Effect;
use metier_skill::{Digest, FailureCode, SkillId};
use metier_testkit::TestHome;
use serde_json::{Value, json};

/// A script whose first reply needs two attempts, and whose replies cost what a provider says.
struct Provider(Scripted);

impl Model for Provider {
    fn info(&self) -> ModelInfo {
        model()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        if turn.number == 1 {
            let error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
            sink(StreamEvent::Retrying { attempt: 1, error, delay: Duration::from_millis(1500) });
        }
        let mut reply = self.0.reply(turn, sink, cancel)?;
        reply.usage = Usage {
            input: 100,
            output: 10,
            cache_read: 40,
            attempts: if turn.number == 1 { 2 } else { 1 },
            total_ms: 7,
            ..Usage::default()
        };
        Ok(reply)
    }
}

fn model() -> ModelInfo {
    ModelInfo { provider: "openai".to_owned(), name: "small".to_owned(), window: None }
}

/// Reads, asks before it writes, and never goes to the network.
struct TestExecutor;

impl Executor for TestExecutor {
    fn judge(&self, op: &Op, _: &RunSkills) -> Judgement {
        let (effect, outcome) = match op {
            Op::Load { skill, .. } => (Effect::Allow, loaded(skill)),
            Op::Tool { tool, .. } if tool == "grep" => {
                let lines: Vec<String> = (1..=900).map(|at| format!("line {at} matches")).collect();
                (Effect::Allow, Outcome::done(lines.join("\n"), json!({"matches": 900})))
            }
            Op::Tool { tool, .. } if tool == "write_file" => {
                (Effect::Ask, Outcome::done("written", Value::Null))
            }
            Op::Tool { .. } => {
                (Effect::Deny, Outcome::failed(FailureCode::Failed, "never reached"))
            }
            _ => (Effect::Allow, Outcome::done("done", Value::Null)),
        };
        Judgement::Decided(DecidedAction {
            effect,
            reason: format!("a rule about {}", op.describe()),
            layers: Vec::new(),
            request: Some(Digest::of(op.describe().as_bytes())),
            asked: None,
            liftable: Vec::new(),
            prepared: Box::new(move |_| outcome),
        })
    }
}

fn loaded(skill: &SkillId) -> Outcome {
    let body = format!("# The body of {skill}\nDo it.");
    let text = SkillText {
        id: skill.clone(),
        sha256: Digest::of(body.as_bytes()),
        block: Text::Inline(format!("[Skill]\n{body}\n[End]").into()),
        path: None,
        description: String::new(),
        body: Text::Inline(body.into()),
        files: Vec::new(),
        changed: false,
    };
    Outcome { skill: Some(text), ..Outcome::done(format!("{skill} is loaded."), Value::Null) }
}

/// What a run of these tests is about.
pub(crate) struct Case {
    pub(crate) id: &'static str,
    pub(crate) request: String,
    pub(crate) provider: &'static str,
    pub(crate) answer: String,
    pub(crate) approver: &'static dyn Approver,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            id: "20260131-120000-aaaaa",
            request: "Count the matches".to_owned(),
            provider: "openai",
            answer: "There are 900.\nThey are in out.txt.".to_owned(),
            approver: &AutoApprove,
        }
    }
}

impl Case {
    /// A run that stops at its first question.
    pub(crate) fn waiting(id: &'static str) -> Self {
        Self { id, approver: &NoApprover, ..Self::default() }
    }

    fn script(&self) -> String {
        let step = |id: &str, title: &str, status: &str| json!({"id": id, "title": title, "status": status});
        let tool = |tool: &str, args: Value| json!({"action": {"type": "call_tool", "tool": tool, "args": args}});
        let select = |name: &str, reason: &str| json!({"type": "select_skills", "skills": [{"name": name}], "reason": reason});
        let mut write = tool("write_file", json!({"path": "out.txt", "text": "900"}));
        write["plan_update"] = json!({"patch": [
            {"op": "replace", "path": "/steps/0/status", "value": "completed"},
            {"op": "replace", "path": "/steps/1/status", "value": "in_progress"},
        ]});
        let steps =
            [step("s1", "Find them", "in_progress"), step("s2", "Write it down", "pending")];
        json!({
            "name": "counting",
            "replies": [
                {
                    "plan": {"goal": "Know how many", "steps": steps},
                    "action": select("finder", "It finds things."),
                },
                {"raw": "Let me think."},
                tool("grep", json!({"pattern": "secret needle"})),
                write,
                tool("network_request", json!({"url": "https://example.com"})),
                {"action": select("researcher", "It looks closer.")},
                {"action": {"type": "final_answer", "text": self.answer, "data": {"count": 900}}},
            ],
            "rules": [{
                "when": {"loaded": "researcher"},
                "reply": {"action": {"type": "final_answer", "text": "I looked closer."}},
            }],
        })
        .to_string()
    }

    fn setup(&self) -> Setup {
        let card = |name: &str, subagent: bool| SkillCard {
            id: format!("user:{name}").parse().expect("an id"),
            name: name.into(),
            source: "user".into(),
            description: format!("The {name}.").into(),
            pinned: PinnedSkill { digest: Digest::of(name.as_bytes()), mark: None },
            offered: true,
            shadowed: false,
            coordinator: false,
            subagent,
        };
        let tool = |name: &str, changes: bool| ToolCard {
            offer: ToolOffer {
                name: name.to_owned(),
                description: format!("The tool {name}."),
                schema: json!({"type": "object"}),
            },
            changes,
        };
        Setup {
            request: self.request.clone(),
            files: vec!["data.txt".to_owned()],
            system: "Work on it.".into(),
            system_for_call: "Work on it.".into(),
            opening: format!("Request: {}", self.request),
            model: ModelInfo { provider: self.provider.to_owned(), ..model() },
            plan: PlanMode::On,
            names_no_files: false,
            model_by_project: Vec::new(),
            agent: None,
            shown: Vec::new(),
            tools: [tool("grep", false), tool("write_file", true), tool("network_request", true)]
                .into(),
            chosen: Vec::new(),
            denied: Vec::new(),
            limits: RunLimits::default(),
            budget_settings: BTreeMap::new(),
            mode: Mode::Real,
            is_inner: false,
            outer: OuterCeilings::default(),
            index_hash: Digest::of(b"index"),
            skills: [card("finder", false), card("researcher", true)].into_iter().collect(),
            parts: KnownParts::default(),
        }
    }

    /// Runs it, and gives the folder of its record.
    pub(crate) fn record(&self, home: &TestHome) -> RunFolder {
        let runs = home.project().join(".agent/runs");
        let workspace = home.project().canonicalize().expect("a path");
        let anchors = Anchors::new(&home.home().join(".local/state/metier/runs"), &workspace);
        let folder = RunFolder::new(&runs, RunId::new(self.id).expect("an id"));
        let folder = folder.with_anchors(anchors);
        let model = Provider(Scripted::parse(&self.script()).expect("a script"));
        let agent = Agent {
            model: &model,
            executor: &TestExecutor,
            approver: self.approver,
            observer: &SilentObserver,
            cancel: &CancelToken::new(),
        };
        agent.run(&folder, self.setup()).expect("runs");
        folder
    }
}

/// The record as bytes.
pub(crate) fn events_of(folder: &RunFolder) -> (PathBuf, Vec<u8>) {
    let path = folder.events_file();
    let bytes = std::fs::read(&path).expect("a record");
    (path, bytes)
}

/// The lines of a record, with their line ends.
pub(crate) fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What a process leaves that is killed after `events` events: they, no summary of the end, and an anchor
/// that is open. The loops inside that it has not begun then are gone.
pub(crate) fn kill_after(folder: &RunFolder, events: usize) {
    let (path, bytes) = events_of(folder);
    let left = lines_of(&bytes)[..events].concat();
    std::fs::write(&path, &left).expect("writes");
    std::fs::remove_file(folder.path().join("run.json")).expect("removes");
    let (records, _) = log::read(folder.id().as_str(), &left);
    let begun = |id: &str| {
        records.iter().any(|record| match &record.event {
            Event::ActionStarted { op_id, op: Op::Delegate { .. } } => {
                id.ends_with(&format!("-sub{op_id}"))
            }
            _ => false,
        })
    };
    for inner in folder.inner_runs().expect("lists") {
        if !begun(inner.id().as_str()) {
            std::fs::remove_dir_all(inner.path()).expect("removes");
        }
    }
    let home = folder.path().ancestors().nth(4).expect("a place").join("home");
    open_anchor(&home, folder.path());
}

/// Makes the anchor of a run of the project as it is when the first event is written: what a process
/// leaves that is killed before it does anything.
pub(crate) fn open_anchor(home: &Path, folder: &Path) {
    let id = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let bytes = std::fs::read(folder.join("events.jsonl")).expect("a record");
    let (records, _) = log::read(&id, &bytes);
    let first = records.first().map_or_else(|| log::genesis(&id), |first| first.hash);
    let project = home.with_file_name("project").canonicalize().expect("a path");
    // An answer is announced before it is recorded, so the anchor of a killed run has the last one.
    let is_answer = |it: &&metier_agent::Record| matches!(it.event, Event::AskAnswered { .. });
    let (events, last) =
        records.iter().rfind(is_answer).map_or((1, first), |answer| (answer.seq, answer.hash));
    let anchor = json!({"workspace": project, "first_hash": first, "events": events,
        "last_hash": last, "state": "open"});
    let anchors = home.join(".local/state/metier/runs");
    std::fs::create_dir_all(&anchors).expect("a folder");
    std::fs::write(anchors.join(id), format!("{anchor}\n")).expect("writes");
}

/// Changes one event and writes the whole chain anew, summary included: what an attacker does who knows
/// how the record works.
pub(crate) fn forge(folder: &RunFolder, change: impl Fn(&mut Event) -> bool) {
    let id = folder.id().as_str();
    let (path, bytes) = events_of(folder);
    let (mut records, fault) = log::read(id, &bytes);
    assert_eq!(fault, None);
    assert!(records.iter_mut().any(|record| change(&mut record.event)), "something is changed");
    let mut before = log::genesis(id);
    let mut forged = Vec::new();
    for record in &records {
        let (line, hash) =
            log::line(&before, record.seq, &record.time, record.elapsed_ms, &record.event)
                .expect("a line");
        forged.extend(line);
        before = hash;
    }
    std::fs::write(path, forged).expect("writes");
    let file = folder.path().join("run.json");
    let mut summary: Value =
        serde_json::from_slice(&std::fs::read(&file).expect("a summary")).expect("JSON");
    summary["last_hash"] = json!(before);
    std::fs::write(file, summary.to_string()).expect("writes");
}

/// A snapshot of what a command tells, without what differs from run to run.
macro_rules! report {
    ($home:expr, $args:expr, @$text:literal) => {
        insta::with_settings!({filters => [
            (r"\d+ ms", "[MS]"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[TIME]"),
            (r"sha256:[0-9a-f]{64}", "[HASH]"),
        ]}, { insta::assert_snapshot!(shown($home, &run($home, $args)), @$text) })
    };
}
pub(crate) use report;
