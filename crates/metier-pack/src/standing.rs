//! What stands in a skill's place, compared with what the lock says of it.
//! Nothing is decided here: a plan says what happens to it.

use std::path::PathBuf;

use metier_fs::{EntryKind, entry_kind, is_real_dir, read_dir_names};
use metier_skill::Profile;

use crate::archive::fold;
use crate::directory::read_directory;
use crate::error::{ObstacleReason, PackError};
use crate::journal::folder_id;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::records::LockedSkill;
use crate::shipped_tree::ShippedTree;
use crate::target::InstallTarget;

/// What stands in a skill's place.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// Which folder it is; `None` where nothing stands.
    pub(crate) id: Option<(u64, u64)>,
    /// Its tree, where it can be read as one.
    pub(crate) tree: Option<ShippedTree>,
    /// Why it is not replaced without a word, whatever comes.
    pub(crate) obstacle: Option<ObstacleReason>,
    /// How large a tree it was read as.
    pub(crate) limits: PackLimits,
}

/// Looks at the place of the skill `name`, of which the lock says `locked`.
pub(crate) fn standing(
    target: &InstallTarget,
    name: &str,
    locked: Option<&LockedSkill>,
    limits: &PackLimits,
) -> Standing {
    let place = target.root.join(name);
    let Some(kind) = entry_kind(&place) else {
        return Standing { id: None, tree: None, obstacle: None, limits: *limits };
    };
    let id = folder_id(&place);
    if kind != EntryKind::Directory {
        let obstacle = Some(ObstacleReason::NotAFolder);
        return Standing { id, tree: None, obstacle, limits: *limits };
    }
    let tree = read_directory(&place, limits, Outgoing::nowhere(Profile::Lenient)).ok();
    let obstacle = match (locked, &tree) {
        (None, _) => Some(ObstacleReason::Unmanaged),
        // A link or a device in it was not put there by an installation.
        (Some(locked), Some(tree)) if tree.digest() == locked.tree && is_whole(tree) => None,
        (Some(locked), _) if !locked.is_consistent() => Some(ObstacleReason::BadLock),
        (Some(_), _) => Some(ObstacleReason::Modified),
    };
    Standing { id, tree, obstacle, limits: *limits }
}

/// Whether nothing but what never counts was left out.
pub(crate) fn is_whole(tree: &ShippedTree) -> bool {
    use crate::left_out::LeftOutReason::{HardLink, Link, Special};
    !tree.left_out.iter().any(|it| matches!(it.reason, HardLink | Link | Special))
}

/// The folders of the target by the name that a file system sees which ignores case.
pub(crate) fn folded_names(target: &InstallTarget) -> Result<Vec<(String, String)>, PackError> {
    if !is_real_dir(&target.root) {
        return Ok(Vec::new());
    }
    let names = read_dir_names(&target.root)
        .map_err(|error| PackError::not_readable(&target.root, error))?;
    Ok(names.into_iter().map(|name| (fold(&name), name)).collect())
}

/// The folder of another spelling that is in the way of `name`.
pub(crate) fn other_spelling(names: &[(String, String)], name: &str) -> Option<PathBuf> {
    let folded = fold(name);
    let other = names.iter().find(|(other, spelled)| *other == folded && spelled != name);
    other.map(|(_, spelled)| PathBuf::from(spelled))
}
