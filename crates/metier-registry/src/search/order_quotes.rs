//! A line with what stands in quotation marks blotted out, byte for byte, so that places stay the same.
//! tidy:allow-cjk
//!
//! Quoted words are not the person's own: `grep "use the deploy skill" log.txt` orders nothing. A mark that is
//! never closed quotes the rest. A name alone beside the word skill stays: there the marks say that it is a
//! name.

use std::ops::Range;

use super::orders::is_name;

/// Takes the place of what is blotted out: no blank, no letter, no sign of prose.
pub(super) const BLOT: char = '\u{1}';
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('”', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('〈', '〉'),
    ('【', '】'),
    ('＂', '＂'),
    ('＇', '＇'),
];
const KINDS: &[&str] = &["skill", "workflow", "技能", "工作流"];

/// A line, blotted.
#[derive(Debug)]
pub(super) struct Masked {
    pub(super) text: String,
    /// Where quoted names stand that were kept.
    pub(super) kept: Vec<Range<usize>>,
}

pub(super) fn masked(line: &str) -> Masked {
    if line.is_ascii() && !line.contains(['"', '\'', '`']) {
        return Masked { text: line.to_owned(), kept: Vec::new() };
    }
    let mut text = String::with_capacity(line.len());
    let mut kept = Vec::new();
    while let Some(c) = line[text.len()..].chars().next() {
        let at = text.len();
        let in_word = text.chars().next_back().is_some_and(char::is_alphanumeric);
        let pair = QUOTES.iter().find(|&&(open, _)| open == c);
        // The apostrophe of a word (don't) opens nothing.
        let Some(&(_, close)) = pair.filter(|_| !(in_word && matches!(c, '\'' | '’'))) else {
            text.push(c);
            continue;
        };
        let start = at + c.len_utf8();
        let closes = |&(end, _): &(usize, &str)| {
            let behind = line[start + end + close.len_utf8()..].chars().next();
            close != '\'' && close != '’' || !behind.is_some_and(char::is_alphanumeric)
        };
        let end = line[start..].match_indices(close).find(closes).map(|(end, _)| start + end);
        let until = end.map_or(line.len(), |end| end + close.len_utf8());
        let name = &line[start..end.unwrap_or(line.len())];
        if is_name(name) && end.is_some() && is_beside_kind(&line[..at], &line[until..]) {
            kept.push(start..start + name.len());
            text.extend(std::iter::repeat_n(' ', c.len_utf8()));
            text.push_str(name);
            text.extend(std::iter::repeat_n(' ', close.len_utf8()));
        } else {
            text.extend(std::iter::repeat_n(BLOT, until - at));
        }
    }
    Masked { text, kept }
}

fn is_beside_kind(before: &str, behind: &str) -> bool {
    let (before, behind) = (before.trim_end().to_lowercase(), behind.trim_start().to_lowercase());
    let ends =
        |text: &str| !text.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_./".contains(c));
    KINDS.iter().any(|kind| {
        behind.strip_prefix(kind).is_some_and(|rest| ends(rest.strip_prefix('s').unwrap_or(rest)))
            || before.ends_with(kind)
    })
}
