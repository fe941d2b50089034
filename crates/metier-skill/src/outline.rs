//! The headings of a Markdown text and the sections below them.
//!
//! Headings are found by a Markdown parser, not by looking for `#`: a `#` inside a code fence is no
//! heading, a line underlined with `===` is one, and a heading inside a quote or a list belongs to
//! that, not to the text. A section runs from its heading to the next
//! heading of the same or a higher level.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use crate::text::for_model;

/// A heading and the section below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without markup, as a model may see it on its own: without the text around it a mark may
    /// have no excuse, and an entity such as `&#x202e;` is a character here.
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
    // How many quotes, lists and the like are open around what is read.
    let mut depth = 0usize;
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                open = Some((level as u8, range.start, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, start, title)) = open.take() {
                    let text = for_model(&title).split_whitespace().collect::<Vec<_>>().join(" ");
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
            Event::Start(tag) if holds_blocks(&tag) => depth += 1,
            Event::End(
                TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition,
            ) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    close_sections(&mut headings, text.len());
    headings
}

fn holds_blocks(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::FootnoteDefinition(_))
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

/// The heading that `hint` means: by its text, with or without `#` (then of that level) and markup,
/// any case; else by its anchor (`#getting-started`); else the only one that contains the words.
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
    if bare.contains(['[', '*', '_', '`', '<', '\\', '&'])
        && let [written] = &outline(&format!("# {}", bare.trim()))[..]
        && written.text != bare.trim()
        && let Some(found) = headings.iter().find(|heading| heading.text == written.text)
    {
        return Some(found);
    }
    if let Some(found) = headings.iter().find(|heading| anchor(&heading.text) == anchor(bare)) {
        return Some(found);
    }
    let mut containing = headings.iter().filter(|heading| fold(&heading.text).contains(&wanted));
    containing.next().filter(|_| containing.next().is_none())
}

/// For each heading whether [`find_section`] finds it by [`Heading::marked`]: the first of its words
/// and level, if it has words at all.
pub fn found_by_heading(headings: &[Heading]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let first = |heading: &Heading| {
        let words = fold(&heading.text);
        !words.is_empty() && seen.insert((heading.level, words))
    };
    headings.iter().map(first).collect()
}

/// For comparison: hidden characters gone as in [`Heading::text`], compatibility forms and case folded,
/// white space single, trailing `#` and colons gone.
fn fold(text: &str) -> String {
    let clean = for_model(text);
    let folded = if clean.is_ascii() {
        clean.to_ascii_lowercase()
    } else {
        clean.nfkc().flat_map(char::to_lowercase).collect()
    };
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

    #[test]
    fn a_heading_in_a_quote_or_a_list_ends_no_section() {
        let text = "## A\nintro\n\n> # Example\n> text\n\n- # item\n\nstill A\n\n## B\nx\n";
        let found: Vec<String> = outline(text).iter().map(Heading::marked).collect();
        assert_eq!(found, ["## A", "## B"]);
        assert_eq!(section(text, "A"), text.find("## B").map(|end| &text[..end]));
    }

    #[test]
    fn a_hint_may_have_the_markup_of_its_line() {
        let text = "# One\n## Link [x](y) and `code`\nhere\n";
        assert_eq!(
            section(text, "## Link [x](y) and `code`"),
            Some("## Link [x](y) and `code`\nhere\n")
        );
    }

    #[test]
    fn a_heading_hides_nothing_on_its_own_and_is_found_with_and_without_what_went() {
        let text = "# Pay\u{61c}ment\nرقم\n# Key &#x202e;&#xfeff;&#27;[2J\nx\n";
        let found: Vec<String> = outline(text).iter().map(Heading::marked).collect();
        assert_eq!(found, ["# Payment", "# Key \\x1b[2J"]);
        assert_eq!(section(text, "# Payment"), section(text, "pay\u{61c}ment"));
        assert!(section(text, "# Payment").is_some() && section(text, &found[1]).is_some());
    }

    proptest! {
        #[test]
        fn headings_hide_nothing(title in "[\\PC\u{61c}\u{200d}\u{200f}\u{2067}\u{2069}\u{34f}\u{ad}\u{feff}א\u{5b0}👨*`]{0,30}") {
            let headings = outline(&format!("# {title}\nאב\n"));
            for (heading, found) in headings.iter().zip(found_by_heading(&headings)) {
                let marked = heading.marked();
                prop_assert!(crate::hidden::find_hidden(&marked).is_empty(), "{marked:?}");
                prop_assert!(!found || find_section(&headings, &marked) == Some(heading), "{marked:?}");
            }
        }

        #[test]
        fn what_is_found_by_its_heading_is_what_find_section_finds(text in "((#{1,3} [ab#:]{0,2}|a\n===|b)\n){0,12}") {
            let headings = outline(&text);
            for (heading, found) in headings.iter().zip(found_by_heading(&headings)) {
                let answer = find_section(&headings, &heading.marked());
                prop_assert_eq!(found, answer == Some(heading), "{:?} {:?}", heading, answer);
            }
        }

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
