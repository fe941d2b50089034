//! A file's text in the one form in which it is outlined, counted and cut. Pure.
//!
//! Bodies and excerpts are parts of this form, so that a section or a line means the same to both. It is
//! not what a model is given: whether a character hides something depends on its neighbours, and a part
//! does not have all of them. So each part goes through [`for_model`] again, as it is given.

use std::borrow::Cow;

use metier_skill::fence::{Complete, Fence, find};
use metier_skill::text::for_model;
use metier_skill::{Heading, outline};

use crate::error::LoadError;

/// The text of a file.
pub(crate) struct FileText<'b> {
    pub(crate) text: Cow<'b, str>,
    /// Where the body starts, if there is frontmatter before it.
    pub(crate) body: Option<usize>,
}

impl<'b> FileText<'b> {
    /// The text in `bytes`; a file with a NUL in it is binary, whatever else it is.
    pub(crate) fn new(path: &str, bytes: &'b [u8]) -> Result<Self, LoadError> {
        let not_text = |why: &str| LoadError::NotText(format!("{path} {why}"));
        if memchr::memchr(0, bytes).is_some() {
            return Err(not_text("is binary"));
        }
        let raw = std::str::from_utf8(bytes).map_err(|_| not_text("is not UTF-8"))?;
        let text = for_model(raw);
        // The fences are those that the frontmatter was parsed by. Lines are the same in both forms.
        let body = match find(bytes, Complete::Yes) {
            Fence::Closed(found) => Some(line_start(&text, for_model(&raw[..found.body]).as_ref())),
            _ => None,
        };
        Ok(Self { text, body })
    }

    /// The headings of the file; frontmatter is no part of its Markdown.
    pub(crate) fn outline(&self) -> Vec<Heading> {
        let start = self.body.unwrap_or(0);
        let mut headings = outline(&self.text[start..]);
        for heading in &mut headings {
            heading.section = heading.section.start + start..heading.section.end + start;
        }
        headings
    }
}

/// Where `text` continues after as many lines as `before` has.
fn line_start(text: &str, before: &str) -> usize {
    let lines = memchr::memchr_iter(b'\n', before.as_bytes()).count();
    if !before.ends_with('\n') {
        return text.len();
    }
    let end = memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines.saturating_sub(1));
    end.map_or(text.len(), |end| end + 1)
}
