//! What a file would become, shown before the change is approved.
//! The file is read beneath the workspace, like the tools read it.

use std::path::Path;

use metier::fs::WorkRoot;
use metier::skill::WorkPath;
use serde_json::{Map, Value};
use similar::TextDiff;

use crate::render::safe;

const MAX_LINES: usize = 60;
const MAX_BYTES: u64 = 1 << 20;

/// The change that a call of `write_file` would make; nothing for other tools.
pub(super) fn preview(tool: &str, args: &Map<String, Value>, workspace: &Path) -> Option<String> {
    if tool != "write_file" {
        return None;
    }
    let path = args.get("path")?.as_str()?;
    let after = args.get("content")?.as_str()?;
    let place = WorkPath::new(path).ok()?;
    let root = WorkRoot::open(workspace).ok()?;
    let before = root.read(&place, MAX_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let diff = TextDiff::from_lines(before.as_deref().unwrap_or_default(), after);
    let text = diff.unified_diff().context_radius(2).header(path, path).to_string();
    let mut lines: Vec<String> =
        text.lines().take(MAX_LINES).map(|line| format!("  {}\n", safe(line))).collect();
    let more = text.lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.push(format!("  ... {more} more lines\n"));
    }
    Some(lines.concat())
}
