//! The end record of a zip: there is one, it is the last thing in the file, and the directory ends
//! where it begins.

use crate::archive::fault::{ArchiveError, ArchiveFault};
use crate::archive::read_at::ReadAt;

use super::records::{CENTRAL_SIGNATURE, LOCAL_SIGNATURE, u16_at, u32_at};

const SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const ZIP64_END: [u8; 4] = *b"PK\x06\x06";
const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
/// Bytes of the record without its comment.
const BYTES: usize = 22;
/// The longest comment.
const MAX_COMMENT: usize = u16::MAX as usize;

/// Where the directory is.
#[derive(Debug)]
pub(super) struct End {
    pub(super) directory_at: u64,
    pub(super) directory_size: u64,
    pub(super) entries: u16,
}

/// The end record, found and judged.
pub(super) fn find_end(archive: &(impl ReadAt + ?Sized)) -> Result<End, ArchiveError> {
    let size = archive.size();
    let tail_bytes = usize::try_from(size).unwrap_or(usize::MAX).min(BYTES + MAX_COMMENT);
    let tail_at = size - tail_bytes as u64;
    let mut tail = vec![0; tail_bytes];
    archive.read_at(tail_at, &mut tail)?;
    let ends: Vec<usize> = (0..(tail.len() + 1).saturating_sub(BYTES))
        .filter(|at| tail[*at..].starts_with(&SIGNATURE))
        .collect();
    let Some(last) = ends.last().copied() else { return Err(missing(archive)) };
    let comment = |at: usize| usize::from(u16_at(&tail, at + 20));
    let reaches_end = |at: usize| at + BYTES + comment(at) == tail.len();
    let whole: Vec<usize> = ends.iter().copied().filter(|at| reaches_end(*at)).collect();
    let at = match whole[..] {
        [at] => at,
        [] if last + BYTES + comment(last) < tail.len() => {
            return Err(ArchiveFault::ZipSuffix.into());
        }
        [] => return Err(ArchiveFault::ZipComment.into()),
        // Both would do: which one counts depends on the direction in which a program searches.
        _ => return Err(ArchiveFault::ZipEndTwice.into()),
    };
    let end = read(&tail[at..], tail_at + at as u64)?;
    check_place(archive, &end, tail_at + at as u64)?;
    // A second record inside the directory or the comment is there to be found by someone. One inside
    // an entry's data is that of an archive inside the archive.
    let in_data = |other: usize| tail_at + other as u64 + BYTES as u64 <= end.directory_at;
    if ends.iter().any(|other| *other != at && !in_data(*other)) {
        return Err(ArchiveFault::ZipEndTwice.into());
    }
    let comment = std::str::from_utf8(&tail[at + BYTES..]);
    let is_plain = |text: &str| {
        !text.contains("PK") && !text.chars().any(|ch| ch.is_control() && !ch.is_whitespace())
    };
    if !comment.is_ok_and(is_plain) {
        return Err(ArchiveFault::ZipComment.into());
    }
    Ok(end)
}

/// The record's fields; `at` is its place in the file.
fn read(record: &[u8], at: u64) -> Result<End, ArchiveFault> {
    let (disk, first_disk) = (u16_at(record, 4), u16_at(record, 6));
    let (here, entries) = (u16_at(record, 8), u16_at(record, 10));
    let (size, offset) = (u32_at(record, 12), u32_at(record, 16));
    if size == u32::MAX || offset == u32::MAX {
        return Err(ArchiveFault::Zip64);
    }
    if disk != 0 || first_disk != 0 {
        return Err(ArchiveFault::ZipMultiDisk);
    }
    if here != entries {
        return Err(ArchiveFault::ZipCount);
    }
    if u64::from(size) > at {
        return Err(ArchiveFault::ZipDirectorySize);
    }
    Ok(End { directory_at: u64::from(offset), directory_size: u64::from(size), entries })
}

/// The directory lies right before the record.
fn check_place(
    archive: &(impl ReadAt + ?Sized),
    end: &End,
    record_at: u64,
) -> Result<(), ArchiveError> {
    let starts_with = |at: u64, signature: [u8; 4]| {
        let mut bytes = [0; 4];
        archive.read_at(at, &mut bytes).is_ok() && bytes == signature
    };
    if record_at >= 20 && starts_with(record_at - 20, ZIP64_LOCATOR) {
        return Err(ArchiveFault::Zip64.into());
    }
    let declared_end = end.directory_at + end.directory_size;
    if declared_end == record_at {
        let is_directory =
            end.directory_size == 0 || starts_with(end.directory_at, CENTRAL_SIGNATURE);
        return if is_directory { Ok(()) } else { Err(ArchiveFault::ZipDirectoryOffset.into()) };
    }
    if declared_end > record_at {
        return Err(ArchiveFault::ZipDirectoryOffset.into());
    }
    let fault = if starts_with(declared_end, ZIP64_END) {
        ArchiveFault::Zip64
    } else if end.directory_size > 0
        && starts_with(record_at - end.directory_size, CENTRAL_SIGNATURE)
    {
        // The directory is where a program finds it that trusts its size, and everything is moved by
        // what stands before the first entry.
        if starts_with(0, LOCAL_SIGNATURE) {
            ArchiveFault::ZipDirectoryOffset
        } else {
            ArchiveFault::ZipPrefix
        }
    } else if starts_with(declared_end, CENTRAL_SIGNATURE) || end.directory_size == 0 {
        ArchiveFault::ZipDirectorySize
    } else {
        ArchiveFault::ZipGap
    };
    Err(fault.into())
}

/// Why there is no end record.
fn missing(archive: &(impl ReadAt + ?Sized)) -> ArchiveError {
    let mut start = [0; 4];
    let fault = match archive.read_at(0, &mut start) {
        Ok(()) if start == LOCAL_SIGNATURE => ArchiveFault::ZipEndMissing,
        _ => ArchiveFault::UnknownFormat,
    };
    fault.into()
}
