//! The pre-flight over a zip: everything about its structure is known before a byte is unpacked.
//!
//! A zip says everything twice: in the directory at its end and before each entry. Attacks live where
//! the two differ, where bytes belong to no entry, or where entries share them: a scanner reads the one
//! and an installer the other. Here the two agree field by field, and the entries lie one after the
//! other from the first byte of the file to the directory, and the directory to the end record, and that
//! to the end of the file. ZIP64 is refused: a package of skills is never that large, and its second set
//! of fields is one more place to differ.

mod data;
mod end;
mod records;

pub(super) use data::unpack_entry;

use super::fault::{ArchiveError, ArchiveFault};
use super::names::{NameSet, check_entry_name};
use super::read_at::ReadAt;
use crate::limits::PackLimits;
use end::find_end;
use records::{Central, LOCAL_BYTES, LOCAL_SIGNATURE, Local};

/// The largest directory that is read into memory.
const MAX_DIRECTORY_BYTES: u64 = 16 << 20;

/// How an entry is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// An entry that was found sound.
#[derive(Debug, Clone)]
pub(super) struct ZipEntry {
    pub(super) path: String,
    pub(super) is_dir: bool,
    pub(super) executable: bool,
    pub(super) method: Method,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    /// Where its data begin.
    pub(super) data_at: u64,
}

/// The entries of a zip, in the order of the file.
pub(super) fn entries(
    archive: &(impl ReadAt + ?Sized),
    limits: &PackLimits,
) -> Result<Vec<ZipEntry>, ArchiveError> {
    let end = find_end(archive)?;
    if end.directory_size > MAX_DIRECTORY_BYTES {
        return Err(ArchiveFault::TooManyEntries.into());
    }
    let mut directory = vec![0; usize::try_from(end.directory_size).unwrap_or(0)];
    archive.read_at(end.directory_at, &mut directory)?;
    let mut listed = Vec::with_capacity(usize::from(end.entries));
    let mut rest = directory.as_slice();
    let mut names = NameSet::default();
    let mut total = 0u64;
    while !rest.is_empty() {
        if listed.len() >= limits.entries {
            return Err(ArchiveFault::TooManyEntries.into());
        }
        let (central, after) = Central::parse(rest)?;
        rest = after;
        let entry =
            check_entry(&central, limits).map_err(|error| error.about(&shown(central.name)))?;
        names
            .add(&entry.path, entry.is_dir)
            .map_err(|fault| ArchiveError::of(fault, &entry.path))?;
        total = total.saturating_add(entry.size);
        if total > limits.total_bytes {
            return Err(ArchiveFault::TooLarge.into());
        }
        listed.push((central, entry));
    }
    if listed.len() != usize::from(end.entries) {
        return Err(ArchiveFault::ZipCount.into());
    }
    if listed.is_empty() {
        return Err(ArchiveFault::Empty.into());
    }
    listed.sort_by_key(|(central, _)| central.offset);
    follow_each_other(archive, &mut listed, end.directory_at)?;
    Ok(listed.into_iter().map(|(_, entry)| entry).collect())
}

/// What the directory says of an entry, judged on its own.
fn check_entry(central: &Central<'_>, limits: &PackLimits) -> Result<ZipEntry, ArchiveError> {
    let method = central.check_form()?;
    let name = central.checked_text()?;
    let (path, is_dir) = check_entry_name(name, limits)?;
    let executable = central.check_attributes(is_dir)?;
    let (packed, size) = (u64::from(central.packed), u64::from(central.size));
    if is_dir && (packed != 0 || size != 0) {
        return Err(ArchiveFault::DirectoryData.into());
    }
    if method == Method::Stored && packed != size {
        return Err(ArchiveFault::SizeMismatch.into());
    }
    if size > limits.file_bytes {
        return Err(ArchiveFault::TooLarge.into());
    }
    if size > PackLimits::RATIO_FREE_BYTES && size / limits.ratio > packed {
        return Err(ArchiveFault::Ratio.into());
    }
    let path = path.to_owned();
    let crc = central.crc;
    Ok(ZipEntry { path, is_dir, executable, method, crc, packed, size, data_at: 0 })
}

/// Walks over the entries as they lie in the file: each agrees with the directory, begins where the one
/// before it ends, and the last ends where the directory begins.
fn follow_each_other(
    archive: &(impl ReadAt + ?Sized),
    listed: &mut [(Central<'_>, ZipEntry)],
    directory_at: u64,
) -> Result<(), ArchiveError> {
    let mut at = 0;
    let mut buffer = Vec::new();
    for index in 0..listed.len() {
        let next = listed.get(index + 1).map_or(directory_at, |(next, _)| u64::from(next.offset));
        let (central, entry) = &mut listed[index];
        let about = |fault: ArchiveFault| ArchiveError::of(fault, &entry.path);
        let start = u64::from(central.offset);
        if start != at {
            return Err(about(misplaced(archive, at, start)));
        }
        if start + LOCAL_BYTES > directory_at {
            return Err(about(ArchiveFault::ZipEntryMissing));
        }
        let local = Local::read(archive, start, directory_at, &mut buffer)
            .map_err(|error| error.about(&entry.path))?;
        local.agrees_with(central).map_err(about)?;
        entry.data_at = start + local.bytes();
        let data_end = entry.data_at + entry.packed;
        // Whatever comes next begins after this entry, or shares bytes with it.
        if data_end > directory_at || data_end > next {
            return Err(about(ArchiveFault::ZipOverlap));
        }
        at = data_end;
        if central.has_descriptor() {
            let bytes = records::descriptor_bytes(archive, central, data_end, next)
                .map_err(|error| error.about(&entry.path))?;
            at += bytes;
        }
    }
    if at != directory_at {
        return Err(misplaced(archive, at, directory_at).into());
    }
    Ok(())
}

/// Why an entry does not begin where the one before it ended.
fn misplaced(archive: &(impl ReadAt + ?Sized), ended: u64, begins: u64) -> ArchiveFault {
    if begins < ended {
        return ArchiveFault::ZipOverlap;
    }
    let mut signature = [0; 4];
    let is_entry = archive.read_at(ended, &mut signature).is_ok() && signature == LOCAL_SIGNATURE;
    match ended {
        _ if is_entry => ArchiveFault::ZipHiddenEntry,
        0 => ArchiveFault::ZipPrefix,
        _ => ArchiveFault::ZipGap,
    }
}

/// A name to show in an error, before anything about it was checked.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(200).collect()
}
