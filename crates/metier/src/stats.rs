//! How often each skill was used, what its text cost, and how often it was wanted in vain: from the
//! records of this workspace's runs alone. Nothing is kept for it, and nothing is sent anywhere.

use std::collections::BTreeMap;

use metier_agent::audit::RecordVerdict;
use metier_agent::{Event, Op};
use metier_model::Action;
use metier_skill::estimate_tokens;
use serde::Serialize;

use crate::error::Result;
use crate::open::Metier;
use crate::runs::RunState;

/// How skills were used.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct SkillStats {
    /// The runs that were looked at.
    pub runs: usize,
    /// Runs whose records are broken, have another format or cannot be read: they do not count.
    pub skipped: usize,
    /// Each skill that was used or wanted, the most used first.
    pub skills: Vec<SkillUse>,
}

/// How one skill was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillUse {
    /// Its id; of one that does not exist, the name that was asked for.
    pub skill: String,
    /// How often it was loaded, by the model or a person.
    pub uses: u64,
    /// Tokens that its text took, as an estimate.
    pub tokens: u64,
    /// How often it was wanted and not loaded: refused, changed, or not there.
    pub misses: u64,
    /// When it was loaded last, in UTC.
    pub last_use: Option<String>,
}

impl Metier {
    /// How skills were used in the runs of this workspace.
    pub fn skill_stats(&self) -> Result<SkillStats> {
        let mut stats = SkillStats::default();
        let mut skills: BTreeMap<String, SkillUse> = BTreeMap::new();
        let scan = self.skills();
        for folder in self.runs()? {
            let verdict = RunState::of(&folder).record;
            if verdict.is_none_or(|verdict| verdict == RecordVerdict::Broken) {
                stats.skipped += 1;
                continue;
            }
            stats.runs += 1;
            for run in std::iter::once(folder.clone()).chain(folder.inner_runs()?) {
                let setup = run.setup().ok();
                // What a name meant in the run; what was not offered there may be here.
                let id_of = |name: &str| {
                    let then = setup.as_ref().and_then(|setup| setup.skill(name));
                    let then = then.map(|card| card.id.to_string());
                    let now = || scan.index.find(name).map(|entry| entry.id().to_string());
                    then.or_else(now).unwrap_or_else(|| name.to_owned())
                };
                count(&run.readable_events()?.0, id_of, &mut skills);
            }
        }
        stats.skills =
            skills.into_iter().map(|(skill, known)| SkillUse { skill, ..known }).collect();
        stats.skills.sort_by(|a, b| b.uses.cmp(&a.uses).then_with(|| a.skill.cmp(&b.skill)));
        Ok(stats)
    }
}

/// Counts the skills of one record. `id_of` gives the id of the skill that a name meant, or the name.
fn count(
    records: &[metier_agent::Record],
    id_of: impl Fn(&str) -> String,
    skills: &mut BTreeMap<String, SkillUse>,
) {
    let mut missing: Vec<String> = Vec::new();
    for record in records {
        match &record.event {
            Event::DecisionMade { decision, .. } => {
                missing = match &decision.action {
                    Action::SelectSkills { skills, .. } => {
                        skills.iter().map(|skill| skill.text()).collect()
                    }
                    _ => Vec::new(),
                };
            }
            Event::PolicyDecided { op: Op::Load { skill, .. }, op_id: 1.., effect, .. } => {
                missing.retain(|name| !is_called(name, skill));
                if *effect == metier_policy::Effect::Deny {
                    skills.entry(skill.to_string()).or_default().misses += 1;
                }
            }
            Event::PolicyDecided { op: Op::Delegate { skill, .. }, .. } => {
                missing.retain(|name| !is_called(name, skill));
            }
            Event::ActionFinished { outcome, .. } => {
                let Some(text) = outcome.skill.as_ref().filter(|_| outcome.ok) else { continue };
                let known = skills.entry(text.id.to_string()).or_default();
                known.uses += 1;
                known.tokens += estimate_tokens(text.block.as_str()) as u64;
                known.last_use = known.last_use.take().max(Some(record.time.clone()));
            }
            Event::SkillChanged { skill, loaded: false, .. } => {
                skills.entry(skill.to_string()).or_default().misses += 1;
            }
            // What was named and never came to a decision does not exist.
            Event::ObservationMade {
                code: Some(metier_skill::FailureCode::SkillNotFound), ..
            } => {
                for name in missing.drain(..) {
                    skills.entry(id_of(&name)).or_default().misses += 1;
                }
            }
            _ => {}
        }
    }
}

fn is_called(name: &str, id: &metier_skill::SkillId) -> bool {
    name == id.name.as_str() || name == id.to_string()
}
