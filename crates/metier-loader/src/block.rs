//! The block in which a skill's text reaches a model. Pure.
//!
//! The text stands between two lines that carry a mark made of its own digest. A text cannot contain
//! its own digest, so it cannot close the block and speak outside it; and the same text always gives
//! the same block, so that a prompt stays byte-stable.

use metier_skill::text::label;
use metier_skill::{Digest, SkillId, Source};

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
    block.push_str(&files_line(files));
    block
}

/// The block as our own loop shows it to a model: without the report, which is the record's, and
/// without the skill's path, unless the model can use one. A small model that saw an absolute path
/// passed it to every tool, and each call was refused.
pub fn shown_block(id: &SkillId, path: Option<&str>, text: &str, files: &[String]) -> String {
    let mut block =
        format!("[Skill: {} | source={}]\n", label(id.name.as_str(), LABEL_CHARS), id.source);
    if let Some(path) = path {
        block.push_str(&format!("[Skill Path: {}]\n", label(path, LABEL_CHARS)));
    }
    block.push_str(&fenced("Skill Text", text));
    block.push_str(&files_line(files));
    block
}

/// The names of a skill's files; nothing where there are none.
fn files_line(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = files.iter().take(200).map(|file| label(file, LABEL_CHARS)).collect();
    let more = match files.len() - shown.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("[Skill Files: {}{more}]\n", shown.join(", "))
}

/// A foreign text between two lines that it cannot contain, so that it cannot close them and speak
/// outside. `label` is ours. The mark is called one: a model took a bare one for a number in the text.
pub fn fenced(label: &str, text: &str) -> String {
    let mark = mark(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("[{label} | mark {mark}]\n{text}{end}[End of {label} | mark {mark}]\n")
}

/// Characters of a mark. A text that holds its own mark gets another one, so what counts is that it
/// cannot hold all of the 256 that it may get; more characters would only cost tokens.
const MARK_CHARS: usize = 8;

/// A mark that does not stand in the text.
fn mark(text: &str) -> String {
    let mut round: u8 = 0;
    loop {
        let digest = Digest::of_parts([text.as_bytes(), &[round]]).to_string();
        let mark = digest[7..7 + MARK_CHARS].to_owned();
        if !text.contains(&mark) || round == u8::MAX {
            return mark;
        }
        round += 1;
    }
}
