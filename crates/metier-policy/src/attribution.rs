//! Which ceilings hold a request: attribution can only narrow.
//!
//! A model says for which skill a call is made, and the text of a limited skill can ask it to name
//! another one. So the name never frees a call from a ceiling:
//!
//! | request | held to the ceiling of |
//! |---|---|
//! | loading a skill or its files | none: reading is not acting |
//! | a script, its network included | the skill that it belongs to, so that skills combine |
//! | a low-risk tool | the skill that it is attributed to; a skill's file: also the skill that it belongs to |
//! | any other tool | every loaded skill whose ceiling no person lifted, and the one it is attributed to |

use metier_skill::SkillId;

use crate::decision::{CeilingRefusal, LayerDecision, LayerKind};
use crate::effect::Effect;
use crate::error::shown;
use crate::permission::{Permission, Risk};
use crate::places::PolicyPlaces;
use crate::policy::{CeilingReach, LoadedSkill};
use crate::request::Request;
use crate::subject::{Subject, SubjectSpellings};

/// The refusals by ceilings, one for each skill that refuses.
pub(crate) fn refusals(
    request: &Request,
    spellings: &SubjectSpellings<'_>,
    loaded: &[LoadedSkill],
    places: &PolicyPlaces,
) -> Vec<LayerDecision> {
    if request.permission == Permission::LoadSkill {
        return Vec::new();
    }
    let acting = request.skill.as_ref().map(|skill| &skill.id);
    if let Some(id) = acting.filter(|id| !loaded.iter().any(|skill| skill.is(id))) {
        return vec![refusal(format!("{id} is not loaded"), None)];
    }
    let owner = owner(spellings.subject, places);
    let holds = |skill: &LoadedSkill| {
        let is_its_own = [acting, owner].into_iter().flatten().any(|id| skill.is(id));
        match skill.reach {
            _ if is_its_own => Some(CeilingReach::Skill),
            CeilingReach::Run | CeilingReach::Outer if could_harm(request) => {
                Some(CeilingReach::Run)
            }
            _ => None,
        }
    };
    let refuses = |skill: &LoadedSkill| {
        let (ceiling, holds) = (skill.ceiling.as_ref()?, holds(skill)?);
        if ceiling.listing(&request.permission, spellings).is_some() {
            return None;
        }
        let listed = ceiling.written().join(", ");
        let listed = if listed.is_empty() { "nothing".to_owned() } else { shown(&listed) };
        let because = format!("the allowed-tools of {} list only {listed}", skill.id);
        Some(refusal(because, Some(CeilingRefusal { skill: skill.id.clone(), holds })))
    };
    loaded.iter().filter_map(refuses).collect()
}

/// Whether every loaded skill has a say. A script does what its own skill's author wrote, in the
/// sandbox, and has been asked about by its content.
fn could_harm(request: &Request) -> bool {
    let is_script = matches!(request.permission, Permission::RunScript | Permission::ScriptNetwork);
    !is_script && request.risk() > Risk::Low
}

/// The skill that a script or a file belongs to.
fn owner<'a>(subject: &'a Subject, places: &'a PolicyPlaces) -> Option<&'a SkillId> {
    match subject {
        Subject::Script { skill, .. } => Some(skill),
        Subject::Path(path) => places.skill_of(path),
        _ => None,
    }
}

fn refusal(because: String, ceiling: Option<CeilingRefusal>) -> LayerDecision {
    LayerDecision {
        layer: LayerKind::Skill,
        effect: Effect::Deny,
        because,
        rule: None,
        losers: Vec::new(),
        ceiling,
    }
}
