//! `write_file`: a file of the workspace, written whole or not at all.
//!
//! Nothing is written through a link, into version control's own files or ours, or to a file with
//! several hard links. The result has a diff of the change. Tools never write to skills.

use std::sync::Arc;

use metier_fs::WorkError;
use metier_policy::Risk;
use metier_skill::text::counted;
use metier_skill::{Digest, FailureCode, WorkPath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use crate::failure::{ToolFailure, shown};
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};
use crate::tool_workspace::{Place, ToolWorkspace, decided_path};

/// Bytes of a text that can be written.
const MAX_CONTENT_BYTES: usize = 8 << 20;
/// Bytes of a file that gets a diff; of a larger one only the sizes are reported.
const MAX_DIFFED_BYTES: u64 = 1 << 20;
/// Characters of a diff in the data.
const MAX_DIFF_CHARS: usize = 8000;

/// The tool `write_file`.
#[derive(Debug)]
pub struct WriteFile(Arc<ToolWorkspace>);

impl WriteFile {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::WRITE_FILE;

    /// A tool that writes files of `workspace`.
    pub const fn new(workspace: Arc<ToolWorkspace>) -> Self {
        Self(workspace)
    }
}

/// The arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WriteFileArgs {
    /// The file, relative to the workspace.
    path: String,
    /// The whole text of the file.
    content: String,
    /// The `sha256` that `read_file` gave: nothing is written if the file is another by now. Null:
    /// whatever is there is replaced.
    #[schemars(with = "Option<String>")]
    expected_sha256: Option<Digest>,
}

impl Tool for WriteFile {
    type Args = WriteFileArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Write a text file of the workspace, new or in place of the old one; missing directories \
         are made. The content is the whole file."
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn touches(&self, args: &WriteFileArgs) -> Result<Vec<Touch>, ToolFailure> {
        if args.content.len() > MAX_CONTENT_BYTES {
            let message = format!("the content is larger than {MAX_CONTENT_BYTES} bytes");
            return Err(ToolFailure::new(FailureCode::FileTooLarge, message));
        }
        Ok(vec![touch_for_change(&self.0, &args.path)?])
    }

    fn call(&self, args: WriteFileArgs, context: &CallContext) -> CallResult {
        put(&self.0, &args, context)
    }
}

/// What changing the file at `path` touches; fails if part of the path is a link.
pub(crate) fn touch_for_change(
    workspace: &ToolWorkspace,
    path: &str,
) -> Result<Touch, ToolFailure> {
    let root = workspace.root();
    let checked = WorkPath::new(path).map_err(|fault| ToolFailure::path(path, fault))?;
    let real = root.resolve_for_change(&checked);
    let real = real.map_err(|error| ToolFailure::work(path, &error))?;
    Place::Workspace(root).touch_of(real)
}

fn put(workspace: &ToolWorkspace, wanted: &WriteFileArgs, context: &CallContext) -> CallResult {
    let path = decided_path(context.touches())?;
    let message = |error: &WorkError| ToolFailure::work(path.as_str(), error);
    let root = workspace.root();
    let limit =
        if wanted.expected_sha256.is_some() { MAX_CONTENT_BYTES as u64 } else { MAX_DIFFED_BYTES };
    let before = match root.read(path, limit) {
        Ok(bytes) => Some(bytes),
        Err(WorkError::Missing | WorkError::NotADirectory) => None,
        Err(WorkError::TooLarge(_)) if wanted.expected_sha256.is_none() => None,
        Err(error) => return Err(message(&error)),
    };
    let found = before.as_deref().map(Digest::of);
    if wanted.expected_sha256.is_some() && wanted.expected_sha256 != found {
        let is = found.map_or("gone".to_owned(), |digest| digest.to_string());
        let message = format!("{} is not what was expected: it is {is}", shown(path.as_str()));
        return Err(ToolFailure::new(FailureCode::Changed, message));
    }
    ToolFailure::if_cancelled(context.cancel())?;
    let content = wanted.content.as_bytes();
    let written = root.write(path, content).map_err(|error| message(&error))?;
    let old = before.as_deref().filter(|bytes| bytes.len() as u64 <= MAX_DIFFED_BYTES);
    let old = match old.map(str::from_utf8) {
        None if written.created => Some(""),
        Some(Ok(text)) => Some(text),
        _ => None,
    };
    let change = old
        .filter(|_| content.len() as u64 <= MAX_DIFFED_BYTES)
        .map(|old| TextDiff::from_lines(old, &wanted.content));
    let count = |tag: ChangeTag| {
        change.as_ref().map(|it| it.iter_all_changes().filter(|line| line.tag() == tag).count())
    };
    let verb = if written.created { "Created" } else { "Replaced" };
    let lines = wanted.content.lines().count();
    let size = [(content.len(), "byte"), (lines, "line")];
    let [bytes, of_lines] = size.map(|(number, noun)| counted(number as u64, noun));
    let text = format!("{verb} {path}: {bytes}, {of_lines}.\n");
    let data = json!({
        "path": path,
        "created": written.created,
        "directories_made": written.directories,
        "bytes": content.len(),
        "sha256": Digest::of(content),
        "sha256_before": found,
        "added": count(ChangeTag::Insert),
        "removed": count(ChangeTag::Delete),
        "diff": change.as_ref().map(|change| unified(path.as_str(), change)),
    });
    Ok(ToolResult::text(text).with_data(data))
}

/// A unified diff, cut at a limit.
fn unified(path: &str, change: &TextDiff<'_, '_, str>) -> String {
    let whole = change
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    match whole.char_indices().nth(MAX_DIFF_CHARS) {
        Some((end, _)) => format!("{}\n[the rest of the diff is left out]\n", &whole[..end]),
        None => whole,
    }
}
