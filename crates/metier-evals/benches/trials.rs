//! Trigger cases over 200 skills with the offline model: what a trial costs beside calling the router alone.
//!
//! Prints one line: `cases<TAB>threads<TAB>router ms<TAB>eval ms<TAB>bytes a case`. Both use the same requests,
//! the same skills and the same number of threads; memory is the growth of the process's peak from a tenth of the
//! cases to all of them. `cargo xtask bench evals` runs and judges it. The argument is the number of cases.
#![expect(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench ends where something cannot be measured"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metier::{CancelToken, Environment, Metier};
use metier_evals::{
    Case, CaseCommands, EvalPlan, EvalStore, EvalSubject, Expected, LoopOptions, LoopSubject,
    PlanOptions, TemporaryStore, TrialRunner, WhenIdle, Worker, WorkerOptions, make_plan,
};
use metier_model::{OfferedSkill, Turn, View};
use metier_router::Router;

const SKILLS: usize = 200;
const VERBS: [&str; 10] = [
    "merge",
    "translate",
    "summarise",
    "convert",
    "review",
    "plot",
    "compress",
    "validate",
    "draft",
    "schedule",
];
const THINGS: [&str; 20] = [
    "invoices",
    "photographs",
    "contracts",
    "spreadsheets",
    "meeting notes",
    "recipes",
    "maps",
    "poems",
    "logs",
    "tickets",
    "newsletters",
    "timesheets",
    "surveys",
    "slides",
    "passwords",
    "genomes",
    "melodies",
    "blueprints",
    "menus",
    "itineraries",
];

fn main() {
    let cases: usize = std::env::args().find_map(|it| it.parse().ok()).unwrap_or(10_000);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().join("skills");
    write_skills(&root);
    let project = dir.path().join("project");
    std::fs::create_dir_all(&project).expect("a project");
    let metier = Metier::builder(&project)
        .without_user_folders()
        .environment(Environment::empty().with("PATH", "/usr/bin:/bin"))
        .root(&root)
        .open()
        .expect("a runtime");
    let options = LoopOptions { model: Some("router".to_owned()), ..LoopOptions::default() };
    let subject = LoopSubject::new(&metier, options, []).expect("a subject");
    let router = router_alone(&subject, cases, threads);
    evals(&metier, &subject, (cases / 10).max(1), threads);
    let before = peak_bytes();
    let eval = evals(&metier, &subject, cases, threads);
    let grown = peak_bytes().saturating_sub(before) / (cases - cases / 10).max(1) as u64;
    println!("{cases}\t{threads}\t{}\t{}\t{grown}", router.as_millis(), eval.as_millis());
}

fn write_skills(root: &Path) {
    for number in 0..SKILLS {
        let (name, what) = skill(number);
        let text = format!(
            "---\nname: {name}\ndescription: {what} for people who have many of them. Use when the user \
             asks to {what}, or wants them checked, sorted or explained. Do not use for other files.\n---\n\n\
             # {name}\n\nRead the request, then do it step by step.\n"
        );
        let folder = root.join(&name);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
    }
}

fn skill(number: usize) -> (String, String) {
    let (verb, thing) = (VERBS[number % VERBS.len()], THINGS[number / VERBS.len() % THINGS.len()]);
    (format!("{verb}-{}", thing.replace(' ', "-")), format!("{verb} {thing}"))
}

fn request(number: usize) -> String {
    let (_, what) = skill(number % SKILLS);
    format!("please {what} of the {number}th customer before Friday")
}

fn router_alone(subject: &LoopSubject, cases: usize, threads: usize) -> Duration {
    let offered = subject.scan().index.entries().iter().map(|entry| OfferedSkill {
        name: entry.name().to_string(),
        source: entry.source.to_string(),
        description: entry.skill.description.to_string(),
    });
    let offered: Arc<[OfferedSkill]> = offered.collect();
    let turn = |request: String| Turn {
        number: 1,
        system: "".into(),
        system_for_call: "".into(),
        request: "".into(),
        trail: Vec::new(),
        tail: String::new(),
        plan: metier_model::PlanMode::On,
        schema: Arc::default(),
        held_schema: None,
        max_output_tokens: 1000,
        view: Arc::new(View {
            request,
            files: Vec::new(),
            offered: Arc::clone(&offered),
            loaded: Vec::new(),
            tools: Arc::from([]),
            plan: None,
            last_turn: false,
        }),
    };
    let (next, router) = (AtomicUsize::new(0), Router::default());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    std::hint::black_box(router.decide(&turn(request(number))));
                }
            });
        }
    });
    begun.elapsed()
}

fn evals(metier: &Metier, subject: &LoopSubject, cases: usize, threads: usize) -> Duration {
    let case = |number: usize| {
        let name = skill(number % SKILLS).0;
        Case {
            id: number.to_string(),
            input: request(number),
            skill: Some(name.clone()),
            expected: Expected { skills: Some(vec![name]), ..Expected::default() },
            ..Case::default()
        }
    };
    let all = (0..cases).map(case).collect();
    let plan = make_plan(metier, subject.info(), subject.scan(), all, PlanOptions::default());
    let plan: EvalPlan = plan.expect("a plan");
    let temporary = TemporaryStore::new().expect("a store");
    let store = temporary.store();
    let runner =
        TrialRunner::new(metier, &plan, subject, None, CaseCommands::Refuse).expect("a runner");
    let begun = Instant::now();
    store.open_plan(&plan).expect("it opens");
    let options = WorkerOptions {
        name: "bench".to_owned(),
        harness: plan.harness.clone(),
        plan: Some(plan.id()),
        parallel: threads,
        max_batch: 256,
        when_idle: WhenIdle::EndWhenDone,
        max_units: None,
        poll: Duration::from_millis(10),
    };
    let run = |plan: &EvalPlan, unit: &metier_evals::EvalUnit, cancel: &CancelToken| {
        runner.run(plan, unit, cancel)
    };
    let report = Worker::new(store, options, &run).work(&CancelToken::new()).expect("it works");
    let took = begun.elapsed();
    assert_eq!(report.completed as usize, cases, "all of them");
    let by_id: BTreeMap<&str, &Case> = plan.cases.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut passed = 0;
    store
        .results(&plan, &mut |result| {
            passed += usize::from(result.passed(by_id[result.case.as_str()]) == Some(true));
            Ok(())
        })
        .expect("results");
    assert!(passed * 10 > cases * 9, "{passed} of {cases} passed");
    took
}

/// The most memory that the process has had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() * 1024
}
