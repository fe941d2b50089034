//! What a script left, where there are no descriptors of directories: by paths, as carefully as these allow.
//! `left_files` owns the limits and the rule; this is its way to the disk.

use std::fs;
use std::path::Path;

use super::{LeftError, LeftFile, LeftFiles, LeftLimits, Stoppable};
use crate::file::{entry_kind, open_regular};
use crate::head::EntryKind;
use crate::tree::{TreeLimits, list_files};
use crate::whole_dir::{move_whole, remove_tree};

pub(super) fn take(from: &Path, name: &str, to: &Path) -> Result<bool, LeftError> {
    let by = match entry_kind(&from.join(name)) {
        None => return Ok(false),
        Some(EntryKind::Directory) => {
            move_whole(&from.join(name), &to.join(name))?;
            return Ok(true);
        }
        Some(EntryKind::Link) => "a link",
        Some(_) => "a file",
    };
    Err(LeftError::Replaced { by: by.to_owned() })
}

pub(super) fn clean(
    dir: &Path,
    limits: LeftLimits,
    stop: &dyn Fn() -> bool,
) -> Result<LeftFiles, LeftError> {
    let wanted =
        TreeLimits { entries: limits.entries, depth: limits.depth, ..TreeLimits::default() };
    let (files, is_cut) = list_files(dir, wanted)?;
    if is_cut || stop() {
        return Err(LeftError::Stopped);
    }
    let (mut left, mut bytes) = (LeftFiles::default(), 0);
    for file in files {
        let total = bytes + file.size;
        if file.link || file.special || total > limits.bytes {
            remove_tree(&dir.join(&file.path))?;
            let is_large = total > limits.bytes;
            let why = if is_large { "the files are too large" } else { "it is not a regular file" };
            left.removed(file.path.into(), why);
        } else {
            bytes = total;
            left.files.push(file.path.into());
        }
    }
    Ok(left)
}

pub(super) fn digests(
    dir: &Path,
    bytes: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<LeftFile>, LeftError> {
    let (files, _) = list_files(dir, TreeLimits::default())?;
    let mut room = bytes;
    let mut found = Vec::new();
    for file in files.into_iter().filter(|file| !file.link && !file.special) {
        let mut digest = None;
        if fs::symlink_metadata(dir.join(&file.path)).is_ok_and(|data| data.len() <= room) {
            if let Ok((inner, _)) = open_regular(&dir.join(&file.path)) {
                let read = metier_skill::Digest::of_reader(Stoppable { inner, stop }).ok();
                room = room.saturating_sub(read.map_or(0, |(_, read)| read));
                digest = read.map(|(digest, _)| digest);
            }
        }
        found.push(LeftFile { path: file.path.into(), bytes: file.size, digest });
    }
    Ok(found)
}
