//! Turning a request into what is looked up: for each wanted term the index terms that may
//! stand for it, each with a weight.
//!
//! The term itself weighs fully; synonyms, words it begins and words a slip away weigh less, so
//! an exact match beats an expansion of the same rarity. A document gets the best of a concept's
//! alternatives, never their sum. Reads the dictionary and the synonyms, scores nothing.

use super::common_words::frequency;
use super::dictionary::{Dictionary, TermId};
use super::fold::is_unspaced;
use super::function_words::Salience;
use super::request::{QueryTerm, Question, Request};
use super::stem::{kin, stem};
use super::synonyms::SYNONYMS;
use super::tuning::Tuning;
use super::typo::Nearness;

/// Unknown words beyond this many are not guessed at: each guess reads all known words.
const MAX_GUESSES: usize = 8;

/// What a pair of unspaced characters counts beside a word; one that no document has counts that
/// much less again, for the documents may just be in another language.
const UNSPACED: f32 = 0.5;

/// Index terms that a document must all have, and what that is worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alternative {
    pub(super) terms: Vec<TermId>,
    pub(super) weight: f32,
}

/// One thing that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Concept {
    pub(super) weight: f32,
    /// What it tells about the request's subject: 0 for function words and framing.
    pub(super) salience: f32,
    /// What it tells if it is in a document's name, where even framing is the subject.
    pub(super) telling_in_name: f32,
    pub(super) alternatives: Vec<Alternative>,
    /// What says the same in other words, and is wanted beside it: a document that has both terms gets
    /// nothing for this again.
    pub(super) instead_of: Option<(TermId, TermId)>,
}

/// Everything that is looked up for one request.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) concepts: Vec<Concept>,
    /// The words that no document has in any form: what each tells, and how common it is elsewhere.
    pub(super) unknown: Vec<(f32, f32)>,
    /// Of a question about the world: the terms that what it asks for may have; none where it is unknown.
    pub(super) asked: Option<Vec<TermId>>,
    /// The terms of the request in its order, function words too.
    pub(super) sequence: Vec<TermId>,
    /// Terms that follow each other in the request, with the weight of the lesser one; sorted.
    pub(super) pairs: Vec<(TermId, TermId, f32)>,
}

impl Plan {
    pub(super) fn new(request: &Request, dictionary: &Dictionary, tuning: &Tuning) -> Self {
        let mut planner = Planner { dictionary, tuning, used_meanings: Vec::new(), guesses: 0 };
        let in_order = request.order.iter().filter_map(|at| request.wanted.get(*at));
        let mut plan = Self {
            asked: (request.question != Question::None).then(Vec::new),
            sequence: in_order.filter_map(|wanted| dictionary.term(&wanted.stem)).collect(),
            ..Self::default()
        };
        for (at, wanted) in request.wanted.iter().enumerate() {
            let concept = planner.concept(wanted, request, at);
            if request.question == Question::About(at) {
                let single = concept.alternatives.iter().filter(|it| it.terms.len() == 1);
                plan.asked = Some(single.flat_map(|it| it.terms.clone()).collect());
            }
            if concept.alternatives.is_empty() {
                let known = if wanted.is_gram { UNSPACED } else { 1.0 };
                plan.unknown.push((concept.salience * known, frequency(&wanted.stem)));
            } else {
                plan.concepts.push(concept);
            }
        }
        planner.neighbours(request, &mut plan);
        plan
    }
}

struct Planner<'a> {
    dictionary: &'a Dictionary,
    tuning: &'a Tuning,
    used_meanings: Vec<u16>,
    guesses: usize,
}

impl Planner<'_> {
    fn concept(&mut self, wanted: &QueryTerm, request: &Request, at: usize) -> Concept {
        let mut concept = Concept {
            weight: wanted.weight,
            salience: salience(wanted, Salience::Fully),
            telling_in_name: salience(wanted, Salience::Little),
            alternatives: Vec::new(),
            instead_of: None,
        };
        let known = self.dictionary.term(&wanted.stem);
        if let Some(term) = known {
            add(&mut concept, vec![term], 1.0);
        }
        if wanted.salience != Salience::Hardly {
            // For a Chinese word the table has translations, which are the word itself.
            let weight = if wanted.is_gram { 1.0 } else { self.tuning.synonym };
            self.add_synonyms(&mut concept, &wanted.stem, weight);
            self.add_phrase_synonyms(&mut concept, request, at, weight);
            self.add_kin(&mut concept, wanted);
        }
        if wanted.is_gram && wanted.word.chars().nth(1).is_none() {
            for term in self.dictionary.grams_with(&wanted.word) {
                add(&mut concept, vec![term], self.tuning.prefix);
            }
        } else if known.is_none() && !wanted.is_gram && wanted.salience == Salience::Fully {
            self.guess(&mut concept, wanted);
        }
        concept
    }

    /// The words that share a meaning with `key`; a meaning is used once in a request, so that
    /// saying `excel spreadsheet` does not count every spreadsheet skill twice.
    fn add_synonyms(&mut self, concept: &mut Concept, key: &str, weight: f32) {
        for &meaning in SYNONYMS.meanings_of(key) {
            if self.used_meanings.contains(&meaning) {
                continue;
            }
            self.used_meanings.push(meaning);
            for phrase in SYNONYMS.words_of(meaning) {
                if let Some(terms) = self.terms_of(phrase) {
                    add(concept, terms, weight);
                }
            }
        }
    }

    /// Who does what is asked for, or what the one who is asked for does.
    fn add_kin(&self, concept: &mut Concept, wanted: &QueryTerm) {
        for kin in kin(&wanted.stem) {
            if let Some(term) = self.dictionary.term(&kin) {
                add(concept, vec![term], self.tuning.kin);
            }
        }
    }

    /// Phrases that begin at a wanted term: two words, or three or four unspaced characters.
    fn add_phrase_synonyms(
        &mut self,
        concept: &mut Concept,
        request: &Request,
        at: usize,
        weight: f32,
    ) {
        let Some(place) = request.order.iter().position(|&other| other == at) else {
            return;
        };
        let mut key = String::new();
        for (step, wanted) in request
            .order
            .iter()
            .skip(place)
            .filter_map(|&at| request.wanted.get(at))
            .take(3)
            .enumerate()
        {
            if step == 0 {
                key.push_str(if wanted.is_gram { &wanted.word } else { &wanted.stem });
                continue;
            }
            if wanted.is_gram {
                key.extend(wanted.word.chars().skip(1));
            } else {
                key.push(' ');
                key.push_str(&wanted.stem);
            }
            self.add_synonyms(concept, &key, weight);
        }
    }

    /// The index terms of a phrase, if the documents have them all.
    fn terms_of(&self, phrase: &[String]) -> Option<Vec<TermId>> {
        let mut terms = Vec::with_capacity(phrase.len());
        for word in phrase {
            let characters: Vec<char> = word.chars().collect();
            if characters.len() > 2 && characters.iter().all(|&c| is_unspaced(c)) {
                for pair in characters.windows(2) {
                    terms.push(self.dictionary.term(&pair.iter().collect::<String>())?);
                }
            } else {
                terms.push(self.dictionary.term(word)?);
            }
        }
        Some(terms)
    }

    /// What an unknown word may have meant.
    fn guess(&mut self, concept: &mut Concept, wanted: &QueryTerm) {
        for hump in &wanted.humps {
            let mut stemmed = hump.clone();
            stem(&mut stemmed);
            if let Some(term) = self.dictionary.term(&stemmed) {
                add(concept, vec![term], self.tuning.prefix);
            }
        }
        if !concept.alternatives.is_empty() {
            return;
        }
        if self.guesses >= MAX_GUESSES {
            return;
        }
        self.guesses += 1;
        for (term, nearness) in self.dictionary.near(&wanted.word) {
            let weight = match nearness {
                Nearness::Prefix => self.tuning.prefix,
                Nearness::OneSlip => self.tuning.one_slip,
                Nearness::TwoSlips => self.tuning.two_slips,
            };
            add(concept, vec![term], weight);
        }
    }

    /// Pairs of neighbours, and neighbours that a document may write as one word.
    fn neighbours(&self, request: &Request, plan: &mut Plan) {
        let mut joined = String::new();
        for pair in request.order.windows(2) {
            let (Some(a), Some(b)) = (request.wanted.get(pair[0]), request.wanted.get(pair[1]))
            else {
                continue;
            };
            if a.salience == Salience::Hardly && b.salience == Salience::Hardly {
                continue;
            }
            let weight = a.weight.min(b.weight);
            let separate = self.dictionary.term(&a.stem).zip(self.dictionary.term(&b.stem));
            if let Some((first, second)) = separate
                && first != second
            {
                plan.pairs.push((first, second, weight));
            }
            if !a.is_gram && !b.is_gram && a.word.len() > 1 && b.word.len() > 1 {
                joined.clear();
                joined.push_str(&a.word);
                joined.push_str(&b.word);
                stem(&mut joined);
                if let Some(term) = self.dictionary.term(&joined) {
                    let alternatives =
                        vec![Alternative { terms: vec![term], weight: self.tuning.joined }];
                    let weight = a.weight.max(b.weight);
                    let concept = Concept {
                        weight,
                        salience: 0.0,
                        telling_in_name: 0.0,
                        alternatives,
                        instead_of: separate,
                    };
                    if !plan.concepts.contains(&concept) {
                        plan.concepts.push(concept);
                    }
                }
            }
        }
        plan.pairs.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        plan.pairs.dedup_by_key(|&mut (first, second, _)| (first, second));
    }
}

/// How much a word counts when it is asked what of a request a document covers, if it tells at
/// least that much.
fn salience(wanted: &QueryTerm, least: Salience) -> f32 {
    if !wanted.is_subject || wanted.salience < least {
        return 0.0;
    }
    // Of the overlapping pairs of an unspaced text, about every second one is no word.
    wanted.weight * if wanted.is_gram { UNSPACED } else { 1.0 }
}

fn add(concept: &mut Concept, terms: Vec<TermId>, weight: f32) {
    match concept.alternatives.iter_mut().find(|other| other.terms == terms) {
        Some(other) => other.weight = other.weight.max(weight),
        None => concept.alternatives.push(Alternative { terms, weight }),
    }
}
