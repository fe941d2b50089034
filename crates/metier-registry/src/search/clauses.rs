//! Taking a description apart: what a skill is for, and what its author says it is not for.
//!
//! `Do NOT use for …`, `not for …`, `excludes …`, `For X, see other-skill` and their Chinese forms
//! mention requests that belong elsewhere, often in exactly the words of those requests. Read as a
//! recommendation they would draw what they mean to send away. A clause lasts to the end of its
//! sentence, of its parenthesis, or to a dash behind which the author returns to the subject.
//! Cheap, because every description of an index goes through it; understands nothing.
//!
//! tidy:allow-cjk

/// Which way a part of a description speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    For,
    Against,
}

/// What opens a clause about other skills' work, in lower case. The shorter ones only count where a
/// blank or a colon follows.
const OPENERS: &[&str] = &[
    "as opposed to",
    "avoid for",
    "avoid using",
    "avoid when",
    "cannot be used",
    "do not activate",
    "do not apply",
    "do not invoke",
    "do not load",
    "do not select",
    "do not trigger",
    "do not use",
    "does not apply",
    "does not cover",
    "does not handle",
    "don't activate",
    "don't apply",
    "don't invoke",
    "don't load",
    "don't trigger",
    "don't use",
    "except for",
    "except when",
    "excludes",
    "excluding",
    "must not be used",
    "never for",
    "never trigger",
    "never use",
    "not a general",
    "not a replacement",
    "not applicable",
    "not for",
    "not intended",
    "not meant",
    "not suitable",
    "not to be used",
    "not when",
    "out of scope",
    "rather than",
    "should not be used",
    "shouldn't be used",
    "skip for",
    "skip if",
    "skip only",
    "skip when",
];

const CHINESE_OPENERS: &[&str] = &[
    "不要在",
    "不要用",
    "不要使用",
    "不适用",
    "不适合",
    "不用于",
    "不能用于",
    "不得用于",
    "不包括",
    "不负责",
    "请勿",
    "勿用",
    "切勿",
    "而不是",
    "而非",
];

/// The parts of a description in order; together they are the whole text.
pub(super) fn clauses(text: &str, mut give: impl FnMut(Sense, &str)) {
    if !may_speak_against(text) {
        give(Sense::For, text);
        return;
    }
    let mut start = 0;
    while start < text.len() {
        let end = start + sentence(&text[start..]);
        let whole = &text[start..end];
        if points_elsewhere(whole) {
            give(Sense::Against, whole);
        } else {
            halves(whole, &mut give);
        }
        start = end;
    }
}

/// Whether any opener could be in the text at all. Most descriptions end here, after one pass.
fn may_speak_against(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let rest = &bytes[at..];
        let has = |stem: &[u8]| {
            rest.get(..stem.len()).is_some_and(|head| head.eq_ignore_ascii_case(stem))
        };
        match byte.to_ascii_lowercase() {
            b'n' => has(b"not ") || has(b"n't ") || has(b"never "),
            b'e' => has(b"exclud") || has(b"except"),
            b's' => has(b"skip "),
            b'a' => has(b"avoid ") || has(b"as opposed"),
            b'i' => has(b"instead"),
            b'r' => has(b"rather "),
            b'o' => has(b"out of scope"),
            b',' => has(b", see ") || has(b", use "),
            0xE4..=0xE9 => ["不", "勿", "非"].iter().any(|sign| has(sign.as_bytes())),
            _ => false,
        }
    })
}

/// Gives a sentence in turns: for, against from an opener to the clause's end, for again.
fn halves(sentence: &str, give: &mut impl FnMut(Sense, &str)) {
    let mut start = 0;
    while let Some(opens) = opener(&sentence[start..]) {
        let from = start + opens;
        let to = from + clause(&sentence[from..]);
        if from > start {
            give(Sense::For, &sentence[start..from]);
        }
        give(Sense::Against, &sentence[from..to]);
        start = to;
    }
    if start < sentence.len() {
        give(Sense::For, &sentence[start..]);
    }
}

/// Where the first opener begins.
fn opener(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut in_word = false;
    (0..bytes.len()).find(|&at| {
        let byte = bytes[at];
        let begins = !in_word;
        in_word = byte.is_ascii_alphanumeric() || byte == b'\'' || !byte.is_ascii();
        match byte.to_ascii_lowercase() {
            b'a' | b'c' | b'd' | b'e' | b'm' | b'n' | b'o' | b'r' | b's' if begins => {
                OPENERS.iter().any(|opener| starts(&text[at..], opener))
            }
            // The first bytes of the Chinese openers.
            0xE4..=0xE9 => {
                CHINESE_OPENERS.iter().any(|opener| bytes[at..].starts_with(opener.as_bytes()))
            }
            _ => false,
        }
    })
}

/// How far a clause that was opened reaches.
fn clause(text: &str) -> usize {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' if depth == 0 => return at,
            ')' | '）' => depth -= 1,
            '—' | '–' if at > 0 && !names_another(&text[at + c.len_utf8()..]) => return at,
            '-' if text[at..].starts_with("-- ") && !names_another(&text[at + 2..]) => return at,
            _ => {}
        }
    }
    text.len()
}

/// Whether what follows tells which skill to take instead.
fn names_another(text: &str) -> bool {
    let text = text.trim_start();
    ["use", "see", "try", "prefer", "instead"].iter().any(|word| starts(text, word))
}

/// Whether a whole sentence sends the reader to another skill: `For X, see Y`, `use Y instead`.
fn points_elsewhere(sentence: &str) -> bool {
    let text = sentence.trim();
    let bare = text.trim_end_matches(['.', '!', ')', ' ']);
    let supposes = ["for", "if", "when"].iter().any(|word| starts(text, word));
    let tail = bare.len().checked_sub(" instead".len()).and_then(|at| bare.get(at..));
    let ends = tail.is_some_and(|tail| tail.eq_ignore_ascii_case(" instead"));
    if !supposes && !ends {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let points = |mark: &str| {
        lower.match_indices(mark).any(|(at, _)| {
            let next = lower[at + mark.len()..].split_whitespace().next().unwrap_or_default();
            !matches!(next, "this" | "it" | "the" | "when" | "whenever" | "a" | "an" | "")
        })
    };
    supposes && (points(", see ") || points(", use "))
        || ends && (points("use ") || points("see ")) && !lower.contains("use this")
}

/// Whether the text begins with these words and they end there.
fn starts(text: &str, words: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= words.len()
        && bytes[0].eq_ignore_ascii_case(&words.as_bytes()[0])
        && bytes[..words.len()].eq_ignore_ascii_case(words.as_bytes())
        && !text[words.len()..].starts_with(char::is_alphanumeric)
}

/// How long the first sentence is, its end mark and the blanks behind it included.
fn sentence(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        let ends = match c {
            '\n' | ';' | '。' | '；' | '！' | '？' => true,
            '.' | '!' | '?' => {
                next.is_none_or(char::is_whitespace)
                    && !abbreviation(&text[..at])
                    && !text[at + 1..].trim_start().starts_with(char::is_lowercase)
            }
            // A quoted sentence ends behind its quote.
            '"' | '\'' | '”' | '’' | ')' if text[..at].ends_with(['.', '!', '?']) => {
                next.is_none_or(char::is_whitespace)
            }
            _ => false,
        };
        if ends {
            let rest = &text[at + c.len_utf8()..];
            return text.len() - rest.trim_start().len();
        }
    }
    text.len()
}

fn abbreviation(before: &str) -> bool {
    ["e.g", "i.e", "vs", "cf"].iter().any(|short| {
        before.strip_suffix(short).is_some_and(|head| !head.ends_with(char::is_alphanumeric))
    })
}
