//! A body over its limits: what stays, and what is named instead. Pure.
//!
//! The opening, every heading, and the sections on when to use the skill, its steps, checks and
//! resources stay first; then other sections in their order while there is room. Each section left
//! out is named with what loads it (its heading, or its lines where the heading stands twice), so
//! that nothing is out of reach. Where a note for each would fill the room, neighbours that go share
//! one that names them all, and where even the names would, it counts them: the limits hold whatever
//! the text is. Of a first section that is larger than the room, the beginning stays.

use std::ops::Range;

use metier_skill::text;
use metier_skill::{Heading, found_by_heading, outline};

use crate::lines::count_lines;
use crate::report::{OmittedSection, Part};
use crate::resource::LineRange;

/// Words in a heading that make its section one of those a reader cannot do without.
#[rustfmt::skip]
const KEY_WORDS: &[&str] = &[
    "when", "trigger", "use this", "usage", "overview", "quick", "step", "workflow", "process", "procedure", "instruction",
    "how to", "check", "verif", "valid", "test", "resource", "reference", "file", "script", "rule", "must", "never",
];

/// A trimmed text.
pub(crate) struct Trimmed {
    pub(crate) text: String,
    pub(crate) omitted: Vec<OmittedSection>,
}

/// A stretch of the body that stays or goes as one: from a heading to the next heading, whatever its
/// level.
struct Piece<'a> {
    heading: Option<&'a Heading>,
    range: Range<usize>,
    key: bool,
    lines: usize,
    chars: usize,
    /// Where it stands in its file.
    at: LineRange,
    load: Part,
}

/// What a note about pieces that are left out takes at most.
const NOTE_CHARS: usize = 160;
const NOTE_LINES: usize = 3;
/// Characters of a heading that are repeated where its section is left out.
const HEADING_CHARS: usize = 100;

/// `body` within `max_lines` and `max_chars` (given room for one note at least). In its file the
/// body starts at line `first_line`.
///
/// Why not simply the first so many lines? Long bodies put their triggers and overview first and
/// their steps, checks and lists of files last; a cut at the limit loses exactly the part that a model
/// acts on, and the model does not know that anything is missing. So whole sections stay or go, the
/// ones that a reader acts on first, and a note stands where each of the others stood.
///
/// Why is the room for notes set aside before any section is taken? A section that stays can split a
/// run of sections that go into two runs, and each run needs its own note. If notes were paid for
/// afterwards, a body with a thousand small sections would go over the limit by its notes alone; the
/// limits are what the context budget relies on, so they hold for every input (a property test tries
/// it). The three forms of notes follow from the same bound: separate notes are the most useful and the
/// most expensive, names cost a line a run, and a count costs the same whatever the headings say. A
/// form is used only if it takes at most half of the room, so that notes never crowd out the text.
///
/// Why is the first piece split? It is the only one that may not go as a whole (it says what the
/// skill is for), and in bodies without headings it is everything. A third of the room is enough for
/// an opening and leaves two thirds for the sections that follow.
pub(crate) fn trim(body: &str, max_lines: usize, max_chars: usize, first_line: usize) -> Trimmed {
    let headings = outline(body);
    let mut pieces = pieces(body, &headings, first_line);
    split_first(&mut pieces, body, max_lines / 3, max_chars / 3);
    // What says of a piece that it goes: room for all of it is set aside first.
    let cost = |note: fn(&Piece<'_>) -> String| -> usize {
        pieces.iter().map(|piece| note(piece).chars().count()).sum()
    };
    let (separate, names) = (cost(placeholder), cost(label));
    let notes = if separate <= max_chars / 2 && pieces.len() * NOTE_LINES <= max_lines / 2 {
        Notes::Separate
    } else if names <= max_chars / 2 {
        Notes::Named
    } else {
        Notes::Counted
    };
    // Each piece that stays may part two runs of pieces that go, and a run needs a note.
    let (all, each) = match notes {
        Notes::Separate => ((separate, pieces.len() * NOTE_LINES), (0, 0)),
        Notes::Named => ((names + NOTE_CHARS, NOTE_LINES), (NOTE_CHARS, NOTE_LINES)),
        Notes::Counted => ((NOTE_CHARS, NOTE_LINES), (NOTE_CHARS, NOTE_LINES)),
    };
    let mut room = Room {
        chars: max_chars.saturating_sub(all.0),
        lines: max_lines.saturating_sub(all.1),
        each,
    };
    let mut kept = vec![false; pieces.len()];
    for wanted in [0, 1, 2] {
        for (at, piece) in pieces.iter().enumerate() {
            let turn = match wanted {
                0 => at == 0,
                1 => piece.key,
                _ => true,
            };
            kept[at] = kept[at] || turn && room.take(piece);
        }
    }
    let mut out = Trimmed { text: String::new(), omitted: Vec::new() };
    let mut at = 0;
    while at < pieces.len() {
        let run = kept[at..].iter().take_while(|kept| !**kept).count();
        match run {
            0 => out.text.push_str(&body[pieces[at].range.clone()]),
            _ if notes != Notes::Separate && run > 1 => {
                out.leave_out_together(&pieces[at..at + run], notes);
            }
            _ => pieces[at..at + run].iter().for_each(|piece| out.leave_out(piece)),
        }
        at += run.max(1);
    }
    out
}

/// How what goes is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notes {
    /// Each piece under its heading.
    Separate,
    /// Neighbours in one note, by their names.
    Named,
    /// Neighbours in one note, by their number.
    Counted,
}

/// The room that is left, and what each piece that stays takes besides itself.
struct Room {
    chars: usize,
    lines: usize,
    each: (usize, usize),
}

impl Room {
    fn take(&mut self, piece: &Piece<'_>) -> bool {
        let (chars, lines) = (piece.chars + self.each.0, piece.lines + self.each.1);
        let fits = chars <= self.chars && lines <= self.lines;
        if fits {
            self.chars -= chars;
            self.lines -= lines;
        }
        fits
    }
}

impl Trimmed {
    fn leave_out(&mut self, piece: &Piece<'_>) {
        self.text.push_str(&placeholder(piece));
        self.omit(piece);
    }

    fn omit(&mut self, piece: &Piece<'_>) {
        let (heading, load) = (name(piece), piece.load.clone());
        self.omitted.push(OmittedSection { heading, lines: piece.lines, load });
    }

    fn leave_out_together(&mut self, run: &[Piece<'_>], notes: Notes) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let lines = LineRange { first: first.at.first, last: last.at.last };
        let count = lines.last + 1 - lines.first;
        let load = Part::Lines(lines.to_string());
        let names: String = match notes {
            Notes::Counted => String::new(),
            _ => run.iter().map(label).collect(),
        };
        let colon = if names.is_empty() { "." } else { ":" };
        self.text.push_str(&format!(
            "[{} sections ({count} lines) left out{colon}{names} Load SKILL.md, {load}, to read them.]\n\n",
            run.len()
        ));
        if names.is_empty() {
            let heading = format!("{} sections", run.len());
            self.omitted.push(OmittedSection { heading, lines: count, load });
        } else {
            for piece in run {
                self.omit(piece);
            }
        }
    }
}

/// A piece among its neighbours in a shared note.
fn label(piece: &Piece<'_>) -> String {
    format!(" {} (lines {});", name(piece), piece.at)
}

/// What a piece is called.
fn name(piece: &Piece<'_>) -> String {
    match piece.heading {
        Some(heading) => shown(heading),
        None if piece.range.start == 0 => "the opening".to_owned(),
        None => "the rest of the first section".to_owned(),
    }
}

/// Parts a first piece that takes more than so many lines or characters, so that its beginning
/// stays.
fn split_first(pieces: &mut Vec<Piece<'_>>, body: &str, max_lines: usize, max_chars: usize) {
    let Some(first) = pieces.first_mut() else { return };
    if first.lines <= max_lines && first.chars <= max_chars {
        return;
    }
    let (mut lines, mut chars, mut bytes) = (0, 0, 0);
    for line in body[first.range.clone()].split_inclusive('\n') {
        let more = line.chars().count();
        if lines == max_lines || chars + more > max_chars {
            break;
        }
        (lines, chars, bytes) = (lines + 1, chars + more, bytes + line.len());
    }
    if lines == 0 {
        return;
    }
    let at = LineRange { first: first.at.first + lines, last: first.at.last };
    let rest = Piece {
        heading: None,
        range: first.range.start + bytes..first.range.end,
        key: false,
        lines: first.lines - lines,
        chars: first.chars - chars,
        load: Part::Lines(at.to_string()),
        at,
    };
    first.range.end = rest.range.start;
    first.at.last = rest.at.first - 1;
    (first.lines, first.chars) = (lines, chars);
    // By its heading the whole would be loaded; this is what is left out of it.
    first.load = Part::Lines(first.at.to_string());
    pieces.insert(1, rest);
}

/// A heading as it is repeated: cut where it is very long.
fn shown(heading: &Heading) -> String {
    text::clip(&heading.marked(), HEADING_CHARS).into_owned()
}

fn pieces<'a>(body: &str, headings: &'a [Heading], first_line: usize) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(headings.len() + 1);
    let mut line = first_line;
    let found = found_by_heading(headings);
    let mut add = |heading: Option<&'a Heading>, found: bool, range: Range<usize>, key: bool| {
        let text = &body[range.clone()];
        let (lines, chars) = (count_lines(text), text.chars().count());
        let by_lines = LineRange { first: line, last: line + lines.saturating_sub(1) };
        line += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let short = |heading: &&Heading| heading.text.len() <= HEADING_CHARS;
        let marked = heading.filter(|_| found).filter(short).map(Heading::marked);
        let load = marked.map_or_else(|| Part::Lines(by_lines.to_string()), Part::Section);
        pieces.push(Piece { heading, range, key, lines, chars, at: by_lines, load });
    };
    let first = headings.first().map_or(body.len(), |heading| heading.section.start);
    if first > 0 {
        add(None, false, 0..first, true);
    }
    for (at, heading) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(body.len(), |next| next.section.start);
        let lower = heading.text.to_lowercase();
        let key = KEY_WORDS.iter().any(|word| lower.contains(word)) || is_key_cjk(&heading.text);
        add(Some(heading), found[at], heading.section.start..end, key);
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

fn placeholder(piece: &Piece<'_>) -> String {
    let Piece { heading, lines, load, .. } = piece;
    let plural = if *lines == 1 { "" } else { "s" };
    match heading {
        None => {
            let mut what = name(piece);
            what.replace_range(..1, "T");
            format!(
                "[{what} ({lines} line{plural}) is left out. Load SKILL.md, {load}, to read it.]\n\n"
            )
        }
        Some(heading) => format!(
            "{}\n[{lines} line{plural} left out. Load SKILL.md, {load}, to read them.]\n\n",
            shown(heading)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let trimmed = trim(&body, 180, 40_000, 5);
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
    fn a_crowd_of_headings_does_not_outgrow_the_limits() {
        let mut many = String::new();
        for n in 0..9000 {
            many.push_str(&format!("# h{n}\n\nx\n"));
        }
        for body in ["# a\n".repeat(40_000), many] {
            let trimmed = trim(&body, 500, 40_000, 5);
            assert!(trimmed.text.chars().count() <= 40_000, "{}", trimmed.text.len());
            assert!(trimmed.text.lines().count() <= 500);
            assert!(trimmed.omitted.len() <= 200, "{}", trimmed.omitted.len());
        }
        let long = trim(&format!("# {}\n\ntext\n", "x".repeat(100_000)), 500, 40_000, 5);
        assert!(long.text.chars().count() < 400, "{}", long.text.len());
        assert_eq!(long.omitted[0].load, Part::Lines("5-7".to_owned()));
    }

    proptest! {
        /// Whatever the body: the limits hold, and what stays stands in the body.
        #[test]
        fn the_limits_hold(
            pieces in proptest::collection::vec("((#{1,4} [a-z ]{0,12}|[a-z ]{0,40}|> # q|---|```)\n){1,6}", 0..60),
            lines in 10usize..200,
            chars in 500usize..4000,
        ) {
            let body = pieces.concat();
            let trimmed = trim(&body, lines, chars, 5);
            prop_assert!(trimmed.text.chars().count() <= chars, "{}", trimmed.text);
            prop_assert!(trimmed.text.lines().count() <= lines, "{}", trimmed.text);
        }
    }

    #[test]
    fn the_beginning_of_a_body_without_headings_stays_and_the_rest_is_named() {
        let trimmed = trim(&"word\n".repeat(1000), 100, 1000, 5);
        assert_eq!(trimmed.text.matches("word\n").count(), 33);
        assert_eq!(trimmed.omitted.len(), 1);
        assert!(trimmed.text.contains("Load SKILL.md, lines 38-1004"), "{}", trimmed.text);
        let line = trim(&"x".repeat(50_000), 500, 40_000, 5);
        assert_eq!(
            line.text,
            "[The opening (1 line) is left out. Load SKILL.md, lines 5-5, to read it.]\n\n"
        );
    }

    /// More sections than there are lines for a note each: one line names them all.
    #[test]
    fn every_one_of_a_hundred_sections_that_go_is_named() {
        let mut body = "# Title\n".to_owned();
        for n in 0..100 {
            body.push_str(&format!("## Part {n}\n{}", "Some words here.\n".repeat(40)));
        }
        let trimmed = trim(&body, 500, 40_000, 5);
        assert!(trimmed.text.lines().count() <= 500);
        for n in 0..100 {
            assert!(trimmed.text.contains(&format!("## Part {n}")), "{n}");
        }
        let kept = trimmed.text.matches("\n## Part ").count();
        assert_eq!(trimmed.omitted.len(), 100 - kept);
        assert_eq!(trimmed.omitted.last().map(|it| &*it.heading), Some("## Part 99"));
        let whole: usize = trimmed.omitted.iter().map(|it| it.lines).sum();
        assert_eq!(whole, 41 * (100 - kept));
    }
}
