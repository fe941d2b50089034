//! The entries of a directory that is walked: which of them may be skills or hold some.
//!
//! Judged by what the directory itself tells of them, without a look at the disk.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use metier_fs::{EntryKind, EntryName, Links};

use super::probe::Probe;

/// Directories that hold other people's code, where a `SKILL.md` is not one of the user's skills.
const SKIPPED: &[&str] =
    &["node_modules", "bower_components", "__pycache__", "site-packages", "venv"];

/// What is done with an entry of a directory.
pub(super) enum Child {
    Probe(Probe),
    /// The same for what is, or may be, a link.
    ProbeLink(Probe),
    RefusedLink(OsString),
    Other,
}

impl Child {
    pub(super) fn of(child: EntryName, parent: &OsStr, links: Links) -> Self {
        if !may_hold_skills(&child) {
            return Self::Other;
        }
        let directory = join(parent, child.name);
        match child.kind {
            EntryKind::Link if links == Links::Refuse => Self::RefusedLink(directory),
            EntryKind::Link => Self::ProbeLink(Probe { directory, via_link: true }),
            // A file system that tells no kinds may have links anywhere.
            EntryKind::Unknown => Self::ProbeLink(Probe { directory, via_link: false }),
            _ => Self::Probe(Probe { directory, via_link: false }),
        }
    }
}

/// Whether the walk continues in this entry, as far as the directory itself tells.
pub(super) fn may_hold_skills(child: &EntryName) -> bool {
    let may_be_directory =
        matches!(child.kind, EntryKind::Directory | EntryKind::Link | EntryKind::Unknown);
    may_be_directory && !is_skipped(&child.name)
}

fn join(parent: &OsStr, name: OsString) -> OsString {
    if parent.is_empty() { name } else { Path::new(parent).join(name).into_os_string() }
}

fn is_skipped(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || SKIPPED.iter().any(|skipped| name == *skipped)
}

/// The file that would be `SKILL.md` but for its case: the spelling that is read, else the first by
/// name, whatever the directory's order.
pub(super) fn other_spelling(names: &[EntryName]) -> Option<OsString> {
    let mut odd: Vec<&EntryName> = names.iter().filter(|child| is_other_spelling(child)).collect();
    odd.sort();
    let read = odd.iter().find(|child| child.name == "skill.md");
    read.or_else(|| odd.first()).map(|child| child.name.clone())
}

/// A file that would be `SKILL.md` but for its case.
pub(super) fn is_other_spelling(child: &EntryName) -> bool {
    child.name.len() == 8
        && child.name.eq_ignore_ascii_case("SKILL.md")
        && child.name != "SKILL.md"
        && matches!(child.kind, EntryKind::File | EntryKind::Link | EntryKind::Unknown)
}
