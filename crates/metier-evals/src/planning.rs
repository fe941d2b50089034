//! From cases and what is here to a plan: what is tested, on which skills, how often.
//!
//! Everything that would make every trial an error is found here, before the first of them: a skill that is
//! not there, a file of a case that is missing, an arm that a case has no skill for.

use std::collections::BTreeMap;

use metier::Metier;
use metier::policy::{TrustStatus, TrustedFolders};
use metier::registry::Scan;
use metier::skill::text::clip;
use metier::skill::{Digest, Source};

use crate::case::Case;
use crate::error::{CaseFault, EvalError, Result};
use crate::plan::{Arm, EvalPlan, PLAN_FORMAT, SubjectInfo};
use crate::trial_folder::content;
use crate::wrong_names::wrong_names;

/// Characters of a command that a message shows.
const MAX_COMMAND_CHARS: usize = 200;

/// What a plan is made from, besides the cases.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// How skills are offered.
    pub arms: Vec<Arm>,
    /// Trials of each case in each arm.
    pub trials: u32,
    /// The model that judges statements, by its name.
    pub judge: Option<String>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { arms: vec![Arm::Listed], trials: 1, judge: None }
    }
}

/// The names of the skills that cases are about or expect.
pub fn skills_under_test(cases: &[Case]) -> Vec<&str> {
    let named = cases.iter().flat_map(|case| {
        let expected = &case.expected;
        let lists = expected.skills.iter().flatten().chain(&expected.not_skills);
        lists.chain(&case.skill).map(String::as_str)
    });
    let mut names: Vec<&str> = named.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// An error while a skill of the project is not trusted, or has changed since: also one that another of its name
/// hides, which a model can name by its source. Its text would be sent to the model and its scripts run, or nothing
/// of the two, and its numbers would be those of a skill that is never loaded.
pub(crate) fn check_trust(metier: &Metier) -> Result<()> {
    let scan = metier.skills();
    // Who has no folders has trusted nothing.
    let trusted = match metier.user_folders() {
        Some(_) => metier.trusted_folders()?,
        None => TrustedFolders::default(),
    };
    let own = scan.index.entries().iter().chain(scan.index.shadowed());
    let own = own.filter(|entry| entry.enabled && entry.source == Source::Project);
    let untrusted: Vec<(String, &str)> = own
        .filter_map(|entry| {
            let why = match metier::trust_status(entry, &trusted) {
                TrustStatus::Untrusted => "is not trusted",
                TrustStatus::Added => "is new, and not trusted",
                TrustStatus::Changed => "has changed since it was trusted",
                TrustStatus::Trusted | TrustStatus::Followed => return None,
            };
            Some((entry.name().to_string(), why))
        })
        .collect();
    let message = match untrusted.as_slice() {
        [] => return Ok(()),
        [(name, why)] => format!("the skill {name} of this project {why}"),
        [(name, why), ..] => format!(
            "{} skills of this project are not trusted, or changed since: {name} {why}",
            untrusted.len()
        ),
    };
    Err(EvalError::Untrusted { message })
}

/// An error while cases judge by programs of their own: a case comes with a clone, and reading it is no reason to
/// run what it names. Only the user who starts the evals can say that it may.
pub(crate) fn check_commands(cases: &[Case]) -> Result<()> {
    let with: Vec<&Case> =
        cases.iter().filter(|case| !case.expected.output.commands.is_empty()).collect();
    let Some((case, command)) =
        with.first().and_then(|case| Some((case, case.expected.output.commands.first()?)))
    else {
        return Ok(());
    };
    let line = clip(&command.command.join(" "), MAX_COMMAND_CHARS).into_owned();
    let place = format!("`{line}` ({}:{})", case.origin.file, case.origin.line);
    let message = match with.len() {
        1 => format!("a case runs a program of this machine: {place}"),
        count => format!("{count} cases run programs of this machine, such as {place}"),
    };
    Err(EvalError::CommandsNotAllowed { message })
}

/// Makes a plan. Paths and contents of the files of cases are fixed in it.
pub fn make_plan(
    metier: &Metier,
    subject: SubjectInfo,
    scan: &Scan,
    mut cases: Vec<Case>,
    options: PlanOptions,
) -> Result<EvalPlan> {
    if cases.is_empty() {
        return Err(EvalError::NoCases { message: "no case is left to run".to_owned() });
    }
    let mut faults = Vec::new();
    for case in &mut cases {
        let wrong = wrong_names(scan, case).into_iter().filter(|it| it.is_certain);
        faults.extend(wrong.map(|it| fault(case, it.message, Some(it.help))));
        faults.extend(missing_arm(case, &options.arms));
        let files: Vec<(String, String)> =
            case.files.iter().map(|(to, from)| (to.clone(), from.clone())).collect();
        for (to, from) in files {
            match content(metier, case, &from) {
                Ok((_, digest)) => {
                    case.contents.insert(to, digest);
                }
                Err(message) => faults.push(fault(case, message, None)),
            }
        }
    }
    if !faults.is_empty() {
        return Err(EvalError::CaseFiles { faults });
    }
    let plan = EvalPlan {
        format: PLAN_FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        subject,
        judge: options.judge,
        index_hash: index_digest(metier, scan),
        skills: digests(metier, scan, &cases),
        arms: options.arms,
        trials: options.trials.max(1),
        cases,
    };
    match plan.fault() {
        None => Ok(plan),
        Some(fault) => {
            let help = "ask for fewer trials or cases, or make several plans";
            Err(EvalError::usage(format!("the plan {fault}"), help))
        }
    }
}

/// The digest of all skills that a trial may load, with everything that is in them. Those that others of their
/// name stand before count too: a model can name them by their source.
pub(crate) fn index_digest(metier: &Metier, scan: &Scan) -> Digest {
    let all = scan.index.entries().iter().chain(scan.index.shadowed());
    let skills = all.filter(|entry| entry.enabled).map(|entry| {
        // One that cannot be read cannot be loaded either.
        let content = metier
            .content_digest(entry)
            .map_or_else(|_| "unreadable".to_owned(), |it| it.to_string());
        format!("{} {content}", entry.id())
    });
    let parts: Vec<String> = std::iter::once(scan.index.hash().to_string()).chain(skills).collect();
    Digest::of_parts(parts.iter().map(String::as_bytes))
}

fn digests(metier: &Metier, scan: &Scan, cases: &[Case]) -> BTreeMap<String, Digest> {
    let found = skills_under_test(cases).into_iter().filter_map(|name| {
        let entry = scan.index.find(name)?;
        // One that cannot be read has the digest of its frontmatter; its trials are errors.
        Some((name.to_owned(), metier.content_digest(entry).unwrap_or(entry.digest)))
    });
    found.collect()
}

fn fault(case: &Case, message: String, help: Option<String>) -> CaseFault {
    CaseFault { file: case.origin.file.clone(), line: case.origin.line, column: 1, message, help }
}

fn missing_arm(case: &Case, arms: &[Arm]) -> Option<CaseFault> {
    let arm = arms.iter().find(|arm| **arm != Arm::Listed && case.skill.is_none())?;
    let message = format!("the arm `{}` needs to know which skill the case is about", arm.as_str());
    Some(fault(case, message, Some("add a key `skill`".to_owned())))
}
