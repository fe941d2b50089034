//! How many tokens a text costs a model, as an estimate.
//!
//! A real tokenizer's tables weigh megabytes; for budgets and cost tables an estimate is enough that
//! sees what they see: words, groups of digits, runs of punctuation, CJK characters. The weights
//! were fitted to the counts of a common encoder over 6,000 skills and raised by a tenth, because
//! other encoders cut finer: nine texts in ten come out between the true count and a fifth above.

/// Hundredths of a token: a word of up to [`WORD`] letters.
const PER_WORD: usize = 113;
/// Letters of a word that cost nothing more.
const WORD: usize = 7;
/// Each further letter.
const PER_LETTER: usize = 10;
/// A word with capitals inside.
const CAPITALS: usize = 48;
/// A group of up to three digits.
const PER_DIGITS: usize = 165;
/// A pair of punctuation characters, or a run of the same one.
const PER_PUNCTUATION: usize = 82;
/// A run of line breaks.
const LINE_BREAKS: usize = 92;
/// A run of more than one blank.
const BLANKS: usize = 60;
/// A letter with an accent, Greek, Cyrillic, Hebrew.
const PER_LATIN: usize = 55;
/// A Han character.
const PER_HAN: usize = 94;
/// A kana or Hangul syllable.
const PER_SYLLABLE: usize = 84;
/// Anything else: emoji, symbols, other scripts.
const PER_OTHER: usize = 105;

/// What an ASCII byte is, for its run.
const LETTER: u8 = 0;
const DIGIT: u8 = 1;
const BREAK: u8 = 2;
const BLANK: u8 = 3;
const PUNCTUATION: u8 = 4;
const BEYOND: u8 = 5;

const KINDS: [u8; 256] = {
    let mut kinds = [BEYOND; 256];
    let mut byte = 0u8;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'\n' | b'\r' => BREAK,
            b' ' | b'\t' => BLANK,
            _ => PUNCTUATION,
        };
        byte += 1;
    }
    kinds
};

/// An estimate of the tokens in `text`.
pub fn estimate_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut hundredths = 0usize;
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let kind = KINDS[usize::from(first)];
        if kind == LETTER {
            let (cost, len) = word_at_start(&bytes[at..]);
            hundredths += cost;
            at += len;
        } else if kind == BEYOND {
            let ch = text[at..].chars().next().unwrap_or_default();
            hundredths += beyond_ascii(ch);
            at += ch.len_utf8();
        } else {
            let same = |byte: &&u8| KINDS[usize::from(**byte)] == kind;
            let len = bytes[at..].iter().take_while(same).count();
            hundredths += run_cost(kind, &bytes[at..at + len]);
            at += len;
        }
    }
    hundredths.div_ceil(100)
}

/// What the word at the start of `bytes` costs, and its length with the one blank after it, which costs
/// nothing. Most of a text is that, so it is seen in one pass.
fn word_at_start(bytes: &[u8]) -> (usize, usize) {
    /// What a small letter has and its capital has not.
    const LOWER: u8 = 0x20;
    let kind = |at: usize| bytes.get(at).map_or(BEYOND, |byte| KINDS[usize::from(*byte)]);
    let mut common = LOWER;
    let mut len = 1;
    while let Some(&byte) = bytes.get(len) {
        if KINDS[usize::from(byte)] != LETTER {
            break;
        }
        common &= byte;
        len += 1;
    }
    let inside = if common == LOWER { 0 } else { CAPITALS };
    let cost = PER_WORD + PER_LETTER * len.saturating_sub(WORD) + inside;
    let has_one_blank = kind(len) == BLANK && kind(len + 1) != BLANK;
    (cost, len + usize::from(has_one_blank))
}

/// What a run of bytes of one kind costs, other than letters.
fn run_cost(kind: u8, run: &[u8]) -> usize {
    match kind {
        DIGIT => PER_DIGITS * run.len().div_ceil(3),
        BREAK => LINE_BREAKS,
        BLANK if run.len() > 1 => BLANKS,
        BLANK => 0,
        _ if run.iter().all(|byte| *byte == run[0]) => PER_PUNCTUATION,
        _ => PER_PUNCTUATION * run.len().div_ceil(2),
    }
}

const fn beyond_ascii(ch: char) -> usize {
    match ch {
        '\u{80}'..='\u{24f}' | '\u{370}'..='\u{5ff}' => PER_LATIN,
        '\u{3400}'..='\u{9fff}' => PER_HAN,
        '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => PER_SYLLABLE,
        _ => PER_OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_near_known_counts() {
        // Ten tokens with a common encoder.
        let english = estimate_tokens("The quick brown fox jumps over the lazy dog.");
        assert!((10..=12).contains(&english), "{english}");
        // Ten Han characters: six to eleven tokens with the common encoders.
        let chinese = estimate_tokens("防止以太坊哈希错误并");
        assert!((7..=11).contains(&chinese), "{chinese}");
        // 21 tokens with a common encoder.
        let code = estimate_tokens("let parsed = SkillName::parse(\"pdf-forms\").expect(1024);\n");
        assert!((17..=25).contains(&code), "{code}");
        assert_eq!(estimate_tokens(""), 0);
    }

    /// The same, one run after the other.
    fn by_runs(text: &str) -> usize {
        let kind = |ch: char| if ch.is_ascii() { KINDS[ch as usize] } else { BEYOND };
        let chars: Vec<char> = text.chars().collect();
        let runs = chars.chunk_by(|a, b| kind(*a) == kind(*b) && kind(*a) != BEYOND);
        let cost = |run: &[char]| match kind(run[0]) {
            BEYOND => beyond_ascii(run[0]),
            LETTER => {
                let capitals = run[1..].iter().any(char::is_ascii_uppercase);
                let inside = if capitals { CAPITALS } else { 0 };
                PER_WORD + PER_LETTER * run.len().saturating_sub(WORD) + inside
            }
            kind => run_cost(kind, run.iter().collect::<String>().as_bytes()),
        };
        runs.map(cost).sum::<usize>().div_ceil(100)
    }

    proptest::proptest! {
        #[test]
        fn a_text_costs_what_its_runs_cost(text in "([a-z]{1,9}|[A-Z]| |\t|\n|[0-9.,*#é表]){0,20}") {
            proptest::prop_assert_eq!(estimate_tokens(&text), by_runs(&text));
        }
    }

    #[test]
    fn a_text_costs_no_more_than_its_parts() {
        let parts = ["- name=a | ", "description=Does this", ", and 12345.6\n\n", "and 那个 é"];
        let sum: usize = parts.iter().map(|part| estimate_tokens(part)).sum();
        assert!(estimate_tokens(&parts.concat()) <= sum);
    }
}
