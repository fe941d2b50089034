//! Laws of ceilings, over random rules, requests and loaded skills: attribution can only narrow,
//! loading can only narrow, and only lifting widens, as far as it says.

use metier_policy::{
    AnswerMemory, Ceiling, CeilingReach, Effect, LoadedSkill, Permission, Preapproval, Request,
    RequestContext, Risk, RuleLayer, Subject, TrustStatus, UnixTime,
};
use metier_skill::RelPath;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::laws::{ALL, config, decide, layers, policy, subjects};
use crate::support::{acting, id, path};

const SKILLS: [&str; 4] = ["user:pdf", "user:csv", "project:deploy", "plugin:x:y"];

/// Loaded skills of different ids, with and without ceilings.
fn loaded() -> impl Strategy<Value = Vec<LoadedSkill>> {
    let entries = vec![
        "Read",
        "Grep",
        "LS",
        "Bash",
        "Bash(git:*)",
        "Bash(python3:*)",
        "Write",
        "Delete",
        "WebFetch",
        "their_tool",
        "script_network",
        "*",
    ];
    let tools = proptest::option::of(vec(select(entries), 0..4));
    let dir = |name: &str| (name == "user:pdf").then(|| path("/home/me/.agent/skills/pdf"));
    let skill = move |(name, tools): (&str, Option<Vec<&str>>)| LoadedSkill {
        id: id(name),
        dir: dir(name),
        trusted: true,
        reach: CeilingReach::Run,
        ceiling: tools.map(Ceiling::from_allowed_tools),
    };
    let ids = proptest::sample::subsequence(SKILLS.to_vec(), 0..=SKILLS.len()).prop_shuffle();
    (ids, vec(tools, SKILLS.len()))
        .prop_map(move |(ids, tools)| ids.into_iter().zip(tools).map(skill).collect())
}

/// Requests of every kind, without attribution.
fn requests() -> impl Strategy<Value = Request> {
    let permissions = select(vec![
        "read_file",
        "list_dir",
        "grep",
        "write_file",
        "delete_file",
        "run_command",
        "run_script",
        "script_network",
        "network_request",
        "load_skill",
        "their_tool",
    ]);
    let script = |skill: &str, file: &str| {
        Subject::script(id(skill), RelPath::new(file).unwrap(), Vec::new()).unwrap()
    };
    let more = select(vec![
        script("user:pdf", "scripts/a.py"),
        script("user:csv", "scripts/a.sh"),
        Subject::path("/home/me/.agent/skills/pdf/a.md").unwrap(),
        Subject::path("/home/me/p/.agent/skills/deploy/a.md").unwrap(),
    ]);
    let risks = select(vec![None, Some(Risk::Low), Some(Risk::Medium), Some(Risk::High)]);
    (permissions, vec(prop_oneof![subjects(), more], 1..3), risks).prop_map(
        |(permission, subjects, declared_risk)| {
            let mut request = Request::new(Permission::named(permission).unwrap(), subjects);
            request.declared_risk = declared_risk;
            request
        },
    )
}

fn effect(rules: &[RuleLayer], request: &Request, loaded: &[LoadedSkill]) -> Effect {
    decide(rules, request, loaded, &AnswerMemory::default()).effect
}

fn risk(request: &Request) -> Risk {
    let declared =
        request.declared_risk.filter(|_| matches!(request.permission, Permission::Other(_)));
    declared.unwrap_or(request.permission.risk())
}

fn is_script(request: &Request) -> bool {
    matches!(request.permission, Permission::RunScript | Permission::ScriptNetwork)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn attribution_can_only_narrow(
        rules in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
        skill in select(SKILLS.to_vec()),
        standing in select(vec![TrustStatus::Trusted, TrustStatus::Untrusted, TrustStatus::Added, TrustStatus::Followed, TrustStatus::Changed]),
        preapproval in select(vec![Preapproval::Never, Preapproval::TrustedSkills]),
    ) {
        let attributed = request.clone().acting_for(acting(skill).with_standing(standing));
        let policy = policy(&rules).with_preapproval(preapproval);
        let memory = AnswerMemory::default();
        let situation = RequestContext { loaded: &loaded, memory: &memory, now: UnixTime(5) };
        // A script and loading are judged for the skill that they are about, attributed or not;
        // there the request says what is trusted, which is no attribution.
        if is_script(&request) || request.permission == Permission::LoadSkill {
            return Ok(());
        }
        let with = policy.decide(&attributed, &situation);
        prop_assert!(with.effect <= policy.decide(&request, &situation).effect, "{with:?}");
    }

    #[test]
    fn a_skill_that_is_not_loaded_speaks_for_nothing(
        rules in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
        skill in select(SKILLS.to_vec()),
    ) {
        let is_loaded = loaded.iter().any(|known| known.id == id(skill));
        if is_loaded || request.permission == Permission::LoadSkill {
            return Ok(());
        }
        prop_assert_eq!(effect(&rules, &request.acting_for(acting(skill)), &loaded), Effect::Deny);
    }

    #[test]
    fn one_more_loaded_skill_never_widens_what_could_harm(
        rules in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
        skill in proptest::option::of(select(SKILLS.to_vec())),
    ) {
        if loaded.is_empty() || is_script(&request) || risk(&request) == Risk::Low {
            return Ok(());
        }
        let fewer = &loaded[1..];
        let mut request = request;
        // Loading the skill that a call is for is what makes the call possible.
        let is_loaded = |name: &str| fewer.iter().any(|known| known.id == id(name));
        request.skill = skill.filter(|name| is_loaded(name)).map(acting);
        prop_assert!(effect(&rules, &request, &loaded) <= effect(&rules, &request, fewer));
    }

    #[test]
    fn a_script_is_held_to_the_ceiling_of_its_skill_alone(
        rules in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
    ) {
        let is_one = |subject: &&Subject| matches!(subject, Subject::Script { .. });
        let Some(script) = request.subjects.iter().find(is_one).filter(|_| is_script(&request))
        else {
            return Ok(());
        };
        let Subject::Script { skill, .. } = script.clone() else { return Ok(()) };
        let request = Request::new(request.permission.clone(), vec![script.clone()]);
        let alone: Vec<_> = loaded.iter().filter(|known| known.id == skill).cloned().collect();
        prop_assert_eq!(effect(&rules, &request, &loaded), effect(&rules, &request, &alone));
    }

    #[test]
    fn without_attribution_no_ceiling_is_about_a_read_in_the_workspace(
        rules in vec(layers(ALL), 0..4), loaded in loaded(),
        tool in select(vec!["read_file", "list_dir", "grep"]),
    ) {
        let subject = Subject::path("/home/me/p/src/a.rs").unwrap();
        let request = Request::new(Permission::named(tool).unwrap(), vec![subject]);
        prop_assert_eq!(effect(&rules, &request, &loaded), effect(&rules, &request, &[]));
    }

    #[test]
    fn lifting_frees_the_run_and_not_the_skill(
        rules in vec(layers(ALL), 0..4), request in requests(), loaded in loaded(),
        skill in proptest::option::of(select(SKILLS.to_vec())),
    ) {
        let mut request = request;
        request.skill = skill.map(acting);
        let before = decide(&rules, &request, &loaded, &AnswerMemory::default());
        let lift = |all: bool| -> Vec<LoadedSkill> {
            let reach = |known: &LoadedSkill| {
                let is_lifted = all || before.liftable.contains(&known.id);
                if is_lifted { CeilingReach::Skill } else { CeilingReach::Run }
            };
            loaded.iter().map(|known| LoadedSkill { reach: reach(known), ..known.clone() }).collect()
        };
        // What is said to be liftable is, and nothing is liftable where lifting would not help.
        let lifted = decide(&rules, &request, &lift(false), &AnswerMemory::default());
        prop_assert_eq!(before.asks_to_lift(), before.effect == Effect::Deny && lifted.effect > Effect::Deny);
        prop_assert!(!lifted.asks_to_lift());
        // With everything lifted, exactly the acting skill and the owner still hold.
        request.subjects.truncate(1);
        let owner = match &request.subjects[0] {
            Subject::Script { skill, .. } => Some(skill.clone()),
            Subject::Path(path) if path.as_str().contains("/skills/pdf/") => Some(id("user:pdf")),
            Subject::Path(path) if path.as_str().contains("/skills/deploy/") => {
                Some(id("project:deploy"))
            }
            _ => None,
        };
        let acting = request.skill.as_ref().map(|acting| acting.id.clone());
        let own = |known: &LoadedSkill| {
            let holds = [&owner, &acting].into_iter().any(|one| one.as_ref() == Some(&known.id));
            let ceiling = known.ceiling.clone().filter(|_| holds);
            LoadedSkill { ceiling, ..known.clone() }
        };
        let own: Vec<_> = loaded.iter().map(own).collect();
        prop_assert_eq!(effect(&rules, &request, &lift(true)), effect(&rules, &request, &own));
    }
}
