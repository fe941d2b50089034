//! The spellings in which a value turns up in output: base64, hex, URL, JSON. Pure;
//! `redact` looks for all of them.

/// The alphabet of base64 in RFC 4648 §4.
pub(super) const STANDARD: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The one for URLs, §5.
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Every spelling of `value` that is looked for, the value itself first.
pub(super) fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_vec()];
    for alphabet in [STANDARD, URL_SAFE] {
        all.extend((0..3).map(|offset| base64_within(value, offset, alphabet)));
    }
    let hex = |digits: &[u8; 16]| -> Vec<u8> {
        let pair = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        value.iter().flat_map(pair).collect()
    };
    all.extend([hex(b"0123456789abcdef"), hex(b"0123456789ABCDEF")]);
    for digits in [b"0123456789ABCDEF", b"0123456789abcdef"] {
        all.extend([url(value, digits, b"%20"), url(value, digits, b"+")]);
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let quoted = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        all.push(quoted.as_bytes().to_vec());
        // Python and PHP write JSON in ASCII, PHP escapes slashes as well.
        for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
            let ascii = ascii_json(quoted, *digits);
            all.push(ascii.replace('/', "\\/").into_bytes());
            all.push(ascii.into_bytes());
        }
    }
    let value_length = value.len().min(6);
    all.retain(|spelling| spelling.len() >= value_length);
    all
}

/// The inside of a JSON text with every character that is not ASCII as `\u....`.
fn ascii_json(quoted: &str, digits: [u8; 16]) -> String {
    let mut out = String::with_capacity(quoted.len());
    for ch in quoted.chars() {
        if ch.is_ascii() {
            out.push(ch);
            continue;
        }
        for unit in ch.encode_utf16(&mut [0; 2]) {
            out.push_str("\\u");
            let digit = |shift: u16| char::from(digits[usize::from((*unit >> shift) & 15)]);
            out.extend([12, 8, 4, 0].map(digit));
        }
    }
    out
}

/// Plain base64 without padding.
pub(super) fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for digit in 0..=group.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.push(char::from(alphabet[index as usize]));
        }
    }
    out
}

/// The digits that `value` always gives when it stands `offset` bytes into a group of three: those
/// that mix in a neighbour's bits are left out.
fn base64_within(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let padded = [&[0; 2][..offset], value].concat();
    let digits = base64(&padded, alphabet).into_bytes();
    let first = (offset * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    digits.get(first..last).unwrap_or_default().to_vec()
}

/// Percent-encoding of all but the unreserved characters of RFC 3986, with `space` for a blank.
fn url(value: &[u8], digits: &[u8; 16], space: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b' ' => out.extend_from_slice(space),
            b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            _ if byte.is_ascii_alphanumeric() => out.push(*byte),
            _ => out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, encoded) in
            [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes(), STANDARD), encoded);
        }
    }

    #[test]
    fn the_inner_digits_stand_in_every_longer_text_at_that_offset() {
        for offset in 0..3 {
            let inner = base64_within(b"a secret value", offset, STANDARD);
            let text = [&b"xy"[..offset], b"a secret value", b"zz"].concat();
            let whole = base64(&text, STANDARD);
            assert!(whole.contains(std::str::from_utf8(&inner).expect("text")), "{offset}");
            assert!(inner.len() >= 17);
        }
    }
}
