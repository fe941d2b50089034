//! Asks the policy whether a skill may be loaded: the one decision by which its text comes in.
//!
//! A model's load, a user's command, a person who reads, the catalog and the skill tool all ask here,
//! so that they get the same answer.

use metier_loader::tool::{LoadPolicy, LoadableSkill};
use metier_policy::{
    AnswerMemory, Effect, Invoker, Permission, Policy, PolicyDecision, Request, RequestContext,
    Subject, TrustedFolders, UnixTime,
};
use metier_registry::{Entry, Index};

use crate::policy_facts::{ContentError, acting_skill, content_digest, named_skill};

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

/// What the policy says about loading a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadJudgement {
    /// The decision.
    pub decision: PolicyDecision,
    /// What was asked: about the name alone where that decides, else about the skill's content.
    /// Why not, where there is a question and the content has no digest: then no answer can be bound
    /// to it.
    pub request: Result<Request, ContentError>,
}

impl LoadJudgement {
    /// Whether what was judged is what is there. Only a decision about the content depends on it.
    pub fn still_holds(&self, entry: &Entry) -> bool {
        let judged = self.request.as_ref().ok().and_then(|request| request.skill.as_ref());
        judged.is_none_or(|judged| content_digest(entry).is_ok_and(|now| now == judged.digest))
    }
}

impl LoadGate<'_> {
    /// The decision about loading a skill.
    ///
    /// Where it follows from the name alone, nothing of the skill is opened for it. Only where the
    /// content counts (trust, a remembered answer, a question) is the whole skill hashed.
    pub fn judge(&self, entry: &Entry) -> LoadJudgement {
        let own = [named_skill(entry)];
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        let by_name = request.by(self.invoker);
        let nothing = AnswerMemory::default();
        let situation = RequestContext { loaded: &own, memory: &nothing, now: self.now };
        let decision = self.policy.decide(&by_name, &situation);
        if decision.effect != Effect::Ask {
            return LoadJudgement { decision, request: Ok(by_name) };
        }
        let request = match self.request(entry) {
            Ok(request) => request,
            Err(error) => return LoadJudgement { decision, request: Err(error) },
        };
        let situation = RequestContext { loaded: &own, memory: self.answers, now: self.now };
        let decision = self.policy.decide(&request, &situation);
        LoadJudgement { decision, request: Ok(request) }
    }

    /// The request to load a skill. Without a digest it can be neither trusted nor approved.
    fn request(&self, entry: &Entry) -> Result<Request, ContentError> {
        let skill = acting_skill(entry, self.trusted)?;
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        Ok(request.by(self.invoker).acting_for(skill))
    }

    /// Why a rule keeps this skill from the model, if one does. Asks by name alone: a catalog must not
    /// read the files of a skill.
    pub fn denied(&self, entry: &Entry) -> Option<String> {
        let request = Request::new(Permission::LoadSkill, vec![Subject::Skill(entry.id())]);
        let situation = RequestContext { loaded: &[], memory: self.answers, now: self.now };
        let decision = self.policy.decide(&request.by(self.invoker), &situation);
        (decision.effect == Effect::Deny).then(|| decision.reason.clone())
    }
}

impl LoadPolicy for LoadGate<'_> {
    fn decide(&self, skill: &LoadableSkill) -> (Effect, String) {
        let Some(entry) = self.index.find(&skill.id()) else {
            return (Effect::Deny, "it is no longer in the index".to_owned());
        };
        let LoadJudgement { decision, request } = self.judge(entry);
        if let Err(error) = request {
            return (Effect::Deny, format!("its content cannot be verified: {error}"));
        }
        (decision.effect, decision.reason.clone())
    }
}
