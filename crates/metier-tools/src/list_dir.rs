//! `list_dir`: the names in a directory, with their kind and size.
//!
//! Only the directory is opened; links are listed as links and not followed.

use std::sync::Arc;

use metier_fs::{EntryKind, WorkListing};
use metier_policy::Risk;
use metier_skill::WorkPath;
use metier_skill::text::escape_line;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::ToolFailure;
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};
use crate::tool_workspace::{ToolWorkspace, decided_path};

/// Entries in a listing.
const MAX_ENTRIES: usize = 2000;

/// The tool `list_dir`.
#[derive(Debug)]
pub struct ListDir(Arc<ToolWorkspace>);

impl ListDir {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::LIST_DIR;

    /// A tool that lists directories of `workspace`.
    pub const fn new(workspace: Arc<ToolWorkspace>) -> Self {
        Self(workspace)
    }
}

/// The arguments of `list_dir`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ListDirArgs {
    path: Option<String>,
    /// The loaded skill whose file it is; null: the workspace.
    skill: Option<String>,
}

impl Tool for ListDir {
    type Args = ListDirArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "List a directory: names, kinds and sizes."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn touches(&self, args: &ListDirArgs) -> Result<Vec<Touch>, ToolFailure> {
        let place = self.0.place(args.skill.as_deref())?;
        place.touches(&place.directory(args.path.as_deref())?)
    }

    fn call(&self, args: ListDirArgs, context: &CallContext) -> CallResult {
        let path = decided_path(context.touches())?;
        let list = self.0.place(args.skill.as_deref())?.list(path, MAX_ENTRIES)?;
        Ok(list_result(path, &list))
    }
}

fn list_result(path: &WorkPath, list: &WorkListing) -> ToolResult {
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
        // Names are untrusted: control and invisible characters are escaped.
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
        text.push_str(&format!("[more than {MAX_ENTRIES} entries; the first by name are shown]\n"));
    }
    let data = json!({"path": path, "entries": entries, "truncated": list.truncated});
    ToolResult::text(text).with_data(data).truncated_if(list.truncated)
}
