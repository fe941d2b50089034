//! Skills that are easily taken for each other: by what their own descriptions say they are for, ranked as a
//! request would be. Offline, and without cases.

use std::collections::BTreeMap;

use metier::registry::Entry;
use metier::registry::search::{Document, SearchIndex};
use metier::skill::text::clip;
use serde::Serialize;

use crate::phrases::phrases;
use crate::report::EvalReport;

/// Hits that a phrase is given.
const MAX_HITS: usize = 6;
/// A skill whose score comes so near to the best one competes with it.
const NEAR: f32 = 0.75;
/// A skill whose score is a smaller part of the best one is not named for a request.
const WORTH_NAMING: f32 = 0.4;
/// Characters of a description that is compared as a whole.
const MAX_DESCRIPTION: usize = 400;
/// Words and skills that a row names.
const MAX_NAMED: usize = 8;

/// Two skills that compete.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverlappingPair {
    /// The skill whose phrases were tried.
    pub skill: String,
    /// The one that competes for them.
    pub other: String,
    /// The share of the phrases for which it does.
    pub share: f64,
    /// The share for which it wins.
    pub loses: f64,
    /// The words that both answer to.
    pub words: Vec<String>,
    /// A phrase that goes to the other, or nearly.
    pub example: String,
}

/// A skill that competes for a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Competitor {
    /// The skill.
    pub skill: String,
    /// How well it fits; comparable within one request only.
    pub score: f32,
    /// The words that matched.
    pub words: Vec<String>,
}

/// A request that loaded another skill than it should.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissedRequest {
    /// The case's id.
    pub case: String,
    /// The request.
    pub input: String,
    /// The skill that was missed, or loaded wrongly.
    pub skill: String,
    /// Whether it should have been loaded.
    pub expected: bool,
    /// Its place among the skills that fit the request, from 1; nothing where no word of it is in the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// Who competes for it, best first.
    pub competitors: Vec<Competitor>,
}

/// Ranks requests over skills.
#[derive(Debug)]
pub struct SkillRanking {
    names: Vec<String>,
    descriptions: Vec<String>,
    index: SearchIndex,
}

impl SkillRanking {
    /// Over these skills.
    pub fn new<'e>(skills: impl IntoIterator<Item = &'e Entry>) -> Self {
        let skills = skills.into_iter();
        let all: Vec<(String, String)> = skills
            .map(|entry| (entry.name().to_string(), entry.skill.description.to_string()))
            .collect();
        let index = SearchIndex::build(
            all.iter().map(|(name, description)| Document { name, description }),
        );
        let (names, descriptions) = all.into_iter().unzip();
        Self { names, descriptions, index }
    }

    /// The skills that compete for a request, best first, with the words that each answers to.
    pub fn competitors(&self, request: &str) -> Vec<Competitor> {
        let hits = self.index.rank(request, MAX_HITS).into_iter();
        let hits = hits.filter_map(|hit| {
            let skill = self.names.get(hit.document)?.clone();
            Some(Competitor { skill, score: hit.score, words: hit.matched })
        });
        hits.collect()
    }

    /// The requests of a run that loaded another skill than they should, with who competes for each.
    pub fn misses(&self, report: &EvalReport) -> Vec<MissedRequest> {
        let mut misses = Vec::new();
        for case in &report.cases {
            let triggers = case.arms.iter().flat_map(|arm| &arm.triggers);
            for trigger in triggers.filter(|trigger| !trigger.is_right()) {
                let mut competitors = self.competitors(&case.input);
                // Words that say nothing, such as "this", bring any two skills near each other.
                competitors.retain(|hit| !hit.words.is_empty());
                let place = competitors.iter().position(|hit| hit.skill == trigger.skill);
                let best = competitors.first().map_or(0.0, |hit| hit.score);
                competitors
                    .retain(|hit| hit.score >= best * WORTH_NAMING || hit.skill == trigger.skill);
                misses.push(MissedRequest {
                    case: case.id.clone(),
                    input: case.input.clone(),
                    skill: trigger.skill.clone(),
                    expected: trigger.expected,
                    place: place.map(|place| place + 1),
                    competitors,
                });
            }
        }
        misses
    }

    /// The pairs that compete, the closest first.
    pub fn overlaps(&self) -> Vec<OverlappingPair> {
        let mut pairs = Vec::new();
        for (name, description) in self.names.iter().zip(&self.descriptions) {
            pairs.extend(self.rivals(name, description));
        }
        pairs.sort_by(|a, b| {
            let key = |pair: &OverlappingPair| (pair.loses, pair.share);
            let (first, second) = (key(a), key(b));
            second
                .0
                .total_cmp(&first.0)
                .then(second.1.total_cmp(&first.1))
                .then_with(|| (&a.skill, &a.other).cmp(&(&b.skill, &b.other)))
        });
        pairs
    }

    fn rivals(&self, name: &str, description: &str) -> Vec<OverlappingPair> {
        let mut phrases = phrases(description);
        if phrases.is_empty() {
            // Too short or too long to be taken apart: it is compared as it stands.
            phrases.push(clip(description, MAX_DESCRIPTION).into_owned());
        }
        let mut rivals: BTreeMap<String, (u32, u32, Vec<String>, String)> = BTreeMap::new();
        for phrase in &phrases {
            let hits = self.competitors(phrase);
            let own = hits.iter().find(|hit| hit.skill == name);
            let own_score = own.map_or(0.0, |hit| hit.score);
            for hit in hits.iter().filter(|hit| hit.skill != name) {
                // Words that say nothing, such as "this", bring any two skills near each other.
                if hit.words.is_empty() || hit.score < own_score * NEAR {
                    continue;
                }
                let rival = rivals.entry(hit.skill.clone()).or_default();
                rival.0 += 1;
                rival.1 += u32::from(hit.score > own_score);
                for word in &hit.words {
                    if rival.2.len() < MAX_NAMED && !rival.2.contains(word) {
                        rival.2.push(word.clone());
                    }
                }
                if rival.3.is_empty() {
                    rival.3.clone_from(phrase);
                }
            }
        }
        // The same text competes for everything, also where no word of it is known to be one.
        let others = self.names.iter().zip(&self.descriptions);
        for (other, _) in others.filter(|(other, text)| *other != name && *text == description) {
            let rival = rivals.entry(other.clone()).or_default();
            rival.0 = u32::try_from(phrases.len()).unwrap_or(u32::MAX);
            if rival.3.is_empty() {
                rival.3 = phrases.first().cloned().unwrap_or_default();
            }
        }
        let of = phrases.len().max(1);
        #[expect(clippy::cast_precision_loss, reason = "a description has a dozen phrases")]
        let share = |count: u32| f64::from(count) / of as f64;
        let pairs =
            rivals.into_iter().map(|(other, (near, lost, words, example))| OverlappingPair {
                skill: name.to_owned(),
                other,
                share: share(near),
                loses: share(lost),
                words,
                example,
            });
        pairs.collect()
    }
}
