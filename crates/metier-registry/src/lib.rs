//! Finding skills: roots in, an immutable [`Index`] and a [`ScanReport`] out.
//!
//! ```text
//! roots --walk (in parallel)--> found --precedence--> Index + ScanReport
//!                                                            |
//!                                watch: "look again" --> refresh: added / changed / removed
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`roots`] | which folders are searched, in which order: one table of data |
//! | `walk` | one root: directories to judged `SKILL.md` heads, bounded and deterministic |
//! | `holds_root` | links that would make one skill of a folder of skills |
//! | [`parallel`] | one function over many items, on all cores |
//! | `precedence` | which of several skills with one name is used (pure) |
//! | [`scan()`] | all of it together |
//! | `index` | the immutable, sorted, hashed result |
//! | `entry_json` | an entry as JSON, fast |
//! | `report` | what was searched, found, left out, and why |
//! | `changes` | the difference between two indexes |
//! | [`watch`] | changes as they happen |
//! | [`search`] | skills ranked for a request |
//! | [`catalog`] | the list a model is shown, within a budget |
//! | [`manage`] | making a skill, deleting one with a backup, bringing it back |
//! | `memory` | skills that are not in a folder, and sources of the caller's own ([`SkillSource`]) |
//! | `builtin` | the skills compiled into the program |
//!
//! Files on disk: reads `SKILL.md` below the roots up to the closing fence and no further (two
//! skills of one name in two roots are compared byte for byte, to distinguish a copy from a rival). [`manage`]
//! makes and moves folders of skills, and keeps backups in the user's state folder.

mod builtin;
pub mod catalog;
mod changes;
mod entry_json;
mod holds_root;
mod index;
pub mod manage;
mod memory;
pub mod parallel;
mod precedence;
mod report;
pub mod roots;
mod scan;
pub mod search;
mod walk;
pub mod watch;

pub use changes::{Change, ChangeKind, changes};
pub use index::SwitchedSkill;
pub use index::{Duplicate, Entry, Index};
pub use memory::{MemorySkill, MemorySkillFiles, SkillSource, SkillSources};
pub use report::{Conflict, Ignored, RootReport, RootState, ScanReport, ShadowReason, Shadowed};
pub use roots::{Root, SkillPlaces};
pub use scan::{Registry, Scan, ScanOptions, scan};
