//! Examples in policy files: a request and the expected answer, checked when the file is loaded.
//!
//! An example tests its own file: it must not fail because of rules in other files. A user's or
//! administrator's file is checked together with the default, any other file by its rules alone,
//! where a request that none of them matches is not restricted and so counts as allowed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command_line::parse_command_line;
use crate::decision::{LayerKind, PolicyDecision};
use crate::effect::Effect;
use crate::error::{PolicyError, shown};
use crate::memory::{AnswerMemory, UnixTime};
use crate::permission::Permission;
use crate::places::PolicyPlaces;
use crate::policy::{Policy, RequestContext};
use crate::request::{Invoker, Request};
use crate::rule::{RuleLayer, RuleSource};
use crate::subject::{AbsolutePath, Subject};

/// A request and the effect that the rules of its file should give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The request, such as `run_command git push` or `read_file src/a.rs`.
    #[schemars(length(min = 1))]
    pub request: String,
    /// What the rules of this file should decide.
    pub expect: Effect,
}

/// An example and its line in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedExample {
    /// The example.
    pub example: Example,
    /// Its line, where there is a file.
    pub line: Option<usize>,
}

/// An example that does not have the expected effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleFault {
    /// The file.
    pub origin: String,
    /// The line in it.
    pub line: Option<usize>,
    /// The example.
    pub example: Example,
    /// The actual result.
    pub found: ExampleOutcome,
}

/// The result of an example that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleOutcome {
    /// Another effect, for this reason.
    Other(Effect, String),
    /// The text is not a valid request.
    InvalidRequest(PolicyError),
}

impl ExampleFault {
    /// What is wrong, without the place.
    pub fn message(&self) -> String {
        let Example { request, expect } = &self.example;
        let request = shown(request);
        match &self.found {
            ExampleOutcome::Other(effect, reason) => format!(
                "the example {request} expects {expect}, but the result is {effect}: \
                 {reason}"
            ),
            ExampleOutcome::InvalidRequest(error) => {
                format!("the example {request} is not a valid request: {error}")
            }
        }
    }
}

impl fmt::Display for ExampleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(f, "{}{line}: {}", self.origin, self.message())
    }
}

impl std::error::Error for ExampleFault {}

/// The subject that `words` name for a permission, as a person writes it: paths may be relative to
/// the workspace or start with `~/`, a skill is `source:name`.
pub fn subject_of(
    permission: &Permission,
    words: &[String],
    places: &PolicyPlaces,
) -> Result<Subject, PolicyError> {
    let joined = words.join(" ");
    match permission {
        Permission::RunCommand => match words {
            // One word with blanks is a typed command line; several words are already split.
            [line] if line.contains(char::is_whitespace) => {
                parse_command_line(line).map(Subject::Command)
            }
            words => Subject::command(words.iter().cloned()),
        },
        Permission::ReadFile
        | Permission::ListDir
        | Permission::Grep
        | Permission::WriteFile
        | Permission::DeleteFile => resolve(&joined, places).map(Subject::Path),
        Permission::NetworkRequest => {
            let host = joined.split_once("://").map_or(&*joined, |(_, rest)| rest);
            Subject::host(host.split(['/', '?', '#']).next().unwrap_or(host))
        }
        Permission::LoadSkill => match joined.parse() {
            Ok(id) => Ok(Subject::Skill(id)),
            Err(_) => Subject::text(&joined),
        },
        Permission::RunScript | Permission::ScriptNetwork => {
            script_of(words).map_or_else(|| Subject::text(&joined), Ok)
        }
        Permission::Other(_) => Subject::text(&joined),
    }
}

/// `source:name/path args...`; a plugin's name may have slashes of its own only before the path.
fn script_of(words: &[String]) -> Option<Subject> {
    let (script, args) = words.split_first()?;
    let (skill, path) = script.split_once('/')?;
    let path = metier_skill::RelPath::new(path).ok()?;
    Subject::script(skill.parse().ok()?, path, args.to_vec()).ok()
}

/// A path as a person writes it, made absolute as text: `..` takes the part before it away.
fn resolve(path: &str, places: &PolicyPlaces) -> Result<AbsolutePath, PolicyError> {
    let bad = || PolicyError::BadPath(path.to_owned());
    let from_home = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    let whole = if let Some(rest) = from_home {
        format!("{}/{rest}", places.home().ok_or_else(bad)?.as_str())
    } else if path.starts_with('/') || path.as_bytes().get(1..3) == Some(b":/") {
        path.to_owned()
    } else {
        format!("{}/{path}", places.workspace().as_str())
    };
    let (root, rest) = whole.split_once('/').ok_or_else(bad)?;
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    AbsolutePath::new(&format!("{root}/{}", parts.join("/")))
}

/// Checks the examples of one file against its rules.
pub fn check_examples(
    layer: &RuleLayer,
    examples: &[PlacedExample],
    places: &PolicyPlaces,
) -> Result<(), Vec<ExampleFault>> {
    let policy = Policy::new(places.clone()).with_layer(layer.clone());
    let check = |PlacedExample { example, line }: &PlacedExample| {
        let found = match answer(&policy, layer.source(), &example.request) {
            Ok((effect, _)) if effect == example.expect => return None,
            Ok((effect, reason)) => ExampleOutcome::Other(effect, reason),
            Err(error) => ExampleOutcome::InvalidRequest(error),
        };
        let origin = layer.origin().to_owned();
        Some(ExampleFault { origin, line: *line, example: example.clone(), found })
    };
    let faults: Vec<ExampleFault> = examples.iter().filter_map(check).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn answer(
    policy: &Policy,
    source: RuleSource,
    text: &str,
) -> Result<(Effect, String), PolicyError> {
    let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let permission = Permission::named(name)?;
    let words: Vec<String> = match permission {
        Permission::RunCommand => vec![rest.trim().to_owned()],
        _ => rest.split_whitespace().map(str::to_owned).collect(),
    };
    let subject = subject_of(&permission, &words, policy.places())?;
    let request = Request::new(permission, vec![subject]).by(Invoker::Model);
    let memory = AnswerMemory::default();
    let situation = RequestContext { loaded: &[], memory: &memory, now: UnixTime(0) };
    let decision = policy.decide(&request, &situation);
    let own = |decision: &PolicyDecision| {
        let layers = decision.layers.iter().filter(|layer| {
            layer.rule.is_some() || (source.grants() && layer.layer == LayerKind::Default)
        });
        let strictest = layers.min_by_key(|layer| layer.effect);
        strictest.map(|layer| (layer.effect, layer.because.clone()))
    };
    Ok(own(&decision).unwrap_or((Effect::Allow, "none of its rules matches".to_owned())))
}
