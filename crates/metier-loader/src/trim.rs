//! A body over its limits: what stays, and what is named instead. Pure.
//!
//! The opening and the sections on when to use the skill, its steps, checks and resources share the
//! room first, and one that does not fit is cut; then the other sections follow in their order, and
//! what room is left goes to the beginning of the next one. Whatever is left out is named with what
//! loads it (a heading, or lines where the heading stands twice or a part of the section is shown), so
//! that nothing is out of reach. Where a note for each would fill the room, neighbours that go share
//! one that names them all, and where even the names would, it counts them: the limits hold whatever
//! the text is.

use std::ops::Range;

use metier_skill::text;
use metier_skill::{Heading, found_by_heading, outline};

use crate::heading_rank::{Rank, ranks};
use crate::lines::count_lines;
use crate::report::{OmittedSection, Part};
use crate::resource::LineRange;

mod beginning;
mod room;

use beginning::{Beginning, beginning};
use room::{Room, Size};

/// A trimmed text.
pub(crate) struct Trimmed {
    pub(crate) text: String,
    pub(crate) omitted: Vec<OmittedSection>,
}

/// A stretch of the body that is judged as one: from a heading to the next heading, whatever its
/// level.
struct Piece<'a> {
    heading: Option<&'a Heading>,
    range: Range<usize>,
    rank: Rank,
    size: Size,
    /// Where it stands in its file.
    at: LineRange,
    load: Part,
}

/// What of a piece is in the result.
#[derive(Clone, PartialEq, Eq)]
enum Amount {
    Nothing,
    Part(Beginning),
    Whole,
}

/// Characters of a heading that are repeated where its section is left out.
const HEADING_CHARS: usize = 100;
/// Less of a key section than this is not worth its note: where so many share the room, the first
/// ones stay whole.
const SMALLEST_SHARE: Size = Size { chars: 400, lines: 8 };

/// `body` within `max_lines` and `max_chars` (given room for one note at least). In its file the
/// body starts at line `first_line`.
///
/// Why not simply the first so many lines? Long bodies put their triggers and overview first and
/// their steps, checks and lists of files last; a cut at the limit loses exactly the part that a model
/// acts on, and the model does not know that anything is missing. So the sections that a reader acts on
/// come first, and a note stands where each of the others stood.
///
/// Why do the key sections share the room? If they were taken in their order, one `## Steps` of 520
/// lines would push out the checks and the list of resources behind it. With equal shares the short ones
/// stay whole, and only those that are longer than their share are cut.
///
/// Why is the room for notes set aside before any section is taken? A section that stays can split a
/// run of sections that go into two runs, and each run needs its own note. If notes were paid for
/// afterwards, a body with a thousand small sections would go over the limit by its notes alone; the
/// limits are what the context budget relies on, so they hold for every input (a property test tries
/// it). The three forms of notes follow from the same bound: separate notes are the most useful and the
/// most expensive, names cost a line a run, and a count costs the same whatever the headings say. A
/// form is used only if it takes at most half of the room, so that notes never crowd out the text.
pub(crate) fn trim(body: &str, max_lines: usize, max_chars: usize, first_line: usize) -> Trimmed {
    let headings = outline(body);
    let pieces = pieces(body, &headings, first_line);
    let limits = Size { chars: max_chars, lines: max_lines };
    let notes = form_of_notes(&pieces, limits);
    let mut choice = Choice {
        body,
        pieces: &pieces,
        room: Room::new(limits, &pieces, notes),
        kept: vec![Amount::Nothing; pieces.len()],
    };
    choice.share_among_key_sections(limits);
    for rank in [Rank::Key, Rank::Plain, Rank::Background] {
        for at in choice.of_rank(rank) {
            choice.take_whole(at);
        }
    }
    choice.fill();
    let kept = choice.kept;
    let mut out = Trimmed { text: String::new(), omitted: Vec::new() };
    let mut at = 0;
    while at < pieces.len() {
        let piece = &pieces[at];
        let run = kept[at..].iter().take_while(|kept| **kept == Amount::Nothing).count();
        match &kept[at] {
            Amount::Whole => out.text.push_str(&body[piece.range.clone()]),
            Amount::Part(beginning) => out.cut(piece, &body[piece.range.clone()], beginning),
            Amount::Nothing if notes == Notes::Separate => {
                pieces[at..at + run].iter().for_each(|piece| out.leave_out(piece));
            }
            Amount::Nothing => out.leave_out_together(&pieces[at..at + run], notes),
        }
        at += run.max(1);
    }
    out
}

/// What stays of each piece, while it is chosen.
struct Choice<'a> {
    body: &'a str,
    pieces: &'a [Piece<'a>],
    room: Room,
    kept: Vec<Amount>,
}

impl Choice<'_> {
    /// The pieces of a rank, in their order. The first one says what the skill is for.
    fn of_rank(&self, rank: Rank) -> Vec<usize> {
        let of = |at: usize| if at == 0 { Rank::Key } else { self.pieces[at].rank };
        (0..self.pieces.len()).filter(|at| of(*at) == rank).collect()
    }

    /// Whole, or up to an equal share of the room: none of them goes because another is long.
    fn share_among_key_sections(&mut self, limits: Size) {
        /// The share is found in so many parts of the limits.
        const PARTS: usize = 1024;
        let key = self.of_rank(Rank::Key);
        let mut room = self.room.clone();
        for at in &key {
            room.stay(*at);
        }
        let available = room.left();
        let takes = |at: usize, share: Size| {
            let piece = &self.pieces[at];
            if piece.size.within(share) {
                piece.size
            } else {
                share.at_most(piece.size).plus(rest_note_size(piece))
            }
        };
        let nothing = Size { chars: 0, lines: 0 };
        let fits = |share: Size| {
            key.iter().fold(nothing, |sum, at| sum.plus(takes(*at, share))).within(available)
        };
        let share = |part: usize| Size {
            chars: limits.chars * part / PARTS,
            lines: limits.lines * part / PARTS,
        };
        let (mut low, mut high) = (0, PARTS + 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            *(if fits(share(middle)) { &mut low } else { &mut high }) = middle;
        }
        let share = share(low);
        if !SMALLEST_SHARE.within(share) {
            return;
        }
        for at in key {
            let piece = &self.pieces[at];
            if piece.size.within(share) {
                self.keep(at, Amount::Whole);
            } else if let Some(part) = self.beginning(at, share) {
                self.keep(at, Amount::Part(part));
            }
        }
    }

    /// What a piece takes when so much of it stays.
    fn size(&self, at: usize, kept: &Amount) -> Size {
        match kept {
            Amount::Nothing => Size { chars: 0, lines: 0 },
            Amount::Part(part) => part.size.plus(rest_note_size(&self.pieces[at])),
            Amount::Whole => self.pieces[at].size,
        }
    }

    fn keep(&mut self, at: usize, kept: Amount) {
        if self.kept[at] == Amount::Nothing {
            self.room.stay(at);
        } else {
            self.room.give_back(self.size(at, &self.kept[at]));
        }
        self.room.spend(self.size(at, &kept));
        self.kept[at] = kept;
    }

    /// The room for a piece, with what it has already.
    fn room_for(&self, at: usize) -> Size {
        match &self.kept[at] {
            Amount::Nothing => self.room.left_for(at),
            kept => self.room.left().plus(self.size(at, kept)),
        }
    }

    fn beginning(&self, at: usize, room: Size) -> Option<Beginning> {
        let piece = &self.pieces[at];
        beginning(&self.body[piece.range.clone()], room, piece.heading.is_some())
    }

    /// Keeps the whole piece where that fits.
    fn take_whole(&mut self, at: usize) {
        if self.kept[at] != Amount::Whole && self.pieces[at].size.within(self.room_for(at)) {
            self.keep(at, Amount::Whole);
        }
    }

    /// Spends what is left: on what was cut, then on the first of what would go.
    fn fill(&mut self) {
        let is_cut = |at: &usize| matches!(self.kept[*at], Amount::Part(_));
        let mut next: Vec<usize> = (0..self.kept.len()).filter(is_cut).collect();
        for rank in [Rank::Key, Rank::Plain, Rank::Background] {
            let gone =
                self.of_rank(rank).into_iter().filter(|at| self.kept[*at] == Amount::Nothing);
            next.extend(gone);
        }
        for at in next {
            self.take_whole(at);
            if self.kept[at] == Amount::Whole {
                continue;
            }
            let note = rest_note_size(&self.pieces[at]);
            let Some(room) = self.room_for(at).minus(note) else { continue };
            let more = |part: &Beginning| match &self.kept[at] {
                Amount::Part(before) => part.bytes > before.bytes,
                _ => true,
            };
            if let Some(part) = self.beginning(at, room).filter(more) {
                self.keep(at, Amount::Part(part));
            }
        }
    }
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

fn form_of_notes(pieces: &[Piece<'_>], limits: Size) -> Notes {
    let half = Size { chars: limits.chars / 2, lines: limits.lines / 2 };
    let cost = |note: fn(&Piece<'_>) -> String| {
        let texts = pieces.iter().map(note);
        texts.fold(Size { chars: 0, lines: 0 }, |sum, text| {
            sum.plus(Size { chars: text.chars().count(), lines: text.matches('\n').count() })
        })
    };
    if cost(placeholder).within(half) {
        Notes::Separate
    } else if cost(label).within(half) {
        Notes::Named
    } else {
        Notes::Counted
    }
}

impl Trimmed {
    /// The beginning of a piece, and a note about the rest.
    fn cut(&mut self, piece: &Piece<'_>, text: &str, part: &Beginning) {
        let lines = LineRange { first: piece.at.first + part.whole_lines, last: piece.at.last };
        let left = piece.size.lines - part.whole_lines;
        self.text.push_str(&text[..part.bytes]);
        self.text.push_str(&part.end);
        self.text.push_str(&rest_note(left, lines));
        let load = Part::Lines(lines.to_string());
        self.omitted.push(OmittedSection { heading: name(piece), lines: left, load });
    }

    fn leave_out(&mut self, piece: &Piece<'_>) {
        self.text.push_str(&placeholder(piece));
        self.omit(piece);
    }

    fn omit(&mut self, piece: &Piece<'_>) {
        let (heading, load) = (name(piece), piece.load.clone());
        self.omitted.push(OmittedSection { heading, lines: piece.size.lines, load });
    }

    fn leave_out_together(&mut self, run: &[Piece<'_>], notes: Notes) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let lines = LineRange { first: first.at.first, last: last.at.last };
        let count = lines.last + 1 - lines.first;
        let names: String = match notes {
            Notes::Counted => String::new(),
            _ => run.iter().map(label).collect(),
        };
        self.text.push_str(&shared_note(run.len(), count, &names, lines));
        if names.is_empty() {
            let heading = format!("{} sections", run.len());
            let load = Part::Lines(lines.to_string());
            self.omitted.push(OmittedSection { heading, lines: count, load });
        } else {
            for piece in run {
                self.omit(piece);
            }
        }
    }
}

/// One note about neighbours that are left out.
fn shared_note(sections: usize, count: usize, names: &str, lines: LineRange) -> String {
    let plural = if sections == 1 { "" } else { "s" };
    let names = match names.strip_suffix(';') {
        Some(names) => format!(":{names}."),
        None => ".".to_owned(),
    };
    let them = if sections == 1 { "it" } else { "them" };
    format!(
        "[{sections} section{plural} ({}) left out{names} Load SKILL.md, lines {lines}, to read {them}.]\n\n",
        text::counted(count as u64, "line")
    )
}

/// The note below the beginning of a section.
fn rest_note(count: usize, lines: LineRange) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!(
        "[{count} more line{plural} left out here. Load SKILL.md, lines {lines}, to read on.]\n\n"
    )
}

/// The most that such a note takes for this piece: its numbers are no larger.
fn rest_note_size(piece: &Piece<'_>) -> Size {
    let lines = LineRange { first: piece.at.last, last: piece.at.last };
    Size { chars: rest_note(piece.size.lines, lines).chars().count() + 1, lines: 2 }
}

/// A piece among its neighbours in a shared note.
fn label(piece: &Piece<'_>) -> String {
    format!(" {} (lines {});", name(piece), piece.at)
}

/// What a piece is called.
fn name(piece: &Piece<'_>) -> String {
    piece.heading.map_or_else(|| "the opening".to_owned(), shown)
}

/// A heading as it is repeated: cut where it is very long.
fn shown(heading: &Heading) -> String {
    text::clip(&heading.marked(), HEADING_CHARS).into_owned()
}

fn pieces<'a>(body: &str, headings: &'a [Heading], first_line: usize) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(headings.len() + 1);
    let mut line = first_line;
    let (found, ranks) = (found_by_heading(headings), ranks(headings));
    let mut add = |heading: Option<&'a Heading>, found: bool, range: Range<usize>, rank: Rank| {
        let text = &body[range.clone()];
        let size = Size { chars: text.chars().count(), lines: count_lines(text) };
        let at = LineRange { first: line, last: line + size.lines.saturating_sub(1) };
        line += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let short = |heading: &&Heading| heading.text.len() <= HEADING_CHARS;
        let marked = heading.filter(|_| found).filter(short).map(Heading::marked);
        let load = marked.map_or_else(|| Part::Lines(at.to_string()), Part::Section);
        pieces.push(Piece { heading, range, rank, size, at, load });
    };
    let first = headings.first().map_or(body.len(), |heading| heading.section.start);
    if first > 0 {
        add(None, false, 0..first, Rank::Key);
    }
    for (at, heading) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(body.len(), |next| next.section.start);
        add(Some(heading), found[at], heading.section.start..end, ranks[at]);
    }
    pieces
}

/// What stands in the place of a piece that has a note of its own.
fn placeholder(piece: &Piece<'_>) -> String {
    let Piece { heading, size, load, .. } = piece;
    let (lines, plural) = (size.lines, if size.lines == 1 { "" } else { "s" });
    match heading {
        None => format!(
            "[The opening ({lines} line{plural}) is left out. Load SKILL.md, {load}, to read it.]\n\n"
        ),
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
        for key in ["Steps", "Checks"] {
            assert_eq!(trimmed.text.matches(&format!("Line about {key}.")).count(), 60);
        }
        let omitted: Vec<&str> = trimmed.omitted.iter().map(|o| o.heading.as_str()).collect();
        assert_eq!(omitted, ["## Background", "## Examples"]);
        assert!(trimmed.text.contains("section \"## Examples\""));
        assert!((178..=180).contains(&trimmed.text.lines().count()));
    }

    #[test]
    fn a_key_section_that_does_not_fit_is_cut_and_the_others_stay_whole() {
        let steps: Vec<String> = (0..520).map(|n| format!("{n}. do it\n")).collect();
        let steps = steps.concat();
        for (when, step, check) in
            [("When to use", "Steps", "Self-check"), ("触发条件", "步骤", "自检")]
        {
            let body = format!("# T\n## {when}\nNow.\n## {step}\n{steps}## {check}\nLook.\n");
            let trimmed = trim(&body, 500, 40_000, 5);
            assert!(trimmed.text.contains("Now.\n") && trimmed.text.ends_with("Look.\n"));
            assert!(trimmed.text.contains("\n485. do it\n"), "{}", trimmed.text.lines().count());
            let [cut] = &trimmed.omitted[..] else { panic!("{}", trimmed.omitted.len()) };
            assert_eq!(cut.heading, format!("## {step}"));
            let Part::Lines(lines) = &cut.load else { panic!("by its lines") };
            let (first, last) = lines.split_once('-').expect("a range");
            assert_eq!(last, "528");
            let first: usize = first.parse().expect("a number");
            let shown = format!("\n{}. do it\n[{} more lines", first - 10, cut.lines);
            assert!(trimmed.text.contains(&shown), "{shown:?}");
        }
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
            assert!((497..=500).contains(&trimmed.text.lines().count()));
            assert!(trimmed.omitted.len() <= 200, "{}", trimmed.omitted.len());
        }
        let long = trim(&format!("# {}\n\ntext\n", "x".repeat(100_000)), 500, 40_000, 5);
        assert!(long.text.chars().count() < 400, "{}", long.text.len());
        assert_eq!(long.omitted[0].load, Part::Lines("5-7".to_owned()));
    }

    proptest! {
        /// Whatever the body: the limits hold; the room is used where something was left out; and
        /// every line is shown or named.
        #[test]
        fn the_limits_hold_and_the_room_is_used(
            pieces in proptest::collection::vec(
                "((#{1,4} ([a-z ]{0,12}|steps|examples|步骤|背景)|[a-z 世]{0,40}|[a-z ]{300,900}|> # q|\n---|```)\n){1,6}",
                0..60,
            ),
            lines in 30usize..200,
            chars in 1500usize..4000,
        ) {
            let body = pieces.concat();
            if count_lines(&body) <= lines && body.chars().count() <= chars {
                return Ok(());
            }
            let trimmed = trim(&body, lines, chars, 1);
            let used = (trimmed.text.lines().count(), trimmed.text.chars().count());
            prop_assert!(used.0 <= lines && used.1 <= chars, "{used:?} {}", trimmed.text);
            // A note, a heading and what is not worth cutting.
            prop_assert!(used.0 + 6 >= lines || used.1 + 500 >= chars, "{used:?} of {lines} {chars}: {}", trimmed.text);
            prop_assert!(!trimmed.omitted.is_empty());
            let left_out: usize = trimmed.omitted.iter().map(|it| it.lines).sum();
            let shown = trimmed.text.lines().filter(|line| !line.starts_with('[')).count();
            prop_assert!(left_out + shown >= count_lines(&body), "{left_out} {shown}: {}", trimmed.text);
        }
    }

    #[test]
    fn the_beginning_of_a_body_without_headings_fills_the_room() {
        let trimmed = trim(&"word\n".repeat(1000), 100, 1000, 5);
        assert_eq!(trimmed.text.matches("word\n").count(), 98);
        assert_eq!(trimmed.omitted.len(), 1);
        assert!(
            trimmed.text.contains("[902 more lines left out here. Load SKILL.md, lines 103-1004")
        );
        let line = trim(&"x".repeat(50_000), 500, 40_000, 5);
        assert!((39_900..=40_000).contains(&line.text.chars().count()));
        assert!(line.text.ends_with(
            "x…\n[1 more line left out here. Load SKILL.md, lines 5-5, to read on.]\n\n"
        ));
    }

    /// More sections than there are lines for a note each: one line names them all.
    #[test]
    fn every_one_of_a_hundred_sections_that_go_is_named() {
        let mut body = "# Title\n".to_owned();
        for n in 0..100 {
            body.push_str(&format!("## Part {n}\n{}", "Some words here.\n".repeat(40)));
        }
        let trimmed = trim(&body, 500, 40_000, 5);
        assert!((495..=500).contains(&trimmed.text.lines().count()));
        for n in 0..100 {
            assert!(trimmed.text.contains(&format!("## Part {n}")), "{n}");
        }
        assert_eq!(trimmed.omitted.last().map(|it| &*it.heading), Some("## Part 99"));
        let whole: usize = trimmed.omitted.iter().map(|it| it.lines).sum();
        let shown =
            trimmed.text.matches("\n## Part ").count() + trimmed.text.matches("words").count();
        assert_eq!(whole + shown, 41 * 100);
    }
}
