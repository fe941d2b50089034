//! What counts in the end: plain values with nothing left out, for the crates that act on them.
//!
//! [`Settings::merge`] (in `merge.rs`) makes them from the layers and holds the defaults.

use crate::config::{
    ApprovalTarget, CatalogFormat, MinTier, OverLongBody, PermissionExample, PermissionRule,
    Profile, Provider,
};
use crate::layer::Scope;
use crate::resolve::Explained;
use std::collections::BTreeMap;

/// The settings of one program run, merged from defaults, the files of administrators,
/// the user's and the project's.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// More folders to look for skills in: the project's, then the user's.
    pub skill_roots: Vec<ConfiguredRoot>,
    /// How skills with faults are read.
    pub profile: Profile,
    /// The model that decides.
    pub model: ModelSettings,
    /// How scripts and tools run.
    pub execution: ExecutionSettings,
    /// Limits on what is read from skills.
    pub security: SecuritySettings,
    /// Each file's rules, kept apart: the policy joins their answers by the strictest.
    pub permissions: Vec<PermissionLayer>,
    /// Skills switched on or off, by id or by name; an id is more precise.
    pub skills: BTreeMap<String, bool>,
    /// What a run may spend.
    pub budgets: BudgetSettings,
    /// The list of skills that a model is shown.
    pub catalog: CatalogSettings,
    /// Minisign public keys whose signed packs are trusted; from the user's file only.
    pub trusted_keys: Vec<String>,
    pub(crate) explained: Vec<Explained>,
}

impl Settings {
    /// Every value with the file it came from, in the order of the documentation.
    pub fn explain(&self) -> &[Explained] {
        &self.explained
    }

    /// Whether the skill with this id (`source:name`) is switched on: by its id, else by its name,
    /// else it is. A name that is spelt like an id is no name here: `user:pdf` means the user's
    /// `pdf`.
    pub fn is_skill_enabled(&self, id: &str) -> bool {
        let name = id.split_once(':').map(|(_, name)| name);
        let name = name.filter(|name| name.parse::<metier_skill::SkillId>().is_err());
        let mut keys = [Some(id), name].into_iter().flatten();
        keys.find_map(|key| self.skills.get(key)).copied().unwrap_or(true)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::merge(None, None)
    }
}

/// A folder from `skill_roots`, as written; who reads files resolves `~` and relative paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredRoot {
    /// The path as written.
    pub path: String,
    /// The file that names it.
    pub origin: String,
    /// Whose file that is.
    pub scope: Scope,
}

/// The model that decides.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// Who is asked.
    pub provider: Provider,
    /// The model's name, as the provider spells it.
    pub name: Option<String>,
    /// Where the provider is reached, if not at its usual place.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, if not the usual one.
    pub key_env: Option<String>,
    /// A program and its arguments that print the key.
    pub key_command: Option<Vec<String>>,
    /// What else is passed to the provider.
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// How scripts and tools run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSettings {
    /// Tools that ask before each use, besides those that ask anyway; sorted.
    pub require_approval_for: Vec<ApprovalTarget>,
    /// Seconds until a script is stopped.
    pub timeout_s: u64,
    /// Characters of a script's output that a model is shown.
    pub max_output_chars: usize,
    /// Names of environment variables that scripts may see.
    pub env: Vec<String>,
    /// Whether a script is refused when it cannot be sandboxed.
    pub require_sandbox: bool,
    /// The weakest sandbox that a script may run in.
    pub min_tier: MinTier,
    /// Seconds for which an answer "always" is remembered.
    pub always_expires_s: Option<u64>,
    /// Whether a trusted skill's `allowed-tools` also approves.
    pub allowed_tools_approve: bool,
}

/// Limits on what is read from skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecuritySettings {
    /// Lines of a skill's body that are loaded.
    pub max_skill_body_lines: usize,
    /// Characters of a skill's body that are loaded.
    pub max_skill_body_chars: usize,
    /// What happens to a body that is longer.
    pub over_long_body: OverLongBody,
    /// Whether `<` and `>` in a field that a model sees keep a skill out.
    pub block_angle_brackets_in_frontmatter: bool,
    /// Whether the search for skills follows links to directories.
    pub follow_symlinks: bool,
    /// Lines that a skill's frontmatter may have.
    pub max_frontmatter_lines: usize,
    /// Characters that a line of frontmatter may have.
    pub max_frontmatter_line_chars: usize,
    /// Bytes that a skill's frontmatter may have.
    pub max_frontmatter_bytes: usize,
    /// Characters of a description above which a skill is kept out.
    pub max_description_chars: usize,
    /// Levels below a root where skills are looked for.
    pub max_walk_depth: usize,
    /// Files and folders below a root that are looked at.
    pub max_walk_entries: usize,
}

impl Default for SecuritySettings {
    fn default() -> Self {
        Settings::default().security
    }
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
    /// What they should come to.
    pub examples: Vec<PlacedExample>,
}

/// A rule and where it stands, for `metier explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    /// The rule.
    pub rule: PermissionRule,
    /// Its line in the file.
    pub line: usize,
}

/// An example and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedExample {
    /// The example.
    pub example: PermissionExample,
    /// Its line in the file.
    pub line: usize,
}

/// What a run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSettings {
    /// Decisions of the model.
    pub turns: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Runs of scripts.
    pub script_runs: u32,
    /// Seconds from start to end.
    pub wall_s: Option<u64>,
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Settings::default().budgets
    }
}

/// The list of skills that a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogSettings {
    /// How the list is written.
    pub format: CatalogFormat,
    /// Tokens that the list may take, if not the usual number.
    pub budget_tokens: Option<u32>,
}
