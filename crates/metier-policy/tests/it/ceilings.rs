//! `allowed-tools`: what a skill lists is the most that happens for it.
//! Everything else is allowed in these tests, so that only the list can refuse.

use metier_policy::{CeilingReach, CeilingRefusal, Effect, LayerKind, Risk, RuleSource};

use crate::support::{acting, decide_with, id, loaded, path, policy, request};

const EVERYTHING: &[(RuleSource, &[&str])] = &[(RuleSource::User, &["allow *"])];

#[test]
fn a_skill_that_lists_read_does_nothing_else_whatever_is_asked() {
    let policy = policy(EVERYTHING);
    let skills = [loaded("user:pdf", Some(&["Read"]))];
    for (text, expected) in [
        ("read_file src/a.rs", Effect::Allow),
        ("run_script user:pdf/scripts/a.py", Effect::Deny),
        ("run_command git log", Effect::Deny),
        ("write_file a.txt", Effect::Deny),
        ("delete_file a.txt", Effect::Deny),
        ("network_request example.com", Effect::Deny),
        ("grep src", Effect::Deny),
        ("their_tool", Effect::Deny),
    ] {
        let request = request(text).acting_for(acting("user:pdf"));
        let decision = decide_with(&policy, &request, &skills);
        assert_eq!(decision.effect, expected, "{text}");
        if expected == Effect::Deny {
            let verdict = decision.deciding().unwrap();
            assert_eq!(verdict.layer, LayerKind::Skill);
            assert_eq!(verdict.because, "the allowed-tools of user:pdf list only `Read`");
        }
    }
}

#[test]
fn an_empty_list_refuses_everything_and_no_list_nothing() {
    let policy = policy(EVERYTHING);
    let read = request("read_file src/a.rs").acting_for(acting("user:pdf"));
    let with = |tools| decide_with(&policy, &read, &[loaded("user:pdf", tools)]).effect;
    assert_eq!(with(Some(&[])), Effect::Deny);
    assert_eq!(with(None), Effect::Allow);
    assert_eq!(with(Some(&["TodoWrite"])), Effect::Deny);
}

#[test]
fn listing_a_tool_grants_nothing() {
    let policy = policy(&[]);
    let write = request("write_file a.txt").acting_for(acting("user:pdf"));
    let skills = [loaded("user:pdf", Some(&["Write", "Bash", "*"]))];
    assert_eq!(decide_with(&policy, &write, &skills).effect, Effect::Deny);
}

#[test]
fn what_could_harm_is_held_to_all_ceilings_whatever_it_is_attributed_to() {
    let policy = policy(EVERYTHING);
    let skills = [
        loaded("user:pdf", Some(&["Read", "Bash(git:*)"])),
        loaded("user:csv", Some(&["Read"])),
        loaded("user:free", None),
    ];
    let git = request("run_command git log");
    for acting_for in [None, Some("user:pdf"), Some("user:csv"), Some("user:free")] {
        let mut asked = git.clone();
        asked.skill = acting_for.map(acting);
        let decision = decide_with(&policy, &asked, &skills);
        assert_eq!(decision.effect, Effect::Deny, "{acting_for:?}");
        let is_own = acting_for == Some("user:csv");
        let liftable = if is_own { vec![] } else { vec![id("user:csv")] };
        assert_eq!(decision.liftable, liftable, "{acting_for:?}");
        let ceiling = decision.deciding().unwrap().ceiling.clone().unwrap();
        let holds = if is_own { CeilingReach::Skill } else { CeilingReach::Run };
        assert_eq!(ceiling, CeilingRefusal { skill: id("user:csv"), holds });
    }
    // A person lifted it for the run; the skill's own calls stay limited.
    let mut lifted = skills;
    lifted[1].reach = CeilingReach::Skill;
    assert_eq!(decide_with(&policy, &git, &lifted).effect, Effect::Allow);
    let for_csv = git.acting_for(acting("user:csv"));
    let decision = decide_with(&policy, &for_csv, &lifted);
    assert_eq!((decision.effect, decision.liftable), (Effect::Deny, vec![]));
}

#[test]
fn the_agents_own_reads_are_its_own() {
    let policy = policy(&[]);
    let skills = [loaded("user:csv", Some(&["Bash(sh:*)"]))];
    for text in ["read_file a.txt", "grep src", "list_dir ."] {
        assert_eq!(decide_with(&policy, &request(text), &skills).effect, Effect::Allow, "{text}");
        let for_csv = request(text).acting_for(acting("user:csv"));
        assert_eq!(decide_with(&policy, &for_csv, &skills).effect, Effect::Deny, "{text}");
    }
}

#[test]
fn a_file_of_a_skill_is_held_to_its_ceiling_too() {
    let policy = policy(EVERYTHING);
    let mut skill = loaded("user:pdf", Some(&["Read"]));
    skill.dir = Some(path("/home/me/.agent/skills/pdf"));
    let skills = [skill, loaded("user:csv", None)];
    for (text, expected) in [
        ("read_file ~/.agent/skills/pdf/a.md", Effect::Allow),
        ("grep ~/.agent/skills/pdf/a.md", Effect::Deny),
        ("grep src", Effect::Allow),
    ] {
        assert_eq!(decide_with(&policy, &request(text), &skills).effect, expected, "{text}");
    }
}

#[test]
fn another_programs_tool_counts_by_its_declared_risk() {
    let policy = policy(EVERYTHING);
    let skills = [loaded("user:pdf", Some(&["Read"]))];
    for (risk, expected) in [
        (Some(Risk::Low), Effect::Allow),
        (Some(Risk::Medium), Effect::Deny),
        (Some(Risk::High), Effect::Deny),
        (None, Effect::Deny),
    ] {
        let mut asked = request("their_tool");
        asked.declared_risk = risk;
        assert_eq!(decide_with(&policy, &asked, &skills).effect, expected, "{risk:?}");
        // A built-in tool's risk is its own, whatever is declared.
        let mut asked = request("write_file a.txt");
        asked.declared_risk = risk;
        assert_eq!(decide_with(&policy, &asked, &skills).effect, Effect::Deny, "{risk:?}");
    }
}

#[test]
fn what_is_refused_for_another_reason_is_not_a_question_of_lifting() {
    let skills = [loaded("user:pdf", Some(&["Read"]))];
    let denied = policy(&[(RuleSource::User, &["allow *", "deny write_file"])]);
    let off = policy(&[]);
    let open = policy(EVERYTHING);
    for (policy, text) in [
        (&denied, "write_file a.txt"),
        (&off, "write_file a.txt"),
        (&open, "write_file ~/.bashrc"),
        (&open, "write_file .git/hooks/pre-commit"),
    ] {
        let decision = decide_with(policy, &request(text), &skills);
        assert_eq!((decision.effect, decision.liftable), (Effect::Deny, vec![]), "{text}");
    }
    let asking = policy(&[(RuleSource::User, &["ask write_file"])]);
    let decision = decide_with(&asking, &request("write_file a.txt"), &skills);
    assert_eq!((decision.effect, decision.liftable), (Effect::Deny, vec![id("user:pdf")]));
}

#[test]
fn scripts_of_limited_skills_combine() {
    let policy = policy(EVERYTHING);
    let skills =
        [loaded("user:pdf", Some(&["Bash(python3:*)"])), loaded("user:csv", Some(&["Bash(sh:*)"]))];
    for (text, skill, expected) in [
        ("run_script user:pdf/scripts/a.py", "user:pdf", Effect::Allow),
        ("run_script user:csv/scripts/a.sh", "user:csv", Effect::Allow),
        ("run_script user:csv/scripts/a.py", "user:csv", Effect::Deny),
        ("script_network user:csv/scripts/a.sh", "user:csv", Effect::Deny),
    ] {
        let asked = request(text).acting_for(acting(skill));
        assert_eq!(decide_with(&policy, &asked, &skills).effect, expected, "{text}");
        assert_eq!(decide_with(&policy, &request(text), &skills).effect, expected, "{text}");
    }
}

#[test]
fn acting_for_a_skill_that_is_not_loaded_is_refused() {
    let policy = policy(EVERYTHING);
    let read = request("read_file a.txt").acting_for(acting("user:pdf"));
    let decision = decide_with(&policy, &read, &[loaded("user:csv", None)]);
    assert_eq!(decision.effect, Effect::Deny);
    assert_eq!(decision.deciding().unwrap().because, "user:pdf is not loaded");
}

#[test]
fn a_ceiling_does_not_keep_the_next_skill_from_being_loaded() {
    let skills = [loaded("user:pdf", Some(&["Read"]))];
    let load = request("load_skill user:csv").acting_for(acting("user:csv"));
    assert_eq!(decide_with(&policy(&[]), &load, &skills).effect, Effect::Allow);
}

#[test]
fn a_skill_uses_its_own_scripts_only() {
    let policy = policy(EVERYTHING);
    let skills = [loaded("user:pdf", None), loaded("user:csv", None)];
    let run = request("run_script user:csv/scripts/a.py");
    let by_pdf = decide_with(&policy, &run.clone().acting_for(acting("user:pdf")), &skills);
    assert_eq!(by_pdf.deciding().unwrap().layer, LayerKind::Floor);
    let by_csv = decide_with(&policy, &run.acting_for(acting("user:csv")), &skills);
    assert_eq!(by_csv.effect, Effect::Allow);
}
