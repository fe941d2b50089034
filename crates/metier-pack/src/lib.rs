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
//! | `source` | what is installed from, as pure text ([`InstallSource`]) |
//! | `source_policy` | which sources may be used ([`SourcePolicy`]); pure |
//! | `fetch`, `access` | bringing it to this machine ([`Fetch`]), and how it is reached ([`SourceAccess`]) |
//! | `marketplace` | lists of plugins, read for the skills they have |
//! | `prepare` | a source, brought into staging |
//! | `records` | `skills.json` and `skills.lock.json` |
//! | `foreign_lock` | the records of other installers |
//! | `links` | links in the folders of other agents ([`PlannedLink`]) |
//! | `standing`, `seen` | what stands in a skill's place, and whether it is still what a plan saw |
//! | `plan`, `install`, `update`, `uninstall` | plans; `plan_skill` has their steps |
//! | `review` | what a scan found in what comes, and what of it is new ([`PlannedFinding`]) |
//! | `requires` | which skills need which |
//! | `upstream`, `outdated`, `version_order` | what the sources of installed skills give now |
//! | `changes`, `diff`, `text_filter` | how two versions of a skill differ |
//! | `target`, `journal` | staging, the lock over a folder, and changes that are whole |
//! | `verify` | the disk against the lock |
//! | `signatures`, `sign_pack` | who signed what is installed; signing and verifying an archive |
//! | `error` | why it was not done ([`PackError`]) |
//!
//! Files on disk, all through `metier-fs`: staging (`.metier-staging`, `.metier-commit`) inside the folder
//! of skills, `skills.json` and `skills.lock.json` beside it, backups and the seals of journals in the
//! user's state, and there what is being fetched (`fetch`). Which folder that is, asking a person and printing are the caller's.

mod access;
mod archive;
mod changes;
mod diff;
mod directory;
mod error;
mod facts;
mod fetch;
mod foreign_lock;
mod install;
mod journal;
mod layout;
mod left_out;
mod limits;
mod links;
mod marketplace;
mod outdated;
mod outgoing;
mod pack;
mod plan;
mod plan_skill;
mod prepare;
mod records;
mod requires;
mod review;
mod seen;
mod shipped_tree;
mod sign_pack;
mod signatures;
mod skills_in;
mod source;
mod source_policy;
mod standing;
mod target;
mod text_filter;
mod uninstall;
mod update;
mod upstream;
mod verify;
mod version_order;

pub use access::{
    InstallQuestions, NoQuestions, PickableSkill, SourceAccess, SourceOrigin, SourceQuestion,
};
pub use archive::{ArchiveError, ArchiveFault, ArchiveKind, ReadAt, inspect_archive};
pub use changes::{SkillChanges, ToolsChange};
pub use diff::{DiffAgainst, FileChange, FileDiff, SkillDiff};
pub use error::{FoundInSkill, Obstacle, ObstacleReason, PackError, RequiredSkill};
pub use facts::SkillProblem;
pub use fetch::{
    Download, DownloadSettings, Fetch, FetchError, FetchFault, FetchProgress, FetchWanted, Fetched,
    FetchedKind, Fetchers, GIT_VARIABLES, GitFault, GitFetch, PlaceJudge, PlaceRole,
    SilentProgress, remove_abandoned_fetches,
};
#[doc(hidden)]
pub use fetch::{fetched_names, fetched_urls, recorded_source};
pub use foreign_lock::{ExportedLock, ForeignLock, ForeignSkill, NotExchanged, read_foreign_lock};
pub use install::{Dependencies, InstallRequest, LockUse, Overwrite};
pub use left_out::{LeftOut, LeftOutReason};
pub use limits::PackLimits;
pub use links::{LinkAction, LinkState, PlannedLink, VerifiedLink};
pub use outdated::{InstalledSkill, UpstreamState};
pub use pack::{PackLayout, PackOptions, PackPlan, Packed, PackedSkill, plan_pack};
pub use plan::{InstallPlan, PlanView, PlannedAction, PlannedSkill};
pub use records::{LockedSkill, SkillsLock, SourceKind};
pub use review::{AcceptedBefore, PlannedFinding};
pub use shipped_tree::ShippedFile;
pub use sign_pack::{SignedPack, VerifiedPack, VerifiedPackSkill, sign_pack, verify_pack};
pub use signatures::{SignerChange, SignerRules, UncheckedSignature};
pub use source::{
    GitRemote, GitSource, HttpsSource, InstallSource, LocalSource, OciSource, SUPPORTED,
    SourcePlace, SourceUrl, WellKnownSource, parse_source,
};
pub use source_policy::{SourceDenial, SourcePolicy, SourceRuleScope, SourceRules, SourceVerdict};
pub use target::InstallTarget;
pub use update::{NotUpdated, NotUpdatedReason};
pub use upstream::{SourceProblem, UpdateRequest};
pub use verify::{
    FileDifference, FileState, VerifiedSkill, VerifyScan, VerifyState, folder_digest,
};
