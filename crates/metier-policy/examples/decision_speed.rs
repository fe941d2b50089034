//! How long a decision takes with a thousand rules; the aim is under 20 microseconds.
//!
//! `cargo run --release -p metier-policy --example decision_speed`
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use metier_policy::{
    AbsolutePath, AnswerMemory, Effect, Permission, PlacedRule, Policy, PolicyError, PolicyPlaces,
    Request, RequestContext, Rule, RuleLayer, RuleSource, Subject, UnixTime,
};

const RULES: usize = 1000;

/// The permission and the pattern of a rule, by its number.
type MakeRule = dyn Fn(usize) -> (&'static str, String);

fn main() -> Result<(), PolicyError> {
    let places = PolicyPlaces::new(AbsolutePath::new("/home/me/p")?)
        .with_home(AbsolutePath::new("/home/me")?)
        .with_own(AbsolutePath::new("/home/me/.local/state/metier")?);
    let mixed = |at: usize| match at % 4 {
        0 => ("run_command", format!("tool{at} *")),
        1 => ("read_file", format!("~/area/{at}/*")),
        2 => ("network_request", format!("*.host{at}.com")),
        _ => ("load_skill", format!("skill{at}")),
    };
    let requests = [
        (Permission::ReadFile, Subject::path("/home/me/p/src/main.rs")?),
        (Permission::ReadFile, Subject::path("/home/me/area/51/notes.md")?),
        (Permission::RunCommand, Subject::command(["git", "log"])?),
        (Permission::NetworkRequest, Subject::host("example.com")?),
    ];
    let memory = AnswerMemory::default();
    let situation = RequestContext { loaded: &[], memory: &memory, now: UnixTime(0) };
    let paths = |at: usize| ("read_file", format!("~/area/{at}/*.md"));
    let kinds: [(&str, &MakeRule); 2] =
        [("four kinds of rules", &mixed), ("all rules about paths", &paths)];
    for (name, rule) in kinds {
        let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
        let rules = (0..RULES).map(|at| {
            let (permission, pattern) = rule(at);
            let rule = Rule { permission: permission.into(), pattern, effect: effects[at % 3] };
            PlacedRule { rule, line: Some(at) }
        });
        let layer = RuleLayer::new(RuleSource::User, "config.json", rules)?;
        let policy = Policy::new(places.clone()).with_layer(layer);
        for (permission, subject) in &requests {
            let request = Request::new(permission.clone(), vec![subject.clone()]);
            let time = shortest(|| drop(black_box(policy.decide(black_box(&request), &situation))));
            println!("{name}: {permission} of {subject} in {time:?}");
        }
    }
    Ok(())
}

/// The shortest of many runs: the others shared their core.
fn shortest(mut act: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        for _ in 0..100 {
            act();
        }
        best = best.min(start.elapsed() / 100);
    }
    best
}
