//! The plan of a run: an immutable manifest of what is tested, on what, how often.
//!
//! Everything that could change a result is in it, so that two plans with one id are the same run: on
//! another machine, in a shard, or after a crash. A unit is one trial of one case in one arm; its
//! fingerprint says which earlier result is still its own.

use std::collections::BTreeMap;

use metier::skill::Digest;
use serde::{Deserialize, Serialize};

use crate::case::Case;

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
    /// The hash of the index: of all skills that are listed.
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
        self.cases.len() as u64 * self.arms.len() as u64 * u64::from(self.trials)
    }

    /// All units, in order: the arms and trials of one case stand together.
    pub fn units(&self) -> impl Iterator<Item = EvalUnit> + '_ {
        let basis = self.basis();
        let mut index = 0;
        self.cases.iter().enumerate().flat_map(move |(place, case)| {
            let of_case = case.digest();
            let pairs =
                self.arms.iter().flat_map(|arm| (0..self.trials).map(move |trial| (*arm, trial)));
            let units: Vec<EvalUnit> = pairs
                .map(|(arm, trial)| {
                    let fingerprint = digest_of(&(basis, of_case, arm, trial));
                    index += 1;
                    EvalUnit { index: index - 1, case: place, arm, trial, fingerprint }
                })
                .collect();
            units
        })
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

    /// What all units of the plan share. Other cases, arms and the number of trials do not belong to
    /// it, so that adding one leaves every other result as it is.
    fn basis(&self) -> Digest {
        digest_of(&(
            self.format,
            &self.harness,
            &self.subject,
            &self.judge,
            &self.index_hash,
            &self.skills,
        ))
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
            &self.id,
        ))
    }
}

/// The digest of a value's JSON, whose keys have a fixed order.
fn digest_of(value: &impl Serialize) -> Digest {
    // Strings, numbers and maps with text keys: there is nothing that JSON could refuse.
    Digest::of(&serde_json::to_vec(value).unwrap_or_default())
}
