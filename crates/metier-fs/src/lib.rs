//! Safe files: the only crate of Metier that opens them.
//!
//! Everything here is bounded and never waits: a file is opened without blocking, judged on its
//! open descriptor (a regular file or nothing), and read no further than the caller asked for.
//! Writes go to a temporary file beside their target and are moved into place, so that a reader
//! sees the old file or the new one, whole.
//!
//! | module | owns |
//! |---|---|
//! | `dir` | an open directory, below which heads of files are read by relative path ([`Dir`]) |
//! | `stamp` | what a file looked like when it was read ([`Stamp`], [`FileId`]) |
//! | `file` | whole files, bounded: [`read_bounded`], [`write_atomic`] |
//! | `skill_root` | the one way to read a file of a skill ([`SkillRoot`]) |
//! | `tree` | the files below a directory: [`list_files`], [`same_tree`] |
//! | `folders` | the user's folders ([`UserFolders`]) |
//!
//! Files on disk: whatever the caller names. What they mean is the business of higher crates.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one home of the functions that are banned elsewhere"
)]

#[cfg_attr(unix, path = "dir_unix.rs")]
#[cfg_attr(not(unix), path = "dir_portable.rs")]
mod dir;
mod file;
mod folders;
mod head;
mod skill_root;
mod stamp;
mod tree;

pub use dir::Dir;
pub use file::{
    PiecewiseFile, ReadError, canonical, directory_id, exists, is_dir, is_link, is_link_loop,
    modified, read_bounded, read_dir_names, remove_file, write_atomic,
};
pub use folders::UserFolders;
pub use head::{Children, EntryKind, HeadBuffer, HeadError, Links, Name};
pub use skill_root::{RootError, SkillRoot};
pub use stamp::{FileId, Stamp};
pub use tree::{TreeFile, TreeLimits, list_files, same_tree};
