//! What a skill is: the text of a `SKILL.md` in, a typed [`Skill`] and [`Diagnostic`]s with spans out.
//!
//! This crate is pure. It opens no file, reads no clock and no environment; every caller
//! (a scan, an archive, an editor, a fuzzer) gets the same answer from the same bytes.
//!
//! The way through it:
//!
//! ```text
//! bytes --fence--> yaml text --plain (fast) or yaml (full)--> Node tree --fields--> Skill
//!                      |                  |                                          |
//!                      +--- repair <-- syntax error                            diagnostics
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`mod@parse`] | the entry points [`parse()`] (frontmatter) and [`check()`] (whole file) |
//! | [`fence`] | where the frontmatter starts and ends, block by block |
//! | [`yaml`] | the node tree, and the full parser behind limits |
//! | `plain` | the fast path for the frontmatter most skills have |
//! | `repair` | broken YAML that is common in real skills |
//! | `unindented` | quoted values that continue at column 1 |
//! | `fields` | node tree to typed fields |
//! | `skill`, `name`, `value`, `tools` | a skill as its frontmatter describes it, checked: its name, unknown fields, `allowed-tools` |
//! | `glob` | whether a glob of `paths` can be read |
//! | [`codes`] | every diagnostic code: what, why, how to fix it, who else rejects it |
//! | `diagnostic`, `source_map`, `text_edit` | what is wrong, where it is as line and column, and the edit that fixes it |
//! | `agents` | the folders in which agents look for skills |
//! | `ids`, `digest`, `failure_code` | words of the whole workspace: where a skill comes from, SHA-256, why something was not done |
//! | `rel_path` | a path to a file of a skill, checked as text |
//! | `required_skills` | which other skills a skill says it needs |
//! | `work_path` | a path below a workspace, checked as text |
//! | `nearest` | "did you mean": the candidates nearest to a mistyped word |
//! | `tool_names` | what this and other agents call their tools |
//! | `outline` | headings and sections of Markdown |
//! | `references` | the skill's own files that a body mentions, and which of them are missing |
//! | [`hidden`] | text a model would read and a person would not see |
//! | [`text`] | text from outside, made safe for a terminal, a prompt or a sentence |
//! | `limits`, `tokens` | how much is read, and what a text costs a model |
//!
//! Files on disk: none. Discovery is `metier-registry`'s, reading is `metier-fs`'s.
//!
//! ```
//! use metier_skill::{ParseOptions, parse};
//!
//! let text = b"---\nname: pdf-tools\ndescription: Fill forms: PDF only\n---\n# Body\n";
//! let parsed = parse(text, &ParseOptions::default());
//! let skill = parsed.skill.expect("the unquoted colon is repaired");
//! assert_eq!(skill.description.as_ref(), "Fill forms: PDF only");
//! assert_eq!(parsed.diagnostics[0].code.as_str(), "yaml-unquoted-colon");
//! ```

mod agents;
pub mod codes;
mod diagnostic;
mod digest;
mod failure_code;
pub mod fence;
mod fields;
mod glob;
pub mod hidden;
mod ids;
mod limits;
mod name;
mod nearest;
mod outline;
pub mod parse;
mod plain;
mod references;
mod rel_path;
mod repair;
mod required_skills;
mod skill;
mod source_map;
pub mod text;
mod text_edit;
mod tokens;
mod tool_names;
mod tools;
mod unindented;
mod value;
mod work_path;
pub mod yaml;

pub use agents::{AGENT_FOLDERS, AgentFolders, OWN_SKILLS_FOLDER, agent_folder, agent_named};
pub use codes::Code;
pub use diagnostic::{Diagnostic, DiagnosticAt, Severity};
pub use digest::{Digest, PartsDigest};
pub use failure_code::FailureCode;
pub use glob::{GlobFault, glob_fault};
pub use ids::{SkillId, Source, UnknownSource};
pub use limits::{Limits, MAX_FILE_BYTES, Profile};
pub use name::{NameFault, SkillName, name_faults, suggested_name};
pub use nearest::{nearest, unknown_skill};
pub use outline::{Heading, find_section, found_by_heading, outline};
pub use parse::{ParseOptions, Parsed, check, parse, parse_found};
pub use references::broken::{BrokenReference, FileNames, broken_references, check_references};
pub use references::{Reference, ReferenceKind, references};
pub use rel_path::{PathFault, RelPath};
pub use repair::double_quoted;
pub use required_skills::RequiredSkills;
pub use skill::{Controls, Details, KNOWN_FIELDS, RunMode, Skill};
pub use text_edit::{TextEdit, apply_edits};
pub use tokens::{TokenCost, estimate_tokens};
pub use tool_names::{ToolMeaning, own_tools, tool_meaning, tool_names};
pub use value::Value;
pub use work_path::WorkPath;
