//! Making a skill, deleting one with a backup, and bringing it back.
//!
//! | module | owns |
//! |---|---|
//! | `template` | the text of a new skill (pure) |
//! | `create` | a draft, judged and put into its folder whole |
//! | `backup` | deleted skills: kept, listed, brought back |
//! | `error` | why it was not done ([`ManageError`]) |
//!
//! Who may do it, and asking first, is left to the caller.

mod backup;
mod create;
mod error;
mod template;

pub use backup::{Backup, BackupFile, BackupListing, Backups, Deletion, Restored};
pub use create::{Created, check_new_name, create};
pub use error::ManageError;
pub use template::{SkillDraft, TemplateScript};
