//! Safe files: the only crate of Metier that opens them.
//!
//! Everything here is bounded and never waits: a file is opened without blocking, judged on its
//! open descriptor (a regular file or nothing), and read no further than the caller asked for.
//! Writes go to a temporary file beside their target and are moved into place, so that a reader
//! sees the old file or the new one, whole.
//!
//! | module | owns |
//! |---|---|
//! | `dir`, `head` | an open directory, below which heads of files are read by relative path ([`Dir`]) |
//! | `stamp` | what a file looked like when it was read ([`Stamp`], [`FileId`]) |
//! | `file` | whole files, bounded: [`read_bounded`], [`write_atomic`] |
//! | `append` | a file that only grows, with one writer ([`AppendFile`]) |
//! | `update` | changing a file that others may change at once: [`update_file`], [`update_private`] |
//! | `whole_dir` | directories that appear, move and go whole: [`create_dir_whole`], [`move_whole`] |
//! | `whole_file` | a large file that appears whole ([`WholeFile`]) |
//! | `held_dir` | a directory held open, beneath which no link is followed ([`HeldDir`]) |
//! | `skill_root` | the one way to read a file of a skill ([`SkillRoot`]) |
//! | `work_root`, `work_error` | reading, writing and moving files beneath a workspace ([`WorkRoot`]) |
//! | `beneath` | what both open files with: a directory's descriptor and the kernel |
//! | `part_dir` | hidden directories in which something is built, and what is left of them ([`abandoned_parts`]) |
//! | `private` | what is for its owner alone, whatever the umask: [`write_private`], [`create_private_dir`] |
//! | `foreign_access` | whether other accounts could have written something ([`writable_by_others`]) |
//! | `accounts` | whose a group is, by the system's tables |
//! | `skill_copy` | the copy of a skill for a run ([`copy_skill`]) |
//! | `tree` | the files below a directory: [`list_files`], [`same_tree`] |
//! | `tree_reader` | a tree, listed and read without following a link ([`TreeReader`]) |
//! | `tree_writer` | a tree that is being made ([`TreeWriter`]) |
//! | `lock` | one process at a time ([`FileLock`]) |
//! | `links` | the names on the way of a path: [`links_on_the_way`] |
//! | `names` | every name below some directories: [`visit_names`] |
//! | `own_tree` | removing what a script could write into: [`remove_own_tree`] |
//! | `left_files` | what a script left: regular files, taken through descriptors ([`clean_left_files`]) |
//! | `folders` | the user's folders ([`UserFolders`]) |
//! | `utc` | a time as the text that files carry: [`utc_text`] |
//!
//! Files on disk: whatever the caller names. What they mean is the business of higher crates.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one home of the functions that are banned elsewhere"
)]

#[cfg(unix)]
mod accounts;
mod append;
#[cfg(unix)]
mod beneath;
#[cfg_attr(unix, path = "dir_unix.rs")]
#[cfg_attr(not(unix), path = "dir_portable.rs")]
mod dir;
mod file;
mod folders;
mod foreign_access;
mod head;
mod held_dir;
mod left_files;
mod links;
mod lock;
mod names;
mod own_tree;
mod part_dir;
mod private;
mod skill_copy;
mod skill_root;
mod stamp;
mod tree;
mod tree_reader;
mod tree_writer;
mod update;
mod utc;
mod whole_dir;
mod whole_file;
mod work_error;
mod work_root;

pub use append::{AppendError, AppendFile};
pub use dir::Dir;
pub use file::{
    PiecewiseFile, ReadError, canonical, directory_birth, directory_id, entry_id, entry_kind,
    exists, is_dir, is_link, is_link_loop, is_real_dir, last_modified, link_target, link_text,
    modified, read_bounded, read_dir_names, remove_file, replace_shared, take_file, write_atomic,
};
pub use folders::UserFolders;
pub use foreign_access::{
    ForeignAccess, ForeignWriter, is_planted, writable_by_others, writable_by_others_below,
};
pub use head::{DirChildren, EntryKind, EntryName, HeadBuffer, HeadError, Links};
pub use held_dir::{Durability, FolderAccess, HeldDir, HeldDirError};
pub use left_files::{
    LeftError, LeftFile, LeftFiles, LeftLimits, clean_left_files, digest_left_files,
    take_left_files,
};
pub use links::{LinkStep, links_on_the_way};
pub use lock::{FileLock, LockError};
pub use names::{NameBelow, NameLimits, NamesVisited, Unsearched, visit_names};
pub use own_tree::{open_own_dir, remove_own_tree};
pub use part_dir::abandoned_parts;
pub use private::{
    close_state, create_private_dir, create_private_file, is_open_to_others, write_private,
};
pub use skill_copy::{CopyError, CopyLimits, CopySummary, content_of, copy_skill, hash_skill};
pub use skill_root::{RootError, SkillRoot};
pub use stamp::{FileId, FileMark, Stamp};
pub use tree::{TreeFile, TreeLimits, list_files, same_tree, tree_mark};
pub use tree_reader::{OpenedFile, TreeListing, TreeNode, TreeReader};
pub use tree_writer::{NewFileMode, TreeWriter, is_abandoned_tree};
pub use update::{UpdateError, update_file, update_private};
pub use utc::{utc_millis, utc_text};
pub use whole_dir::{
    MoveResult, NewFile, copy_whole, create_dir, create_dir_whole, create_folder_of, exchange,
    make_dir_for, make_link, move_whole, remove_empty_dir, remove_tree, rename_dir, rename_over,
    set_aside,
};
pub use whole_file::WholeFile;
pub use work_error::WorkError;
pub use work_root::{WorkEntry, WorkListing, WorkRoot, WriteSummary};
