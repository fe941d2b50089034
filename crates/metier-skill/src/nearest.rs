//! "Did you mean …?": the candidates nearest to a mistyped word. The one place for configuration keys,
//! tools, skill names, headings, permissions and a model's fields.
//!
//! Pure and bounded: the word may be an attacker's. What is offered is a candidate, never the word.

use std::borrow::Cow;

use crate::text::quoted;

/// Longer words are not typing errors.
const MAX_CHARS: usize = 64;
/// Characters of a name in a sentence.
const NAME_CHARS: usize = 80;

/// The candidate that `word` was most likely meant to be, if one is near.
///
/// The distance counts inserted, deleted, changed and swapped characters (Damerau-Levenshtein,
/// optimal string alignment); capitals don't count, and `-`, `.` and a blank are `_`. A candidate is
/// near when at most a third of the longer word differs. Of two equally near ones the first wins.
///
/// ```
/// use metier_skill::nearest;
///
/// assert_eq!(nearest("follow-symlink", ["follow_symlinks", "profile"]), Some("follow_symlinks"));
/// assert_eq!(nearest("colour", ["follow_symlinks", "profile"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word)?;
    let near = candidates.into_iter().filter_map(|candidate| {
        let slips = slips(&word, &folded(candidate)?)?;
        Some((slips, candidate))
    });
    near.min_by_key(|(slips, _)| *slips).map(|(_, candidate)| candidate)
}

/// At most `max` candidates that `word` may have been meant to be: those that [`nearest`] would take,
/// nearest first, and then those of which it is a part or that are a part of it.
fn suggestions<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> Vec<&'a str> {
    let Some(word) = folded(word) else { return Vec::new() };
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = folded(candidate)?;
            let is_part = || other.contains(&*word) || word.contains(&*other);
            let slips = slips(&word, &other).or_else(|| is_part().then_some(usize::MAX))?;
            Some((slips, candidate))
        })
        .collect();
    near.sort_by_key(|(slips, _)| *slips);
    near.into_iter().map(|(_, candidate)| candidate).take(max).collect()
}

/// What a model is shown that asked for a skill which it cannot have: the nearest of those on offer, or
/// `advice` where none is near.
///
/// ```
/// use metier_skill::unknown_skill;
///
/// let words = unknown_skill("PDF", ["pdf-forms", "pdf", "csv"], "Select one of the list.");
/// assert_eq!(words, "There is no skill `PDF`. Did you mean `pdf` or `pdf-forms`?");
/// ```
pub fn unknown_skill<'a>(
    asked: &str,
    offered: impl IntoIterator<Item = &'a str>,
    advice: &str,
) -> String {
    let near = suggestions(asked, offered, 3).into_iter().map(|name| quoted(name, NAME_CHARS));
    let near = near.collect::<Vec<_>>().join(" or ");
    let shown = quoted(asked, NAME_CHARS);
    if near.is_empty() {
        format!("There is no skill {shown}. {advice}")
    } else {
        format!("There is no skill {shown}. Did you mean {near}?")
    }
}

/// How many slips lead from one to the other, if they are few enough.
fn slips(word: &str, other: &str) -> Option<usize> {
    let (length, other_length) = (word.chars().count(), other.chars().count());
    let allowed = length.max(other_length) / 3;
    if length.abs_diff(other_length) > allowed {
        return None;
    }
    let slips = strsim::osa_distance(word, other);
    (slips <= allowed).then_some(slips)
}

/// The characters to compare, or `None` for an empty or overlong word.
fn folded(word: &str) -> Option<Cow<'_, str>> {
    if word.is_empty() || word.chars().nth(MAX_CHARS).is_some() {
        return None;
    }
    let plain = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_';
    if word.chars().all(plain) {
        return Some(Cow::Borrowed(word));
    }
    let fold = |ch: char| if matches!(ch, '-' | '.' | ' ') { '_' } else { ch };
    Some(Cow::Owned(word.chars().flat_map(char::to_lowercase).map(fold).collect()))
}
