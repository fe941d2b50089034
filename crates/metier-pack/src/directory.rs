//! A directory becomes a tree: copied into staging, or only read for its digests.
//!
//! No link is followed: what a link leads to is a file of another place, and copying it would publish it.

use std::io::Read;
use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, RootError, TreeReader};
use metier_registry::parallel;

use crate::archive::{ArchiveFault, NameSet, check_entry_name};
use crate::error::PackError;
use crate::left_out::{LeftOut, LeftOutReason, left_out, left_out_file};
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::shipped_tree::{ShippedFile, ShippedTree, empty_dirs, needed_dirs};

/// From how many files on another core is worth its start.
const FILES_PER_CORE: usize = 32;
/// What is read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// The names in a directory that belong to a tree.
pub(crate) struct DirectoryNames {
    pub(crate) tree: TreeReader,
    pub(crate) files: Vec<String>,
    pub(crate) dirs: Vec<String>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Lists the directory at `path` and judges every name in it, except for those of the paths `without`.
pub(crate) fn list_directory(
    without: &[String],
    path: &Path,
    limits: &PackLimits,
) -> Result<DirectoryNames, PackError> {
    let is_without = |path: &str| without.iter().any(|it| it == path);
    let io = |error| PackError::not_readable(path, error);
    let tree = TreeReader::open(path).map_err(io)?;
    let listing = tree
        .list(limits.entries, |dir| {
            left_out(dir).is_none() && dir.matches('/').count() < limits.depth && !is_without(dir)
        })
        .map_err(io)?;
    if listing.truncated {
        return Err(PackError::in_directory(path, ArchiveFault::TooManyEntries, None));
    }
    let mut names =
        DirectoryNames { tree, files: Vec::new(), dirs: Vec::new(), left_out: Vec::new() };
    let mut set = NameSet::default();
    for node in listing.nodes.into_iter().filter(|node| !is_without(&node.path)) {
        let fault = |fault| PackError::in_directory(path, fault, Some(node.path.clone()));
        let by_name = match node.kind {
            EntryKind::Directory => left_out(&node.path),
            _ => left_out_file(&node.path),
        };
        let reason = by_name.or(match node.kind {
            EntryKind::Link => Some(LeftOutReason::Link),
            EntryKind::Special => Some(LeftOutReason::Special),
            _ => None,
        });
        if let Some(reason) = reason {
            names.left_out.push(LeftOut { path: node.path, reason });
            continue;
        }
        if node.kind == EntryKind::Unknown {
            return Err(fault(ArchiveFault::NameEncoding));
        }
        let is_dir = node.kind == EntryKind::Directory;
        check_entry_name(&node.path, limits).map_err(fault)?;
        set.add(&node.path, is_dir).map_err(fault)?;
        if is_dir { names.dirs.push(node.path) } else { names.files.push(node.path) }
    }
    // A folder that held nothing else would be an empty one.
    for (path, end) in
        without.iter().flat_map(|it| it.rmatch_indices('/').map(move |(end, _)| (it, end)))
    {
        let (dir, inside) = (&path[..end], &path[..=end]);
        if !names.files.iter().chain(&names.dirs).any(|it| it.starts_with(inside)) {
            names.dirs.retain(|it| it != dir);
        }
    }
    Ok(names)
}

/// Reads the directory at `path` whole.
pub(crate) fn read_directory(
    path: &Path,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ShippedTree, PackError> {
    read_directory_without(&[], path, limits, outgoing)
}

/// Reads the directory at `path`, as if what is at the paths `without` in it were not there.
pub(crate) fn read_directory_without(
    without: &[String],
    path: &Path,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ShippedTree, PackError> {
    let DirectoryNames { tree, files, dirs, left_out } = list_directory(without, path, limits)?;
    let mut shipped = ShippedTree { left_out, ..ShippedTree::default() };
    let paths = || files.iter().map(String::as_str);
    let needed = needed_dirs(paths(), dirs.iter().map(String::as_str));
    outgoing
        .make_dirs(needed.iter().copied())
        .map_err(|error| PackError::not_written(PathBuf::new(), error))?;
    shipped.empty_dirs = empty_dirs(paths(), dirs.iter().map(String::as_str));
    drop(needed);
    let read = parallel::map(
        files,
        FILES_PER_CORE,
        || vec![0; CHUNK_BYTES],
        |buffer, file: String| read_file(path, &tree, file, limits, outgoing, buffer),
    );
    let mut total = 0u64;
    for file in read {
        match file? {
            Ok(file) => {
                total = total.saturating_add(file.size);
                shipped.files.push(file);
            }
            Err(left) => shipped.left_out.push(left),
        }
    }
    if total > limits.total_bytes {
        return Err(PackError::in_directory(path, ArchiveFault::TooLarge, None));
    }
    shipped.left_out.sort();
    Ok(shipped)
}

/// One file; or why it is left out.
fn read_file(
    top: &Path,
    tree: &TreeReader,
    path: String,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
    buffer: &mut [u8],
) -> Result<Result<ShippedFile, LeftOut>, PackError> {
    let mut opened = match tree.open_file(&path) {
        Ok(opened) => opened,
        Err(error) => match error {
            RootError::Escapes => return Ok(Err(LeftOut { path, reason: LeftOutReason::Link })),
            RootError::NotRegular => {
                return Ok(Err(LeftOut { path, reason: LeftOutReason::Special }));
            }
            RootError::Io(error) => return Err(PackError::not_readable(top.join(path), error)),
            other => {
                let error = std::io::Error::new(std::io::ErrorKind::NotFound, other.to_string());
                return Err(PackError::not_readable(top.join(path), error));
            }
        },
    };
    if opened.links > 1 {
        return Ok(Err(LeftOut { path, reason: LeftOutReason::HardLink }));
    }
    let too_large = || PackError::in_directory(top, ArchiveFault::TooLarge, Some(path.clone()));
    if opened.size > limits.file_bytes {
        return Err(too_large());
    }
    let written = |error| PackError::not_written(&path, error);
    let mut file = outgoing.begin(&path, opened.executable).map_err(written)?;
    let mut total = 0u64;
    loop {
        match opened.file.read(buffer) {
            Ok(0) => break,
            Ok(read) => {
                total += read as u64;
                if total > limits.file_bytes {
                    return Err(too_large());
                }
                file.write(&buffer[..read]).map_err(written)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PackError::not_readable(top.join(&path), error)),
        }
    }
    Ok(Ok(file.finish()))
}
