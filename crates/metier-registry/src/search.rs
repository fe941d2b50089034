//! Finding documents (skills) by the words of a request: BM25F over names and descriptions.
//!
//! | files | own |
//! |---|---|
//! | `fold`, `tokenize`, `stem` | text to words to stems |
//! | `strings`, `dictionary`, `typo`, `bm25`, `names` | the index: words, postings, whole names |
//! | `common_words` | how common words are outside it |
//! | `function_words`, `request`, `synonyms`, `plan` | a request to weighted index terms |
//! | `clauses` | what a description says against a request |
//! | `score`, `explain`, `tuning` | adding up, saying why, and the numbers for it |
//! | `orders`, `order_*` | the skills that a person orders by name, which no ranking decides |
//! | `naming`, `confidence` | who is called by name, and whether the best is good enough |
//! | `recent` | the rankings of a moment ago: a run asks for one more than once |
//!
//! Pure: no clock, no disk, no hash order in a result, and what was ranked before changes none. Serves `search`, the catalog's ranking and the
//! offline model's choice.

mod bm25;
mod clauses;
mod common_words;
mod confidence;
mod dictionary;
mod explain;
mod fold;
mod function_words;
mod logarithm;
mod names;
mod naming;
mod order_chinese;
mod order_clauses;
mod order_quotes;
mod order_tails;
mod order_words;
mod orders;
#[cfg(test)]
mod orders_tests;
mod ordinary_words;
mod plan;
mod quotes;
mod recent;
mod request;
#[cfg(test)]
mod routing_tests;
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

use std::sync::Arc;

pub use orders::{AskedSkill, Force, RequestOrders, UnknownOrder};

use bm25::{Counter, Extent, Field, Postings};
use clauses::{Sense, clauses};
use confidence::{Evidence, NameCalls};
use dictionary::{Dictionary, WordId};
use names::{NameMatch, Names};
use naming::{Naming, Prose};
use plan::Plan;
use recent::RecentRankings;
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
    /// How sure it is that the request wants this one, from 0 to 1; comparable between rankings.
    pub confidence: f32,
    /// Whether the request calls it by its name.
    pub called: bool,
}

impl Hit {
    /// Whether the request wants this document. Where no hit fires, none is good enough.
    pub fn fires(&self) -> bool {
        self.confidence >= confidence::FIRES
    }
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
    /// Where the words are that a description gives in quotes, in the order of the documents.
    quotes: Vec<Quote>,
    recent: RecentRankings,
}

/// Words of a description in quotes: what a person would say, by its author.
#[derive(Debug, Clone, Copy)]
struct Quote {
    document: u32,
    start: u32,
    end: u32,
}

/// All documents that answer a request, and what was found out on the way.
#[derive(Debug)]
struct Ranked {
    order: Vec<Scored>,
    scores: Scores,
    plan: Plan,
    /// Who is called by name, in document order.
    called: Vec<(u32, NameMatch)>,
    declined: Vec<u32>,
    calls: NameCalls,
}

impl Ranked {
    fn is_called(&self, document: u32) -> bool {
        self.called.binary_search_by_key(&document, |&(called, _)| called).is_ok()
    }
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
        let mut quotes = Vec::new();
        let mut tokenizer = Tokenizer::default();
        let here = |words: &[WordId]| u32::try_from(words.len()).unwrap_or(u32::MAX);
        for document in docs {
            counter.start_document();
            let here_document = u32::try_from(spans.len()).unwrap_or(u32::MAX);
            names.push(document.name);
            let start = here(&words);
            let mut read = |text: &str, field: Field| {
                tokenizer.run(text, |token| {
                    let extent = match (token.kind, field) {
                        (Kind::Hump, Field::Description | Field::Against) => return, // GitHub is no hub
                        (Kind::Joined, _) => Extent::None,
                        _ => Extent::Counts,
                    };
                    let (word, term) = dictionary.intern(token.text);
                    counter.count(term, field, extent);
                    if field == Field::Against {
                        return; // it explains no hit and has no neighbours
                    }
                    if extent == Extent::Counts {
                        words.push(word);
                    } else {
                        joined.push(word);
                    }
                });
                here(&words)
            };
            let name_end = read(document.name, Field::Name);
            let mut description_end = name_end;
            clauses(document.description, |sense, text| {
                description_end = match sense {
                    Sense::For => {
                        let mut end = description_end;
                        quotes::parts(text, |part, is_quoted| {
                            let start = end;
                            end = read(part, Field::Description);
                            if is_quoted && end - start > 1 {
                                quotes.push(Quote { document: here_document, start, end });
                            }
                        });
                        end
                    }
                    Sense::Against => read(text, Field::Against),
                };
            });
            words.append(&mut joined);
            spans.push(Span { start, name_end, description_end, end: here(&words) });
        }
        let frequency = |term| common_words::frequency(dictionary.text(term));
        let postings = counter.finish(dictionary.len(), &tuning, frequency);
        let recent = RecentRankings::default();
        Self { tuning, dictionary, postings, names, words, spans, quotes, recent }
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
    /// others, then those the query calls by name (`/name`, `use the name skill`). A smaller limit
    /// gives the beginning of the same list.
    pub fn rank(&self, query: &str, limit: usize) -> Vec<Hit> {
        let ranked = self.ranked(query);
        let hits = ranked.order.iter().take(limit).enumerate();
        hits.map(|(place, &entry)| Hit {
            document: entry.document as usize,
            score: entry.score,
            matched: explain::matched(
                self.all_words(entry.document),
                &self.dictionary,
                &ranked.scores,
            ),
            confidence: self.confidence(&ranked, place, entry),
            called: ranked.is_called(entry.document),
        })
        .collect()
    }

    /// As [`SearchIndex::rank`], without the words that matched: documents and scores.
    pub fn rank_scores(&self, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let ranked = self.ranked(query);
        let entries = ranked.order.iter().take(limit);
        entries.map(|entry| (entry.document as usize, entry.score)).collect()
    }

    fn ranked(&self, query: &str) -> Arc<Ranked> {
        self.recent.get_or_rank(query, || self.order(query))
    }

    fn order(&self, query: &str) -> Ranked {
        let request = Request::read(query, &self.tuning);
        let plan = Plan::new(&request, &self.dictionary, &self.tuning);
        let scores = Scores::add_up(&plan, &self.postings, self.len(), self.dictionary.len());
        let term_of = |word| self.dictionary.term_of(word);
        let words_of = |document| self.words_of(document);
        let mut order = scores.finish(&plan, &self.postings, &self.tuning, words_of, term_of);
        let prose = Prose::read(query);
        let mut called = self.names.called(query, &request.called);
        let mut declined = Vec::new();
        for entry in &order {
            let place = called.binary_search_by_key(&entry.document, |&(document, _)| document);
            match (self.names.naming(entry.document, &prose), place) {
                (Some(Naming::Called), Err(at)) => {
                    called.insert(at, (entry.document, NameMatch::AsCommand));
                }
                (Some(Naming::Declined), Ok(at)) if called[at].1 == NameMatch::AsCommand => {
                    called.remove(at);
                    declined.push(entry.document);
                }
                (Some(Naming::Declined), Err(_)) => declined.push(entry.document),
                _ => {}
            }
        }
        for entry in &mut order {
            entry.score += self.quoted(entry.document, &plan) * self.tuning.quoted;
        }
        score::lower(&mut order, &declined);
        score::raise(&mut order, &called);
        order.sort_unstable_by(|a, b| a.best_first(*b));
        let calls = if called.is_empty() && !prose.calls_some() {
            NameCalls::None
        } else {
            NameCalls::Some
        };
        Ranked { order, scores, plan, called, declined, calls }
    }

    fn confidence(&self, ranked: &Ranked, place: usize, entry: Scored) -> f32 {
        let naming = if ranked.is_called(entry.document) {
            Some(Naming::Called)
        } else {
            ranked.declined.contains(&entry.document).then_some(Naming::Declined)
        };
        let description = self.words_of(entry.document).description.iter();
        let by_name_only =
            confidence::by_name_only(description.map(|&word| self.dictionary.text(word)));
        confidence::settled(naming, ranked.calls, by_name_only).unwrap_or_else(|| {
            let next = ranked.order.get(usize::from(place == 0)).map_or(0.0, |next| next.score);
            let name = self.words_of(entry.document).name;
            let in_name =
                |term| name.iter().any(|&word| self.dictionary.term_of(word) == Some(term));
            let evidence = Evidence::of(entry.document, &ranked.plan, &self.postings, in_name);
            let quoted = self.quoted(entry.document, &ranked.plan) > 0.0;
            let lead = (entry.score - next) / self.postings.rarest();
            Evidence { quoted, ..evidence }.confidence(lead)
        })
    }

    /// What the words in quotes weigh that the request repeats, all in their order; 0 if it repeats none.
    fn quoted(&self, document: u32, plan: &Plan) -> f32 {
        let from = self.quotes.partition_point(|quote| quote.document < document);
        let of_document = self.quotes[from..].iter().take_while(|quote| quote.document == document);
        let weigh = |quote: &Quote| {
            // `what are the chances of X` stands for any X.
            let is_open = |word: &&WordId| matches!(self.dictionary.text(**word), "x" | "y");
            let words = self.slice(quote.start, quote.end).iter().filter(|word| !is_open(word));
            let terms: Vec<_> = words.filter_map(|word| self.dictionary.term_of(*word)).collect();
            let repeated = terms.len() > 1
                && plan.sequence.windows(terms.len()).any(|part| part == terms.as_slice());
            // What is short beside the request is a part of another sentence, unless it opens it.
            let opens = terms.len() > 2 && plan.sequence.starts_with(&terms);
            if opens || repeated && 2 * terms.len() >= plan.sequence.len() {
                terms.iter().map(|term| self.postings.rarity(*term)).sum()
            } else {
                0.0
            }
        };
        of_document.map(weigh).fold(0.0, f32::max)
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
