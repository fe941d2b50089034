//! BM25F: how much a document is about a term, from its name and its description, and how much it
//! speaks against it.
//!
//! What depends on the documents alone (saturated frequency, rarity) is computed once when the
//! index is built; ranking only adds. Rarity is that in the documents together with a larger
//! collection, so that a word tells as much in a shelf of five as in one of a thousand. Postings lie
//! in one array, grouped by term and in document order. Knows terms as numbers; words, stems and
//! requests are none of its concern.

use super::dictionary::TermId;
use super::logarithm::ln;
use super::tuning::Tuning;

/// How many documents the collection has that stands beside every index (see `common_words`): a few where
/// the documents are compared with each other, so that their own words decide; many where it is asked what
/// a word tells at all.
const BESIDE_RANKING: f32 = 300.0;
const BESIDE_TELLING: f32 = 2000.0;

/// One document that has a term, and how strongly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// Saturated weighted frequency, between 0 and 1.
    pub(super) impact: f32,
}

/// The postings of every term.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// Names, and what descriptions say a document is for.
    pub(super) about: List,
    /// What descriptions say a document is not for.
    pub(super) against: List,
    rarity: Vec<f32>,
    telling: Vec<f32>,
    documents: f32,
}

/// The postings of one kind, grouped by term.
#[derive(Debug, Default)]
pub(super) struct List {
    starts: Vec<u32>,
    entries: Vec<Posting>,
}

/// Where in a document a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Description,
    /// A clause of the description that sends requests elsewhere.
    Against,
}

/// How often one term is in one document.
#[derive(Debug, Clone, Copy)]
struct Count {
    term: TermId,
    document: u32,
    name: u16,
    description: u16,
    against: u16,
}

/// How many words each field of one document has.
#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    name: u32,
    description: u32,
}

/// Counts terms, document by document.
#[derive(Debug, Default)]
pub(super) struct Counter {
    counts: Vec<Count>,
    lengths: Vec<Lengths>,
    /// For each term, where its count of the current document is (checked by the entry itself).
    latest: Vec<u32>,
}

/// Whether a counted token makes its field longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// A word of the text.
    Counts,
    /// Another form of words that were counted already.
    None,
}

impl Counter {
    pub(super) fn start_document(&mut self) {
        self.lengths.push(Lengths::default());
    }

    pub(super) fn count(&mut self, term: TermId, field: Field, extent: Extent) {
        let document = u32::try_from(self.lengths.len().saturating_sub(1)).unwrap_or(u32::MAX);
        if extent == Extent::Counts
            && let Some(lengths) = self.lengths.last_mut()
        {
            match field {
                Field::Name => lengths.name += 1,
                Field::Description => lengths.description += 1,
                Field::Against => {}
            }
        }
        let at = term as usize;
        if at >= self.latest.len() {
            self.latest.resize(at + 1, u32::MAX);
        }
        let entry = self.counts.get_mut(self.latest[at] as usize);
        let entry = match entry {
            Some(entry) if entry.document == document => entry,
            _ => {
                self.latest[at] = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
                self.counts.push(Count { term, document, name: 0, description: 0, against: 0 });
                let last = self.counts.len() - 1;
                &mut self.counts[last]
            }
        };
        match field {
            Field::Name => entry.name = entry.name.saturating_add(1),
            Field::Description => entry.description = entry.description.saturating_add(1),
            Field::Against => entry.against = entry.against.saturating_add(1),
        }
    }

    /// The postings of all documents counted; `terms` is the size of the dictionary, `frequency` the
    /// part of the larger collection that has a term.
    #[expect(clippy::cast_precision_loss, reason = "counts of words: far below 2^24 where exact")]
    pub(super) fn finish(
        self,
        terms: usize,
        tuning: &Tuning,
        frequency: impl Fn(TermId) -> f32,
    ) -> Postings {
        let documents = self.lengths.len().max(1) as f32;
        let total = |length: fn(&Lengths) -> u32| {
            self.lengths.iter().map(|lengths| u64::from(length(lengths))).sum::<u64>() as f32
        };
        let mean_name = (total(|lengths| lengths.name) / documents).max(1.0);
        let mean_description = (total(|lengths| lengths.description) / documents).max(1.0);

        let impact = |frequency: f32| frequency / (frequency + tuning.saturation);
        let lengths_of =
            |count: &Count| self.lengths.get(count.document as usize).copied().unwrap_or_default();
        let in_description = |count: &Count, times: u16| {
            let length = lengths_of(count).description as f32 / mean_description;
            f32::from(times) / norm(tuning.description_length, length)
        };
        let about = List::sorted(terms, &self.counts, |count| {
            let length = lengths_of(count).name as f32 / mean_name;
            let in_name = f32::from(count.name) / norm(tuning.name_length, length);
            impact(tuning.name_weight * in_name + in_description(count, count.description))
        });
        // As strong as if the clause spoke for it, so that it can be held against it.
        let against =
            List::sorted(terms, &self.counts, |count| impact(in_description(count, count.against)));
        let mut having = vec![0u32; terms];
        for count in &self.counts {
            having[count.term as usize] += 1;
        }
        let each = |beside: f32| -> Vec<f32> {
            let terms = having.iter().zip(0u32..);
            let rarity = terms.map(|(&df, term)| match df {
                0 => 0.0,
                df => rarity(df as f32, frequency(term), documents, beside),
            });
            rarity.collect()
        };
        let (rarity, telling) = (each(BESIDE_RANKING), each(BESIDE_TELLING));
        Postings { about, against, rarity, telling, documents }
    }
}

impl List {
    /// The counts with an impact, by term. A counting sort keeps the documents of each in order.
    fn sorted(terms: usize, counts: &[Count], impact: impl Fn(&Count) -> f32) -> Self {
        let impacts = || {
            let with = counts.iter().map(|count| (count, impact(count)));
            with.filter(|&(_, impact)| impact > 0.0)
        };
        let mut starts = vec![0u32; terms + 1];
        let mut total = 0;
        for (count, _) in impacts() {
            starts[count.term as usize + 1] += 1;
            total += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut entries = vec![Posting { document: 0, impact: 0.0 }; total];
        for (count, impact) in impacts() {
            let slot = &mut next[count.term as usize];
            entries[*slot as usize] = Posting { document: count.document, impact };
            *slot += 1;
        }
        Self { starts, entries }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The documents that have a term, in order.
    pub(super) fn of(&self, term: TermId) -> &[Posting] {
        let at = term as usize;
        let start = self.starts.get(at).copied().unwrap_or_default() as usize;
        let end = self.starts.get(at + 1).copied().unwrap_or_default() as usize;
        self.entries.get(start..end).unwrap_or_default()
    }

    /// How strongly one document has a term; 0 when it has not.
    pub(super) fn impact(&self, term: TermId, document: u32) -> f32 {
        let postings = self.of(term);
        postings
            .binary_search_by_key(&document, |posting| posting.document)
            .ok()
            .and_then(|at| postings.get(at))
            .map_or(0.0, |posting| posting.impact)
    }
}

/// Length normalisation: how much longer fields count less, from not at all (0) to fully (1).
fn norm(strength: f32, relative_length: f32) -> f32 {
    1.0 - strength + strength * relative_length
}

/// The inverse document frequency of BM25, never negative: of a term that `df` of the documents have, and
/// this part of the collection beside them.
fn rarity(df: f32, frequency: f32, documents: f32, beside: f32) -> f32 {
    let (df, documents) = (df + beside * frequency, documents + beside);
    ln(1.0 + (documents - df + 0.5) / (df + 0.5))
}

impl Postings {
    /// How rare a term is among the documents; 0 for one that none has.
    pub(super) fn rarity(&self, term: TermId) -> f32 {
        self.rarity.get(term as usize).copied().unwrap_or_default()
    }

    /// How rare a term is that one document has.
    pub(super) fn rarest(&self) -> f32 {
        rarity(1.0, 0.0, self.documents, BESIDE_RANKING)
    }

    /// How much a term tells that a document has: 1 is a word that hardly any skill has.
    pub(super) fn telling(&self, term: TermId) -> f32 {
        self.telling.get(term as usize).copied().unwrap_or_default() / self.most_telling()
    }

    /// How much a term tells that no document has, and this part of the collection.
    pub(super) fn telling_elsewhere(&self, frequency: f32) -> f32 {
        rarity(1.0, frequency, self.documents, BESIDE_TELLING) / self.most_telling()
    }

    fn most_telling(&self) -> f32 {
        rarity(1.0, 0.0, self.documents, BESIDE_TELLING)
    }
}
