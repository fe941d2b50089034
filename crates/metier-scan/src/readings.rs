//! The texts that the bytes of a file can be taken for. Programs differ: a shell passes over zero bytes, PowerShell reads
//! UTF-16, others take each byte as it is. What one of them would run, or a model would read, is not hidden from a scan
//! by what another one would make of it.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};

use crate::report::FoundAt;

/// Of how many pairs of bytes one has a zero at the same place, in UTF-16 without a mark at its beginning.
const PAIRS: usize = 3;

/// The texts of one file.
pub(crate) struct Readings<'b> {
    /// The one that is meant, as far as the bytes say.
    pub(crate) first: Cow<'b, str>,
    /// What another program may read instead.
    pub(crate) other: Option<Cow<'b, str>>,
    /// Whether the bytes are UTF-8 without a zero byte, or UTF-16 that says so without a character that no text has.
    pub(crate) is_text: bool,
    /// Where the first zero byte is and how many there are, where they are no part of UTF-16 that says so.
    pub(crate) zeros: Option<(FoundAt, usize)>,
    /// Whether there are any.
    pub(crate) has_zeros: bool,
}

impl<'b> Readings<'b> {
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        let plain = String::from_utf8_lossy(bytes);
        let first_zero = memchr(0, bytes);
        let marked = match bytes {
            [0xff, 0xfe, rest @ ..] => Some(wide(rest, u16::from_le_bytes)),
            [0xfe, 0xff, rest @ ..] => Some(wide(rest, u16::from_be_bytes)),
            _ => None,
        };
        let is_marked = marked.as_deref().is_some_and(is_text);
        let wide = marked.or_else(|| first_zero.and_then(|_| unmarked(bytes)));
        if wide.is_none() && first_zero.is_none() {
            let is_text = matches!(plain, Cow::Borrowed(_));
            return Self { first: plain, other: None, is_text, zeros: None, has_zeros: false };
        }
        let number = memchr_iter(0, bytes).count();
        let zeros = first_zero.filter(|_| !is_marked).map(|at| (place(bytes, at), number));
        let narrow = match first_zero {
            Some(_) => Cow::Owned(plain.replace('\0', "")),
            None => plain.clone(),
        };
        let (first, other) = match wide {
            Some(wide) => (Cow::Owned(wide), narrow),
            None => (narrow, plain),
        };
        let has_zeros = first_zero.is_some();
        Self { first, other: Some(other), is_text: is_marked, zeros, has_zeros }
    }
}

/// Whether bytes begin with the mark of UTF-16.
pub(crate) fn says_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// The text of units of two bytes. A last byte that is alone means nothing to those who read them.
fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|ch| ch.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The same of bytes that do not say so, and in which each second one is zero as often as in text.
fn unmarked(bytes: &[u8]) -> Option<String> {
    let zeros = |place: usize| {
        let at_place = bytes.iter().skip(place).step_by(2);
        at_place.filter(|byte| **byte == 0).count() * PAIRS >= bytes.len() / 2
    };
    match (zeros(0), zeros(1)) {
        (false, true) => Some(wide(bytes, u16::from_le_bytes)),
        (true, false) => Some(wide(bytes, u16::from_be_bytes)),
        _ => None,
    }
}

fn is_text(text: &str) -> bool {
    let is_of_text = |ch: char| match ch {
        '\t' | '\n' | '\r' => true,
        other => !other.is_control() && other != char::REPLACEMENT_CHARACTER,
    };
    text.chars().all(is_of_text)
}

fn place(bytes: &[u8], at: usize) -> FoundAt {
    let before = &bytes[..at];
    let start = memrchr(b'\n', before).map_or(0, |end| end + 1);
    let line = memchr_iter(b'\n', before).count() + 1;
    FoundAt { line, column: String::from_utf8_lossy(&before[start..]).chars().count() + 1 }
}
