//! Known words near a word that no document has: one or two typing slips away, or longer words
//! that begin with it.
//!
//! A scan over all words with a cheap filter first (which letters a word has, as a bit mask);
//! at 10,000 words it costs some ten microseconds, so no further structure is kept. The answer
//! depends on the words alone, never on their order.
//!
//! Not [`metier_skill::nearest`]: that makes a suggestion out of a few names for a person. Here every
//! word of every query meets every word of the index, so the distance is bounded (it stops at the
//! first row that has more slips than allowed), works on bytes and allocates nothing.

/// The most words one query word is expanded to.
const MAX_EXPANSIONS: usize = 8;
/// Longer words are left to the exact match: the distance table below is of this size.
const MAX_LENGTH: usize = 24;

/// What is known of a word before its letters are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature {
    letters: u32,
    length: u8,
    head: [u8; 3],
}

/// How far a word was from the one typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// One slip: a letter wrong, missing, extra, or two swapped.
    OneSlip,
    /// The typed word begins it.
    Prefix,
    /// Two slips.
    TwoSlips,
}

impl Signature {
    /// The signature of a folded word; words of other scripts get none and never match.
    pub(super) fn of(word: &str) -> Self {
        let mut letters = 0;
        for b in word.bytes() {
            letters |= match b {
                b'a'..=b'z' => 1 << (b - b'a'),
                b'0'..=b'9' => 1 << (26 + b % 6),
                _ => return Self::NONE,
            };
        }
        let head = word.as_bytes().first_chunk().copied().unwrap_or_default();
        Self { letters, length: u8::try_from(word.len()).unwrap_or(u8::MAX), head }
    }

    /// What nothing is near to.
    pub(super) const NONE: Self = Self { letters: 0, length: 0, head: [0; 3] };
}

/// How many slips are forgiven in a word of this length.
fn allowed(length: usize) -> u8 {
    match length {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

/// The words near `typed`, as (position in the list, nearness), best first.
pub(super) fn near<'a>(
    typed: &str,
    signatures: &[Signature],
    text_of: impl Fn(usize) -> &'a str,
) -> Vec<(usize, Nearness)> {
    let own = Signature::of(typed);
    if own.length < 3 || typed.len() > MAX_LENGTH {
        return Vec::new();
    }
    let slips = if typed.bytes().any(|b| b.is_ascii_digit()) { 0 } else { allowed(typed.len()) };
    let mut found: Vec<(Nearness, usize, &str)> = Vec::new();
    for (at, other) in signatures.iter().enumerate() {
        let differing = (own.letters ^ other.letters).count_ones();
        if other.length.abs_diff(own.length) <= slips
            && differing <= 2 * u32::from(slips)
            && (slips < 2 || differing <= 2 || own.head[0] == other.head[0])
        {
            let text = text_of(at);
            match distance(typed.as_bytes(), text.as_bytes(), slips) {
                Some(1) => found.push((Nearness::OneSlip, at, text)),
                // Two slips, one of them on the first letter, make another word.
                Some(2) if own.head[0] == other.head[0] => {
                    found.push((Nearness::TwoSlips, at, text));
                }
                _ => {}
            }
        }
        if other.head == own.head && other.length > own.length && text_of(at).starts_with(typed) {
            found.push((Nearness::Prefix, at, text_of(at)));
        }
    }
    // Nearest first, then shortest, then by the letters: never by the order of the documents.
    found.sort_unstable_by(|a, b| (a.0, a.2.len(), a.2).cmp(&(b.0, b.2.len(), b.2)));
    if let Some(&(best, ..)) = found.first() {
        // Two slips are a guess of last resort.
        found.retain(|&(nearness, ..)| nearness != Nearness::TwoSlips || best == nearness);
    }
    found.truncate(MAX_EXPANSIONS);
    found.into_iter().map(|(nearness, at, _)| (at, nearness)).collect()
}

/// The Damerau-Levenshtein distance (optimal string alignment) when it is at most `most`.
fn distance(a: &[u8], b: &[u8], most: u8) -> Option<u8> {
    const WIDTH: usize = MAX_LENGTH + 3;
    if a.len() > MAX_LENGTH || b.len() + 1 > WIDTH {
        return None;
    }
    let mut two_up = [0u8; WIDTH];
    let mut up = [0u8; WIDTH];
    for (column, cell) in (0u8..).zip(up.iter_mut()) {
        *cell = column;
    }
    for (i, &x) in a.iter().enumerate() {
        let mut row = [0u8; WIDTH];
        row[0] = up[0] + 1;
        let mut least = row[0];
        for (j, &y) in b.iter().enumerate() {
            let substituted = up[j] + u8::from(x != y);
            let mut best = substituted.min(up[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(two_up[j - 1] + 1);
            }
            row[j + 1] = best;
            least = least.min(best);
        }
        if least > most {
            return None;
        }
        two_up = up;
        up = row;
    }
    Some(up[b.len()]).filter(|&slips| slips <= most)
}
