//! The skills that a run knows: cards that the runs of a session share, and which of them its own prompt describes.
//!
//! A catalog for one request describes other skills than that for the next; everything else about a skill is the
//! same, and is copied for no run. In the file of a run each card says for itself whether it is described.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use metier_model::SkillSearch;
use metier_registry::Entry;
use metier_skill::{RunMode, SkillId, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::setup::{PinnedSkill, SkillCard};

/// The skills of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillCards {
    cards: Arc<[SkillCard]>,
    /// Whether the prompt shows the description of each, so that a search need not.
    listed: Vec<bool>,
}

impl Deref for SkillCards {
    type Target = [SkillCard];

    fn deref(&self) -> &[SkillCard] {
        &self.cards
    }
}

impl FromIterator<SkillCard> for SkillCards {
    /// Skills of which the prompt describes none.
    fn from_iter<I: IntoIterator<Item = SkillCard>>(cards: I) -> Self {
        let cards: Arc<[SkillCard]> = cards.into_iter().collect();
        Self { listed: vec![false; cards.len()], cards }
    }
}

impl SkillCards {
    /// The same with something changed in each card.
    #[must_use]
    pub fn changed(mut self, change: impl FnMut(&mut SkillCard)) -> Self {
        let mut cards = self.cards.to_vec();
        cards.iter_mut().for_each(change);
        self.cards = cards.into();
        self
    }

    /// Those that the prompt describes.
    pub fn listed(&self) -> impl Iterator<Item = &SkillCard> {
        self.with_listed().filter(|(_, listed)| *listed).map(|(card, _)| card)
    }

    fn with_listed(&self) -> impl Iterator<Item = (&SkillCard, bool)> {
        self.cards.iter().zip(self.listed.iter().copied())
    }

    /// Whether there is a skill to find that the prompt does not describe.
    pub(crate) fn search(&self) -> SkillSearch {
        let is_hidden = |(card, listed): (&SkillCard, bool)| card.offered && !listed;
        if self.with_listed().any(is_hidden) { SkillSearch::On } else { SkillSearch::Off }
    }

    /// The cards, which other runs may have, too.
    pub(crate) const fn shared(&self) -> &Arc<[SkillCard]> {
        &self.cards
    }
}

/// A card in the file of a run.
#[derive(Serialize)]
struct WrittenCard<'c> {
    id: &'c SkillId,
    name: &'c str,
    source: &'c str,
    description: &'c str,
    #[serde(flatten)]
    pinned: &'c PinnedSkill,
    offered: bool,
    listed: bool,
    shadowed: bool,
    coordinator: bool,
    subagent: bool,
}

#[derive(Deserialize)]
struct ReadCard {
    #[serde(flatten)]
    card: SkillCard,
    #[serde(default)]
    listed: bool,
}

impl Serialize for SkillCards {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.with_listed().map(|(card, listed)| WrittenCard {
            id: &card.id,
            name: &card.name,
            source: &card.source,
            description: &card.description,
            pinned: &card.pinned,
            offered: card.offered,
            listed,
            shadowed: card.shadowed,
            coordinator: card.coordinator,
            subagent: card.subagent,
        }))
    }
}

impl<'de> Deserialize<'de> for SkillCards {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Vec::<ReadCard>::deserialize(deserializer)?;
        let (cards, listed): (Vec<SkillCard>, _) =
            read.into_iter().map(|it| (it.card, it.listed)).unzip();
        Ok(Self { cards: cards.into(), listed })
    }
}

/// The skills that a model may select, as the runs of a session have them.
#[derive(Debug)]
pub struct OfferedCards {
    of: Vec<Arc<Entry>>,
    ids: Arc<[SkillId]>,
    cards: Arc<[SkillCard]>,
    places: HashMap<SkillId, usize>,
}

impl OfferedCards {
    pub(crate) fn of(offered: &[&Arc<Entry>]) -> Self {
        let ids: Arc<[SkillId]> = offered.iter().map(|entry| entry.id()).collect();
        Self {
            of: offered.iter().map(|entry| Arc::clone(entry)).collect(),
            cards: offered.iter().map(|entry| card(entry, true)).collect(),
            places: ids.iter().cloned().zip(0..).collect(),
            ids,
        }
    }

    /// Whether they are the cards of these.
    pub(crate) fn are_of(&self, offered: &[&Arc<Entry>]) -> bool {
        let pairs = self.of.iter().zip(offered);
        self.of.len() == offered.len() && { pairs }.all(|(own, other)| Arc::ptr_eq(own, other))
    }

    /// Their ids, in the order of the catalog.
    pub const fn ids(&self) -> &Arc<[SkillId]> {
        &self.ids
    }

    /// The cards, of which the prompt describes these, and `more` that no model may select.
    pub(crate) fn with(
        &self,
        described: &[SkillId],
        more: impl FnOnce(&mut Vec<SkillCard>),
    ) -> SkillCards {
        let mut listed = vec![false; self.cards.len()];
        for at in described.iter().filter_map(|id| self.places.get(id)) {
            listed[*at] = true;
        }
        let mut others = Vec::new();
        more(&mut others);
        if others.is_empty() {
            return SkillCards { cards: Arc::clone(&self.cards), listed };
        }
        listed.resize(self.cards.len() + others.len(), false);
        SkillCards { cards: self.cards.iter().cloned().chain(others).collect(), listed }
    }

    /// Whether this is one of them.
    pub(crate) fn have(&self, id: &SkillId) -> bool {
        self.places.contains_key(id)
    }
}

/// What a run knows of a skill.
pub(crate) fn card(entry: &Entry, offered: bool) -> SkillCard {
    let metadata = &entry.skill.details().metadata;
    let role = metadata.iter().find(|(key, _)| &**key == "metier-role").map(|(_, value)| value);
    SkillCard {
        id: entry.id(),
        name: entry.name().as_str().into(),
        source: entry.source.to_string().into(),
        description: (*entry.skill.description).into(),
        pinned: PinnedSkill { digest: entry.digest, mark: entry.mark.map(|mark| mark.to_string()) },
        offered,
        shadowed: false,
        coordinator: matches!(role, Some(Value::Text(role)) if &**role == "coordinator"),
        subagent: entry.skill.controls.run_mode == RunMode::Subagent,
    }
}
