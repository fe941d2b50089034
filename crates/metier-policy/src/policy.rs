//! The engine: layers and places in, decisions out. Pure, and the same on every way in.
//!
//! ```text
//! granted  = the strictest of managed and user, or the default where neither has a rule
//! effect   = the strictest of granted, approval, project, skill, run, trust and floor
//! an ask becomes an allow by a remembered answer (or, if the user wants it, by a trusted skill's
//! `allowed-tools` where only the default asked); a deny stays
//! ```
//!
//! So only an administrator or the user can say more than the default, and nothing else can say more
//! than they did. With several subjects each is judged alone and the strictest answer counts.

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

/// Whether a trusted skill's `allowed-tools` also answers asks, as the public format reads it.
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
    /// Whether its content is known to be trusted. Asked only where `allowed-tools` approve.
    pub trusted: bool,
}

/// What changes from one request to the next.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    /// The skills that the run has loaded.
    pub loaded: &'a [LoadedSkill],
    /// The answers that are remembered.
    pub memory: &'a AnswerMemory,
    /// The time now.
    pub now: UnixTime,
}

/// All rules of a run, and where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layers: Vec<RuleLayer>,
    places: PolicyPlaces,
    preapproval: Preapproval,
    longest_memory: Lifetime,
}

impl Policy {
    /// A policy without rules: defaults, ceilings, trust and the floor.
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

    /// Sets the longest time for which an answer counts, whatever it was given for.
    #[must_use]
    pub const fn with_longest_memory(mut self, longest: Lifetime) -> Self {
        self.longest_memory = longest;
        self
    }

    /// Whether `allowed-tools` also approves.
    pub const fn preapproval(&self) -> Preapproval {
        self.preapproval
    }

    /// Where things are.
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

    /// Decides as [`Self::decide`] does, and names the rules that matched and lost.
    pub fn explain(&self, request: &Request, situation: &RequestContext<'_>) -> PolicyDecision {
        self.judge(request, situation, OverruledRules::Named)
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
            let spelled = SubjectSpellings::new(subject, &self.places);
            let verdicts = self.verdicts(request, &spelled, situation, losers);
            let effect = verdicts.iter().map(|verdict| verdict.effect).min();
            let effect = effect.unwrap_or(Effect::Deny);
            if effect == Effect::Ask {
                let entry = self.preapproving_entry(request, &spelled, &verdicts, situation);
                preapproved = preapproved.and(entry.map(str::to_owned));
            }
            if strictest.as_ref().is_none_or(|(known, _, _)| effect < *known) {
                strictest = Some((effect, subject, verdicts));
            }
        }
        // `judged` gives at least one subject, so there is an answer.
        let Some((effect, subject, verdicts)) = strictest else {
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
        PolicyDecision::new(&request.permission, subject.clone(), verdicts, lifted)
    }

    /// What each layer says about one subject, in the order of [`LayerKind`].
    fn verdicts(
        &self,
        request: &Request,
        spelled: &SubjectSpellings<'_>,
        situation: &RequestContext<'_>,
        losers: OverruledRules,
    ) -> Vec<LayerDecision> {
        let permission = &request.permission;
        let answers = self.layers.iter().filter_map(|l| l.judge(permission, spelled, losers));
        let mut granted = false;
        let mut verdicts: Vec<LayerDecision> = answers
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
                at_home: &|subject| self.at_home(subject, situation.loaded),
                switched_on: &|| self.layers.iter().any(|layer| layer.switches_on(permission)),
            };
            let (effect, because) = by_risk(request, spelled.subject, &around);
            verdicts.push(plain(LayerKind::Default, effect, because));
        }
        verdicts.extend(ceilings(request, spelled, situation.loaded));
        verdicts.extend(trust(request, spelled.subject));
        let loaded = |id: &SkillId| situation.loaded.iter().any(|skill| skill.id == *id);
        let actor = Actor { skill: request.skill.as_ref(), loaded: &loaded };
        let floor = refusal(permission, spelled.subject, actor, &self.places);
        verdicts.extend(floor.map(|because| plain(LayerKind::Floor, Effect::Deny, because)));
        verdicts.sort_by_key(|verdict| (verdict.layer, verdict.effect));
        verdicts
    }

    fn at_home(&self, subject: &Subject, loaded: &[LoadedSkill]) -> bool {
        let Subject::Path(path) = subject else { return false };
        let dirs = loaded.iter().filter_map(|skill| skill.dir.as_ref());
        self.places.in_workspace(path) || dirs.into_iter().any(|dir| path.below(dir).is_some())
    }

    /// The entry of `allowed-tools` that approves, where the user wants that, all loaded skills are
    /// trusted, and nobody but the default asked.
    fn preapproving_entry<'a>(
        &self,
        request: &Request,
        spelled: &SubjectSpellings<'_>,
        verdicts: &[LayerDecision],
        situation: &RequestContext<'a>,
    ) -> Option<&'a str> {
        let acting = request.skill.as_ref()?;
        let only_default = |verdict: &LayerDecision| {
            verdict.effect == Effect::Allow || verdict.layer == LayerKind::Default
        };
        // For whom something is done is what a model says: one skill that is not trusted could have it
        // done in the name of another.
        let may = self.preapproval == Preapproval::TrustedSkills
            && acting.standing == TrustStatus::Trusted
            && situation.loaded.iter().all(|skill| skill.trusted)
            && verdicts.iter().all(only_default);
        let skill = situation.loaded.iter().find(|skill| may && skill.id == acting.id)?;
        skill.ceiling.as_ref()?.listing(&request.permission, spelled)
    }
}

fn plain(layer: LayerKind, effect: Effect, because: String) -> LayerDecision {
    LayerDecision { layer, effect, because, rule: None, losers: Vec::new() }
}

/// The ceilings that refuse. Acting for a skill, its own counts; for none, those of all loaded.
/// Loading a skill is reading, not acting: otherwise no skill could follow one with a ceiling.
fn ceilings(
    request: &Request,
    spelled: &SubjectSpellings<'_>,
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
        if ceiling.listing(&request.permission, spelled).is_some() {
            return None;
        }
        let listed = ceiling.written().join(", ");
        let listed = if listed.is_empty() { "nothing".to_owned() } else { shown(&listed) };
        Some(deny(format!("the allowed-tools of {} list only {listed}", skill.id)))
    };
    loaded.iter().filter(counts).filter_map(refuses).collect()
}

/// What trust says. A skill that is used for nobody in particular is as little trusted as its source.
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
