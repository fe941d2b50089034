//! The difference between two indexes: what was added, changed, removed.
//!
//! Pure; the watcher and `Registry::refresh` report it.

use serde::Serialize;

use crate::index::{Entry, Index};

/// What happened to a skill between two scans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What happened.
    pub change: ChangeKind,
    /// The skill's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: String,
}

/// What can happen to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// Its frontmatter, its place or its standing is another; its id is the same.
    Changed,
    /// It is not there any more.
    Removed,
}

/// What changed from `before` to `after`, in the order of names. A skill is its id: where one source's
/// skill gives way to another's of the same name, the first is removed and the second added, so that
/// a follower of one source hears of both.
pub fn changes(before: &Index, after: &Index) -> Vec<Change> {
    let (mut old, mut new) =
        (before.entries().iter().peekable(), after.entries().iter().peekable());
    let mut out = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return out,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.skill.name.cmp(&b.skill.name),
        };
        match order {
            std::cmp::Ordering::Less => {
                out.extend(old.next().map(|entry| change(ChangeKind::Removed, entry)));
            }
            std::cmp::Ordering::Greater => {
                out.extend(new.next().map(|entry| change(ChangeKind::Added, entry)));
            }
            std::cmp::Ordering::Equal => {
                let (Some(a), Some(b)) = (old.next(), new.next()) else { continue };
                if a.source != b.source {
                    out.push(change(ChangeKind::Removed, a));
                    out.push(change(ChangeKind::Added, b));
                } else if !same(a, b) {
                    out.push(change(ChangeKind::Changed, b));
                }
            }
        }
    }
}

/// Of one id, the same to every user of the skill. A new body shows as a new modification time.
fn same(a: &Entry, b: &Entry) -> bool {
    a.digest == b.digest
        && a.path == b.path
        && a.enabled == b.enabled
        && a.modified == b.modified
        && a.copies == b.copies
}

fn change(change: ChangeKind, entry: &Entry) -> Change {
    Change {
        change,
        id: entry.id().to_string(),
        name: entry.skill.name.as_str().to_owned(),
        path: entry.path.to_string_lossy().into_owned(),
    }
}
