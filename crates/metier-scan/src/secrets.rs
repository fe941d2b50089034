//! Keys and tokens that a skill holds: which are only examples, and how one is shown. Pure.
//! The shapes are in `rules`; `scanner` calls this for each match.

use metier_skill::Digest;

/// Words in tokens that were made up for a manual.
const MADE_UP: &[&str] = &[
    "example",
    "xxxx",
    "0000",
    "1111",
    "1234",
    "abcd",
    "your",
    "test",
    "fake",
    "dummy",
    "sample",
    "placeholder",
    "redacted",
    "aaaa",
    "....",
];
/// A token that works has more different characters than this.
const FEW_CHARS: usize = 8;
/// How much of a token is shown.
const SHOWN_CHARS: usize = 8;

/// The beginning of a token with a digest that tells it from others: what is printed goes into logs, and must not bring
/// the secret there. `None` for an example.
pub(crate) fn shown_secret(matched: &str) -> Option<String> {
    let folded = matched.to_ascii_lowercase();
    let different: std::collections::BTreeSet<char> = folded.chars().collect();
    // The text of a key is long and random: any short word is in it sooner or later.
    let is_key = matched.starts_with("-----");
    let is_made_up = MADE_UP.iter().any(|word| folded.contains(word));
    if different.len() <= FEW_CHARS || (is_made_up && !is_key) {
        return None;
    }
    let digest = Digest::of(matched.as_bytes()).to_string();
    let digest = digest.get(7..19).unwrap_or_default();
    let begins: String = match matched.lines().next().and_then(|line| line.strip_suffix("-----")) {
        Some(title) if is_key => title.trim_start_matches('-').to_owned(),
        _ if is_key => "BEGIN PRIVATE KEY".to_owned(),
        _ => matched.chars().take(SHOWN_CHARS).collect(),
    };
    Some(format!("{begins}… (its sha256 begins with {digest})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_none_and_a_secret_is_not_printed() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAAAAABBBBAAAABBBB",
        ] {
            assert_eq!(shown_secret(text), None, "{text}");
        }
        let shown = shown_secret("AKIAQ3EGRLMTZK7WJ5VN").expect("a secret");
        assert!(shown.starts_with("AKIAQ3EG…") && !shown.contains("WJ5VN"), "{shown}");
    }
}
