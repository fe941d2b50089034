//! What a `SKILL.md` says of its skill, as far as shipping needs it: judged while the file goes by.
//!
//! The parser is `metier-skill`'s; this file only keeps what a plan shows and a lock records.

use metier_skill::{
    Code, Digest, ParseOptions, Profile, RequiredSkills, Severity, SkillName, fence, parse,
};
use serde::Serialize;

/// The file that makes a directory a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// What a `SKILL.md` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillFacts {
    /// The skill, when it can be used at all.
    pub(crate) skill: Option<SkillSummary>,
    /// Errors and warnings, in the order of the file.
    pub(crate) problems: Vec<SkillProblem>,
}

/// A skill in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillSummary {
    pub(crate) name: SkillName,
    pub(crate) description: String,
    pub(crate) version: Option<String>,
    pub(crate) allowed_tools: Option<Vec<String>>,
    pub(crate) requires: RequiredSkills,
    /// The digest of the body, where it is long enough to tell one skill from another.
    pub(crate) body: Option<Digest>,
}

/// Below this many bytes a body says little.
const MIN_BODY_BYTES: usize = 40;

/// What is wrong with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillProblem {
    /// The stable code of the diagnostic.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// Judges the bytes of a `SKILL.md`. The name of its directory is not compared: the directory gets the
/// skill's name when it is installed.
pub(crate) fn read_facts(bytes: &[u8], profile: Profile) -> SkillFacts {
    let checked = parse(bytes, &ParseOptions { profile, ..ParseOptions::default() });
    let problems = checked
        .diagnostics
        .iter()
        .filter(|found| matches!(found.severity, Severity::Error | Severity::Warning))
        .map(|found| SkillProblem {
            code: found.code,
            severity: found.severity,
            line: found.line,
            message: found.message.to_string(),
        })
        .collect();
    let skill = checked.skill.map(|skill| SkillSummary {
        version: skill.details().version.as_deref().map(ToOwned::to_owned),
        allowed_tools: skill
            .controls
            .allowed_tools
            .as_ref()
            .map(|tools| tools.iter().map(ToString::to_string).collect()),
        requires: RequiredSkills::of(&skill),
        body: body_digest(bytes),
        description: skill.description.to_string(),
        name: skill.name,
    });
    SkillFacts { skill, problems }
}

fn body_digest(bytes: &[u8]) -> Option<Digest> {
    let fence::Fence::Closed(found) = fence::find(bytes, fence::Complete::Yes) else { return None };
    let body = bytes.get(found.body..)?.trim_ascii();
    (body.len() >= MIN_BODY_BYTES).then(|| Digest::of(body))
}

impl SkillProblem {
    /// For a file that gave no other reason.
    pub(crate) fn unreadable() -> Self {
        Self {
            code: Code::FrontmatterMissing,
            severity: Severity::Error,
            line: 1,
            message: "the file cannot be read as a skill".to_owned(),
        }
    }
}
