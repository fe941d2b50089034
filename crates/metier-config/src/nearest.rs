//! "Did you mean …?": the candidate nearest to a mistyped word.
//!
//! Used for keys and values here, and for skill names, commands and headings elsewhere. The work
//! is bounded: the word may be an attacker's.

/// Words longer than this are nobody's typing error.
const MAX_CHARS: usize = 64;

/// The candidate that `word` was most likely meant to be, if one is near.
///
/// The distance counts inserted, deleted, changed and swapped characters (Damerau-Levenshtein,
/// optimal string alignment); capitals don't count, and `-` is `_`. A candidate is near when at
/// most a third of the longer word differs. Of two equally near ones the first wins.
///
/// ```
/// use metier_config::nearest;
///
/// assert_eq!(nearest("follow-symlink", ["follow_symlinks", "profile"]), Some("follow_symlinks"));
/// assert_eq!(nearest("colour", ["follow_symlinks", "profile"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word)?;
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let Some(other) = folded(candidate) else {
            continue;
        };
        let allowed = word.len().max(other.len()) / 3;
        if word.len().abs_diff(other.len()) > allowed {
            continue;
        }
        let found = distance(&word, &other);
        if found <= allowed && best.is_none_or(|(least, _)| found < least) {
            best = Some((found, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The characters to compare, or `None` for an empty or overlong word.
fn folded(word: &str) -> Option<Vec<char>> {
    let chars: Vec<char> = word
        .chars()
        .take(MAX_CHARS + 1)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '-' { '_' } else { c })
        .collect();
    (!chars.is_empty() && chars.len() <= MAX_CHARS).then_some(chars)
}

/// Optimal string alignment distance, with three rows.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut two_above: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let mut least = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(two_above[j - 1] + 1);
            }
            row.push(least);
        }
        two_above = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}
