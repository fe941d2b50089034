//! Short ways to write rules, requests and situations.
//! Rules are written `effect permission pattern`, requests `permission words`.

use metier_policy::{
    AbsolutePath, ActingSkill, AnswerMemory, Ceiling, CeilingReach, Effect, Invoker, LoadedSkill,
    Permission, PlacedRule, Policy, PolicyDecision, PolicyPlaces, Request, RequestContext, Rule,
    RuleLayer, RuleSource, Subject, UnixTime, subject_of,
};
use metier_skill::{Digest, SkillId};

pub(crate) fn path(text: &str) -> AbsolutePath {
    AbsolutePath::new(text).unwrap()
}

pub(crate) fn id(text: &str) -> SkillId {
    text.parse().unwrap()
}

pub(crate) fn places() -> PolicyPlaces {
    PolicyPlaces::new(path("/home/me/p"))
        .with_home(path("/home/me"))
        .with_own(path("/home/me/.agent/config.json"))
        .with_own(path("/home/me/.local/state/metier"))
        .with_skill(&path("/home/me/.agent/skills/pdf"), id("user:pdf"))
        .with_skill(&path("/home/me/p/.agent/skills/deploy"), id("project:deploy"))
}

/// A rule from `effect permission pattern...`.
pub(crate) fn rule(text: &str) -> Rule {
    let mut parts = text.splitn(3, ' ');
    let effect = match parts.next().unwrap() {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        "deny" => Effect::Deny,
        other => panic!("{other}"),
    };
    Rule {
        effect,
        permission: parts.next().unwrap().to_owned(),
        pattern: parts.next().unwrap_or("*").to_owned(),
    }
}

/// A layer, of which each rule stands on its own line.
pub(crate) fn layer(source: RuleSource, rules: &[&str]) -> RuleLayer {
    let origin = format!("{source:?}.json").to_lowercase();
    let placed =
        rules.iter().zip(1..).map(|(text, line)| PlacedRule { rule: rule(text), line: Some(line) });
    RuleLayer::new(source, origin, placed).unwrap()
}

pub(crate) fn policy(layers: &[(RuleSource, &[&str])]) -> Policy {
    layers.iter().fold(Policy::new(places()), |policy, (source, rules)| {
        policy.with_layer(layer(*source, rules))
    })
}

/// A request from `permission words...`.
pub(crate) fn request(text: &str) -> Request {
    let mut words = text.split(' ').map(str::to_owned);
    let permission = Permission::named(&words.next().unwrap()).unwrap();
    let words: Vec<String> = words.collect();
    let subject = if words.is_empty() {
        Subject::Text(String::new())
    } else {
        subject_of(&permission, &words, &places()).unwrap()
    };
    Request::new(permission, vec![subject]).by(Invoker::Model)
}

pub(crate) fn acting(name: &str) -> ActingSkill {
    ActingSkill::new(id(name), Digest::of(b"content"))
}

pub(crate) fn loaded(name: &str, tools: Option<&[&str]>) -> LoadedSkill {
    LoadedSkill {
        id: id(name),
        dir: None,
        trusted: true,
        reach: CeilingReach::Run,
        ceiling: tools.map(|tools| Ceiling::from_allowed_tools(tools.iter().copied())),
    }
}

pub(crate) fn decide_with(
    policy: &Policy,
    request: &Request,
    loaded: &[LoadedSkill],
) -> PolicyDecision {
    let memory = AnswerMemory::default();
    policy.explain(request, &RequestContext { loaded, memory: &memory, now: UnixTime(1000) })
}

pub(crate) fn decide(policy: &Policy, request: &Request) -> PolicyDecision {
    decide_with(policy, request, &[])
}
