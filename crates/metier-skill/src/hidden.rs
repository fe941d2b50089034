//! Finds text that a model would read and a person would not see: ASCII in tag characters, bytes
//! in variation selectors, bits in zero-width characters, reordering, and plain invisible letters.
//!
//! The same characters are at work in honest flags, emoji, Persian, Hindi, Mongolian or Hebrew,
//! so each is judged by its neighbours and not by its number alone. A judgement never rests on a
//! character that is itself hidden; that is why one removal is enough, and why every function here
//! is linear. Pure: no I/O, no policy. What a finding means (warn, refuse, ask) is for the callers,
//! which are validation, the renderers to model and terminal, and the scanner.

mod bidi;
mod decode;
#[cfg(test)]
pub(crate) mod laws;
mod scan;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::ops::Range;

/// Why a run of characters is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenKind {
    /// The tag block (U+E0000 to U+E007F) outside the flags of England, Scotland and Wales.
    TagCharacters,
    /// Variation selectors that select nothing: no fitting character precedes them.
    VariationSelectors,
    /// Joiners, zero-width spaces and invisible operators where no script or emoji needs them.
    ZeroWidth,
    /// Controls that reorder text on the screen without right-to-left text to justify them.
    Bidi,
    /// Other characters without a glyph: fillers, deprecated and unassigned format characters.
    Invisible,
}

impl HiddenKind {
    /// The stable name, as used in diagnostics and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TagCharacters => "tag-characters",
            Self::VariationSelectors => "variation-selectors",
            Self::ZeroWidth => "zero-width",
            Self::Bidi => "bidi",
            Self::Invisible => "invisible",
        }
    }

    /// The same in a sentence.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::TagCharacters => "tag characters",
            Self::VariationSelectors => "variation selectors",
            Self::ZeroWidth => "zero-width characters",
            Self::Bidi => "characters that reorder text",
            Self::Invisible => "invisible characters",
        }
    }
}

/// Adjacent hidden characters of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenRun {
    /// Where the run is in the text, in bytes; both ends are character boundaries.
    pub range: Range<usize>,
    /// Why it is hidden.
    pub kind: HiddenKind,
    /// What it spells in one of the known encodings, if that is printable. Untrusted: pass it
    /// through [`crate::text`] like any foreign text.
    pub decoded: Option<String>,
}

/// All hidden runs of `text`, in order; adjacent characters of one kind form one run.
///
/// A byte order mark counts as hidden at the start, too: most texts are shown behind something else.
/// A reader of files takes it off first.
pub fn find_hidden(text: &str) -> Vec<HiddenRun> {
    if cannot_hide(text.as_bytes()) {
        return Vec::new();
    }
    let mut runs: Vec<HiddenRun> = Vec::new();
    for (range, kind) in scan::hidden_characters(text) {
        match runs.last_mut() {
            Some(last) if last.kind == kind && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => runs.push(HiddenRun { range, kind, decoded: None }),
        }
    }
    for run in &mut runs {
        run.decoded = decode::decode(text, run);
    }
    runs
}

/// True when nothing in the text can be hidden, because none of the characters that
/// [`find_hidden`] judges occurs in it. One pass over the bytes, which need not be UTF-8: bytes
/// that are not decode to replacement characters, and those are visible.
pub fn cannot_hide(text: &[u8]) -> bool {
    // A few characters outside ASCII are the rule in real texts: pieces without any are passed over.
    const PIECE: usize = 64;
    text.chunks(PIECE).enumerate().all(|(at, piece)| {
        let suspect = |(inside, first): (usize, &u8)| {
            *first >= 0xC2 && starts_with_suspect(&text[at * PIECE + inside..])
        };
        piece.is_ascii() || !piece.iter().enumerate().any(suspect)
    })
}

/// The UTF-8 of every character for which [`tables::suspect`] answers; a test holds them together.
fn starts_with_suspect(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xC2, 0xAD, ..]
            | [0xCD, 0x8F, ..]
            | [0xD8, 0x9C, ..]
            | [0xE1, 0x85, 0x9F..=0xA0, ..]
            | [0xE1, 0x9E, 0xB4..=0xB5, ..]
            | [0xE1, 0xA0, 0x8B..=0x8F, ..]
            | [0xE2, 0x80, 0x8B..=0x8F | 0xAA..=0xAE, ..]
            | [0xE2, 0x81, 0xA0..=0xAF, ..]
            | [0xE2, 0xA0, 0x80, ..]
            | [0xE3, 0x85, 0xA4, ..]
            | [0xEF, 0xB8, 0x80..=0x8F, ..]
            | [0xEF, 0xBB, 0xBF, ..]
            | [0xEF, 0xBE, 0xA0, ..]
            | [0xEF, 0xBF, 0xB0..=0xBB, ..]
            | [0xF0, 0x9B, 0xB2, 0xA0..=0xA3, ..]
            | [0xF0, 0x9D, 0x85, 0xB3..=0xBA, ..]
            | [0xF3, 0xA0, ..]
    )
}

/// The text without its hidden runs (borrowed when there are none); honest text survives byte for
/// byte, and the result has no hidden run.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    let runs = find_hidden(text);
    if runs.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for run in runs {
        kept.push_str(&text[from..run.range.start]);
        from = run.range.end;
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// Where the hidden characters of `text` stand, in order. For [`crate::text`], which shows them.
pub(crate) fn hidden_ranges(text: &str) -> Vec<Range<usize>> {
    if cannot_hide(text.as_bytes()) {
        return Vec::new();
    }
    scan::hidden_characters(text).into_iter().map(|(range, _)| range).collect()
}

/// Whether a character has no glyph of its own, so that it hides unless its neighbours excuse it.
pub(crate) fn may_hide(ch: char) -> bool {
    tables::suspect(ch).is_some()
}

/// Whether a character is drawn onto the one before it.
pub(crate) fn is_mark(ch: char) -> bool {
    // Most text is below the first mark, and the tables are slow.
    ch >= '\u{300}' && tables::is_mark(ch)
}
