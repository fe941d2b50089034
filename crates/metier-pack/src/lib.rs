//! Shipping skills: archives read strictly, installed whole, locked and verified.
//!
//! [`plan_pack`] makes an archive; an [`InstallTarget`] installs, uninstalls, restores and verifies. Each
//! change is a plan first ([`InstallPlan`]), which a person can see and which is carried out as it was seen.
//!
//! | module | owns |
//! |---|---|
//! | `limits` | how large an archive or a tree may be ([`PackLimits`]) |
//! | `archive` | zip and tar, read strictly ([`ArchiveFault`]) |
//! | `left_out` | what is never shipped |
//! | `shipped_tree`, `facts`, `outgoing` | the files of a tree with their digests, and where they go |
//! | `directory` | a directory, read without following a link |
//! | `layout`, `skills_in` | which skills a tree has |
//! | `pack` | the reproducible writer |
//! | `source`, `prepare` | what is installed from, brought into staging |
//! | `records` | `skills.json` and `skills.lock.json` |
//! | `standing` | what stands in a skill's place |
//! | `plan`, `install`, `update`, `uninstall` | plans |
//! | `review` | what a scan found in what comes, and what of it is new ([`PlannedFinding`]) |
//! | `requires` | which skills need which |
//! | `upstream`, `outdated` | what the sources of installed skills give now |
//! | `changes`, `diff`, `text_filter` | how two versions of a skill differ |
//! | `target`, `journal` | staging, the lock over a folder, and changes that are whole |
//! | `verify` | the disk against the lock |
//! | `error` | why it was not done ([`PackError`]) |
//!
//! Files on disk, all through `metier-fs`: staging (`.metier-staging`, `.metier-commit`) inside the folder
//! of skills, `skills.json` and `skills.lock.json` beside it, backups and the seals of journals in the
//! user's state. Which folder that is, asking a person and printing are the caller's.

mod archive;
mod changes;
mod diff;
mod directory;
mod error;
mod facts;
mod install;
mod journal;
mod layout;
mod left_out;
mod limits;
mod outdated;
mod outgoing;
mod pack;
mod plan;
mod prepare;
mod records;
mod requires;
mod review;
mod shipped_tree;
mod skills_in;
mod source;
mod standing;
mod target;
mod text_filter;
mod uninstall;
mod update;
mod upstream;
mod verify;

pub use archive::{ArchiveError, ArchiveFault, ArchiveKind, ReadAt, inspect_archive};
pub use changes::{SkillChanges, ToolsChange};
pub use diff::{DiffAgainst, FileChange, FileDiff, SkillDiff};
pub use error::{FoundInSkill, Obstacle, ObstacleReason, PackError, RequiredSkill};
pub use facts::SkillProblem;
pub use install::{Dependencies, InstallRequest, LockUse, Overwrite};
pub use left_out::{LeftOut, LeftOutReason};
pub use limits::PackLimits;
pub use outdated::{InstalledSkill, UpstreamState};
pub use pack::{PackLayout, PackOptions, PackPlan, Packed, PackedSkill, plan_pack};
pub use plan::{InstallPlan, PlanView, PlannedAction, PlannedSkill};
pub use records::{LockedSkill, SkillsLock, SourceKind};
pub use review::{AcceptedBefore, PlannedFinding};
pub use shipped_tree::ShippedFile;
pub use source::SUPPORTED;
pub use target::InstallTarget;
pub use update::{NotUpdated, NotUpdatedReason};
pub use upstream::{SourceProblem, UpdateRequest};
pub use verify::{FileDifference, FileState, VerifiedSkill, VerifyScan, VerifyState};
