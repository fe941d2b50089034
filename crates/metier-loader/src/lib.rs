//! Reading skills: exactly one body, or one part of one file, and a report of what was read.
//!
//! ```text
//! skill --body--> SKILL.md without frontmatter, trimmed to its limits, nothing out of reach
//!       --resource--> one file --section | lines--> an excerpt, and how to go on
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`mod@body`] | [`load_body`]: the body of a skill |
//! | `trim` | a long body: what stays, and what is named instead (pure) |
//! | [`mod@resource`] | [`load_resource`]: a section or some lines of one file |
//! | `normal` | text as a model may see it: line ends, marks, invisible characters (pure) |
//! | `block` | the injected block that a body cannot close (pure) |
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
mod files;
mod normal;
mod report;
pub mod resource;
mod trim;

pub use block::inject;
pub use body::{BodyLimits, OverLimit, load_body};
pub use error::LoadError;
pub use files::{MemoryFiles, SkillFiles};
pub use normal::normalize;
pub use report::{LoadReport, Loaded, Next, Omitted};
pub use resource::{Lines, ResourceLimits, ResourceQuery, load_resource};
