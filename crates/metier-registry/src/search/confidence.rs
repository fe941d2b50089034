//! Whether a document is what a request wants, as a number that means the same in every ranking.
//!
//! A score only orders the documents of one index; the best of a bad lot is still first. Confidence
//! asks four questions of the best document and takes the worst answer: how much of what the request
//! is about does its description mention, in how many words, how much do these tell, and how far is it
//! ahead of the next? A question about the world fires nothing that does not mention what it asks for
//! (`a good textbook for competition math` is no competition problem), and the words that an author
//! quotes as a reason to use the skill fire it. Each answer is one half at its threshold, so that one half is where a document *fires*. A name that
//! is called settles it: who calls a skill wants that one or none.
//!
//! The thresholds were set once, from what they mean, and checked on the trigger queries of five
//! skills; the other five and the requests in `tests/it/routing` were kept for measuring.

use super::bm25::Postings;
use super::dictionary::TermId;
use super::naming::Naming;
use super::plan::Plan;

/// At this confidence and above, a document is what the request wants.
pub(super) const FIRES: f32 = 0.5;

/// The part of what a request is about, weighed by rarity, that a description must mention. Requests
/// carry names, paths and circumstances that no description knows; less than a sixth is chance.
const COVERAGE: f32 = 1.0 / 6.0;
/// How many telling words must be shared: one alone is a coincidence.
const WORDS: f32 = 2.0;
/// What the shared words must tell together: as much as one that no other document has. `list` and `file`
/// are two words, and half of all descriptions have them.
const TELLING: f32 = 1.0;
/// Unless it is in the name and covers this much of the request: then it is its subject.
const SUBJECT: f32 = 0.5;
/// How far the best must be ahead of the next: closer ones cannot be distinguished.
const LEAD: f32 = 0.05;
/// The same when one telling word is all that is shared: it must single the document out.
const LEAD_OF_ONE: f32 = 0.5;

/// What speaks for one document.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Evidence {
    /// The part of the request that it covers, from 0 to 1.
    pub(super) coverage: f32,
    /// The telling words that it shares with the request.
    pub(super) words: u16,
    /// How much they tell together; 1 is a word that no other document has.
    pub(super) telling: f32,
    /// Whether one of them is in its name.
    pub(super) in_name: bool,
    /// Whether the request is a question about the world, and it does not mention what is asked for.
    pub(super) beside_the_question: bool,
    /// Whether the request has words that its author gives, in quotes, as a reason to use it.
    pub(super) quoted: bool,
}

impl Evidence {
    /// What one document shares with a request; `name` tells whether a term is in its name.
    pub(super) fn of(
        document: u32,
        plan: &Plan,
        postings: &Postings,
        name: impl Fn(TermId) -> bool,
    ) -> Self {
        let mut all = plan.unknown * postings.rarest();
        let (mut covered, mut words, mut telling, mut in_name) = (0.0, 0u16, 0.0, false);
        let has = |term: &TermId| postings.about.impact(*term, document) > 0.0;
        for concept in &plan.concepts {
            let Some(&first) = concept.alternatives.first().and_then(|first| first.terms.first())
            else {
                continue;
            };
            let salience = if name(first) { concept.telling_in_name } else { concept.salience };
            if salience == 0.0 {
                continue;
            }
            let mass = salience * postings.rarity(first);
            let shared = concept
                .alternatives
                .iter()
                .filter(|alternative| alternative.terms.iter().all(has))
                .map(|alternative| alternative.weight)
                .fold(0.0, f32::max);
            all += mass;
            covered += mass * shared;
            telling += shared * postings.rarity(first) / postings.rarest();
            words += u16::from(shared > 0.0);
            in_name |= concept
                .alternatives
                .iter()
                .any(|alternative| alternative.terms.iter().all(|&term| name(term)));
        }
        let beside_the_question = plan.asked.as_ref().is_some_and(|asked| !asked.iter().any(has));
        let coverage = if all > 0.0 { covered / all } else { 0.0 };
        Self { coverage, words, telling, in_name, beside_the_question, quoted: false }
    }

    /// How sure it is, for a document with this score when the best other one has `next`.
    pub(super) fn confidence(self, score: f32, next: f32) -> f32 {
        if self.beside_the_question && !self.quoted {
            return 0.0;
        }
        if self.quoted {
            return 1.0;
        }
        let half_at = |value: f32, threshold: f32| (value / threshold * FIRES).clamp(0.0, 1.0);
        let is_subject = self.in_name && self.coverage >= SUBJECT;
        let words = if is_subject { f32::INFINITY } else { f32::from(self.words) };
        let lead = if next > 0.0 { score / next - 1.0 } else { f32::INFINITY };
        let least_lead = if f32::from(self.words) < WORDS { LEAD_OF_ONE } else { LEAD };
        let telling = if is_subject { f32::INFINITY } else { self.telling };
        half_at(self.coverage, COVERAGE)
            .min(half_at(words, WORDS))
            .min(half_at(telling, TELLING))
            .min(half_at(lead, least_lead))
    }
}

/// What the request as a whole says about names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameCalls {
    /// No skill is called by name.
    None,
    /// Some skill is, of these or of others.
    Some,
}

/// The confidence that a name settles, if it does.
pub(super) fn settled(naming: Option<Naming>, calls: NameCalls, by_name_only: bool) -> Option<f32> {
    match (naming, calls) {
        (Some(Naming::Called), _) => Some(1.0),
        (Some(Naming::Declined), _) | (None, NameCalls::Some) => Some(0.0),
        (None, NameCalls::None) => by_name_only.then_some(0.0),
    }
}

/// Whether a description says that only a person starts the skill, by its name: the folded words of
/// `user-invoked`, `invoked manually`, `only when explicitly asked`.
pub(super) fn by_name_only<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let (mut before, mut since_only) = ("", usize::MAX);
    for word in words {
        let invoked = matches!(word, "invoked" | "triggered" | "activated" | "called" | "started");
        if invoked && matches!(before, "user" | "manually" | "explicitly")
            || before == "invoked" && matches!(word, "manually" | "explicitly")
            || matches!(word, "explicitly" | "manually") && since_only < 6
        {
            return true;
        }
        since_only = if word == "only" { 0 } else { since_only.saturating_add(1) };
        before = word;
    }
    false
}
