//! Adding up: from a plan to a score for every document that has anything of it.
//!
//! First BM25 over all postings, then for the best documents what single words cannot see: the
//! words of the name, and neighbours that are neighbours in the document. The bonuses only add
//! to the best, so the order of the rest stands.

use std::cmp::Ordering;

use super::bm25::{List, Postings};
use super::dictionary::{TermId, WordId};
use super::names::NameMatch;
use super::plan::{Concept, Plan};
use super::tuning::Tuning;

/// How many of the best documents get the bonuses (and all that tie with the last of them).
const RERANKED: usize = 256;

/// The part of its score that a document keeps whatever it says against a request.
const MIN_KEPT_SHARE: f32 = 0.1;

/// The words of a document, as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) name: &'a [WordId],
    pub(super) description: &'a [WordId],
}

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) document: u32,
    pub(super) score: f32,
}

impl Scored {
    /// The order of a ranking: by score, equal ones in the order of the documents.
    pub(super) fn best_first(self, other: Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.document.cmp(&other.document))
    }
}

/// Puts documents that the request declines by name where it wants them: below the others.
pub(super) fn lower(scored: &mut [Scored], declined: &[u32]) {
    for entry in scored.iter_mut().filter(|entry| declined.contains(&entry.document)) {
        entry.score *= MIN_KEPT_SHARE;
    }
}

/// Lifts documents that are called by name above all others. Both lists are in the order of
/// the documents.
pub(super) fn raise(scored: &mut Vec<Scored>, called: &[(u32, NameMatch)]) {
    let top = scored.iter().map(|entry| entry.score).fold(0.0, f32::max) + 1.0;
    let mut unscored = Vec::new();
    for &(document, how) in called {
        let lift = match how {
            NameMatch::AsCommand => top,
            NameMatch::ByLastPart => 2.0 * top,
            NameMatch::ByFoldedName => 3.0 * top,
            NameMatch::ByName => 4.0 * top,
        };
        match scored.binary_search_by_key(&document, |entry| entry.document) {
            Ok(at) => scored[at].score += lift,
            Err(_) => unscored.push(Scored { document, score: lift }),
        }
    }
    scored.append(&mut unscored);
}

/// Scores by document, and weights by term, of one request.
#[derive(Debug)]
pub(super) struct Scores {
    sums: Vec<f32>,
    /// What the documents say against the request; empty when none says anything.
    against: Vec<f32>,
    /// How much the request wants each term: 0 for terms it does not have.
    wants: Vec<f32>,
}

impl Scores {
    pub(super) fn add_up(plan: &Plan, postings: &Postings, documents: usize, terms: usize) -> Self {
        let mut wants = vec![0.0f32; terms];
        for concept in &plan.concepts {
            for alternative in &concept.alternatives {
                let weight = concept.weight * alternative.weight;
                for &term in &alternative.terms {
                    let want = &mut wants[term as usize];
                    *want = want.max(weight);
                }
            }
        }
        let mut adder = Adder { postings, best: vec![0.0; documents], touched: Vec::new() };
        let sums = adder.sums(plan, &postings.about);
        let against = if postings.against.is_empty() {
            Vec::new()
        } else {
            adder.sums(plan, &postings.against)
        };
        Self { sums, against, wants }
    }

    /// All documents with a score, with the bonuses given, in the order of the documents.
    pub(super) fn finish<'a>(
        &self,
        plan: &Plan,
        postings: &Postings,
        tuning: &Tuning,
        words_of: impl Fn(u32) -> Words<'a>,
        term_of: impl Fn(WordId) -> Option<TermId>,
    ) -> Vec<Scored> {
        let mut scored: Vec<Scored> = (0u32..)
            .zip(&self.sums)
            .filter(|&(_, &score)| score > 0.0)
            .map(|(document, &score)| Scored { document, score })
            .collect();
        let cut = cut(&scored);
        let mut seen = Vec::new();
        for entry in scored.iter_mut().filter(|entry| entry.score >= cut) {
            let words = words_of(entry.document);
            entry.score += tuning.name_cover * self.name_cover(words.name, postings, &term_of)
                + tuning.pair * self.pairs(words, plan, postings, &term_of, &mut seen);
        }
        for entry in &mut scored {
            // What an author sends elsewhere goes down, but stays on the list: it was found.
            let against = tuning.against * self.against(entry.document);
            entry.score = (entry.score - against).max(entry.score * MIN_KEPT_SHARE);
        }
        scored
    }

    /// How much a document says against the request.
    pub(super) fn against(&self, document: u32) -> f32 {
        self.against.get(document as usize).copied().unwrap_or_default()
    }

    /// What the words of the name that are wanted weigh, less when others are not.
    fn name_cover(
        &self,
        name: &[WordId],
        postings: &Postings,
        term_of: impl Fn(WordId) -> Option<TermId>,
    ) -> f32 {
        let (mut all, mut wanted) = (0.0, 0.0);
        for term in name.iter().filter_map(|&word| term_of(word)) {
            let rarity = postings.rarity(term);
            all += rarity;
            wanted += rarity * self.want(term).min(1.0);
        }
        if all > 0.0 { wanted * wanted / all } else { 0.0 }
    }

    /// The rarity of the distinct neighbours of the request that the document has as neighbours.
    fn pairs(
        &self,
        words: Words<'_>,
        plan: &Plan,
        postings: &Postings,
        term_of: impl Fn(WordId) -> Option<TermId>,
        seen: &mut Vec<usize>,
    ) -> f32 {
        seen.clear();
        let mut sum = 0.0;
        for field in [words.name, words.description] {
            let mut before: Option<TermId> = None;
            for &word in field {
                let term = term_of(word).filter(|&term| self.want(term) > 0.0);
                if let (Some(first), Some(second)) = (before, term)
                    && let Ok(at) =
                        plan.pairs.binary_search_by(|&(a, b, _)| (a, b).cmp(&(first, second)))
                    && !seen.contains(&at)
                {
                    seen.push(at);
                    let weight = plan.pairs.get(at).map_or(0.0, |&(_, _, weight)| weight);
                    sum += weight * (postings.rarity(first) + postings.rarity(second)) / 2.0;
                }
                before = term;
            }
        }
        sum
    }

    /// How much the request wants a term, itself or as a synonym or guess.
    pub(super) fn want(&self, term: TermId) -> f32 {
        self.wants.get(term as usize).copied().unwrap_or_default()
    }
}

/// Adds up concepts over the postings of one kind.
struct Adder<'a> {
    postings: &'a Postings,
    /// The best alternative of the current concept, by document.
    best: Vec<f32>,
    touched: Vec<u32>,
}

impl Adder<'_> {
    fn sums(&mut self, plan: &Plan, list: &List) -> Vec<f32> {
        let mut sums = vec![0.0; self.best.len()];
        for concept in &plan.concepts {
            self.find_best(concept, list);
            for document in self.touched.drain(..) {
                let at = document as usize;
                sums[at] += self.best[at];
                self.best[at] = 0.0;
            }
        }
        sums
    }

    fn find_best(&mut self, concept: &Concept, list: &List) {
        let Self { postings, best, touched } = self;
        let has_both_words = |document: u32| {
            concept.instead_of.is_some_and(|(first, second)| {
                list.impact(first, document) > 0.0 && list.impact(second, document) > 0.0
            })
        };
        for alternative in &concept.alternatives {
            let weight = concept.weight * alternative.weight;
            let mean = weight / size(alternative.terms.len());
            let mut offer = |document: u32, value: f32| {
                let slot = &mut best[document as usize];
                if *slot == 0.0 {
                    touched.push(document);
                }
                *slot = slot.max(value);
            };
            if let [term] = alternative.terms[..] {
                let value = weight * postings.rarity(term);
                for posting in list.of(term) {
                    if !has_both_words(posting.document) {
                        offer(posting.document, value * posting.impact);
                    }
                }
            } else if let Some((&first, others)) = alternative.terms.split_first() {
                for posting in list.of(first) {
                    let mut value = postings.rarity(first) * posting.impact;
                    let all = others.iter().all(|&other| {
                        let impact = list.impact(other, posting.document);
                        value += postings.rarity(other) * impact;
                        impact > 0.0
                    });
                    if all {
                        offer(posting.document, value * mean);
                    }
                }
            }
        }
    }
}

/// The score of the last document that gets a closer look.
fn cut(scored: &[Scored]) -> f32 {
    if scored.len() <= RERANKED {
        return 0.0;
    }
    let mut sums: Vec<f32> = scored.iter().map(|entry| entry.score).collect();
    let (_, cut, _) = sums.select_nth_unstable_by(RERANKED - 1, |a, b| b.total_cmp(a));
    *cut
}

#[expect(clippy::cast_precision_loss, reason = "a phrase has a handful of terms")]
fn size(terms: usize) -> f32 {
    terms.max(1) as f32
}
