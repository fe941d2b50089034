//! Byte offsets to lines and columns.
//!
//! Built only when a diagnostic is made: most skills have none, and a scan of a hundred thousand
//! skills should not pay for a line table it never reads. Columns count characters, from 1.

/// The position of a byte in a text, for people: both numbers start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The line and column of byte `offset` in `bytes` (clamped to its end).
pub(crate) fn position(bytes: &[u8], offset: usize) -> Position {
    let before = &bytes[..offset.min(bytes.len())];
    let line = memchr::memchr_iter(b'\n', before).count();
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let mut head = &before[line_start..];
    if line == 0 {
        head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    }
    // A continuation byte is no character of its own; invalid bytes count one each.
    let column = head.iter().filter(|byte| (**byte & 0xc0) != 0x80).count();
    Position { line: saturate(line + 1), column: saturate(column + 1) }
}

/// A `usize` as `u32`; frontmatter and diagnostics live far below the limit.
pub(crate) fn saturate(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Whether all bytes are line feeds or printable ASCII other than `<` and `>`: nothing to decode,
/// hide or escape.
///
/// Nearly every description is, and this is asked of every byte of it, so the loop has no early way
/// out: that is what lets the compiler look at 32 bytes at a time.
pub(crate) fn is_plain_prose(bytes: &[u8]) -> bool {
    let odd =
        |byte: &u8| (*byte < b' ' && *byte != b'\n') || *byte > b'~' || matches!(byte, b'<' | b'>');
    bytes.chunks(256).all(|chunk| !chunk.iter().fold(false, |any, byte| any | odd(byte)))
}

/// What a text is made of, as far as one pass over its bytes can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Characters {
    /// Printable ASCII and line feeds: nothing to decode, hide or escape.
    Ascii,
    /// Line feeds and characters that can be seen: no tab, carriage return or other control, none of
    /// the line breaks that only some readers know, no byte order mark and nothing that is no
    /// character.
    Visible,
    /// Something else is among them.
    Any,
}

/// What `text` is made of. Looks at bytes: an emoji in a frontmatter must not cost a decoder's pass.
pub(crate) fn characters(text: &str) -> Characters {
    let bytes = text.as_bytes();
    // As in `is_plain_prose`: no early way out of a chunk, so that many bytes are one step.
    let control = |byte: &u8| (*byte < b' ' && *byte != b'\n') || *byte == 0x7f;
    let look = |(odd, high), byte| (odd | control(byte), high | *byte);
    let mut highest = 0;
    for chunk in bytes.chunks(256) {
        let (odd, high) = chunk.iter().fold((false, 0), look);
        if odd {
            return Characters::Any;
        }
        highest |= high;
    }
    if highest < 0x80 {
        return Characters::Ascii;
    }
    // The first bytes of all other characters that are not plainly visible.
    let odd = |at: usize| match bytes[at..] {
        // U+0080 to U+009F.
        [0xc2, next, ..] => next < 0xa0,
        // U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF.
        [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..] => {
            true
        }
        _ => false,
    };
    if memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes).any(odd) {
        return Characters::Any;
    }
    Characters::Visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_visible_is_the_same_by_bytes_as_by_characters() {
        let plain = |ch: char| match ch {
            '\n' | ' '..='~' => true,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
            other => !other.is_control(),
        };
        for ch in '\0'..=char::MAX {
            let visible = characters(&format!("é{ch}🔷")) == Characters::Visible;
            assert_eq!(visible, plain(ch), "{ch:?}");
            let expected = match ch {
                _ if !plain(ch) => Characters::Any,
                '\n' | ' '..='~' => Characters::Ascii,
                _ => Characters::Visible,
            };
            assert_eq!(characters(&format!("a{ch}z")), expected, "{ch:?}");
        }
    }

    #[test]
    fn columns_count_characters_and_ignore_the_byte_order_mark() {
        let text = "\u{feff}ab\n名前: x".as_bytes();
        assert_eq!(position(text, 3), Position { line: 1, column: 1 });
        assert_eq!(position(text, 6 + 3), Position { line: 2, column: 2 });
        assert_eq!(position(text, 999), Position { line: 2, column: 6 });
    }
}
