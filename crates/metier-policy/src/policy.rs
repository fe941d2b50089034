//! The policy engine: layers and paths in, decisions out. Pure, and the same for every caller.
//!
//! ```text
//! granted  = the strictest of managed and user, or the default where neither has a rule
//! effect   = the strictest of granted, approval, project, agent, skill, run, trust, guarded and floor
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

use std::collections::BTreeSet;

use metier_skill::SkillId;
use serde::Serialize;

use crate::attribution;
use crate::ceiling::Ceiling;
use crate::decision::{AskWaiver, CeilingRefusal, LayerDecision, LayerKind, PolicyDecision};
use crate::defaults::{DefaultContext, by_risk};
use crate::effect::Effect;
use crate::floor::{Actor, question, refusal};
use crate::memory::{AnswerMemory, Lifetime, UnixTime};
use crate::permission::Risk;
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

/// How far the ceiling of a loaded skill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CeilingReach {
    /// Everything of the run that could do harm: the skill's text may have moved the model to it,
    /// whatever the model says it is done for.
    #[default]
    Run,
    /// Only the skill's own scripts and files, and what is done for it: a person lifted the rest.
    Skill,
    /// What could do harm in a subagent: the skill is loaded in the run outside, and not here.
    Outer,
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
    /// How far the ceiling reaches.
    pub reach: CeilingReach,
    /// Whether its content is trusted. Computed only where `allowed-tools` may approve.
    pub trusted: bool,
}

impl LoadedSkill {
    /// Whether it is the loaded skill `id`; one of the run outside is not loaded here.
    pub(crate) fn is(&self, id: &SkillId) -> bool {
        self.id == *id && self.reach != CeilingReach::Outer
    }
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
        let mut liftable = Liftable::default();
        for subject in subjects.iter() {
            let spellings = SubjectSpellings::new(subject, &self.places);
            let decisions = self.decisions(request, &spellings, situation, losers);
            liftable.add(&decisions);
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
        let waiver = if effect == Effect::Ask {
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
        let decision = PolicyDecision::new(&request.permission, subject.clone(), decisions, waiver);
        decision.with_liftable(liftable.skills())
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
                    ceiling: None,
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
        decisions.extend(attribution::refusals(request, spellings, situation.loaded, &self.places));
        decisions.extend(trust(request, spellings.subject));
        decisions.extend(self.guarded(request, spellings));
        let loaded = |id: &SkillId| situation.loaded.iter().any(|skill| skill.is(id));
        let actor = Actor { skill: request.skill.as_ref(), loaded: &loaded };
        let floor = refusal(permission, spellings.subject, actor, &self.places);
        decisions.extend(floor.map(|because| plain(LayerKind::Floor, Effect::Deny, because)));
        decisions.sort_by_key(|decision| (decision.layer, decision.effect));
        decisions
    }

    /// The question about a file that CI, a build or an agent runs or obeys, unless a rule has this very
    /// path. A tool that was registered as one that reads does not change it.
    fn guarded(
        &self,
        request: &Request,
        spellings: &SubjectSpellings<'_>,
    ) -> Option<LayerDecision> {
        let permission = &request.permission;
        let Subject::Path(path) = spellings.subject else { return None };
        if request.risk() == Risk::Low {
            return None;
        }
        let because = question(path, permission.access(), &self.places)?;
        let is_named = self.layers.iter().any(|layer| layer.names_path(permission, spellings));
        (!is_named).then(|| plain(LayerKind::Guarded, Effect::Ask, because))
    }

    fn in_reach(&self, subject: &Subject, loaded: &[LoadedSkill]) -> bool {
        let Subject::Path(path) = subject else { return false };
        let dirs = loaded.iter().filter_map(|skill| skill.dir.as_ref());
        self.places.in_workspace(path) || dirs.into_iter().any(|dir| path.below(dir).is_some())
    }

    /// The entry of `allowed-tools` that approves, where the settings allow that, all loaded skills are
    /// trusted, and only the default asked. What is attributed to a skill is approved by that skill's
    /// list alone; without attribution by any, or naming a skill would widen what the model may do.
    fn preapproving_entry<'a>(
        &self,
        request: &Request,
        spellings: &SubjectSpellings<'_>,
        decisions: &[LayerDecision],
        situation: &RequestContext<'a>,
    ) -> Option<&'a str> {
        let only_default = |decision: &LayerDecision| {
            decision.effect == Effect::Allow || decision.layer == LayerKind::Default
        };
        let acting = request.skill.as_ref();
        // The model names the acting skill, so an untrusted skill could have it done in the name of a
        // trusted one.
        let may = self.preapproval == Preapproval::TrustedSkills
            && acting.is_none_or(|skill| skill.standing == TrustStatus::Trusted)
            && situation.loaded.iter().all(|skill| skill.trusted)
            && decisions.iter().all(only_default);
        let approves = |skill: &&LoadedSkill| acting.is_none_or(|acting| skill.is(&acting.id));
        let mut lists = situation.loaded.iter().filter(|_| may).filter(approves);
        lists.find_map(|skill| skill.ceiling.as_ref()?.listing(&request.permission, spellings))
    }
}

/// Whether a refusal comes only from ceilings that a person may lift, over all subjects.
#[derive(Default)]
struct Liftable {
    skills: BTreeSet<SkillId>,
    is_refused_otherwise: bool,
}

impl Liftable {
    fn add(&mut self, decisions: &[LayerDecision]) {
        for decision in decisions.iter().filter(|decision| decision.effect == Effect::Deny) {
            match &decision.ceiling {
                Some(CeilingRefusal { skill, holds: CeilingReach::Run }) => {
                    self.skills.insert(skill.clone());
                }
                _ => self.is_refused_otherwise = true,
            }
        }
    }

    fn skills(self) -> Vec<SkillId> {
        if self.is_refused_otherwise { Vec::new() } else { self.skills.into_iter().collect() }
    }
}

fn plain(layer: LayerKind, effect: Effect, because: String) -> LayerDecision {
    LayerDecision { layer, effect, because, rule: None, losers: Vec::new(), ceiling: None }
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
