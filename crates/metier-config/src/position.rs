//! From a byte offset to a line and a column as editors count them.
//!
//! Columns count characters, as everywhere in the project.

/// Where the lines of a text start.
#[derive(Debug)]
pub(crate) struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Reads the text once. A lone carriage return ends a line, as it does for `jsonc-parser`,
    /// where it ends a `//` comment.
    pub(crate) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let ends_line = |i: usize| match bytes[i] {
            b'\n' => true,
            b'\r' => bytes.get(i + 1) != Some(&b'\n'),
            _ => false,
        };
        let mut starts = vec![0];
        starts.extend((0..bytes.len()).filter(|&i| ends_line(i)).map(|i| i + 1));
        Self { text, starts }
    }

    /// The line, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// The line and the character in it, both from 1.
    pub(crate) fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
