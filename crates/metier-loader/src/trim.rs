//! A body over its limits: what stays, and what is named instead. Pure.
//!
//! The opening, every heading, and the sections on when to use the skill, its steps, checks and
//! resources stay first; then other sections in their order while there is room. Each section left
//! out is named with its heading, which loads it, so that nothing is out of reach.

use std::ops::Range;

use metier_skill::{Heading, outline};

use crate::report::Omitted;

/// Words in a heading that make its section one of those a reader cannot do without.
#[rustfmt::skip]
const KEY_WORDS: &[&str] = &[
    "when", "trigger", "use this", "usage", "overview", "quick", "step", "workflow", "process", "procedure", "instruction",
    "how to", "check", "verif", "valid", "test", "resource", "reference", "file", "script", "rule", "must", "never",
];

/// A trimmed text.
pub(crate) struct Trimmed {
    pub(crate) text: String,
    pub(crate) omitted: Vec<Omitted>,
}

/// A stretch of the body that stays or goes as one: from a heading to the next heading, whatever its
/// level.
struct Piece<'a> {
    heading: Option<&'a Heading>,
    range: Range<usize>,
    key: bool,
}

/// `body` within `max_lines` and `max_chars`, as far as its headings alone allow.
pub(crate) fn trim(body: &str, max_lines: usize, max_chars: usize) -> Trimmed {
    let headings = outline(body);
    let pieces = pieces(body, &headings);
    // A placeholder stands for each piece that goes; room for all of them is set aside first.
    let set_aside = |piece: &Piece<'_>| placeholder(piece, body).chars().count();
    let mut chars_left = max_chars.saturating_sub(pieces.iter().map(set_aside).sum());
    let mut lines_left = max_lines.saturating_sub(pieces.len() * 3);
    let mut kept = vec![false; pieces.len()];
    let first = |at: usize| at == 0;
    for wanted in [0, 1, 2] {
        for (at, piece) in pieces.iter().enumerate() {
            let turn = match wanted {
                0 => first(at),
                1 => piece.key,
                _ => true,
            };
            let text = &body[piece.range.clone()];
            let (chars, lines) = (text.chars().count(), text.lines().count());
            if turn && !kept[at] && chars <= chars_left && lines <= lines_left {
                kept[at] = true;
                chars_left -= chars;
                lines_left -= lines;
            }
        }
    }
    let mut out = Trimmed { text: String::new(), omitted: Vec::new() };
    for (piece, kept) in pieces.iter().zip(kept) {
        if kept {
            out.text.push_str(&body[piece.range.clone()]);
        } else {
            out.text.push_str(&placeholder(piece, body));
            let heading = piece.heading.map_or_else(|| "the opening".to_owned(), Heading::marked);
            out.omitted.push(Omitted { heading, lines: body[piece.range.clone()].lines().count() });
        }
    }
    out
}

fn pieces<'a>(body: &str, headings: &'a [Heading]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(headings.len() + 1);
    let first = headings.first().map_or(body.len(), |heading| heading.section.start);
    if first > 0 {
        pieces.push(Piece { heading: None, range: 0..first, key: true });
    }
    for (at, heading) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(body.len(), |next| next.section.start);
        let lower = heading.text.to_lowercase();
        let key = KEY_WORDS.iter().any(|word| lower.contains(word)) || is_key_cjk(&heading.text);
        pieces.push(Piece { heading: Some(heading), range: heading.section.start..end, key });
    }
    pieces
}

/// The same in Chinese and Japanese: steps, when, usage, check, resource, rule.
fn is_key_cjk(heading: &str) -> bool {
    const WORDS: &[&str] = &[
        "\u{6b65}\u{9aa4}",
        "\u{624b}\u{9806}",
        "\u{4f55}\u{65f6}",
        "\u{4f7f}\u{7528}",
        "\u{68c0}\u{67e5}",
        "\u{9a8c}",
        "\u{8d44}\u{6e90}",
        "\u{89c4}\u{5219}",
        "\u{6d41}\u{7a0b}",
        "\u{89e6}\u{53d1}",
    ];
    WORDS.iter().any(|word| heading.contains(word))
}

fn placeholder(piece: &Piece<'_>, body: &str) -> String {
    let lines = body[piece.range.clone()].lines().count();
    match piece.heading {
        None => format!(
            "[The opening ({lines} lines) is left out. Load lines of SKILL.md to read it.]\n\n"
        ),
        Some(heading) => {
            let marked = heading.marked();
            format!(
                "{marked}\n[{lines} lines left out. Load SKILL.md, section \"{marked}\", to read them.]\n\n"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> String {
        let mut text = "Opening words.\n\n# Title\nIntro.\n".to_owned();
        for name in ["Background", "Steps", "Examples", "Checks"] {
            text.push_str(&format!("## {name}\n"));
            text.push_str(&format!("Line about {name}.\n").repeat(60));
        }
        text
    }

    #[test]
    fn what_a_reader_cannot_do_without_stays_and_the_rest_is_named() {
        let body = body();
        let trimmed = trim(&body, 180, 40_000);
        assert!(trimmed.text.starts_with("Opening words.\n\n# Title\nIntro.\n"));
        assert!(
            trimmed.text.contains("Line about Steps.")
                && trimmed.text.contains("Line about Checks.")
        );
        let omitted: Vec<&str> = trimmed.omitted.iter().map(|o| o.heading.as_str()).collect();
        assert_eq!(omitted, ["## Background", "## Examples"]);
        assert!(trimmed.text.contains("section \"## Examples\""));
        assert!(trimmed.text.lines().count() <= 180);
    }

    #[test]
    fn a_body_without_headings_is_named_whole() {
        let trimmed = trim(&"word\n".repeat(1000), 100, 1000);
        assert_eq!(trimmed.omitted.len(), 1);
        assert!(trimmed.text.contains("left out"));
    }
}
