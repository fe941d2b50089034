//! Our own format of case files, as `docs/eval.schema.json` describes it.
//!
//! A file has `cases`, or is a list of cases, or is one case. What stands beside `cases` counts for each of
//! them that does not say it.

use std::collections::BTreeMap;

use metier::skill::yaml::{Node, NodeKind};
use metier::tools::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::deserialize::from_node;
use super::short::{self, TextOrList};
use super::{ReadCase, ReadFault};
use crate::case::{Case, Constraints, Expected};

/// A file of cases for `metier eval`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "Cases for metier eval")]
pub(crate) struct CaseFile {
    /// Where an editor finds this schema.
    #[serde(rename = "$schema")]
    pub(crate) schema: Option<String>,
    /// The skill that the cases are about, where one does not say.
    pub(crate) skill: Option<String>,
    /// What the cases may use, where one does not say.
    pub(crate) constraints: Constraints,
    /// Words to choose all of the cases by.
    #[serde(deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub(crate) tags: Vec<String>,
    /// The cases.
    pub(crate) cases: Vec<CaseSpec>,
}

/// One case.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseSpec {
    /// Its id, unique among all files; made from the first words of the input where there is none.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// The request, as a person would type it.
    #[serde(alias = "prompt", alias = "query")]
    pub(crate) input: String,
    /// The skill that it is about.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    /// Files that the workspace has: their paths there, and where they are, relative to this file. A list
    /// keeps their names.
    #[serde(default, deserialize_with = "files")]
    #[schemars(with = "Files")]
    pub(crate) files: BTreeMap<String, String>,
    /// What is expected. What is not said is not judged.
    #[serde(default)]
    pub(crate) expected: Expected,
    /// What it may use.
    #[serde(default)]
    pub(crate) constraints: Constraints,
    /// What the offline model decides here, turn by turn, as in the file of a scripted model. Others decide for themselves.
    #[serde(default)]
    pub(crate) replies: Vec<serde_json::Value>,
    /// Words to choose it by.
    #[serde(default, deserialize_with = "short::texts")]
    #[schemars(with = "TextOrList<String>")]
    pub(crate) tags: Vec<String>,
}

/// In the schema: paths by their name in the workspace, or paths alone.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what `files` reads")]
enum Files {
    Named(BTreeMap<String, String>),
    Paths(Vec<String>),
    Path(String),
}

fn files<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    from.deserialize_any(super::files::FilesVisitor)
}

/// The keys of [`CaseFile`] that a single case does not have.
const FILE_KEYS: [&str; 1] = ["cases"];

/// The cases of a file in our own format.
pub(crate) fn cases(root: &Node<'_>) -> Result<Vec<ReadCase>, Vec<ReadFault>> {
    let is_file = root
        .entries()
        .is_some_and(|entries| entries.iter().any(|(key, _)| FILE_KEYS.contains(&key.key_text())));
    let (shared, items): (CaseFile, &[Node<'_>]) = match &root.kind {
        NodeKind::List(items) => (CaseFile::default(), items),
        NodeKind::Map(entries) if is_file => {
            let items = entries.iter().find(|(key, _)| key.key_text() == "cases");
            let Some((_, Node { kind: NodeKind::List(items), .. })) = items else {
                let message = "`cases` is not a list";
                return Err(vec![ReadFault::new(root.span.clone(), message)]);
            };
            // Every case is read alone, so that one mistake does not hide the next.
            let rest = entries.iter().filter(|(key, _)| key.key_text() != "cases").cloned();
            let rest = Node { kind: NodeKind::Map(rest.collect()), span: root.span.clone() };
            (from_node(&rest).map_err(|fault| vec![fault])?, items)
        }
        _ => (CaseFile::default(), std::slice::from_ref(root)),
    };
    let mut faults = Vec::new();
    let mut cases = Vec::new();
    for item in items {
        match from_node::<CaseSpec>(item) {
            Ok(spec) => cases.push(ReadCase {
                at: item.span.start,
                case: spec.with(&shared),
                is_foreign: false,
            }),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(cases) } else { Err(faults) }
}

impl CaseSpec {
    fn with(self, shared: &CaseFile) -> Case {
        let mut tags = shared.tags.clone();
        tags.extend(self.tags);
        Case {
            id: self.id.unwrap_or_default(),
            input: self.input,
            skill: self.skill.or_else(|| shared.skill.clone()),
            files: self.files,
            replies: self.replies,
            expected: self.expected,
            constraints: self.constraints.or(&shared.constraints),
            tags,
            ..Case::default()
        }
    }
}

impl Constraints {
    /// These, and what they do not say from others.
    fn or(self, others: &Self) -> Self {
        let mut forbidden_tools = self.forbidden_tools;
        for tool in &others.forbidden_tools {
            if !forbidden_tools.contains(tool) {
                forbidden_tools.push(tool.clone());
            }
        }
        Self {
            max_tool_calls: self.max_tool_calls.or(others.max_tool_calls),
            max_turns: self.max_turns.or(others.max_turns),
            max_tokens: self.max_tokens.or(others.max_tokens),
            forbidden_tools,
            trigger_within: self.trigger_within.or(others.trigger_within),
            timeout_s: self.timeout_s.or(others.timeout_s),
        }
    }
}
