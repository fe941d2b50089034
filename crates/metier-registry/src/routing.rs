//! The ranking behind the offline model: the search index, asked whether a skill fires.
//!
//! [`SkillRanker`] serves `metier_model::router::Router`, which stands below this crate and knows
//! rankings only as a trait. The same index serves `search` and the catalog.

use metier_model::router::{RankedSkill, Ranker};
use metier_model::turn::OfferedSkill;

use crate::search::{Document, SearchIndex};

/// How many skills a ranking gives.
const MOST: usize = 8;

/// Ranks the offered skills by name and description.
///
/// It keeps nothing: an index of a thousand skills is built in milliseconds, and a router ranks once in
/// a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillRanker;

impl Ranker for SkillRanker {
    fn rank(&self, request: &str, offered: &[OfferedSkill]) -> Vec<RankedSkill> {
        let documents = offered
            .iter()
            .map(|skill| Document { name: &skill.name, description: &skill.description });
        let hits = SearchIndex::build(documents).rank(request, MOST);
        hits.into_iter()
            .map(|hit| RankedSkill {
                index: hit.document,
                score: hit.score,
                confidence: hit.confidence,
                fires: hit.fires(),
                called: hit.called,
                matched: hit.matched,
            })
            .collect()
    }
}
