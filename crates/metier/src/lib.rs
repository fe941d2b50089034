//! Metier for people who build agents: skills, found, guarded and run, in a few lines.
//!
//! [`Metier::open`] puts together, in one place, what a run needs: settings, roots, policy, trust,
//! secrets, sandbox, model, approvals and the record. The program `metier` stands on this crate alone,
//! so whatever it can do, a program can do with the same guarantees.
//!
//! ```rust,standalone_crate
//! use metier::tools::schemars::{self, JsonSchema};
//! use metier::{CallContext, Metier, Risk, Tool, ToolFailure, ToolResult};
//!
//! fn main() -> metier::Result<()> {
//!     metier::init();
//! #   in_an_empty_home();
//!     let run = Metier::open(".")?
//!         .session()
//!         .model("router")
//!         .tool(Today)
//!         .approve(|ask| ask.once())
//!         .on_event(|event| eprintln!("{}", event.kind()))
//!         .run("summarise sales.csv by region")?;
//!     println!("{}", run.answer());
//! #   assert_eq!(run.status(), metier::agent::Status::Completed);
//! #   assert!(!run.answer().is_empty());
//!     Ok(())
//! }
//!
//! /// A tool of the program's own.
//! struct Today;
//!
//! #[derive(serde::Deserialize, JsonSchema)]
//! struct NoArgs {}
//!
//! impl Tool for Today {
//!     type Args = NoArgs;
//!
//!     fn name(&self) -> &str {
//!         "today"
//!     }
//!
//!     fn description(&self) -> &str {
//!         "Give the number of days since 1970."
//!     }
//!
//!     fn risk(&self) -> Risk {
//!         Risk::Low
//!     }
//!
//!     fn call(&self, _: NoArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
//!         let seconds = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
//!         Ok(ToolResult::text(format!("{} days", seconds / 86_400)))
//!     }
//! }
//! # /// Runs the rest of this test in a process whose home and working directory are temporary.
//! # fn in_an_empty_home() {
//! #     if std::env::var_os("METIER_DOC_TEST").is_some() {
//! #         return;
//! #     }
//! #     let dir = tempfile::tempdir().unwrap();
//! #     std::fs::write(dir.path().join("sales.csv"), "region,units\nEast,2\nWest,3\nEast,4\n").unwrap();
//! #     let mut again = std::process::Command::new(std::env::current_exe().unwrap());
//! #     again.env("METIER_DOC_TEST", "1").env("HOME", dir.path()).env("USERPROFILE", dir.path());
//! #     let status = again.current_dir(&dir).status().unwrap();
//! #     drop(dir);
//! #     std::process::exit(status.code().unwrap_or(1));
//! # }
//! ```
//!
//! The model `router` is built in and needs no key; `openai:MODEL` and `anthropic:MODEL` are the others.
//! Without [`Session::approve`] a run stops at its first question, and [`Session::resume`] continues it
//! with [`Session::approve_request`]. More programs are in the folder `examples`.
//!
//! # What can be replaced
//!
//! | you bring | by | or |
//! |---|---|---|
//! | a tool | [`Tool`], given to [`Session::tool`] | |
//! | a model | [`Model`], given to [`Session::own_model`] | its name, given to [`Session::model`] |
//! | an approver | [`Approver`], given to [`Session::approver`] | a function: [`Session::approve`] |
//! | a listener | [`Observer`], given to [`Session::observer`] | a function: [`Session::on_event`] |
//! | skills | [`SkillSource`], given to [`Builder::source`] | a folder: [`Builder::root`] |
//! | the environment | [`Environment`], given to [`Builder::environment`] | [`Builder::without_user_folders`] |
//!
//! # The map
//!
//! | file | owns |
//! |---|---|
//! | `open`, `environment`, `user_folders` | [`Metier`] and its builder; the environment as a value |
//! | `config_files`, `configured_roots`, `targets` | configuration files: where they are, what they come to, which folders they add, where is written |
//! | `skills`, `read`, `catalog`, `switch`, `delete` | finding, reading, listing skills; switching one on or off; what may be deleted |
//! | `install`, `accepted`, `sources`, `downloads` | packing, installing, updating, uninstalling, restoring and verifying skills; what was accepted before; how their sources are reached |
//! | `scan_folder` | what a skill on the disk could do to its user |
//! | `agent_targets`, `inventory` | the folders of other agents, to install into and to look through |
//! | `keys` | keys that the user trusts; signing and verifying packs |
//! | `install_requests` | what programs want installed, and a person decides |
//! | `set_setting` | one setting of the user's file, changed as text |
//! | `guard`, `acting_agent`, `trust`, `explain` | the policy of this directory, narrowed by an agent; trust in it, and what it would decide |
//! | `session`, `prepared`, `chosen_skills`, `chat`, `exec`, `own_tools`, `given` | [`Session`]: runs, one or many over the same skills, chats and single scripts, with what the caller brings |
//! | `approvals`, `approval_question` | the one way in which a question is answered |
//! | `model_choice`, `session_model`, `key`, `endpoints` | the model that is named, opened once a session, its key, and the endpoints that are known by a name |
//! | `executor`, `init` | what scripts and tools get of the machine; the sandbox's helper |
//! | `run`, `runs`, `restore`, `stats` | a run that ended; the records of all runs: resume, replay, audit; bringing back what a run deleted; how often skills were used |
//! | `health` | what keeps skills and rules from working, beyond what a scan sees |
//! | `error` | the one [`Error`], with a kind, a stable code and advice |
//! | `parts` | what is public of the crates below, by module |
//!
//! Files on disk, each through `metier-fs`:
//!
//! | where | what |
//! |---|---|
//! | `.agent/config.json`, `~/.agent/config.json`, `/etc/metier/config.json` | settings and rules: project, user, administrator |
//! | `.agent/runs/RUN/` in the workspace | the record of a run: events, outputs, deleted files |
//! | `trust.json`, `contents.json`, `answers.json`, `pending/`, `runs/` in the user's state | trust, marks of it, remembered answers, open approvals, which runs are the user's |
//! | `~/.agent/keys/` | the keys that the user trusts, and the user's own |
//! | `.agent/skills/`, `.agent/skills.json`, `.agent/skills.lock.json` | installed skills: what is wanted, and what it came to |
//! | `exec/`, `data/`, `backups/`, `journals/`, `fetch/`, `install-requests/` there | folders of running scripts, what skills keep, deleted skills, changes and fetches under way, requests to install |
//! | `~/.agent/suppressions.json` | findings that the user accepts |
//!
//! Parsing skills is `metier-skill`'s, finding them `metier-registry`'s, reading `metier-loader`'s,
//! deciding `metier-policy`'s, confining `metier-sandbox`'s, doing `metier-tools`', shipping
//! `metier-pack`'s, talking to models `metier-model`'s, and the loop `metier-agent`'s. This crate prints nothing.

mod accepted;
mod acting_agent;
mod agent_targets;
mod approval_question;
mod approvals;
mod catalog;
mod chat;
mod chosen_skills;
mod config_files;
mod configured_roots;
mod delete;
mod downloads;
mod endpoints;
mod environment;
mod error;
mod exec;
mod executor;
mod explain;
mod given;
mod guard;
mod health;
mod init;
mod install;
mod install_requests;
mod inventory;
mod key;
mod keys;
mod model_choice;
mod open;
mod own_tools;
mod parts;
mod prepared;
mod read;
mod restore;
mod run;
mod runs;
mod scan_folder;
mod session;
mod session_model;
mod set_setting;
mod skills;
mod sources;
mod stats;
mod switch;
mod targets;
mod trust;
mod user_folders;

pub use agent_targets::InstalledAt;
pub use approval_question::{ApprovalQuestion, ApprovalReply};
pub use approvals::{ApprovalFault, OpenApproval};
pub use catalog::{CatalogBudget, CatalogOptions};
pub use chat::Chat;
pub use config_files::ConfigFile;
pub use delete::DeletePlan;
pub use endpoints::{EndpointStatus, KeyState};
pub use environment::Environment;
pub use error::{Error, ErrorKind, Fault, Result};
pub use exec::{ExecCall, Executed};
pub use explain::{Explanation, ToolRule, WithSkills};
pub use health::UnmatchedRule;
pub use init::init;
pub use install_requests::FiledRequest;
pub use inventory::{InventorySkill, InventoryState};
pub use keys::NewKey;
pub use metier_agent::{Answer, Approval, Approver, Event, Note, Observer, Question, Record};
pub use metier_cancel::CancelToken;
pub use metier_model::Model;
pub use metier_registry::{MemorySkill, SkillSource};
pub use metier_tools::policy_facts::{changed_since_trusted, trust_status};
pub use metier_tools::{CallContext, FailureCode, Risk, Tool, ToolFailure, ToolResult, TrustMarks};
pub use open::{Builder, FindOptions, Metier};
pub use parts::{
    agent, config, fs, loader, model, pack, policy, registry, sandbox, scan, sign, skill, tools,
};
pub use prepared::PreparedSession;
pub use read::{SkillReader, files};
pub use run::Run;
pub use runs::{ReplayReport, RunRecord, RunState, audit_run, damage};
pub use scan_folder::scan_folder;
pub use session::Session;
pub use set_setting::SettingChange;
pub use skills::{SearchHit, enabled, find};
pub use stats::{SkillStats, SkillUse};
pub use trust::{
    ChangedText, TrustBefore, TrustChanges, TrustPlan, Trusted, TrustedSkill, Untrusted,
};
