//! What a hidden run spells, in the encodings that are in use: tag letters, bytes in variation
//! selectors, bits in zero-width characters ("sneaky bits" and the older web encoders).
//!
//! Decoding is a service to the reader of a finding; that a run is hidden never depends on it.

use super::tables::{is_textual, suspect};
use super::{HiddenKind, HiddenRun};

/// The characters that stand for 0 and 1, the most usual pairs first. With the wrong pair, text
/// in ASCII comes out with its high bits set and is refused as UTF-8.
const BIT_PAIRS: [(char, char); 8] = [
    ('\u{2062}', '\u{2064}'),
    ('\u{200B}', '\u{200C}'),
    ('\u{200C}', '\u{200B}'),
    ('\u{200B}', '\u{200D}'),
    ('\u{200D}', '\u{200B}'),
    ('\u{200C}', '\u{200D}'),
    ('\u{200D}', '\u{200C}'),
    ('\u{2064}', '\u{2062}'),
];

/// The printable text that `run` spells, if it does.
pub(super) fn decode(text: &str, run: &HiddenRun) -> Option<String> {
    let hidden = &text[run.range.clone()];
    match run.kind {
        HiddenKind::TagCharacters => printable(hidden.chars().filter_map(tag_letter).collect()),
        HiddenKind::VariationSelectors => with_first(text, run)
            .and_then(spelled_in_selectors)
            .or_else(|| spelled_in_selectors(hidden)),
        HiddenKind::ZeroWidth => {
            with_first(text, run).and_then(spelled_in_bits).or_else(|| spelled_in_bits(hidden))
        }
        HiddenKind::Bidi | HiddenKind::Invisible => None,
    }
}

/// The run together with the excused character of its kind right before it. Behind an ideograph
/// or a Persian letter the first symbol of a message passes for honest, and without it the rest
/// would be misread.
fn with_first<'a>(text: &'a str, run: &HiddenRun) -> Option<&'a str> {
    let first = text[..run.range.start].chars().next_back()?;
    (suspect(first)?.kind() == run.kind)
        .then(|| &text[run.range.start - first.len_utf8()..run.range.end])
}

fn printable(text: String) -> Option<String> {
    let has_ink = text.chars().any(|c| !c.is_whitespace() && suspect(c).is_none());
    (has_ink && text.chars().all(is_textual)).then_some(text)
}

fn printable_utf8(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().and_then(printable)
}

/// Tags mirror ASCII at U+E0000. The controls among them (language tag, cancel tag) spell nothing.
fn tag_letter(tag: char) -> Option<char> {
    let ascii = char::from_u32(u32::from(tag).checked_sub(0xE0000)?)?;
    (ascii.is_ascii() && is_textual(ascii)).then_some(ascii)
}

/// VS1 to VS16 are the bytes 0 to 15, VS17 to VS256 the bytes 16 to 255.
fn spelled_in_selectors(run: &str) -> Option<String> {
    let byte = |selector: char| {
        let code = u32::from(selector);
        match selector {
            '\u{FE00}'..='\u{FE0F}' => u8::try_from(code - 0xFE00).ok(),
            '\u{E0100}'..='\u{E01EF}' => u8::try_from(code - 0xE0100 + 16).ok(),
            _ => None,
        }
    };
    run.chars().map(byte).collect::<Option<Vec<u8>>>().and_then(printable_utf8)
}

fn spelled_in_bits(run: &str) -> Option<String> {
    BIT_PAIRS
        .into_iter()
        .find_map(|pair| bits_as_bytes(run, pair).or_else(|| bits_as_characters(run, pair)))
}

fn bit(symbol: char, (zero, one): (char, char)) -> Option<u8> {
    (symbol == zero || symbol == one).then_some(u8::from(symbol == one))
}

/// Eight bits a byte, most significant first; other symbols of the run are fillers.
fn bits_as_bytes(run: &str, pair: (char, char)) -> Option<String> {
    let bits: Vec<u8> = run.chars().filter_map(|symbol| bit(symbol, pair)).collect();
    let (bytes, []) = bits.as_chunks::<8>() else {
        return None;
    };
    printable_utf8(
        bytes.iter().map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect(),
    )
}

/// One number a character, without padding, set apart by a third symbol: what encoders in
/// JavaScript write with `toString(2)`.
fn bits_as_characters(run: &str, pair: (char, char)) -> Option<String> {
    let groups: Vec<&str> =
        run.split(|symbol| bit(symbol, pair).is_none()).filter(|group| !group.is_empty()).collect();
    if groups.len() < 2 {
        return None;
    }
    let character = |group: &&str| {
        let bits = group.chars().filter_map(|symbol| bit(symbol, pair));
        // No character needs more than 21 bits; fewer than four spell only controls.
        (4..=21)
            .contains(&group.chars().count())
            .then(|| bits.fold(0, |code, bit| code << 1 | u32::from(bit)))
            .and_then(char::from_u32)
    };
    groups.iter().map(character).collect::<Option<String>>().and_then(printable)
}
