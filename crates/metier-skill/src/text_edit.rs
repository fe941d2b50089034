//! Edits to a file's text: what `metier check --fix` writes and `--diff` shows.
//!
//! Pure; the code that writes files applies them.

use std::ops::Range;

/// Replaces `range` (bytes of the file) by `replacement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// The text that replaces it.
    pub replacement: Box<str>,
}

/// Applies `edits` to `text`, later ones first. An edit that overlaps an earlier one, or does not
/// fit the text, is left out: a fix that no longer applies must not damage the file.
pub fn apply_edits(text: &[u8], edits: &[TextEdit]) -> Vec<u8> {
    let mut ordered: Vec<&TextEdit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = Vec::with_capacity(text.len() + 64);
    let mut done = 0;
    for edit in ordered {
        let Some(kept) = text.get(done..edit.range.start) else {
            continue;
        };
        if edit.range.end < edit.range.start || edit.range.end > text.len() {
            continue;
        }
        out.extend_from_slice(kept);
        out.extend_from_slice(edit.replacement.as_bytes());
        done = edit.range.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_foreign_edits_are_left_out() {
        let edit = |range, text: &str| TextEdit { range, replacement: text.into() };
        let edits = [edit(4..5, "E"), edit(0..2, "xx"), edit(1..3, "no"), edit(90..91, "no")];
        assert_eq!(apply_edits(b"abcde", &edits), b"xxcdE");
    }
}
