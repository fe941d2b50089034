//! Whether a document is what a request wants, as a number that means the same in every ranking.
//!
//! A score only orders the documents of one index; the best of a bad lot is still first. Confidence adds
//! up three things about the best document: what the words tell that it shares with the request (1 is a
//! word that hardly any skill has), which part of what the request is about it covers, and how far it is
//! ahead of the next. None of them has a threshold of its own: one rare word, a common one in the name
//! and no rival may do, and so may half a sentence of everyday words. One half is where a document
//! *fires*. A question about the world fires nothing that does not mention what it asks for (`a good
//! textbook for competition math` is no competition problem), and the words that an author quotes as a
//! reason to use the skill fire it. A name that is called settles it: who calls a skill wants that one or
//! none.
//!
//! The weights are those of a logistic regression over 2,800 requests out of the bodies and descriptions
//! of public skills, asked of shelves with and without their skill. More features (words in the name,
//! the first words, the verb, the length) gained nothing there. The trigger queries of ten authors
//! were for measuring.

use super::bm25::Postings;
use super::dictionary::TermId;
use super::naming::Naming;
use super::plan::Plan;

/// At this confidence and above, a document is what the request wants.
pub(super) const FIRES: f32 = 0.5;

/// What covering the whole request is worth beside one word that hardly any skill has.
const COVERAGE: f32 = 3.0;
/// What being ahead of the next by the score of such a word is worth.
const LEAD: f32 = 2.0;
/// The part of a request below which one shared word is a coincidence, however far it puts a document ahead.
const CHANCE: f32 = 1.0 / 6.0;
/// More of anything than this is not surer.
const MAX_EACH: f32 = 4.0;
/// What all that must come to.
const NEEDED: f32 = 2.6;

/// What speaks for one document.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Evidence {
    /// The part of the request that it covers, from 0 to 1.
    pub(super) coverage: f32,
    /// The telling words that it shares with the request.
    pub(super) words: u16,
    /// How much the shared words tell together; 1 is a word that no other document has.
    pub(super) telling: f32,
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
        let missing =
            |&(salience, frequency): &(f32, f32)| salience * postings.telling_elsewhere(frequency);
        let mut all: f32 = plan.unknown.iter().map(missing).sum();
        let (mut covered, mut words, mut telling) = (0.0, 0u16, 0.0);
        let impact = |term: &TermId| postings.about.impact(*term, document);
        for concept in &plan.concepts {
            let Some(&first) = concept.alternatives.first().and_then(|first| first.terms.first())
            else {
                continue;
            };
            let salience = if name(first) { concept.telling_in_name } else { concept.salience };
            if salience == 0.0 {
                continue;
            }
            let tells = postings.telling(first);
            all += salience * tells;
            let (mut shared, mut strongest) = (0.0f32, 0.0f32);
            for alternative in &concept.alternatives {
                let least = alternative.terms.iter().map(impact).fold(1.0, f32::min);
                if least > 0.0 {
                    shared = shared.max(alternative.weight);
                    strongest = strongest.max(alternative.weight * least);
                }
            }
            covered += salience * tells * strongest;
            telling += shared * tells;
            words += u16::from(shared > 0.0);
        }
        let has = |term: &TermId| impact(term) > 0.0;
        let beside_the_question = plan.asked.as_ref().is_some_and(|asked| !asked.iter().any(has));
        let coverage = if all > 0.0 { covered / all } else { 0.0 };
        Self { coverage, words, telling, beside_the_question, quoted: false }
    }

    /// How sure it is, for a document that is ahead of the next by `lead` words that hardly any has.
    pub(super) fn confidence(self, lead: f32) -> f32 {
        if self.quoted {
            return 1.0;
        }
        if self.beside_the_question || lead <= 0.0 {
            return 0.0; // or it cannot be distinguished from the next
        }
        let by_chance = self.words < 2 && self.coverage < CHANCE;
        let lead = if by_chance { 0.0 } else { lead.min(MAX_EACH) };
        let evidence = self.telling.min(MAX_EACH) + COVERAGE * self.coverage + LEAD * lead;
        (evidence / NEEDED * FIRES).clamp(0.0, 1.0)
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
