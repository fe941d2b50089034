//! `list_dir`: the names in a directory, with their kind and size.
//!
//! Nothing is opened but the directory; links are told as links and not followed.

use std::sync::Arc;

use metier_fs::EntryKind;
use metier_policy::Risk;
use metier_skill::WorkPath;
use metier_skill::text::escape_line;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::apart::{Answer, CallFuture, apart};
use crate::failure::ToolFailure;
use crate::schema::{object, optional, read};
use crate::tool::{Permit, Tool, Touch};
use crate::workplace::{Workplace, decided_path};
use metier_cancel::CancelToken;

/// Entries that are told.
const ENTRIES: usize = 2000;

/// The tool `list_dir`.
#[derive(Debug)]
pub struct ListDir(Arc<Workplace>);

impl ListDir {
    /// What it is called by.
    pub const NAME: &'static str = "list_dir";

    /// Lists directories of `workplace`.
    pub const fn new(workplace: Arc<Workplace>) -> Self {
        Self(workplace)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    skill: Option<String>,
}

impl Tool for ListDir {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn description(&self) -> &'static str {
        "List a directory of the workspace, or of a loaded skill: names, kinds and sizes."
    }

    fn schema(&self) -> Value {
        object(vec![
            optional(
                "path",
                "string",
                "The directory, relative to the workspace or the skill's folder; null: itself.",
            ),
            optional("skill", "string", "The loaded skill that is meant; null: the workspace."),
        ])
    }

    fn plan(&self, arguments: &Value) -> Result<Vec<Touch>, ToolFailure> {
        let wanted: Arguments = read(arguments)?;
        let place = self.0.place(wanted.skill.as_deref())?;
        Ok(vec![place.touch(&place.directory(wanted.path.as_deref())?)?])
    }

    fn call(&self, permit: Permit, cancel: &CancelToken) -> CallFuture {
        let workplace = Arc::clone(&self.0);
        apart(cancel, move |_| give(&workplace, &permit))
    }
}

fn give(workplace: &Workplace, permit: &Permit) -> Answer {
    let (arguments, touches) = permit.for_tool(ListDir::NAME)?;
    let wanted: Arguments = read(arguments)?;
    let path = decided_path(touches)?;
    let list = workplace.place(wanted.skill.as_deref())?.list(path, ENTRIES)?;
    let mut text = String::new();
    let mut entries = Vec::new();
    for entry in &list.entries {
        let (kind, shown) = match entry.kind {
            EntryKind::Directory => ("directory", "/".to_owned()),
            EntryKind::Link => ("link", " (link)".to_owned()),
            EntryKind::File => ("file", format!("  {}", entry.size)),
            _ => ("special", " (special)".to_owned()),
        };
        let usable = WorkPath::root().join(&entry.name).is_ok();
        // Names come from strangers: what would move a cursor or hide is shown escaped.
        text.push_str(&if usable {
            entry.name.clone()
        } else {
            format!("{} (not usable as a path)", escape_line(&entry.name))
        });
        text.push_str(&shown);
        text.push('\n');
        entries.push(json!({"name": entry.name, "kind": kind, "size": entry.size}));
    }
    if list.entries.is_empty() {
        text.push_str("(empty)\n");
    }
    if list.truncated {
        text.push_str(&format!("[more than {ENTRIES} entries; the first by name are shown]\n"));
    }
    let data = json!({"path": path, "entries": entries, "truncated": list.truncated});
    let mut result = workplace.give(text, data, ListDir::NAME);
    result.truncated |= list.truncated;
    Ok(result)
}
