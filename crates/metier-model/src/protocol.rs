//! The one table of the protocol: every action with its fields, its words and an example.
//!
//! The schema, the words of the prompt and the parser all read it. A new action is a variant of
//! [`crate::Action`] and a row here; a test compares the two.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::turn::ToolOffer;

/// One action.
pub(crate) struct ActionSpec {
    /// Its name, as in [`crate::Action::KINDS`].
    pub(crate) kind: &'static str,
    /// What it is for, for the prompt.
    pub(crate) about: &'static str,
    /// Its fields besides `type`, in the order in which they are written.
    pub(crate) fields: &'static [Field],
    /// An example; nothing where the action cannot be taken.
    pub(crate) example: fn(&[ToolOffer]) -> Option<Value>,
}

/// A field of an action.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) need: Need,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A skill.
    Skill,
    /// A list of skills.
    Skills,
    /// The name of a tool.
    Tool,
    /// The arguments of a tool.
    Arguments,
    /// How it went: one of [`crate::AnswerStatus::WORDS`].
    AnswerStatus,
    /// Anything; in the schema the text of its JSON, for no provider enforces "anything".
    Anything,
}

/// Whether a field has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The action means nothing without it.
    Must,
    /// The schema asks for it; where it is absent or null, the empty value is taken.
    Empty,
    /// It may be null.
    May,
}

const fn field(name: &'static str, kind: Kind, need: Need) -> Field {
    Field { name, kind, need }
}

/// Stands for the name of a skill in the examples.
const SKILL_BLANK: &str = "SKILL";

/// The action that is offered only where the prompt does not describe all skills.
const SEARCH_SKILLS: &str = "search_skills";

/// The action that ends a run.
pub(crate) const FINAL_ANSWER: &str = "final_answer";

/// All actions, in the order in which they are explained.
///
/// A small model copies what it sees. So the examples have capitals as blanks: a copy of one is nothing
/// that could be done, and nothing in it sounds like a task.
pub(crate) const ACTIONS: [ActionSpec; 6] = [
    ActionSpec {
        kind: "select_skills",
        about: "Load the text of skills from the list.",
        fields: &[
            field("skills", Kind::Skills, Need::Must),
            field("reason", Kind::Text, Need::Empty),
        ],
        example: |_| {
            Some(json!({
                "type": "select_skills",
                "skills": [{"name": SKILL_BLANK, "source": null}],
                "reason": "WHY"
            }))
        },
    },
    ActionSpec {
        kind: "load_resource",
        about: "Read a file that the text of a loaded skill names, or one section of it. The user's \
                files: `read_file`.",
        fields: &[
            field("skill", Kind::Skill, Need::Must),
            field("relative_path", Kind::Text, Need::Must),
            field("section_hint", Kind::Text, Need::May),
        ],
        example: |_| {
            Some(json!({
                "type": "load_resource",
                "skill": {"name": SKILL_BLANK, "source": null},
                "relative_path": "PATH",
                "section_hint": null
            }))
        },
    },
    ActionSpec {
        kind: "run_script",
        about: "Run a script of a loaded skill; each argument is one string.",
        fields: &[
            field("skill", Kind::Skill, Need::Must),
            field("relative_path", Kind::Text, Need::Must),
            field("args", Kind::Texts, Need::Empty),
        ],
        example: |_| {
            Some(json!({
                "type": "run_script",
                "skill": {"name": SKILL_BLANK, "source": null},
                "relative_path": "PATH",
                "args": ["ARGUMENT", "ARGUMENT"]
            }))
        },
    },
    ActionSpec {
        kind: SEARCH_SKILLS,
        about: "Find skills that are not on the list, by a few words.",
        fields: &[field("query", Kind::Text, Need::Must)],
        example: |_| Some(json!({"type": "search_skills", "query": "WORDS"})),
    },
    ActionSpec {
        kind: "call_tool",
        about: "Call a tool.",
        fields: &[
            field("tool", Kind::Tool, Need::Must),
            field("args", Kind::Arguments, Need::Empty),
            field("skill", Kind::Skill, Need::May),
        ],
        example: |tools| {
            let tool = tools.first()?;
            let args = crate::schema::example_of("", &tool.schema);
            Some(json!({"type": "call_tool", "tool": tool.name, "args": args, "skill": null}))
        },
    },
    ActionSpec {
        kind: FINAL_ANSWER,
        about: "Answer the user; the run ends. `data`: null, or the text of a JSON value if one is \
                wanted. `status`: done, failed, or abstained (nothing here fits).",
        fields: &[
            field("text", Kind::Text, Need::Must),
            field("data", Kind::Anything, Need::May),
            field("status", Kind::AnswerStatus, Need::May),
        ],
        example: |_| {
            Some(json!({
                "type": "final_answer",
                "text": "ANSWER",
                "data": null,
                "status": "done"
            }))
        },
    },
];

/// The row of this kind.
pub(crate) fn action(kind: &str) -> Option<&'static ActionSpec> {
    ACTIONS.iter().find(|spec| spec.kind == kind)
}

/// Whether a model is asked for a plan beside its actions.
///
/// A plan is written before the action, so it decides the action: of a small model's plans most were
/// copies of an example, and the actions followed them. Without one it took the right first action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// It may give a plan and change it; it need not.
    #[default]
    On,
    /// Its replies hold the action alone.
    Off,
}

/// Whether there is something to search for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSearch {
    /// There are skills that the prompt does not describe.
    #[default]
    On,
    /// All are described: a small model would search them for the words of a file.
    Off,
}

/// What a decision may hold, besides the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecisionForm {
    /// Whether it may hold a plan.
    pub plan: PlanMode,
    /// Whether it may be a search.
    pub search: SkillSearch,
}

impl From<PlanMode> for DecisionForm {
    fn from(plan: PlanMode) -> Self {
        Self { plan, search: SkillSearch::On }
    }
}

impl DecisionForm {
    /// The actions that it may be.
    pub(crate) fn actions(self) -> impl Iterator<Item = &'static ActionSpec> {
        let is_offered =
            move |spec: &&ActionSpec| self.search == SkillSearch::On || spec.kind != SEARCH_SKILLS;
        ACTIONS.iter().filter(is_offered)
    }
}

/// The fields of a decision.
pub(crate) const DECISION: [&str; 3] = ["plan", "plan_update", "action"];
/// The fields of a skill.
pub(crate) const SKILL: [&str; 2] = ["name", "source"];
/// The fields of a plan.
pub(crate) const PLAN: [&str; 4] = ["goal", "steps", "assumptions", "constraints"];
/// The fields of a step.
pub(crate) const STEP: [&str; 3] = ["id", "title", "status"];
/// How far a step can be.
pub(crate) const STATUS: [&str; 4] = ["pending", "in_progress", "completed", "skipped"];
/// The ways to change a plan.
pub(crate) const PLAN_UPDATE: [&str; 2] = ["replace", "patch"];
/// The fields of an operation of a patch.
pub(crate) const OPERATION: [&str; 4] = ["op", "path", "from", "value"];
/// The operations of a patch (RFC 6902).
pub(crate) const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StepStatus;
    use crate::{Action, Decision};

    #[test]
    fn the_table_has_exactly_the_actions_of_the_type_in_their_order() {
        let kinds: Vec<&str> = ACTIONS.iter().map(|spec| spec.kind).collect();
        assert_eq!(kinds, Action::KINDS);
    }

    #[test]
    fn the_examples_are_actions_and_name_every_field_of_their_row() {
        let tool = ToolOffer {
            name: "read_file".to_owned(),
            description: String::new(),
            schema: json!({"type": "object", "properties": {}, "required": []}),
        };
        for spec in &ACTIONS {
            let example = (spec.example)(std::slice::from_ref(&tool)).expect("an example");
            let action: Action = serde_json::from_value(example.clone()).expect("an action");
            assert_eq!(action.kind(), spec.kind);
            let mut named: Vec<&str> =
                example.as_object().expect("an object").keys().map(String::as_str).collect();
            let mut fields: Vec<&str> = spec.fields.iter().map(|field| field.name).collect();
            fields.push("type");
            named.sort_unstable();
            fields.sort_unstable();
            assert_eq!(named, fields, "{}", spec.kind);
        }
    }

    #[test]
    fn the_other_lists_are_those_of_the_types() {
        for word in STATUS {
            let status: StepStatus = serde_json::from_value(json!(word)).expect("a status");
            assert_eq!(serde_json::to_value(status).expect("JSON"), json!(word));
        }
        let plan = json!({"goal": "g", "steps": [{"id": "a", "title": "t", "status": "pending"}],
            "assumptions": [], "constraints": []});
        let decision: Decision = serde_json::from_value(json!({
            "plan": plan, "plan_update": {"replace": plan},
            "action": {"type": "search_skills", "query": "q"}
        }))
        .expect("a decision");
        let again = serde_json::to_value(&decision).expect("JSON");
        let keys = |value: &Value| {
            let mut keys: Vec<String> =
                value.as_object().expect("an object").keys().cloned().collect();
            keys.sort();
            keys
        };
        let sorted = |words: &[&str]| {
            let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            words.sort();
            words
        };
        assert_eq!(keys(&again), sorted(&DECISION));
        assert_eq!(keys(&again["plan"]), sorted(&PLAN));
        assert_eq!(keys(&again["plan"]["steps"][0]), sorted(&STEP));
    }
}
