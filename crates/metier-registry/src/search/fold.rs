//! Folding one character to the form it is compared in: lower case, no accents on Latin
//! letters, full-width ASCII narrowed, invisible characters dropped.
//!
//! It is the part of NFKC and case folding that search needs, without Unicode tables: other
//! scripts only get their lower case. Called by the tokenizer alone.

/// Latin letters with marks, as ranges of code points and the plain letters they stand for.
/// Sorted; upper and lower case alternate in most blocks, so one range covers both.
const LATIN: &[(u32, u32, &str)] = &[
    (0x00C0, 0x00C5, "a"),
    (0x00C6, 0x00C6, "ae"),
    (0x00C7, 0x00C7, "c"),
    (0x00C8, 0x00CB, "e"),
    (0x00CC, 0x00CF, "i"),
    (0x00D0, 0x00D0, "d"),
    (0x00D1, 0x00D1, "n"),
    (0x00D2, 0x00D6, "o"),
    (0x00D8, 0x00D8, "o"),
    (0x00D9, 0x00DC, "u"),
    (0x00DD, 0x00DD, "y"),
    (0x00DE, 0x00DE, "th"),
    (0x00DF, 0x00DF, "ss"),
    (0x00E0, 0x00E5, "a"),
    (0x00E6, 0x00E6, "ae"),
    (0x00E7, 0x00E7, "c"),
    (0x00E8, 0x00EB, "e"),
    (0x00EC, 0x00EF, "i"),
    (0x00F0, 0x00F0, "d"),
    (0x00F1, 0x00F1, "n"),
    (0x00F2, 0x00F6, "o"),
    (0x00F8, 0x00F8, "o"),
    (0x00F9, 0x00FC, "u"),
    (0x00FD, 0x00FD, "y"),
    (0x00FE, 0x00FE, "th"),
    (0x00FF, 0x00FF, "y"),
    (0x0100, 0x0105, "a"),
    (0x0106, 0x010D, "c"),
    (0x010E, 0x0111, "d"),
    (0x0112, 0x011B, "e"),
    (0x011C, 0x0123, "g"),
    (0x0124, 0x0127, "h"),
    (0x0128, 0x0131, "i"),
    (0x0132, 0x0133, "ij"),
    (0x0134, 0x0135, "j"),
    (0x0136, 0x0138, "k"),
    (0x0139, 0x0142, "l"),
    (0x0143, 0x014B, "n"),
    (0x014C, 0x0151, "o"),
    (0x0152, 0x0153, "oe"),
    (0x0154, 0x0159, "r"),
    (0x015A, 0x0161, "s"),
    (0x0162, 0x0167, "t"),
    (0x0168, 0x0173, "u"),
    (0x0174, 0x0175, "w"),
    (0x0176, 0x0178, "y"),
    (0x0179, 0x017E, "z"),
    (0x017F, 0x017F, "s"),
    (0x01A0, 0x01A1, "o"),
    (0x01AF, 0x01B0, "u"),
    (0x01CD, 0x01CE, "a"),
    (0x01CF, 0x01D0, "i"),
    (0x01D1, 0x01D2, "o"),
    (0x01D3, 0x01DC, "u"),
    (0x0218, 0x0219, "s"),
    (0x021A, 0x021B, "t"),
    (0x1EA0, 0x1EB7, "a"),
    (0x1EB8, 0x1EC7, "e"),
    (0x1EC8, 0x1ECB, "i"),
    (0x1ECC, 0x1EE3, "o"),
    (0x1EE4, 0x1EF1, "u"),
    (0x1EF2, 0x1EF9, "y"),
    (0xFB00, 0xFB00, "ff"),
    (0xFB01, 0xFB01, "fi"),
    (0xFB02, 0xFB02, "fl"),
    (0xFB03, 0xFB03, "ffi"),
    (0xFB04, 0xFB04, "ffl"),
    (0xFB05, 0xFB06, "st"),
];

/// Full-width ASCII and the ideographic space as plain ASCII; everything else unchanged.
pub(super) fn narrow(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

/// Whether a character is skipped without ending the word it stands in: combining accents,
/// zero-width and bidi characters, soft hyphens and variation selectors.
pub(super) fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{0300}'..='\u{036F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Whether the character belongs to a script that is written without spaces between words,
/// so that pairs of characters stand in for words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F // Myanmar
        | 0x1100..=0x11FF // Hangul letters
        | 0x1780..=0x17FF // Khmer
        | 0x3005..=0x3007 // repetition mark, zero
        | 0x3040..=0x30FA | 0x30FC..=0x30FF // Hiragana, Katakana
        | 0x3100..=0x318F // Bopomofo, Hangul compatibility
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF // Han
        | 0xAC00..=0xD7AF // Hangul syllables
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F // half-width Katakana
        | 0x20000..=0x3FFFF)
}

/// Appends the folded form of `c`, which is not ASCII, to `out`.
pub(super) fn push_folded(c: char, out: &mut String) {
    let code = u32::from(c);
    let found = LATIN.binary_search_by(|&(start, end, _)| {
        if end < code {
            std::cmp::Ordering::Less
        } else if start > code {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    match found.ok().and_then(|at| LATIN.get(at)) {
        Some(&(_, _, plain)) => out.push_str(plain),
        None => out.extend(c.to_lowercase().filter(|&lower| !is_ignored(lower))),
    }
}
