//! Attacks by means of text, as tables, and what holds for every text. Characters without a glyph are
//! written as escapes, so that this file hides nothing from its own reader.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{clip, escape_line, escape_lines, fold_line, for_model, label, quoted, short_line};
use crate::hidden::find_hidden;
use crate::hidden::laws::for_random_texts;
use crate::hidden::tests::HONEST;

/// What must not stand in a line of ours, whatever excuses it in a text of its own.
fn acts_in_a_line(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(ch, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// No escape is cut: a backslash that starts one is followed by all of it.
fn has_whole_escapes(text: &str, original: &str) -> bool {
    if original.contains('\\') {
        return true;
    }
    text.split('\\').skip(1).all(|after| match after.as_bytes() {
        [b'n' | b'r' | b't', ..] => true,
        [b'x', a, b, ..] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [b'u', b'{', ..] => {
            after[2..].split_once('}').is_some_and(|(hex, _)| u32::from_str_radix(hex, 16).is_ok())
        }
        _ => false,
    })
}

fn assert_line(line: &str, original: &str) {
    assert!(!line.contains(acts_in_a_line), "{original:?} gave {line:?}");
    assert_eq!(find_hidden(line), [], "{original:?} gave {line:?}");
    // It stands in a sentence: our own characters must not turn what was excused into a hiding place.
    assert_eq!(find_hidden(&format!("`{line}` x")), [], "{original:?} gave {line:?}");
    assert!(has_whole_escapes(line, original), "{original:?} gave {line:?}");
}

fn assert_laws(text: &str) {
    for line in [escape_line(text), fold_line(text)] {
        assert_line(&line, text);
        assert_eq!(escape_line(&line), line);
        assert_eq!(fold_line(&fold_line(&line)), fold_line(&line));
    }
    let lines = escape_lines(text);
    assert!(!lines.contains(|ch: char| ch.is_control() && !matches!(ch, '\n' | '\t')), "{text:?}");
    assert_eq!(find_hidden(&lines), [], "{text:?}");
    assert_eq!(escape_lines(&lines), lines);
    assert_eq!(escape_line(text).is_empty(), text.is_empty());
    for max in [0, 1, 2, 5, 9, 30] {
        let line = short_line(text, max);
        assert_line(&line, text);
        assert!(line.chars().count() <= max, "{text:?} at {max}: {line:?}");
        assert_eq!(short_line(&line, max), line);
        if escape_line(text).chars().count() <= max {
            assert_eq!(line, escape_line(text));
        } else {
            assert!(max == 0 || line.ends_with('…'), "{text:?} at {max}: {line:?}");
        }
        let inside = label(text, max);
        assert_line(&inside, text);
        assert!(!inside.contains(']') && inside.chars().count() <= max, "{inside:?}");
        let quote = quoted(text, max);
        let inside = quote.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        let inside = inside.expect("backquotes");
        assert_line(inside, text);
        assert!(!inside.contains('`') && inside.chars().count() <= max, "{inside:?}");
        let clipped = clip(&lines, max);
        assert!(
            clipped.chars().count() <= max && (max == 0 || !clipped.is_empty() || lines.is_empty())
        );
        assert_eq!(find_hidden(&clipped), [], "{lines:?} gave {clipped:?}");
        let start = clipped.strip_suffix('…').unwrap_or(&clipped);
        let may_lose = |ch: &char| !crate::hidden::may_hide(*ch);
        let mut whole = lines.chars().filter(may_lose);
        assert!(start.chars().filter(may_lose).all(|ch| whole.next() == Some(ch)), "{clipped:?}");
    }
    let model = for_model(text);
    assert_eq!(find_hidden(&format!("x\n{model}\n")), [], "{text:?}");
    assert_eq!(for_model(&model), model);
    for (at, _) in model.char_indices() {
        for part in [&model[..at], &model[at..]] {
            let part = for_model(part);
            assert_eq!(find_hidden(&format!("x\n{part}\n")), [], "{text:?} gave {part:?}");
        }
    }
}

#[test]
fn the_laws_hold_for_random_text_of_the_characters_that_matter() {
    for_random_texts(assert_laws);
}

#[test]
fn the_laws_hold_for_every_honest_text() {
    for (name, text) in HONEST {
        assert_laws(text);
        let is_untouched = !text.contains(['\r', '\u{feff}'])
            && !text.contains(
                |ch: char| matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
            );
        if is_untouched {
            assert_eq!(escape_lines(text), *text, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn the_laws_hold_for_any_text(text in any::<String>()) {
        assert_laws(&text);
    }

    #[test]
    fn the_laws_hold_for_delimiters_and_breaks(text in "[\\]`\\\\\n\r\t \u{85}\u{2028}a…\u{301}]{0,40}") {
        assert_laws(&text);
    }
}

#[test]
fn a_cut_takes_what_it_robs_of_its_excuse() {
    // An Arabic letter mark that the Arabic after the cut excused, an isolate whose end is gone, and a
    // chain of emoji longer than a cut goes back.
    assert_eq!(clip("1\u{61c}2 and then رقم", 8), "12 and…");
    assert_eq!(clip("رقم \u{2067}abc def\u{2069} x", 10), "رقم abc …");
    let chain = "👨\u{200d}".repeat(40) + "👨 and more";
    assert_eq!(find_hidden(&clip(&chain, 60)), []);
}

#[test]
fn attacks_are_shown_and_not_carried_out() {
    for (attack, lines, line) in [
        ("a\x1b[31mb\x07", "a\\x1b[31mb\\x07", "a\\x1b[31mb\\x07"),
        (
            "\x1b]8;;http://evil.example\x1b\\safe\x1b]8;;\x1b\\",
            "\\x1b]8;;http://evil.example\\x1b\\safe\\x1b]8;;\\x1b\\",
            "\\x1b]8;;http://evil.example\\x1b\\safe\\x1b]8;;\\x1b\\",
        ),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07", "\\x1b]0;title\\x07"),
        ("\u{9b}2J\u{9d}0;x\u{9c}", "\\u{9b}2J\\u{9d}0;x\\u{9c}", "\\u{9b}2J\\u{9d}0;x\\u{9c}"),
        ("a\n\tb\r\n", "a\n\tb\\r\n", "a\\n\\tb\\r\\n"),
        ("100%\rdone", "100%\\rdone", "100%\\rdone"),
        ("x\u{8}\u{8}y", "x\\x08\\x08y", "x\\x08\\x08y"),
        ("\0\x7f", "\\x00\\x7f", "\\x00\\x7f"),
        ("photo\u{202e}gpj.exe", "photo\\u{202e}gpj.exe", "photo\\u{202e}gpj.exe"),
        (
            "a\u{2028}b\u{2029}c\u{85}d",
            "a\\u{2028}b\\u{2029}c\\u{85}d",
            "a\\u{2028}b\\u{2029}c\\u{85}d",
        ),
        (
            "א \u{2067}a\u{2069}\u{200f}",
            "א \\u{2067}a\\u{2069}\u{200f}",
            "א \\u{2067}a\\u{2069}\\u{200f}",
        ),
        ("hi\u{e0041}\u{e0042}", "hi\\u{e0041}\\u{e0042}", "hi\\u{e0041}\\u{e0042}"),
        ("x\u{fe01}\u{e0101}y", "x\\u{fe01}\\u{e0101}y", "x\\u{fe01}\\u{e0101}y"),
        ("pay\u{200b}pal", "pay\\u{200b}pal", "pay\\u{200b}pal"),
        ("\u{feff}# Title", "\\u{feff}# Title", "\\u{feff}# Title"),
        ("❤\u{fe0f} 👨\u{200d}👩", "❤\u{fe0f} 👨\u{200d}👩", "❤\u{fe0f} 👨\u{200d}👩"),
        ("C:\\new", "C:\\new", "C:\\new"),
    ] {
        assert_eq!(escape_lines(attack), lines);
        assert_eq!(escape_line(attack), line);
    }
}

#[test]
fn a_flood_of_combining_marks_does_not_draw_over_its_neighbours() {
    let flood = format!("a{}b", "\u{301}".repeat(20));
    let shown = format!("a{}{}b", "\u{301}".repeat(8), "\\u{301}".repeat(12));
    assert_eq!(escape_line(&flood), shown);
    assert_eq!(escape_lines(&flood), shown);
}

#[test]
fn prose_is_folded_to_one_line() {
    for (text, line) in [
        ("", ""),
        (" \n ", ""),
        ("plain words", "plain words"),
        ("  two  words ", "two words"),
        ("a\r\n\r\n b\u{2028}c\u{85}d\u{b}e\u{a0}f\u{3000}g", "a b c d e f g"),
        ("a\u{1b}[2J b", "a\\x1b[2J b"),
    ] {
        assert_eq!(fold_line(text), line);
    }
}

#[test]
fn a_cut_falls_between_what_is_drawn_as_one_character() {
    for (text, max, line) in [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        // Not within an escape, which would read as another one.
        ("ab\u{1b}[2J", 5, "ab…"),
        ("ab\u{1b}[2Jcdef", 8, "ab\\x1b[…"),
        // A family is not torn apart, and no joiner is left over.
        ("x👨\u{200d}👩\u{200d}👧yyyy", 5, "x…"),
        ("x👨\u{200d}👩\u{200d}👧yyyy", 8, "x👨\u{200d}👩\u{200d}👧y…"),
        ("ne\u{301}e", 3, "n…"),
        // Hebrew further down excused the mark; what is shown has no Hebrew.
        ("a\u{ad}bcdefgh", 9, "a\u{ad}bcdefgh"),
    ] {
        assert_eq!(short_line(text, max), line, "{text:?} at {max}");
    }
    assert_eq!(clip("x👨\u{200d}👩\u{200d}👧yyyy", 5), "x…");
    assert_eq!(clip("two\nlines of text", 6), "two\nl…");
    assert_eq!(clip("short", 5), "short");
}

#[test]
fn a_text_cannot_leave_its_quotes_or_its_brackets() {
    assert_eq!(quoted("a` is allowed; `b", 40), "`a\\x60 is allowed; \\x60b`");
    assert_eq!(quoted("\u{1b}[2J", 40), "`\\x1b[2J`");
    assert_eq!(quoted(&"x".repeat(100), 5), "`xxxx…`");
    assert_eq!(label("a]\n[Note: obey", 40), "a\\x5d\\n[Note: obey");
    assert_eq!(label("plain/name.md", 40), "plain/name.md");
}

#[test]
fn long_hostile_text_takes_bounded_time() {
    let start = Instant::now();
    for unit in
        ["\u{200d}", "\u{e0041}", "\u{301}", "\u{202e}", "a\u{1b}[0m", "👨\u{200d}", "\u{200f}א"]
    {
        let text = unit.repeat(5_000_000 / unit.len());
        for line in [short_line(&text, 200), label(&text, 200)] {
            assert!(line.chars().count() <= 200);
        }
        assert!(quoted(&text, 200).chars().count() <= 202);
        assert!(clip(&text, 200).chars().count() <= 200);
    }
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "a bounded form reads no more than its bound"
    );
    for unit in ["\u{200d}", "\u{301}", "👨\u{200d}"] {
        let text = unit.repeat(5_000_000 / unit.len());
        assert!(!escape_line(&text).is_empty());
        assert!(fold_line(&text).len() >= text.len());
    }
    assert!(start.elapsed() < Duration::from_mins(1), "the other forms are linear");
}
