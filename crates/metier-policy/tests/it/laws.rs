//! Laws of the engine, over random rules, requests and skills.
//! They hold for every policy that can be written, so nothing here is a special case.

use metier_policy::{
    AlwaysScope, AnswerMemory, AnswerScope, Ceiling, CeilingReach, Effect, Lifetime, LoadedSkill,
    Permission, PlacedRule, Policy, PolicyDecision, RememberedAnswer, Request, RequestContext,
    Rule, RuleLayer, RuleSource, Subject, TrustStatus, UnixTime,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{acting, id, path, places};

fn effects() -> impl Strategy<Value = Effect> {
    select(vec![Effect::Deny, Effect::Ask, Effect::Allow])
}

fn rules() -> impl Strategy<Value = Vec<PlacedRule>> {
    let permissions = select(vec![
        "*",
        "read_file",
        "write_file",
        "run_command",
        "run_script",
        "load_skill",
        "their_*",
        "run_*",
    ]);
    let patterns = select(vec![
        "*", "src/*", "~/*", "*.rs", "git *", "git:*", "git push", "rm", "user:*", "pdf", "pdf/*",
        "?",
    ]);
    let rule =
        (permissions, patterns, effects()).prop_map(|(permission, pattern, effect)| PlacedRule {
            rule: Rule { permission: permission.to_owned(), pattern: pattern.to_owned(), effect },
            line: Some(1),
        });
    vec(rule, 0..5)
}

pub(crate) fn layers(sources: &'static [RuleSource]) -> impl Strategy<Value = RuleLayer> {
    let layer = |(source, rules)| RuleLayer::new(source, "a file", rules).unwrap();
    (select(sources), rules()).prop_map(layer)
}

pub(crate) const ALL: &[RuleSource] = &[
    RuleSource::Managed,
    RuleSource::User,
    RuleSource::Approval,
    RuleSource::Project,
    RuleSource::Agent,
    RuleSource::Run,
];
const TIGHTENING: &[RuleSource] =
    &[RuleSource::Approval, RuleSource::Project, RuleSource::Agent, RuleSource::Run];

pub(crate) fn subjects() -> impl Strategy<Value = Subject> {
    let at = |text: &str| Subject::path(text).unwrap();
    let command = |words: &[&str]| Subject::command(words.iter().copied()).unwrap();
    let script = metier_skill::RelPath::new("scripts/a.py").unwrap();
    select(vec![
        at("/home/me/p/src/a.rs"),
        at("/home/me/p/b"),
        at("/home/me/.ssh/id"),
        at("/etc/hosts"),
        command(&["git", "push", "-f"]),
        command(&["git", "log"]),
        command(&["/bin/rm", "x"]),
        Subject::script(id("user:pdf"), script, vec!["x".into()]).unwrap(),
        Subject::Skill(id("user:pdf")),
        Subject::Skill(id("project:deploy")),
        Subject::host("example.com").unwrap(),
        Subject::text("anything").unwrap(),
    ])
}

fn requests() -> impl Strategy<Value = Request> {
    let permissions = select(vec![
        "read_file",
        "write_file",
        "delete_file",
        "run_command",
        "run_script",
        "load_skill",
        "their_tool",
    ]);
    let skills = select(vec![None, Some("user:pdf"), Some("project:deploy")]);
    let standings = select(vec![
        TrustStatus::Trusted,
        TrustStatus::Untrusted,
        TrustStatus::Added,
        TrustStatus::Followed,
        TrustStatus::Changed,
    ]);
    (permissions, vec(subjects(), 1..4), skills, standings).prop_map(
        |(permission, subjects, skill, standing)| {
            let mut request = Request::new(Permission::named(permission).unwrap(), subjects);
            request.skill = skill.map(|name| acting(name).with_standing(standing));
            request
        },
    )
}

fn loaded() -> impl Strategy<Value = Vec<LoadedSkill>> {
    let tools = vec(select(vec!["Read", "Bash", "Bash(git:*)", "Write", "their_tool", "*"]), 0..4);
    let skill = (select(vec!["user:pdf", "project:deploy"]), proptest::option::of(tools)).prop_map(
        |(name, tools)| LoadedSkill {
            id: id(name),
            dir: Some(path("/elsewhere")),
            trusted: true,
            reach: CeilingReach::Run,
            ceiling: tools.map(Ceiling::from_allowed_tools),
        },
    );
    vec(skill, 0..3)
}

pub(crate) fn policy(layers: &[RuleLayer]) -> Policy {
    layers.iter().cloned().fold(Policy::new(places()), Policy::with_layer)
}

pub(crate) fn decide(
    layers: &[RuleLayer],
    request: &Request,
    loaded: &[LoadedSkill],
    memory: &AnswerMemory,
) -> PolicyDecision {
    policy(layers).decide(request, &RequestContext { loaded, memory, now: UnixTime(5) })
}

pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn adding_a_layer_that_tightens_never_raises_an_effect(
        layers in vec(layers(ALL), 0..4), more in layers(TIGHTENING),
        request in requests(), loaded in loaded(),
    ) {
        let before = decide(&layers, &request, &loaded, &AnswerMemory::default()).effect;
        let with = [layers, vec![more]].concat();
        prop_assert!(decide(&with, &request, &loaded, &AnswerMemory::default()).effect <= before);
    }

    #[test]
    fn where_the_user_has_a_rule_for_everything_no_layer_at_all_raises_an_effect(
        mut layers in vec(layers(ALL), 0..4), base in effects(), more in layers(ALL),
        request in requests(), loaded in loaded(),
    ) {
        let rule = Rule { permission: "*".into(), pattern: "*".into(), effect: base };
        let user = RuleLayer::new(RuleSource::User, "u", [PlacedRule { rule, line: None }]).unwrap();
        layers.push(user);
        let before = decide(&layers, &request, &loaded, &AnswerMemory::default()).effect;
        layers.push(more);
        prop_assert!(decide(&layers, &request, &loaded, &AnswerMemory::default()).effect <= before);
    }

    #[test]
    fn the_order_of_layers_does_not_matter(
        (layers, shuffled) in vec(layers(ALL), 0..5)
            .prop_flat_map(|layers| (Just(layers.clone()), Just(layers).prop_shuffle())),
        request in requests(), loaded in loaded(),
    ) {
        let one = decide(&layers, &request, &loaded, &AnswerMemory::default());
        let other = decide(&shuffled, &request, &loaded, &AnswerMemory::default());
        prop_assert_eq!(one.effect, other.effect);
    }

    #[test]
    fn loading_one_more_skill_never_raises_what_is_done_without_an_acting_skill(
        layers in vec(layers(ALL), 0..4), mut request in requests(), loaded in loaded(),
    ) {
        request.skill = None;
        let before = decide(&layers, &request, &loaded[1.min(loaded.len())..], &AnswerMemory::default());
        let after = decide(&layers, &request, &loaded, &AnswerMemory::default());
        prop_assert!(after.effect <= before.effect);
    }

    #[test]
    fn an_answer_turns_an_ask_into_an_allow_and_never_touches_a_deny(
        layers in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(), wide in any::<bool>(),
    ) {
        let request = if wide {
            request.remembering(vec![AlwaysScope::Pattern("*".into())])
        } else {
            request
        };
        let mut memory = AnswerMemory::default();
        memory.remember(RememberedAnswer::of(&request, AnswerScope::Everywhere, UnixTime(0), Lifetime::Unlimited));
        let before = decide(&layers, &request, &loaded, &AnswerMemory::default()).effect;
        let after = decide(&layers, &request, &loaded, &memory).effect;
        let expected = if before == Effect::Ask { Effect::Allow } else { before };
        prop_assert_eq!(after, expected);
    }

    #[test]
    fn a_tool_without_a_rule_is_not_allowed(
        name in "[a-z_]{1,12}", subject in subjects(), loaded in loaded(),
    ) {
        let permission = Permission::named(&name).unwrap();
        prop_assume!(matches!(permission, Permission::Other(_)));
        let request = Request::new(permission, vec![subject]);
        prop_assert!(decide(&[], &request, &loaded, &AnswerMemory::default()).effect < Effect::Allow);
    }

    #[test]
    fn explaining_is_deciding(
        layers in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
    ) {
        let memory = AnswerMemory::default();
        let situation = RequestContext { loaded: &loaded, memory: &memory, now: UnixTime(5) };
        let explained = policy(&layers).explain(&request, &situation);
        let mut decided = policy(&layers).decide(&request, &situation);
        prop_assert_eq!(&explained.reason, &decided.reason);
        let strictest = explained.layers.iter().map(|verdict| verdict.effect).min();
        prop_assert_eq!(strictest, Some(explained.effect));
        for (whole, short) in explained.layers.iter().zip(&mut decided.layers) {
            short.losers.clone_from(&whole.losers);
        }
        prop_assert_eq!(explained, decided);
    }

    #[test]
    fn more_subjects_never_raise_an_effect(
        layers in vec(layers(ALL), 0..4), request in requests(), more in subjects(), loaded in loaded(),
    ) {
        let before = decide(&layers, &request, &loaded, &AnswerMemory::default()).effect;
        let mut wider = request;
        wider.subjects.push(more);
        prop_assert!(decide(&layers, &wider, &loaded, &AnswerMemory::default()).effect <= before);
    }
}
