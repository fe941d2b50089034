//! What is doubtful about cases: those that can be run, and whose results would say less than they seem to.
//! It changes no case, and `metier eval check` prints what it finds.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use metier::agent::Status;
use metier::{CancelToken, Metier};
use serde::Serialize;

use crate::case::{Case, Constraints, Expected};
use crate::error::{EvalError, Result};
use crate::own_loop::{LoopOptions, LoopSubject};
use crate::plan::Arm;
use crate::planning::skills_under_test;
use crate::subject::EvalSubject;
use crate::wrong_names::wrong_names;

/// Cases of each kind that a skill needs before its numbers say anything.
const MIN_CASES: usize = 5;

/// Something doubtful.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseFinding {
    /// The stable code.
    pub code: &'static str,
    /// The file.
    pub file: String,
    /// The line of the case, from 1; 0 where it is about all of them.
    pub line: usize,
    /// The case, or the skill where it is about all cases of one.
    pub about: String,
    /// What it is.
    pub message: String,
    /// What to do.
    pub help: String,
}

fn finding(code: &'static str, case: &Case, message: String, help: &str) -> CaseFinding {
    CaseFinding {
        code,
        file: case.origin.file.clone(),
        line: case.origin.line,
        about: case.id.clone(),
        message,
        help: help.to_owned(),
    }
}

/// What is doubtful about these cases.
pub fn check_cases(metier: &Metier, cases: &[Case]) -> Result<Vec<CaseFinding>> {
    let mut found = duplicates(cases);
    found.extend(cases.iter().filter_map(|case| leaked_name(metier, case)));
    found.extend(cases.iter().flat_map(|case| unknown_names(metier, case)));
    found.extend(cases.iter().filter_map(expects_nothing));
    found.extend(too_few(cases));
    found.extend(needless(metier, cases)?);
    found.sort_by(|a, b| (&a.file, a.line, a.code).cmp(&(&b.file, b.line, b.code)));
    Ok(found)
}

fn is_positive(case: &Case, skill: &str) -> bool {
    case.expected.skills.iter().flatten().any(|it| it == skill)
}

/// Whether a case says that the skill is not to be loaded: one that lists skills means no others, as in the report.
fn is_negative(case: &Case, skill: &str) -> bool {
    let Expected { skills, not_skills, .. } = &case.expected;
    not_skills.iter().any(|it| it == skill)
        || skills.as_ref().is_some_and(|skills| !skills.iter().any(|it| it == skill))
}

fn duplicates(cases: &[Case]) -> Vec<CaseFinding> {
    let folded = |case: &Case| {
        let words: Vec<String> = case.input.split_whitespace().map(str::to_lowercase).collect();
        (words.join(" "), case.skill.clone())
    };
    let mut first: HashMap<(String, Option<String>), &Case> = HashMap::new();
    let mut found = Vec::new();
    for case in cases {
        let key = folded(case);
        let Some(before) = first.get(&key) else {
            first.insert(key, case);
            continue;
        };
        let place = format!("{}:{}", before.origin.file, before.origin.line);
        // A case that says nothing about skills contradicts none that does.
        let both_say = before.expected.is_about_skills() && case.expected.is_about_skills();
        let contradicts = both_say
            && (before.expected.skills != case.expected.skills
                || before.expected.not_skills != case.expected.not_skills);
        if !both_say && before.expected != case.expected {
            continue;
        }
        found.push(if contradicts {
            let message = format!("the same request as in {place}, and something else is expected");
            finding("contradiction", case, message, "keep one of the two")
        } else {
            let message = format!("the same request as in {place}");
            finding("duplicate", case, message, "remove one: it counts twice, and says nothing new")
        });
    }
    found
}

/// A request that calls the skill it should find: it is loaded before any model decides, or by its name alone.
fn leaked_name(metier: &Metier, case: &Case) -> Option<CaseFinding> {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        format!(" {} ", words.map(str::to_lowercase).collect::<Vec<_>>().join(" "))
    };
    let input = words(&case.input);
    let called = metier.skills_called(&case.input);
    let named = case.expected.skills.iter().flatten().find(|skill| {
        // One common word, such as `pdf`, is what users type; a name of several is not.
        let name = words(skill);
        called.iter().any(|id| id.name.as_str() == *skill)
            || name.trim().contains(' ') && input.contains(&name)
    })?;
    let message = format!("the request names the skill {named}");
    let help = "write it as a user would who does not know the skill: a skill that is called by its name is loaded, \
                whatever its description says";
    Some(finding("leaked-name", case, message, help))
}

/// A case that can come out in no way.
fn expects_nothing(case: &Case) -> Option<CaseFinding> {
    let limits = Constraints { trigger_within: None, timeout_s: None, ..case.constraints.clone() };
    let says_nothing = case.expected == Expected::default() && limits == Constraints::default();
    says_nothing.then(|| {
        let message = "nothing is expected of this case, so nothing is judged".to_owned();
        finding(
            "expects-nothing",
            case,
            message,
            "add `expected: {skills: [..]}`, or what the answer must have",
        )
    })
}

fn unknown_names(metier: &Metier, case: &Case) -> Vec<CaseFinding> {
    let wrong = wrong_names(&metier.skills(), case).into_iter();
    wrong.map(|it| finding(it.code, case, it.message, &it.help)).collect()
}

fn too_few(cases: &[Case]) -> Vec<CaseFinding> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for skill in skills_under_test(cases) {
        let of = |is: fn(&Case, &str) -> bool| cases.iter().filter(|case| is(case, skill)).count();
        counts.insert(skill, (of(is_positive), of(is_negative)));
    }
    // A skill that only answers are judged of is not measured by how it triggers.
    let measured = counts.into_iter().filter(|(_, (positive, negative))| positive + negative > 0);
    let mut found = Vec::new();
    for (skill, (positive, negative)) in measured {
        for (code, kind, count) in [
            ("few-positives", "should load", positive),
            ("few-negatives", "should not load", negative),
        ] {
            if count < MIN_CASES {
                let message = format!(
                    "only {count} of the cases {kind} {skill}; at least {MIN_CASES} are needed"
                );
                found.push(CaseFinding {
                    code,
                    file: String::new(),
                    line: 0,
                    about: skill.to_owned(),
                    message,
                    help: "with fewer, the numbers are chance; write what users really ask"
                        .to_owned(),
                });
            }
        }
    }
    found
}

/// Positives that need no skill: without it, the offline model answers them, or takes another.
fn needless(metier: &Metier, cases: &[Case]) -> Result<Vec<CaseFinding>> {
    let options = LoopOptions { model: Some("router".to_owned()), ..LoopOptions::default() };
    let subject = LoopSubject::trusted_or_not(metier, options, [])?;
    let folder = tempfile::tempdir().map_err(|error| {
        EvalError::store(
            format!("no folder for trials: {error}"),
            "make the temporary directory writable",
        )
    })?;
    let mut found = Vec::new();
    for case in cases {
        let known = |skill: &&String| subject.scan().index.find(skill).is_some();
        let Some(skill) = case.expected.skills.iter().flatten().find(known) else { continue };
        found.extend(without(&subject, case, skill, folder.path()));
    }
    Ok(found)
}

fn without(subject: &LoopSubject, case: &Case, skill: &str, folder: &Path) -> Option<CaseFinding> {
    let alone = Case {
        input: case.input.clone(),
        skill: Some(skill.to_owned()),
        expected: Expected { skills: Some(Vec::new()), ..Expected::default() },
        ..Case::default()
    };
    let trace = subject.run(&alone, Arm::None, folder, &CancelToken::new()).ok()?;
    if let Some(other) = trace.fired.first() {
        let message = format!("without {skill}, the skill {} takes it", other.skill);
        let help = "see `metier eval overlap`: the two descriptions compete for these words";
        return Some(finding("other-skill", case, message, help));
    }
    let is_answered = matches!(trace.status, Status::Completed | Status::DryRun);
    is_answered.then(|| {
        let message = format!("it is answered without {skill}, by the tools alone");
        finding("needless", case, message, "ask for something that needs what the skill knows")
    })
}
