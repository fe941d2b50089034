//! What stands around a call, and whether it leaves a plain order, in English and in Chinese (tidy:allow-cjk).
//!
//! There is no end of ways to make an order depend on something (`in case the tests pass`, `tests permitting`,
//! 等测试通过). So it is plain only where nothing stands around it but what is known: a short closed form behind
//! the call (`on staging`, `to print it now`), and beside it clauses that begin as what leaves an order alone
//! begins. Everything else leaves a wish. Called by `order_clauses`; pure.

use super::fold::is_unspaced;
use super::order_quotes::BLOT;
use super::order_words::{
    AFTERTHOUGHTS, ARTICLES, CHINESE_DOUBTS, CHINESE_LATER, CHINESE_RESERVATIONS, CLAUSE_ENDS,
    DOUBTS, LATER, NEGATIONS, PREPOSITIONS, RESERVATIONS, SENTENCE_ENDS, TAILS_ALONE,
};

/// Parts of what follows a call: `on staging`, `please`.
const MAX_PARTS: usize = 4;
/// Words behind `to`, and behind another preposition.
const MAX_TASK: usize = 4;
const MAX_PLACE: usize = 2;
/// Chinese characters behind a call.
const MAX_CHINESE: usize = 16;

/// The words of a text, in lower case and as they are written, without the signs around them.
fn words(text: &str) -> impl Iterator<Item = (String, &str)> {
    let bare = |word: &str| word.to_lowercase().replace('’', "'");
    let is_sign = |c: char| !c.is_alphanumeric() && !"-./~_$@".contains(c) && c != BLOT;
    text.split_whitespace()
        .map(move |word| {
            word.trim_start_matches(is_sign)
                .trim_end_matches([')', '*', ',', '!', '?', '.', ';', ':'])
        })
        .filter(|word| word.contains(|c: char| c.is_alphanumeric() || c == BLOT))
        .map(move |word| (bare(word), word))
}

/// Whether a text holds a word that makes an order depend on something, puts it off or takes it back.
pub(super) fn is_doubtful(text: &str) -> bool {
    let is_doubt = |word: &str| RESERVATIONS.contains(&word) || DOUBTS.contains(&word);
    words(text).any(|(word, _)| {
        is_doubt(word.trim_matches(|c: char| !c.is_alphanumeric())) || is_put_off(&word)
    })
}

/// The same for Chinese, which needs no blanks.
fn is_put_off(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let has = |word: &&str| text.contains(*word);
    // 后端 and 后台 are things; 九点 is a time.
    let after = text.match_indices('后').any(|(at, it)| {
        !text[at + it.len()..].starts_with(['端', '台', '面', '缀'])
            && !text[..at].ends_with(['最', '然', '随'])
    });
    let hour = text.match_indices('点').any(|(at, _)| {
        text[..at].ends_with(|c: char| c.is_numeric() || "一二三四五六七八九十两".contains(c))
            && !text[..at].ends_with('一')
    });
    CHINESE_RESERVATIONS.iter().any(has) || CHINESE_DOUBTS.iter().any(has) || after || hour
}

/// Whether what follows a call in its clause leaves it a plain order: nothing, or a short closed form.
pub(super) fn is_closed(rest: &str) -> bool {
    if is_doubtful(rest) || rest.chars().filter(|&c| is_unspaced(c)).count() > MAX_CHINESE {
        return false;
    }
    let words: Vec<(String, &str)> = words(rest).collect();
    let is_word = |at: usize| {
        words.get(at).is_some_and(|(lower, _)| {
            !PREPOSITIONS.contains(&lower.as_str()) && !TAILS_ALONE.contains(&lower.as_str())
        })
    };
    let in_chinese = rest.contains(is_unspaced);
    let (mut at, mut parts) = (0, 0);
    while let Some((lower, written)) = words.get(at) {
        parts += 1;
        if parts > MAX_PARTS {
            return false;
        }
        at += 1;
        if PREPOSITIONS.contains(&lower.as_str()) {
            let start = at;
            while words.get(at).is_some_and(|(lower, _)| ARTICLES.contains(&lower.as_str())) {
                at += 1;
            }
            let most = if lower == "to" { MAX_TASK } else { MAX_PLACE };
            let end = at + most;
            while at < end && is_word(at) {
                at += 1;
            }
            if at == start {
                return false;
            }
        } else if written.starts_with('-') {
            // An option, perhaps with its value.
            at += usize::from(is_word(at));
        } else if !TAILS_ALONE.contains(&lower.as_str()) && !in_chinese && !is_argument(written) {
            return false;
        }
    }
    true
}

/// Whether a word is a name, a number, a file, or something quoted.
fn is_argument(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        || word.contains(['.', '/', '=', '@', '_', BLOT])
}

/// Whether a later clause of its sentence leaves an order as it is.
pub(super) fn leaves_it(clause: &str) -> bool {
    let lower = clause.trim().to_lowercase();
    let first = lower.split_whitespace().next().unwrap_or_default();
    let begins = LATER.contains(&first) || CHINESE_LATER.iter().any(|word| lower.starts_with(word));
    begins && !is_doubtful(clause) || is_closed(clause)
}

/// Whether a text is a condition without what depends on it: `Once I say so.`
pub(super) fn is_bare_condition(sentence: &str) -> bool {
    let lower = sentence.trim().to_lowercase();
    let mut words = lower.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let opens = match first {
        "in" => matches!(second, "case" | "the"),
        "as" => matches!(second, "long" | "soon"),
        first => RESERVATIONS.contains(&first) || DOUBTS.contains(&first),
    };
    let opens =
        opens && is_doubtful(&lower) || CHINESE_DOUBTS.iter().any(|it| lower.starts_with(it));
    let refuses =
        lower.split_whitespace().any(|word| NEGATIONS.contains(&word.trim_matches(CLAUSE_ENDS)));
    opens && (refuses || !lower.contains(CLAUSE_ENDS))
}

/// Whether the sentence that a text begins with takes back what was ordered before it.
pub(super) fn takes_back(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let sentence = text.split(|c| SENTENCE_ENDS.contains(c)).next().unwrap_or_default();
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let first = words.iter().find(|word| !matches!(**word, "and" | "so" | "or"));
    let limits = |pair: &[&str]| matches!(pair, ["only" | "not" | "just", next] if RESERVATIONS.contains(next) || *next == "with" || *next == "yet");
    first.is_some_and(|first| AFTERTHOUGHTS.contains(first))
        || CHINESE_RESERVATIONS.iter().any(|word| lower.starts_with(word))
        || words.windows(2).any(limits)
        || is_bare_condition(sentence)
}
