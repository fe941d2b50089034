//! The policy as the skill tool and the catalog ask it: may this skill be loaded?
//!
//! One request for every way in. A model's load, a person's call and the catalog ask the same
//! question, so that they get the same answer.

use metier_loader::tool::{LoadPolicy, OfferedSkill};
use metier_policy::{
    Decision, Effect, Invoker, Memory, Permission, Policy, Request, Situation, Subject,
    TrustedFolders, UnixTime,
};
use metier_registry::{Entry, Index};

use crate::ground::acting_skill;

/// The policy, and what it has to know of now.
#[derive(Debug, Clone, Copy)]
pub struct LoadGate<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// Answers that are remembered.
    pub answers: &'a Memory,
    /// Folders that are trusted.
    pub trusted: &'a TrustedFolders,
    /// The time.
    pub now: UnixTime,
    /// Who asks.
    pub invoker: Invoker,
    /// The skills.
    pub index: &'a Index,
}

impl LoadGate<'_> {
    /// The request to load a skill. Nothing when its content cannot be told: then it can be neither
    /// trusted nor approved.
    pub fn request(&self, entry: &Entry) -> Option<Request> {
        let skill = acting_skill(entry, self.trusted).ok()?;
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        Some(request.by(self.invoker).acting_for(skill))
    }

    /// What is decided about loading a skill.
    pub fn decision(&self, entry: &Entry) -> Option<Decision> {
        let situation = Situation { loaded: &[], memory: self.answers, now: self.now };
        Some(self.policy.decide(&self.request(entry)?, &situation))
    }

    /// The words of the rule that keeps a skill from a model, if one does. Asks by name and content
    /// of the frontmatter alone, which is all that a catalog may look at.
    pub fn denied(&self, entry: &Entry) -> Option<String> {
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        let situation = Situation { loaded: &[], memory: self.answers, now: self.now };
        let decision = self.policy.decide(&request.by(self.invoker), &situation);
        (decision.effect == Effect::Deny).then(|| decision.sentences().join("; "))
    }
}

impl LoadPolicy for LoadGate<'_> {
    fn decide(&self, skill: &OfferedSkill) -> (Effect, String) {
        let Some(entry) = self.index.find(&skill.id()) else {
            return (Effect::Deny, "it is not in the index any more".to_owned());
        };
        let Some(decision) = self.decision(entry) else {
            return (Effect::Deny, "its content cannot be read".to_owned());
        };
        (decision.effect, decision.sentences().join("; "))
    }
}
