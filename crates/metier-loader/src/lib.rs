//! Reading skills: exactly one body, or one part of one file, and a report of what was read.
//!
//! ```text
//! skill --body--> SKILL.md without frontmatter, trimmed to its limits, nothing out of reach
//!       --resource--> one file --section | lines--> an excerpt, and what to ask for next
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`mod@body`] | [`load_body`]: the body of a skill |
//! | `trim` | a long body: what stays, and what is named instead (pure) |
//! | `heading_rank` | which sections of a long body are kept first (pure) |
//! | [`mod@resource`] | [`load_resource`]: a section or some lines of one file |
//! | `file_text` | the form of a file that both cut, and the last look at what is given (pure) |
//! | `lines` | how many lines a text has (pure) |
//! | `block` | the injected block that a body cannot close (pure) |
//! | [`tool`] | the skill tool: description, schema, one call, "already loaded" |
//! | [`mod@invoke`] | `/name arguments`: a person's own call |
//! | `files` | where a skill's files are: a directory or the program itself |
//! | `error` | why something could not be read, with stable codes |
//! | `report` | what was read |
//!
//! Files on disk: only those of the skill that was asked for, only through
//! [`metier_fs::SkillRoot`]. Finding skills is `metier-registry`'s; who may load what is
//! `metier-policy`'s.

mod block;
pub mod body;
mod error;
mod file_text;
mod files;
mod heading_rank;
pub mod invoke;
mod lines;
mod report;
pub mod resource;
pub mod tool;
mod trim;

pub use block::{fenced, inject, shown_block};
pub use body::{BodyLimits, BodySize, OverLimit, is_surely_whole, load_body, measure_body};
pub use error::LoadError;
pub use files::{MemoryFiles, SkillFiles};
pub use invoke::{Invocation, invoke};
pub use lines::count_lines;
pub use report::{LoadReport, Loaded, NextPart, OmittedSection, Part};
pub use resource::{LineRange, ResourceLimits, ResourceQuery, load_raw, load_resource};
