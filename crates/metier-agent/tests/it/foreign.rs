//! Tools of the program that uses us, in a whole run of the real executor: policy, approval, masking,
//! cancellation and record are those of our own tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use metier_agent::local_executor::LazyParts;
use metier_agent::recorder::MemoryRecorder;
use metier_agent::{
    Agent, Approver, AutoApprove, Event, LocalExecutor, NoApprover, Record, RunId, SilentObserver,
    Status,
};
use metier_cancel::CancelToken;
use metier_fs::HeldDir;
use metier_loader::{BodyLimits, ResourceLimits};
use metier_policy::{AnswerMemory, Lifetime, Policy, TrustedFolders};
use metier_registry::{ScanOptions, scan};
use metier_sandbox::Secrets;
use metier_tools::policy_facts::absolute;
use metier_tools::{
    CallContext, CallResult, FailureCode, OutputCap, Risk, Tool, ToolFailure, ToolResult, Toolbox,
};
use serde_json::json;

use crate::fakes::{answer, call, scripted, setup};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct LookupArgs {
    /// What to look up.
    key: String,
}

/// Gives a secret away, or does not listen.
struct Lookup {
    risk: Risk,
    calls: Arc<AtomicUsize>,
    begins: Option<CancelToken>,
}

impl Tool for Lookup {
    type Args = LookupArgs;

    fn name(&self) -> &'static str {
        "lookup"
    }

    fn description(&self) -> &'static str {
        "Look a key up."
    }

    fn risk(&self) -> Risk {
        self.risk
    }

    fn call(&self, args: LookupArgs, _: &CallContext) -> CallResult {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(cancel) = &self.begins {
            cancel.cancel();
            std::thread::sleep(Duration::from_mins(1));
        }
        Ok(ToolResult::text(format!("{} is hunter2hunter2", args.key)))
    }
}

pub(crate) fn executor(dir: &Path, tools: Toolbox) -> LocalExecutor {
    let workspace = dir.canonicalize().expect("real");
    let places = metier_policy::PolicyPlaces::new(absolute(&workspace).expect("a path"));
    LocalExecutor {
        index: Arc::new(scan(&[], &ScanOptions::default()).index),
        offered: Arc::default(),
        listed: Arc::default(),
        pinned: BTreeMap::new(),
        policy: Arc::new(Policy::new(places)),
        trusted: TrustedFolders::default(),
        answers: Mutex::new(AnswerMemory::default()),
        always: Lifetime::Unlimited,
        policy_store: None,
        working_dir: workspace.clone(),
        home: None,
        request: String::new(),
        hosts: Vec::new(),
        body_limits: BodyLimits::default(),
        resource_limits: ResourceLimits::default(),
        cap: OutputCap::default(),
        secrets: Arc::new(Secrets::new(["hunter2hunter2"])),
        observations: HeldDir::at(&workspace.join("runs/1/observations")),
        trash: HeldDir::at(&workspace.join("runs/1/trash")),
        host: Box::new(|_| Err(ToolFailure::new(FailureCode::NotAllowed, "no scripts here"))),
        workspace,
        tools,
        made: LazyParts::default(),
    }
}

/// Runs one call of the tool; gives how it ended, what was recorded, and how often it was called.
fn run(
    risk: Risk,
    approver: &dyn Approver,
    cancel: &CancelToken,
    begins: Option<CancelToken>,
) -> (Status, Vec<Record>, usize) {
    let dir = tempfile::tempdir().expect("dir");
    let calls = Arc::new(AtomicUsize::new(0));
    let tool = Lookup { risk, calls: Arc::clone(&calls), begins };
    let tools = Toolbox::new().with_foreign(tool).expect("a name of its own");
    let executor = Arc::new(executor(dir.path(), tools));
    let model = scripted(json!([call("lookup", json!({"key": "the door"})), answer("done")]));
    let mut setup = setup(&model);
    setup.tools = executor.offers().expect("offers").into();
    assert!(setup.tools.iter().any(|card| card.offer.name == "lookup"
        && card.offer.schema["required"] == json!(["key"])
        && card.changes == (risk != Risk::Low)));
    let mut recorder = MemoryRecorder::new(RunId::new("run-1").expect("an id"));
    let first = recorder.first_event(&setup);
    let agent =
        Agent { model: &model, executor: &executor, approver, observer: &SilentObserver, cancel };
    let state = agent.run_with(&mut recorder, &first, Arc::new(setup)).expect("runs");
    let status = state.finished().expect("an end").status;
    (status, recorder.records, calls.load(Ordering::SeqCst))
}

fn effects(records: &[Record]) -> Vec<String> {
    let effect = |record: &Record| match &record.event {
        Event::PolicyDecided { effect, .. } => Some(effect.to_string()),
        _ => None,
    };
    records.iter().filter_map(effect).collect()
}

#[test]
fn a_foreign_tool_is_judged_asked_about_called_masked_and_recorded() {
    let never = CancelToken::new();
    let (status, records, calls) = run(Risk::Low, &NoApprover, &never, None);
    assert_eq!((status, calls), (Status::Completed, 1));
    assert_eq!(effects(&records), ["allow"]);
    let events: Vec<&Event> = records.iter().map(|record| &record.event).collect();
    let record = serde_json::to_string(&events).expect("JSON");
    assert!(record.contains("the door is ") && !record.contains("hunter2"), "{record}");

    let (status, records, calls) = run(Risk::High, &NoApprover, &never, None);
    assert_eq!((status, calls), (Status::NeedsApproval, 0));
    assert_eq!(effects(&records), ["ask"]);
    let (status, _, calls) = run(Risk::Medium, &AutoApprove, &never, None);
    assert_eq!((status, calls), (Status::Completed, 1));
}

#[test]
fn a_foreign_tool_that_does_not_listen_does_not_hold_up_the_caller_that_cancels() {
    let (cancel, started) = (CancelToken::new(), Instant::now());
    let (status, _, calls) = run(Risk::Low, &NoApprover, &cancel, Some(cancel.clone()));
    assert_eq!((status, calls), (Status::Cancelled, 1));
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
}
