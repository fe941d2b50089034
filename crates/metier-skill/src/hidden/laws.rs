//! The laws of the hidden-text functions, tried on random text, on all pairs of characters that
//! matter, and on long hostile text.
//!
//! tidy:allow-cjk

use super::{cannot_hide, find_hidden, without_hidden};

/// One character for each way the classifier can look at one, and some ordinary neighbours.
pub(crate) const ALPHABET: &str = "a0 \n\u{301}漢אمक\u{94d}กᠠ❤😀🏴🏽\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e007f}\
    \u{fe00}\u{fe0f}\u{e0148}\u{180b}\u{180e}\u{200b}\u{200c}\u{200d}\u{2060}\u{2062}\u{2064}\u{feff}\
    \u{200f}\u{61c}\u{202a}\u{202c}\u{202e}\u{2067}\u{2069}\u{ad}\u{34f}\u{3164}\u{2800}\u{e0fff}\
    \u{1bc00}\u{1bca0}\u{1b}\u{10ffff}";

fn assert_laws(text: &str) {
    let runs = find_hidden(text);
    let mut end = 0;
    let mut last = None;
    for run in &runs {
        assert!(end <= run.range.start && run.range.start < run.range.end, "{text:?}: {runs:?}");
        assert!(text.get(run.range.clone()).is_some(), "{text:?}: {runs:?}");
        assert!(end < run.range.start || last != Some(run.kind), "{text:?}: not joined: {runs:?}");
        assert!(run.decoded.as_ref().is_none_or(|decoded| !decoded.trim().is_empty()));
        end = run.range.end;
        last = Some(run.kind);
    }
    assert!(runs.is_empty() || !cannot_hide(text.as_bytes()), "{text:?}");
    assert_eq!(find_hidden(&without_hidden(text)), [], "{text:?}");
}

#[test]
fn the_laws_hold_for_random_text() {
    for_random_texts(assert_laws);
}

/// Calls `check` with many texts made of the characters that matter; always the same ones.
pub(crate) fn for_random_texts(check: impl Fn(&str)) {
    let alphabet: Vec<char> = ALPHABET.chars().collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for round in 0..8_000 {
        let mut text = String::new();
        for _ in 0..below(24) {
            // Mostly the characters that matter, sometimes anything at all.
            let any = u32::try_from(below(0x11_0000)).ok().and_then(char::from_u32);
            match any.filter(|_| round % 4 == 0) {
                Some(c) => text.push(c),
                None => text.push(alphabet[below(alphabet.len())]),
            }
        }
        check(&text);
    }
}

#[test]
fn the_laws_hold_for_every_pair_of_characters() {
    for a in ALPHABET.chars() {
        for b in ALPHABET.chars() {
            assert_laws(&String::from_iter([a, b]));
            assert_laws(&String::from_iter([a, b, a, b]));
        }
    }
}

#[test]
fn long_hostile_text_takes_linear_time() {
    // Each of these would take minutes if a character looked back or ahead over its whole run.
    for (unit, turn) in [
        ("\u{202a}", "\u{2069}"),
        ("\u{2067}", "\u{2069}"),
        ("\u{2800}", "\u{200b}"),
        ("\u{200b}", "\u{200c}"),
        ("🏴\u{e0067}", "م\u{200c}"),
        ("\u{2800}\u{200b}", "a"),
    ] {
        let text = format!("א{}{}", unit.repeat(100_000), turn.repeat(100_000));
        assert!(!find_hidden(&text).is_empty());
    }
}
