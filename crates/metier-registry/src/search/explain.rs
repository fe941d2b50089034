//! Saying why a document was found: which of its own words the request wanted.
//!
//! Words come as the document has them (folded), not as stems. Pairs of characters that overlap
//! are put together again, so that a Chinese word reads as one.

use super::dictionary::{Dictionary, WordId};
use super::fold::is_unspaced;
use super::score::Scores;

/// Words that are wanted less than this explain nothing: they are function words.
const MIN_WEIGHT: f32 = 0.2;

/// The words that matched, each once, in order.
pub(super) fn matched(words: &[WordId], dictionary: &Dictionary, scores: &Scores) -> Vec<String> {
    let mut matched: Vec<String> = Vec::new();
    let mut run: Option<String> = None; // of unspaced characters, not yet in the list
    let mut push = |text: String| {
        if !matched.contains(&text) {
            matched.push(text);
        }
    };
    for &word in words {
        let wanted = dictionary.term_of(word).is_some_and(|term| scores.want(term) > MIN_WEIGHT);
        let text = dictionary.text(word);
        if !wanted {
            run.take().into_iter().for_each(&mut push);
        } else if !text.starts_with(is_unspaced) {
            run.take().into_iter().for_each(&mut push);
            push(text.to_owned());
        } else {
            match &mut run {
                Some(run) if run.chars().next_back() == text.chars().next() => {
                    run.extend(text.chars().skip(1));
                }
                _ => run.replace(text.to_owned()).into_iter().for_each(&mut push),
            }
        }
    }
    run.into_iter().for_each(&mut push);
    matched
}
