//! What a run keeps of what scripts and commands printed and left, and what it never reads.
//!
//! The whole output lies with the run, by digests that its record vouches for, and below the workspace,
//! so that a model can read on in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_fs::{
    Durability, EntryKind, HeldDir, LeftFile, canonical, digest_left_files, move_whole,
};
use metier_skill::Digest;
use metier_tools::{ToolResult, Touch, linked_keys};
use serde_json::{Value, json};

use super::LocalExecutor;
use crate::folder::{INLINE_BYTES, text_name};

/// Bytes that are hashed of what one script left and printed: all that is kept of it.
const MAX_DIGEST_BYTES: u64 = 1 << 30;
/// How long that takes.
const MAX_DIGEST_TIME: Duration = Duration::from_secs(10);

/// The result with what the sandbox kept moved into the run's folder. Where that fails it stays where
/// it is, and the result says so.
pub(super) fn with_run(
    executor: &LocalExecutor,
    mut result: ToolResult,
    cancel: &CancelToken,
) -> ToolResult {
    let Some(from) = result.storage_ref.as_deref().map(PathBuf::from).filter(|at| at.is_absolute())
    else {
        return result;
    };
    let Some(name) = free(&executor.observations) else { return result };
    // By way of the descriptor: a link that was put there meanwhile is not followed.
    let Ok(to) = executor.observations.stable_path().map(|dir| dir.join(&name)) else {
        return result;
    };
    if move_whole(&from, &to).is_err() {
        return result;
    }
    let shown = format!("{}/{name}", executor.shown_observations());
    let moved = |path: &str| match Path::new(path).strip_prefix(&from) {
        Ok(below) => format!("{shown}/{}", below.to_string_lossy()),
        Err(_) => path.to_owned(),
    };
    if let Some(outputs) = result.data.get_mut("outputs").and_then(Value::as_array_mut) {
        for output in outputs {
            *output = json!(moved(output.as_str().unwrap_or_default()));
        }
    }
    let until = Instant::now() + MAX_DIGEST_TIME;
    let stop = || cancel.is_cancelled() || Instant::now() > until;
    let files = digest_left_files(&to, MAX_DIGEST_BYTES, &stop).unwrap_or_default();
    // A file that no text can name has no digest in the record either: no one could look for it.
    let (kept, unhashed): (Vec<LeftFile>, Vec<LeftFile>) =
        files.into_iter().partition(|file| file.digest.is_some() && file.path.to_str().is_some());
    let path = |file: &LeftFile| format!("observations/{name}/{}", file.path.display());
    let kept = kept
        .iter()
        .map(|file| json!({"file": path(file), "sha256": file.digest, "bytes": file.bytes}));
    let kept: Vec<Value> = kept.collect();
    let without = unhashed.iter().map(|file| json!({"file": path(file), "bytes": file.bytes}));
    let without: Vec<Value> = without.collect();
    let old = from.to_string_lossy();
    result.text = result.text.replace(&*old, &shown);
    for stream in ["stdout", "stderr"] {
        if let Some(Value::String(text)) = result.data.get_mut(stream) {
            *text = text.replace(&*old, &shown);
        }
    }
    if !without.is_empty() {
        let noun = if without.len() == 1 { "file has" } else { "files have" };
        let text = format!("[{} {noun} no digest in the record]\n", without.len());
        result.text.push_str(&text);
    }
    if let Some(data) = result.data.as_object_mut() {
        data.insert("kept".to_owned(), Value::Array(kept));
        data.insert("unhashed".to_owned(), Value::Array(without));
    }
    result.storage_ref = Some(shown);
    result
}

/// A name that nothing has yet.
fn free(observations: &HeldDir) -> Option<String> {
    let mut names = (1..10_000_u32).map(|number| format!("output-{number:03}"));
    names.find(|name| observations.kind(name).is_none())
}

impl LocalExecutor {
    /// Where a long text of the run lies, as a model can name it: what is shown of it later may be a
    /// line. It is written as the record has it, by its digest and with secrets masked.
    pub(super) fn stored_text(&self, text: &str) -> Option<String> {
        if text.len() <= INLINE_BYTES {
            return None;
        }
        let hidden = self.secrets.hide_in(text);
        let bytes = hidden.as_deref().unwrap_or(text).as_bytes();
        let name = text_name(&Digest::of(bytes));
        if self.observations.kind(&name) != Some(EntryKind::File) {
            self.observations.write(&name, bytes, Durability::Synced).ok()?;
        }
        Some(format!("{}/{name}", self.shown_observations()))
    }

    /// The folder of whole outputs, as a model can name it.
    pub(super) fn shown_observations(&self) -> String {
        let whole = self.observations.path();
        whole.strip_prefix(&self.workspace).unwrap_or(whole).to_string_lossy().into_owned()
    }

    /// Why something is not read in a run, whatever the rules say: a part of the record of a run, this
    /// one's whole outputs apart, or what a link with the name of a key leads to.
    pub(super) fn unreadable(&self, touch: &Touch) -> Option<&'static str> {
        let Touch::Path { absolute, .. } = touch else { return None };
        let path = Path::new(absolute);
        let own = self.observations.path();
        let own = canonical(own).unwrap_or_else(|_| own.to_owned());
        let runs = own.parent().and_then(Path::parent);
        let is_record = runs.is_some_and(|runs| path.starts_with(runs)) || is_record(path);
        if is_record && !path.starts_with(&own) {
            return Some("the records of other runs are not read in a run");
        }
        let keys = || linked_keys(&self.workspace, self.policy.places());
        let mut keys = self.made.linked_keys.get_or_init(keys).iter();
        keys.any(|key| path.starts_with(key))
            .then_some("a link with the name of a key leads to it: keys are read under no name")
    }
}

/// Whether a path leads into the records of a project, be it another one.
fn is_record(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.iter().collect();
    names
        .windows(2)
        .any(|pair| pair[0].eq_ignore_ascii_case(".agent") && pair[1].eq_ignore_ascii_case("runs"))
}
