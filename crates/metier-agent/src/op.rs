//! One thing to do for an action, and what came of it.
//!
//! An action becomes one operation, or several where it selects several skills. Each is judged by the
//! policy, asked about where it must be, and done; the outcome is what the model is shown.

use std::sync::Arc;

use metier_policy::Invoker;
use metier_skill::{Digest, FailureCode, SkillId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One thing to do. Skills stand in it by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Load a body.
    Load {
        /// The skill.
        skill: SkillId,
        /// Who wants it.
        by: Invoker,
        /// What a person typed after `/name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Let a skill work in a loop of its own.
    Delegate {
        /// The skill.
        skill: SkillId,
        /// Who wants it.
        by: Invoker,
        /// What a person typed after `/name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Read a file of a loaded skill.
    Resource {
        /// The skill.
        skill: SkillId,
        /// The file.
        path: String,
        /// The section.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
    },
    /// Run a script of a loaded skill.
    Script {
        /// The skill.
        skill: SkillId,
        /// The script.
        path: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Call a tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments.
        args: Map<String, Value>,
        /// The skill that it is done for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<SkillId>,
    },
    /// Find skills.
    Search {
        /// The words.
        query: String,
    },
}

impl Op {
    /// What it is about, for people: `run pdf/scripts/fill.py a.pdf`.
    pub fn describe(&self) -> String {
        match self {
            Self::Load { skill, .. } => format!("load {skill}"),
            Self::Delegate { skill, .. } => format!("delegate to {skill}"),
            Self::Resource { skill, path, section: None } => format!("read {skill}/{path}"),
            Self::Resource { skill, path, section: Some(section) } => {
                format!("read {skill}/{path} ({section})")
            }
            Self::Script { skill, path, args } => {
                let words = std::iter::once(format!("run {skill}/{path}")).chain(args.clone());
                words.collect::<Vec<_>>().join(" ")
            }
            // Of a file that is written the path is what counts; a question shows the change.
            Self::Tool { tool, args, .. } if args.contains_key("content") => {
                let path = args.get("path").and_then(Value::as_str).unwrap_or_default();
                format!("{tool} {path}")
            }
            Self::Tool { tool, args, .. } => {
                let given: Vec<_> = args.iter().filter(|(_, value)| !value.is_null()).collect();
                match given.as_slice() {
                    [] => tool.clone(),
                    [(_, Value::String(only))] => format!("{tool} {only}"),
                    several => {
                        let words = several.iter().map(|(name, value)| format!("{name}={value}"));
                        format!("{tool} {}", words.collect::<Vec<_>>().join(" "))
                    }
                }
            }
            Self::Search { query } => format!("search {query}"),
        }
    }
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether it was done.
    pub ok: bool,
    /// Why not, as a stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// What the model is shown.
    pub text: Text,
    /// Whether something was left out of it.
    #[serde(default)]
    pub truncated: bool,
    /// Where the whole is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_ref: Option<String>,
    /// The same for programs.
    #[serde(default)]
    pub data: Value,
    /// The skill that was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillText>,
}

/// The text of a loaded skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillText {
    /// Its id.
    pub id: SkillId,
    /// The digest of its `SKILL.md`.
    pub sha256: Digest,
    /// The block as `read --block` prints it: with the path and the report.
    pub block: Text,
    /// The skill's folder, where the model can use it: it may run commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What it is for, where no model is offered it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The body alone.
    pub body: Text,
    /// Its files, by path.
    pub files: Vec<String>,
    /// Whether its `SKILL.md` was written to after the run began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

impl Outcome {
    /// It was done.
    pub fn done(text: impl Into<Arc<str>>, data: Value) -> Self {
        Self {
            ok: true,
            code: None,
            text: Text::Inline(text.into()),
            truncated: false,
            storage_ref: None,
            data,
            skill: None,
        }
    }

    /// It was not done, for this reason.
    pub fn failed(code: FailureCode, text: impl Into<Arc<str>>) -> Self {
        Self { ok: false, code: Some(code), ..Self::done(text, Value::Null) }
    }
}

/// A text in an event: in place, or, where it is long, in a file of the run that its digest vouches
/// for. In memory it is always in place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// In place.
    Inline(Arc<str>),
    /// In a file.
    Stored {
        /// The file, below the run's folder.
        #[serde(rename = "ref")]
        file: String,
        /// The digest of its bytes.
        sha256: Digest,
        /// How many bytes it has.
        bytes: u64,
    },
}

impl Text {
    /// The text, where it is in place.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Inline(text) => text,
            Self::Stored { .. } => "",
        }
    }

    /// The text, shared.
    pub fn shared(&self) -> Arc<str> {
        match self {
            Self::Inline(text) => Arc::clone(text),
            Self::Stored { .. } => "".into(),
        }
    }
}
