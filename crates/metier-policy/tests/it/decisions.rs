//! Tables of decisions: what rules, defaults, trust, the floor and memory come to.
//! Each table is one rule of the documentation, read from top to bottom.

use metier_policy::RuleSource::{Approval, Managed, Project, Run, User};
use metier_policy::{
    AnswerMemory, AnswerScope, Effect, Invoker, LayerKind, Lifetime, Permission, PlacedRule,
    Preapproval, RememberedAnswer, Request, RequestContext, Risk, Rule, RuleLayer, RuleSource,
    Subject, TrustStatus, UnixTime,
};
use metier_skill::Digest;

use crate::support::{acting, decide, decide_with, id, loaded, path, places, policy, request};

#[test]
fn without_rules_risk_and_place_decide() {
    for (text, expected) in [
        ("load_skill user:pdf", Effect::Allow),
        ("read_file src/a.rs", Effect::Allow),
        ("list_dir .", Effect::Allow),
        ("grep src", Effect::Allow),
        ("read_file /etc/hosts", Effect::Ask),
        ("read_file ../q/a.rs", Effect::Ask),
        ("run_script user:pdf/scripts/a.py", Effect::Ask),
        ("write_file src/a.rs", Effect::Deny),
        ("delete_file src/a.rs", Effect::Deny),
        ("network_request example.com", Effect::Deny),
        ("run_command git log", Effect::Deny),
        ("their_tool anything", Effect::Deny),
    ] {
        assert_eq!(decide(&policy(&[]), &request(text)).effect, expected, "{text}");
    }
}

#[test]
fn a_rule_of_the_user_stands_in_place_of_the_default() {
    let policy = policy(&[(User, &["allow write_file docs/*", "ask read_file *.lock"])]);
    for (text, expected) in [
        ("write_file docs/a.md", Effect::Allow),
        ("write_file src/a.rs", Effect::Ask),
        ("read_file Cargo.lock", Effect::Ask),
        ("read_file Cargo.toml", Effect::Allow),
        ("delete_file docs/a.md", Effect::Deny),
    ] {
        assert_eq!(decide(&policy, &request(text)).effect, expected, "{text}");
    }
}

#[test]
fn a_refusal_does_not_switch_a_tool_on() {
    let policy = policy(&[(User, &["deny run_command rm *"]), (Project, &["allow write_file"])]);
    for text in ["run_command git log", "run_command rm x", "write_file a"] {
        assert_eq!(decide(&policy, &request(text)).effect, Effect::Deny, "{text}");
    }
}

#[test]
fn the_last_matching_rule_wins_inside_a_layer_and_the_losers_are_named() {
    let policy = policy(&[(
        User,
        &[
            "allow run_command git *",
            "ask * *",
            "allow run_command git *",
            "deny run_command git push",
        ],
    )]);
    let push = decide(&policy, &request("run_command git push --force"));
    assert_eq!(push.effect, Effect::Deny);
    let verdict = push.deciding().unwrap();
    assert_eq!((verdict.layer, verdict.rule.as_ref().unwrap().line), (LayerKind::User, Some(4)));
    let lines: Vec<_> = verdict.losers.iter().map(|rule| rule.line.unwrap()).collect();
    assert_eq!(lines, [3, 2, 1]);
    assert_eq!(decide(&policy, &request("run_command git log")).effect, Effect::Allow);
    assert_eq!(decide(&policy, &request("their_tool")).effect, Effect::Ask);
}

#[test]
fn only_the_user_and_an_administrator_grant_and_everybody_tightens() {
    let text = "run_command git log";
    for (layers, expected) in [
        (&[(User, &["allow run_command"][..])][..], Effect::Allow),
        (&[(Managed, &["allow run_command"])], Effect::Allow),
        (&[(Project, &["allow run_command"])], Effect::Deny),
        (&[(Run, &["allow *"])], Effect::Deny),
        (&[(Approval, &["ask run_command"])], Effect::Deny),
        (&[(User, &["allow run_command"]), (Managed, &["ask run_command"])], Effect::Ask),
        (&[(User, &["allow run_command"]), (Approval, &["ask run_command"])], Effect::Ask),
        (&[(User, &["allow run_command"]), (Project, &["deny run_command git"])], Effect::Deny),
        (&[(User, &["allow run_command"]), (Run, &["deny *"])], Effect::Deny),
        (&[(User, &["allow run_command"]), (Project, &["allow *"])], Effect::Allow),
    ] {
        assert_eq!(decide(&policy(layers), &request(text)).effect, expected, "{layers:?}");
    }
}

#[test]
fn of_several_subjects_the_strictest_decides() {
    let policy = policy(&[(User, &["allow write_file docs/*", "deny write_file docs/final/*"])]);
    let write = |paths: &[&str]| {
        let subjects = paths.iter().map(|at| Subject::path(at).unwrap()).collect();
        decide(&policy, &Request::new(Permission::WriteFile, subjects))
    };
    assert_eq!(write(&["/home/me/p/docs/a"]).effect, Effect::Allow);
    let mixed = write(&["/home/me/p/docs/a", "/home/me/p/src/a"]);
    assert_eq!(mixed.effect, Effect::Ask, "one that no rule matches is not carried by another");
    assert_eq!(mixed.subject, Subject::path("/home/me/p/src/a").unwrap());
    assert_eq!(write(&["/home/me/p/docs/a", "/home/me/p/docs/final/a"]).effect, Effect::Deny);
}

#[test]
fn nothing_opens_the_floor() {
    let open = policy(&[(Managed, &["allow *"]), (User, &["allow *"])]);
    for text in [
        "read_file ~/.ssh/id_rsa",
        "read_file .env",
        "write_file ~/.bashrc",
        "write_file .git/hooks/pre-commit",
        "write_file ~/.agent/config.json",
        "write_file ~/.local/state/metier/trust.json",
        "write_file .agent/skills/deploy/SKILL.md",
        "read_file .agent/skills/deploy/notes.md",
        "delete_file ~",
        "their_tool_is_text_only",
    ] {
        let decision = decide(&open, &request(text));
        let expected = if text.starts_with("their") { Effect::Allow } else { Effect::Deny };
        assert_eq!(decision.effect, expected, "{text}");
    }
    let refused = decide(&open, &request("read_file ~/.aws/credentials"));
    assert_eq!(
        refused.reason,
        "`read_file` of `/home/me/.aws/credentials` is refused: `.aws` is a place for keys and passwords"
    );
    assert!(refused.help().unwrap().contains("no rule can allow this"));
}

#[test]
fn a_project_skill_that_is_not_trusted_asks_and_does_not_run() {
    let open = policy(&[(User, &["allow *"])]);
    let skills = [loaded("project:deploy", None)];
    let load = request("load_skill project:deploy");
    let run = request("run_script project:deploy/scripts/a.sh");
    for (standing, loading, running) in [
        (TrustStatus::Untrusted, Effect::Ask, Effect::Deny),
        (TrustStatus::Added, Effect::Ask, Effect::Deny),
        (TrustStatus::Changed, Effect::Ask, Effect::Deny),
        (TrustStatus::Followed, Effect::Allow, Effect::Ask),
        (TrustStatus::Trusted, Effect::Allow, Effect::Allow),
    ] {
        let skill = acting("project:deploy").with_standing(standing);
        let decide = |request: &Request| {
            decide_with(&open, &request.clone().acting_for(skill.clone()), &skills).effect
        };
        assert_eq!((decide(&load), decide(&run)), (loading, running), "{standing:?}");
    }
    // Only a project's skill can be untrusted, and is so by default.
    assert_eq!(
        acting("user:pdf").with_standing(TrustStatus::Changed).standing,
        TrustStatus::Trusted
    );
    assert_eq!(acting("project:deploy").standing, TrustStatus::Untrusted);
}

#[test]
fn a_project_skill_needs_trust_without_an_acting_skill_too() {
    let open = policy(&[(User, &["allow *"])]);
    let effect = |text: &str| decide(&open, &request(text)).effect;
    assert_eq!(effect("run_script project:deploy/scripts/a.sh"), Effect::Deny);
    assert_eq!(effect("load_skill project:deploy"), Effect::Ask);
    assert_eq!(effect("run_script user:pdf/scripts/a.py"), Effect::Allow);
    assert_eq!(effect("load_skill user:pdf"), Effect::Allow);
}

#[test]
fn what_a_script_wants_is_never_allowed_by_default() {
    let read = request("read_file src/a.rs");
    assert_eq!(decide(&policy(&[]), &read.clone().by(Invoker::Script)).effect, Effect::Ask);
    assert_eq!(decide(&policy(&[]), &read.by(Invoker::User)).effect, Effect::Allow);
}

#[test]
fn always_lifts_an_ask_of_the_same_content_and_nothing_else() {
    let policy = policy(&[(User, &["ask run_command", "deny run_command rm"])]);
    let skills = [loaded("user:pdf", None)];
    let asked = request("run_command git log").acting_for(acting("user:pdf"));
    let mut memory = AnswerMemory::default();
    memory.remember(RememberedAnswer::of(
        &asked,
        AnswerScope::Everywhere,
        UnixTime(1),
        Lifetime::Seconds(100),
    ));
    let effect = |request: &Request, now| {
        let situation = RequestContext { loaded: &skills, memory: &memory, now: UnixTime(now) };
        policy.decide(request, &situation).effect
    };
    assert_eq!(effect(&asked, 50), Effect::Allow);
    assert_eq!(effect(&asked, 101), Effect::Ask);
    let mut changed = asked.clone();
    changed.skill.as_mut().unwrap().digest = Digest::of(b"other content");
    assert_eq!(effect(&changed, 50), Effect::Ask);
    assert_eq!(effect(&request("run_command git log"), 50), Effect::Ask);
    assert_eq!(
        effect(&request("run_command rm x").acting_for(acting("user:pdf")), 50),
        Effect::Deny
    );
}

#[test]
fn allowed_tools_approve_only_where_the_user_wants_it_and_the_default_asked() {
    let skills =
        [loaded("user:pdf", Some(&["Bash(python:*)"])), loaded("project:deploy", Some(&["Bash"]))];
    let run = |skill: &str| {
        request(&format!("run_script {skill}/scripts/a.py")).acting_for(acting(skill))
    };
    let plain = policy(&[]);
    assert_eq!(decide_with(&plain, &run("user:pdf"), &skills).effect, Effect::Ask);
    let wanted = plain.with_preapproval(Preapproval::TrustedSkills);
    let lifted = decide_with(&wanted, &run("user:pdf"), &skills);
    assert_eq!(lifted.effect, Effect::Allow);
    assert!(lifted.reason.contains("lists `Bash(python:*)`"), "{}", lifted.reason);
    assert_eq!(decide_with(&wanted, &run("project:deploy"), &skills).effect, Effect::Deny);
    let asking =
        policy(&[(User, &["ask run_script"])]).with_preapproval(Preapproval::TrustedSkills);
    assert_eq!(decide_with(&asking, &run("user:pdf"), &skills).effect, Effect::Ask);
}

#[test]
fn a_loaded_skill_reads_its_own_files() {
    let mut skill = loaded("user:pdf", None);
    skill.dir = Some(path("/home/me/.agent/skills/pdf"));
    let read = request("read_file ~/.agent/skills/pdf/references/a.md");
    let policy = policy(&[]);
    let skills = [skill];
    assert_eq!(decide_with(&policy, &read, &skills).effect, Effect::Allow);
    assert_eq!(decide_with(&policy, &read, &[]).effect, Effect::Deny);
    let for_other = read.acting_for(acting("user:pdf"));
    assert_eq!(decide_with(&policy, &for_other, &skills).effect, Effect::Allow);
    assert_eq!(places().workspace(), &path("/home/me/p"));
    assert_eq!(id("user:pdf").to_string(), "user:pdf");
}

#[test]
fn a_decision_is_a_document_and_a_story() {
    let policy =
        policy(&[(User, &["allow run_command git *"]), (Project, &["deny run_command git push"])]);
    let decision = decide(&policy, &request("run_command git push"));
    let json = serde_json::to_value(&decision).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "effect": "deny",
            "reason": "`run_command` of `git push` is refused: by the rule deny `run_command` `git push` (project.json:1)",
            "permission": "run_command",
            "subject": {"command": ["git", "push"]},
            "layers": [
                {
                    "layer": "user",
                    "effect": "allow",
                    "because": "by the rule allow `run_command` `git *` (user.json:1)",
                    "rule": {
                        "permission": "run_command", "pattern": "git *", "effect": "allow",
                        "origin": "user.json", "line": 1,
                    },
                    "losers": [],
                },
                {
                    "layer": "project",
                    "effect": "deny",
                    "because": "by the rule deny `run_command` `git push` (project.json:1)",
                    "rule": {
                        "permission": "run_command", "pattern": "git push", "effect": "deny",
                        "origin": "project.json", "line": 1,
                    },
                    "losers": [],
                },
            ],
        })
    );
    assert_eq!(
        decision.sentences(),
        [
            "`run_command` of `git push` is refused: by the rule deny `run_command` `git push` (project.json:1)",
            "user: allow, by the rule allow `run_command` `git *` (user.json:1)",
            "project: deny, by the rule deny `run_command` `git push` (project.json:1)",
        ]
    );
}

#[test]
fn a_rule_that_cannot_be_used_is_an_error_with_its_place() {
    let layer = |permission: &str, pattern: &str| {
        let rule = Rule {
            permission: permission.to_owned(),
            pattern: pattern.to_owned(),
            effect: Effect::Allow,
        };
        RuleLayer::new(User, "config.json", [PlacedRule { rule, line: Some(7) }])
    };
    let message = |permission, pattern| layer(permission, pattern).unwrap_err().to_string();
    assert_eq!(
        message("run command", "*"),
        "config.json:7: `run command` is not a valid permission name"
    );
    assert_eq!(message("run_command", " "), "config.json:7: ` ` is not a valid pattern");
    assert_eq!(
        message("network", "*.bücher.de"),
        "config.json:7: `*.bücher.de` is not a valid host"
    );
    assert!(layer("network", "*.xn--bcher-kva.de").is_ok() && layer("*", "bücher/*").is_ok());
    let foreign = layer("wirte_file", "*").unwrap();
    assert_eq!(foreign.foreign().map(|rule| rule.line).collect::<Vec<_>>(), [Some(7)]);
}

#[test]
fn a_build_file_asks_unless_a_rule_has_that_very_path() {
    let effect = |layers: &[(RuleSource, &[&str])], text: &str| {
        let decision = decide(&policy(layers), &request(text));
        let by = decision.deciding().unwrap().layer;
        (decision.effect, by)
    };
    let guarded = (Effect::Ask, LayerKind::Guarded);
    for rule in ["allow *", "allow write_file", "allow write_file Make*", "allow write_file ./"] {
        assert_eq!(effect(&[(User, &[rule])], "write_file Makefile"), guarded, "{rule}");
    }
    for rule in ["Makefile", "./Makefile", "/home/me/p/Makefile", "~/p/Makefile"] {
        let rule = format!("allow write_file {rule}");
        for rules in [vec![rule.as_str()], vec![rule.as_str(), "allow *"]] {
            let (effect, _) = effect(&[(User, &rules)], "write_file Makefile");
            assert_eq!(effect, Effect::Allow, "{rules:?}");
        }
        // It is about that file alone, and only the user and an administrator can say it.
        let (all, named) = (["allow *"], [rule.as_str()]);
        assert_eq!(effect(&[(User, &[&rule, "allow *"])], "write_file sub/Makefile"), guarded);
        for source in [Project, Run] {
            let layers: &[(RuleSource, &[&str])] = &[(User, &all), (source, &named)];
            assert_eq!(effect(layers, "write_file Makefile"), guarded, "{source:?}");
        }
        // Naming it for one tool names it for that tool.
        assert_eq!(effect(&[(User, &[&rule, "allow *"])], "delete_file Makefile"), guarded);
        let layers: &[(RuleSource, &[&str])] = &[(User, &named), (Project, &["deny write_file"])];
        assert_eq!(effect(layers, "write_file Makefile").0, Effect::Deny);
    }
    for text in ["read_file Makefile", "grep Makefile"] {
        assert_eq!(effect(&[], text).0, Effect::Allow, "{text}");
    }
    // Another program's tool could change it, unless it was registered as one that reads.
    let open = policy(&[(User, &["allow *"])]);
    let subject = Subject::path("/home/me/p/Makefile").unwrap();
    for (risk, expected) in
        [(None, Effect::Ask), (Some(Risk::High), Effect::Ask), (Some(Risk::Low), Effect::Allow)]
    {
        let mut asked = Request::new(Permission::named("their").unwrap(), vec![subject.clone()]);
        asked.declared_risk = risk;
        assert_eq!(decide(&open, &asked).effect, expected, "{risk:?}");
    }
}
