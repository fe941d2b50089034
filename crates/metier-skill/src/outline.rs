//! The headings of a Markdown text and the sections below them.
//!
//! Headings are found by a Markdown parser, not by looking for `#`: a `#` inside a code fence is no
//! heading, and a line underlined with `===` is one. A section runs from its heading to the next
//! heading of the same or a higher level.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

/// A heading and the section below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without markup.
    pub text: String,
    /// The bytes of the section: from the heading to the next of the same or a higher level.
    #[serde(skip)]
    pub section: Range<usize>,
}

impl Heading {
    /// The heading as it would be written: `## Steps`.
    pub fn marked(&self) -> String {
        format!("{} {}", "#".repeat(usize::from(self.level)), self.text)
    }
}

/// The headings of `text`, in order.
pub fn outline(text: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut open: Option<(u8, usize, String)> = None;
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = Some((level as u8, range.start, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, start, title)) = open.take() {
                    let text = title.split_whitespace().collect::<Vec<_>>().join(" ");
                    headings.push(Heading { level, text, section: start..start });
                }
            }
            Event::Text(piece) | Event::Code(piece) => {
                if let Some((_, _, title)) = &mut open {
                    title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, title)) = &mut open {
                    title.push(' ');
                }
            }
            _ => {}
        }
    }
    close_sections(&mut headings, text.len());
    headings
}

/// Ends each section at the next heading of the same or a higher level.
fn close_sections(headings: &mut [Heading], end: usize) {
    // The headings whose sections are still open, outermost first.
    let mut open: Vec<usize> = Vec::new();
    for at in 0..headings.len() {
        let (level, start) = (headings[at].level, headings[at].section.start);
        while let Some(last) = open.last().copied().filter(|last| headings[*last].level >= level) {
            headings[last].section.end = start;
            open.pop();
        }
        open.push(at);
    }
    for at in open {
        headings[at].section.end = end;
    }
}

/// The heading that `hint` means: by its text, with or without `#` (then of that level), any case;
/// else by its anchor (`#getting-started`); else the only one that contains the words.
pub fn find_section<'h>(headings: &'h [Heading], hint: &str) -> Option<&'h Heading> {
    let trimmed = hint.trim();
    let bare = trimmed.trim_start_matches('#');
    let level = trimmed.len() - bare.len();
    let wanted = fold(bare);
    if wanted.is_empty() {
        return None;
    }
    let of_level = |heading: &&Heading| level == 0 || usize::from(heading.level) == level;
    let named = || headings.iter().filter(|heading| fold(&heading.text) == wanted);
    if let Some(found) = named().find(of_level).or_else(|| named().next()) {
        return Some(found);
    }
    if let Some(found) = headings.iter().find(|heading| anchor(&heading.text) == anchor(bare)) {
        return Some(found);
    }
    let mut containing = headings.iter().filter(|heading| fold(&heading.text).contains(&wanted));
    containing.next().filter(|_| containing.next().is_none())
}

/// For comparison: compatibility forms and case folded, white space single, trailing `#` and colons
/// gone.
fn fold(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let trimmed = folded.trim().trim_end_matches(['#', ':']).trim();
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The anchor that code hosts make of a heading.
fn anchor(text: &str) -> String {
    let lower: String = text.trim().nfkc().flat_map(char::to_lowercase).collect();
    lower
        .chars()
        .filter_map(|ch| match ch {
            ' ' | '-' => Some('-'),
            '_' => Some('_'),
            ch if ch.is_alphanumeric() => Some(ch),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section<'t>(text: &'t str, hint: &str) -> Option<&'t str> {
        find_section(&outline(text), hint).map(|heading| &text[heading.section.clone()])
    }

    #[test]
    fn a_hash_inside_a_fence_is_no_heading_and_an_underlined_line_is_one() {
        let text = "# One\n\n```sh\n# not a heading\n```\n\nTwo\n---\nunder two\n\n### Deep `code` *it*\nx\n";
        let outline = outline(text);
        let found: Vec<(u8, &str)> = outline.iter().map(|h| (h.level, h.text.as_str())).collect();
        assert_eq!(found, [(1, "One"), (2, "Two"), (3, "Deep code it")]);
        assert_eq!(section(text, "Two"), Some("Two\n---\nunder two\n\n### Deep `code` *it*\nx\n"));
    }

    #[test]
    fn hints_with_and_without_marks_case_and_script() {
        let text = "# A\n## Steps\none\n### Steps\ndeep\n## 指标 定义\n表\n## Last one:\nend";
        assert_eq!(section(text, "steps"), Some("## Steps\none\n### Steps\ndeep\n"));
        assert_eq!(section(text, "### Steps"), Some("### Steps\ndeep\n"));
        assert_eq!(section(text, "## 指标 定义"), Some("## 指标 定义\n表\n"));
        assert_eq!(section(text, "#last-one"), Some("## Last one:\nend"));
        assert_eq!(section(text, "Last one"), Some("## Last one:\nend"));
        assert_eq!(section(text, "last"), Some("## Last one:\nend"), "the only one with the word");
        assert_eq!(section(text, "step"), None, "two contain the word");
        assert_eq!(section(text, "none"), None);
        assert_eq!(section(text, "##"), None);
    }

    proptest! {
        #[test]
        fn sections_nest_and_stay_in_the_text(text in "((#{1,4} [a-c ]{0,4}|[ab ]{0,5}|```|---|===|> # q|- # l)\n){0,20}") {
            let headings = outline(&text);
            for (at, heading) in headings.iter().enumerate() {
                prop_assert!(heading.section.start < heading.section.end && heading.section.end <= text.len());
                prop_assert!(text.is_char_boundary(heading.section.start));
                if let Some(next) = headings[at + 1..].iter().find(|next| next.level <= heading.level) {
                    prop_assert_eq!(heading.section.end, next.section.start);
                }
            }
        }
    }
}
