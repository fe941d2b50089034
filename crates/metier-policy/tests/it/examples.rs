//! Examples in policy files: they hold, or say where and why they do not.
//! The messages are compared whole: they are all that the author of a file gets.

use metier_policy::{Effect, Example, PlacedExample, RuleSource, check_examples};

use crate::support::{layer, places};

fn examples(texts: &[(&str, Effect)]) -> Vec<PlacedExample> {
    let example = |(request, expect): &(&str, Effect)| Example {
        request: (*request).to_owned(),
        expect: *expect,
    };
    let placed = |(example, line)| PlacedExample { example, line: Some(line) };
    texts.iter().map(example).zip(10..).map(placed).collect()
}

#[test]
fn examples_that_hold_pass() {
    let rules = ["allow run_command git *", "ask run_command git push", "deny read_file secret/*"];
    let user = layer(RuleSource::User, &rules);
    let held = examples(&[
        ("run_command git log -1", Effect::Allow),
        ("run_command git commit -m 'a; b'", Effect::Allow),
        ("run_command git push --force", Effect::Ask),
        ("run_command rm x", Effect::Ask),
        ("read_file secret/a", Effect::Deny),
        ("read_file src/a", Effect::Allow),
        ("write_file src/a", Effect::Deny),
        ("load_skill user:pdf", Effect::Allow),
    ]);
    assert_eq!(check_examples(&user, &held, &places()), Ok(()));
}

#[test]
fn a_project_is_judged_by_its_own_rules() {
    let project = layer(RuleSource::Project, &["deny write_file dist/*"]);
    let held =
        examples(&[("write_file dist/a", Effect::Deny), ("write_file src/a", Effect::Allow)]);
    assert_eq!(check_examples(&project, &held, &places()), Ok(()));
}

#[test]
fn an_example_that_fails_says_where_and_why() {
    let user = layer(RuleSource::User, &["allow run_command git *"]);
    let wrong = examples(&[
        ("run_command git push", Effect::Ask),
        ("run_command git log; rm x", Effect::Deny),
        ("", Effect::Deny),
        ("run_command git log", Effect::Allow),
    ]);
    let faults = check_examples(&user, &wrong, &places()).unwrap_err();
    let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "user.json:10: the example `run_command git push` expects ask, but the result \
             is allow: by the rule allow `run_command` `git *` (user.json:1)",
            "user.json:11: the example `run_command git log; rm x` is not a valid request: the command \
             `git log; rm x` needs a shell for `;`",
            "user.json:12: the example `` is not a valid request: `` is not a valid permission name",
        ]
    );
}
