//! How many tokens a text costs a model, as an estimate.
//!
//! A real tokenizer's tables weigh tens of megabytes; for budgets and cost tables an estimate that
//! knows the difference between Latin text, digits and CJK is enough. It errs on the high side.

/// An estimate of the tokens in `text`: about four ASCII letters, three digits or other Latin
/// characters, or one CJK character a token; punctuation and line breaks count more than letters.
pub fn estimate_tokens(text: &str) -> usize {
    let mut twelfths = 0usize;
    for ch in text.chars() {
        twelfths += match ch {
            'a'..='z' | 'A'..='Z' | ' ' => 3,
            '0'..='9' => 5,
            '\n' => 6,
            _ if ch.is_ascii() => 8,
            '\u{80}'..='\u{24f}' | '\u{370}'..='\u{5ff}' => 6,
            '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' | '\u{3400}'..='\u{9fff}' => 11,
            _ => 15,
        };
    }
    twelfths.div_ceil(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_near_known_counts() {
        // 44 characters, 9 words: nine or ten tokens with the common encoders.
        let english = estimate_tokens("The quick brown fox jumps over the lazy dog.");
        assert!((9..=14).contains(&english), "{english}");
        // Ten Han characters: six to eleven tokens with the common encoders.
        let chinese = estimate_tokens("防止以太坊哈希错误并");
        assert!((7..=11).contains(&chinese), "{chinese}");
        assert_eq!(estimate_tokens(""), 0);
    }
}
