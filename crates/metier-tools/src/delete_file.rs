//! `delete_file`: moves a file of the workspace to the run's trash, from which it can be restored.
//!
//! Only regular files are deleted, one at a time, and never through a link.

use std::sync::Arc;

use metier_policy::Risk;
use metier_skill::text::counted;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::ToolFailure;
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};
use crate::tool_workspace::{ToolWorkspace, decided_path};
use crate::trash::Trash;
use crate::write_file::touch_for_change;

/// The tool `delete_file`.
#[derive(Debug)]
pub struct DeleteFile {
    workspace: Arc<ToolWorkspace>,
    trash: Arc<Trash>,
}

impl DeleteFile {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::DELETE_FILE;

    /// A tool that moves files of `workspace` to `trash`.
    pub const fn new(workspace: Arc<ToolWorkspace>, trash: Arc<Trash>) -> Self {
        Self { workspace, trash }
    }
}

/// The arguments of `delete_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DeleteFileArgs {
    /// The file, relative to the workspace.
    path: String,
}

impl Tool for DeleteFile {
    type Args = DeleteFileArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Delete a file of the workspace. It is kept with the run and can be restored."
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn touches(&self, args: &DeleteFileArgs) -> Result<Vec<Touch>, ToolFailure> {
        Ok(vec![touch_for_change(&self.workspace, &args.path)?])
    }

    fn call(&self, _: DeleteFileArgs, context: &CallContext) -> CallResult {
        let path = decided_path(context.touches())?;
        let trashed = self.trash.take(self.workspace.root(), path)?;
        let text = format!(
            "Deleted {path} ({}). It can be restored as {}.\n",
            counted(trashed.bytes, "byte"),
            trashed.reference
        );
        let data = json!({
            "path": path,
            "bytes": trashed.bytes,
            "sha256": trashed.sha256,
            "restore": trashed.reference,
        });
        Ok(ToolResult::text(text).with_data(data))
    }
}
