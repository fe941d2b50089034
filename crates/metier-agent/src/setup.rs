//! What a run is given before it starts, and keeps to its end: request, skills, tools, limits.
//!
//! It is written to the run's folder, so that a resumed or replayed run starts from the same words.

use std::collections::BTreeMap;
use std::sync::Arc;

use metier_model::{DecisionForm, ModelInfo, PlanMode, ToolOffer};
use metier_skill::{Digest, SkillId};
use metier_tools::ShownBody;
use serde::{Deserialize, Serialize};

use crate::prompt_parts::KnownParts;
use crate::skill_cards::SkillCards;

/// What a run is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The request, as it was typed.
    pub request: String,
    /// Whether it is not a person's own words: scripts are given no file because it names one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_no_files: bool,
    /// Files that the user gave, by path in the workspace.
    pub files: Vec<String>,
    /// The stable part of every prompt: instructions, actions, tools, catalog.
    pub system: Arc<str>,
    /// The same in the words for models whose decisions are calls of a function.
    pub system_for_call: Arc<str>,
    /// The first message: the request and what the catalog shows for it.
    pub opening: String,
    /// Who decides.
    pub model: ModelInfo,
    /// Whether the model is asked for a plan.
    pub plan: PlanMode,
    /// What the project's file set about the model, with its lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_by_project: Vec<String>,
    /// The agent that it was started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The bodies in the prompt's catalog, each with the decision by which it is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownBody>,
    /// The tools that may be called.
    pub tools: Arc<[ToolCard]>,
    /// Skills that the user chose, loaded before the first turn.
    pub chosen: Vec<Chosen>,
    /// What may be spent.
    pub limits: RunLimits,
    /// The settings that they come from, by the name of the budget; nothing for a program's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget_settings: BTreeMap<String, BudgetSetting>,
    /// What the user denied for this run alone, as it was typed. It holds when the run continues in
    /// another process. What was allowed is not kept: the folder of a run can come with a project,
    /// and a project grants nothing.
    #[serde(default)]
    pub denied: Vec<String>,
    /// Whether things are done, or only decided about.
    pub mode: Mode,
    /// Whether this is a loop inside another.
    #[serde(default)]
    pub is_inner: bool,
    /// The ceilings that the loop outside hands on.
    #[serde(default, skip_serializing_if = "OuterCeilings::is_empty")]
    pub outer: OuterCeilings,
    /// The hash of the pinned index.
    pub index_hash: Digest,
    /// The pinned index; a file of its own.
    #[serde(skip)]
    pub skills: SkillCards,
    /// What was made from it for prompts, here or for an earlier run.
    #[serde(skip)]
    pub parts: KnownParts,
}

/// What a subagent takes over from the run that started it: its context starts fresh, what holds does
/// not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OuterCeilings {
    /// The skills that were loaded outside.
    pub loaded: Vec<SkillId>,
    /// Those whose ceilings a person lifted.
    pub lifted: Vec<SkillId>,
    /// Those whose ceilings a person refused to lift.
    pub kept: Vec<SkillId>,
}

impl OuterCeilings {
    /// Whether nothing is handed on.
    pub const fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }
}

/// Whether things are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// They are.
    #[default]
    Real,
    /// They are decided about; nothing runs and nothing is changed.
    DryRun,
}

/// A skill of the pinned index.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SkillCard {
    /// Its id.
    pub id: SkillId,
    /// Its name.
    pub name: Arc<str>,
    /// Where it comes from.
    pub source: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// What it was when the run began.
    #[serde(flatten)]
    pub pinned: PinnedSkill,
    /// Whether the model may select it.
    pub offered: bool,
    /// Whether another skill of its name counts, so that the model has to name its source.
    #[serde(default)]
    pub shadowed: bool,
    /// Whether it coordinates others, and so is loaded before them.
    pub coordinator: bool,
    /// Whether it runs in a loop of its own.
    pub subagent: bool,
}

/// What a skill was when a run began: a run keeps to it, in other processes too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSkill {
    /// The digest of its frontmatter.
    pub digest: Digest,
    /// What its `SKILL.md` looked like: a number that is another one when the file is written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// A tool, and whether a second call could do harm that one does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCard {
    /// What the model is shown.
    #[serde(flatten)]
    pub offer: ToolOffer,
    /// Whether it changes something.
    pub changes: bool,
}

/// A skill that the user chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its id.
    pub id: SkillId,
    /// What was typed after `/name`; nothing when it was chosen by a flag.
    pub arguments: Option<String>,
}

/// The setting that a budget comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSetting {
    /// As a person writes it: `budgets.turns`, `agents.NAME.budgets.turns`, `--max-turns`.
    pub key: String,
    /// The file and line that set it; nothing for a default and for a flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// What a run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Decisions of the model.
    pub turns: u32,
    /// Calls of tools, scripts included.
    pub tool_calls: u32,
    /// Runs of scripts.
    pub script_runs: u32,
    /// Milliseconds from start to end.
    pub wall_ms: Option<u64>,
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
    /// Bodies of skills that are loaded in one turn.
    pub skills_a_turn: u32,
    /// How often one action may have one result before it is a loop.
    pub repeats: u32,
    /// Replies in a row that may be no decision.
    pub invalid_in_row: u32,
    /// Tokens that a prompt may have.
    pub prompt_tokens: u64,
    /// Tokens that a reply may have.
    pub reply_tokens: u32,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            turns: 12,
            tool_calls: 30,
            script_runs: 10,
            wall_ms: None,
            tokens: None,
            skills_a_turn: 2,
            repeats: 3,
            invalid_in_row: 4,
            prompt_tokens: 96_000,
            reply_tokens: 4096,
        }
    }
}

impl Setup {
    /// What a decision of this run may hold.
    pub fn form(&self) -> DecisionForm {
        DecisionForm { plan: self.plan, search: self.skills.search() }
    }

    /// The skill with this id.
    pub fn card(&self, id: &SkillId) -> Option<&SkillCard> {
        self.skills.iter().find(|card| card.id == *id)
    }

    /// The skill that a model or a person names: by id, or by name, where the one that counts
    /// stands first.
    pub fn skill(&self, text: &str) -> Option<&SkillCard> {
        let by_id = text.parse().ok().and_then(|id| self.card(&id));
        by_id.or_else(|| self.skills.iter().find(|card| *card.name == *text))
    }
}
