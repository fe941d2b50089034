//! `read_file`: the text of a file, or some of its lines.
//!
//! Links that stay within the workspace are resolved when the call is planned, so that the policy
//! decides about the file that is read, and about every name that leads to it.

use std::sync::Arc;

use metier_policy::Risk;
use metier_skill::text::{counted, for_model};
use metier_skill::{Digest, FailureCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::{ToolFailure, shown};
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};
use crate::tool_workspace::{ToolWorkspace, decided_path};

/// Bytes of a file that can be read.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The tool `read_file`.
#[derive(Debug)]
pub struct ReadFile(Arc<ToolWorkspace>);

impl ReadFile {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::READ_FILE;

    /// A tool that reads files of `workspace`.
    pub const fn new(workspace: Arc<ToolWorkspace>) -> Self {
        Self(workspace)
    }
}

/// The arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadFileArgs {
    /// Relative, never absolute.
    path: String,
    /// The loaded skill whose file it is; null: the workspace.
    skill: Option<String>,
    /// From 1.
    first_line: Option<usize>,
    last_line: Option<usize>,
}

impl Tool for ReadFile {
    type Args = ReadFileArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Read a text file, or some lines of it."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn touches(&self, args: &ReadFileArgs) -> Result<Vec<Touch>, ToolFailure> {
        let first = args.first_line.unwrap_or(1);
        if first == 0 || args.last_line.is_some_and(|last| last < first) {
            let message = "invalid line range: lines are counted from 1, and the last must not be before the first";
            return Err(ToolFailure::new(FailureCode::InvalidArguments, message));
        }
        let place = self.0.place(args.skill.as_deref())?;
        place.touches(&place.path(&args.path)?)
    }

    fn call(&self, args: ReadFileArgs, context: &CallContext) -> CallResult {
        let path = decided_path(context.touches())?;
        let bytes = self.0.place(args.skill.as_deref())?.read(path, MAX_FILE_BYTES)?;
        let text = text_of(path.as_str(), &bytes)?;
        let normal = for_model(text);
        let total = normal.lines().count();
        let first = args.first_line.unwrap_or(1);
        let last = args.last_line.unwrap_or(total).min(total);
        let part = if args.first_line.is_none() && args.last_line.is_none() {
            normal.to_string()
        } else if first > total {
            let path = shown(path.as_str());
            let message = format!(
                "{path} has only {}; line {first} was requested",
                counted(total as u64, "line")
            );
            return Err(ToolFailure::new(FailureCode::InvalidArguments, message));
        } else {
            let lines = normal.split_inclusive('\n').skip(first - 1).take(last + 1 - first);
            lines.collect()
        };
        Ok(ToolResult::text(part).with_data(json!({
            "path": path,
            "sha256": Digest::of(&bytes),
            "bytes": bytes.len(),
            "lines": [if total == 0 { 0 } else { first }, last],
            "total_lines": total,
            // The text differs from the file: line ends, or invisible characters.
            "normalized": normal != text,
        })))
    }
}

/// The text in `bytes`; a file with a NUL byte counts as binary.
pub(crate) fn text_of<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, ToolFailure> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| {
        let message = format!("{} is not text (UTF-8)", shown(path));
        ToolFailure::new(FailureCode::NotText, message)
    })
}
