//! `delete_file`: a file of the workspace goes to the run's trash, from which it can come back.
//!
//! Only regular files are deleted, one at a time, and never through a link.

use std::sync::Arc;

use metier_policy::Risk;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::apart::{Answer, CallFuture, apart};
use crate::failure::ToolFailure;
use crate::schema::{needed, object, read};
use crate::tool::{Permit, Tool, Touch};
use crate::trash::Trash;
use crate::workplace::{Workplace, decided_path};
use crate::write_file::touch_for_change;
use metier_cancel::CancelToken;

/// The tool `delete_file`.
#[derive(Debug)]
pub struct DeleteFile {
    workplace: Arc<Workplace>,
    trash: Arc<Trash>,
}

impl DeleteFile {
    /// What it is called by.
    pub const NAME: &'static str = "delete_file";

    /// Moves files of the workspace of `workplace` to `trash`.
    pub const fn new(workplace: Arc<Workplace>, trash: Arc<Trash>) -> Self {
        Self { workplace, trash }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

impl Tool for DeleteFile {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn description(&self) -> &'static str {
        "Delete a file of the workspace. It is kept with the run and can be restored."
    }

    fn schema(&self) -> Value {
        object(vec![needed("path", "string", "The file, relative to the workspace.")])
    }

    fn plan(&self, arguments: &Value) -> Result<Vec<Touch>, ToolFailure> {
        let wanted: Arguments = read(arguments)?;
        Ok(vec![touch_for_change(&self.workplace, &wanted.path)?])
    }

    fn call(&self, permit: Permit, cancel: &CancelToken) -> CallFuture {
        let (workplace, trash) = (Arc::clone(&self.workplace), Arc::clone(&self.trash));
        apart(cancel, move |_| take(&workplace, &trash, &permit))
    }
}

fn take(workplace: &Workplace, trash: &Trash, permit: &Permit) -> Answer {
    let (_, touches) = permit.for_tool(DeleteFile::NAME)?;
    let path = decided_path(touches)?;
    let trashed = trash.take(workplace.workspace(), path)?;
    let text = format!(
        "Deleted {path} ({} bytes). It can be restored as {}.\n",
        trashed.bytes, trashed.reference
    );
    let data = json!({"path": path, "bytes": trashed.bytes, "restore": trashed.reference});
    Ok(workplace.give(text, data, DeleteFile::NAME))
}
