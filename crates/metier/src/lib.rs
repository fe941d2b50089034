//! Metier for people who build agents: skills, found, guarded and run, in a few lines.
//!
//! [`Metier::open`] puts together, in one place, what a run needs: settings, roots, policy, trust,
//! secrets, sandbox, model, approvals and the record. The program `metier` stands on this crate alone,
//! so whatever it can do, a program can do with the same guarantees.

mod approvals;
mod ask;
mod catalog;
mod chat;
mod config_files;
mod environment;
mod error;
mod exec;
mod executor;
mod explain;
mod given;
mod guard;
mod init;
mod key;
mod model_choice;
mod open;
mod own_tools;
mod parts;
mod read;
mod run;
mod runs;
mod session;
mod skills;
mod switch;
mod targets;
mod trust;

pub use approvals::OpenApproval;
pub use ask::{Ask, Reply};
pub use catalog::{CatalogBudget, CatalogOptions};
pub use chat::Chat;
pub use config_files::ConfigFile;
pub use environment::Environment;
pub use error::{Error, ErrorKind, Fault, Result};
pub use exec::{ExecCall, Executed};
pub use explain::{Explanation, ToolRule};
pub use init::init;
pub use metier_agent::{Answer, Approver, Event, Note, Observer, Question, Record};
pub use metier_cancel::CancelToken;
pub use metier_model::Model;
pub use metier_registry::{MemorySkill, SkillSource};
pub use metier_tools::{CallContext, FailureCode, Risk, Tool, ToolFailure, ToolResult};
pub use open::{Builder, FindOptions, Metier};
pub use parts::{agent, config, fs, loader, model, policy, registry, sandbox, skill, tools};
pub use read::files;
pub use run::Run;
pub use runs::{RunRecord, RunState, audit_run, damage};
pub use session::Session;
pub use skills::{SearchHit, enabled, find};
pub use trust::{TrustBefore, Trusted, TrustedSkill, Untrusted};
