//! `allowed-tools`: what a skill lists is the most that happens for it.
//! Everything else is allowed in these tests, so that only the list can refuse.

use metier_policy::{Effect, LayerKind, RuleSource};

use crate::support::{acting, decide_with, loaded, policy, request};

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
fn without_attribution_all_loaded_ceilings_hold() {
    let policy = policy(EVERYTHING);
    let skills =
        [loaded("user:pdf", Some(&["Read", "Bash(git:*)"])), loaded("user:csv", Some(&["Read"]))];
    let effect = |text: &str| decide_with(&policy, &request(text), &skills).effect;
    assert_eq!(effect("read_file a.txt"), Effect::Allow);
    assert_eq!(effect("run_command git log"), Effect::Deny);
    let git = request("run_command git log");
    let for_pdf = git.clone().acting_for(acting("user:pdf"));
    assert_eq!(decide_with(&policy, &for_pdf, &skills).effect, Effect::Allow);
    let for_csv = git.acting_for(acting("user:csv"));
    assert_eq!(decide_with(&policy, &for_csv, &skills).effect, Effect::Deny);
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
