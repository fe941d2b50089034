//! Many runs at once in one process: do all of them end well, and what memory does each take?
//!
//! Prints one line: `runs<TAB>ended well<TAB>bytes a run<TAB>milliseconds`. Memory is the growth of the
//! process's peak, divided by the runs. `cargo xtask bench running` runs and judges it. The argument is
//! the number of runs.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench ends where something cannot be measured"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use metier_agent::executor::Judgement;
use metier_agent::op::{SkillText, Text};
use metier_agent::{
    Agent, AutoApprove, Executor, KnownParts, Mode, Op, Outcome, OuterCeilings, PinnedSkill,
    RunFolder, RunId, RunLimits, RunSkills, Setup, SilentObserver, SkillCard, Status,
};
use metier_cancel::CancelToken;
use metier_model::{Model, PlanMode, Scripted};
use metier_skill::Digest;
use serde_json::{Value, json};

/// Bytes of the stack of a run's thread.
const STACK: usize = 256 * 1024;

/// A body of 5 KB, an observation of 1 KB.
struct Plain(Arc<str>);

impl Executor for Plain {
    fn judge(&self, op: &Op, _: &RunSkills) -> Judgement {
        let (op, body) = (op.clone(), Arc::clone(&self.0));
        Judgement::free(Box::new(move |_| match op {
            Op::Load { skill, .. } => {
                let text = SkillText {
                    id: skill,
                    sha256: Digest::of(body.as_bytes()),
                    block: Text::Inline(Arc::clone(&body)),
                    path: None,
                    description: String::new(),
                    body: Text::Inline(body),
                    files: Vec::new(),
                    changed: false,
                };
                Outcome { skill: Some(text), ..Outcome::done("loaded", Value::Null) }
            }
            other => {
                Outcome::done(format!("{} {}", other.describe(), "x".repeat(1000)), Value::Null)
            }
        }))
    }
}

fn replies() -> String {
    let select =
        json!({"action": {"type": "select_skills", "skills": [{"name": "skill-1"}], "reason": ""}});
    let read = |at: usize| {
        json!({"action": {"type": "load_resource", "skill": {"name": "skill-1"},
            "relative_path": format!("references/{at}.md")}})
    };
    let answer = json!({"action": {"type": "final_answer", "text": "done"}});
    let mut all = vec![select];
    all.extend((0..18).map(read));
    all.push(answer);
    json!({"name": "bench", "replies": all}).to_string()
}

fn setup(model: &dyn Model) -> Setup {
    let card = |number: u32| SkillCard {
        id: format!("user:skill-{number}").parse().expect("an id"),
        name: format!("skill-{number}").into(),
        source: "user".into(),
        description: "What it is for. ".repeat(20).into(),
        pinned: PinnedSkill { digest: Digest::of(b"x"), mark: None },
        offered: true,
        shadowed: false,
        coordinator: false,
        subagent: false,
    };
    Setup {
        plan: PlanMode::On,
        agent: None,
        request: "do it".to_owned(),
        files: Vec::new(),
        denied: Vec::new(),
        system: "The rules. ".repeat(500).into(),
        system_for_call: "The rules. ".repeat(500).into(),
        opening: "do it".to_owned(),
        model: model.info(),
        names_no_files: false,
        model_by_project: Vec::new(),
        shown: Vec::new(),
        tools: Arc::from([]),
        chosen: Vec::new(),
        limits: RunLimits { turns: 30, ..RunLimits::default() },
        budget_settings: BTreeMap::new(),
        mode: Mode::Real,
        is_inner: false,
        outer: OuterCeilings::default(),
        index_hash: Digest::of(b"index"),
        skills: (0..10).map(card).collect(),
        parts: KnownParts::default(),
    }
}

/// The peak of this process's memory, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let count: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(1000);
    let dir = tempfile::tempdir().expect("a directory");
    let script = replies();
    let body: Arc<str> = "A line of a body.\n".repeat(280).into();
    let (before, start) = (peak(), Instant::now());
    let together = Barrier::new(count);
    let well = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (script, body, together, runs) =
                (&script, Arc::clone(&body), &together, dir.path());
            let work = move || {
                let model = Scripted::parse(script).expect("a script");
                let id = RunId::new(&format!("run-{number}")).expect("an id");
                let folder = RunFolder::new(runs, id);
                together.wait();
                let executor = Plain(body);
                let agent = Agent {
                    model: &model,
                    executor: &executor,
                    approver: &AutoApprove,
                    observer: &SilentObserver,
                    cancel: &CancelToken::new(),
                };
                let state = agent.run(&folder, setup(&model));
                // All of them stand at their end at once, so that nothing is given back before.
                together.wait();
                state.is_ok_and(|state| {
                    state.finished().is_some_and(|end| end.status == Status::Completed)
                })
            };
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work)
                .expect("a thread")
        };
        let runs: Vec<_> = (0..count).map(run).collect();
        runs.into_iter().filter_map(|run| run.join().ok()).filter(|well| *well).count()
    });
    let grown = peak().saturating_sub(before) / count.max(1) as u64;
    println!("{count}\t{well}\t{grown}\t{}", start.elapsed().as_millis());
}
