//! Metier's settings: what a configuration file may say, how it is checked, and what all files
//! together come to.
//!
//! The crate is pure: text goes in, values come out, in the types of the crates below, so that a
//! caller passes them on as they are. It opens no file and reads no environment.
//!
//! | step | type | file |
//! |---|---|---|
//! | what may be set | [`Config`], [`json_schema`] | `config.rs`, `choices.rs`, `project_params.rs`, `schema.rs` |
//! | one file's text is checked | [`parse`], [`Scope`], [`Layer`] | `layer.rs`, `syntax.rs`, `check.rs` |
//! | every problem, with its line | [`ConfigError`], [`ConfigErrorKind`] | `error.rs`, `wording.rs`, `position.rs`, `key_path.rs` |
//! | the layers become one | [`Settings`], [`Explained`] | `settings.rs`, `merge.rs`, `merge_model.rs`, `resolve.rs` |
//! | the rules of all files, for the policy | [`Settings::policy_layers`] | `rules.rs` |
//! | which sources may be used | [`Settings::sources`] | `sources.rs` |
//! | agents: rules that only tighten, a model, budgets | [`AgentSettings`] | `agents.rs`, `agent_rules.rs` |
//! | one setting is changed in a file's text | [`set_value`], [`add_value`], [`remove_value`], [`set_skill_enabled`] | `edit.rs` |
//!
//! The JSON Schema made from [`Config`] is the single truth about keys, types, limits and which
//! keys belong to the user alone; the checker walks a file beside it, and editors read the same.
//!
//! # Files on disk
//!
//! The caller reads them and passes their text: `.agent/config.json` in the project
//! ([`Scope::Project`]) and `~/.agent/config.json` (or below `METIER_HOME`) for the user
//! ([`Scope::User`]).
//!
//! # What it leaves to others
//!
//! Finding and reading the files, command-line flags and environment variables, resolving `~` and
//! relative paths, what a permission rule means (`metier-policy`), drawing errors on a terminal.
//! A file that does not parse must stop the program: it never means "no rules".
//!
//! # Example
//!
//! ```
//! use metier_config::{Scope, Settings, parse};
//!
//! let text = r#"{
//!   // A project may lower a limit.
//!   "budgets": { "turns": 6 },
//! }"#;
//! let project = parse(text, ".agent/config.json", Scope::Project).unwrap();
//! let settings = Settings::merge(None, Some(&project));
//! assert_eq!(settings.run_limits.turns, 6);
//!
//! let errors = parse(r#"{ "budgets": { "turn": 6 } }"#, "config.json", Scope::User).unwrap_err();
//! assert_eq!(errors[0].to_string(), "config.json:1:16: unknown key `budgets.turn`");
//! assert_eq!(errors[0].help, "did you mean `turns`?");
//! ```

mod agent_rules;
mod agents;
mod check;
mod choices;
mod config;
mod edit;
mod error;
mod key_path;
mod layer;
mod merge;
mod merge_model;
mod position;
mod project_params;
mod resolve;
mod rules;
mod schema;
mod settings;
mod sources;
mod syntax;
mod wording;

pub use agent_rules::AgentRules;
pub use agents::{AgentLayer, AgentSettings};
pub use config::{
    AgentConfig, BudgetsConfig, CatalogConfig, Config, ExecutionConfig, ModelConfig,
    SecurityConfig, SkillConfig, SourcesConfig,
};
pub use edit::{add_value, remove_value, set_skill_enabled, set_value};
pub use error::{ConfigError, ConfigErrorKind};
pub use key_path::split_keys;
pub use layer::{Layer, Scope, parse};
pub use resolve::{Explained, Overruled};
pub use schema::json_schema;
pub use settings::{
    CatalogSettings, ConfiguredRoot, ExecutionSettings, ModelSettings, PermissionLayer,
    PlanSetting, Settings, WalkSettings,
};
pub use syntax::{MAX_CONFIG_BYTES, MAX_NESTING};
