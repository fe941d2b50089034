//! The tools an agent calls and the scripts that skills bring, joined with the crates that find, read
//! and guard skills.
//!
//! | module | owns |
//! |---|---|
//! | [`tool`] | what a tool is ([`Tool`], [`CallContext`]) |
//! | `toolbox`, `run_on_thread` | the one way to call one: plan, decide, call ([`Toolbox`], [`PlannedCall`], [`CallPermit`]) |
//! | `tool_workspace` | where tools work: the workspace and loaded skills ([`ToolWorkspace`]) |
//! | `read_file`, `list_dir`, `grep`, `grep_lines` | the tools that only read |
//! | `write_file`, `delete_file`, `trash` | the tools that change files, and the trash ([`Trash`]) |
//! | `run_command` | the tool that runs an installed program in the sandbox |
//! | `network` | the tool that sends HTTP requests, and its guards (feature `network`) |
//! | `output` | what happens to every result: masking, the cap, storing ([`ToolResult`], [`ResultFilter`]) |
//! | `failure` | stable codes with advice ([`ToolFailure`]) |
//! | `schema` | the JSON Schemas of arguments, derived from their types, and reading them |
//! | [`skill_contents`] | the files behind an index: on disk or compiled in; and the skill tool over them |
//! | [`gate`], `tool_gate` | asks the policy about loading a skill and about planned calls ([`ToolGate`]) |
//! | [`policy_facts`] | what the policy needs to know about the disk: paths, contents, trust |
//! | `script_view`, `key_search` | what scripts see of the user's files, and which of them are hidden |
//! | [`script`], `script_host` | running one script of a skill, from the decided call to the report ([`ScriptHost`]) |
//! | `script_decision` | whether a script may run, and whether with the network ([`ScriptDecision`]) |
//! | [`requirements`] | what a skill says it needs, checked before any of its scripts runs |
//! | [`policy_store`] | trusted folders and remembered answers, in the user's state folder |
//! | `trust_marks` | marks of trust for a list of skills, without reading their files again ([`TrustMarks`]) |
//! | [`trusted_texts`] | what trusted files contained, to show a change by line |
//!
//! Files on disk: those of the workspace and of skills, through `metier-fs` and the loader, and
//! `trust.json`, `answers.json` and `contents.json` in the state folder. The caller's policy decides before anything is
//! opened.

mod delete_file;
mod failure;
pub mod gate;
mod grep;
mod grep_lines;
mod key_search;
mod list_dir;
#[cfg(feature = "network")]
mod network;
mod output;
pub mod policy_facts;
pub mod policy_store;
mod read_file;
pub mod requirements;
mod run_command;
mod run_on_thread;
mod schema;
pub mod script;
mod script_decision;
mod script_host;
mod script_view;
pub mod skill_contents;
pub mod tool;
mod tool_gate;
mod tool_workspace;
mod toolbox;
mod trash;
mod trust_marks;
pub mod trusted_texts;
mod write_file;

pub use delete_file::DeleteFile;
pub use failure::ToolFailure;
pub use gate::LoadGate;
pub use grep::{Grep, GrepLimits};
pub use key_search::linked_keys;
pub use list_dir::ListDir;
pub use metier_policy::Risk;
pub use metier_skill::FailureCode;
#[cfg(feature = "network")]
pub use network::{HostList, NetworkRequest, NetworkSettings, PlainHttp, Resolver, SystemResolver};
pub use output::{
    CallResult, FolderOutputStore, NoOutputStore, OutputCap, OutputStore, ResultFilter, ToolResult,
};
pub use policy_store::{PolicyStore, PolicyStoreError};
pub use read_file::ReadFile;
pub use run_command::RunCommand;
pub use script_decision::ScriptDecision;
pub use script_host::{OutputSink, ScriptHost, data_key, script_workspace};
pub use skill_contents::{GatedContents, IndexContents, ShownBody, open_files, skill_tool};
pub use tool::{CallContext, Tool, Touch, TouchFilter};
pub use tool_gate::ToolGate;
pub use tool_workspace::ToolWorkspace;
pub use toolbox::{BoxedTool, CallPermit, PlannedCall, Toolbox};
pub use trash::{Trash, TrashedFile};
pub use trust_marks::TrustMarks;
pub use trusted_texts::TrustedTexts;
pub use write_file::WriteFile;
