//! Shipping skills: archives read strictly, installed whole, locked and verified.
//!
//! | module | owns |
//! |---|---|
//! | `limits` | how large an archive or a tree may be ([`PackLimits`]) |
//!
//! Files on disk, all through `metier-fs`: staging inside the folder of skills, `skills.json` and
//! `skills.lock.json` beside it. Which folder that is, asking a person and printing are the caller's.

mod limits;

pub use limits::PackLimits;
