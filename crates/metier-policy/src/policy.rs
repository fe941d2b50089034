//! The policy engine: layers and paths in, decisions out. Pure, and the same for every caller.
//!
//! ```text
//! granted  = the strictest of managed and user, or the default where neither has a rule
//! effect   = the strictest of granted, approval, project, skill, run, trust and floor
//! an ask becomes an allow by a remembered answer (or, if so configured, by a trusted skill's
//! `allowed-tools` where only the default asked); a deny stays
//! ```
//!
//! Why the minimum over layers, and not one list of rules in which the last match wins: within one
//! file the author sees all rules and can order them, but the layers have different authors, and some
//! of them are hostile. A cloned project brings rules, a skill brings `allowed-tools`, and a model
//! chooses the request. With a minimum, none of these can widen what the user granted, in whatever
//! order the layers are added (`laws.rs` tests this as a property). Only the user and the administrator
//! replace the default, so an allow always has a human author. The floor comes last and has no
//! exception, because a single mistaken `allow *` must not expose keys. Memory is consulted after the
//! join and only turns an ask into an allow: an old "always" can never defeat a rule added since. With
//! several subjects each is decided alone and the strictest effect wins, or a harmless first file
//! would carry the second one through.

use metier_skill::SkillId;

use crate::ceiling::Ceiling;
use crate::decision::{AskWaiver, LayerDecision, LayerKind, PolicyDecision};
use crate::defaults::{DefaultContext, by_risk};
use crate::effect::Effect;
use crate::error::shown;
use crate::floor::{Actor, refusal};
use crate::memory::{AnswerMemory, Lifetime, UnixTime};
use crate::permission::Permission;
use crate::places::PolicyPlaces;
use crate::request::{ActingSkill, Request};
use crate::rule::{OverruledRules, RuleLayer};
use crate::subject::{AbsolutePath, Subject, SubjectSpellings};
use crate::trust::TrustStatus;

/// Whether a trusted skill's `allowed-tools` also answers asks, as the public specification has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preapproval {
    /// It is a ceiling and nothing else.
    #[default]
    Never,
    /// It also turns an ask of the default into an allow, for trusted skills.
    TrustedSkills,
}

/// A skill whose instructions a run has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Which skill.
    pub id: SkillId,
    /// Its directory; a compiled-in skill has none.
    pub dir: Option<AbsolutePath>,
    /// Its `allowed-tools`; without one it sets no ceiling.
    pub ceiling: Option<Ceiling>,
    /// Whether its content is trusted. Computed only where `allowed-tools` may approve.
    pub trusted: bool,
}

/// The state that a request is decided in.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    /// The skills that the run has loaded.
    pub loaded: &'a [LoadedSkill],
    /// The answers that are remembered.
    pub memory: &'a AnswerMemory,
    /// The time now.
    pub now: UnixTime,
}

/// All rules of a run, and the paths that they refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layers: Vec<RuleLayer>,
    places: PolicyPlaces,
    preapproval: Preapproval,
    longest_memory: Lifetime,
}

impl Policy {
    /// A policy without rules: only defaults, ceilings, trust and the floor.
    pub const fn new(places: PolicyPlaces) -> Self {
        Self {
            layers: Vec::new(),
            places,
            preapproval: Preapproval::Never,
            longest_memory: Lifetime::Unlimited,
        }
    }

    /// Adds a layer. Their order does not matter.
    #[must_use]
    pub fn with_layer(mut self, layer: RuleLayer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Sets whether `allowed-tools` also approves.
    #[must_use]
    pub const fn with_preapproval(mut self, preapproval: Preapproval) -> Self {
        self.preapproval = preapproval;
        self
    }

    /// Sets the longest time for which a remembered answer is valid, whatever it was given for.
    #[must_use]
    pub const fn with_longest_memory(mut self, longest: Lifetime) -> Self {
        self.longest_memory = longest;
        self
    }

    /// Whether `allowed-tools` also approves.
    pub const fn preapproval(&self) -> Preapproval {
        self.preapproval
    }

    /// The paths that the policy knows.
    pub const fn places(&self) -> &PolicyPlaces {
        &self.places
    }

    /// The rules, a layer each.
    pub fn layers(&self) -> &[RuleLayer] {
        &self.layers
    }

    /// Decides about a request.
    pub fn decide(&self, request: &Request, situation: &RequestContext<'_>) -> PolicyDecision {
        self.judge(request, situation, OverruledRules::Skipped)
    }

    /// Decides as [`Self::decide`] does, and lists the rules that matched and were overruled.
    pub fn explain(&self, request: &Request, situation: &RequestContext<'_>) -> PolicyDecision {
        self.judge(request, situation, OverruledRules::Listed)
    }

    fn judge(
        &self,
        request: &Request,
        situation: &RequestContext<'_>,
        losers: OverruledRules,
    ) -> PolicyDecision {
        let subjects = request.judged();
        let mut preapproved = Some(String::new());
        let mut strictest: Option<(Effect, &Subject, Vec<LayerDecision>)> = None;
        for subject in subjects.iter() {
            let spellings = SubjectSpellings::new(subject, &self.places);
            let decisions = self.decisions(request, &spellings, situation, losers);
            let effect = decisions.iter().map(|decision| decision.effect).min();
            let effect = effect.unwrap_or(Effect::Deny);
            if effect == Effect::Ask {
                let entry = self.preapproving_entry(request, &spellings, &decisions, situation);
                preapproved = preapproved.and(entry.map(str::to_owned));
            }
            if strictest.as_ref().is_none_or(|(known, _, _)| effect < *known) {
                strictest = Some((effect, subject, decisions));
            }
        }
        // `judged` returns at least one subject, so there is a decision.
        let Some((effect, subject, decisions)) = strictest else {
            let nothing = Subject::Text(String::new());
            return PolicyDecision::new(&request.permission, nothing, Vec::new(), None);
        };
        let lifted = if effect == Effect::Ask {
            let (memory, now) = (situation.memory, situation.now);
            let answer = memory.answer_to(request, &self.places, now, self.longest_memory);
            let remembered = answer.map(|answer| AskWaiver::Remembered {
                id: answer.id.clone(),
                granted_at: answer.granted_at,
            });
            remembered.or_else(|| preapproved.map(|entry| AskWaiver::Preapproved { entry }))
        } else {
            None
        };
        PolicyDecision::new(&request.permission, subject.clone(), decisions, lifted)
    }

    /// The decision of each layer about one subject, in the order of [`LayerKind`].
    fn decisions(
        &self,
        request: &Request,
        spellings: &SubjectSpellings<'_>,
        situation: &RequestContext<'_>,
        losers: OverruledRules,
    ) -> Vec<LayerDecision> {
        let permission = &request.permission;
        let answers = self.layers.iter().filter_map(|l| l.judge(permission, spellings, losers));
        let mut granted = false;
        let mut decisions: Vec<LayerDecision> = answers
            .map(|answer| {
                granted |= answer.grants();
                let rule = answer.winner();
                LayerDecision {
                    layer: answer.source().into(),
                    effect: answer.effect(),
                    because: format!("by the rule {rule}"),
                    losers: answer.losers(),
                    rule: Some(rule),
                }
            })
            .collect();
        if !granted {
            let around = DefaultContext {
                in_reach: &|subject| self.in_reach(subject, situation.loaded),
                switched_on: &|| self.layers.iter().any(|layer| layer.switches_on(permission)),
            };
            let (effect, because) = by_risk(request, spellings.subject, &around);
            decisions.push(plain(LayerKind::Default, effect, because));
        }
        decisions.extend(ceilings(request, spellings, situation.loaded));
        decisions.extend(trust(request, spellings.subject));
        let loaded = |id: &SkillId| situation.loaded.iter().any(|skill| skill.id == *id);
        let actor = Actor { skill: request.skill.as_ref(), loaded: &loaded };
        let floor = refusal(permission, spellings.subject, actor, &self.places);
        decisions.extend(floor.map(|because| plain(LayerKind::Floor, Effect::Deny, because)));
        decisions.sort_by_key(|decision| (decision.layer, decision.effect));
        decisions
    }

    fn in_reach(&self, subject: &Subject, loaded: &[LoadedSkill]) -> bool {
        let Subject::Path(path) = subject else { return false };
        let dirs = loaded.iter().filter_map(|skill| skill.dir.as_ref());
        self.places.in_workspace(path) || dirs.into_iter().any(|dir| path.below(dir).is_some())
    }

    /// The entry of `allowed-tools` that approves, where the settings allow that, all loaded skills are
    /// trusted, and only the default asked.
    fn preapproving_entry<'a>(
        &self,
        request: &Request,
        spellings: &SubjectSpellings<'_>,
        decisions: &[LayerDecision],
        situation: &RequestContext<'a>,
    ) -> Option<&'a str> {
        let acting = request.skill.as_ref()?;
        let only_default = |decision: &LayerDecision| {
            decision.effect == Effect::Allow || decision.layer == LayerKind::Default
        };
        // The model names the acting skill, so an untrusted skill could have it done in the name of a
        // trusted one.
        let may = self.preapproval == Preapproval::TrustedSkills
            && acting.standing == TrustStatus::Trusted
            && situation.loaded.iter().all(|skill| skill.trusted)
            && decisions.iter().all(only_default);
        let skill = situation.loaded.iter().find(|skill| may && skill.id == acting.id)?;
        skill.ceiling.as_ref()?.listing(&request.permission, spellings)
    }
}

fn plain(layer: LayerKind, effect: Effect, because: String) -> LayerDecision {
    LayerDecision { layer, effect, because, rule: None, losers: Vec::new() }
}

/// The ceilings that refuse: that of the acting skill, or without one those of all loaded skills.
/// Loading a skill is exempt: otherwise no skill could be loaded after one with a ceiling.
fn ceilings(
    request: &Request,
    spellings: &SubjectSpellings<'_>,
    loaded: &[LoadedSkill],
) -> Vec<LayerDecision> {
    let deny = |because| plain(LayerKind::Skill, Effect::Deny, because);
    if request.permission == Permission::LoadSkill {
        return Vec::new();
    }
    let acting = request.skill.as_ref().map(|skill| &skill.id);
    if let Some(id) = acting.filter(|id| !loaded.iter().any(|skill| skill.id == **id)) {
        return vec![deny(format!("{id} is not loaded"))];
    }
    let counts = |skill: &&LoadedSkill| acting.is_none_or(|id| skill.id == *id);
    let refuses = |skill: &LoadedSkill| {
        let ceiling = skill.ceiling.as_ref()?;
        if ceiling.listing(&request.permission, spellings).is_some() {
            return None;
        }
        let listed = ceiling.written().join(", ");
        let listed = if listed.is_empty() { "nothing".to_owned() } else { shown(&listed) };
        Some(deny(format!("the allowed-tools of {} list only {listed}", skill.id)))
    };
    loaded.iter().filter(counts).filter_map(refuses).collect()
}

/// The effect of trust. Without an acting skill, the skill in the subject is trusted by its source.
fn trust(request: &Request, subject: &Subject) -> Option<LayerDecision> {
    let (id, standing) = match (&request.skill, subject) {
        (Some(ActingSkill { id, standing, .. }), _) => (id, *standing),
        (None, Subject::Script { skill, .. } | Subject::Skill(skill)) => {
            (skill, TrustStatus::by_source(skill.source))
        }
        (None, _) => return None,
    };
    let effect = standing.effect_on(&request.permission)?;
    let because = format!("the skill {id} is not trusted: {}", standing.why());
    Some(plain(LayerKind::Trust, effect, because))
}
