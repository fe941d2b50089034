//! A skill as its frontmatter describes it: typed fields, controls, and the untyped rest.
//!
//! Made only by `fields`; what is enforced later is in [`Controls`].

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::name::SkillName;
use crate::value::Value;

/// The fields Metier reads, the six of the public specification first.
pub const KNOWN_FIELDS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "version",
    "author",
    "disable-model-invocation",
    "user-invocable",
    "run-mode",
    "context",
    "argument-hint",
    "paths",
    "model",
];

/// How many of [`KNOWN_FIELDS`] the public specification defines.
pub(crate) const SPEC_FIELDS: usize = 6;

/// A skill's frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What a model calls it by.
    pub name: SkillName,
    /// What it does and when to use it: all a model sees before it loads the skill.
    pub description: Box<str>,
    /// Who may do what with it.
    pub controls: Controls,
    /// The other fields. Apart, because many skills have none of them and an index may hold a
    /// hundred thousand skills.
    details: Option<Box<Details>>,
}

/// The fields of a skill that a catalog does not show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// `version`, or `metadata.version`.
    pub version: Option<Box<str>>,
    /// `author`, or `metadata.author`.
    pub author: Option<Box<str>>,
    /// The licence's name or file.
    pub license: Option<Box<str>>,
    /// What it needs of its environment.
    pub compatibility: Option<Box<str>>,
    /// What a person may type after its name.
    pub argument_hint: Option<Box<str>>,
    /// The model it asks for.
    pub model: Option<Box<str>>,
    /// Globs of files in whose presence it applies.
    pub paths: Box<[Box<str>]>,
    /// The `metadata` map, nested values included. Never shown to a model.
    pub metadata: Box<[(Box<str>, Value)]>,
    /// Fields Metier does not know, kept as they were written.
    pub unknown: Box<[(Box<str>, Value)]>,
}

/// What a skill without further fields has.
static NO_DETAILS: LazyLock<Details> = LazyLock::new(Details::default);

impl Skill {
    pub(crate) fn new(
        name: SkillName,
        description: Box<str>,
        controls: Controls,
        details: Details,
    ) -> Self {
        let details = (details != *NO_DETAILS).then(|| Box::new(details));
        Self { name, description, controls, details }
    }

    /// The fields that a catalog does not show.
    pub fn details(&self) -> &Details {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }
}

impl Details {
    /// The optional one-line fields, by the names they have in JSON.
    pub fn texts(&self) -> [(&'static str, Option<&str>); 6] {
        [
            ("version", self.version.as_deref()),
            ("author", self.author.as_deref()),
            ("license", self.license.as_deref()),
            ("compatibility", self.compatibility.as_deref()),
            ("argument_hint", self.argument_hint.as_deref()),
            ("model", self.model.as_deref()),
        ]
    }
}

/// Who may start a skill, what it may use, and how it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Controls {
    /// Only a person may start it.
    pub disable_model_invocation: bool,
    /// A person may start it.
    pub user_invocable: bool,
    /// The ceiling on the tools it may use; `None` means that it sets none.
    pub allowed_tools: Option<Box<[Box<str>]>>,
    /// How it runs.
    pub run_mode: RunMode,
}

impl Default for Controls {
    fn default() -> Self {
        Self {
            disable_model_invocation: false,
            user_invocable: true,
            allowed_tools: None,
            run_mode: RunMode::Inline,
        }
    }
}

/// How a skill runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// In the conversation that loaded it.
    #[default]
    Inline,
    /// In a loop of its own that returns a summary.
    Subagent,
}

impl RunMode {
    /// The word used in frontmatter and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Subagent => "subagent",
        }
    }
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
