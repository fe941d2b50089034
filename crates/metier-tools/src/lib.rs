//! Doing it: the tools an agent works with, and what it does with skills, joined from the crates that
//! find, read and guard them.
//!
//! | module | owns |
//! |---|---|
//! | [`tool`] | what a tool is ([`Tool`], [`CallContext`]) |
//! | `toolbox`, `run_on_thread` | the one way to call one: plan, decide, call ([`Toolbox`], [`Planned`], [`Permit`]) |
//! | `workplace` | where tools work: the workspace and loaded skills ([`Workplace`]) |
//! | `read_file`, `list_dir`, `grep`, `grep_lines` | tools that look |
//! | `write_file`, `delete_file`, `trash` | tools that change, and what was deleted ([`Trash`]) |
//! | `run_command` | the tool that runs an installed program in the sandbox |
//! | `network` | the tool that reaches the network, and its guards (feature `network`) |
//! | `output` | what every result goes through: masking, the cap, storing ([`ToolResult`], [`ResultFilter`]) |
//! | `failure` | stable codes with advice ([`ToolFailure`]) |
//! | `schema` | the JSON Schemas of arguments, derived from their types, and reading them |
//! | [`shelf`] | the files behind an index: on disk or compiled in; and the skill tool over them |
//! | [`gate`], `tool_gate` | the policy as the skill tool, the catalog and planned calls ask it ([`ToolGate`]) |
//! | [`ground`] | what the policy has to know of the disk: places, contents, trust |
//! | `hidden` | what a script does not see of a workspace |
//! | [`script`], `script_host` | one script of a skill, from a call that was judged to a report ([`ScriptHost`]) |
//! | `script_decision` | whether a script may run, and whether with the network ([`ScriptDecision`]) |
//! | [`requirements`] | what a skill says it needs, checked before anything of it runs |
//! | [`kept`] | trusted folders and remembered answers, in the user's state |
//!
//! Files on disk: those of the workspace and of skills, through `metier-fs` and the loader, and
//! `trust.json` and `answers.json` in the state folder. Who may do what is decided by the caller's
//! policy before anything is opened.

mod delete_file;
mod failure;
pub mod gate;
mod grep;
mod grep_lines;
pub mod ground;
mod hidden;
pub mod kept;
mod list_dir;
#[cfg(feature = "network")]
mod network;
mod output;
mod read_file;
pub mod requirements;
mod run_command;
mod run_on_thread;
mod schema;
pub mod script;
mod script_decision;
mod script_host;
pub mod shelf;
pub mod tool;
mod tool_gate;
mod toolbox;
mod trash;
mod workplace;
mod write_file;

pub use delete_file::DeleteFile;
pub use failure::{FailureCode, ToolFailure};
pub use gate::LoadGate;
pub use grep::{Grep, GrepLimits};
pub use kept::{Kept, KeptError};
pub use list_dir::ListDir;
pub use metier_policy::Risk;
#[cfg(feature = "network")]
pub use network::{HostList, NetworkRequest, NetworkSettings, PlainHttp, Resolver, SystemResolver};
pub use output::{CallResult, FolderStore, NoStore, OutputCap, ResultFilter, Store, ToolResult};
pub use read_file::ReadFile;
pub use run_command::RunCommand;
pub use script_decision::ScriptDecision;
pub use script_host::{OutputSink, ScriptHost, data_key, shown_workspace};
pub use shelf::{SkillShelf, open_files, skill_tool};
pub use tool::{CallContext, Screen, Tool, Touch};
pub use tool_gate::ToolGate;
pub use toolbox::{BoxedTool, Permit, Planned, Toolbox};
pub use trash::{Trash, Trashed};
pub use workplace::Workplace;
pub use write_file::WriteFile;
