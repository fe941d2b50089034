//! Which of many patterns can match a text at all, by the words that each of them needs: one search for all words.
//!
//! A filter and no judge: it may let a pattern through that does not match, and never keeps one back that does. The
//! patterns with their long gaps, taken together, made a matcher that forgot what it had learnt over and over.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Letters other than ASCII's that are the same as one of ASCII's where case does not count: a pattern takes them
/// for `s` and `k`, and the search for words does not.
const FOLDED_TO_ASCII: [char; 2] = ['\u{17F}', '\u{212A}'];

/// The words that patterns need.
pub(crate) struct NeededWords {
    search: AhoCorasick,
    /// For each word, the lists that it is in.
    lists_of_word: Vec<Vec<usize>>,
    /// For each pattern, where its lists begin and end.
    lists_of_pattern: Vec<std::ops::Range<usize>>,
    lists: usize,
}

/// What a text has of them.
pub(crate) struct FoundWords<'w> {
    words: &'w NeededWords,
    /// Whether a word of the list was found; `None` where every pattern has to be tried.
    found: Option<Vec<bool>>,
}

impl NeededWords {
    /// The words of each pattern: of each of its lists at least one.
    pub(crate) fn new<'p>(patterns: impl Iterator<Item = &'p [&'static str]>) -> Option<Self> {
        let mut words: Vec<&str> = Vec::new();
        let mut lists_of_word: Vec<Vec<usize>> = Vec::new();
        let (mut lists_of_pattern, mut lists) = (Vec::new(), 0);
        for needs in patterns {
            let first = lists;
            for list in needs {
                for word in list.split(" · ") {
                    let at = words.iter().position(|it| *it == word).unwrap_or_else(|| {
                        words.push(word);
                        lists_of_word.push(Vec::new());
                        words.len() - 1
                    });
                    lists_of_word[at].push(lists);
                }
                lists += 1;
            }
            lists_of_pattern.push(first..lists);
        }
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .ok()?;
        Some(Self { search, lists_of_word, lists_of_pattern, lists })
    }

    /// Looks for the words in a text.
    pub(crate) fn of(&self, text: &str) -> FoundWords<'_> {
        if !text.is_ascii() && text.contains(FOLDED_TO_ASCII) {
            return FoundWords { words: self, found: None };
        }
        let (mut found, mut left) = (vec![false; self.lists], self.lists);
        for hit in self.search.find_overlapping_iter(text) {
            for list in &self.lists_of_word[hit.pattern().as_usize()] {
                left -= usize::from(!std::mem::replace(&mut found[*list], true));
            }
            if left == 0 {
                break;
            }
        }
        FoundWords { words: self, found: Some(found) }
    }
}

impl FoundWords<'_> {
    /// Whether the text has all that the pattern of this number needs.
    pub(crate) fn all_of(&self, pattern: usize) -> bool {
        let Some(found) = &self.found else { return true };
        let lists = self.words.lists_of_pattern.get(pattern).cloned().unwrap_or_default();
        found[lists].iter().all(|found| *found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;
    use proptest::test_runner::{Config, TestRunner};
    use regex::Regex;

    use super::*;
    use crate::rules::{ScanRule, rules};

    fn words() -> (Vec<&'static ScanRule>, NeededWords) {
        let rules: Vec<&ScanRule> = rules().iter().filter(|it| !it.pattern.is_empty()).collect();
        let words = NeededWords::new(rules.iter().map(|rule| rule.needs)).expect("builds");
        (rules, words)
    }

    /// The words are written by hand: texts made from each pattern show that they are right.
    #[test]
    fn whatever_a_pattern_matches_has_the_words_that_it_needs() {
        let (rules, words) = words();
        for (number, rule) in rules.iter().enumerate() {
            let pattern = Regex::new(rule.pattern).expect("a pattern");
            // Texts cannot be made from what looks around; where it matters, the text does not match and says nothing.
            let mut bare = rule.pattern.to_owned();
            for (mark, instead) in [
                ("(?im)^", ""),
                ("(?im)", ""),
                ("(?i)", ""),
                (r"\b", ""),
                ("(?:^|", "(?:|"),
                ("(?:$|", "(?:|"),
                ("|$)", "|)"),
            ] {
                bare = bare.replace(mark, instead);
            }
            let texts =
                string_regex(&bare).unwrap_or_else(|error| panic!("{}: {error}", rule.code));
            let mut runner = TestRunner::new(Config { cases: 400, ..Config::default() });
            let matched = std::cell::Cell::new(0);
            runner
                .run(&texts, |text| {
                    for text in [text.clone(), text.to_uppercase(), format!(" {text} ")] {
                        if pattern.is_match(&text) {
                            matched.set(matched.get() + 1);
                            prop_assert!(words.of(&text).all_of(number), "{}: {text:?}", rule.code);
                        }
                    }
                    Ok(())
                })
                .unwrap_or_else(|error| panic!("{}: {error}", rule.code));
            let matched = matched.get();
            assert!(matched > 50, "{}: {matched} texts that match", rule.code);
        }
    }

    #[test]
    fn letters_that_fold_to_ascii_are_not_missed() {
        let (rules, words) = words();
        let number = rules.iter().position(|rule| rule.code == "break-out").expect("a rule");
        for text in ["</\u{17F}kill>", "</s\u{212A}ill>"] {
            assert!(Regex::new(rules[number].pattern).expect("a pattern").is_match(text));
            assert!(words.of(text).all_of(number), "{text}");
        }
        assert!(!words.of("nothing of the kind").all_of(number));
    }
}
