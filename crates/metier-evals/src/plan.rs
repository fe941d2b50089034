//! The plan of a run: an immutable manifest of what is tested, on what, how often.
//!
//! Everything that could change a result is in it, so that two plans with one id are the same run: on
//! another machine, in a shard, or after a crash. A unit is one trial of one case in one arm; its
//! fingerprint says which earlier result is still its own.

use std::collections::{BTreeMap, BTreeSet};

use metier::skill::Digest;
use serde::{Deserialize, Serialize};

use crate::case::Case;

/// The most trials of a case in one arm.
pub const MAX_TRIALS: u32 = 1000;
/// The most units of a plan: a few hundred bytes of each are held in memory while it is worked on.
pub const MAX_UNITS: u64 = 5_000_000;
/// The largest manifest: a million cases of a few hundred bytes.
pub(crate) const MAX_PLAN_BYTES: u64 = 256 << 20;

/// The version of a plan's format.
pub const PLAN_FORMAT: u32 = 1;

/// How the skill under test is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// It is not there.
    None,
    /// It is in the catalog, as always.
    Listed,
    /// It is loaded before the first turn.
    Forced,
    /// Its text stands in every prompt, as if it were always-present instructions.
    Inlined,
}

impl Arm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Listed, Self::Forced, Self::Inlined];

    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Listed => "listed",
            Self::Forced => "forced",
            Self::Inlined => "inlined",
        }
    }

    /// Whether loading the skill is the model's own choice, so that triggering can be measured.
    pub const fn measures_triggers(self) -> bool {
        matches!(self, Self::Listed)
    }
}

/// What kind of model decides. A gate may ask for a real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// A language model behind an endpoint, or another agent's.
    Real,
    /// The offline model: a real policy, and no language model.
    Router,
    /// Fixed decisions: scripted or replayed. What it says proves nothing about a skill.
    Mock,
}

/// What is tested: our loop with a model, or another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectInfo {
    /// `metier`, or how the agent is driven.
    pub kind: String,
    /// The provider or the agent's command.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// What kind of model decides.
    pub model_kind: ModelKind,
    /// Digest of everything else that could change what it does: settings, prompt, parameters, version.
    pub settings: Digest,
}

/// The immutable manifest of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalPlan {
    /// The version of this format.
    #[serde(deserialize_with = "crate::format_version::known::<_, PLAN_FORMAT>")]
    pub format: u32,
    /// The version of the program that made it.
    pub harness: String,
    /// What is tested.
    pub subject: SubjectInfo,
    /// The model that judges answers, where one is named: `provider:model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// The digest of all skills that are listed, with everything that is in them: a case may load any of them.
    pub index_hash: Digest,
    /// The skills under test, with the digests of their trees.
    pub skills: BTreeMap<String, Digest>,
    /// How skills are offered, in order.
    pub arms: Vec<Arm>,
    /// Trials of each case in each arm.
    pub trials: u32,
    /// The cases, by id.
    pub cases: Vec<Case>,
}

/// One trial of one case in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalUnit {
    /// Its place in the plan.
    pub index: u64,
    /// The case's place in the plan.
    pub case: usize,
    /// How the skill is offered.
    pub arm: Arm,
    /// Which trial, from 0.
    pub trial: u32,
    /// What its result is kept under.
    pub fingerprint: Digest,
}

impl EvalPlan {
    /// The id: the digest of all that is in it.
    pub fn id(&self) -> Digest {
        digest_of(self)
    }

    /// How many units there are.
    pub fn unit_count(&self) -> u64 {
        let of_case = (self.arms.len() as u64).saturating_mul(u64::from(self.trials));
        of_case.saturating_mul(self.cases.len() as u64)
    }

    /// What makes it a plan that no program should carry out: a format that is not known, more than a plan may
    /// hold, or units that look the same. Plans come from files, requests and databases.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.format != PLAN_FORMAT {
            let format = self.format;
            return Some(format!("has the format {format}; this program reads {PLAN_FORMAT}"));
        }
        if !(1..=MAX_TRIALS).contains(&self.trials) {
            let trials = self.trials;
            return Some(format!("has {trials} trials a case; 1 to {MAX_TRIALS} are possible"));
        }
        let arms: BTreeSet<Arm> = self.arms.iter().copied().collect();
        if arms.is_empty() || arms.len() != self.arms.len() {
            return Some("does not name each of its arms once".to_owned());
        }
        if self.unit_count() > MAX_UNITS {
            let units = self.unit_count();
            return Some(format!("has {units} units; at most {MAX_UNITS} are possible"));
        }
        let mut ids = BTreeSet::new();
        let twice = self.cases.iter().find(|case| !ids.insert(case.id.as_str()))?;
        Some(format!("has two cases with the id `{}`", twice.id))
    }

    /// All units, in order: the arms and trials of one case stand together.
    pub fn units(&self) -> impl Iterator<Item = EvalUnit> + '_ {
        let basis = self.basis();
        let cases = self.cases.iter().enumerate().flat_map(move |(place, case)| {
            let of_case = case.digest();
            let pairs = self.arms.iter();
            let pairs = pairs.flat_map(move |arm| (0..self.trials).map(move |trial| (*arm, trial)));
            pairs.map(move |(arm, trial)| {
                let fingerprint = digest_of(&(basis, of_case, arm, trial));
                EvalUnit { index: 0, case: place, arm, trial, fingerprint }
            })
        });
        (0..).zip(cases).map(|(index, unit)| EvalUnit { index, ..unit })
    }

    /// The same without its cases.
    pub(crate) fn without_cases(&self) -> Self {
        Self {
            format: self.format,
            harness: self.harness.clone(),
            subject: self.subject.clone(),
            judge: self.judge.clone(),
            index_hash: self.index_hash,
            skills: self.skills.clone(),
            arms: self.arms.clone(),
            trials: self.trials,
            cases: Vec::new(),
        }
    }

    /// What all units of the plan share. Other cases, the skills that they name, arms and the number of trials do not
    /// belong to it, so that adding one leaves every other result as it is: what is in the skills is in `index_hash`.
    fn basis(&self) -> Digest {
        digest_of(&(self.format, &self.harness, &self.subject, &self.judge, &self.index_hash))
    }
}

impl Case {
    /// The digest of what it asks and expects. Where it was written and its words to choose by are left out.
    pub fn digest(&self) -> Digest {
        digest_of(&(
            &self.input,
            &self.skill,
            &self.files,
            &self.contents,
            &self.expected,
            &self.constraints,
            &self.replies,
            &self.id,
        ))
    }
}

/// The digest of a value's JSON, whose keys have a fixed order.
fn digest_of(value: &impl Serialize) -> Digest {
    // Strings, numbers and maps with text keys: there is nothing that JSON could refuse.
    Digest::of(&serde_json::to_vec(value).unwrap_or_default())
}
