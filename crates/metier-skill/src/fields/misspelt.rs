//! Field names that are nearly a known one: `allowed_tools`, `user-invokable`.
//!
//! Such a field has no effect, which its author should hear about.

use std::sync::LazyLock;

use crate::skill::KNOWN_FIELDS;

/// The known field that `text` is meant to be: equal but for case, hyphens and underscores, or one
/// letter apart.
pub(crate) fn nearest_known(text: &str) -> Option<&'static str> {
    static LETTERS: LazyLock<Vec<(&str, Vec<u8>)>> =
        LazyLock::new(|| KNOWN_FIELDS.iter().map(|known| (*known, letters(known))).collect());
    let text = letters(text);
    let near = |known: &[u8]| known.len().abs_diff(text.len()) <= 1 && are_near(known, &text);
    LETTERS.iter().find(|(_, letters)| near(letters)).map(|(known, _)| *known)
}

/// Whether `text` is meant to be `known`, as in [`nearest_known`].
pub(crate) fn nearly(known: &str, text: &str) -> bool {
    are_near(&letters(known), &letters(text))
}

fn letters(word: &str) -> Vec<u8> {
    let mut letters = Vec::with_capacity(word.len());
    let kept = word.bytes().filter(|byte| !matches!(byte, b'-' | b'_' | b' '));
    letters.extend(kept.map(|byte| byte.to_ascii_lowercase()));
    letters
}

fn are_near(known: &[u8], text: &[u8]) -> bool {
    known == text || (known.len() >= 5 && one_edit(known, text))
}

fn one_edit(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    if short.len() == long.len() {
        short.get(same + 1..) == long.get(same + 1..)
            || (same + 1 < short.len()
                && short[same] == long[same + 1]
                && short[same + 1] == long[same]
                && short[same + 2..] == long[same + 2..])
    } else {
        short[same..] == long[same + 1..]
    }
}

#[cfg(test)]
mod tests {
    use super::nearest_known;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        assert_eq!(nearest_known("allowed_tools"), Some("allowed-tools"));
        assert_eq!(nearest_known("allowedTools"), Some("allowed-tools"));
        assert_eq!(nearest_known("user-invokable"), Some("user-invocable"));
        assert_eq!(nearest_known("descripton"), Some("description"));
        assert_eq!(nearest_known("licence"), Some("license"));
        assert_eq!(nearest_known("mod"), None);
        assert_eq!(nearest_known("nome"), None, "short words are too easily near");
        assert_eq!(nearest_known("homepage"), None);
    }
}
