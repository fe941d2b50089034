//! How one tree of a skill differs from another: files, execute bits, and the tools that it may use.
//! Pure; plans, `outdated` and `diff` show it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::facts::{SKILL_FILE, SkillSummary};
use crate::plan::scripts;
use crate::shipped_tree::{ShippedFile, ShippedTree};

/// How a skill differs from what stands in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillChanges {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files with another content.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
    /// Files that may be executed and could not be.
    pub now_executable: Vec<String>,
    /// Files that may no longer be executed.
    pub no_longer_executable: Vec<String>,
    /// Scripts among the files that were added.
    pub new_scripts: Vec<String>,
    /// The tools that it may use, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsChange>,
}

/// The tools that a skill may use, before and after; nothing where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolsChange {
    /// As they were.
    pub before: Option<Vec<String>>,
    /// As they are.
    pub after: Option<Vec<String>>,
}

impl SkillChanges {
    /// From one tree to another.
    pub(crate) fn between(before: &ShippedTree, after: &ShippedTree) -> Self {
        let mut changes = Self::default();
        let by_path = |tree: &'_ ShippedTree| -> BTreeMap<String, ShippedFile> {
            tree.files.iter().map(|file| (file.path.clone(), file.clone())).collect()
        };
        let (old, new) = (by_path(before), by_path(after));
        for (path, file) in &new {
            match old.get(path) {
                None => changes.added.push(path.clone()),
                Some(was) if was.digest != file.digest => changes.changed.push(path.clone()),
                Some(_) => {}
            }
            match old.get(path).map(|was| was.executable) {
                Some(true) if !file.executable => changes.no_longer_executable.push(path.clone()),
                Some(false) if file.executable => changes.now_executable.push(path.clone()),
                _ => {}
            }
        }
        changes.removed = old.keys().filter(|path| !new.contains_key(*path)).cloned().collect();
        let is_script = |path: &String| new.get(path).is_some_and(|file| file.executable);
        changes.new_scripts =
            scripts(changes.added.iter().map(|path| (path.as_str(), is_script(path))));
        let (was, is) = (tools(before), tools(after));
        changes.tools = (was != is).then_some(ToolsChange { before: was, after: is });
        changes
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What the `SKILL.md` at the top of a tree says.
pub(crate) fn summary(tree: &ShippedTree) -> Option<&SkillSummary> {
    let manual = tree.files.iter().find(|file| file.path == SKILL_FILE)?;
    manual.facts.as_ref()?.skill.as_ref()
}

fn tools(tree: &ShippedTree) -> Option<Vec<String>> {
    summary(tree)?.allowed_tools.clone()
}
