//! One link of a change: it comes or goes, or what was there is there again.
//! The order of the steps is the journal's; which links there are was decided with the plan.

use std::path::{Path, PathBuf};

use metier_fs::{entry_kind, is_link, link_text, make_link, remove_file, rename_dir, set_aside};

use super::{JournalLink, folder_id};
use crate::error::PackError;

/// Where what stood in the place of a link is set aside.
pub(super) fn link_aside(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("old-link-{number}"))
}

/// The link comes, or goes if it is still the one that was seen.
pub(super) fn put_link(dir: &Path, number: usize, link: &JournalLink) -> Result<(), PackError> {
    let path = &link.path;
    let written = |error| PackError::not_written(path, error);
    let Some(text) = &link.text else {
        let is_it = is_link(path) && folder_id(path) == link.old;
        return if is_it { remove_file(path).map_err(written) } else { Ok(()) };
    };
    if link_text(path).as_ref() == Some(text) {
        return Ok(());
    }
    if entry_kind(path).is_some() {
        let aside = link_aside(dir, number);
        let is_begun = entry_kind(&aside).is_some();
        if is_begun && folder_id(path) != link.old {
            return Err(PackError::TargetChanged(path.clone()));
        }
        set_aside(path, &aside, &dir.join(format!("copy-link-{number}"))).map_err(written)?;
    }
    make_link(text, path).map_err(written)
}

/// The link that came goes, and what stood there comes back.
pub(super) fn take_link_back(
    dir: &Path,
    number: usize,
    link: &JournalLink,
) -> Result<(), PackError> {
    let path = &link.path;
    let written = |error| PackError::not_written(path, error);
    let Some(text) = &link.text else {
        return match &link.old_text {
            Some(text) if entry_kind(path).is_none() => make_link(text, path).map_err(written),
            _ => Ok(()),
        };
    };
    let aside = link_aside(dir, number);
    let has_old = entry_kind(&aside).is_some();
    let is_ours = is_link(path) && link_text(path).as_ref() == Some(text);
    // A link that was there before has nothing aside, and stays.
    if is_ours && folder_id(path) != link.old {
        remove_file(path).map_err(written)?;
    }
    if !has_old {
        return Ok(());
    }
    // What is left of a tree that was copied and could not be removed.
    if folder_id(path) == link.old {
        metier_fs::remove_tree(path).map_err(written)?;
    }
    match rename_dir(&aside, path) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            metier_fs::move_whole(&aside, path).map(|_| ()).map_err(written)
        }
        other => other.map_err(written),
    }
}
