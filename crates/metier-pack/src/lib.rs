//! Shipping skills: archives read strictly, installed whole, locked and verified.
//!
//! | module | owns |
//! |---|---|
//! | `limits` | how large an archive or a tree may be ([`PackLimits`]) |
//! | `archive` | zip and tar, read strictly ([`ArchiveFault`]) |
//! | `left_out` | what is never shipped |
//! | `shipped_tree`, `facts`, `outgoing` | the files of a tree with their digests, and where they go |
//!
//! Files on disk, all through `metier-fs`: staging inside the folder of skills, `skills.json` and
//! `skills.lock.json` beside it. Which folder that is, asking a person and printing are the caller's.

mod archive;
mod facts;
mod left_out;
mod limits;
mod outgoing;
mod shipped_tree;

pub use archive::{ArchiveError, ArchiveFault, ArchiveKind, ReadAt};
pub use facts::SkillProblem;
pub use left_out::{LeftOut, LeftOutReason};
pub use limits::PackLimits;
pub use shipped_tree::ShippedFile;
