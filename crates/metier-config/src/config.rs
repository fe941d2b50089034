//! What a configuration file may say, as types.
//!
//! Every field is optional, because a file is one layer among several; defaults are not here but
//! in `merge.rs`. The doc comment of a field is its description in the JSON Schema, and so the
//! help that an editor or an error shows: write it for the person who edits the file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use metier_loader::OverLimit;
use metier_model::Provider;
use metier_policy::{Example, Permission, Rule};
use metier_registry::catalog::CatalogFormat;
use metier_sandbox::Tier;
use metier_skill::Profile;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent_rules::AgentRules;
use crate::settings::PlanSetting;
use crate::{choices, project_params};

/// The settings of Metier, in `.agent/config.json` (project) or `~/.agent/config.json` (user).
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// The address of this schema, for editors; Metier ignores it.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// More folders to search for skills, before the usual ones. A relative path starts at the folder that holds `.agent`; `~/` is the home directory.
    #[schemars(
        length(max = 1000),
        inner(length(min = 1)),
        extend("x-metier-not-managed" = true)
    )]
    pub skill_roots: Vec<String>,
    /// How skills with faults are treated. A project can only choose `strict`.
    #[schemars(schema_with = "choices::profiles")]
    pub profile: Option<Profile>,
    /// The model that decides what to do.
    #[schemars(extend("x-metier-not-managed" = true))]
    pub model: ModelConfig,
    /// How scripts and tools run.
    pub execution: ExecutionConfig,
    /// Limits on what is read from skills. A project can tighten them but not loosen them.
    pub security: SecurityConfig,
    /// Rules on what may be done. In one file the last matching rule wins; between files the strictest answer wins.
    #[schemars(length(max = 1000))]
    pub permissions: Vec<Rule>,
    /// Requests with the answers that this file's rules should give; a wrong answer is an error.
    #[schemars(length(max = 1000))]
    pub permission_examples: Vec<Example>,
    /// Agents by name: rules that only tighten, a model and budgets, for `--agent NAME`. `read-only` and `full` are built in.
    #[schemars(extend("x-metier-not-managed" = true))]
    pub agents: BTreeMap<String, AgentConfig>,
    /// Whether skills are used at all. A project can switch them off but not on.
    pub enable_skills: Option<bool>,
    /// The same as `enable_skills`.
    #[serde(rename = "enableSkills")]
    pub enable_skills_too: Option<bool>,
    /// Skills switched on or off, by id (`source:name`) or name.
    #[schemars(extend("x-metier-not-managed" = true))]
    pub skills: BTreeMap<String, SkillConfig>,
    /// Which sources skills may be installed from. A project can only narrow this.
    pub sources: SourcesConfig,
    /// What a run may spend. A project can lower a budget but not raise it.
    pub budgets: BudgetsConfig,
    /// The list of skills that a model is shown.
    #[schemars(extend("x-metier-not-managed" = true))]
    pub catalog: CatalogConfig,
    /// Public keys, each as minisign or OpenSSH writes it, whose signatures are trusted.
    #[schemars(
        length(max = 1000),
        inner(length(min = 1)),
        extend("x-metier-user-only" = true, "x-metier-not-managed" = true)
    )]
    pub trusted_keys: Vec<String>,
}

/// The model that decides what to do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The provider that is asked for decisions. A project can only choose `router` (or `mock`, which is the same there).
    pub provider: Option<Provider>,
    /// The model's name, as the provider spells it; for `scripted` and `mock` a file, for `replay` a run.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The provider's address, such as `http://localhost:11434/v1`.
    #[schemars(length(min = 1), extend("x-metier-user-only" = true))]
    pub base_url: Option<String>,
    /// The name of the environment variable that holds the key, if not the provider's usual one.
    #[schemars(length(min = 1), extend("x-metier-user-only" = true))]
    pub key_env: Option<String>,
    /// A command that prints the key, such as `["pass", "show", "openai"]`.
    #[schemars(length(max = 1000), inner(length(min = 1)), extend("x-metier-user-only" = true))]
    pub key_command: Option<Vec<String>>,
    /// Whether the model is asked for a plan beside its actions.
    pub plan: Option<PlanSetting>,
    /// Other parameters for the provider, such as `temperature`. A project can set only some of them.
    #[schemars(extend("x-metier-project" = project_params::schema()))]
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// How scripts and tools run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ExecutionConfig {
    /// Tools that ask before each use, besides those that ask anyway. The lists of all files are joined.
    #[schemars(schema_with = "choices::permissions")]
    pub require_approval_for: Vec<Permission>,
    /// Seconds until a script is stopped.
    pub timeout_s: Option<NonZeroU32>,
    /// How many characters of a script's output a model is shown.
    pub max_output_chars: Option<NonZeroU32>,
    /// Names of environment variables that scripts may see. Their values are masked in everything that is shown or stored.
    #[schemars(
        length(max = 1000),
        inner(length(min = 1), regex(pattern = "^[^=\\s]+$")),
        extend("x-metier-user-only" = true, "x-metier-not-managed" = true)
    )]
    pub env: Option<Vec<String>>,
    /// Whether a script that cannot be sandboxed is refused.
    #[schemars(extend("x-metier-user-only" = true))]
    pub require_sandbox: Option<bool>,
    /// The weakest sandbox that a script may run in.
    #[schemars(extend("x-metier-user-only" = true))]
    pub min_tier: Option<Tier>,
    /// How many seconds an answer "always" is remembered; without it, until you forget it or the skill changes.
    #[schemars(extend("x-metier-user-only" = true))]
    pub always_expires_s: Option<NonZeroU32>,
    /// Whether the tools in a trusted skill's `allowed-tools` need no approval, unless a rule asks for one. Otherwise the list only restricts the skill.
    #[schemars(extend("x-metier-user-only" = true))]
    pub allowed_tools_approve: Option<bool>,
}

/// Limits on what is read from skills.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SecurityConfig {
    /// Lines of a skill's body that are loaded.
    pub max_skill_body_lines: Option<NonZeroU32>,
    /// Characters of a skill's body that are loaded.
    pub max_skill_body_chars: Option<NonZeroU32>,
    /// What happens to a longer body. A project can only choose `refuse`.
    pub over_long_body: Option<OverLimit>,
    /// Whether a skill is kept out when a field that a model sees contains `<` or `>`.
    pub block_angle_brackets_in_frontmatter: Option<bool>,
    /// Whether the search for skills follows links to directories.
    pub follow_symlinks: Option<bool>,
    /// Lines that a skill's frontmatter may have.
    pub max_frontmatter_lines: Option<NonZeroU32>,
    /// Characters that a line of frontmatter may have, unless it is the value of a known field.
    pub max_frontmatter_line_chars: Option<NonZeroU32>,
    /// Bytes that a skill's frontmatter may have.
    pub max_frontmatter_bytes: Option<NonZeroU32>,
    /// Characters of a description above which a skill is kept out.
    pub max_description_chars: Option<NonZeroU32>,
    /// How many levels below a root are searched for skills.
    pub max_walk_depth: Option<NonZeroU32>,
    /// How many files and folders below a root are visited.
    pub max_walk_entries: Option<NonZeroU32>,
}

/// One skill, switched on or off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SkillConfig {
    /// Whether the skill is used.
    pub enabled: bool,
}

/// An agent: what it may do, of what is allowed anyway, and with which model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Rules that only tighten: a list as in `permissions`, or the short form `{"skill": {"internal-*": "deny", "*": "ask"}}`, in which the pattern with the most literal characters wins.
    pub permissions: AgentRules,
    /// The model of this agent, such as `openai:gpt-5-mini`, unless `--model` names another.
    #[schemars(length(min = 1), extend("x-metier-user-only" = true))]
    pub model: Option<String>,
    /// What a run of this agent may spend: never more than `budgets`.
    pub budgets: BudgetsConfig,
}

/// Which sources skills may be installed from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SourcesConfig {
    /// Hosts, or hosts with the beginning of a path, that may be used without a question: `github.com`, `github.com/anthropics`, `*.example.org`. In a project's or an administrator's file everything else is denied.
    #[schemars(length(max = 1000), inner(length(min = 1)))]
    pub allow: Option<Vec<String>>,
    /// The same for what may not be used, whatever else allows it. A path that starts with `/` is one on this machine.
    #[schemars(length(max = 1000), inner(length(min = 1)))]
    pub deny: Vec<String>,
    /// Days that a commit or release has to be old before it is installed. The longest of all files counts.
    pub min_release_age: Option<NonZeroU32>,
}

/// What a run may spend.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct BudgetsConfig {
    /// How many decisions the model may make.
    pub turns: Option<NonZeroU32>,
    /// How many tools may be called.
    pub tool_calls: Option<u32>,
    /// How many scripts may be run.
    pub script_runs: Option<u32>,
    /// How many seconds a run may take; without it there is no limit.
    pub wall_s: Option<NonZeroU32>,
    /// How many tokens may be sent and received; without it there is no limit.
    pub tokens: Option<NonZeroU32>,
    /// How many skills may be loaded in one turn.
    pub skills_a_turn: Option<NonZeroU32>,
}

/// The list of skills that a model is shown.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CatalogConfig {
    /// How the list is written. A project cannot choose `direct`.
    pub format: Option<CatalogFormat>,
    /// Tokens that the list may take.
    pub budget_tokens: Option<NonZeroU32>,
}
