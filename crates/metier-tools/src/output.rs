//! The result of a call: a text within a cap (its head and tail), and a reference to the whole.
//!
//! Nothing that enters a model's context is unbounded. What is cut is kept where a [`OutputStore`] puts
//! it, so that nothing is lost and the model learns where it is. Secrets are masked before anything
//! is cut or stored: a cut through the middle of one would leave a half that no mask matches. Hidden
//! characters are removed from what a model is given, whatever printed them. All of it happens in [`ResultFilter::filter`], once for every call, built-in tool or not.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_fs::{Durability, HeldDir};
use metier_sandbox::{Redactor, Secrets};
use metier_skill::text::{Excerpt, for_model};
use serde::Serialize;
use serde_json::Value;

use crate::failure::ToolFailure;

/// The result of a call.
pub type CallResult = Result<ToolResult, ToolFailure>;

/// What a successful call returns.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolResult {
    /// The text for the model.
    pub text: String,
    /// Whether the text leaves something out.
    pub truncated: bool,
    /// Where the whole output is stored, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_ref: Option<String>,
    /// The same as data, for programs; each tool documents its keys.
    pub data: Value,
}

impl ToolResult {
    /// A text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds data for programs.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    /// Records that the tool itself left something out.
    #[must_use]
    pub fn truncated_if(self, truncated: bool) -> Self {
        Self { truncated: self.truncated || truncated, ..self }
    }
}

/// How much text of a result a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCap {
    /// Characters in all.
    pub chars: usize,
}

impl Default for OutputCap {
    fn default() -> Self {
        Self { chars: 12_000 }
    }
}

/// Where whole outputs are kept.
pub trait OutputStore: Send + Sync {
    /// Stores `bytes` and returns a reference to them; `hint` is a word for the file's name.
    fn put(&self, bytes: &[u8], hint: &str) -> io::Result<String>;
}

/// Files in a folder, such as the `observations` of a run.
#[derive(Debug)]
pub struct FolderOutputStore {
    folder: HeldDir,
    /// What a reference starts with.
    prefix: String,
    next: AtomicU64,
}

impl FolderOutputStore {
    /// Keeps files in `folder`, which is made with the first one; references are `prefix` and the
    /// file's name.
    pub fn new(folder: HeldDir, prefix: &str) -> Self {
        Self { folder, prefix: prefix.to_owned(), next: AtomicU64::new(1) }
    }
}

impl OutputStore for FolderOutputStore {
    fn put(&self, bytes: &[u8], hint: &str) -> io::Result<String> {
        let hint: String =
            hint.chars().filter(|ch| ch.is_ascii_alphanumeric() || *ch == '_').take(40).collect();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{number:04}-{hint}.txt");
            // A resumed run continues the numbers of the run before it.
            if self.folder.kind(&name).is_none() {
                self.folder.write(&name, bytes, Durability::Synced)?;
                return Ok(format!("{}{name}", self.prefix));
            }
        }
    }
}

/// Stores nothing: what is cut is lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutputStore;

impl OutputStore for NoOutputStore {
    fn put(&self, _: &[u8], _: &str) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Applied to every result on its way to a model: masks secrets, then cuts the text.
pub struct ResultFilter {
    /// Values that are never shown. Tokens of known shapes are masked in any case.
    pub secrets: Arc<Secrets>,
    /// How much text of a result a model gets.
    pub cap: OutputCap,
    /// Where whole outputs are kept.
    pub store: Arc<dyn OutputStore>,
}

impl Default for ResultFilter {
    /// Without known secrets, and without a store.
    fn default() -> Self {
        Self { secrets: Arc::default(), cap: OutputCap::default(), store: Arc::new(NoOutputStore) }
    }
}

impl std::fmt::Debug for ResultFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultFilter").field("cap", &self.cap).finish_non_exhaustive()
    }
}

impl ResultFilter {
    /// The result of the tool `tool` as it may be shown: text without hidden characters, and without
    /// secrets. `masked` in the data is the number of secrets that were masked in the text. When the text is longer than the cap, its head and tail stay, a
    /// line between them says what is missing, and the whole is stored, unless the tool has stored it
    /// already.
    pub fn filter(&self, tool: &str, answer: CallResult) -> CallResult {
        let mut result = match answer {
            Ok(result) => result,
            Err(mut failure) => {
                // A failure may quote the same things as a result.
                for text in [&mut failure.message, &mut failure.help] {
                    let (shown, _) = self.mask_for_model(std::mem::take(text));
                    *text = within(shown, self.cap, None);
                }
                return Err(failure);
            }
        };
        let masked;
        (result.text, masked) = self.mask_for_model(result.text);
        self.bound(&mut result.data);
        result.storage_ref = result.storage_ref.map(|at| self.mask(at).0);
        if let (Value::Object(fields), 1..) = (&mut result.data, masked) {
            fields.insert("masked".to_owned(), masked.into());
        }
        if is_over(&result.text, self.cap) {
            let stored = || self.store.put(result.text.as_bytes(), tool).ok();
            let storage_ref = result.storage_ref.take().or_else(stored);
            result.text = within(result.text, self.cap, storage_ref.as_deref());
            (result.storage_ref, result.truncated) = (storage_ref, true);
        }
        Ok(result)
    }

    /// The text as a model may see it, masked. It is masked before, since a secret may hold what a model
    /// is not shown, and after, since a hidden character in a secret would keep it from being found.
    pub(crate) fn mask_for_model(&self, text: String) -> (String, u64) {
        let (text, before) = self.mask(text);
        match for_model(&text) {
            Cow::Borrowed(_) => (text, before),
            Cow::Owned(shown) => {
                let (shown, after) = self.mask(shown);
                (shown, before + after)
            }
        }
    }

    fn mask(&self, text: String) -> (String, u64) {
        match self.mask_bytes(text.as_bytes()) {
            (_, 0) => (text, 0),
            (out, count) => (String::from_utf8_lossy(&out).into_owned(), count),
        }
    }

    /// The bytes with secrets masked, and how many were.
    pub(crate) fn mask_bytes(&self, bytes: &[u8]) -> (Vec<u8>, u64) {
        let mut redactor = Redactor::new(Arc::clone(&self.secrets));
        let mut out = redactor.push(bytes);
        out.extend(redactor.finish());
        (out, redactor.masked())
    }

    /// Masks all texts in the data, keys too, and cuts each of them to the cap.
    fn bound(&self, data: &mut Value) {
        match data {
            Value::String(text) => self.bound_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.bound(item)),
            Value::Object(fields) => {
                let bounded = std::mem::take(fields).into_iter().map(|(mut key, mut item)| {
                    self.bound_text(&mut key);
                    self.bound(&mut item);
                    (key, item)
                });
                *fields = bounded.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn bound_text(&self, text: &mut String) {
        *text = within(self.mask(std::mem::take(text)).0, self.cap, None);
    }
}

fn is_over(text: &str, cap: OutputCap) -> bool {
    // No text has more characters than bytes.
    text.len() > cap.chars && text.chars().count() > cap.chars
}

/// The text if it is within the cap; else its head and tail, with a note between them of what is missing.
fn within(text: String, cap: OutputCap, whole: Option<&str>) -> String {
    if !is_over(&text, cap) {
        return text;
    }
    let rest = whole.map(|at| format!("all of it: {at}"));
    let text = Excerpt::whole(text).text_within(cap.chars, rest.as_deref());
    // The cut may have robbed a character of what excused it.
    for_model(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(chars: usize, store: Arc<dyn OutputStore>) -> ResultFilter {
        ResultFilter { cap: OutputCap { chars }, store, ..ResultFilter::default() }
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_its_whole_is_stored() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Arc::new(FolderOutputStore::new(HeldDir::at(dir.path()), "observations/"));
        let long = format!("start\n{}\nend", "x\n".repeat(100));
        let answer = || Ok(ToolResult::text(long.clone()));
        let result = filter(24, store).filter("a/../b", answer()).expect("a result");
        assert!(result.text.starts_with("start\nx\n") && result.text.ends_with("end"));
        assert!(result.text.contains(" lines left out; all of it: observations/0001-ab.txt]"));
        assert!(result.truncated);
        let kept = metier_fs::read_bounded(&dir.path().join("0001-ab.txt"), 1000).expect("kept");
        assert_eq!(kept, long.as_bytes());
        let again = FolderOutputStore::new(HeldDir::at(dir.path()), "");
        assert_eq!(again.put(b"more", "ab").expect("kept"), "0002-ab.txt");
        let lost = filter(24, Arc::new(NoOutputStore)).filter("x", answer()).expect("a result");
        assert!(lost.truncated && lost.storage_ref.is_none());
        let own = ToolResult { storage_ref: Some("runs/1".to_owned()), ..ToolResult::text(long) };
        let own = filter(24, Arc::new(NoOutputStore)).filter("x", Ok(own)).expect("a result");
        assert!(own.text.contains("all of it: runs/1]"), "{}", own.text);
    }

    #[test]
    fn secrets_are_masked_in_text_data_and_failures_before_anything_is_cut() {
        let secrets = Arc::new(Secrets::new(["hunter2hunter2"]));
        let filter = ResultFilter { secrets, ..filter(40, Arc::new(NoOutputStore)) };
        let text = format!("{} hunter2hunter2", "x".repeat(30));
        let data = serde_json::json!({
            "deep": [{"key": "hunter2hunter2", "hunter2hunter2": 1}],
            "long": "y".repeat(99),
        });
        let answer = ToolResult::text(text).with_data(data);
        let answer = ToolResult { storage_ref: Some("at/hunter2hunter2".to_owned()), ..answer };
        let result = filter.filter("t", Ok(answer)).expect("a result");
        let whole = format!("{} {} {:?}", result.text, result.data, result.storage_ref);
        assert!(!whole.contains("hunter2"), "{whole}");
        assert_eq!(result.data["masked"], 1);
        assert!(result.data["long"].as_str().is_some_and(|long| long.contains("left out")));
        let failure = ToolFailure::new(crate::FailureCode::Failed, "no hunter2hunter2 there");
        let failure = filter.filter("t", Err(failure)).expect_err("a failure");
        assert!(!failure.message.contains("hunter2"), "{failure}");
        let failure = ToolFailure::new(crate::FailureCode::Failed, "z".repeat(9999));
        let failure = filter.filter("t", Err(failure)).expect_err("a failure");
        assert!(failure.message.len() < 200, "{failure}");
    }

    #[test]
    fn what_hides_goes_before_and_after_the_cut_and_no_secret_hides_behind_it() {
        let secrets = Arc::new(Secrets::new(["hunter2hunter2"]));
        let filter = ResultFilter { secrets, ..filter(40, Arc::new(NoOutputStore)) };
        let hostile = "a\u{202e}b\x1b[2J hunter2\u{200b}hunter2";
        let hostile = ToolResult::text(hostile).with_data(serde_json::json!({}));
        let result = filter.filter("t", Ok(hostile)).expect("a result");
        assert!(result.text.starts_with("ab\\x1b[2J "), "{}", result.text);
        assert!(!result.text.contains("hunter2") && result.data["masked"] == 1, "{result:?}");
        // The letters that excuse the mark are cut out of the middle.
        let cut = format!("x\u{61c}y{}رقم{}", " ".repeat(60), "z".repeat(60));
        let failure = ToolFailure::new(crate::FailureCode::Failed, cut.clone());
        let failure = filter.filter("t", Err(failure)).expect_err("a failure");
        let result = filter.filter("t", Ok(ToolResult::text(cut))).expect("a result");
        for text in [result.text, failure.message] {
            assert!(text.starts_with("xy ") && text.contains("left out"), "{text:?}");
        }
    }
}
