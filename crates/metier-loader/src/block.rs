//! The block in which a skill's text reaches a model. Pure.
//!
//! The text stands between two lines that carry a mark made of its own digest. A text cannot contain
//! its own digest, so it cannot close the block and speak outside it; and the same text always gives
//! the same block, so that a prompt stays byte-stable.

use metier_skill::text::label;
use metier_skill::{Digest, Source};

use crate::report::Loaded;

/// Characters of a name or path in a bracketed line: more than any honest one has.
const LABEL_CHARS: usize = 1024;

/// The block for a loaded text: identity, report, the fenced text, and the names of the skill's
/// files (never their content).
pub fn inject(name: &str, source: Source, path: &str, loaded: &Loaded, files: &[String]) -> String {
    let report = &loaded.report;
    let mut block = format!(
        "[Skill: {} | source={source}]\n[Skill Path: {}]\n[Load Report: file={} sha256={} truncated={} bytes_read={}]\n",
        label(name, LABEL_CHARS),
        label(path, LABEL_CHARS),
        label(&report.path, LABEL_CHARS),
        report.sha256,
        report.truncated,
        report.bytes_read,
    );
    block.push_str(&fenced("Skill Text", &loaded.text));
    if !files.is_empty() {
        let shown: Vec<_> = files.iter().take(200).map(|file| label(file, LABEL_CHARS)).collect();
        block.push_str(&format!("[Skill Files: {}", shown.join(", ")));
        if files.len() > shown.len() {
            block.push_str(&format!(", and {} more", files.len() - shown.len()));
        }
        block.push_str("]\n");
    }
    block
}

/// A foreign text between two lines that it cannot contain, so that it cannot close them and speak
/// outside. `label` is ours.
pub fn fenced(label: &str, text: &str) -> String {
    let mark = mark(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("[{label} {mark}]\n{text}{end}[End of {label} {mark}]\n")
}

/// A mark that does not stand in the text.
fn mark(text: &str) -> String {
    let mut round: u8 = 0;
    loop {
        let digest = Digest::of_parts([text.as_bytes(), &[round]]).to_string();
        let mark = digest[7..23].to_owned();
        if !text.contains(&mark) || round == u8::MAX {
            return mark;
        }
        round += 1;
    }
}
