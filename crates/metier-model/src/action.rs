//! What a model may decide: one action a turn, and what it plans.
//!
//! These types are the only source of the protocol: the schema, the words in the prompt and the
//! parser follow them. Whether an action may be done is not asked here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::{Plan, PlanUpdate};

/// One reply of a model, understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The plan, with the first decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// A change of the plan, later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_update: Option<PlanUpdate>,
    /// What to do next.
    pub action: Action,
}

impl Decision {
    /// A decision that leaves the plan alone.
    pub const fn to(action: Action) -> Self {
        Self { plan: None, plan_update: None, action }
    }

    /// The decision as a model writes it.
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps with text keys: there is nothing that JSON could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A skill as a model names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SkillRef {
    /// Its name.
    pub name: String,
    /// Where it comes from, where one name has several: `project`, `user`, `builtin`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl SkillRef {
    /// The skill of this name that counts.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), source: None }
    }

    /// `source:name`, or the name where no source is given.
    pub fn text(&self) -> String {
        match &self.source {
            Some(source) => format!("{source}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Action {
    /// Load the bodies of these skills.
    SelectSkills {
        /// The skills.
        skills: Vec<SkillRef>,
        /// Why these.
        #[serde(default)]
        reason: String,
    },
    /// Read a file of a loaded skill, or a section of it.
    LoadResource {
        /// The skill.
        skill: SkillRef,
        /// The file's path in it.
        relative_path: String,
        /// The heading of the section that is wanted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section_hint: Option<String>,
    },
    /// Run a script of a loaded skill.
    RunScript {
        /// The skill.
        skill: SkillRef,
        /// The script's path in it.
        relative_path: String,
        /// Its arguments; no shell looks at them.
        #[serde(default)]
        args: Vec<String>,
    },
    /// Find skills that are not on the list.
    SearchSkills {
        /// Words of what is wanted.
        query: String,
    },
    /// Call a tool.
    CallTool {
        /// Its name.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        args: Map<String, Value>,
        /// The skill that it is done for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<SkillRef>,
    },
    /// The end: the answer.
    FinalAnswer {
        /// The answer for the user.
        text: String,
        /// The same for programs, if it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        /// How it went, in the model's own view.
        #[serde(default, skip_serializing_if = "AnswerStatus::is_done")]
        status: AnswerStatus,
    },
}

/// How a run went, as the model that answers sees it. What was tried in the run counts more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    /// The request is answered.
    #[default]
    Done,
    /// Nothing could be done for it.
    Abstained,
    /// It was tried, and did not work.
    Failed,
}

impl AnswerStatus {
    /// The words, as they are written.
    pub const WORDS: [&'static str; 3] = ["done", "abstained", "failed"];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

impl Action {
    /// The end, with this answer.
    pub fn answer(text: impl Into<String>) -> Self {
        Self::FinalAnswer { text: text.into(), data: None, status: AnswerStatus::Done }
    }

    /// A call of a tool, for no skill in particular. Arguments that are no object are none.
    pub fn call(tool: impl Into<String>, args: Value) -> Self {
        let args = match args {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        Self::CallTool { tool: tool.into(), args, skill: None }
    }

    /// The kinds of actions, as they are written.
    pub const KINDS: [&'static str; 6] = [
        "select_skills",
        "load_resource",
        "run_script",
        "search_skills",
        "call_tool",
        "final_answer",
    ];

    /// The kind, as it is written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::SelectSkills { .. } => "select_skills",
            Self::LoadResource { .. } => "load_resource",
            Self::RunScript { .. } => "run_script",
            Self::SearchSkills { .. } => "search_skills",
            Self::CallTool { .. } => "call_tool",
            Self::FinalAnswer { .. } => "final_answer",
        }
    }

    /// What it is about, in a few words for people: `pdf, xlsx`, `pdf/scripts/fill.py`.
    pub fn target(&self) -> String {
        match self {
            Self::SelectSkills { skills, .. } => {
                skills.iter().map(SkillRef::text).collect::<Vec<_>>().join(", ")
            }
            Self::LoadResource { skill, relative_path, .. }
            | Self::RunScript { skill, relative_path, .. } => {
                format!("{}/{relative_path}", skill.text())
            }
            Self::SearchSkills { query } => query.clone(),
            Self::CallTool { tool, .. } => tool.clone(),
            Self::FinalAnswer { .. } => String::new(),
        }
    }
}
