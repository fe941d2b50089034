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

/// What an ASCII byte is, for its run; both kinds of letters make words. Other bytes have no kind.
const SMALL: u8 = 1;
const CAPITAL: u8 = 2;
const DIGIT: u8 = 3;
const BREAK: u8 = 4;
const BLANK: u8 = 5;
const PUNCTUATION: u8 = 6;

/// The kind of a byte. Without a branch and without a table, so that the compiler does it for sixteen bytes at
/// a time: a third less time for an estimate.
const fn kind(byte: u8) -> u8 {
    let small = byte.is_ascii_lowercase() as u8;
    let capital = byte.is_ascii_uppercase() as u8;
    let digit = byte.is_ascii_digit() as u8;
    let line = (byte == b'\n') as u8 | (byte == b'\r') as u8;
    let blank = (byte == b' ') as u8 | (byte == b'\t') as u8;
    let other = byte.is_ascii() as u8 ^ (small | capital | digit | line | blank);
    (small * SMALL)
        | (capital * CAPITAL)
        | (digit * DIGIT)
        | (line * BREAK)
        | (blank * BLANK)
        | (other * PUNCTUATION)
}

/// An estimate of the tokens in `text`.
///
/// Sixty-four bytes are looked at together, as sets of positions: where letters are, where digits are, and so
/// on. A loop over runs guesses wrong at the end of nearly every word, and took three times as long;
/// `metier doctor` spent a third of its time there.
pub fn estimate_tokens(text: &str) -> usize {
    hundredths(text).div_ceil(100)
}

/// What a text costs, so that the cost of texts one after the other follows from the costs of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCost {
    hundredths: usize,
    /// The kinds of the first and of the last byte; nothing where there is none.
    ends: Option<(u8, u8)>,
}

impl TokenCost {
    /// The cost of a text.
    pub fn of(text: &str) -> Self {
        let ends = text.as_bytes().first().zip(text.as_bytes().last());
        let ends = ends.map(|(first, last)| (run_kind(*first), run_kind(*last)));
        Self { hundredths: hundredths(text), ends }
    }

    /// The cost of both texts as one; nothing where a run goes from one into the other, for that costs less or more
    /// than its parts.
    pub fn then(self, next: Self) -> Option<Self> {
        let ends = match (self.ends, next.ends) {
            (Some((_, last)), Some((first, _))) if last == first => return None,
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (own, others) => own.or(others),
        };
        Some(Self { hundredths: self.hundredths + next.hundredths, ends })
    }

    /// As [`estimate_tokens`] has it.
    pub const fn tokens(self) -> usize {
        self.hundredths.div_ceil(100)
    }
}

fn hundredths(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut hundredths = 0;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let window = Window::new(rest);
        if window.len == 0 {
            let len = run_len(rest);
            hundredths += run_cost(&rest[..len]);
            at += len;
            continue;
        }
        hundredths += window.cost(rest);
        for inside in positions(window.others) {
            // A character counts where it starts.
            if text.is_char_boundary(at + inside) {
                hundredths += text[at + inside..].chars().next().map_or(0, beyond_ascii);
            }
        }
        at += window.len;
    }
    hundredths
}

/// Whole runs at the start of a text, at most 64 bytes. Bit `n` of a set is about byte `n`.
#[derive(Debug, Clone, Copy)]
struct Window {
    letters: u64,
    capitals: u64,
    digits: u64,
    breaks: u64,
    blanks: u64,
    punctuation: u64,
    /// Bytes that are not ASCII.
    others: u64,
    /// How many bytes it is about; 0 where the first run is longer than a window.
    len: usize,
}

impl Window {
    const BYTES: usize = 64;

    fn new(bytes: &[u8]) -> Self {
        let [ones, twos, fours] = kind_bits(bytes);
        let capitals = !ones & twos & !fours;
        let mut window = Self {
            letters: (ones & !twos & !fours) | capitals,
            capitals,
            digits: ones & twos & !fours,
            breaks: !ones & !twos & fours,
            blanks: ones & !twos & fours,
            punctuation: !ones & twos & fours,
            others: !(ones | twos | fours),
            len: bytes.len().min(Self::BYTES),
        };
        if bytes.len() > Self::BYTES {
            // The last run may continue behind the window, so it is left to the next one.
            let joined = |set: u64| set & (set << 1);
            let inside = joined(window.letters)
                | joined(window.digits)
                | joined(window.breaks)
                | joined(window.blanks)
                | joined(window.punctuation);
            window.len = Self::BYTES - 1 - (!inside).leading_zeros() as usize;
        }
        let kept = u64::MAX.checked_shr(64 - u32::try_from(window.len).unwrap_or(64)).unwrap_or(0);
        for set in [
            &mut window.letters,
            &mut window.capitals,
            &mut window.digits,
            &mut window.breaks,
            &mut window.blanks,
            &mut window.punctuation,
            &mut window.others,
        ] {
            *set &= kept;
        }
        window
    }

    /// What its runs cost, in hundredths.
    fn cost(&self, bytes: &[u8]) -> usize {
        let Self { letters, capitals, digits, breaks, blanks, punctuation, .. } = *self;
        let starts = |set: u64| set & !(set << 1);
        let mut cost = count(starts(letters)) * PER_WORD
            + count(starts(breaks)) * LINE_BREAKS
            + count(starts(blanks) & (blanks >> 1)) * BLANKS
            + count(starts(punctuation)) * PER_PUNCTUATION;
        // Letters that have seven before them.
        let pairs = letters & (letters << 1);
        let fours = pairs & (pairs << 2);
        cost += count(fours & (fours << 4)) * PER_LETTER;
        // The first capital inside each word: one from which no other reaches it along the word.
        let inner = capitals & (letters << 1);
        if inner != 0 {
            let (mut reached, mut way) = (inner, letters);
            for step in [1, 2, 4, 8, 16, 32] {
                reached |= way & (reached << step);
                way &= way << step;
            }
            cost += count(inner & !(reached << 1)) * CAPITALS;
        }
        // Every third digit of a number.
        let mut thirds = starts(digits);
        while thirds != 0 {
            cost += count(thirds) * PER_DIGITS;
            thirds = (thirds << 3) & digits & (digits << 1) & (digits << 2);
        }
        // Only from three characters on a run can cost more than one pair.
        let long = starts(punctuation) & (punctuation >> 1) & (punctuation >> 2);
        for start in positions(long) {
            let len = (punctuation >> start).trailing_ones() as usize;
            cost += run_cost(&bytes[start..start + len]) - PER_PUNCTUATION;
        }
        cost
    }
}

/// The kinds of up to 64 bytes, as three sets: where the kind has its first, second and third bit.
fn kind_bits(bytes: &[u8]) -> [u64; 3] {
    const LANES: u64 = 0x0101_0101_0101_0101;
    /// Brings the lowest bits of eight bytes together in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut kinds = [0; Window::BYTES];
    let set_kinds = |(at, byte): (&mut u8, &u8)| *at = kind(*byte);
    // Where the length is known, the loop is without one.
    if let Some(whole) = bytes.first_chunk::<{ Window::BYTES }>() {
        kinds.iter_mut().zip(whole).for_each(set_kinds);
    } else {
        kinds.iter_mut().zip(bytes).for_each(set_kinds);
    }
    let mut sets = [0; 3];
    for (eight, kinds) in kinds.as_chunks::<8>().0.iter().enumerate() {
        let kinds = u64::from_le_bytes(*kinds);
        for (bit, set) in sets.iter_mut().enumerate() {
            let lanes = (kinds >> bit) & LANES;
            *set |= (lanes.wrapping_mul(GATHER) >> 56) << (8 * eight);
        }
    }
    sets
}

fn count(set: u64) -> usize {
    set.count_ones() as usize
}

/// The positions in a set, in order.
fn positions(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

/// What a byte is to the run it is in.
fn run_kind(byte: u8) -> u8 {
    match kind(byte) {
        CAPITAL => SMALL,
        kind => kind,
    }
}

/// How many bytes the first run has.
fn run_len(bytes: &[u8]) -> usize {
    let first = bytes.first().map(|byte| run_kind(*byte));
    bytes.iter().take_while(|byte| Some(run_kind(**byte)) == first).count()
}

/// What one run costs, in hundredths.
fn run_cost(run: &[u8]) -> usize {
    let [first, inside @ ..] = run else { return 0 };
    match run_kind(*first) {
        SMALL => {
            let capitals = if inside.iter().any(u8::is_ascii_uppercase) { CAPITALS } else { 0 };
            PER_WORD + PER_LETTER * run.len().saturating_sub(WORD) + capitals
        }
        DIGIT => PER_DIGITS * run.len().div_ceil(3),
        BREAK => LINE_BREAKS,
        BLANK if run.len() > 1 => BLANKS,
        BLANK => 0,
        _ if inside.iter().all(|byte| byte == first) => PER_PUNCTUATION,
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
    use proptest::prelude::*;

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
        let mut hundredths = 0;
        let mut rest = text;
        while let Some(ch) = rest.chars().next() {
            let len = if ch.is_ascii() { run_len(rest.as_bytes()) } else { ch.len_utf8() };
            hundredths +=
                if ch.is_ascii() { run_cost(&rest.as_bytes()[..len]) } else { beyond_ascii(ch) };
            rest = &rest[len..];
        }
        hundredths.div_ceil(100)
    }

    proptest! {
        #[test]
        fn a_text_costs_what_its_runs_cost(
            text in "([a-z]{1,9}|[A-Z]{1,3}|[a-zA-Z]{60,70}| {1,3}|\t|\n|[0-9]{1,8}|[0-9]{70}|[.,*#]{1,5}|-{60,66}|é|表|👍){0,30}"
        ) {
            prop_assert_eq!(estimate_tokens(&text), by_runs(&text));
        }

        #[test]
        fn two_texts_cost_what_they_cost_together_unless_a_run_goes_over_the_border(
            one in "([a-z]{1,3}|[A-Z]{1,2}| {1,3}|\n|[0-9]{1,4}|[.,*#]{1,3}|é|表){0,4}",
            other in "([a-z]{1,3}|[A-Z]{1,2}| {1,3}|\n|[0-9]{1,4}|[.,*#]{1,3}|é|表){0,4}",
        ) {
            let both = TokenCost::of(&one).then(TokenCost::of(&other));
            if let Some(both) = both {
                prop_assert_eq!(both, TokenCost::of(&format!("{one}{other}")));
            } else {
                let last = one.chars().next_back().map(|c| c.is_alphabetic());
                prop_assert_eq!(last, other.chars().next().map(|c| c.is_alphabetic()));
            }
        }
    }

    #[test]
    fn a_text_costs_no_more_than_its_parts() {
        let parts = ["- name=a | ", "description=Does this", ", and 12345.6\n\n", "and 那个 é"];
        let sum: usize = parts.iter().map(|part| estimate_tokens(part)).sum();
        assert!(estimate_tokens(&parts.concat()) <= sum);
    }
}
