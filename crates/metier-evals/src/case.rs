//! One case: what is asked, what is expected of it, and what it may use.
//!
//! These are the values that every case file comes to, whatever its spelling. Reading files is
//! `read`'s; judging a trial by a case is `score`'s.

use std::collections::BTreeMap;

use metier::skill::Digest;
use metier::tools::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::read::short::{self, TextOr, TextOrList, TextOrListOr};

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Case {
    /// Its id, unique in a plan.
    pub id: String,
    /// The request, as a person would type it.
    pub input: String,
    /// The skill that it is about: the one that arms vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Files that the workspace of a trial has: their paths there, and where they are, relative to the
    /// case file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What those files contained when the plan was made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, Digest>,
    /// What is expected.
    pub expected: Expected,
    /// What it may use.
    pub constraints: Constraints,
    /// What the offline model decides in its place, turn by turn; other models are not asked for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Value>,
    /// Words to choose cases by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Where it was written.
    pub origin: CaseOrigin,
}

impl Expected {
    /// Whether it says which skills are loaded, or are not.
    pub fn is_about_skills(&self) -> bool {
        self.skills.is_some() || !self.not_skills.is_empty()
    }
}

impl Case {
    /// Whether it is about how the instructions of a skill are followed.
    pub(crate) fn has_instructions_of(&self, skill: &str) -> bool {
        self.skill.iter().chain(self.expected.skills.iter().flatten()).any(|name| name == skill)
    }

    /// Whether it only asks which skills are loaded: then it is decided about, and nothing has to be done.
    pub fn only_triggers(&self) -> bool {
        let Expected { skills: _, not_skills: _, actions, steps, output } = &self.expected;
        let limits = Constraints {
            trigger_within: None,
            timeout_s: None,
            forbidden_tools: Vec::new(),
            ..self.constraints.clone()
        };
        *actions == ActionChecks::default()
            && steps.is_empty()
            && *output == OutputChecks::default()
            && limits == Constraints::default()
            && self.expected.is_about_skills()
    }
}

/// Where a case was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseOrigin {
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Whether the file is a list in another format than ours, whose ids are only unique in it.
    #[serde(skip)]
    pub is_foreign: bool,
}

/// The tools that a case may name besides those of a program's own.
pub(crate) const TOOLS: [&str; 12] = [
    "read_file",
    "list_dir",
    "grep",
    "write_file",
    "delete_file",
    "run_command",
    "network_request",
    "run_script",
    "load_skill",
    "select_skills",
    "load_resource",
    "search_skills",
];

/// What is expected of a trial. What is not said is not judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expected {
    /// The skills that must be loaded, and no others. An empty list says that none may be.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "short::some_texts")]
    #[schemars(with = "Option<TextOrList<String>>")]
    pub skills: Option<Vec<String>>,
    /// Skills that must not be loaded, where others may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub not_skills: Vec<String>,
    /// What must, and must not, be done.
    #[serde(deserialize_with = "short::one")]
    #[schemars(with = "TextOrListOr<ActionPattern, ActionChecks>")]
    pub actions: ActionChecks,
    /// Steps of the skill's instructions that must show in what was done after it was loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<InstructionStep>")]
    pub steps: Vec<InstructionStep>,
    /// What the answer and the files must be like.
    #[serde(deserialize_with = "short::one")]
    #[schemars(with = "TextOrListOr<String, OutputChecks>")]
    pub output: OutputChecks,
}

/// What must, and must not, be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActionChecks {
    /// Each of these at least once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<ActionPattern>")]
    pub must: Vec<ActionPattern>,
    /// None of these ever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<ActionPattern>")]
    pub must_not: Vec<ActionPattern>,
    /// These, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "short::some")]
    #[schemars(with = "Option<TextOrListOr<ActionPattern, ActionSequence>>")]
    pub order: Option<ActionSequence>,
    /// Each of these as often as it says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<ActionCount>")]
    pub counts: Vec<ActionCount>,
}

/// A kind of action, narrowed by what it is about. What is not given fits everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActionPattern {
    /// The kind, as `Action::KINDS` spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The skill's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The file or script in it, with `*` and `?`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What its arguments must be: a tool's by name, a script's by place (`0`, `1`, ...) or `*` for any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "short::arguments")]
    pub args: BTreeMap<String, ArgumentPattern>,
    /// Whether it must have worked, or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
}

/// What an argument must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentPattern {
    /// This value.
    Equals(Value),
    /// A text that this expression finds something in.
    Regex(String),
    /// A text with this in it.
    Contains(String),
}

/// Actions, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSequence {
    /// How closely.
    #[serde(default)]
    pub mode: SequenceMode,
    /// The actions.
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<ActionPattern>")]
    pub actions: Vec<ActionPattern>,
}

/// How closely a sequence is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SequenceMode {
    /// In this order, with others between them.
    #[default]
    InOrder,
    /// These and no others, in this order.
    Exact,
    /// All of these, in any order, with others between them.
    AnyOrder,
    /// In this order, with no others between them.
    Adjacent,
}

/// How often an action may be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionCount {
    /// The action.
    #[serde(deserialize_with = "short::one")]
    #[schemars(with = "TextOr<ActionPattern>")]
    pub action: ActionPattern,
    /// At least so often.
    #[serde(default)]
    pub min: u32,
    /// At most so often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// A step of a skill's instructions, as it shows in what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionStep {
    /// What it is, for people.
    pub title: String,
    /// The action that shows it, at least once after the load.
    #[serde(deserialize_with = "short::one")]
    #[schemars(with = "TextOr<ActionPattern>")]
    pub action: ActionPattern,
}

/// What the answer and the files must be like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputChecks {
    /// Texts that are in the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub contains: Vec<String>,
    /// Texts that are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub not_contains: Vec<String>,
    /// Expressions that find something in the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub regex: Vec<String>,
    /// What the answer's data must be, or the answer where it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
    /// Files that must be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<FileCheck>")]
    pub files: Vec<FileCheck>,
    /// Programs that must exit with a status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<CommandCheck>")]
    pub commands: Vec<CommandCheck>,
    /// What a model must say of the answer. Only judged where a judge is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::list")]
    #[schemars(with = "TextOrList<JudgeCheck>")]
    pub judge: Vec<JudgeCheck>,
}

/// A file that must be there after a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileCheck {
    /// Its path in the workspace, or below the outputs of the trial's scripts, with `*` and `?`.
    pub path: String,
    /// Text that is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// A program that must exit with a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandCheck {
    /// The program and its arguments; no shell looks at them. It starts in the trial's workspace, in the
    /// sandbox, with the answer on `ANSWER_FILE`.
    pub command: Vec<String>,
    /// The status.
    #[serde(default)]
    pub exit: i32,
}

/// A statement about the answer that a model judges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeCheck {
    /// The statement, which must be true.
    pub statement: String,
}

/// What a trial may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// Calls of tools and scripts at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Turns of the model at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Tokens, sent and received, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Names of tools that are denied, and whose use fails the case; `*` is any text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub forbidden_tools: Vec<String>,
    /// Steps within which a skill must be loaded; [`Constraints::TRIGGER_WITHIN`] where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_within: Option<u32>,
    /// Seconds that a trial may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
}

impl Constraints {
    /// Steps within which a skill must be loaded, where a case does not say.
    pub const TRIGGER_WITHIN: u32 = 3;

    /// Steps within which a skill must be loaded.
    pub fn trigger_within(&self) -> u32 {
        self.trigger_within.unwrap_or(Self::TRIGGER_WITHIN)
    }
}
