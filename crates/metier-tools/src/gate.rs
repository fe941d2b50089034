//! Asks the policy for the skill tool and the catalog: may this skill be loaded?
//!
//! A model's load, a user's command and the catalog build the same request, so that they get the
//! same answer.

use metier_loader::tool::{LoadPolicy, LoadableSkill};
use metier_policy::{
    AnswerMemory, Effect, Invoker, Permission, Policy, PolicyDecision, Request, RequestContext,
    Subject, TrustedFolders, UnixTime,
};
use metier_registry::{Entry, Index};

use crate::policy_facts::acting_skill;

/// The policy, with the state that it decides by.
#[derive(Debug, Clone, Copy)]
pub struct LoadGate<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// Answers that are remembered.
    pub answers: &'a AnswerMemory,
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
    /// The request to load a skill. `None` when its content cannot be read: then it can be neither
    /// trusted nor approved.
    pub fn request(&self, entry: &Entry) -> Option<Request> {
        let skill = acting_skill(entry, self.trusted).ok()?;
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        Some(request.by(self.invoker).acting_for(skill))
    }

    /// The decision about loading a skill; `None` as for [`Self::request`].
    pub fn decision(&self, entry: &Entry) -> Option<PolicyDecision> {
        let situation = RequestContext { loaded: &[], memory: self.answers, now: self.now };
        Some(self.policy.decide(&self.request(entry)?, &situation))
    }

    /// Why a rule keeps this skill from the model, if one does. Asks by name alone: a catalog must not
    /// read the files of a skill.
    pub fn denied(&self, entry: &Entry) -> Option<String> {
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        let situation = RequestContext { loaded: &[], memory: self.answers, now: self.now };
        let decision = self.policy.decide(&request.by(self.invoker), &situation);
        (decision.effect == Effect::Deny).then(|| decision.sentences().join("; "))
    }
}

impl LoadPolicy for LoadGate<'_> {
    fn decide(&self, skill: &LoadableSkill) -> (Effect, String) {
        let Some(entry) = self.index.find(&skill.id()) else {
            return (Effect::Deny, "it is no longer in the index".to_owned());
        };
        let Some(decision) = self.decision(entry) else {
            return (Effect::Deny, "its content cannot be read".to_owned());
        };
        (decision.effect, decision.sentences().join("; "))
    }
}
