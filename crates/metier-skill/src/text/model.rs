//! Texts as a model may see them: bodies of skills, files, outputs, and parts of them. A part that is cut
//! out of such a text goes through here again.
//!
//! Line ends become line feeds, a byte order mark goes, characters that hide something go, and control
//! characters are shown as escapes. Honest emoji and scripts survive byte for byte. Hidden characters
//! are removed here and not escaped as elsewhere: a message in tag characters may be pages long, and a
//! model could decode it.

use std::borrow::Cow;

use super::push_escape;
use crate::hidden::{cannot_hide, without_hidden};

/// `text` as a model may see it; borrowed when there is nothing to change.
pub fn for_model(text: &str) -> Cow<'_, str> {
    // Most of most texts: there is nothing to decode, hide or escape.
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    // All of them: behind whatever a prompt puts before the text, a second one is a hidden character.
    let text = text.trim_start_matches('\u{feff}');
    let mut out = Cow::Borrowed(text);
    if out.contains('\r') {
        out = Cow::Owned(out.replace("\r\n", "\n").replace('\r', "\n"));
    }
    if !cannot_hide(out.as_bytes())
        && let Cow::Owned(clean) = without_hidden(&out)
    {
        out = Cow::Owned(clean);
    }
    if has_escaped(&out) {
        let mut shown = String::with_capacity(out.len());
        for ch in out.chars() {
            if is_escaped(ch) {
                push_escape(&mut shown, ch);
            } else {
                shown.push(ch);
            }
        }
        out = Cow::Owned(shown);
    }
    out
}

/// Whether all bytes are printable ASCII, line feeds or tabs.
fn is_plain(bytes: &[u8]) -> bool {
    !has_any(bytes, |byte| is_odd_control(byte) || byte > b'~')
}

fn is_odd_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

/// Whether a byte passes `test`. The loop has no early way out inside a piece: that is what lets the
/// compiler look at many bytes at a time.
fn has_any(bytes: &[u8], test: impl Fn(u8) -> bool) -> bool {
    bytes.chunks(256).any(|piece| piece.iter().fold(false, |any, byte| any | test(*byte)))
}

/// Whether a character of `text` is escaped. Outside ASCII only two bytes can start one.
fn has_escaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    has_any(bytes, is_odd_control)
        || memchr::memchr2_iter(0xc2, 0xe2, bytes).any(|at| starts_with_escaped(&bytes[at..]))
}

/// The UTF-8 of every character for which [`is_escaped`] answers; a test holds them together.
fn starts_with_escaped(bytes: &[u8]) -> bool {
    match bytes {
        [0xc2, 0x80..=0x9f, ..] | [0xe2, 0x80, 0xa8..=0xa9, ..] => true,
        [first, ..] => is_odd_control(*first),
        [] => false,
    }
}

fn is_escaped(ch: char) -> bool {
    (ch.is_control() && !matches!(ch, '\n' | '\t')) || matches!(ch, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hidden::find_hidden;
    use proptest::prelude::*;

    #[test]
    fn what_hides_goes_and_what_is_honest_stays() {
        assert_eq!(for_model("\u{feff}a\r\nb\rc"), "a\nb\nc");
        assert_eq!(for_model("\u{feff}\u{feff}a"), "a");
        assert_eq!(for_model("x\u{202e}y\u{200b}z\u{1b}[2J"), "xyz\\x1b[2J");
        for honest in ["👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️", "می‌خواهم", "क्‍ष", "表格 データ", "plain\ttext\n"]
        {
            assert!(matches!(for_model(honest), Cow::Borrowed(same) if same == honest), "{honest}");
        }
    }

    #[test]
    fn every_character_is_escaped_by_its_bytes_as_by_itself() {
        for ch in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = ch.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(starts_with_escaped(bytes), is_escaped(ch), "{ch:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_and_no_control_is_left(text in "[\\PC\r\n\t\u{1b}\u{85}\u{200b}\u{202e}\u{e0041}\u{feff}]{0,40}") {
            let once = for_model(&text).into_owned();
            prop_assert_eq!(has_escaped(&text), text.chars().any(is_escaped));
            prop_assert!(find_hidden(&once).is_empty());
            prop_assert!(!once.contains(is_escaped));
            prop_assert_eq!(for_model(&once), once.as_str());
        }
    }
}
