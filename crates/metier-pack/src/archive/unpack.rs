//! An archive becomes a tree: into a staging directory, or only into digests.
//!
//! The entries of a zip are unpacked on all cores, each by its own positioned reads; a tar is one stream.

use std::collections::BTreeSet;

use metier_registry::parallel;
use metier_skill::Profile;

use super::fault::{ArchiveError, ArchiveFault};
use super::gzip;
use super::inflate::Inflater;
use super::read_at::ReadAt;
use super::tar::{TarEntry, TarSink, read_tar};
use super::zip::{self, ZipEntry, unpack_entry};
use crate::left_out::{LeftOut, left_out};
use crate::limits::PackLimits;
use crate::outgoing::{Outgoing, OutgoingFile};
use crate::shipped_tree::{ShippedFile, ShippedTree, empty_dirs, needed_dirs};

/// From how many files on another core is worth its start.
const FILES_PER_CORE: usize = 32;

/// The kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchiveKind {
    /// A zip, also called `.skill`.
    Zip,
    /// A tar in a gzip.
    TarGz,
    /// A tar as it is, as layers of images may be.
    Tar,
}

/// What kind of archive the bytes are, whatever the file is called.
pub(crate) fn archive_kind(archive: &(impl ReadAt + ?Sized)) -> Result<ArchiveKind, ArchiveError> {
    let mut start = [0; 4];
    let bytes = usize::try_from(archive.size()).unwrap_or(4).min(4);
    archive.read_at(0, &mut start[..bytes])?;
    match start {
        [b'P', b'K', ..] => Ok(ArchiveKind::Zip),
        _ if start.starts_with(&gzip::MAGIC) => Ok(ArchiveKind::TarGz),
        // A program that looks for the end record first would read it as a zip.
        _ => match zip::entries(archive, &PackLimits::default()) {
            Err(ArchiveError::Fault { fault: ArchiveFault::UnknownFormat, .. })
                if is_tar(archive)? =>
            {
                Ok(ArchiveKind::Tar)
            }
            Err(ArchiveError::Fault { fault: ArchiveFault::UnknownFormat, .. }) | Ok(_) => {
                Err(ArchiveFault::UnknownFormat.into())
            }
            Err(error) => Err(error),
        },
    }
}

/// Whether the first block is a header of POSIX or GNU.
fn is_tar(archive: &(impl ReadAt + ?Sized)) -> Result<bool, ArchiveError> {
    let mut magic = [0; 5];
    if archive.size() >= 512 {
        archive.read_at(257, &mut magic)?;
    }
    Ok(magic == *b"ustar")
}

/// The files of an archive, read whole and judged; nothing is written.
///
/// # Errors
///
/// [`ArchiveError`], for whatever is not sound about it.
pub fn inspect_archive(
    archive: &(impl ReadAt + ?Sized),
    limits: &PackLimits,
) -> Result<Vec<ShippedFile>, ArchiveError> {
    let kind = archive_kind(archive)?;
    Ok(unpack(archive, kind, limits, Outgoing::nowhere(Profile::Lenient))?.files)
}

/// Unpacks an archive.
///
/// # Errors
///
/// [`ArchiveError`]; of a zip nothing was written then unless its data are damaged. What was written
/// is in the staging directory and nowhere else.
pub(crate) fn unpack(
    archive: &(impl ReadAt + ?Sized),
    kind: ArchiveKind,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ShippedTree, ArchiveError> {
    let mut tree = match kind {
        ArchiveKind::Zip => unpack_zip(archive, limits, outgoing)?,
        ArchiveKind::TarGz | ArchiveKind::Tar => unpack_tar(archive, limits, outgoing)?,
    };
    tree.files.sort_by(|a, b| a.path.cmp(&b.path));
    tree.left_out.sort();
    Ok(tree)
}

fn unpack_zip(
    archive: &(impl ReadAt + ?Sized),
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ShippedTree, ArchiveError> {
    let mut tree = ShippedTree::default();
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    for entry in zip::entries(archive, limits)? {
        match left_out(&entry.path) {
            Some(reason) => tree.left_out.push(LeftOut { path: entry.path, reason }),
            None if entry.is_dir => dirs.push(entry.path),
            None => files.push(entry),
        }
    }
    outgoing.expects(files.iter().map(|file: &ZipEntry| file.size).sum());
    let paths = || files.iter().map(|file| file.path.as_str());
    let listed = || dirs.iter().map(String::as_str);
    let needed = needed_dirs(paths(), listed());
    let written = |path: &str, error| ArchiveError::Write { path: path.to_owned(), error };
    outgoing.make_dirs(needed.iter().copied()).map_err(|error| written("", error))?;
    tree.empty_dirs = empty_dirs(paths(), needed.iter().copied());
    drop(needed);
    let unpacked =
        parallel::map(files, FILES_PER_CORE, Inflater::new, |inflater, entry: ZipEntry| {
            let written = |error| written(&entry.path, error);
            let mut file = outgoing.begin(&entry.path, entry.executable).map_err(written)?;
            let unpacked = unpack_entry(archive, &entry, inflater, &mut |chunk| {
                file.write(chunk).map_err(written)
            });
            unpacked.map_err(|error| error.about(&entry.path))?;
            Ok(file.finish())
        });
    tree.files = unpacked.into_iter().collect::<Result<Vec<ShippedFile>, ArchiveError>>()?;
    Ok(tree)
}

fn unpack_tar(
    archive: &(impl ReadAt + ?Sized),
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ShippedTree, ArchiveError> {
    let mut sink =
        Sink { outgoing, tree: ShippedTree::default(), dirs: BTreeSet::new(), file: None };
    outgoing
        .make_dirs(std::iter::empty())
        .map_err(|error| ArchiveError::Write { path: String::new(), error })?;
    read_tar(archive, limits, &mut sink)?;
    let Sink { mut tree, dirs, .. } = sink;
    let paths = tree.files.iter().map(|file| file.path.as_str());
    tree.empty_dirs = empty_dirs(paths, dirs.iter().map(String::as_str));
    Ok(tree)
}

/// Writes the entries of a tar as they come.
struct Sink<'a> {
    outgoing: Outgoing<'a>,
    tree: ShippedTree,
    dirs: BTreeSet<String>,
    file: Option<OutgoingFile<'a>>,
}

impl TarSink for Sink<'_> {
    fn begin(&mut self, entry: &TarEntry) -> Result<(), ArchiveError> {
        if let Some(reason) = left_out(&entry.path) {
            self.tree.left_out.push(LeftOut { path: entry.path.clone(), reason });
            return Ok(());
        }
        let written = |error| ArchiveError::Write { path: entry.path.clone(), error };
        let above = entry.path.match_indices('/').map(|(end, _)| &entry.path[..end]);
        let own = entry.is_dir.then_some(entry.path.as_str());
        for dir in above.chain(own) {
            if !self.dirs.contains(dir) {
                self.outgoing.make_dir(dir).map_err(written)?;
                self.dirs.insert(dir.to_owned());
            }
        }
        if !entry.is_dir {
            let file = self.outgoing.begin(&entry.path, entry.executable).map_err(written)?;
            self.file = Some(file);
        }
        Ok(())
    }

    fn data(&mut self, chunk: &[u8]) -> Result<(), ArchiveError> {
        match &mut self.file {
            Some(file) => file
                .write(chunk)
                .map_err(|error| ArchiveError::Write { path: file.path().to_owned(), error }),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), ArchiveError> {
        self.tree.files.extend(self.file.take().map(OutgoingFile::finish));
        Ok(())
    }
}
