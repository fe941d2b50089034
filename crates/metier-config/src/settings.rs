//! The settings in effect, in the domain's own types: a caller passes these values on as they are.
//!
//! [`Settings::merge`] (in `merge.rs`) makes them from the layers. Rules become layers of the policy
//! in `rules.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use metier_agent::RunLimits;
use metier_loader::BodyLimits;
use metier_model::Provider;
use metier_pack::SourcePolicy;
use metier_policy::{Lifetime, Permission, PlacedExample, PlacedRule, Preapproval};
use metier_registry::catalog::CatalogFormat;
use metier_registry::{ScanOptions, SwitchedSkill};
use metier_sandbox::Tier;
use metier_skill::{Limits, Profile, SkillId};
use metier_tools::OutputCap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agents::AgentLayer;
use crate::layer::Scope;
use crate::resolve::Explained;

/// The settings of one program run, merged from the defaults and the files of administrators, the
/// user and the project.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// More folders to look for skills in: the project's, then the user's.
    pub skill_roots: Vec<ConfiguredRoot>,
    /// How skills with faults are read: strict or lenient.
    pub profile: Profile,
    /// The model that decides.
    pub model: ModelSettings,
    /// How scripts and tools run.
    pub execution: ExecutionSettings,
    /// Bounds on what is read of a skill while it is found and checked.
    pub limits: Limits,
    /// How much of a body a model is given, and what happens to a longer one.
    pub body_limits: BodyLimits,
    /// How folders are searched for skills.
    pub walk: WalkSettings,
    /// Each file's rules, kept apart: the policy joins their answers by the strictest.
    pub permissions: Vec<PermissionLayer>,
    /// What each file says about each agent; [`Settings::agent`] puts one together.
    pub agents: BTreeMap<String, Vec<AgentLayer>>,
    /// Whether skills are used at all.
    pub enable_skills: bool,
    /// Skills switched on or off, by id or by name; an id is more precise.
    pub skills: BTreeMap<String, bool>,
    /// Those of them that the project's file switches off.
    pub off_by_project: BTreeSet<String>,
    /// Which sources skills may be installed from.
    pub sources: SourcePolicy,
    /// What a run may spend.
    pub run_limits: RunLimits,
    /// The list of skills that a model is shown.
    pub catalog: CatalogSettings,
    /// Public keys, each as minisign or OpenSSH writes it, whose signatures are trusted; from the user's file only.
    pub trusted_keys: Vec<String>,
    pub(crate) explained: Vec<Explained>,
}

impl Settings {
    /// Every value with the file it came from, in the order of the documentation.
    pub fn explain(&self) -> &[Explained] {
        &self.explained
    }

    /// How skills are found. The folder for caches is the caller's to add.
    pub fn scan_options(&self) -> ScanOptions {
        ScanOptions {
            profile: self.profile,
            limits: self.limits,
            follow_links: self.walk.follow_symlinks,
            max_depth: self.walk.max_depth,
            max_entries: self.walk.max_entries,
            switches: self
                .skills
                .iter()
                .map(|(key, enabled)| SwitchedSkill {
                    key: key.clone(),
                    enabled: *enabled,
                    off_by_project: self.off_by_project.contains(key),
                })
                .collect(),
            ..ScanOptions::default()
        }
    }

    /// Whether the skill with this id (`source:name`) is switched on: by its id, else by its name,
    /// else it is. A name that is spelt like an id is not a name here: `user:pdf` means the user's
    /// `pdf`.
    pub fn is_skill_enabled(&self, id: &str) -> bool {
        let name = id.split_once(':').map(|(_, name)| name);
        let name = name.filter(|name| name.parse::<SkillId>().is_err());
        let mut keys = [Some(id), name].into_iter().flatten();
        keys.find_map(|key| self.skills.get(key)).copied().unwrap_or(true)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::merge(None, None)
    }
}

/// A folder from `skill_roots`, as written; the caller resolves `~` and relative paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredRoot {
    /// The path as written.
    pub path: String,
    /// The file that names it.
    pub origin: String,
    /// Whose file that is.
    pub scope: Scope,
}

/// Whether a model is asked for a plan beside its actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanSetting {
    /// Off for endpoints on this machine, which serve small models; on elsewhere.
    #[default]
    Auto,
    /// It may give a plan.
    On,
    /// It is not asked for one; the runtime keeps a plan of its own.
    Off,
}

/// The model that decides.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The provider that is asked.
    pub provider: Provider,
    /// The model's name, as the provider spells it.
    pub name: Option<String>,
    /// Where the provider is reached, if not at its usual address.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, if not the usual one.
    pub key_env: Option<String>,
    /// A program and its arguments that print the key.
    pub key_command: Option<Vec<String>>,
    /// Whether the model is asked for a plan.
    pub plan: PlanSetting,
    /// What else is passed to the provider.
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// How scripts and tools run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSettings {
    /// Tools that ask before each use, besides those that ask anyway; sorted.
    pub require_approval_for: Vec<Permission>,
    /// When a script is stopped.
    pub timeout: Duration,
    /// How much of a tool's output a model is shown.
    pub output_cap: OutputCap,
    /// Names of environment variables that scripts may see.
    pub env: Vec<String>,
    /// The weakest sandbox that a script may run in: `none` where `require_sandbox` is off.
    pub min_tier: Tier,
    /// The longest time for which an answer "always" is remembered.
    pub always: Lifetime,
    /// Whether a trusted skill's `allowed-tools` also approves.
    pub preapproval: Preapproval,
}

/// How folders are searched for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkSettings {
    /// Whether links to directories are followed.
    pub follow_symlinks: bool,
    /// Levels below a root.
    pub max_depth: usize,
    /// Files and folders below a root.
    pub max_entries: usize,
}

/// One file's permission rules, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionLayer {
    /// The file.
    pub origin: String,
    /// Whose file it is.
    pub scope: Scope,
    /// Its rules.
    pub rules: Vec<PlacedRule>,
    /// What its author expects of them.
    pub examples: Vec<PlacedExample>,
}

/// The list of skills that a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogSettings {
    /// How the list is written.
    pub format: CatalogFormat,
    /// Tokens that the list may take.
    pub budget_tokens: usize,
}
