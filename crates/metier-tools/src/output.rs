//! What a call gives: a text within a cap, head and tail of it, and the whole stored by reference.
//!
//! Nothing that enters a model's context is unbounded. What is cut is kept where a [`Store`] puts
//! it, so that nothing is lost and the model can be told where it is.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde_json::Value;

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolResult {
    /// The text for the model.
    pub text: String,
    /// Whether something was left out of it.
    pub truncated: bool,
    /// Where the whole is stored, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_ref: Option<String>,
    /// The same as data, for programs; each tool documents its keys.
    pub data: Value,
}

/// How much text a model is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCap {
    /// Characters in all.
    pub chars: usize,
}

impl Default for OutputCap {
    fn default() -> Self {
        Self { chars: 20_000 }
    }
}

/// Where whole outputs are kept.
pub trait Store: Send + Sync {
    /// Keeps `bytes`; `hint` says what they are, in a word. Gives the reference that finds them.
    fn put(&self, bytes: &[u8], hint: &str) -> io::Result<String>;
}

/// Files in a folder, such as the `observations` of a run.
#[derive(Debug)]
pub struct FolderStore {
    folder: PathBuf,
    /// What a reference starts with.
    prefix: String,
    next: AtomicU64,
}

impl FolderStore {
    /// Keeps files in `folder`; references are `prefix` and the file's name.
    pub fn new(folder: PathBuf, prefix: &str) -> Self {
        Self { folder, prefix: prefix.to_owned(), next: AtomicU64::new(1) }
    }
}

impl Store for FolderStore {
    fn put(&self, bytes: &[u8], hint: &str) -> io::Result<String> {
        let hint: String =
            hint.chars().filter(|ch| ch.is_ascii_alphanumeric() || *ch == '_').take(40).collect();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{number:04}-{hint}.txt");
            let path = self.folder.join(&name);
            // A resumed run goes on after what is there.
            if metier_fs::entry_kind(&path).is_none() {
                metier_fs::write_atomic(&path, bytes)?;
                return Ok(format!("{}{name}", self.prefix));
            }
        }
    }
}

/// Keeps nothing: what is cut is gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

impl Store for NoStore {
    fn put(&self, _: &[u8], _: &str) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The result with `text` within `cap`. When it is longer, its head and tail stay, a line between
/// them tells what is missing, and the whole is stored.
pub(crate) fn capped(
    text: String,
    data: Value,
    cap: OutputCap,
    store: &dyn Store,
    hint: &str,
) -> ToolResult {
    let Some((head, tail)) = head_and_tail(&text, cap.chars) else {
        return ToolResult { text, truncated: false, storage_ref: None, data };
    };
    let storage_ref = store.put(text.as_bytes(), hint).ok();
    let text = joined(&text, head, tail, storage_ref.as_deref());
    ToolResult { text, truncated: true, storage_ref, data }
}

/// The text within `cap`, if it is longer; `whole` is where all of it is.
pub(crate) fn shortened(text: &str, cap: OutputCap, whole: Option<&str>) -> Option<String> {
    let (head, tail) = head_and_tail(text, cap.chars)?;
    Some(joined(text, head, tail, whole))
}

/// Head and tail of a text, with a line between them that tells what is missing.
fn joined(text: &str, head: &str, tail: &str, whole: Option<&str>) -> String {
    let left_out = &text[head.len()..text.len() - tail.len()];
    let (chars, lines) = (left_out.chars().count(), left_out.matches('\n').count());
    let whole = whole.map(|at| format!("; all of it: {at}")).unwrap_or_default();
    format!("{head}\n[{chars} characters, {lines} line ends left out{whole}]\n{tail}")
}

/// Two thirds of `limit` characters from the start and a third from the end; `None` when all fits.
fn head_and_tail(text: &str, limit: usize) -> Option<(&str, &str)> {
    // No text has more characters than bytes.
    if text.len() <= limit || text.chars().count() <= limit {
        return None;
    }
    let tail_chars = limit / 3;
    let head_chars = limit - tail_chars;
    let end = text.char_indices().nth(head_chars).map_or(text.len(), |(at, _)| at);
    let start = match tail_chars {
        0 => text.len(),
        count => text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at),
    };
    Some((&text[..end], &text[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_text_keeps_head_and_tail_and_its_whole_is_stored() {
        let dir = tempfile::tempdir().expect("dir");
        let store = FolderStore::new(dir.path().to_owned(), "observations/");
        let long = format!("start\n{}\nend", "x\n".repeat(100));
        let result = capped(long.clone(), Value::Null, OutputCap { chars: 12 }, &store, "a/../b");
        assert!(result.text.starts_with("start\nx\n") && result.text.ends_with("end"));
        assert!(result.text.contains("line ends left out; all of it: observations/0001-ab.txt]"));
        assert!(result.truncated);
        let kept = metier_fs::read_bounded(&dir.path().join("0001-ab.txt"), 1000).expect("kept");
        assert_eq!(kept, long.as_bytes());
        let again = FolderStore::new(dir.path().to_owned(), "");
        assert_eq!(again.put(b"more", "ab").expect("kept"), "0002-ab.txt");
        let lost = capped(long, Value::Null, OutputCap { chars: 12 }, &NoStore, "x");
        assert!(lost.truncated && lost.storage_ref.is_none());
    }

    proptest! {
        #[test]
        fn head_and_tail_are_parts_within_the_limit(text in "\\PC{0,60}", limit in 0usize..40) {
            if let Some((head, tail)) = head_and_tail(&text, limit) {
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(head.chars().count() + tail.chars().count(), limit);
            } else {
                prop_assert!(text.chars().count() <= limit);
            }
        }
    }
}
