//! Every distinct word of the documents, each with a number, its stem and its signature.
//!
//! Stems are strings among the others, so one table serves both: a word's *term* is the number
//! of its stem. Numbers follow the order of insertion; nothing here is ever listed in the order
//! of a hash table, so its seed cannot reach a result.

use super::stem::stem;
use super::strings::Strings;
use super::typo::{self, Nearness, Signature};

/// The number of a word as it stands (folded) in a document.
pub(super) type WordId = u32;
/// The number of a stem: what is counted and looked up.
pub(super) type TermId = u32;

/// A string that is only the stem of words has no term of its own.
const ONLY_A_STEM: TermId = TermId::MAX;

#[derive(Debug, Default)]
pub(super) struct Dictionary {
    strings: Strings,
    terms: Vec<TermId>,
    signatures: Vec<Signature>,
    is_stem: Vec<bool>,
    stemmed: String,
}

impl Dictionary {
    /// The numbers of a word, which is added when it is new.
    pub(super) fn intern(&mut self, word: &str) -> (WordId, TermId) {
        let number = self.number_of(word);
        let known = self.terms.get(number as usize).copied().unwrap_or(ONLY_A_STEM);
        if known != ONLY_A_STEM {
            return (number, known);
        }
        let mut stemmed = std::mem::take(&mut self.stemmed);
        stemmed.clear();
        stemmed.push_str(word);
        stem(&mut stemmed);
        let term = self.number_of(&stemmed);
        self.stemmed = stemmed;
        if let Some(slot) = self.is_stem.get_mut(term as usize) {
            *slot = true;
        }
        if let Some(slot) = self.terms.get_mut(number as usize) {
            *slot = term;
        }
        if let Some(slot) = self.signatures.get_mut(number as usize) {
            *slot = Signature::of(word);
        }
        (number, term)
    }

    fn number_of(&mut self, text: &str) -> u32 {
        let number = self.strings.insert(text);
        if self.strings.len() > self.terms.len() {
            self.terms.push(ONLY_A_STEM);
            self.signatures.push(Signature::NONE);
            self.is_stem.push(false);
        }
        number
    }

    /// How many numbers are in use, for tables that are indexed by them.
    pub(super) fn len(&self) -> usize {
        self.strings.len()
    }

    /// The term of a word that a document has.
    pub(super) fn term_of(&self, word: WordId) -> Option<TermId> {
        self.terms.get(word as usize).copied().filter(|&term| term != ONLY_A_STEM)
    }

    /// The number of a stem, if any word of the documents has it.
    pub(super) fn term(&self, stemmed: &str) -> Option<TermId> {
        let number = self.strings.find(stemmed)?;
        self.is_stem.get(number as usize).copied().unwrap_or_default().then_some(number)
    }

    /// The text of a word or a stem.
    pub(super) fn text(&self, number: u32) -> &str {
        self.strings.get(number)
    }

    /// The terms of words that are near a word which no document has.
    pub(super) fn near(&self, word: &str) -> Vec<(TermId, Nearness)> {
        typo::near(word, &self.signatures, |at| self.text(u32::try_from(at).unwrap_or(u32::MAX)))
            .into_iter()
            .filter_map(|(at, nearness)| Some((*self.terms.get(at)?, nearness)))
            .collect()
    }

    /// The terms of the character pairs that hold one character of an unspaced script, in the
    /// order of their text.
    pub(super) fn grams_with(&self, character: &str) -> Vec<TermId> {
        let mut found: Vec<(&str, TermId)> = (0u32..)
            .zip(&self.terms)
            .filter(|&(_, &term)| term != ONLY_A_STEM)
            .map(|(number, &term)| (self.text(number), term))
            .filter(|(text, _)| text.contains(character) && text.chars().nth(2).is_none())
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, term)| term).collect()
    }
}
