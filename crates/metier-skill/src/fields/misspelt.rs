//! Field names that are nearly a known one: `allowed_tools`, `user-invokable`.
//!
//! Such a field has no effect, which its author should hear about.

/// Equal but for case, hyphens and underscores, or one letter apart.
pub(crate) fn nearly(known: &str, text: &str) -> bool {
    let is_letter = |b: &u8| !matches!(b, b'-' | b'_' | b' ');
    let count = |word: &str| word.as_bytes().iter().filter(|b| is_letter(b)).count();
    // Nearly all pairs end here.
    if count(known).abs_diff(count(text)) > 1 {
        return false;
    }
    let letters =
        |word: &str| word.bytes().filter(is_letter).map(|b| b.to_ascii_lowercase()).collect();
    let (a, b): (Vec<u8>, Vec<u8>) = (letters(known), letters(text));
    a == b || (a.len() >= 5 && one_edit(&a, &b))
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
    use super::nearly;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        assert!(nearly("allowed-tools", "allowed_tools"));
        assert!(nearly("allowed-tools", "allowedTools"));
        assert!(nearly("user-invocable", "user-invokable"));
        assert!(nearly("description", "descripton"));
        assert!(nearly("license", "licence"));
        assert!(!nearly("model", "mod"));
        assert!(!nearly("name", "nome"), "short words are too easily near");
        assert!(!nearly("version", "homepage"));
    }
}
