//! Finding documents (skills) by the words of a request: BM25F over names and descriptions.
//!
//! | files | own |
//! |---|---|
//! | `fold`, `tokenize`, `stem` | text to words to stems |
//! | `strings`, `dictionary`, `typo`, `bm25`, `names` | the index: words, postings, whole names |
//! | `common`, `request`, `synonyms`, `plan` | a request to weighted index terms |
//! | `score`, `explain`, `tuning` | adding up, saying why, and the numbers for it |
//!
//! Pure: no clock, no disk, no hash order in a result. Serves `search` and the catalog's ranking.

mod bm25;
mod dictionary;
mod explain;
mod fold;
mod function_words;
mod names;
mod plan;
mod request;
mod score;
mod stem;
mod strings;
mod synonyms;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
mod tokenize;
mod tuning;
mod typo;

use bm25::{Counter, Extent, Field, Postings};
use dictionary::{Dictionary, WordId};
use names::Names;
use plan::Plan;
use request::Request;
use score::{Scored, Scores, Words};
use tokenize::{Kind, Tokenizer};
use tuning::Tuning;

/// One thing that can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its name, which may be qualified (`plugin:skill`).
    pub name: &'a str,
    /// What it is for, in its author's words.
    pub description: &'a str,
}

/// One document that answers a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The position of the document in what the index was built from.
    pub document: usize,
    /// How well it answers: above 0, and comparable within one ranking only.
    pub score: f32,
    /// The words of the document that matched, folded, each once, in the order of the document;
    /// function words are left out.
    pub matched: Vec<String>,
}

/// Documents, ready to be ranked.
#[derive(Debug)]
pub struct SearchIndex {
    tuning: Tuning,
    dictionary: Dictionary,
    postings: Postings,
    names: Names,
    /// The words of all documents, one after the other.
    words: Vec<WordId>,
    spans: Vec<Span>,
}

/// Where the words of a document are: name, then description, then joined forms.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    name_end: u32,
    description_end: u32,
    end: u32,
}

impl SearchIndex {
    /// Builds the index in one pass; the position of a document is its number.
    pub fn build<'a>(docs: impl IntoIterator<Item = Document<'a>>) -> Self {
        Self::build_with(docs, Tuning::DEFAULT)
    }

    fn build_with<'a>(docs: impl IntoIterator<Item = Document<'a>>, tuning: Tuning) -> Self {
        let mut dictionary = Dictionary::default();
        let mut counter = Counter::default();
        let mut names = Names::default();
        let mut words: Vec<WordId> = Vec::new();
        let mut joined: Vec<WordId> = Vec::new();
        let mut spans = Vec::new();
        let mut tokenizer = Tokenizer::default();
        let here = |words: &[WordId]| u32::try_from(words.len()).unwrap_or(u32::MAX);
        for document in docs {
            counter.start_document();
            names.push(document.name);
            let start = here(&words);
            let mut read = |text: &str, field: Field| {
                tokenizer.run(text, |token| {
                    let extent = match (token.kind, field) {
                        (Kind::Hump, Field::Description) => return, // GitHub is no hub
                        (Kind::Joined, _) => Extent::None,
                        _ => Extent::Counts,
                    };
                    let (word, term) = dictionary.intern(token.text);
                    counter.count(term, field, extent);
                    if extent == Extent::Counts {
                        words.push(word);
                    } else {
                        joined.push(word);
                    }
                });
                here(&words)
            };
            let name_end = read(document.name, Field::Name);
            let description_end = read(document.description, Field::Description);
            words.append(&mut joined);
            spans.push(Span { start, name_end, description_end, end: here(&words) });
        }
        let postings = counter.finish(dictionary.len(), &tuning);
        Self { tuning, dictionary, postings, names, words, spans }
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The documents that answer `query` best, best first, at most `limit`; equal ones in the
    /// order of the documents. A document whose name is the whole query comes before all
    /// others, then those the query calls as a command (`/name`). A smaller limit gives the
    /// beginning of the same list.
    pub fn rank(&self, query: &str, limit: usize) -> Vec<Hit> {
        let (ranking, scores) = self.order(query, limit);
        let hit = |entry: Scored| Hit {
            document: entry.document as usize,
            score: entry.score,
            matched: explain::matched(self.all_words(entry.document), &self.dictionary, &scores),
        };
        ranking.into_iter().map(hit).collect()
    }

    /// As [`SearchIndex::rank`], without the words that matched: documents and scores.
    pub fn rank_scores(&self, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let (ranking, _) = self.order(query, limit);
        ranking.into_iter().map(|entry| (entry.document as usize, entry.score)).collect()
    }

    fn order(&self, query: &str, limit: usize) -> (Vec<Scored>, Scores) {
        let request = Request::read(query, &self.tuning);
        let plan = Plan::new(&request, &self.dictionary, &self.tuning);
        let scores = Scores::add_up(&plan, &self.postings, self.len(), self.dictionary.len());
        let term_of = |word| self.dictionary.term_of(word);
        let words_of = |document| self.words_of(document);
        let mut ranking = scores.finish(&plan, &self.postings, &self.tuning, words_of, term_of);
        score::raise(&mut ranking, &self.names.called(query, &request.called));
        ranking.sort_unstable_by(|a, b| a.best_first(*b));
        ranking.truncate(limit);
        (ranking, scores)
    }

    fn words_of(&self, document: u32) -> Words<'_> {
        let span = self.spans.get(document as usize).copied().unwrap_or_default();
        Words {
            name: self.slice(span.start, span.name_end),
            description: self.slice(span.name_end, span.description_end),
        }
    }

    fn all_words(&self, document: u32) -> &[WordId] {
        let span = self.spans.get(document as usize).copied().unwrap_or_default();
        self.slice(span.start, span.end)
    }

    fn slice(&self, start: u32, end: u32) -> &[WordId] {
        self.words.get(start as usize..end as usize).unwrap_or_default()
    }
}
