//! What of a run's prompts follows from neither its request nor its turn: the skills as data, the tools, the
//! schemas, and what all of it costs. Pure.
//!
//! Made once for all runs of a session, of which an eval has thousands. A setup carries what was made for it or
//! for an earlier one, and takes it only where it was made from the same: texts and tools are compared by where
//! they are, the skills by that or by what they say.

use std::sync::{Arc, OnceLock};

use metier_model::{DecisionForm, OfferedSkill, ToolOffer, schema};
use metier_skill::{Digest, PartsDigest, estimate_tokens};
use serde_json::Value;

use crate::setup::{Setup, SkillCard, ToolCard};

/// What was made, and from what.
#[derive(Debug)]
pub(crate) struct PromptParts {
    system: Arc<str>,
    system_for_call: Arc<str>,
    cards: Arc<[ToolCard]>,
    skills: Arc<[SkillCard]>,
    form: DecisionForm,
    pub(crate) schema: Arc<Value>,
    pub(crate) brief_schema: Arc<Value>,
    pub(crate) answer_schema: Arc<Value>,
    pub(crate) offered: Arc<[OfferedSkill]>,
    pub(crate) tools: Arc<[ToolOffer]>,
    /// Tokens of the instructions and the schema.
    pub(crate) tokens: u64,
    /// The digest of the instructions, before the opening.
    pub(crate) prefix: PartsDigest,
}

/// The parts, once the first run has made them. They say nothing that a setup does not, so all are equal.
#[derive(Debug, Clone, Default)]
pub struct KnownParts(Arc<OnceLock<Arc<PromptParts>>>);

impl PartialEq for KnownParts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PromptParts {
    fn of(setup: &Setup) -> Self {
        let (system, system_for_call) = (&setup.system, &setup.system_for_call);
        let tools: Vec<ToolOffer> = setup.tools.iter().map(|card| card.offer.clone()).collect();
        let form = setup.form();
        let schema = schema::decision_schema(&tools, form);
        // Providers are sent the schema beside the prompt.
        let tokens = estimate_tokens(system) + estimate_tokens(&schema.to_string());
        Self {
            system: Arc::clone(system),
            system_for_call: Arc::clone(system_for_call),
            prefix: Digest::parts().with(system.as_bytes()).with(system_for_call.as_bytes()),
            cards: Arc::clone(&setup.tools),
            skills: Arc::clone(setup.skills.shared()),
            form,
            schema: Arc::new(schema),
            brief_schema: Arc::new(schema::brief_schema(&tools, form)),
            answer_schema: Arc::new(schema::answer_schema()),
            offered: offered(&setup.skills).map(as_offered).collect(),
            tools: tools.into(),
            tokens: tokens as u64,
        }
    }

    /// Whether they are those of this setup.
    fn fit(&self, setup: &Setup) -> bool {
        Arc::ptr_eq(&self.system, &setup.system)
            && Arc::ptr_eq(&self.system_for_call, &setup.system_for_call)
            && Arc::ptr_eq(&self.cards, &setup.tools)
            && self.form == setup.form()
            && (Arc::ptr_eq(&self.skills, setup.skills.shared()) || self.offers(setup))
    }

    /// Whether the skills say the same.
    fn offers(&self, setup: &Setup) -> bool {
        offered(&setup.skills).count() == self.offered.len()
            && offered(&setup.skills).zip(&*self.offered).all(|(card, known)| {
                *card.name == *known.name
                    && *card.source == *known.source
                    && *card.description == *known.description
            })
    }
}

fn offered(skills: &[SkillCard]) -> impl Iterator<Item = &SkillCard> {
    skills.iter().filter(|card| card.offered)
}

fn as_offered(card: &SkillCard) -> OfferedSkill {
    OfferedSkill {
        name: card.name.to_string(),
        source: card.source.to_string(),
        description: card.description.to_string(),
    }
}

impl Setup {
    /// What of its prompts is the same for every request.
    pub(crate) fn prompt_parts(&self) -> Arc<PromptParts> {
        let known = self.parts.0.get_or_init(|| Arc::new(PromptParts::of(self)));
        if known.fit(self) { Arc::clone(known) } else { Arc::new(PromptParts::of(self)) }
    }
}
